//! What the kernel knows of a process: its CPU time, memory and wake-ups.

use crate::why::{While, Why};
use nix::time::ClockId;
use nix::unistd::Pid;
use std::fs;
use std::time::Duration;

/// CPU time of all its threads, to the nanosecond: `/proc/PID/stat` counts in steps of 10 ms,
/// and `/proc/PID/schedstat` only the first thread.
pub(crate) fn own_cpu(pid: i32) -> Result<Duration, Why> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid)).while_doing("its CPU clock")?;
    Ok(Duration::from(clock.now().while_doing("its CPU clock")?))
}

/// CPU time of its children that have ended and were waited for, in steps of 10 ms.
pub(crate) fn children_cpu(pid: i32) -> Result<Duration, Why> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name, in brackets, may hold anything; what follows it is numbers from field 3 on.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let field = |number: usize| fields.split_whitespace().nth(number - 3)?.parse::<u64>().ok();
    let ticks = field(16).zip(field(17)).map(|(user, system)| user + system);
    let ticks = ticks.ok_or_else(|| Why::new("its stat is not as proc(5) says"))?;
    Ok(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Resident memory in bytes. `smaps_rollup` counts pages; `status`, where only that may be read,
/// is some 100 KiB off on several cores.
pub(crate) fn resident(pid: i32) -> Result<u64, Why> {
    let exact = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"));
    let line = match &exact {
        Ok(text) => number_after(text, "Rss:"),
        Err(_) => number_after(&fs::read_to_string(format!("/proc/{pid}/status"))?, "VmRSS:"),
    };
    line.map(|kib| kib * 1024).ok_or_else(|| Why::new("its resident memory is not told"))
}

/// Times its threads went to sleep and woke again.
pub(crate) fn wakeups(pid: i32) -> Result<u64, Why> {
    let mut all = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = fs::read_to_string(thread?.path().join("status"))?;
        all += number_after(&status, "\nvoluntary_ctxt_switches:")
            .ok_or_else(|| Why::new("its wake-ups are not told"))?;
    }
    Ok(all)
}

/// Its children that run now.
pub(crate) fn children(pid: i32) -> Result<Vec<i32>, Why> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(text.split_whitespace().filter_map(|word| word.parse().ok()).collect())
}

fn number_after(text: &str, key: &str) -> Option<u64> {
    text.split(key).nth(1)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_measured() {
        let me = std::process::id() as i32;
        assert!(own_cpu(me).is_ok_and(|cpu| cpu > Duration::ZERO));
        assert!(children_cpu(me).is_ok());
        assert!(resident(me).is_ok_and(|bytes| bytes > 100_000));
        assert!(wakeups(me).is_ok());
    }

    #[test]
    fn a_number_is_found_after_its_key() {
        assert_eq!(number_after("a: 1\nVmRSS:\t  52 kB\n", "VmRSS:"), Some(52));
        assert_eq!(number_after("a: 1", "VmRSS:"), None);
    }
}

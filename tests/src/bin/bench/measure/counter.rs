//! Counting checks outside the program that makes them.

use super::forks::Forks;
use super::target::Target;
use crate::clock::now_ns;
use crate::why::Why;
use std::fs;

/// What is counted.
pub(crate) enum Counter<'a> {
    /// Connections this machine has begun, by the kernel's own count. A check that resets the
    /// half-open connection is never seen by the target's `accept`. In the machine's shared
    /// network others' connections count too (see [`super::net`]).
    Connections,
    /// What the target has answered, by itself.
    Requests(&'a mut Target),
    /// Children of one process, by the kernel.
    Forks(Forks),
    /// Nobody can count them: so many a second are due, and the program is believed.
    Due(usize),
}

impl Counter<'_> {
    /// The count, and when it was that.
    pub(crate) fn read(&mut self) -> Result<(u64, u64), Why> {
        match self {
            Counter::Connections => Ok((active_opens()?, now_ns())),
            Counter::Requests(target) => target.requests(),
            Counter::Due(due) => {
                let now = now_ns();
                Ok((now / 1000 * *due as u64 / 1_000_000, now))
            }
            Counter::Forks(forks) => Ok((forks.count()?, now_ns())),
        }
    }
}

/// `ActiveOpens` of `/proc/net/snmp`: a line of names, then a line of numbers.
fn active_opens() -> Result<u64, Why> {
    let text = fs::read_to_string("/proc/self/net/snmp")?;
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let names = lines.next().unwrap_or_default().split_whitespace();
    let numbers = lines.next().unwrap_or_default().split_whitespace();
    names
        .zip(numbers)
        .find(|(name, _)| *name == "ActiveOpens")
        .and_then(|(_, number)| number.parse().ok())
        .ok_or_else(|| Why::new("/proc/net/snmp has no ActiveOpens"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_connections() {
        assert!(active_opens().is_ok());
    }
}

//! `process` with a name: whether any process of a program is there, or a thread of the kernel.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::reactor::procfs;

/// The kernel keeps so many bytes of a program's name.
const KEPT: usize = 15;

/// Looks for the process that `arguments` name: exits 0 if one is there, 1 if none is.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.collect();
    let [name] = &arguments[..] else { return ExitCode::from(2) };
    let Some(name) = name.to_str() else { return ExitCode::from(2) };
    let own = std::process::id();
    if procfs::all().into_iter().any(|pid| pid != own && is_called(pid, name)) {
        ExitCode::SUCCESS
    } else {
        println!("no process is called {name}");
        ExitCode::FAILURE
    }
}

/// Whether the process `pid` is a living one of the program `name`. A longer name than the kernel
/// keeps is compared with the word the program was started by.
fn is_called(pid: u32, name: &str) -> bool {
    let comm = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    let comm = comm.strip_suffix(b"\n").unwrap_or(&comm);
    let kept = name.as_bytes().get(..KEPT).unwrap_or(name.as_bytes());
    let called = if name.len() <= KEPT {
        comm == kept || first_word_is(pid, name)
    } else {
        comm == kept && first_word_is(pid, name)
    };
    called && procfs::stat(pid).is_some_and(|stat| !stat.is_dead())
}

/// Whether the first word of its command line, without its path, is `name`.
fn first_word_is(pid: u32, name: &str) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let first = line.split(|byte| *byte == 0).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let program = Path::new(first.split(' ').next().unwrap_or_default());
    program.file_name().is_some_and(|last| last == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_its_name_until_it_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
        let pid = child.id();
        // Between fork and exec it is still called as we are.
        while fs::read(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm != b"sleep\n") {
            std::thread::yield_now();
        }
        assert!(is_called(pid, "sleep"));
        assert!(!is_called(pid, "slee") && !is_called(pid, "sleep2") && !is_called(pid, "600"));
        child.kill().expect("ours");
        // It is dead, and not reaped yet.
        while procfs::stat(pid).is_some_and(|stat| !stat.is_dead()) {
            std::thread::yield_now();
        }
        assert!(!is_called(pid, "sleep"));
        child.wait().expect("its status");
        assert!(!is_called(pid, "sleep"));
    }
}

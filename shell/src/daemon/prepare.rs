//! `giveover run` in two steps of one process: read, then watch.
//!
//! Reading a command line and a configuration takes several times the memory of what comes of
//! it, in pieces between which the plan would lie, and wakes up half a megabyte of program that a
//! monitor never needs again. So what has been read is written to a file in memory, and the
//! process becomes this program anew ([`run_anew`]), which only takes the plan from there ([`resume`]).
//! Number, environment, descriptors and words stay the same; a word more says where the plan
//! is. Where this cannot be done the process just goes on: it only costs memory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::fs::{MemfdFlags, memfd_create};

use super::start::{self, Options, SYSTEM_FILE, exit};
use crate::config::plan::Plan;
use crate::config::{self, Level, Loaded, Report, pack};
use crate::message::watchdog;

/// The start of the last word of the second step's command line; the descriptor's number follows.
const WORD: &str = "--prepared=";

/// This program, also if its file has been replaced or removed.
const OURSELVES: &str = "/proc/self/exe";

/// `giveover run` with the command line `arguments`, of which the first is our own name: reads
/// the configuration, and goes on in a process without traces of that. Returns the daemon's exit
/// status.
#[must_use]
pub fn run_anew(options: &Options, arguments: &[OsString]) -> u8 {
    let plan = match load(options) {
        Ok(plan) => plan,
        Err(status) => return status,
    };
    if let Some(bytes) = prepared(options, &plan) {
        become_lean(&bytes, arguments);
    }
    start::watch(options, start::shared(plan))
}

/// The same without another process image. Returns the daemon's exit status.
#[must_use]
pub fn run(options: &Options) -> u8 {
    match load(options) {
        Ok(plan) => start::watch(options, start::shared(plan)),
        Err(status) => status,
    }
}

/// The plan, or the exit status once it has been said what is wrong.
fn load(options: &Options) -> Result<Plan, u8> {
    let file = options.file.clone().unwrap_or_else(|| PathBuf::from(SYSTEM_FILE));
    match config::load(&file) {
        Ok(Loaded { mut plan, .. }) => {
            if options.observe || plan.host.observe {
                start::observe(&mut plan);
            }
            if options.witness {
                only_vote(&mut plan);
            }
            Ok(plan)
        }
        Err(report) => {
            let text = format!("{report}{}", report.summary());
            // A closed standard error changes nothing about the exit status.
            let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
            for line in legacy_lines(&report) {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
            Err(exit::CONFIGURATION)
        }
    }
}

/// What the source document's watchdog says of a file that lacks peers or addresses.
fn legacy_lines(report: &Report) -> &'static [&'static str] {
    let of_nodes = report.findings().iter().any(|finding| {
        let error = finding.level == Level::Error;
        let about = ["cluster", "nodes and groups", "group.", "node."];
        error && about.iter().any(|word| finding.message.starts_with(word))
    });
    if of_nodes { &watchdog::BAD_CONFIGURATION } else { &[] }
}

/// A witness serves nothing: what else the file has is for the others.
fn only_vote(plan: &mut Plan) {
    plan.services.clear();
    plan.pools.clear();
    plan.host.trusted.clear();
    plan.board = None;
}

/// What the first step leaves to the second: the options, then the plan.
fn prepared(options: &Options, plan: &Plan) -> Option<Vec<u8>> {
    let mut bytes = postcard::to_stdvec(options).ok()?;
    bytes.append(&mut pack::pack(plan)?);
    Some(bytes)
}

fn taken_up(bytes: &[u8]) -> Option<(Options, Plan)> {
    let (options, plan) = postcard::take_from_bytes(bytes).ok()?;
    Some((options, pack::unpack(plan)?))
}

/// Does not come back, unless it cannot be done.
fn become_lean(prepared: &[u8], arguments: &[OsString]) {
    let Some((ourselves, words)) = arguments.split_first() else { return };
    // Without CLOEXEC: to be there afterwards is what it is for.
    let Ok(file) = memfd_create("giveover-plan", MemfdFlags::empty()) else { return };
    let mut file = File::from(file);
    if file.write_all(prepared).is_err() {
        return;
    }
    let place = format!("{WORD}{}", file.as_raw_fd());
    let _ = Command::new(OURSELVES).arg0(ourselves).args(words).arg(place).exec();
}

/// Whether `arguments` are those of the second step: the number of the plan's descriptor.
#[must_use]
pub fn is_prepared(arguments: &[OsString]) -> Option<u32> {
    let word = arguments.last().map(OsString::as_os_str).and_then(OsStr::to_str)?;
    word.strip_prefix(WORD)?.parse().ok()
}

/// The second step: runs the plan that the first has left. Returns the daemon's exit status.
#[must_use]
pub fn resume(descriptor: u32) -> u8 {
    // `exec` of a link has named us after the link.
    let _ = rustix::thread::set_name(c"giveover");
    let bytes = std::fs::read(format!("/proc/self/fd/{descriptor}"));
    let prepared = bytes.ok().and_then(|bytes| taken_up(&bytes));
    crate::reactor::close_inherited();
    match prepared {
        Some((options, plan)) => start::watch(&options, plan),
        None => {
            let text = "giveover: --prepared is what `giveover run` says to itself";
            let _ = writeln!(std::io::stderr(), "{text}");
            exit::BUG
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_second_step_is_known_by_its_last_word() {
        assert_eq!(is_prepared(&words(&["giveover", "run", "a.toml", "--prepared=3"])), Some(3));
        for others in [&["giveover", "run"][..], &["giveover", "--prepared=3", "run"], &[]] {
            assert_eq!(is_prepared(&words(others)), None, "{others:?}");
        }
        for number in ["--prepared=", "--prepared=-1", "--prepared=x", "--prepared=3/../1"] {
            assert_eq!(is_prepared(&words(&["giveover", number])), None, "{number}");
        }
    }

    #[test]
    fn options_and_plan_come_through_as_they_were() {
        let text = "[host]\ntrusted = [\"tcp://192.0.2.1:53\"]\n\
                    [service.web]\nstart = [\"/bin/web\"]\nstop = \"INT\"\n\
                    check.page = { url = \"http://127.0.0.1/x\", expect = [200] }\n\
                    [service.db]\nunit = \"db.service\"\nneeds = [\"web\"]\n";
        let loaded = config::load_str("a.toml", text).expect("a configuration");
        let options = Options {
            file: Some("a.toml".into()),
            leave: true,
            state: Some("/s".into()),
            debug: crate::message::Debug::High,
            ..Options::default()
        };
        let mut plan = loaded.plan;
        for service in &mut plan.services {
            service.terms_mut().sources = [].into(); // only `check` prints them
        }
        let bytes = prepared(&options, &plan).expect("bytes");
        let again = taken_up(&bytes).expect("the same");
        assert_eq!(again.1, plan);
        assert_eq!(format!("{:?}", again.0), format!("{options:?}"));
        assert!(taken_up(&bytes[..bytes.len() / 2]).is_none());
    }
}

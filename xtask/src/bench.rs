//! `cargo xtask bench`: our figures beside others', from one run on one machine.

use std::process::ExitCode;

use crate::child;
use crate::needs::{self, For};
use crate::workspace::{cargo, show};

const HELP: &str = "\
cargo xtask bench [ARGS]

Installs what is compared (haproxy, monit, keepalived), builds for release, and runs the benchmark of
core's `handle`, then the bench of giveover-tests with ARGS (`cargo xtask bench -- --help` lists
them).
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.first().is_some_and(|first| first == "-h" || first == "--help") {
        show(HELP);
        return ExitCode::SUCCESS;
    }
    let args = args.strip_prefix(&["--".to_string()]).unwrap_or(args);
    // Without them the table only has fewer rows: it is still worth having.
    if let Err(why) = needs::install(For::Bench) {
        eprintln!("xtask: {why}");
    }
    let build = child::run(&mut cargo(["build", "--release", "--package", "giveover"]));
    let oracle = ["build", "--release", "--package", "giveover-tests", "--bin", "oracle"];
    let stand_in = child::run(&mut cargo(oracle));
    let mut table =
        cargo(["run", "--release", "--package", "giveover-tests", "--bin", "bench", "--"]);
    let mut handle = cargo(["bench", "--package", "giveover-core", "--bench", "handle"]);
    // First what the table has a row for, if it is to have it.
    let others = args.iter().any(|arg| arg == "--only" || arg == "--list" || arg == "--help");
    let handle = if others && !args.iter().any(|arg| arg == "handle") {
        Ok(())
    } else {
        child::run(&mut handle)
    };
    let results = [build, stand_in, handle, child::run(table.args(args))];
    let failures: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    failures.iter().for_each(|why| eprintln!("xtask: FAILED: {why}"));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

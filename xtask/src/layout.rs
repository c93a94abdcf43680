//! `cargo xtask layout`: which functions a daemon calls, written into the linker script.

use std::process::ExitCode;

use crate::child;
use crate::workspace::{cargo, show, target_dir};

const HELP: &str = "\
cargo xtask layout

Builds for release, traces a daemon that waits and one that plays its demonstration, writes the names
of the functions they call into shell/layout.ld, and builds again with these side by side. Worth
running when `cargo xtask bench --only idle` shows that the idle daemon has grown.
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if !args.is_empty() {
        show(HELP);
        let asked = args.iter().all(|arg| ["-h", "--help"].contains(&arg.as_str()));
        return ExitCode::from(if asked { 0 } else { 2 });
    }
    let build = || cargo(["build", "--release", "--package", "giveover"]);
    let mut trace =
        cargo(["run", "--release", "--package", "giveover-tests", "--bin", "layout", "--"]);
    trace.arg(target_dir().join("release/giveover")).arg("shell/layout.ld");
    let steps = [build(), trace, build()];
    for mut step in steps {
        if let Err(why) = child::run(&mut step) {
            eprintln!("xtask: {why}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

//! `cargo xtask pair`: a real pair on hosts made for it, and the source document's experiments.

use std::process::ExitCode;

use crate::child;
use crate::workspace::{cargo, show};

const HELP: &str = "\
cargo xtask pair

Makes four hosts (network namespaces on a bridge): two nodes, a witness, and a client that asks through
the address each 100 ms. Plays the experiments 4.1 to 4.6 of the pgpool-II watchdog's document, and two
more, with a picture of who has the address; prints the longest outage of each, and how long both nodes
had it, which must be never. Everything is gone afterwards. Needs root, `ip` and `nft`.
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.first().is_some_and(|first| first == "-h" || first == "--help") {
        show(HELP);
        return ExitCode::SUCCESS;
    }
    let mut build = cargo(["build", "--quiet", "--package", "giveover", "--bin", "giveover"]);
    let mut play = cargo(["run", "--quiet", "--package", "giveover-tests", "--bin", "pair"]);
    match child::run(&mut build).and_then(|()| child::run(&mut play)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}

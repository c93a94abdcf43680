//! One step of the test run, and what it came to.

use std::process::Command;

use crate::child;
use crate::lacks::Skip;

/// A step while it runs. It goes on after a failure, so that one run shows all there is.
#[derive(Debug)]
pub(crate) struct Step {
    /// Its name in the summary.
    pub(crate) name: &'static str,
    /// What went wrong.
    pub(crate) failures: Vec<String>,
    /// Tests of it that were not run.
    pub(crate) skips: Vec<Skip>,
    /// Whether nothing of it was run.
    pub(crate) skipped: bool,
    /// A few words for the summary, such as a count.
    pub(crate) note: Option<String>,
    tests: u64,
}

impl Step {
    pub(crate) fn new(name: &'static str) -> Step {
        Step { name, failures: vec![], skips: vec![], skipped: false, note: None, tests: 0 }
    }

    /// Runs a command of which success is expected.
    pub(crate) fn run(&mut self, command: &mut Command) {
        self.check(child::run(command));
    }

    /// As [`Step::run`], under a shorter name.
    pub(crate) fn run_named(&mut self, command: &mut Command, name: &str) {
        self.check(child::run_named(command, name));
    }

    /// Runs `cargo test` with its arguments, and gathers what failed and what was skipped.
    pub(crate) fn run_tests(&mut self, command: &mut Command) {
        let (harness, result) = child::run_tests(command.args(["--", "--show-output"]));
        self.failures.extend(harness.failed.iter().map(|name| format!("test {name}")));
        self.check(result);
        self.skips.extend(harness.skips);
        self.tests += harness.passed;
        show_matrix(harness.rows);
        self.note = Some(format!("{} tests", self.tests));
    }

    /// Notes a failure, if it is one.
    pub(crate) fn check(&mut self, result: Result<(), String>) {
        if let Err(why) = result {
            self.fail(why);
        }
    }

    /// Notes a failure, and says it at once.
    pub(crate) fn fail(&mut self, why: String) {
        println!("FAILED: {why}");
        self.failures.push(why);
    }

    /// Leaves the whole step out.
    pub(crate) fn skip(&mut self, why: &str) {
        self.skipped = true;
        self.skips.push(Skip { name: self.name.to_string(), why: why.to_string() });
    }
}

/// The rows that tests gave of the matrix of checks, each kind's together.
fn show_matrix(mut rows: Vec<String>) {
    if rows.is_empty() {
        return;
    }
    rows.sort();
    println!("\nkind, server, situation: weight, phase and cause, time");
    rows.iter().for_each(|row| println!("{row}"));
    println!();
}

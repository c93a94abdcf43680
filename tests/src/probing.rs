//! One probe, as a configuration would have it made, and the table of what was found.

use std::time::Instant as Wall;

use giveover::check::once::{Ended, Once, probe_once};
use giveover::config;
use giveover::report::found::check_doc;
use giveover_core::failure::ProbeResult;
use giveover_core::time::Instant;

/// What a probe found, in the words of screens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// `healthy`, or weight, phase and cause: `50 read answer cut short`.
    pub verdict: String,
    /// What it did on the way.
    pub steps: Vec<String>,
    /// How long it took.
    pub ms: u32,
}

/// Makes the check that `table` is, `{ url = "smtp://127.0.0.1:25" }`, once.
///
/// # Panics
/// It is no check, or cannot be tried.
#[must_use]
pub fn probe(table: &str, timeout_ms: u32) -> Found {
    tried(table, timeout_ms).0
}

fn tried(table: &str, timeout_ms: u32) -> (Found, String) {
    let text = format!(
        "[policy.default]\nprobe_timeout = \"{timeout_ms}ms\"\n[service.s]\ncheck.c = {table}\n"
    );
    let loaded = config::load_str("test", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let check =
        loaded.plan.services.into_iter().next().expect("a service").checks.into_vec().remove(0);
    let start = Wall::now();
    let now = || Instant::from_millis(start.elapsed().as_millis() as u64);
    let Once { steps, end, elapsed_ms } = probe_once(&check, 0, 0, now).expect("a probe");
    let Ended::Answered { result, shown } = end else { panic!("{table} is not all sockets") };
    let doc = check_doc(&check, Some(result), shown, elapsed_ms, String::new());
    let verdict = match result {
        ProbeResult::Failed(weight, cause) => {
            format!("{} {} {}", weight.value(), cause.phase.word(), doc.cause)
        }
        ProbeResult::Healthy => String::from("healthy"),
        other => format!("{other:?}"),
    };
    let steps = steps.into_iter().map(|step| format!("{} {}", step.phase.word(), step.text));
    (Found { verdict, steps: steps.collect(), ms: elapsed_ms }, doc.cause)
}

/// What the check found, in words alone, whatever its verdict.
///
/// # Panics
/// It is no check, or cannot be tried.
#[must_use]
pub fn words(table: &str, timeout_ms: u32) -> String {
    tried(table, timeout_ms).1
}

/// Probes, prints the row of the table, and wants this verdict.
///
/// # Panics
/// It is another.
pub fn row(kind: &str, server: &str, situation: &str, table: &str, timeout_ms: u32, wanted: &str) {
    let found = probe(table, timeout_ms);
    tell(kind, server, situation, &found.verdict, Some(found.ms));
    assert_eq!(found.verdict, wanted, "{kind}, {server}, {situation}: {:#?}", found.steps);
}

/// Prints a row of the matrix of checks, as `cargo xtask test` gathers them.
pub fn tell(kind: &str, server: &str, situation: &str, verdict: &str, ms: Option<u32>) {
    let ms = ms.map(|ms| format!("{ms:>6} ms")).unwrap_or_default();
    println!("row: {kind:<9} {server:<12} {situation:<22} {verdict:<56} {ms}");
}

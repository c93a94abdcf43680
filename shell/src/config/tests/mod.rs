//! Configurations and what is said about them.

use super::*;

mod checks;
mod diffs;
mod examples;
mod includes;
mod layers;
mod machine;
mod mutations;
mod presets;
mod said_of_board;
mod said_of_checks;
mod said_of_databases;
mod said_of_keys;
mod said_of_looks;
mod said_of_policies;
mod said_of_pools;
mod said_of_quantities;
mod said_of_services;
mod said_of_syntax;
mod said_of_tls;
mod said_of_warnings;
mod said_of_watch;

/// Everything that is said about `text`: errors, or the warnings of what can be run.
fn said(text: &str) -> String {
    let report = match load_str("giveover.toml", text) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors,
    };
    format!("{report}{}\n", report.summary())
}

/// Shows that `expected` is all that is said about `text`. Both begin on a line of their own.
#[track_caller]
fn check(text: &str, expected: &str) {
    let begin = |text: &str| text.strip_prefix('\n').unwrap_or(text).to_owned();
    let said = said(&begin(text));
    assert!(said == begin(expected), "said:\n{said}\nexpected:\n{}", begin(expected));
}

/// The plan of `text`, which must be without errors.
#[track_caller]
pub(super) fn plan_of(text: &str) -> Plan {
    match load_str("giveover.toml", text) {
        Ok(loaded) => loaded.plan,
        Err(errors) => panic!("{errors}"),
    }
}

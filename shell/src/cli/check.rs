//! `giveover check`

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::exit::{Exit, Stop};
use super::session::Session;
use super::{engine, json, place};
use crate::report::model::StatusDoc;
use crate::report::paint::Paint;

/// Read a configuration and say everything that is wrong with it, and what it leads to
#[derive(Debug, Args)]
#[command(
    after_help = "Only files are read, so a fleet's configuration can be checked anywhere. For each \
                  service it says how soon a fault is noticed, when it is restarted, and when it \
                  gives over at worst. Exits 3 if there are errors."
)]
pub(super) struct Check {
    /// The configuration [/etc/giveover/giveover.toml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Warnings are errors
    #[arg(long)]
    strict: bool,
    /// Also ask this machine: units, programs, users, directories
    #[arg(long)]
    here: bool,
}

/// What is to be checked.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The configuration.
    pub file: PathBuf,
    /// Also ask this machine.
    pub here: bool,
    /// Colours.
    pub paint: Paint,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// What it leads to, as [`crate::report::check::text`] shows it; empty with errors.
    pub screen: String,
    /// Errors and warnings, each with its place.
    pub findings: String,
    /// The same for `--json`.
    pub json: serde_json::Value,
    /// How many errors.
    pub errors: usize,
    /// How many warnings.
    pub warnings: usize,
}

pub(super) fn run(verb: Check, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let file = verb.file.unwrap_or_else(|| PathBuf::from(place::CONFIGURATION));
    not_a_service(&file, session)?;
    let checked = engine::check(&CheckOptions { file, here: verb.here, paint: session.paint });
    if session.json {
        session.print(&json::line(&checked.json))?;
    } else {
        session.print(&checked.screen)?;
        session.console.tell(&checked.findings);
    }
    let refused = checked.errors > 0 || verb.strict && checked.warnings > 0;
    Ok(if refused { Exit::REFUSED } else { Exit::DONE })
}

/// A name where a file belongs, if a daemon nearby knows the name.
fn not_a_service(file: &Path, session: &Session<'_>) -> Result<(), Stop> {
    let Some(name) = file.to_str().filter(|name| place::is_name(name)) else {
        return Ok(());
    };
    if file.exists() || place::looks_like_file(name) {
        return Ok(());
    }
    let answer = session.control.get("/status.json", Duration::from_secs(1)).unwrap_or_default();
    let doc: StatusDoc = json::harmless(&answer).unwrap_or_default();
    if doc.services.iter().any(|service| service.name == name) {
        let text =
            format!("`{name}` is a service, not a file: `giveover probe {name}` runs its checks");
        return Err(Stop::usage(text));
    }
    Ok(())
}

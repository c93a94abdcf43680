//! `giveover tune`

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Stop};
use super::json;
use super::session::Session;
use crate::sim::replay::{self, Source};
use crate::sim::tune;

/// Try policies on recorded journals: how soon each acts, and how often for nothing
#[derive(Debug, Args)]
#[command(
    after_help = "For each recorded service the frontier: no other policy that was tried is sooner \
                  without more needless restarts. The policy in use has a star. A fault is real if \
                  the process died or if it lasted until something was done; one that a healthy \
                  probe ended needed nothing. With --json every policy that was tried."
)]
pub(super) struct Tune {
    /// Journals of daemons: files or state directories
    #[arg(value_name = "JOURNAL", required = true)]
    journals: Vec<PathBuf>,
}

pub(super) fn run(verb: &Tune, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let mut recordings = Vec::new();
    for path in &verb.journals {
        match replay::read(path).map_err(|error| Stop::refused(error.to_string()))? {
            Source::Journal(recording) => recordings.push(*recording),
            Source::Board(_) => {
                let text = format!("{}: a board's log has no probes to tune by", path.display());
                return Err(Stop::refused(text));
            }
        }
    }
    let tuned = tune::tune(&recordings);
    let text = if session.json { json::line(&tune::json(&tuned)) } else { tune::text(&tuned) };
    session.print(&text)?;
    Ok(Exit::DONE)
}

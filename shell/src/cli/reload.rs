//! `giveover reload`

use clap::Args;

use super::exit::{Exit, Stop};
use super::session::Session;
use crate::report::model::Command;

/// Read the configuration again
#[derive(Debug, Args)]
#[command(
    after_help = "Waits for the answer and prints what changed. A configuration that is refused \
                  changes nothing: its errors are printed and the exit status is 3. With --dry-run \
                  nothing changes either, and the exit status is 1 if something would."
)]
pub(super) struct Reload {
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(verb: &Reload, session: &mut Session<'_>) -> Result<Exit, Stop> {
    session.command(&Command { verb: "reload".into(), dry_run: verb.dry_run, ..Command::default() })
}

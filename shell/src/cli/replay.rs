//! `giveover replay`

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Stop};
use super::picture::Pictures;
use super::session::Session;
use super::{engine, json};

/// Feed a recorded journal once more: the same policy decides the same, another one is compared
#[derive(Debug, Args)]
#[command(
    after_help = "JOURNAL is a daemon's journal (its file or its state directory; a daemon may be \
                  writing it) or a board's log as `giveover board log` prints it. Exits 1 with the \
                  first difference where the recorded policy decides otherwise now, 3 where the file \
                  cannot be replayed. With --with both days are shown side by side: probes, deaths \
                  and people's wishes are those recorded; a restart or giveover that nobody recorded \
                  goes as the one nearest to it did."
)]
pub(super) struct Replay {
    /// What was recorded
    #[arg(value_name = "JOURNAL")]
    journal: PathBuf,
    /// A configuration with other policies; with only [policy.default] it is for every service
    #[arg(long = "with", value_name = "FILE")]
    other: Option<PathBuf>,
    #[command(flatten)]
    pictures: Pictures,
}

pub(super) fn run(verb: &Replay, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let replayed = engine::replay(&verb.journal, verb.other.as_deref())?;
    if session.json {
        session.print(&json::line(&replayed.json))?;
    } else {
        session.print(&replayed.text)?;
    }
    verb.pictures.draw(&replayed.timeline, &replayed.sentences, session)?;
    Ok(if replayed.agrees { Exit::DONE } else { Exit::NO })
}

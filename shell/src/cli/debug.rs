//! `giveover debug`

use clap::{Args, ValueEnum};

use super::exit::{Exit, Stop};
use super::session::Session;
use crate::report::model::Command;

/// Change how much debugging the daemon writes
#[derive(Debug, Args)]
pub(super) struct Debug {
    /// None, what is out of the ordinary, or every step
    #[arg(value_name = "LEVEL")]
    level: Level,
}

/// A level of debugging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Level {
    Off,
    Low,
    High,
}

impl From<Level> for crate::message::Debug {
    fn from(level: Level) -> Self {
        match level {
            Level::Off => Self::Off,
            Level::Low => Self::Low,
            Level::High => Self::High,
        }
    }
}

pub(super) fn run(verb: &Debug, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let level = crate::message::Debug::from(verb.level);
    session.command(&Command {
        verb: "debug".into(),
        level: Some(level.word().into()),
        ..Command::default()
    })
}

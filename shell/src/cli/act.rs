//! `giveover start`, `stop`, `restart`, `release` and `clear`: commands that need no more than
//! to know which services.

use clap::Args;

use super::exit::{Exit, Stop};
use super::place;
use super::session::Session;
use crate::report::model::Command;

// Which services. No doc comment: it would become the text of every verb that has them.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct Targets {
    /// These
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
    /// All of them
    #[arg(long)]
    all: bool,
}

impl Targets {
    /// The command called `verb` for them.
    pub(super) fn command(self, verb: &str) -> Result<Command, Stop> {
        for name in &self.services {
            place::service(name)?;
        }
        let Self { services, all } = self;
        Ok(Command { verb: verb.into(), services, all, ..Command::default() })
    }
}

/// Start services, and monitor them
#[derive(Debug, Args)]
pub(super) struct Start {
    #[command(flatten)]
    targets: Targets,
    /// The node that gave it over to us, for the ping-pong guard
    #[arg(long, value_name = "NODE")]
    from: Option<String>,
}

pub(super) fn start(verb: Start, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let command = verb.targets.command("start")?;
    session.command(&Command { from: verb.from, ..command })
}

/// The command called `verb`, answered once it has been carried out.
pub(super) fn run(verb: &str, targets: Targets, session: &mut Session<'_>) -> Result<Exit, Stop> {
    session.command(&targets.command(verb)?)
}

//! `giveover monitor`

use clap::{Args, Subcommand};

use super::act::Targets;
use super::exit::{Exit, Stop};
use super::session::Session;

/// End or begin monitoring while services run on
#[derive(Debug, Args)]
pub(super) struct Monitor {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// End it: nothing is probed and nothing is acted on
    Stop(Targets),
    /// Begin it again
    Start(Targets),
}

pub(super) fn run(verb: Monitor, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let command = match verb.what {
        What::Stop(targets) => targets.command("monitor_stop"),
        What::Start(targets) => targets.command("monitor_start"),
    };
    session.command(&command?)
}

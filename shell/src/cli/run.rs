//! `giveover run`

use std::path::PathBuf;

use clap::Args;

use super::debug::Level;
use super::exit::{Exit, Stop};
use super::session::Session;
use super::{engine, place};
use crate::message::Debug;
use crate::report::paint::Paint;

/// Watch the services of a configuration
#[derive(Debug, Default, Args)]
#[command(
    after_help = "Stops on TERM and INT, reads the configuration again on HUP, writes the full \
                  status to the log on USR1. Exit status: `giveover help exit`."
)]
pub(super) struct Run {
    /// The configuration [/etc/giveover/giveover.toml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Decide, record and show everything, and act on nothing
    #[arg(long)]
    observe: bool,
    /// Leave services running at the end, to be adopted by the next run
    #[arg(long)]
    leave: bool,
    /// The journal, instead of the one in the state directory
    #[arg(long, value_name = "PATH")]
    journal: Option<PathBuf>,
    /// The state directory
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Show what it does on a service of its own, in about 20 seconds; needs nothing
    #[arg(long, conflicts_with_all = ["file", "observe", "leave", "state"])]
    demo: bool,
    /// Write debugging: low, or with =high every step
    #[arg(
        short = 'd',
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "low"
    )]
    debug: Option<Level>,
}

impl Run {
    /// With this file and this state directory, and otherwise as usual.
    pub(super) fn of(file: Option<PathBuf>, state: Option<PathBuf>) -> Self {
        Self { file, state, ..Self::default() }
    }
}

/// What the daemon is told.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The configuration.
    pub file: PathBuf,
    /// `--observe`
    pub observe: bool,
    /// `--leave`
    pub leave: bool,
    /// `--journal`; the state directory's own if unset.
    pub journal: Option<PathBuf>,
    /// `--state`; found from environment and user if unset.
    pub state: Option<PathBuf>,
    /// Where to listen.
    pub socket: PathBuf,
    /// Whether the socket was named, so that the demonstration may use one of its own.
    pub socket_named: bool,
    /// `--demo`
    pub demo: bool,
    /// It only votes.
    pub witness: bool,
    /// How much debugging.
    pub debug: Debug,
    /// Colours on standard error.
    pub paint: Paint,
}

pub(super) fn run(verb: Run, session: &mut Session<'_>) -> Result<Exit, Stop> {
    start(verb, false, session)
}

/// Runs the daemon; as a `witness` it serves nothing and only votes.
pub(super) fn start(verb: Run, witness: bool, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let told = session.common.socket.as_deref();
    let around = &session.console.surroundings;
    let colour = match session.common.color {
        super::Colour::Always => true,
        super::Colour::Never => false,
        super::Colour::Auto => session.console.error_terminal && !around.colourless,
    };
    let options = RunOptions {
        file: verb.file.unwrap_or_else(|| PathBuf::from(place::CONFIGURATION)),
        observe: verb.observe,
        leave: verb.leave,
        journal: verb.journal,
        state: verb.state,
        socket: place::socket_to_listen_on(told, around),
        socket_named: told.is_some() || around.socket.is_some(),
        demo: verb.demo,
        witness,
        debug: verb.debug.map_or(Debug::Off, Debug::from),
        paint: Paint::new(colour),
    };
    Ok(engine::run(options, &around.words))
}

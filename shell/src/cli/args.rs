//! The verbs and what they share.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{
    act, agent, board, check, completions, debug, events, explain, giveover, help, history, hold,
    import, key, monitor, node, notify, pool, preset, probe, reload, replay, run, simulate, status,
    tune, wait, witness,
};

/// `giveover`
#[derive(Debug, Parser)]
#[command(
    name = "giveover",
    version,
    about = "Service fault monitor: probes, budgeted restarts, giveover",
    override_help = help::OVERVIEW,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) common: Common,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// What every verb understands.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Every verb")]
pub(super) struct Common {
    /// Print JSON: one object, or one a line for events
    #[arg(long, global = true)]
    pub(super) json: bool,
    /// The daemon's control socket [GIVEOVER_SOCKET]
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) socket: Option<PathBuf>,
    /// Colours, which only repeat the words: auto, always or never [NO_COLOR]
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(super) color: Colour,
}

/// `--color`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

// The texts of verbs stand beside their arguments; only those that share theirs have one here.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    Run(run::Run),
    Check(check::Check),
    Import(import::Import),
    Preset(preset::Preset),
    Simulate(simulate::Simulate),
    Replay(replay::Replay),
    Tune(tune::Tune),
    Probe(probe::Probe),
    Status(status::Status),
    Explain(explain::Explain),
    History(history::History),
    Events(events::Events),
    Wait(wait::Wait),
    Start(act::Start),
    /// Stop services, until someone starts them
    Stop(act::Targets),
    /// Restart services, at no cost to their budget
    Restart(act::Targets),
    Hold(hold::Hold),
    /// End a hold
    Release(act::Targets),
    /// Forget the failures and restarts of services
    Clear(act::Targets),
    #[command(visible_alias = "give")]
    Giveover(giveover::Giveover),
    Monitor(monitor::Monitor),
    Notify(notify::Notify),
    Agent(agent::Agent),
    Board(board::Board),
    Pool(pool::Pool),
    Node(node::Node),
    Witness(witness::Witness),
    Key(key::Key),
    Reload(reload::Reload),
    #[command(hide = true)]
    Debug(debug::Debug),
    Help(help::Help),
    #[command(hide = true)]
    Completions(completions::Completions),
    #[command(hide = true, name = "internal")]
    Internal(Internal),
    #[command(external_subcommand)]
    Other(Vec<OsString>),
}

/// What the daemon runs of itself.
#[derive(Debug, Args)]
pub(super) struct Internal {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) arguments: Vec<OsString>,
}

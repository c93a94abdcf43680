//! `giveover witness`

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Stop};
use super::run::{self, Run};
use super::session::Session;

/// Run a node that only votes, and serves nothing
#[derive(Debug, Args)]
#[command(
    after_help = "The file is that of the other nodes; [node.NAME] witness = true says which node \
                  this is. Stops on TERM and INT."
)]
pub(super) struct Witness {
    /// The configuration [/etc/giveover/giveover.toml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The state directory
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

pub(super) fn run(verb: Witness, session: &mut Session<'_>) -> Result<Exit, Stop> {
    run::start(Run::of(verb.file, verb.state), true, session)
}

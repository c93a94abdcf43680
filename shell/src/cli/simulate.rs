//! `giveover simulate`

use std::path::PathBuf;

use clap::Args;

use super::engine;
use super::exit::{Exit, Stop};
use super::session::Session;

/// Run scenarios in virtual time and compare with what they expect
#[derive(Debug, Args)]
#[command(
    after_help = "Prints what happened at each step; exits 1 with a diff where an `expect` differs. \
                  With --json an object a step."
)]
pub(super) struct Simulate {
    /// Scenario files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub(super) fn run(verb: &Simulate, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let json = session.json;
    let mut errors = Vec::new();
    let exit = engine::simulate(&verb.files, json, &mut |text| session.print(text), &mut errors);
    errors.iter().for_each(|text| session.console.tell(text));
    exit
}

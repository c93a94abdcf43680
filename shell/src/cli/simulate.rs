//! `giveover simulate`

use std::path::PathBuf;

use clap::Args;

use super::engine;
use super::exit::{Exit, Stop};
use super::picture::Pictures;
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
    #[command(flatten)]
    pictures: Pictures,
}

pub(super) fn run(verb: &Simulate, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let mut worst = 0;
    for file in &verb.files {
        let played = engine::simulate(file, session.json);
        worst = worst.max(played.exit);
        session.print(&played.text)?;
        if !played.refused.is_empty() {
            session.console.tell(&played.refused);
        }
        if let Some(timeline) = &played.timeline {
            verb.pictures.draw(timeline, &[], session)?;
        }
    }
    Ok(Exit(worst))
}

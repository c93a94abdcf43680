//! `giveover giveover`

use clap::Args;

use super::exit::{Exit, Stop};
use super::place;
use super::session::Session;
use crate::report::model::Command;

/// Hand a service over
#[derive(Debug, Args)]
#[command(
    after_help = "Asked, stopped, proven stopped, then handed over; exits 1 if it is denied."
)]
pub(super) struct Giveover {
    /// The service
    #[arg(value_name = "SERVICE")]
    service: String,
    /// The node that is to take it
    #[arg(long, value_name = "NODE")]
    to: Option<String>,
}

pub(super) fn run(verb: Giveover, session: &mut Session<'_>) -> Result<Exit, Stop> {
    place::service(&verb.service)?;
    session.command(&Command {
        verb: "giveover".into(),
        services: vec![verb.service],
        to: verb.to,
        ..Command::default()
    })
}

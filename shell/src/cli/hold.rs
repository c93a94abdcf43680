//! `giveover hold`

use clap::Args;

use super::act::Targets;
use super::duration;
use super::exit::{Exit, Stop};
use super::session::Session;
use crate::report::model::Command;

/// Leave services as they lie: probed and shown, but nothing counts
#[derive(Debug, Args)]
#[command(
    after_help = "A hold ends by itself, so that none is forgotten. `giveover release` ends it \
                  before."
)]
pub(super) struct Hold {
    #[command(flatten)]
    targets: Targets,
    /// How long: 30m, 1h, 2d; or `ever`
    #[arg(long = "for", value_name = "DURATION", value_parser = end, default_value = "1h")]
    length: End,
    /// Why, for whoever looks at it next
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// When a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    After(u64),
    Never,
}

fn end(text: &str) -> Result<End, String> {
    match text {
        "ever" => Ok(End::Never),
        _ => match duration::parse(text)? {
            0 => Err(String::from("a hold of no length holds nothing")),
            ms => Ok(End::After(ms)),
        },
    }
}

pub(super) fn run(verb: Hold, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let command = verb.targets.command("hold")?;
    // Nothing said means an hour to the daemon too; only its largest number means for ever.
    let for_ms = match verb.length {
        End::After(ms) => Some(ms),
        End::Never => Some(u64::MAX),
    };
    session.command(&Command { for_ms, reason: verb.reason, ..command })
}

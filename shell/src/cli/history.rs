//! `giveover history`

use clap::Args;

use super::events::print_all;
use super::exit::{Exit, Stop};
use super::session::{self, Session};
use super::{duration, picture, place};
use crate::report::events::Reel;
use crate::report::model::EventDoc;
use crate::sim::told;

/// Say what happened to a service
#[derive(Debug, Args)]
#[command(
    after_help = "Everything the journal still has, oldest first. In a pipe an event is a line of \
                  time, level, service, event and text, tab-separated; with --json an object a line. \
                  Times are UTC."
)]
pub(super) struct History {
    /// The service
    #[arg(value_name = "SERVICE")]
    service: String,
    /// Only the last of it: 30m, 1h, 7d
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    since: Option<u64>,
}

pub(super) fn run(verb: &History, session: &mut Session<'_>) -> Result<Exit, Stop> {
    place::service(&verb.service)?;
    let mut target = format!("/history/{}", session::encoded(&verb.service));
    if let Some(since) = verb.since {
        target += &format!("?since_ms={since}");
    }
    let bytes = session.ask(&target)?;
    let mut events: Vec<EventDoc> = session.read(&bytes)?;
    events.retain(|event| !event.is_legacy());
    if events.is_empty() && session.for_people() {
        session.print("nothing is recorded of that time\n")?;
    }
    print_all(&events, &mut Reel::of_one(), session)?;
    if let Some(timeline) = told::of_events(&verb.service, &events) {
        picture::small(&timeline, session)?;
    }
    Ok(Exit::DONE)
}

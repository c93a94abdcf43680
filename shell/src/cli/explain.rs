//! `giveover explain`

use clap::Args;

use super::exit::{Exit, Stop};
use super::session::{self, Session};
use super::{json, place};
use crate::report::explain;
use crate::report::model::EventDoc;

/// Say why a service is as it is, and what comes next
#[derive(Debug, Args)]
#[command(
    after_help = "Where it stands, how it got there, what the next failure and the next healthy \
                  probe lead to, and what stands in the way. Times are UTC."
)]
pub(super) struct Explain {
    /// The service
    #[arg(value_name = "SERVICE")]
    service: String,
}

pub(super) fn run(verb: &Explain, session: &mut Session<'_>) -> Result<Exit, Stop> {
    place::service(&verb.service)?;
    let doc = session.status()?;
    let service = session::find(&doc, &verb.service)?;
    let text =
        explain::text(&doc, service, &history(session, &verb.service, service.retry_interval_ms));
    if session.json {
        let sentences = serde_json::json!({
            "service": service.name, "status": service.status, "text": text.trim_end(),
        });
        session.print(&json::line(&sentences))?;
    } else {
        session.print(&text)?;
    }
    Ok(Exit::DONE)
}

/// The events of the window, for the times in the text. It can do without.
fn history(session: &Session<'_>, name: &str, window_ms: u64) -> Vec<EventDoc> {
    let since = window_ms.saturating_mul(2);
    let target = format!("/history/{}?since_ms={since}", session::encoded(name));
    let bytes = session.ask(&target).unwrap_or_default();
    session.read(&bytes).unwrap_or_default()
}

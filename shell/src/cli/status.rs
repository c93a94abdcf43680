//! `giveover status`

use clap::Args;

use super::exit::{Exit, Stop};
use super::session::{self, Session};
use super::{json, place, watch};
use crate::report::model::{PoolDoc, ServiceDoc, StatusDoc};
use crate::report::{phrase, pool, service, status};

/// Say how services are
#[derive(Debug, Args)]
#[command(
    after_help = "One name shows everything about that service, none or several a table; a pool's \
                  name, or POOL/MEMBER, shows its members. In a pipe the table is a line a service, tab-separated: name, status, for how long, sum, \
                  restarts, checks, what is next. Times are UTC."
)]
pub(super) struct Status {
    /// Only these
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
    /// Keep showing it; in a pipe, print events as they come
    #[arg(long)]
    watch: bool,
    /// Exit 1 unless every service is ok, measured and not held, every pool has a member that takes
    /// work, and a board is armed
    #[arg(long)]
    exit_code: bool,
}

pub(super) fn run(verb: &Status, session: &mut Session<'_>) -> Result<Exit, Stop> {
    for name in &verb.services {
        place::service(name)?;
    }
    if verb.watch {
        return watch::run(&verb.services, session);
    }
    let bytes = session.ask("/status.json")?;
    let mut doc = session.status_of(&bytes)?;
    session::only(&mut doc, &verb.services)?;
    if session.json {
        let text = if verb.services.is_empty() { whole(&bytes) } else { json::line(&doc) };
        session.print(&text)?;
    } else {
        let text = screen(&doc, verb, session);
        session.print(&text)?;
    }
    let armed = doc.board.as_ref().is_none_or(|board| board.armed);
    let well = armed && doc.services.iter().all(is_well) && doc.pools.iter().all(serves);
    Ok(if verb.exit_code && !well { Exit::NO } else { Exit::DONE })
}

fn screen(doc: &StatusDoc, verb: &Status, session: &Session<'_>) -> String {
    match (doc.services.as_slice(), verb.services.len()) {
        ([one], 1) if doc.pools.is_empty() => service::screen(doc, one, session.paint),
        ([], 1..) if session.console.terminal => {
            pool::screen(&doc.pools, status::taken(doc), session.paint)
        }
        ([], 1..) => pool::plain(&doc.pools, status::taken(doc)),
        _ if session.console.terminal => status::screen(doc, session.paint),
        _ => status::plain(doc),
    }
}

/// The daemon's document as it came: one of a newer daemon has fields that we do not know.
fn whole(bytes: &[u8]) -> String {
    String::from(String::from_utf8_lossy(bytes).trim_end()) + "\n"
}

/// Somebody takes work, it can be judged, and whoever is told of it follows.
fn serves(pool: &PoolDoc) -> bool {
    pool.none_left.is_none() && pool.frozen.is_none() && pool.trouble.is_empty()
}

/// Ok, measured, and nobody keeps it from being acted on.
fn is_well(service: &ServiceDoc) -> bool {
    service.status == "ok"
        && service.held.is_none()
        && service.unmeasured_ms.is_none()
        && !service.checks.iter().any(phrase::unmeasured)
}

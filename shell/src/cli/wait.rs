//! `giveover wait`

use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use super::control::{self, ControlError};
use super::exit::{Exit, Stop};
use super::session::{self, Session};
use super::{duration, json, place};
use crate::message::span;
use crate::report::model::StatusDoc;

/// How often the daemon is asked.
const AGAIN: Duration = Duration::from_millis(200);

/// Wait until services have a status
#[derive(Debug, Args)]
#[command(
    after_help = "Exits 0 once all of them have it, 1 when the time is up first. A daemon that is \
                  not there yet is waited for as well."
)]
pub(super) struct Wait {
    /// All of these
    #[arg(value_name = "SERVICE", required = true)]
    services: Vec<String>,
    /// The status
    #[arg(long = "for", value_name = "STATUS")]
    status: Wanted,
    /// How long to wait
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "30s")]
    timeout: u64,
}

/// `--for`
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wanted {
    Ok,
    Degraded,
    Faulted,
    Offline,
}

impl Wanted {
    const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Faulted => "faulted",
            Self::Offline => "offline",
        }
    }
}

pub(super) fn run(verb: &Wait, session: &mut Session<'_>) -> Result<Exit, Stop> {
    for name in &verb.services {
        place::service(name)?;
    }
    let begun = Instant::now();
    let limit = Duration::from_millis(verb.timeout);
    let mut told = false;
    loop {
        let left = limit.saturating_sub(begun.elapsed());
        let answer = ask(verb, left, session)?;
        if answer.as_ref().is_ok_and(Vec::is_empty) {
            return done(verb, begun, &[], session);
        }
        let left = limit.saturating_sub(begun.elapsed());
        if left.is_zero() {
            let missing = answer.map_err(|error| session.control.stop(&error))?;
            return done(verb, begun, &missing, session);
        }
        if answer.is_err() && !told {
            let path = session.control.path().display().to_string();
            session.complain(&format!("waiting for the daemon at {path}"));
            told = true;
        }
        thread::sleep(AGAIN.min(left));
    }
}

/// What is still missing, or why the daemon cannot say so yet.
fn ask(
    verb: &Wait,
    left: Duration,
    session: &Session<'_>,
) -> Result<Result<Vec<String>, ControlError>, Stop> {
    match session.control.get("/status.json", left.clamp(AGAIN, control::QUICK)) {
        Ok(bytes) => Ok(Ok(not_yet(&session.status_of(&bytes)?, verb)?)),
        Err(error) if may_come(&error) => Ok(Err(error)),
        Err(error) => Err(session.control.stop(&error)),
    }
}

/// Whether a daemon that is starting, or too busy, could cause this.
fn may_come(error: &ControlError) -> bool {
    matches!(
        error,
        ControlError::NoSocket
            | ControlError::NotListening
            | ControlError::Cut
            | ControlError::Slow(_)
    )
}

/// The services that have another status, as `web is degraded`.
fn not_yet(doc: &StatusDoc, verb: &Wait) -> Result<Vec<String>, Stop> {
    let mut missing = Vec::new();
    for name in &verb.services {
        let service = session::find(doc, name)?;
        if service.status != verb.status.word() {
            missing.push(format!("{name} is {}", service.status));
        }
    }
    Ok(missing)
}

fn done(
    verb: &Wait,
    begun: Instant,
    missing: &[String],
    session: &mut Session<'_>,
) -> Result<Exit, Stop> {
    let reached = missing.is_empty();
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    if session.json {
        let answer = serde_json::json!({
            "reached": reached, "status": verb.status.word(), "waited_ms": ms, "missing": missing,
        });
        session.print(&json::line(&answer))?;
    } else if !reached {
        let waited = span::compact(verb.timeout);
        session.complain(&format!("still not so after {waited}: {}", missing.join(", ")));
    }
    Ok(if reached { Exit::DONE } else { Exit::NO })
}

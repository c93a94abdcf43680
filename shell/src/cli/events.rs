//! `giveover events`

use std::time::Duration;

use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};

use super::control::{self, ControlError, EventStream};
use super::exit::{Exit, Stop};
use super::session::{self, Session};
use super::{duration, json, place};
use crate::report::events::{self, Reel};
use crate::report::model::EventDoc;

/// As many as a daemon is asked for where no number is given: more than it keeps.
pub(super) const ALL: u32 = 100_000;

/// Say what happened
#[derive(Debug, Args)]
#[command(
    after_help = "In a pipe an event is a line of time, level, service, event and text, tab- \
                  separated; with --json an object a line. Times are UTC."
)]
pub(super) struct Events {
    /// Only of these
    #[arg(value_name = "SERVICE")]
    services: Vec<String>,
    /// Go on with what happens from now on
    #[arg(short = 'f', long)]
    follow: bool,
    /// The newest so many; 50 unless --since is given
    #[arg(short = 'n', long = "lines", value_name = "COUNT")]
    lines: Option<u32>,
    /// Only the last of it: 30m, 1h, 7d
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    since: Option<u64>,
    /// The source documents' own messages too
    #[arg(long)]
    legacy: bool,
}

/// What is asked of the daemon.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted<'a> {
    pub(super) services: &'a [String],
    pub(super) lines: u32,
    pub(super) since_ms: Option<u64>,
    pub(super) legacy: bool,
}

impl Wanted<'_> {
    /// The request's target. The source documents' messages, one a probe, are left out by us, so
    /// more is asked for than is wanted.
    pub(super) fn target(&self, follow: bool) -> String {
        let mut target = format!("/events?n={ALL}");
        if follow {
            target += "&follow=1";
        }
        if let Some(since) = self.since_ms {
            target += &format!("&since_ms={since}");
        }
        for name in self.services {
            target += &format!("&service={}", session::encoded(name));
        }
        target
    }

    /// Leaves what is wanted.
    fn keep(&self, events: &mut Vec<EventDoc>) {
        events.retain(|event| self.legacy || !event.is_legacy());
    }
}

pub(super) fn run(verb: &Events, session: &mut Session<'_>) -> Result<Exit, Stop> {
    for name in &verb.services {
        place::service(name)?;
    }
    let usual = if verb.since.is_some() { ALL } else { 50 };
    let wanted = Wanted {
        services: &verb.services,
        lines: verb.lines.unwrap_or(usual),
        since_ms: verb.since,
        legacy: verb.legacy,
    };
    if verb.follow {
        return follow(&wanted, session);
    }
    past(&wanted, &mut Reel::of_all(), session)?;
    Ok(Exit::DONE)
}

/// Prints what has been; returns the newest one's number.
fn past(wanted: &Wanted<'_>, reel: &mut Reel, session: &mut Session<'_>) -> Result<u64, Stop> {
    let bytes = session.ask(&wanted.target(false))?;
    let mut events: Vec<EventDoc> = session.read(&bytes)?;
    let last = newest(&events);
    wanted.keep(&mut events);
    let older = events.len().saturating_sub(wanted.lines as usize);
    print_all(events.get(older..).unwrap_or_default(), reel, session)?;
    Ok(last)
}

fn newest(events: &[EventDoc]) -> u64 {
    events.iter().map(|event| event.seq).max().unwrap_or(0)
}

/// Prints events as they come, until we or our reader are ended. A daemon that goes is waited
/// for: an upgrade or a crash is when someone watches.
pub(super) fn follow(wanted: &Wanted<'_>, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let mut reel = Reel::of_all();
    let mut last = past(wanted, &mut reel, session)?;
    let stop = |error: &ControlError, session: &Session<'_>| session.control.stop(error);
    let opened = session.control.follow(&wanted.target(true));
    let mut stream = opened.map_err(|error| stop(&error, session))?;
    loop {
        wait(&stream)?;
        match stream.receive() {
            Ok(mut events) => {
                // A stream begins with what has been; the journal's numbers tell what is new.
                events.retain(|event| event.seq > last);
                last = last.max(newest(&events));
                wanted.keep(&mut events);
                print_all(&events, &mut reel, session)?;
            }
            Err(ControlError::Cut) => {
                session.complain("the daemon has gone; waiting for it");
                (stream, last) = reopen(wanted, last, session)?;
            }
            Err(error) => return Err(stop(&error, session)),
        }
    }
}

/// A stream of the daemon that came back, and the number it goes on from: one whose journal is
/// new counts from the beginning.
fn reopen(
    wanted: &Wanted<'_>,
    last: u64,
    session: &Session<'_>,
) -> Result<(EventStream, u64), Stop> {
    let target = wanted.target(false);
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let known = session.control.get(&target, control::QUICK).and_then(|bytes| {
            let known: Vec<EventDoc> = json::harmless(&bytes).unwrap_or_default();
            Ok((session.control.follow(&wanted.target(true))?, newest(&known)))
        });
        match known {
            Ok((stream, newest)) => return Ok((stream, if newest < last { 0 } else { last })),
            Err(error @ (ControlError::NoRights | ControlError::Status(..))) => {
                return Err(session.control.stop(&error));
            }
            Err(_) => {}
        }
    }
}

/// Waits for an event, or for our reader to go: it may be long until we would notice by writing.
fn wait(stream: &EventStream) -> Result<(), Stop> {
    if stream.has_complete() {
        return Ok(());
    }
    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(stream, PollFlags::IN), PollFd::new(&stdout, PollFlags::empty())];
    let _ = poll(&mut fds, None); // reading says what is wrong
    let [_, reader] = fds;
    if reader.revents().contains(PollFlags::ERR) { Err(Stop::Closed) } else { Ok(()) }
}

/// Prints events in the form that is wanted.
pub(super) fn print_all(
    events: &[EventDoc],
    reel: &mut Reel,
    session: &mut Session<'_>,
) -> Result<(), Stop> {
    reel.expect(events);
    let mut text = String::new();
    for event in events {
        if session.json {
            text += &json::line(event);
        } else if session.console.terminal {
            text += &reel.lines(event, session.paint);
        } else {
            text += &events::plain(event);
        }
    }
    if text.is_empty() { Ok(()) } else { session.print(&text) }
}

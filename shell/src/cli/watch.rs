//! `giveover status --watch`: redrawn on an event and once a second, nothing else.

mod keys;
mod terminal;

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::control::EventStream;
use super::events::{self, Wanted};
use super::exit::{Exit, Stop};
use super::session::{self, Session};
use crate::report::explain;
use crate::report::model::{EventDoc, StatusDoc};
use crate::report::phrase;
use crate::report::table::{WIDTH, cut};
use crate::report::time::Moment;
use crate::report::watch::{self, Window};
use keys::Key;
use terminal::Terminal;

const TICK: Duration = Duration::from_secs(1);
/// In a storm of events, no more often than this.
const SOONEST: Duration = Duration::from_millis(100);
/// How many events are kept to be shown.
const KEPT: usize = 50;

/// What is on the screen.
#[derive(Debug, Default)]
struct View {
    names: Vec<String>,
    doc: StatusDoc,
    events: Vec<EventDoc>,
    /// Since when the daemon has not answered.
    lost: Option<String>,
    /// The service the cursor is on.
    selected: Option<String>,
    /// It is being explained.
    explaining: bool,
}

pub(super) fn run(names: &[String], session: &mut Session<'_>) -> Result<Exit, Stop> {
    let wanted = Wanted { services: names, ..Wanted::default() };
    if !session.for_people() {
        return events::follow(&wanted, session);
    }
    let mut doc = session.status()?;
    session::only(&mut doc, names)?;
    let mut view = View { names: names.to_vec(), doc, ..View::default() };
    let mut stream = session.control.follow(&wanted.target(true)).ok();
    let mut terminal = Terminal::enter()?;
    loop {
        draw(&view, &terminal, session)?;
        let drawn = Instant::now();
        if wait(&mut view, &mut stream, &mut terminal, drawn)? {
            return Ok(Exit::DONE);
        }
        if stream.is_none() {
            stream = session.control.follow(&wanted.target(true)).ok();
            view.events.clear(); // the newest come again
        }
        refresh(&mut view, session);
    }
}

/// Until the screen is to be drawn again; true at the end.
fn wait(
    view: &mut View,
    stream: &mut Option<EventStream>,
    terminal: &mut Terminal,
    drawn: Instant,
) -> io::Result<bool> {
    let mut dirty = false;
    loop {
        let due = drawn + if dirty { SOONEST } else { TICK };
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let (typed, event) = ready(stream.as_ref(), terminal, left)?;
        if terminal.ended() {
            return Ok(true);
        }
        if typed {
            for key in terminal.keys()? {
                if on_key(view, key) {
                    return Ok(true);
                }
            }
            return Ok(false); // the cursor follows at once
        }
        if event {
            dirty |= take(view, stream);
        }
    }
}

/// Waits for a key or an event.
fn ready(
    stream: Option<&EventStream>,
    terminal: &Terminal,
    left: Duration,
) -> io::Result<(bool, bool)> {
    let mut fds = Vec::with_capacity(2);
    let stdin = io::stdin();
    if terminal.has_keys() {
        fds.push(PollFd::new(&stdin, PollFlags::IN));
    }
    if let Some(stream) = stream {
        if stream.has_complete() {
            return Ok((false, true));
        }
        fds.push(PollFd::new(stream, PollFlags::IN));
    }
    let limit = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let mut ready = fds.iter().map(|fd| !fd.revents().is_empty());
    let typed = terminal.has_keys() && ready.next().unwrap_or(false);
    Ok((typed, ready.next().unwrap_or(false)))
}

/// Takes what the daemon sent; whether there is something new to show.
fn take(view: &mut View, stream: &mut Option<EventStream>) -> bool {
    let Some(open) = stream else { return false };
    match open.receive() {
        Ok(events) if events.is_empty() => return false,
        Ok(events) => view.events.extend(events.into_iter().filter(|event| !event.is_legacy())),
        Err(_) => *stream = None,
    }
    let older = view.events.len().saturating_sub(KEPT);
    view.events.drain(..older);
    true
}

fn refresh(view: &mut View, session: &Session<'_>) {
    match session.status() {
        Ok(mut doc) => {
            session::keep(&mut doc, &view.names);
            view.doc = doc;
            view.lost = None;
        }
        Err(_) => {
            view.lost.get_or_insert_with(|| Moment::now().time());
        }
    }
}

/// What a key does; true for the end.
fn on_key(view: &mut View, key: Key) -> bool {
    let order = phrase::not_ok_first(&view.doc.services);
    let at = |name: &String| order.iter().position(|service| service.name == *name);
    let place = view.selected.as_ref().and_then(at);
    let last = order.len().saturating_sub(1);
    let to = match (key, place) {
        (Key::Quit, _) => return true,
        (Key::Enter, Some(place)) => {
            view.explaining = !view.explaining;
            place
        }
        (Key::Enter, None) => {
            view.explaining = !order.is_empty();
            0
        }
        (Key::Escape, place) => {
            view.explaining = false;
            place.unwrap_or(0)
        }
        (Key::Up, place) => place.unwrap_or(1).saturating_sub(1),
        (Key::Down, None) => 0,
        (Key::Down, Some(place)) => (place + 1).min(last),
        (Key::Other, _) => return false,
    };
    view.selected = order.get(to).map(|service| service.name.clone());
    false
}

fn draw(view: &View, terminal: &Terminal, session: &mut Session<'_>) -> Result<(), Stop> {
    let (rows, columns) = terminal.size();
    let order = phrase::not_ok_first(&view.doc.services);
    let at = |name: &String| order.iter().position(|service| service.name == *name);
    let selected = view.selected.as_ref().and_then(at);
    let window = Window { rows, columns, selected, paint: session.paint };
    let explained = selected.filter(|_| view.explaining).and_then(|place| order.get(place));
    let lines = match explained {
        Some(service) => {
            let text = explain::text(&view.doc, service, &view.events);
            let mut lines = vec![String::from("q quit, enter back"), String::new()];
            lines.extend(text.lines().map(|line| cut(line, columns.min(WIDTH))));
            lines.truncate(rows);
            lines
        }
        None => watch::frame(&view.doc, &view.events, view.lost.as_deref(), &window),
    };
    session.print(&terminal::redrawn(&lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::ServiceDoc;

    fn view() -> View {
        let service = |name: &str, status: &str| ServiceDoc {
            name: name.into(),
            status: status.into(),
            ..ServiceDoc::default()
        };
        let services = vec![service("a", "ok"), service("b", "faulted"), service("c", "ok")];
        View { doc: StatusDoc { services, ..StatusDoc::default() }, ..View::default() }
    }

    #[test]
    fn the_cursor_walks_the_screen_and_stays_on_its_service() {
        let mut view = view();
        for (key, name) in [
            (Key::Down, "b"),
            (Key::Down, "a"),
            (Key::Down, "c"),
            (Key::Down, "c"),
            (Key::Up, "a"),
            (Key::Other, "a"),
        ] {
            assert!(!on_key(&mut view, key));
            assert_eq!(view.selected.as_deref(), Some(name), "{key:?}");
        }
        view.doc.services[0].status = "degraded".into();
        on_key(&mut view, Key::Enter);
        assert!(view.explaining && view.selected.as_deref() == Some("a"));
        on_key(&mut view, Key::Enter);
        assert!(!view.explaining);
        assert!(on_key(&mut view, Key::Quit));
    }

    #[test]
    fn enter_explains_the_first_and_nothing_where_there_is_none() {
        let mut view = view();
        on_key(&mut view, Key::Enter);
        assert!(view.explaining && view.selected.as_deref() == Some("b"));
        on_key(&mut view, Key::Escape);
        assert!(!view.explaining);
        let mut empty = View::default();
        on_key(&mut empty, Key::Enter);
        assert!(!empty.explaining && empty.selected.is_none());
    }
}

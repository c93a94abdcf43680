//! Units that are only looked at: for checks, which want to know a state and start nothing.

use std::collections::VecDeque;
use std::time::Duration;

use giveover_core::time::Instant;

use super::show::Show;
use super::{Host, Services};
use crate::reactor::Reactor;

/// Whose look it is: the caller's own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look(pub u64);

/// What systemd says of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitState {
    /// It has a file for it.
    pub loaded: bool,
    /// `ActiveState`.
    pub active: String,
    /// State and result, for people.
    pub words: String,
}

/// Looks that wait, are asked for, and have been answered.
#[derive(Default)]
pub(super) struct Looking {
    pub(super) wanted: Vec<(Look, Box<str>)>,
    pub(super) asked: Vec<Look>,
    pub(super) found: VecDeque<(Look, Result<UnitState, String>)>,
}

impl Services {
    /// Asks systemd how `unit` is, together with whatever else it is asked: [`Services::looked`]
    /// brings the answer, in ten seconds at most.
    pub fn look(&mut self, reactor: &mut Reactor, look: Look, unit: &str, now: Instant) {
        self.looking.wanted.push((look, unit.into()));
        self.finish(reactor, now);
    }

    /// The next answer to a look; or why systemd could not be asked.
    pub fn looked(&mut self) -> Option<(Look, Result<UnitState, String>)> {
        self.looking.found.pop_front()
    }

    /// Whether systemd is being asked.
    pub(super) fn is_asking(&self) -> bool {
        !(self.asking.is_empty() && self.looking.asked.is_empty())
    }

    /// Takes what was found of a unit that is only looked at.
    pub(super) fn take_look(&mut self, look: Look, show: Result<&Show, String>) {
        self.looking.found.push_back((look, show.map(Show::state)));
    }
}

impl Show {
    fn state(&self) -> UnitState {
        let words = self.words();
        UnitState { loaded: self.loaded, active: self.active_state().to_owned(), words }
    }
}

/// Asks systemd how `unit` is, and waits for the answer: ten seconds at most. `now` is the caller's
/// clock.
///
/// # Errors
/// Why it could not be asked.
pub fn look_once(unit: &str, now: impl Fn() -> Instant) -> Result<UnitState, String> {
    let text = |error: std::io::Error| error.to_string();
    let mut reactor = Reactor::new().map_err(text)?;
    let mut services = Services::new(Host::detect("", ""));
    services.look(&mut reactor, Look(0), unit, now());
    let mut ready = Vec::new();
    loop {
        if let Some((_, found)) = services.looked() {
            return found;
        }
        let at = now();
        let limit = reactor.timers.next().map(|due| Duration::from_millis(due.since(at)));
        reactor.wait(limit, &mut ready).map_err(text)?;
        let at = now();
        for ready in ready.drain(..) {
            services.ready(&mut reactor, ready.token, at);
        }
        while let Some(token) = reactor.timers.pop_due(at) {
            services.due(&mut reactor, token, at);
        }
    }
}

//! One question to systemd for all units that want to be asked about.

use giveover_core::time::Instant;

use super::keeper::{Method, Purpose};
use super::{Services, show, systemctl};
use crate::reactor::{Done, End, Exit, Keep, Order, Reactor};

/// How many units one question is about: what is said of them has to fit in what is kept.
const MOST_UNITS: usize = 64;

impl Services {
    /// Asks systemd about all units that are wanted to be asked about. Whether there are any.
    pub(super) fn ask(&mut self, reactor: &mut Reactor, now: Instant) -> bool {
        let mut units = Vec::new();
        for (slot, entry) in (0..).zip(&self.entries) {
            if let Some(unit) = entry.keeper.as_ref().and_then(|keeper| keeper.asks()) {
                if units.len() < MOST_UNITS {
                    units.push(unit);
                    self.asking.push((slot, entry.generation));
                }
            }
        }
        let mut looks = Vec::new();
        while units.len() + looks.len() < MOST_UNITS {
            let Some(look) = self.looking.wanted.pop() else { break };
            looks.push(look);
        }
        units.extend(looks.iter().map(|(_, unit)| &**unit));
        if units.is_empty() {
            return false;
        }
        let program = systemctl::question(&self.host, reactor.children.environment(), &units);
        for (slot, _) in &self.asking {
            if let Some(keeper) = &mut self.entries[*slot as usize].keeper {
                keeper.asked();
            }
        }
        self.looking.asked = looks.iter().map(|(look, _)| *look).collect();
        let Ok(mut program) = program else {
            // Not so: each name was an argument before, or was found to be a unit's.
            self.asking.clear();
            for look in std::mem::take(&mut self.looking.asked) {
                self.take_look(look, Err("it is no name of a unit".to_owned()));
            }
            return false;
        };
        let until = now.after(systemctl::QUESTION);
        let order = Order { program: &mut program, until, keep: Keep::All, leave: false };
        let key = Method { slot: u32::MAX, purpose: Purpose::Show };
        self.methods.start(reactor, key, order, now);
        true
    }

    /// systemd has answered, or has not.
    pub(super) fn show(&mut self, reactor: &mut Reactor, done: &Done<Method>, now: Instant) {
        let asked = std::mem::take(&mut self.asking);
        let well = done.end == End::Exit(Some(Exit::Status(0)));
        let looks = std::mem::take(&mut self.looking.asked);
        let count = asked.len() + looks.len();
        let shows = well.then(|| show::read(&done.output, count)).flatten();
        let words = || match (done.end, done.line()) {
            (End::TimedOut, _) => "systemd does not answer".to_owned(),
            (End::NotRun(error), _) => format!("systemctl: {error}"),
            (_, Some(line)) => format!("systemctl: {line}"),
            (_, None) => "systemctl says nothing".to_owned(),
        };
        for (place, look) in looks.into_iter().enumerate() {
            let show = shows.as_ref().and_then(|shows| shows.get(asked.len() + place));
            self.take_look(look, show.ok_or_else(words));
        }
        for (place, (slot, generation)) in asked.into_iter().enumerate() {
            if self.entries[slot as usize].generation != generation {
                continue;
            }
            let show = shows.as_ref().and_then(|shows| shows.get(place));
            let show = show.cloned().ok_or_else(words);
            self.with(reactor, slot, now, |keeper, context| keeper.shown(show, context));
        }
    }
}

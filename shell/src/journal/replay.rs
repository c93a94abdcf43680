//! Machines put together again: snapshots filled in, events fed once more.

use std::collections::BTreeMap;

use giveover_core::monitor::{Action, Actions};
use giveover_core::policy::Policy;
use giveover_core::record::{Body, Entry};

use crate::machine::{self, BoxedHistory, BoxedMonitor};

/// A decision that was journalled is not what the same events lead to now.
///
/// What was journalled is what was done, so it is told and nothing is undone; the machine goes
/// on as it decides now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The journal's number of the record.
    pub seq: u64,
    /// The machine.
    pub machine: u32,
    /// What was written down; `None` where something was decided now and nothing was written.
    pub written: Option<Action>,
    /// What is decided now.
    pub decided: Option<Action>,
}

/// Machines while their journal is read: for recovery, and for whoever asks whether a journal
/// still leads to what it says.
#[derive(Debug, Default)]
pub struct Replay {
    machines: BTreeMap<u32, Replayed>,
    differences: Vec<Difference>,
    more_differences: u64,
    orphans: u64,
}

#[derive(Debug)]
struct Replayed {
    monitor: BoxedMonitor,
    /// A snapshot that has not come to its end.
    filling: Option<BoxedHistory>,
    /// What the last event led to, and how much of it was found in the journal.
    decided: Actions,
    found: usize,
}

impl Replay {
    /// So many differences are kept; the rest are counted.
    const MOST_DIFFERENCES: usize = 16;

    /// Takes the next entry of the journal.
    pub fn take(&mut self, seq: u64, entry: &Entry) {
        match entry.body {
            Body::Made { policy, capacity } => {
                // bytes that pass the checksum may still hold what no author could write
                if Policy::new(*policy.limits(), *policy.scope()).is_err() {
                    self.machines.remove(&entry.machine);
                    self.orphans += 1;
                    return;
                }
                let monitor = machine::boxed(policy, entry.at);
                let replayed = Replayed {
                    monitor,
                    filling: Some(machine::empty_history(capacity)),
                    decided: Actions::default(),
                    found: 0,
                };
                self.machines.insert(entry.machine, replayed);
            }
            Body::Event(_) | Body::Action(_) => self.take_live(seq, entry),
            _ => self.take_part(entry),
        }
    }

    /// The service of this machine is no longer configured.
    pub fn forget(&mut self, machine: u32) {
        self.machines.remove(&machine);
    }

    /// The machine of this number as it stands, once its snapshot is whole.
    #[must_use]
    pub fn monitor(&self, machine: u32) -> Option<&BoxedMonitor> {
        let replayed = self.machines.get(&machine)?;
        replayed.filling.is_none().then_some(&replayed.monitor)
    }

    /// What the last event of this machine leads to now.
    #[must_use]
    pub fn decided(&self, machine: u32) -> Option<&Actions> {
        self.machines.get(&machine).map(|replayed| &replayed.decided)
    }

    /// The first differences between what was written down and what is decided now.
    #[must_use]
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// How many more there were.
    #[must_use]
    pub const fn more_differences(&self) -> u64 {
        self.more_differences
    }

    /// Entries that belong to no machine.
    #[must_use]
    pub const fn orphans(&self) -> u64 {
        self.orphans
    }

    fn take_live(&mut self, seq: u64, entry: &Entry) {
        let Some(replayed) = self.machines.get_mut(&entry.machine) else {
            self.orphans += 1;
            return;
        };
        replayed.filling = None; // made and at work: it needs no snapshot
        let mut difference = None;
        match entry.body {
            Body::Event(event) => {
                difference =
                    replayed.decided.as_slice().get(replayed.found).map(|action| Difference {
                        seq,
                        machine: entry.machine,
                        written: None,
                        decided: Some(*action),
                    });
                machine::make_room(&mut replayed.monitor, &event);
                replayed.decided = replayed.monitor.handle(event, entry.at);
                replayed.found = 0;
            }
            Body::Action(action) => {
                let decided = replayed.decided.as_slice().get(replayed.found).copied();
                replayed.found += 1;
                if decided != Some(action) {
                    let written = Some(action);
                    difference = Some(Difference { seq, machine: entry.machine, written, decided });
                }
            }
            _ => {} // only these two are live
        }
        if let Some(difference) = difference {
            self.differs(difference);
        }
    }

    fn take_part(&mut self, entry: &Entry) {
        let Some(replayed) = self.machines.get_mut(&entry.machine) else {
            self.orphans += 1;
            return;
        };
        let Some(history) = &mut replayed.filling else {
            self.orphans += 1;
            return;
        };
        match entry.body {
            Body::Failure(failure) => {
                history.add_failure(failure.at, failure.weight, failure.cause);
            }
            Body::Restart(at) => history.add_restart(at),
            Body::Start(at) => history.add_start(at),
            Body::Total(phase, count) => history.restore_total(phase, count),
            Body::Standing(standing) => {
                if let Some(history) = replayed.filling.take() {
                    let policy = *replayed.monitor.policy();
                    replayed.monitor = machine::restored(policy, history, standing);
                }
            }
            _ => self.orphans += 1, // what a newer version would add raises the version
        }
    }

    fn differs(&mut self, difference: Difference) {
        if self.differences.len() < Self::MOST_DIFFERENCES {
            self.differences.push(difference);
        } else {
            self.more_differences += 1;
        }
    }

    /// The machines as they stand.
    pub(super) fn finish(self) -> Machines {
        let (whole, part): (Vec<_>, Vec<_>) =
            self.machines.into_iter().partition(|(_, replayed)| replayed.filling.is_none());
        Machines {
            monitors: whole.into_iter().map(|(number, one)| (number, one.monitor)).collect(),
            unfinished: part.into_iter().map(|(number, _)| number).collect(),
            differences: self.differences,
            more_differences: self.more_differences,
            orphans: self.orphans,
        }
    }
}

/// What a replay came to.
#[derive(Debug, Default)]
pub(super) struct Machines {
    /// By their numbers.
    pub(super) monitors: BTreeMap<u32, BoxedMonitor>,
    /// Machines whose snapshot was cut off. A machine without its histories would pass for one
    /// that never failed, so they are not used.
    pub(super) unfinished: Vec<u32>,
    /// The first differences between what was decided and what is.
    pub(super) differences: Vec<Difference>,
    /// How many more there were.
    pub(super) more_differences: u64,
    /// Entries that belong to no machine.
    pub(super) orphans: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::compact::machine_entries;
    use giveover_core::failure::{Cause, Phase};
    use giveover_core::monitor::{Event, Message, Status, Ticket};
    use giveover_core::policy::{Limits, Scope};
    use giveover_core::time::{Instant, Span};

    const AT: Instant = Instant::from_millis(5_000);

    fn entry(body: Body) -> Entry {
        Entry { at: AT, machine: 1, body }
    }

    /// The entries of a machine that has just begun, and of its death.
    fn story() -> Vec<Entry> {
        let policy = Policy::new(Limits::DEFAULT, Scope::USUAL).expect("possible").0;
        let mut monitor = machine::boxed(policy, AT);
        let mut entries = Vec::new();
        machine_entries(AT, 1, &monitor, |entry| entries.push(entry));
        let begin = Event::Begin { first: Span::ZERO, started: false };
        for event in [begin, Event::Died { cause: Cause::new(Phase::Died, 9) }] {
            entries.push(entry(Body::Event(event)));
            let actions = monitor.handle(event, AT);
            entries.extend(actions.into_iter().map(|action| entry(Body::Action(action))));
        }
        entries
    }

    fn replayed(entries: &[Entry]) -> Machines {
        let mut replay = Replay::default();
        for (seq, entry) in (1..).zip(entries) {
            replay.take(seq, entry);
        }
        replay.finish()
    }

    #[test]
    fn the_same_events_lead_to_the_same_actions() {
        let machines = replayed(&story());
        assert_eq!((machines.differences.len(), machines.orphans), (0, 0));
        assert!(machines.monitors.get(&1).is_some_and(BoxedMonitor::is_dead));
    }

    #[test]
    fn an_action_that_is_not_decided_now_is_told() {
        let mut entries = story();
        let place = entries
            .iter()
            .position(|entry| matches!(entry.body, Body::Action(Action::Restart { .. })))
            .expect("a restart");
        let decided = match entries[place].body {
            Body::Action(action) => Some(action),
            _ => None,
        };
        entries[place].body = Body::Action(Action::Log);
        let machines = replayed(&entries);
        let seq = place as u64 + 1;
        let difference = Difference { seq, machine: 1, written: Some(Action::Log), decided };
        assert_eq!(machines.differences, [difference]);
    }

    #[test]
    fn an_action_that_was_not_written_is_told_unless_the_journal_ends_there() {
        let mut entries = story();
        let status = entries.pop().expect("the last action");
        assert!(replayed(&entries).differences.is_empty(), "cut off by a crash");
        entries.push(entry(Body::Event(Event::Timeout)));
        let Body::Action(decided) = status.body else { panic!("{status:?}") };
        let Action::Status { status, message } = decided else { panic!("{decided:?}") };
        assert_eq!((status, message), (Status::Degraded, Message::NotRunning));
        let difference = Difference {
            seq: entries.len() as u64,
            machine: 1,
            written: None,
            decided: Some(decided),
        };
        assert_eq!(replayed(&entries).differences, [difference]);
    }

    #[test]
    fn many_differences_are_counted() {
        let mut entries = story();
        let strange = Action::Probe { ticket: Ticket(77) };
        entries.extend((0..20).map(|_| entry(Body::Action(strange))));
        let machines = replayed(&entries);
        assert_eq!((machines.differences.len(), machines.more_differences), (16, 4));
    }

    #[test]
    fn half_a_snapshot_is_no_machine() {
        let machines = replayed(&story()[..1]);
        assert!(machines.monitors.is_empty());
        assert_eq!(machines.unfinished, [1]);
    }

    #[test]
    fn entries_of_nobody_are_counted() {
        let machines = replayed(&story()[2..]);
        assert!(machines.monitors.is_empty());
        assert_eq!(machines.orphans, story().len() as u64 - 2);
    }
}

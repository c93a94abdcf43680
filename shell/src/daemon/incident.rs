//! What goes wrong with a service as people count it: from the first failure to the recovery.

use std::collections::HashMap;

use giveover_core::failure::Cause;
use giveover_core::time::Instant;

use crate::message::Event;

/// From the first failure to the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incident {
    pub(super) number: u32,
    pub(super) since: Instant,
    pub(super) failures: u32,
    pub(super) restarts: u32,
    /// It was said that nothing is done about it: the budget is spent, or it is only watched.
    spent: bool,
    /// Its last failure.
    last: Option<Cause>,
}

impl Incident {
    pub(super) fn new(number: u32, since: Instant) -> Self {
        Self { number, since, failures: 0, restarts: 0, spent: false, last: None }
    }

    /// Counts a failure. Returns the cause of the one before it.
    pub(super) fn note_failure(&mut self, cause: Cause) -> Option<Cause> {
        self.failures += 1;
        self.last.replace(cause)
    }

    /// Counts a restart: what comes next may be told anew.
    pub(super) fn note_restart(&mut self) {
        self.restarts += 1;
        self.spent = false;
    }

    /// It is now said that nothing is done about its failures. Returns whether it was said before,
    /// since its last restart.
    pub(super) fn say_spent(&mut self) -> bool {
        std::mem::replace(&mut self.spent, true)
    }

    /// Whether it was said that nothing is done about its failures.
    pub(super) fn is_spent(&self) -> bool {
        self.spent
    }
}

/// Incidents as the lines of an earlier daemon tell them: those that were not over when it ended go
/// on. Where the first lines of one are gone from the journal, it began with the first that is left.
#[derive(Default)]
pub(super) struct Retold {
    /// The highest number given.
    pub(super) last: u32,
    /// By service.
    pub(super) open: HashMap<String, Incident>,
}

impl Retold {
    /// Takes in a line of `service`. Returns the number of the incident it is of.
    pub(super) fn take(
        &mut self,
        service: &str,
        at: Instant,
        event: Event,
        text: &str,
    ) -> Option<u32> {
        match event {
            // One that counts nothing has no sum.
            Event::Failure if !text.contains("(sum ") => {}
            Event::Failure | Event::Died | Event::StartFailed | Event::Healed => {
                let next = self.last + 1;
                let incident = self.open.entry(service.to_owned());
                let incident = incident.or_insert_with(|| Incident::new(next, at));
                incident.failures += 1;
                self.last = self.last.max(incident.number);
            }
            // One that is not charged has none either.
            Event::Restart if text.contains("(sum ") => {
                if let Some(incident) = self.open.get_mut(service) {
                    incident.note_restart();
                }
            }
            Event::Recovered => {
                let number = number_in(text).or(self.open.get(service).map(|open| open.number));
                self.open.remove(service);
                self.last = self.last.max(number.unwrap_or(0));
                return number;
            }
            _ => {}
        }
        self.open.get(service).map(|incident| incident.number)
    }
}

/// The number in `ok after 2s (incident 3: 1 failure, 1 restart)`.
fn number_in(text: &str) -> Option<u32> {
    let (_, number) = text.split_once("(incident ")?;
    number.split_once(':')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::words;

    #[test]
    fn what_was_not_over_goes_on_with_its_number_and_counts() {
        let mut retold = Retold::default();
        let at = Instant::from_millis;
        let failure = words::failure("page refused", 50, 50);
        let restart = words::restart(1, Some(2), &["page refused"], 100);
        assert_eq!(retold.take("web", at(1), Event::Failure, &failure), Some(1));
        assert_eq!(retold.take("db", at(2), Event::Died, "pid 7 died: exit 1"), Some(2));
        assert_eq!(retold.take("web", at(3), Event::Restart, &restart), Some(1));
        assert_eq!(retold.take("web", at(3), Event::Restart, &words::restart_asked("me")), Some(1));
        let over = words::recovered(1000, 8, 1, 1);
        assert_eq!(retold.take("db", at(4), Event::Recovered, &over), Some(8), "as it was told");
        let uncounted = words::failure_not_counted("page refused", "on hold");
        assert_eq!(retold.take("db", at(5), Event::Failure, &uncounted), None);
        assert_eq!(retold.take("db", at(6), Event::Failure, &failure), Some(9));
        let open = retold.open["web"];
        assert_eq!((open.since, open.failures, open.restarts), (at(1), 1, 1));
        assert_eq!((retold.last, retold.open.len()), (9, 2));
        for text in ["ok", "(incident x: ", "(incident 99999999999: "] {
            assert_eq!(number_in(text), None);
        }
    }
}

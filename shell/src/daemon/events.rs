//! The events of late, in little memory; the journal has those before.

use std::collections::VecDeque;

use giveover_core::time::Instant;

use crate::clock::Clock;
use crate::message;
use crate::report::model::EventDoc;

/// So many are kept.
const MOST: usize = 2000;

/// The events of late.
#[derive(Default)]
pub(super) struct Events {
    ring: VecDeque<Told>,
    pub(super) seq: u64,
    pub(super) incident: u32,
}

/// One event, less what can be told from it again.
struct Told {
    seq: u64,
    at: Instant,
    /// The service's name; empty for the host.
    service: Box<str>,
    text: Box<str>,
    words: Option<Box<Words>>,
    /// `None` for one that this version does not know: its word is in `words`.
    event: Option<message::Event>,
    weight: Option<u8>,
    sum: Option<u16>,
    restarts: Option<u16>,
    retry_count: Option<u16>,
    generation: Option<u32>,
    incident: Option<u32>,
}

/// What few events have.
#[derive(Default, PartialEq)]
struct Words {
    event: Option<String>,
    check: Option<String>,
    cause: Option<String>,
    phase: Option<String>,
    who: Option<String>,
}

impl Events {
    pub(super) fn push(&mut self, at: Instant, doc: EventDoc) {
        if self.ring.len() == MOST {
            self.ring.pop_front();
        }
        self.seq = self.seq.max(doc.seq);
        self.incident = self.incident.max(doc.incident.unwrap_or(0));
        self.ring.push_back(Told::new(at, doc));
    }

    /// Those of `services` (all where none is named) since `since`, at most the `last` of them,
    /// oldest first.
    pub(super) fn past(
        &self,
        clock: &Clock,
        services: &[String],
        since: Option<Instant>,
        last: usize,
    ) -> Vec<EventDoc> {
        let of_these = |told: &&Told| {
            services.is_empty() || services.iter().any(|name| is_of(&told.service, name))
        };
        let young = |told: &&Told| since.is_none_or(|since| told.at >= since);
        let told = self.ring.iter().rev().filter(of_these).filter(young).take(last);
        let mut docs: Vec<EventDoc> = told.map(|told| told.doc(clock)).collect();
        docs.reverse();
        docs
    }
}

/// Whether what happened to `service` is of `name`: a pool's name means its members too.
pub(super) fn is_of(service: &str, name: &str) -> bool {
    let rest = service.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Told {
    fn new(at: Instant, doc: EventDoc) -> Self {
        let event = message::Event::from_word(&doc.event);
        let words = Words {
            event: event.is_none().then_some(doc.event),
            check: doc.check,
            cause: doc.cause,
            phase: doc.phase,
            who: doc.who,
        };
        Self {
            seq: doc.seq,
            at,
            service: doc.service.into(),
            text: doc.text.into(),
            words: (words != Words::default()).then(|| Box::new(words)),
            event,
            weight: doc.weight,
            sum: doc.sum,
            restarts: doc.restarts,
            retry_count: doc.retry_count,
            generation: doc.generation,
            incident: doc.incident,
        }
    }

    fn doc(&self, clock: &Clock) -> EventDoc {
        let words = |pick: fn(&Words) -> &Option<String>| {
            self.words.as_deref().and_then(|words| pick(words).clone())
        };
        let (level, event) = match self.event {
            Some(event) => (event.level().word(), event.word().to_owned()),
            None => ("notice", words(|words| &words.event).unwrap_or_default()),
        };
        EventDoc {
            seq: self.seq,
            at: clock.wall(self.at),
            level: level.to_owned(),
            event,
            service: self.service.to_string(),
            text: self.text.to_string(),
            check: words(|words| &words.check),
            cause: words(|words| &words.cause),
            phase: words(|words| &words.phase),
            weight: self.weight,
            sum: self.sum,
            restarts: self.restarts,
            retry_count: self.retry_count,
            generation: self.generation,
            incident: self.incident,
            who: words(|words| &words.who),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document as the daemon makes it at `ms`, with or without what few have.
    fn doc(clock: &Clock, seq: u64, service: &str, whole: bool) -> EventDoc {
        let word = |word: &str| whole.then(|| word.to_owned());
        EventDoc {
            seq,
            at: clock.wall(Instant::from_millis(seq)),
            level: "warning".to_owned(),
            event: "failure".to_owned(),
            service: service.to_owned(),
            text: "http read timed out".to_owned(),
            check: word("page"),
            cause: word("timed out"),
            phase: word("read"),
            weight: whole.then_some(50),
            sum: Some(50),
            restarts: Some(1),
            retry_count: None,
            generation: Some(3),
            incident: whole.then_some(7),
            who: word("root"),
        }
    }

    #[test]
    fn an_event_is_told_as_it_was() {
        let clock = Clock::new(0);
        let mut events = Events::default();
        let strange = EventDoc {
            event: "of_tomorrow".to_owned(),
            level: "notice".to_owned(),
            ..doc(&clock, 3, "", false)
        };
        let docs = [doc(&clock, 1, "web", true), doc(&clock, 2, "db", false), strange];
        for doc in &docs {
            events.push(Instant::from_millis(doc.seq), doc.clone());
        }
        let all = |names: &[String], since: u64, last| {
            events.past(&clock, names, Some(Instant::from_millis(since)), last)
        };
        assert_eq!(all(&[], 0, 9), docs);
        assert_eq!(all(&["db".to_owned()], 0, 9), docs[1..2]);
        assert_eq!(all(&[], 2, 9), docs[1..]);
        assert_eq!(all(&[], 0, 1), docs[2..]);
        assert_eq!((events.seq, events.incident), (3, 7));
    }

    #[test]
    fn a_pools_name_means_its_members_too() {
        assert!(is_of("web", "web") && is_of("web/a", "web") && is_of("web/a", "web/a"));
        assert!(!is_of("web2", "web") && !is_of("web", "web/a") && !is_of("", "web"));
    }

    #[test]
    fn the_oldest_make_room() {
        let clock = Clock::new(0);
        let mut events = Events::default();
        for seq in 1..=MOST as u64 + 5 {
            events.push(Instant::from_millis(seq), doc(&clock, seq, "web", false));
        }
        let past = events.past(&clock, &[], None, usize::MAX);
        assert_eq!((past.len(), past[0].seq), (MOST, 6));
    }
}

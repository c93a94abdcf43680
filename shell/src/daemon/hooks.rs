//! `[notify.NAME]`: who is told what happens, by a command or a webhook.
//!
//! One notice per incident: its first edge that is wanted, another only where one is graver than all
//! before, and its end. Notices of one hook go one after the other; one that cannot be delivered is
//! tried again twice. None of this decides anything, and none of it is waited for.

use std::collections::{HashMap, VecDeque};

use giveover_core::time::{Instant, Span};

use super::{DAEMON_NOTICES, Daemon};
use crate::config::EDGES;
use crate::config::dollar::Values;
use crate::config::plan::{NotifyPlan, Way};
use crate::message::{self, Level};
use crate::reactor::{Done, End, Environment, Keep, Order, Program, Ready, Room, Runner, Token};
use crate::report::model::EventDoc;

/// A notice must be delivered within this.
const PATIENCE: Span = Span::from_secs(30);
/// How often one is tried, and how long after the one before.
const TRIES: u8 = 3;
const AGAIN: Span = Span::from_secs(5);
/// So many wait for one hook; the oldest goes where there is no room.
const MOST_WAITING: usize = 64;
/// Incidents of which a hook remembers that they were told.
const MOST_INCIDENTS: usize = 256;

/// What hooks have to do.
pub(super) struct Hooks {
    runner: Runner<usize>,
    hooks: Vec<Hook>,
}

#[derive(Default)]
struct Hook {
    told: HashMap<u32, Told>,
    waiting: VecDeque<Notice>,
    under_way: Option<Notice>,
    /// After a failure nothing is tried before.
    not_before: Option<Instant>,
}

struct Told {
    gravity: u8,
    notice: EventDoc,
    again: Option<Instant>,
}

struct Notice {
    doc: EventDoc,
    tries: u8,
}

impl Hooks {
    pub(super) fn new() -> Self {
        Self { runner: Runner::new(Room::Hook), hooks: Vec::new() }
    }
}

/// How grave an event is, to compare.
fn gravity(doc: &EventDoc) -> u8 {
    let level = message::Event::from_word(&doc.event).map_or(Level::Info, message::Event::level);
    match level {
        Level::Debug => 0,
        Level::Info => 1,
        Level::Notice => 2,
        Level::Warning => 3,
        Level::Error => 4,
        Level::Critical => 5,
    }
}

fn is_wanted(plan: &NotifyPlan, doc: &EventDoc) -> bool {
    let edge = EDGES.contains(&doc.event.as_str());
    edge && (plan.on.is_empty() || plan.on.iter().any(|edge| edge.word() == doc.event))
}

impl Hook {
    /// Takes in what happened; true if a notice is due for it.
    fn take(&mut self, plan: &NotifyPlan, doc: &EventDoc, now: Instant) -> bool {
        let wanted = is_wanted(plan, doc);
        let Some(incident) = doc.incident else { return wanted };
        if doc.event == message::Event::Recovered.word() {
            let told = self.told.remove(&incident).is_some();
            return wanted && (told || !plan.on.is_empty());
        }
        let graver = self.told.get(&incident).is_none_or(|told| gravity(doc) > told.gravity);
        if !wanted || !graver {
            return false;
        }
        if self.told.len() >= MOST_INCIDENTS {
            if let Some(oldest) = self.told.keys().min().copied() {
                self.told.remove(&oldest);
            }
        }
        let again = plan.repeat.map(|repeat| now.after(repeat));
        self.told.insert(incident, Told { gravity: gravity(doc), notice: doc.clone(), again });
        true
    }

    fn push(&mut self, doc: EventDoc) {
        if self.waiting.len() == MOST_WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(Notice { doc, tries: 0 });
    }

    /// Notices that are to be given again, and when the next is.
    fn repeat(&mut self, plan: &NotifyPlan, now: Instant) -> Option<Instant> {
        let Some(every) = plan.repeat else {
            self.told.values_mut().for_each(|told| told.again = None);
            return None;
        };
        let mut due = Vec::new();
        for told in self.told.values_mut() {
            let again = told.again.get_or_insert_with(|| now.after(every));
            if *again <= now {
                *again = now.after(every);
                let mut doc = told.notice.clone();
                doc.text = format!("still: {}", doc.text);
                due.push(doc);
            }
        }
        due.sort_by_key(|doc| doc.seq);
        due.into_iter().for_each(|doc| self.push(doc));
        self.told.values().filter_map(|told| told.again).min()
    }
}

impl Daemon {
    /// Something happened: whoever wants to be told is.
    pub(super) fn notice(&mut self, doc: &EventDoc) {
        let now = self.now;
        let mut any = false;
        for hook in self.hooks_that_want(doc) {
            hook.push(doc.clone());
            any = true;
        }
        if any {
            self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_NOTICES, 0), now);
        }
    }

    /// Something happened when an earlier daemon was here: whoever wanted to be told was, and is
    /// told when it is over.
    pub(super) fn was_noticed(&mut self, doc: &EventDoc) {
        if doc.incident.is_some() {
            let _ = self.hooks_that_want(doc).count();
        }
    }

    /// An incident is over, though nobody said so.
    pub(super) fn forget_notices(&mut self, incident: u32) {
        for hook in &mut self.hooks.hooks {
            hook.told.remove(&incident);
        }
    }

    /// The hooks that are to tell it, which from now on have.
    fn hooks_that_want(&mut self, doc: &EventDoc) -> impl Iterator<Item = &mut Hook> {
        let now = self.now;
        self.hooks.hooks.resize_with(self.plan.notify.len(), Hook::default);
        let pairs = self.plan.notify.iter().zip(&mut self.hooks.hooks);
        pairs.filter_map(move |(plan, hook)| hook.take(plan, doc, now).then_some(hook))
    }

    /// Another plan: what was told of incidents under way stays with the hook of the same name.
    pub(super) fn reload_hooks(&mut self, old: &[NotifyPlan]) {
        let mut hooks = std::mem::take(&mut self.hooks.hooks);
        hooks.resize_with(old.len(), Hook::default);
        let mut known: HashMap<&str, Hook> =
            old.iter().map(|plan| &*plan.name).zip(hooks).collect();
        self.hooks.hooks = self
            .plan
            .notify
            .iter()
            .map(|plan| {
                let mut hook = known.remove(&*plan.name).unwrap_or_default();
                hook.under_way = None; // its end is told to a place that may be another's
                hook
            })
            .collect();
        let now = self.now;
        self.hooks.runner.cancel_all(&mut self.reactor, now);
        self.hooks_done();
    }

    /// Delivers what waits, and repeats what is due.
    pub(super) fn notices_due(&mut self) {
        let now = self.now;
        let mut next: Option<Instant> = None;
        let pairs = self.plan.notify.iter().zip(&mut self.hooks.hooks);
        let mut begin = Vec::new();
        for (place, (plan, hook)) in pairs.enumerate() {
            let repeats = hook.repeat(plan, now);
            let held_off = hook.not_before.filter(|at| *at > now);
            let waits = if hook.waiting.is_empty() { None } else { held_off };
            next = [next, repeats, waits].into_iter().flatten().min();
            if hook.under_way.is_none() && held_off.is_none() && !hook.waiting.is_empty() {
                begin.push(place);
            }
        }
        for place in begin {
            self.deliver(place);
        }
        if let Some(at) = next {
            self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_NOTICES, 0), at);
        }
    }

    fn deliver(&mut self, place: usize) {
        let now = self.now;
        let Some(plan) = self.plan.notify.get(place) else { return };
        let Some(hook) = self.hooks.hooks.get_mut(place) else { return };
        let Some(mut notice) = hook.waiting.pop_front() else { return };
        notice.tries += 1;
        let environment = self.reactor.children.environment();
        let program = program(plan, &notice.doc, &self.plan.host.node, environment);
        hook.under_way = Some(notice);
        let Some(mut program) = program else {
            return self.hook_failed(place, "its command cannot be made");
        };
        let until = now.after(PATIENCE);
        let order = Order { program: &mut program, until, keep: Keep::Line, leave: false };
        self.hooks.runner.start(&mut self.reactor, place, order, now);
        self.hooks_done();
    }

    pub(super) fn hook_ready(&mut self, ready: Ready) {
        let now = self.now;
        self.hooks.runner.ready(&mut self.reactor, ready.token, now);
        self.hooks_done();
    }

    pub(super) fn hook_due(&mut self, token: Token) {
        let now = self.now;
        self.hooks.runner.due(&mut self.reactor, token, now);
        self.hooks_done();
    }

    fn hooks_done(&mut self) {
        while let Some(done) = self.hooks.runner.done() {
            let line = done.line();
            let Done { key: place, end, .. } = done;
            let why = match end {
                End::Cancelled => continue,
                End::Exit(Some(exit)) if exit.code() == 0 => None,
                End::Exit(Some(exit)) => Some(message::cause::ended(exit.code())),
                End::Exit(None) => Some("nobody knows how it ended".to_owned()),
                End::TimedOut => Some(format!("no end within {} s", PATIENCE.as_millis() / 1000)),
                End::NotRun(error) => Some(format!("{error}")),
            };
            match why {
                None => self.hook_delivered(place),
                Some(why) => {
                    let line = line.map(|line| format!(": {line}")).unwrap_or_default();
                    self.hook_failed(place, &format!("{why}{line}"));
                }
            }
        }
    }

    fn hook_delivered(&mut self, place: usize) {
        let now = self.now;
        if let Some(hook) = self.hooks.hooks.get_mut(place) {
            (hook.under_way, hook.not_before) = (None, None);
        }
        self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_NOTICES, 0), now);
    }

    fn hook_failed(&mut self, place: usize, why: &str) {
        let now = self.now;
        let Some(hook) = self.hooks.hooks.get_mut(place) else { return };
        let Some(notice) = hook.under_way.take() else { return };
        let again = now.after(AGAIN);
        hook.not_before = Some(again);
        let gives_up = notice.tries >= TRIES;
        if !gives_up {
            hook.waiting.push_front(notice);
        }
        self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_NOTICES, 0), again);
        if gives_up {
            let name = self.plan.notify.get(place).map_or("?", |plan| &*plan.name);
            let text = format!("notify.{name}: a notice was not delivered in {TRIES} tries: {why}");
            self.say_host(message::Event::NotifyFailed, text);
        }
    }
}

/// What delivers a notice.
fn program(
    plan: &NotifyPlan,
    doc: &EventDoc,
    node: &str,
    environment: &Environment,
) -> Option<Program> {
    let incident = doc.incident.map(|number| number.to_string()).unwrap_or_default();
    let about = [
        ("GIVEOVER_EVENT", doc.event.as_str()),
        ("GIVEOVER_LEVEL", doc.level.as_str()),
        ("GIVEOVER_AT", doc.at.as_str()),
        ("GIVEOVER_INCIDENT", incident.as_str()),
    ];
    // a NUL in what a service said would make the whole of it undeliverable
    let clean = |text: &str| text.replace('\0', "\u{fffd}");
    let reason = clean(&doc.text);
    match &plan.way {
        Way::Command(argv) => {
            let values = Values {
                service: Some(&doc.service),
                check: doc.check.as_deref(),
                node: Some(node),
                reason: Some(&reason),
                ..Values::default()
            };
            let environment = environment.with(&about).ok()?;
            Program::expanded(argv, &values, &environment).ok()
        }
        Way::Webhook(url) => {
            let mut body = serde_json::to_value(doc).ok()?;
            if let serde_json::Value::Object(fields) = &mut body {
                fields.insert("node".to_owned(), node.into());
                fields.insert("notify".to_owned(), (*plan.name).into());
            }
            // the URL may be a secret: arguments are for everyone to see, an environment is not
            let body = clean(&body.to_string());
            let told = [(super::webhook::URL, &**url), (super::webhook::BODY, body.as_str())];
            let environment = environment.with(&told).ok()?;
            Program::new(&["/proc/self/exe", "internal", "webhook"], &environment).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::plan::Edge;
    use crate::message::Event;

    fn plan(on: &[&str], repeat: Option<Span>) -> NotifyPlan {
        let edge = |word: &&str| {
            let place = EDGES.iter().position(|edge| edge == word).expect("an edge");
            Edge(u8::try_from(place).expect("few"))
        };
        let way = Way::Command(vec!["true".to_owned()]);
        NotifyPlan { name: "ops".into(), way, on: on.iter().map(edge).collect(), repeat }
    }

    fn doc(event: Event, incident: Option<u32>) -> EventDoc {
        EventDoc { incident, ..EventDoc::new(event, "web", "text".to_owned()) }
    }

    fn at(s: u64) -> Instant {
        Instant::from_millis(s * 1000)
    }

    #[test]
    fn every_edge_is_an_event_of_the_catalogue() {
        for edge in EDGES {
            let event = Event::from_word(edge).unwrap_or_else(|| panic!("{edge}"));
            assert!(!event.is_legacy() && event.level() != Level::Debug, "{edge}");
        }
    }

    #[test]
    fn an_incident_is_told_once_again_when_it_gets_worse_and_when_it_is_over() {
        let (plan, mut hook) = (plan(&[], None), Hook::default());
        let mut told = |event, incident| hook.take(&plan, &doc(event, Some(incident)), at(0));
        assert!(told(Event::Failure, 1));
        assert!(!told(Event::Failure, 1) && !told(Event::Restart, 1) && !told(Event::Restarted, 1));
        assert!(told(Event::Giveover, 1), "graver");
        assert!(!told(Event::BudgetSpent, 1));
        assert!(told(Event::Failure, 2), "another incident");
        assert!(told(Event::Recovered, 1));
        assert!(told(Event::Failure, 1), "it is forgotten then");
    }

    #[test]
    fn only_what_is_wanted_is_told() {
        let (plan, mut hook) = (plan(&["giveover", "board_reset"], None), Hook::default());
        assert!(!hook.take(&plan, &doc(Event::Failure, Some(1)), at(0)));
        assert!(hook.take(&plan, &doc(Event::Giveover, Some(1)), at(0)));
        assert!(!hook.take(&plan, &doc(Event::Recovered, Some(1)), at(0)));
        assert!(hook.take(&plan, &doc(Event::BoardReset, None), at(0)));
        assert!(hook.take(&plan, &doc(Event::BoardReset, None), at(0)), "of no incident: each");
        assert!(!hook.take(&plan, &doc(Event::NotifyFailed, None), at(0)), "or it would never end");
    }

    #[test]
    fn a_notice_is_repeated_while_its_incident_lasts() {
        let repeat = Some(Span::from_secs(60));
        let (plan, mut hook) = (plan(&[], repeat), Hook::default());
        assert!(hook.take(&plan, &doc(Event::Failure, Some(1)), at(0)));
        assert_eq!(hook.repeat(&plan, at(59)), Some(at(60)));
        assert!(hook.waiting.is_empty());
        assert_eq!(hook.repeat(&plan, at(60)), Some(at(120)));
        assert_eq!(hook.waiting.pop_front().expect("one").doc.text, "still: text");
        assert!(hook.take(&plan, &doc(Event::Recovered, Some(1)), at(70)));
        assert_eq!(hook.repeat(&plan, at(200)), None);
    }

    #[test]
    fn what_waits_and_what_is_remembered_is_bounded() {
        let (plan, mut hook) = (plan(&[], None), Hook::default());
        for incident in 0..1000 {
            assert!(hook.take(&plan, &doc(Event::Failure, Some(incident)), at(0)));
            hook.push(doc(Event::Failure, Some(incident)));
        }
        assert_eq!((hook.told.len(), hook.waiting.len()), (MOST_INCIDENTS, MOST_WAITING));
    }
}

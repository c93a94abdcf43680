//! After a crash, an upgrade or a reboot: what was under way is taken up again.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{Ended, Event, Status, Waiting};

use super::Daemon;
use super::watch::{HeldBy, Starter};
use super::work::{Then, Why};
use crate::config::plan::Run;
use crate::journal::{self, Item, Ledger, Note, Reader, Report, Wish};
use crate::message;
use crate::reactor::{Room, Token};
use crate::report::model::EventDoc;

impl Daemon {
    /// The lines people were told before, from the journal's own copy of them.
    pub(super) fn read_back_events(&mut self) {
        let reader = Reader::open(self.journal.place());
        let mut names = std::collections::HashMap::new();
        for line in reader.lines() {
            let Item::Note { at, note } = &line.item else { continue };
            match note {
                Note::Named { machine, name } => {
                    names.insert(*machine, name.to_string());
                }
                Note::Text { machine, event, text } => {
                    let known = message::Event::from_word(event);
                    let level = known.map_or("notice", |event| event.level().word());
                    let service = machine.and_then(|machine| names.get(&machine).cloned());
                    if let (Some(message::Event::Restart), Some(name)) = (known, &service) {
                        self.restarts_read.push((name.clone(), *at, restart_cause(text)));
                    }
                    if let (Some(message::Event::Status), Some(name)) = (known, &service) {
                        self.statuses_read.insert(name.clone(), (*at, text.to_string()));
                    }
                    let incident = known.zip(service.as_deref()).and_then(|(event, service)| {
                        self.incidents_read.take(service, *at, event, text)
                    });
                    let doc = EventDoc {
                        seq: line.seq,
                        at: self.clock.wall(*at),
                        level: level.to_owned(),
                        event: event.to_string(),
                        service: service.unwrap_or_default(),
                        text: text.to_string(),
                        incident,
                        ..EventDoc::default()
                    };
                    self.was_noticed(&doc);
                    self.events.push(*at, doc);
                }
                _ => {}
            }
        }
    }

    /// What the journal noted beside the machines: holds, who gave over.
    pub(super) fn restore_notes(&mut self, ledger: &Ledger) {
        for (name, at, cause) in std::mem::take(&mut self.restarts_read) {
            if let Some(service) = self.find(&name) {
                self.watches[service].more().restarts.push_back((at, cause));
            }
        }
        for (name, (at, text)) in std::mem::take(&mut self.statuses_read) {
            let Some(service) = self.find(&name) else { continue };
            let watch = &mut self.watches[service];
            // It has been so since then, and not since we are here.
            if watch.monitor.message().text() == text {
                watch.since = at;
            }
        }
        self.take_up_incidents();
        for service in 0..self.shown() {
            let Some(known) = ledger.service(self.watches[service].machine) else { continue };
            if let Some((since, hold)) = known.hold() {
                self.watches[service].more().held = Some(HeldBy {
                    who: hold.who.to_string(),
                    why: (!hold.why.is_empty()).then(|| hold.why.to_string()),
                    since,
                    until: hold.until,
                });
                if let Some(until) = hold.until {
                    let token = Token::new(Room::Daemon, super::DAEMON_HOLDS, 0);
                    self.reactor.timers.arm(token, until);
                }
            }
            if known.group_waits() {
                self.watches[service].more().group_waits = true;
            }
            for (node, at) in known.gave_over() {
                self.restore_giveover(service, *node, *at);
            }
        }
    }

    /// What was not over goes on; what is over without our having said so is forgotten.
    fn take_up_incidents(&mut self) {
        let read = std::mem::take(&mut self.incidents_read);
        self.events.incident = self.events.incident.max(read.last);
        for (name, incident) in read.open {
            let service = self.find(&name).filter(|service| {
                let monitor = &self.watches[*service].monitor;
                monitor.status() != Status::Ok || monitor.is_dead()
            });
            match service {
                Some(service) => self.watches[service].more().incident = Some(incident),
                None => self.forget_notices(incident.number),
            }
        }
    }

    /// Brings one service to where its monitor says it is.
    pub(super) fn bring_up(&mut self, service: usize) {
        self.void_probe(service);
        let machine = self.watches[service].machine;
        let known = self.journal.ledger().service(machine);
        let process = known.and_then(journal::Service::process);
        let stage = known.and_then(journal::Service::stage).map(|(_, stage)| stage);
        let adopted = process.is_some_and(|process| self.adopt_process(service, &process));
        let monitor = &self.watches[service].monitor;
        if let Some((ticket, _)) = monitor.restart_under_way() {
            // A restart was cut short: whatever is there is stopped, and it is started.
            return self.stop(service, Then::Start(ticket));
        }
        if let Some(ticket) = monitor.giveover_under_way() {
            if monitor.status() != Status::Offline {
                return self.resume_handover(service, ticket, stage);
            }
        }
        match monitor.waiting_for() {
            Waiting::Ended(Ended::NotBegun) if adopted => self.adopted(service),
            Waiting::Ended(Ended::NotBegun) => self.first_start(service),
            Waiting::Ended(Ended::Unmonitored) => self.take_up_ended(service, adopted),
            Waiting::Ended(Ended::Stopped) | Waiting::GivenOver => self.take_up_stopped(service),
            _ if adopted => self.still_there(service),
            _ => self.not_there(service),
        }
        self.arm(service);
    }

    /// What is stopped stays so, unless a person's start was cut short: something of it may run.
    fn take_up_stopped(&mut self, service: usize) {
        let noted = self.journal.ledger().service(self.watches[service].machine);
        if noted.and_then(journal::Service::wish) == Some(Wish::Start) {
            self.start(service, Why::Operator);
        }
    }

    /// A monitor that has ended: because a person wanted it, or with the daemon before us.
    fn take_up_ended(&mut self, service: usize, adopted: bool) {
        let noted = self.journal.ledger().service(self.watches[service].machine);
        let watched = matches!(self.plan.services[service].run, Run::Watched);
        match noted.and_then(journal::Service::wish) {
            // It was cut short.
            Some(Wish::Stop) => self.stop(service, Then::Rest),
            Some(Wish::Unwatched) if adopted || watched => {}
            // What does not run is started as at every beginning, and then it is watched.
            Some(Wish::Unwatched | Wish::Start) | None if !adopted => self.first_start(service),
            Some(Wish::Unwatched | Wish::Start) | None => self.adopted(service),
        }
    }

    /// Probes that were under way prove nothing: we were not there.
    pub(super) fn void_probe(&mut self, service: usize) {
        if let Some(ticket) = self.watches[service].monitor.probe_under_way() {
            self.feed(service, Event::Probed { ticket, result: ProbeResult::Void });
        }
    }

    fn first_start(&mut self, service: usize) {
        match &self.plan.services[service].run {
            Run::Watched => {
                let first = self.spread(service);
                self.feed(service, Event::Begin { first, started: false });
            }
            Run::Process(_) => self.start(service, Why::First),
            Run::Unit(_) => self.find_unit(service),
        }
    }

    pub(super) fn adopted(&mut self, service: usize) {
        self.note_started(service, Starter::Adopted);
        let first = self.spread(service);
        self.feed(service, Event::Begin { first, started: false });
        self.tell_started(service, Starter::Adopted);
    }

    /// The process is the one it was; the monitor goes on where it stood.
    fn still_there(&mut self, service: usize) {
        self.note_started(service, Starter::Adopted);
        self.tell_started(service, Starter::Adopted);
    }

    /// A service that ran is gone: it died while nobody watched.
    fn not_there(&mut self, service: usize) {
        match self.plan.services[service].run {
            Run::Watched => return,
            Run::Unit(_) => return self.find_unit(service),
            Run::Process(_) => {}
        }
        if self.same_boot {
            let cause = Cause::new(Phase::Died, Cause::UNKNOWN);
            self.feed(service, Event::Died { cause });
        } else {
            // The host was rebooted: starting what ran before is no failure of it.
            self.start(service, Why::First);
        }
    }

    pub(super) fn tell_recovery(&mut self, report: &Report) {
        let lines = report.lines(|at| self.clock.wall(at));
        for line in lines {
            self.say_host(message::Event::JournalDamaged, line);
        }
    }
}

/// The cause in `restart 1 of 2: CAUSE (sum 100)`.
fn restart_cause(text: &str) -> String {
    let cause = text.split_once(": ").map_or(text, |(_, cause)| cause);
    cause.rsplit_once(" (sum").map_or(cause, |(cause, _)| cause).to_owned()
}

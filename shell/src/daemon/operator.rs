//! What people ask for over the control socket.

use giveover_core::monitor::{Ended, Event, Holder, Waiting};
use giveover_core::time::{Instant, Span};

use super::control::ClientId;
use super::rights::Peer;
use super::watch::HeldBy;
use super::work::{Then, Why, Work};
use super::{DAEMON_HOLDS, Daemon};
use crate::journal::{Hold, Note, Wish};
use crate::message::{self, words};
use crate::reactor::{Room, Token};
use crate::report::model::{Command, Reply};

/// A hold without `--for` ends after this.
const HOLD: Span = Span::from_secs(3600);

/// A command whose answer waits until it has been carried out.
pub(super) struct Pending {
    client: ClientId,
    waiting: Vec<usize>,
    reply: Reply,
}

impl Daemon {
    /// Carries `command` out, or refuses it.
    pub(super) fn command(&mut self, client: ClientId, peer: &Peer, command: &Command) {
        if !self.rights.allow(peer) {
            let why = "root, the daemon's own user, and whom [control] names may command";
            self.refuse(client, 403, why);
            return;
        }
        let who = peer.name();
        match command.verb.as_str() {
            "reload" => {
                let reply = self.reload(command.dry_run, &who);
                self.reply(client, &reply);
            }
            "board" => self.command_board(client, &who, command),
            "debug" => {
                let level = command.level.as_deref().unwrap_or("off");
                let reply = self.set_debug(level, &who);
                self.reply(client, &reply);
            }
            _ => self.command_services(client, &who, command),
        }
    }

    fn command_services(&mut self, client: ClientId, who: &str, command: &Command) {
        let services = match self.services_of(command) {
            Ok(services) => services,
            Err(unknown) => {
                self.refuse(client, 404, &format!("no service is named {unknown}"));
                return;
            }
        };
        self.pending.push(Pending { client, waiting: services.clone(), reply: Reply::default() });
        for service in services {
            self.begin_command(service, who, command);
        }
        self.settle_pending();
    }

    fn services_of(&self, command: &Command) -> Result<Vec<usize>, String> {
        if command.all {
            return Ok((0..self.shown()).collect());
        }
        command.services.iter().map(|name| self.find(name).ok_or_else(|| name.clone())).collect()
    }

    /// One service's share of a command. What is done at once is answered at once.
    fn begin_command(&mut self, service: usize, who: &str, command: &Command) {
        match command.verb.as_str() {
            "start" => self.operator_start(service, who, command.from.as_deref()),
            "stop" => self.operator_stop(service, who),
            "restart" => self.operator_restart(service, who),
            "giveover" => self.operator_giveover(service, who),
            "hold" => self.operator_hold(service, who, command),
            "release" => self.operator_release(service, who),
            "clear" => {
                let tally = self.watches[service].monitor.tally(self.now);
                let text = words::cleared(who, tally.failures, tally.restarts);
                self.say(service, message::Event::Cleared, text);
                self.feed(service, Event::Clear);
                self.answer_operator(service, Ok("failures and restarts are forgotten"));
            }
            "monitor_stop" => {
                self.say(service, message::Event::MonitorEnded, words::monitor_ended(who));
                self.note_asked(service, Wish::Unwatched.word(), who);
                self.feed(service, Event::End);
                self.answer_operator(service, Ok("its monitor has ended; the service runs on"));
            }
            "monitor_start" => self.monitor_start(service, who),
            other => {
                let why = format!("{other} is no command");
                self.answer_operator(service, Err(&why));
            }
        }
    }

    fn operator_start(&mut self, service: usize, who: &str, from: Option<&str>) {
        if from.is_some() {
            self.taken_back(service);
        }
        let monitor = &self.watches[service].monitor;
        let idle = self.work(service) == Work::Idle;
        let stopped = matches!(
            monitor.waiting_for(),
            Waiting::Ended(Ended::Stopped | Ended::NotBegun) | Waiting::GivenOver
        ) || monitor.held_by(Holder::Unproven);
        if !idle {
            self.answer_operator(service, Err("something is under way with it"));
        } else if !stopped && !monitor.is_dead() {
            self.answer_operator(service, Ok("it runs already"));
        } else {
            self.note_asked(service, "start", who);
            self.watches[service].more().stopped_by_systemd = false;
            self.start(service, Why::Operator);
        }
    }

    fn operator_stop(&mut self, service: usize, who: &str) {
        if !self.is_ours(service) {
            self.answer_operator(service, Err("it is only watched: nothing here can stop it"));
            return;
        }
        let under_way = !matches!(self.work(service), Work::Idle | Work::Starting(_));
        if under_way {
            self.answer_operator(service, Err("something is under way with it"));
            return;
        }
        self.note_asked(service, Wish::Stop.word(), who);
        self.watches[service].more().asked_by = Some(who.to_owned());
        // Nobody restarts what is being stopped.
        self.feed(service, Event::End);
        self.stop(service, Then::Rest);
    }

    fn operator_restart(&mut self, service: usize, who: &str) {
        if !self.is_ours(service) {
            self.answer_operator(service, Err("it is only watched: nothing here can restart it"));
            return;
        }
        let ended = matches!(
            self.watches[service].monitor.waiting_for(),
            Waiting::Ended(_) | Waiting::GivenOver
        );
        if ended {
            self.operator_start(service, who, None);
            return;
        }
        self.note_asked(service, "restart", who);
        self.say(service, message::Event::Restart, words::restart_asked(who));
        self.feed(service, Event::Restart);
        let begun = matches!(
            self.watches[service].monitor.waiting_for(),
            Waiting::Restart | Waiting::Delay(_)
        );
        if !begun {
            self.answer_operator(service, Err("something is under way with it"));
        }
    }

    fn operator_giveover(&mut self, service: usize, who: &str) {
        self.note_asked(service, "giveover", who);
        let before = self.watches[service].monitor.giveover_under_way();
        self.feed(service, Event::Giveover);
        let now = self.watches[service].monitor.giveover_under_way();
        if before.is_some() || now.is_none() && self.is_waiting_operator(service) {
            self.answer_operator(service, Err("something is under way with it"));
        }
    }

    fn operator_hold(&mut self, service: usize, who: &str, command: &Command) {
        let now = self.now;
        let until = match command.for_ms {
            Some(u64::MAX) => None,
            Some(ms) => Some(Instant::from_millis(now.as_millis().saturating_add(ms))),
            None => Some(now.after(HOLD)),
        };
        let held = HeldBy { who: who.to_owned(), why: command.reason.clone(), since: now, until };
        self.hold(service, held);
        let text = match until {
            Some(until) => format!("held by {who} until {}", self.time_of_day(until)),
            None => format!("held by {who} for ever"),
        };
        self.answer_operator(service, Ok(&text));
    }

    /// Holds `service` for a person, and remembers until when.
    pub(super) fn hold(&mut self, service: usize, held: HeldBy) {
        let until = held.until.map(|until| self.time_of_day(until));
        let text = words::held(&held.who, until.as_deref(), held.why.as_deref());
        self.say(service, message::Event::Held, text);
        let hold = Hold {
            who: held.who.as_str().into(),
            why: held.why.as_deref().unwrap_or_default().into(),
            until: held.until,
        };
        let machine = self.watches[service].machine;
        self.journal.note(self.now, Note::Held { machine, hold });
        if let Some(until) = held.until {
            self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_HOLDS, 0), until);
        }
        self.watches[service].more().held = Some(held);
        self.feed(service, Event::Hold(Holder::Operator));
    }

    fn operator_release(&mut self, service: usize, who: &str) {
        let monitor = &self.watches[service].monitor;
        let held = [Holder::Operator, Holder::Unproven].map(|holder| monitor.held_by(holder));
        if held == [false, false] {
            self.answer_operator(service, Ok("it was not held by anyone"));
            return;
        }
        self.release(service, Some(who));
        if held[1] {
            self.feed(service, Event::Release(Holder::Unproven));
        }
        self.answer_operator(service, Ok("released"));
    }

    fn release(&mut self, service: usize, who: Option<&str>) {
        self.watches[service].more().held = None;
        self.say(service, message::Event::Released, words::released(who));
        self.feed(service, Event::Release(Holder::Operator));
    }

    /// Holds whose time has come end by themselves.
    pub(super) fn holds_due(&mut self) {
        let now = self.now;
        for service in 0..self.shown() {
            let over = self.watches[service]
                .more_ref()
                .and_then(|more| more.held.as_ref()?.until)
                .is_some_and(|until| until <= now);
            if over {
                self.release(service, None);
            }
        }
    }

    fn monitor_start(&mut self, service: usize, who: &str) {
        let ended = matches!(
            self.watches[service].monitor.waiting_for(),
            Waiting::Ended(Ended::Unmonitored)
        );
        if !ended {
            self.answer_operator(service, Ok("its monitor is at work"));
            return;
        }
        self.say(service, message::Event::MonitorBegun, words::monitor_begun(who));
        self.feed(service, Event::Begin { first: Span::ZERO, started: false });
        if let Some(cause) = self.gone(service) {
            self.feed(service, Event::Died { cause });
        }
        self.answer_operator(service, Ok("its monitor is at work"));
    }

    /// What a person asked for has been done for `service`, or could not be.
    pub(super) fn answer_operator(&mut self, service: usize, done: Result<&str, &str>) {
        let name = &self.plan.services[service].name;
        for pending in &mut self.pending {
            let Some(place) = pending.waiting.iter().position(|waiting| *waiting == service) else {
                continue;
            };
            pending.waiting.swap_remove(place);
            let (text, exit) = match done {
                Ok(text) => (text, 0),
                Err(text) => (text, 1),
            };
            pending.reply.exit = pending.reply.exit.max(exit);
            pending.reply.lines.push(format!("{name}: {text}"));
        }
        self.settle_pending();
    }

    /// Who wanted it stands in the journal.
    fn note_asked(&mut self, service: usize, verb: &str, who: &str) {
        let machine = Some(self.watches[service].machine);
        let (verb, who) = (verb.into(), who.into());
        self.journal.note(self.now, Note::Asked { machine, verb, who, why: "".into() });
    }

    fn is_waiting_operator(&self, service: usize) -> bool {
        self.pending.iter().any(|pending| pending.waiting.contains(&service))
    }

    /// Sends the replies that wait for nothing more.
    fn settle_pending(&mut self) {
        let mut place = 0;
        while let Some(pending) = self.pending.get(place) {
            if pending.waiting.is_empty() {
                let pending = self.pending.swap_remove(place);
                self.reply(pending.client, &pending.reply);
            } else {
                place += 1;
            }
        }
    }

    pub(super) fn reply(&mut self, client: ClientId, reply: &Reply) {
        let body = serde_json::to_vec(reply).unwrap_or_default();
        self.control.answer(&mut self.reactor, client, 200, &body);
    }

    pub(super) fn refuse(&mut self, client: ClientId, status: u16, why: &str) {
        let body = serde_json::json!({ "error": why }).to_string();
        self.control.answer(&mut self.reactor, client, status, body.as_bytes());
    }
}

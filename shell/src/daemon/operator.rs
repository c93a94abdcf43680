//! What people ask for over the control socket.

use giveover_core::monitor::{Ended, Event, Holder, Waiting};
use giveover_core::time::{Instant, Span};

use super::control::ClientId;
use super::rights::Peer;
use super::watch::HeldBy;
use super::work::{Then, Why, Work};
use super::{DAEMON_HOLDS, Daemon};
use crate::config::plan::GoesTo;
use crate::journal::{Hold, Note, Wish};
use crate::message::{self, words};
use crate::reactor::{Room, Token};
use crate::report::model::{Command, Reply};

/// A hold without `--for` ends after this.
const HOLD: Span = Span::from_secs(3600);

/// A command whose answer waits until it has been carried out.
pub(super) struct Pending {
    client: ClientId,
    wanted: Wanted,
    waiting: Vec<usize>,
    reply: Reply,
}

/// What a command waits for: several people may want different things of one service at a time,
/// and what answers one of them answers nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// That it has been started.
    Start,
    /// That it has been stopped.
    Stop,
    /// That it has been given over.
    Giveover,
    /// Nothing: it is answered at once.
    Nothing,
}

impl Wanted {
    fn of(verb: &str) -> Self {
        match verb {
            "start" | "restart" => Self::Start,
            "stop" => Self::Stop,
            "giveover" => Self::Giveover,
            _ => Self::Nothing,
        }
    }
}

/// The answer to a command for one service; none while it is being carried out.
type AtOnce = Option<Result<String, String>>;

const UNDER_WAY: &str = "something is under way with it";
const HANDED_OVER: &str = "its giveover is under way";

fn yes(text: &str) -> AtOnce {
    Some(Ok(text.to_owned()))
}

fn no(text: &str) -> AtOnce {
    Some(Err(text.to_owned()))
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
        if self.ending && command.verb != "debug" {
            let lines = vec!["this monitor is ending".to_owned()];
            return self.reply(client, &Reply { exit: 1, lines });
        }
        match command.verb.as_str() {
            "reload" => {
                let reply = self.reload(command.dry_run, &who);
                self.reply(client, &reply);
            }
            "board" => self.command_board(client, &who, command),
            "pool" => self.command_pool(client, &who, command),
            "node" => self.command_node(client, &who, command),
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
        let (wanted, waiting) = (Wanted::of(&command.verb), services.clone());
        self.pending.push(Pending { client, wanted, waiting, reply: Reply::default() });
        for service in services {
            if let Some(done) = self.begin_command(service, who, command) {
                let done = done.as_deref().map_err(String::as_str);
                self.answer(service, done, |pending| pending.client == client);
            }
        }
        self.settle_pending();
    }

    fn services_of(&self, command: &Command) -> Result<Vec<usize>, String> {
        if command.all {
            return Ok((0..self.shown()).collect());
        }
        command.services.iter().map(|name| self.find(name).ok_or_else(|| name.clone())).collect()
    }

    /// One service's share of a command.
    fn begin_command(&mut self, service: usize, who: &str, command: &Command) -> AtOnce {
        match command.verb.as_str() {
            "start" | "stop" | "restart" | "giveover" if self.plan.host.observe => {
                no("observing: nothing is acted on")
            }
            "start" => self.operator_start(service, who, command.from.as_deref()),
            "stop" => self.operator_stop(service, who),
            "restart" => self.operator_restart(service, who),
            "giveover" => self.operator_giveover(service, who, command.to.as_deref()),
            "hold" => self.operator_hold(service, who, command),
            "release" => self.operator_release(service, who),
            "clear" => {
                let tally = self.watches[service].monitor.tally(self.now);
                let text = words::cleared(who, tally.failures, tally.restarts);
                self.say(service, message::Event::Cleared, text);
                self.feed(service, Event::Clear);
                yes("failures and restarts are forgotten")
            }
            "monitor_stop" => self.monitor_stop(service, who),
            "monitor_start" => self.monitor_start(service, who),
            other => no(&format!("{other} is no command")),
        }
    }

    fn operator_start(&mut self, service: usize, who: &str, from: Option<&str>) -> AtOnce {
        if self.is_handed_over(service) {
            return no(HANDED_OVER); // or it would run here and there
        }
        if let Some(why) = self.why_not_here(service) {
            return no(&why);
        }
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
            no(UNDER_WAY)
        } else if !stopped && !monitor.is_dead() {
            yes("it runs already")
        } else {
            self.note_asked(service, Wish::Start.word(), who);
            self.watches[service].more().stopped_by_systemd = false;
            self.start(service, Why::Operator);
            None
        }
    }

    fn operator_stop(&mut self, service: usize, who: &str) -> AtOnce {
        if !self.is_ours(service) {
            return no("it is only watched: nothing here can stop it");
        }
        if self.is_handed_over(service) {
            return no(HANDED_OVER);
        }
        if !matches!(self.work(service), Work::Idle | Work::Starting(_)) {
            return no(UNDER_WAY);
        }
        if let Some(why) = self.why_not_here(service) {
            return no(&why);
        }
        self.note_asked(service, Wish::Stop.word(), who);
        self.watches[service].more().asked_by = Some(who.to_owned());
        // Nobody restarts what is being stopped.
        self.feed(service, Event::End);
        let why = "called off: it is being stopped";
        self.answer_operator(service, Wanted::Start, Err(why));
        self.stop(service, Then::Rest);
        None
    }

    fn operator_restart(&mut self, service: usize, who: &str) -> AtOnce {
        if !self.is_ours(service) {
            return no("it is only watched: nothing here can restart it");
        }
        let monitor = &self.watches[service].monitor;
        if matches!(monitor.waiting_for(), Waiting::Ended(_) | Waiting::GivenOver) {
            return self.operator_start(service, who, None);
        }
        if monitor.restart_under_way().is_some() || monitor.giveover_under_way().is_some() {
            return no(UNDER_WAY);
        }
        self.note_asked(service, "restart", who);
        self.say(service, message::Event::Restart, words::restart_asked(who));
        self.feed(service, Event::Restart);
        let begun = matches!(
            self.watches[service].monitor.waiting_for(),
            Waiting::Restart | Waiting::Delay(_)
        );
        if begun { None } else { no(UNDER_WAY) }
    }

    fn operator_giveover(&mut self, service: usize, who: &str, to: Option<&str>) -> AtOnce {
        let monitor = &self.watches[service].monitor;
        if self.handover(service).is_some() {
            return no("its giveover is under way already");
        }
        match monitor.waiting_for() {
            Waiting::GivenOver => return yes("it is given over already"),
            Waiting::Ended(Ended::Unmonitored) => return no("its monitor was told to end"),
            Waiting::Ended(_) => return no("it does not run here"),
            _ => {}
        }
        // R9 is for a destination that says no; without one nothing is forgotten.
        if self.plan.services[service].giveover == GoesTo::Nobody {
            return no("nobody can take it over: it goes to nobody");
        }
        self.note_asked(service, "giveover", who);
        self.wanted_to = to.map(str::to_owned);
        self.feed(service, Event::Giveover);
        self.wanted_to = None;
        let begun = self.watches[service].monitor.giveover_under_way().is_some();
        if begun { None } else { no(UNDER_WAY) }
    }

    fn operator_hold(&mut self, service: usize, who: &str, command: &Command) -> AtOnce {
        let now = self.now;
        let until = match command.for_ms {
            Some(u64::MAX) => None,
            Some(ms) => Some(Instant::from_millis(now.as_millis().saturating_add(ms))),
            None => Some(now.after(HOLD)),
        };
        let held = HeldBy { who: who.to_owned(), why: command.reason.clone(), since: now, until };
        self.hold(service, held);
        self.called_off(service, "it is held");
        Some(Ok(match until {
            Some(until) => format!("held by {who} until {}", self.time_of_day(until)),
            None => format!("held by {who} for ever"),
        }))
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

    fn operator_release(&mut self, service: usize, who: &str) -> AtOnce {
        let monitor = &self.watches[service].monitor;
        let held = [Holder::Operator, Holder::Unproven].map(|holder| monitor.held_by(holder));
        if held == [false, false] {
            return yes("it was not held by anyone");
        }
        self.release(service, Some(who));
        if held[1] {
            self.feed(service, Event::Release(Holder::Unproven));
        }
        yes("released")
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

    fn monitor_stop(&mut self, service: usize, who: &str) -> AtOnce {
        if self.is_handed_over(service) {
            return no(HANDED_OVER);
        }
        match self.watches[service].monitor.waiting_for() {
            Waiting::GivenOver | Waiting::Ended(Ended::Stopped | Ended::NotBegun) => {
                return yes("it does not run here; no monitor is at work");
            }
            Waiting::Ended(Ended::Unmonitored) => return yes("its monitor has ended already"),
            _ => {}
        }
        self.end_monitor(service, who);
        yes("its monitor has ended; the service runs on")
    }

    /// Ends the monitor of `service`, which runs on; it is shown as not watched.
    pub(super) fn end_monitor(&mut self, service: usize, who: &str) {
        self.say(service, message::Event::MonitorEnded, words::monitor_ended(who));
        self.note_asked(service, Wish::Unwatched.word(), who);
        self.feed(service, Event::End);
        self.leave_database(service);
        self.called_off(service, "its monitor was told to end");
    }

    fn monitor_start(&mut self, service: usize, who: &str) -> AtOnce {
        match self.watches[service].monitor.waiting_for() {
            Waiting::Ended(Ended::Unmonitored) => {}
            Waiting::GivenOver | Waiting::Ended(_) => {
                return no("it does not run here; its monitor begins when it is started");
            }
            _ => return yes("its monitor is at work"),
        }
        self.say(service, message::Event::MonitorBegun, words::monitor_begun(who));
        self.feed(service, Event::Begin { first: Span::ZERO, started: false });
        if let Some(cause) = self.gone(service) {
            self.feed(service, Event::Died { cause });
        }
        yes("its monitor is at work")
    }

    /// A restart that somebody waits for will not be made.
    fn called_off(&mut self, service: usize, why: &str) {
        let begun = matches!(
            self.watches[service].monitor.waiting_for(),
            Waiting::Restart | Waiting::Delay(_)
        );
        if !begun && self.work(service) == Work::Idle {
            self.answer_operator(service, Wanted::Start, Err(&format!("called off: {why}")));
        }
    }

    /// What people asked for has been done for `service`, or could not be.
    pub(super) fn answer_operator(
        &mut self,
        service: usize,
        wanted: Wanted,
        done: Result<&str, &str>,
    ) {
        self.answer(service, done, |pending| pending.wanted == wanted);
    }

    fn answer(
        &mut self,
        service: usize,
        done: Result<&str, &str>,
        whom: impl Fn(&Pending) -> bool,
    ) {
        let name = &self.plan.services[service].name;
        for pending in self.pending.iter_mut().filter(|pending| whom(pending)) {
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

//! What reaches the daemon from outside its machines: signals, clients, the supervisor, the end.

use giveover_core::failure::Cause;
use giveover_core::monitor::{Ended, Event, Status, Waiting};
use giveover_core::time::{Instant, Span};

use super::control::ClientId;
use super::http::{Ask, EventsAsk};
use super::rights::Peer;
use super::work::{Then, Work};
use super::{DAEMON_END, DAEMON_JOURNAL, DAEMON_WATCHDOG, Daemon, IDLE_MS};
use crate::clock::Look;
use crate::journal::{HostBudget, Note};
use crate::message::{self, Debug, host};
use crate::reactor::{Notice, Ready, Room, Token};
use crate::report::model::{EventDoc, Reply};

/// A stop that hangs does not keep the daemon longer than this beyond the services' own limits.
const END_SLACK: Span = Span::from_secs(5);

/// Without a board, a node is not reset within this of its boot.
const BOOT_GRACE: Span = Span::from_secs(600);

impl Daemon {
    pub(super) fn signals_ready(&mut self) {
        let notices: Vec<Notice> = self.signals.take().collect();
        for notice in notices {
            match notice {
                Notice::Terminate => self.end("SIGTERM"),
                Notice::Interrupt => self.end("SIGINT"),
                Notice::Reload => self.reload_by_signal(),
                Notice::Report => self.report_to_log(),
            }
        }
    }

    /// Told to stop: services are stopped in reverse order of need, or left; then the loop ends.
    pub(super) fn end(&mut self, why: &str) {
        if self.ending {
            return;
        }
        self.ending = true;
        self.say_host(message::Event::DaemonStopped, host::daemon_stopped(why, self.leave));
        self.tell_legacy_stop();
        self.supervisor.stopping();
        self.ask_why_we_end();
        self.stop_groups();
        if self.leave && self.is_cluster_gone() {
            return;
        }
        let mut order = self.start_order();
        order.reverse();
        // What moves between nodes has been let go by its group, also where the others stay.
        let moves = |service: &usize| self.group_of(*service).is_some();
        let longest = order
            .iter()
            .filter(|service| moves(service) || !self.leave && self.ends_with_us(**service))
            .map(|service| self.plan.services[*service].policy.limits().stop_timeout);
        let patience = longest.fold(END_SLACK, |sum, one| {
            Span::from_millis(sum.as_millis().saturating_add(one.as_millis()))
        });
        let at = self.now.after(patience);
        let ends = |service: &usize| !self.leave && !moves(service) && self.ends_with_us(*service);
        self.to_stop = order.iter().copied().filter(ends).collect();
        // Nobody restarts one while it is waited for another.
        for service in self.to_stop.clone() {
            self.feed(service, Event::End);
        }
        self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_END, 0), at);
        self.stop_next();
    }

    /// Whether `service` is a process of ours that ends with us: it runs, or it would be started,
    /// or something of it may be left.
    fn ends_with_us(&self, service: usize) -> bool {
        let waits = self.watches[service].monitor.waiting_for();
        let rests = matches!(waits, Waiting::GivenOver | Waiting::Ended(Ended::Stopped));
        matches!(self.plan.services[service].run, crate::config::plan::Run::Process(_))
            && (self.pid(service).is_some() || self.work(service) != Work::Idle || !rests)
    }

    fn stop_next(&mut self) {
        if let Some(service) = self.to_stop.first().copied() {
            if !self.is_behind_address(service) {
                self.stop(service, Then::End);
            }
        }
    }

    /// A group has said its last: what its address led to is stopped now.
    pub(super) fn go_on_stopping(&mut self) {
        let is_waiting = |service: &usize| self.work(*service) != Work::Stopping(Then::End);
        if self.ending && self.to_stop.first().is_some_and(is_waiting) {
            self.stop_next();
        }
    }

    /// One service has stopped, or cannot be: on to the next.
    pub(super) fn ended(&mut self, service: usize) {
        self.to_stop.retain(|waiting| *waiting != service);
        self.stop_next();
    }

    /// The services had their time.
    pub(super) fn end_is_late(&mut self) {
        self.to_stop.clear();
        self.groups_are_late();
    }

    pub(super) fn control_ready(&mut self, ready: Ready) {
        let mut asked = Vec::new();
        let now = self.now;
        self.control.ready(&mut self.reactor, ready, now, &mut asked);
        for (client, peer, ask) in asked {
            self.answer_ask(client, &peer, ask);
        }
    }

    fn answer_ask(&mut self, client: ClientId, peer: &Peer, ask: Ask) {
        match ask {
            Ask::Status => {
                let doc = self.status_doc();
                self.answer_json(client, &doc);
            }
            Ask::Events(ask) => self.answer_events(client, ask),
            Ask::History { service, since_ms } => {
                if self.find(&service).is_none() {
                    return self.refuse(client, 404, &format!("no service is named {service}"));
                }
                let ask = EventsAsk {
                    last: usize::MAX,
                    since_ms,
                    follow: false,
                    services: vec![service],
                };
                let events = self.past_events(&ask);
                self.answer_json(client, &events);
            }
            Ask::Probe { service, check } => self.probe_once(client, &service, check.as_deref()),
            Ask::BoardLog => match self.board_log() {
                Some(entries) => self.answer_json(client, &entries),
                None => self.refuse(client, 404, &self.why_no_board()),
            },
            Ask::Command(command) => self.command(client, peer, &command),
        }
    }

    pub(super) fn answer_json(&mut self, client: ClientId, document: &impl serde::Serialize) {
        match serde_json::to_vec(document) {
            Ok(body) => self.control.answer(&mut self.reactor, client, 200, &body),
            Err(error) => self.refuse(client, 503, &error.to_string()),
        }
    }

    fn answer_events(&mut self, client: ClientId, ask: EventsAsk) {
        let is_known = |name: &String| self.find(name).is_some() || self.is_of_pools(name);
        let unknown = ask.services.iter().find(|name| !is_known(name));
        if let Some(name) = unknown {
            let why = format!("no service is named {name}");
            return self.refuse(client, 404, &why);
        }
        let events = self.past_events(&ask);
        if ask.follow {
            self.control.follow(&mut self.reactor, client, ask, events.iter());
        } else {
            self.answer_json(client, &events);
        }
    }

    fn past_events(&self, ask: &EventsAsk) -> Vec<EventDoc> {
        let since =
            ask.since_ms.map(|ms| Instant::from_millis(self.now.as_millis().saturating_sub(ms)));
        self.events.past(&self.clock, &ask.services, since, ask.last)
    }

    /// USR1: the full status into the log.
    fn report_to_log(&mut self) {
        for service in 0..self.shown() {
            let doc = self.service_doc(service);
            let text = format!(
                "{}: {} of 100, {} restarts, waits for {}",
                doc.status, doc.failure_sum, doc.restarts, doc.waiting_for
            );
            self.say(service, message::Event::Status, text);
        }
        self.report_pools_to_log();
    }

    pub(super) fn set_debug(&mut self, level: &str, who: &str) -> Reply {
        let Some(level) = Debug::from_word(level) else {
            let text = format!("{level} is no level: off, low, high");
            return Reply { exit: 2, lines: vec![text] };
        };
        self.log.set_debug(level);
        let text = host::debug_level(level, who);
        self.say_host(message::Event::DebugLevel, text.clone());
        Reply { exit: 0, lines: vec![text] }
    }

    /// The supervisor's watchdog is fed from the loop, and from nowhere else.
    pub(super) fn feed_supervisor(&mut self) {
        if let Some(period) = self.supervisor.watchdog() {
            self.supervisor.alive(&self.one_line());
            let at = self.now.after(period);
            self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_WATCHDOG, 0), at);
        }
    }

    /// `4 services: 1 faulted, 3 ok`
    pub(super) fn one_line(&self) -> String {
        let statuses =
            [Status::Faulted, Status::Degraded, Status::Offline, Status::Unknown, Status::Ok];
        let count = |status: Status| {
            let watches = self.watches.iter().take(self.shown());
            watches.filter(|watch| self.shown_status(watch) == status).count()
        };
        let parts: Vec<String> = statuses
            .into_iter()
            .filter_map(|status| match count(status) {
                0 => None,
                count => Some(format!("{count} {}", status.word())),
            })
            .collect();
        format!("{} services: {}", self.shown(), parts.join(", "))
    }

    /// The journal's own deadlines, and another generation when it has grown.
    pub(super) fn look_after_journal(&mut self) {
        let now = self.now;
        self.journal.pass(now);
        if self.journal.wants_compaction(now) {
            let machines = self.watches.iter().map(|watch| (watch.machine, &watch.monitor));
            self.journal.compact(now, machines);
        }
        self.tell_journal();
        self.arm_journal();
    }

    /// Before a long wait: writes what could have waited, so that nobody is woken up for it.
    pub(super) fn write_before_idling(&mut self, now: Instant) {
        let next = self.reactor.timers.next();
        if next.is_none_or(|next| next.since(now) >= IDLE_MS) {
            self.journal.flush(now);
            self.arm_journal();
        }
    }

    /// The journal has one timer, and none while it wants nothing.
    fn arm_journal(&mut self) {
        let wanted = self.journal.poll_timeout();
        if self.journal_armed.map(|(at, _)| at) == wanted {
            return;
        }
        if let Some((_, timer)) = self.journal_armed {
            self.reactor.timers.disarm(timer);
        }
        self.journal_armed = wanted.map(|at| {
            (at, self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_JOURNAL, 0), at))
        });
    }

    /// What was noticed about the clocks: only what is shown depends on it.
    pub(super) fn note_look(&mut self, look: &Look) {
        if let Some(anchor) = look.anchor {
            self.journal.note(anchor.at, Note::Wall { wall_ms: anchor.wall_ms });
        }
        if let Some(ms) = look.stepped_ms {
            self.say_host(message::Event::ClockStepped, host::clock_stepped(ms));
        }
    }

    /// How long what is being done has taken.
    pub(super) fn work_took(&self, service: usize) -> u64 {
        let since = self.watches[service].more_ref().and_then(|more| more.work_since);
        since.map_or(0, |since| self.now.since(since))
    }

    /// R7 under `hard`: a reset of this node, by the board if it is armed, else by `reboot`.
    pub(super) fn reset_node(&mut self, service: usize, cause: Cause) {
        let words = self.cause_words(service, cause);
        if let Some(why) = self.may_not_reset() {
            return self.say(service, message::Event::ResetRefused, host::reset_refused(&why));
        }
        self.say(service, message::Event::Reset, host::reset(&words));
        if let Err(why) = self.charge_reset() {
            return self.say(service, message::Event::ResetRefused, host::reset_refused(&why));
        }
        if self.board_can_reset() {
            self.board_resets_for_stop(service, cause);
        } else {
            self.announce_reboot();
            self.begin_errand(service, super::run::Errand::Reboot, &["reboot".into()]);
        }
    }

    /// R20: why this node may not be reset now, if so.
    pub(super) fn may_not_reset(&self) -> Option<String> {
        let now = self.now;
        let lately = self.journal.ledger().charges(HostBudget::Resets);
        let lately = lately.filter(|at| now.since(*at) <= 3_600_000).count();
        if lately >= 3 {
            return Some("3 resets in the last hour".to_owned());
        }
        let board = self.plan.board.as_deref();
        let grace = board.map_or(BOOT_GRACE, |board| board.settings.boot_grace);
        let grace = u64::from(grace.as_millis());
        let booted = crate::clock::Reading::take().boottime_ms;
        (booted < grace)
            .then(|| format!("the host booted less than {} ago", message::span::compact(grace)))
    }

    /// R20: a reset is charged, and written before it happens or it does not happen.
    pub(super) fn charge_reset(&mut self) -> Result<(), String> {
        let now = self.now;
        self.journal.note(now, Note::Charged { budget: HostBudget::Resets });
        self.journal.sync(now).map_err(|error| format!("it could not be journalled: {error}"))
    }

    /// The trusted servers are probed like a service.
    pub(super) fn begin_trusted(&mut self) {
        let service = self.shown();
        self.feed(service, Event::Begin { first: Span::ZERO, started: false });
    }
}

//! The daemon: owns the machines, and the one loop that feeds them.
//!
//! Every turn waits for what is due or ready, hands readiness to whom it belongs, then what is
//! due, then takes the answers and feeds them. Nothing in a turn waits for anything.

mod agents;
mod ask;
pub(crate) mod board;
mod carry;
mod cluster;
mod control;
mod cycle;
mod database;
pub mod demo;
mod events;
mod feed;
mod handover;
mod hooks;
mod host;
mod http;
mod incident;
mod instance;
mod looks;
mod once;
mod operator;
mod pool;
pub mod prepare;
mod process;
mod recover;
mod reload;
mod reports;
mod rights;
mod run;
mod sdnotify;
mod start;
mod status;
mod tell;
mod watch;
mod web;
pub mod webhook;
mod work;

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use giveover_core::failure::ProbeResult;
use giveover_core::ladder::Round;
use giveover_core::monitor::Ticket;
use giveover_core::time::{Instant, Span};
use rustc_hash::FxHashMap;

use self::control::Control;
use self::events::Events;
use self::handover::ServiceArbiter;
use self::host::HostState;
use self::incident::Retold;
use self::once::Once;
use self::operator::Pending;
use self::pool::Pools;
use self::rights::Rights;
use self::run::Errands;
use self::sdnotify::Supervisor;
use self::watch::Watch;
use crate::check::command::{Command, Commands};
use crate::check::database::Databases;
use crate::check::files::Files;
use crate::check::{Answer, Handover, ProbeId, Prober};
use crate::clock::Clock;
use crate::config::plan::Plan;
use crate::journal::Journal;
use crate::reactor::{Reactor, Ready, Room, Signals, Timer, Token};
use crate::report::log::Log;
use crate::service::Services;
use crate::service::notify::Notify;

pub use prepare::{run, run_anew};
pub use start::{Options, SYSTEM_FILE, exit};

/// Tokens of the daemon's own room.
const DAEMON_SIGNALS: u32 = 0;
const DAEMON_BUDGET: u32 = 1;
const DAEMON_HOLDS: u32 = 2;
const DAEMON_JOURNAL: u32 = 3;
const DAEMON_END: u32 = 4;
const DAEMON_WATCHDOG: u32 = 5;
const DAEMON_BOARD: u32 = 6;
const DAEMON_ORPHANS: u32 = 7;
const DAEMON_NOTICES: u32 = 8;

/// A wait as long as this is worth writing what could have waited.
const IDLE_MS: u64 = 900;

/// So much of what is due is begun before answers are looked for again: where thousands are due
/// at once they do not all stand open together, and nobody else waits for all of them.
const MOST_DUE: usize = 128;

/// How long after a child has ended orphans are reaped, all that have ended by then in one go.
const ORPHANS_WAIT: Span = Span::from_millis(250);

/// A wait that ends this much later than asked for means that we did not run.
///
/// Less is a busy machine, on which failures must still be found.
const SLEPT_MS: u64 = 100;

/// A turn that takes this long was not work alone: we were stopped in it.
const STOPPED_MS: u64 = 500;

/// Everything the loop owns.
pub struct Daemon {
    clock: Clock,
    /// The time of this turn.
    now: Instant,
    /// When this daemon began.
    began: Instant,
    reactor: Reactor,
    journal: Journal,
    log: Log,
    events: Events,
    control: Control,
    /// The board, if there is one.
    board: Option<Box<board::Board>>,
    /// The other nodes, if there are any.
    cluster: Option<Box<cluster::Cluster>>,
    /// The node that a person wants a giveover to go to, while that is asked for.
    wanted_to: Option<String>,
    /// Where people and programs look, if anywhere.
    web: Option<Box<web::Web>>,
    hooks: hooks::Hooks,
    /// The socket reports come in on; without it everything else goes on.
    notify: Option<Notify>,
    signals: Signals,
    rights: Rights,
    plan: Plan,
    /// As many as services in the plan; behind those that are shown, the trusted servers.
    watches: Vec<Watch>,
    /// The cycles under way, by service: of ten thousand services few are being probed.
    rounds: FxHashMap<usize, (Ticket, Round)>,
    /// How many services are shown.
    shown: usize,
    /// Some service needs another.
    has_needs: bool,
    services: Services,
    arbiters: HashMap<usize, ServiceArbiter>,
    /// A reload by signal waits for what is under way.
    reload_waits: bool,
    host: HostState,
    prober: Prober,
    /// The files that checks need, as of this plan.
    files: Files,
    commands: Commands,
    /// Monitors of databases, once there is one.
    databases: Option<Box<Databases>>,
    /// Check commands, made ready: service, check, target.
    programs: FxHashMap<(u32, u8, u8), Command>,
    /// Configurations of servers, by service and check.
    instances: FxHashMap<(u32, u8), instance::Known>,
    errands: Errands,
    pending: Vec<Pending>,
    pools: Pools,
    /// Counts reloads: what pools have run for an earlier plan is nothing any more.
    reloads: u32,
    once: Vec<Once>,
    once_made: u32,
    /// Checks that hear heartbeats.
    agents: agents::Agents,
    /// What was reported of a service, until the cycle that was begun for it takes it.
    reported: Option<(usize, ProbeResult)>,
    /// Looks at units of systemd under way, and when each began.
    looks: HashMap<u64, (ProbeId, Instant)>,
    looks_made: u64,
    /// What looks at this host saw last, by service and check.
    seen: HashMap<(u32, u8), String>,
    /// Restarts of earlier runs with their causes, until their services are known.
    restarts_read: Vec<(String, Instant, String)>,
    /// Incidents that were not over, until their services are known.
    incidents_read: Retold,
    /// The status last told of each service, and when, until their services are known.
    statuses_read: HashMap<String, (Instant, String)>,
    /// Told to stop: no new actions.
    ending: bool,
    /// Services are left running when we end.
    leave: bool,
    /// Services that must have stopped before we end.
    to_stop: Vec<usize>,
    ready: Vec<Ready>,
    answers: Vec<Answer>,
    supervisor: Supervisor,
    /// The run before was in this boot of the machine.
    same_boot: bool,
    /// When the journal's timer is armed for.
    journal_armed: Option<(Instant, Timer)>,
    /// Since when the journal cannot be written, as far as it was told.
    journal_failing: Option<Instant>,
    /// End once nothing is under watch any more.
    until_given_over: bool,
    /// `--observe` was given: reloads observe too.
    observe_asked: bool,
}

impl Daemon {
    /// Runs until told to stop.
    ///
    /// # Errors
    /// Only those of the wait itself.
    fn run_loop(&mut self) -> io::Result<()> {
        self.now = self.clock.now();
        while !(self.ending && self.to_stop.is_empty() && self.is_cluster_gone()) {
            self.turn()?;
        }
        self.take_leave_of_board();
        while self.is_taking_leave() {
            self.turn()?;
        }
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        let asleep = self.clock.now();
        self.write_before_idling(asleep);
        let due = self.reactor.timers.next();
        let limit = due.map(|due| Duration::from_millis(due.since(asleep)));
        // Stopped in the middle of a turn, we have not looked since that began.
        let before = if asleep.since(self.now) > STOPPED_MS { self.now } else { asleep };
        let mut ready = std::mem::take(&mut self.ready);
        self.reactor.wait(limit, &mut ready)?;
        let look = self.clock.look();
        let woken = look.now;
        let late = due.map_or(0, |due| woken.since(due.max(before)));
        let slept = late.max(look.slept_ms.unwrap_or(0));
        // What is ready now may have come before what is due: it is taken as in time.
        self.now = due.map_or(woken, |due| woken.min(due.max(before)));
        for ready in &ready {
            self.dispatch(*ready);
        }
        self.ready = ready;
        if self.signals.child_ended() {
            let at = self.now.after(ORPHANS_WAIT);
            self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_ORPHANS, 0), at);
        }
        self.take_answers();
        self.now = woken;
        self.note_look(&look);
        if look.slept_ms.is_some() {
            self.board_woke();
        }
        if slept > SLEPT_MS {
            self.void_probes(slept);
        }
        for _ in 0..MOST_DUE {
            let Some(token) = self.reactor.timers.pop_due(self.now) else { break };
            self.dispatch_due(token);
        }
        self.take_answers();
        self.reload_that_waited();
        self.look_after_journal();
        self.look_after_cluster();
        self.look_after_board();
        Ok(())
    }

    fn dispatch(&mut self, ready: Ready) {
        let now = self.now;
        match ready.token.room {
            Room::Probe => {
                self.prober.ready(&mut self.reactor, &self.plan, ready, now);
            }
            Room::Resolver => {
                self.prober.ready(&mut self.reactor, &self.plan, ready, now);
                if let Some(databases) = &mut self.databases {
                    databases.names_ready(&mut self.reactor, now);
                }
                self.cluster_names_ready();
                self.instances_ready();
                self.agent_keys_ready();
            }
            Room::Database => {
                if let Some(databases) = &mut self.databases {
                    databases.ready(&mut self.reactor, ready, now);
                }
            }
            Room::Command => self.commands.ready(&mut self.reactor, ready.token, now),
            Room::Errand => self.errand_ready(ready),
            Room::Service => self.service_ready(ready),
            Room::Control => self.control_ready(ready),
            Room::Method => self.service_ready(ready),
            Room::Notify => self.notify_ready(),
            Room::Board => self.board_ready(ready),
            Room::Agent => self.agents_ready(ready.token, false),
            Room::Web => self.web_ready(ready),
            Room::Hook => self.hook_ready(ready),
            Room::Pool => self.pool_ready(ready),
            Room::PoolCommand => self.pool_command_ready(ready),
            Room::Cluster => self.cluster_ready(ready),
            Room::GroupCommand => self.group_command_ready(ready),
            Room::Address => self.address_ready(ready),
            #[cfg(feature = "etcd")]
            Room::Etcd => self.etcd_ready(ready),
            #[cfg(not(feature = "etcd"))]
            Room::Etcd => {}
            Room::Daemon if ready.token.index == DAEMON_SIGNALS => self.signals_ready(),
            Room::Daemon | Room::Monitor => {}
        }
    }

    fn dispatch_due(&mut self, token: Token) {
        let now = self.now;
        match token.room {
            Room::Monitor => self.monitor_due(token.index as usize),
            Room::Probe => self.prober.due(&mut self.reactor, &self.plan, token, now),
            Room::Resolver => self.instance_due(token),
            Room::Database => {
                if let Some(databases) = &mut self.databases {
                    databases.due(&mut self.reactor, token, now);
                }
            }
            Room::Command => self.commands.due(&mut self.reactor, token, now),
            Room::Service => self.service_due(token),
            Room::Control => self.control.due(&mut self.reactor, token, now),
            Room::Errand => self.errand_due(token),
            Room::Method => self.service_due(token),
            Room::Notify => {}
            Room::Board => self.board_due(),
            Room::Agent => self.agents_ready(token, true),
            Room::Web => self.web_due(token),
            Room::Hook => self.hook_due(token),
            Room::Pool => self.pool_is_due(token),
            Room::PoolCommand => self.pool_command_due(token),
            Room::Cluster => self.cluster_due(),
            Room::GroupCommand => self.group_command_due(token),
            Room::Address | Room::Etcd => {}
            Room::Daemon => match token.index {
                DAEMON_BUDGET => self.host_budget_due(),
                DAEMON_HOLDS => self.holds_due(),
                DAEMON_JOURNAL => self.journal_armed = None,
                DAEMON_WATCHDOG => self.feed_supervisor(),
                DAEMON_END => self.end_is_late(),
                DAEMON_ORPHANS => self.reap_orphans(),
                DAEMON_NOTICES => self.notices_due(),
                _ => {}
            },
        }
    }

    /// Reaps what nobody waits for. A child whose owner has yet to hear of its end may hide it.
    fn reap_orphans(&mut self) {
        if self.reactor.children.reap_orphans() {
            let at = self.now.after(ORPHANS_WAIT);
            self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_ORPHANS, 0), at);
        } else {
            self.signals.hear_children();
        }
    }

    /// Feeds what probes have answered, until no answer leads to another.
    fn take_answers(&mut self) {
        loop {
            let mut answers = std::mem::take(&mut self.answers);
            answers.extend(self.prober.answers());
            while let Some(told) = self.commands.answer() {
                self.tell_seen(&told);
                answers.push(told.answer);
            }
            self.take_from_databases();
            self.take_looks(&mut answers);
            let handovers: Vec<Handover> = self.prober.handovers().collect();
            for handover in handovers {
                self.begin_fsinfo(handover);
            }
            if answers.is_empty() {
                self.answers = answers;
                self.tell_stuck();
                self.tell_names();
                return;
            }
            for answer in answers.drain(..) {
                self.take(answer);
            }
            self.answers = answers;
        }
    }

    /// We did not run: probes in flight prove nothing either way.
    fn void_probes(&mut self, slept_ms: u64) {
        let now = self.now;
        let mut void = self.prober.in_flight();
        self.prober.void_all(&mut self.reactor, now);
        self.commands.void(&mut self.reactor, now);
        if let Some(databases) = &mut self.databases {
            void += databases.in_flight();
            databases.void_all(&mut self.reactor, now);
        }
        self.void_looks();
        self.void_instances();
        self.void_group_looks();
        self.agents_slept(slept_ms);
        self.pools_slept();
        self.tell_slept(slept_ms, void);
        self.take_answers();
    }

    /// How many services people see.
    fn shown(&self) -> usize {
        self.shown
    }

    /// The place of the service named `name`.
    fn find(&self, name: &str) -> Option<usize> {
        self.plan.services.iter().take(self.shown).position(|service| &*service.name == name)
    }
}

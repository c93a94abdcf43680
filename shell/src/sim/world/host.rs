//! The host and its daemon: up, down, asleep; what is lost and found again in between.

use giveover_core::failure::Cause;
use giveover_core::failure::{Phase, ProbeResult};
use giveover_core::host::Budget;
use giveover_core::monitor::{Ended, Event, GiveoverOutcome, Holder, RestartOutcome, Waiting};
use giveover_core::policy::Destination;
use giveover_core::time::{Instant, Span};

use super::Play;
use super::disk::Disk;
use super::service::NEVER;
use crate::machine;

/// At most so many resets by ourselves in an hour (R20).
const RESETS: usize = 3;
/// None so soon after a boot.
const BOOT_GRACE: u64 = 600_000;

/// Where the host stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// Nothing runs; it ends by itself then, or never.
    Hung(u64),
    /// The reset line is held, or the power is off.
    Off,
    /// It boots until then.
    Booting(u64),
}

pub(super) struct Host {
    state: State,
    /// The daemon does not run until then, though the host does.
    daemon_down: u64,
    /// It was killed, and knows only what is on the disk.
    lost: bool,
    booted: u64,
    pub(super) boots: Vec<u64>,
    resets: Budget<[Instant; RESETS]>,
    /// True times at which the monitor's clock was set on, for pictures.
    shown: Vec<(u64, u64)>,
}

impl Host {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Up,
            daemon_down: 0,
            lost: false,
            booted: 0,
            boots: Vec::new(),
            resets: Budget::new(Span::from_secs(3600), [Instant::from_millis(0); RESETS]),
            shown: Vec::new(),
        }
    }

    /// When something is due about it.
    pub(super) const fn next_event(&self) -> u64 {
        match self.state {
            State::Hung(until) | State::Booting(until) => until,
            State::Off => NEVER,
            State::Up if self.daemon_down > 0 => self.daemon_down,
            State::Up => NEVER,
        }
    }

    /// From when on the daemon runs; `None` while nobody knows.
    pub(super) const fn daemon_from(&self, now: u64) -> Option<u64> {
        match self.state {
            State::Up if self.daemon_down > 0 => None,
            State::Up => Some(now),
            _ => None,
        }
    }

    pub(super) const fn daemon_runs(&self, now: u64) -> bool {
        self.daemon_from(now).is_some()
    }

    /// It runs, or would if it did not hang.
    pub(super) const fn has_power(&self) -> bool {
        matches!(self.state, State::Up | State::Hung(_))
    }

    pub(super) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// What the monitor's clock showed at a true time, as far as pictures are concerned. What happens
    /// while the host is down is shown when it comes up, at the latest.
    pub(super) fn shown(&self, at: u64) -> Instant {
        let next = self.shown.partition_point(|(from, _)| *from <= at);
        let before = next.checked_sub(1).and_then(|last| self.shown.get(last));
        let (from, showed) = before.copied().unwrap_or((0, 0));
        let back = self.shown.get(next).map_or(u64::MAX, |(_, showed)| *showed);
        Instant::from_millis((showed + (at - from)).min(back))
    }
}

impl Play<'_> {
    /// What is due about host or daemon.
    pub(super) fn host_due(&mut self) {
        match self.host.state {
            State::Hung(_) => {
                self.host.state = State::Up;
                self.freeze(false);
                self.node_pauses(false);
                self.daemon_wakes();
            }
            State::Booting(_) => self.booted(),
            State::Up | State::Off => {
                self.host.daemon_down = 0;
                if std::mem::take(&mut self.host.lost) {
                    self.node_comes_up();
                    self.daemon_returns(false);
                } else {
                    self.node_pauses(false);
                    self.daemon_wakes();
                }
            }
        }
    }

    /// The daemon is killed, or stands still, for so long.
    pub(super) fn daemon_stops(&mut self, lasts: u64, killed: bool) {
        if !self.host.is_up() {
            return;
        }
        let stood = self.host.daemon_down > 0;
        self.host.daemon_down = self.host.daemon_down.max(self.now.saturating_add(lasts.max(1)));
        match (killed, self.host.lost) {
            (true, false) => {
                self.node_is_gone(false);
                if stood {
                    self.node_pauses(false);
                }
            }
            (false, false) if !stood => self.node_pauses(true),
            _ => {}
        }
        self.host.lost |= killed;
        if killed {
            let own = self.own();
            for service in self.services.iter_mut().take(own) {
                service.probe = None;
            }
            self.board_loses_daemon();
        }
    }

    /// The host hangs; `lasts` until it goes on by itself.
    pub(super) fn host_hangs(&mut self, lasts: Option<u64>) {
        if !self.host.is_up() {
            return;
        }
        let until = lasts.map_or(NEVER, |lasts| self.now.saturating_add(lasts.max(1)));
        // a daemon that already stood still stands still with the host
        if self.host.daemon_down == 0 {
            self.node_pauses(true);
        }
        self.host.state = State::Hung(until);
        self.freeze(true);
    }

    fn freeze(&mut self, frozen: bool) {
        let now = self.now;
        let own = self.own();
        for service in self.services.iter_mut().take(own) {
            service.frozen = frozen;
            service.truth(now);
        }
    }

    /// The reset line is pulled, or the power goes: everything that ran is gone.
    pub(super) fn host_goes_down(&mut self) {
        let now = self.now;
        if let Some(disk) = &mut self.disk {
            disk.power_lost(now);
        }
        let stands = matches!(self.host.state, State::Hung(_))
            || self.host.state == State::Up && self.host.daemon_down > 0 && !self.host.lost;
        self.host.state = State::Off;
        self.node_is_gone(true);
        if stands {
            self.node_pauses(false); // of what waits for it nothing is heard any more
        }
        self.host.daemon_down = 0;
        self.host.lost = true;
        let own = self.own();
        for service in self.services.iter_mut().take(own) {
            service.alive = false;
            service.frozen = false;
            service.stray = false;
            service.unheard = false;
            service.probe = None;
            service.work = None;
            service.asked = None;
            service.forget_leak();
            service.ills.retain(|ill| ill.until.is_some());
            service.truth(now);
        }
        self.board_loses_daemon();
    }

    /// The line is released, or the power is back.
    pub(super) fn host_boots(&mut self) {
        self.host_boots_after(0);
    }

    /// The same after so long.
    pub(super) fn host_boots_after(&mut self, ms: u64) {
        let takes = self.random.within(self.world.boot_takes).max(1);
        self.host.state = State::Booting(self.now.saturating_add(ms).saturating_add(takes));
    }

    fn booted(&mut self) {
        self.host.state = State::Up;
        self.host.booted = self.now;
        self.host.boots.push(self.now);
        self.host.lost = false;
        self.node_comes_up();
        self.daemon_returns(true);
    }

    /// The daemon of this host is its node's too: it stands still, or goes on.
    fn node_pauses(&mut self, begins: bool) {
        let now = self.now;
        if let Some(cluster) = &mut self.cluster {
            cluster.pause(0, begins, now, &mut self.random);
        }
        self.follow_nodes();
    }

    /// It is killed, or with the whole machine gone.
    fn node_is_gone(&mut self, with_machine: bool) {
        let now = self.now;
        if let Some(cluster) = &mut self.cluster {
            if with_machine {
                cluster.power_off(0, now, NEVER);
            } else {
                cluster.kill(0, now);
            }
        }
        self.follow_nodes();
    }

    fn node_comes_up(&mut self) {
        let now = self.now;
        if let Some(cluster) = &mut self.cluster {
            cluster.come_up(0, now);
        }
    }

    /// R20: a reset by the daemon's own, through the board if there is one.
    pub(super) fn reset_node(&mut self, place: usize, cause: Option<Cause>) {
        let (now, node) = (self.now, self.node_of(place));
        if node != 0 {
            if let Some(cluster) = &mut self.cluster {
                cluster.reset(node, now);
            }
            return self.follow_nodes();
        }
        let at = self.clock.at(self.now);
        let fresh = self.now - self.host.booted < BOOT_GRACE && !self.host.boots.is_empty();
        if self.host.resets.is_spent(at) || fresh {
            return;
        }
        self.host.resets.charge(at);
        if self.board.is_some() {
            self.ask_board_to_reset(place, cause);
        } else {
            self.host_goes_down();
            self.host_boots();
        }
    }

    /// We did not run: probes in flight prove nothing, and deaths are heard of now.
    fn daemon_wakes(&mut self) {
        let now = self.now;
        for place in 0..self.own() {
            let Some(service) = self.services.get_mut(place) else { continue };
            if let Some((ticket, _)) = service.probe.take_if(|(_, ends)| *ends <= now) {
                self.feed(place, Event::Probed { ticket, result: ProbeResult::Void });
            }
        }
        self.pools_wake();
        self.board_woke();
    }

    /// A daemon comes up and finds what the disk kept.
    fn daemon_returns(&mut self, booted: bool) {
        let now = self.now;
        let recovered = self.disk.as_mut().map(|disk| disk.recover(&mut self.random));
        let mut machines = recovered.map(|recovered| {
            if booted {
                self.clock.carry_on(now, recovered.last());
                self.host.shown.push((now, recovered.last().as_millis()));
            }
            recovered.machines
        });
        let at = self.clock.at(now);
        let own = self.own();
        for (place, service) in self.services.iter_mut().take(own).enumerate() {
            let known = machines.as_mut().and_then(|machines| machines.remove(&service.name));
            let monitor = known.map(|machine| machine.monitor);
            if let (Some(oracle), Some(monitor)) = (&mut self.oracle, &monitor) {
                let torn = self.disk.as_ref().is_some_and(Disk::has_lost);
                if let Err(why) = oracle.recovered(place, monitor, torn) {
                    self.outcome.broken.get_or_insert((now, format!("{}: {why}", service.name)));
                }
            }
            service.monitor = monitor.unwrap_or_else(|| {
                if let Some(oracle) = &mut self.oracle {
                    oracle.forgot(place);
                }
                machine::boxed(*service.monitor.policy(), at)
            });
            service.probe = None;
            service.arm(&self.clock);
        }
        self.snapshot();
        for place in 0..self.own() {
            self.take_over(place, booted);
        }
        self.settle_holders();
        self.pools_return();
        self.board_begins();
    }

    /// Who holds the services of a daemon that has come up.
    fn settle_holders(&mut self) {
        for place in 0..self.own() {
            let exempt = self.world.services.get(place).is_none_or(|it| it.network || it.local);
            let wanted = [
                (Holder::HostBudget, self.budget_spent),
                (Holder::LocalFault, self.local_fault && !exempt),
            ];
            for (holder, wanted) in wanted {
                let held = self.services.get(place).is_some_and(|it| it.monitor.held_by(holder));
                match (held, wanted) {
                    (false, true) => self.feed(place, Event::Hold(holder)),
                    (true, false) => self.feed(place, Event::Release(holder)),
                    _ => {}
                }
            }
            self.settle_need(place);
        }
    }

    /// What the daemon does with a service when it comes up.
    fn take_over(&mut self, place: usize, booted: bool) {
        if self.moves(place) {
            return self.rest(place);
        }
        let Some(service) = self.services.get_mut(place) else { return };
        let waits = service.monitor.waiting_for();
        if let Some((ticket, _)) = service.monitor.restart_under_way() {
            if service.alive || !booted {
                service.work = None;
                return self.begin_work(place, ticket);
            }
            self.service_started(place);
            let outcome = RestartOutcome::Started;
            return self.feed(place, Event::RestartDone { ticket, outcome });
        }
        if waits == Waiting::GivenOver || waits == Waiting::Ended(Ended::Stopped) {
            return; // it stays where it went
        }
        if let Some(ticket) = service.monitor.giveover_under_way() {
            let to_board =
                service.monitor.policy().scope().destination == Destination::Board && booted;
            let outcome = if to_board { GiveoverOutcome::Granted } else { GiveoverOutcome::NotNow };
            self.feed(place, Event::GiveoverDone { ticket, outcome });
        }
        let Some(service) = self.services.get_mut(place) else { return };
        if let Some(ticket) = service.monitor.probe_under_way() {
            self.feed(place, Event::Probed { ticket, result: ProbeResult::Void });
        }
        if booted || waits == Waiting::Ended(Ended::NotBegun) {
            let alive = self.services.get(place).is_some_and(|service| service.alive);
            if !alive {
                self.service_started(place);
            }
            let first = self.spread(place);
            return self.feed(place, Event::Begin { first, started: !alive });
        }
        let Some(service) = self.services.get_mut(place) else { return };
        if !service.alive && !service.monitor.is_dead() {
            service.unheard = false;
            let cause = Cause::new(Phase::Died, Cause::UNKNOWN);
            self.feed(place, Event::Died { cause });
        }
    }

    /// The journal begins anew.
    pub(super) fn snapshot(&mut self) {
        let at = self.clock.at(self.now);
        if let Some(disk) = &mut self.disk {
            let machines = self.services.iter().take(self.world.services.len()).zip(0u32..);
            disk.begin(at, machines.map(|(it, number)| (number, &it.name, &it.monitor)));
        }
    }
}

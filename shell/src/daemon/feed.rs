//! Event → `handle` → journal → carry out: the one way anything reaches a monitor.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::{Action, Actions, Event, Holder, Message, Origin, Status, Waiting};
use giveover_core::record::{Body, Entry};
use giveover_core::time::{Instant, Span};

use super::Daemon;
use crate::config::plan::{CheckPlan, Kind};
use crate::journal::Note;
use crate::machine::BoxedMonitor;
use crate::message::{self, words};
use crate::reactor::{Room, Token};

/// Due times are rounded down to a tick of at most this, and at most a fiftieth of the interval,
/// so that probes start in clumps and short ones keep their cadence. It costs a hundredth of the
/// interval in detection, and halves the wake-ups where hundreds are due in a second.
const TICK_MOST_MS: u64 = 20;

impl Daemon {
    /// Feeds `event` to the monitor of `service`, and carries out what it leads to.
    ///
    /// Event and actions are in the journal before anything is carried out.
    pub(super) fn feed(&mut self, service: usize, event: Event) {
        let Some(watch) = self.watches.get_mut(service) else { return };
        let now = moment(&event, self.now, &watch.monitor);
        let before = Before::of(&watch.monitor);
        let actions = watch.monitor.handle(event, now);
        if is_a_cycle(&event) && !self.host.doubted.is_empty() {
            self.host.doubted.remove(&watch.machine);
        }
        let shown = (watch.monitor.status(), watch.monitor.message());
        if shown != (before.status, before.message) {
            watch.since = self.now;
        }
        self.write_down(service, event, now, &actions);
        let ours = |it: &Action| matches!(it, Action::Restart { origin: Origin::Monitor, .. });
        if (&actions).into_iter().any(ours) && self.restarts_group(service) {
            self.note_group(service, true);
        }
        self.tell_shadow(service, &event, now, is_a_cycle(&event));
        self.tell(service, &event, &actions, before);
        if is_worth_a_write(&event, &actions) {
            self.journal.flush(self.now);
        }
        for action in &actions {
            self.carry_out(service, *action);
        }
        self.arm(service);
        if shown.0 != before.status && !self.ending {
            self.settle_needs(service);
        }
        if shown.0 == Status::Ok && is_a_cycle(&event) {
            self.restart_group(service);
        }
    }

    /// Whether a restart of `service` restarts those that need it too: `restart_type = "group"`.
    fn restarts_group(&self, service: usize) -> bool {
        let group = |check: &CheckPlan| match &check.kind {
            Kind::Database(plan) => plan.restarts_group,
            _ => false,
        };
        self.plan.services[service].checks.iter().any(group)
    }

    /// `service` is ok again: those that need it are restarted, if its restart was to be that of its
    /// group; and once they are ok, those that need them.
    ///
    /// Each of them is noted before it is restarted, and `service` is done last: who is killed in
    /// between restarts one twice rather than none.
    fn restart_group(&mut self, service: usize) {
        let monitor = &self.watches[service].monitor;
        let restarts = monitor.restart_under_way().is_some()
            || matches!(monitor.waiting_for(), Waiting::Restart | Waiting::Delay(_));
        let waits = self.watches[service].more_ref().is_some_and(|more| more.group_waits);
        if restarts || !waits {
            return;
        }
        let name = self.plan.services[service].name.clone();
        for dependent in self.dependents(service) {
            let monitor = &self.watches[dependent].monitor;
            let runs = !matches!(monitor.waiting_for(), Waiting::Ended(_) | Waiting::GivenOver);
            let busy = monitor.restart_under_way().is_some()
                || monitor.giveover_under_way().is_some()
                || monitor.held_by(Holder::Operator);
            if !runs || busy || !self.is_ours(dependent) {
                continue;
            }
            self.note_group(dependent, true);
            self.say(dependent, message::Event::Restart, words::restart_with(&name));
            self.feed(dependent, Event::Restart);
        }
        self.note_group(service, false);
        self.journal.flush(self.now);
    }

    /// Notes that those who need `service` are to be restarted once it is ok, or that they were.
    fn note_group(&mut self, service: usize, waits: bool) {
        let more = self.watches[service].more();
        if more.group_waits != waits {
            more.group_waits = waits;
            let machine = self.watches[service].machine;
            self.journal.note(self.now, Note::GroupWaits { machine, waits });
        }
    }

    fn write_down(&mut self, service: usize, event: Event, now: Instant, actions: &Actions) {
        let machine = self.watches[service].machine;
        self.journal.append(&Entry { at: now, machine, body: Body::Event(event) });
        for action in actions {
            self.journal.append(&Entry { at: now, machine, body: Body::Action(*action) });
        }
    }

    /// Carries one action out. Those that ask something are answered by another event, later
    /// or at once.
    fn carry_out(&mut self, service: usize, action: Action) {
        match action {
            Action::Probe { ticket } => self.begin_cycle(service, ticket),
            Action::Restart { ticket, origin } => {
                self.begin_restart(service, ticket, origin);
            }
            Action::Giveover { ticket, reason } => self.begin_handover(service, ticket, reason),
            Action::Cancel { ticket } => self.cancel_handover(service, ticket),
            Action::Reset { cause } => self.reset_node(service, cause),
            Action::BudgetSpent if self.plan.services[service].stops_when_spent => {
                self.end_monitor(service, "its spent budget");
            }
            // Told already; there is nothing to do.
            Action::BudgetSpent | Action::Log | Action::Status { .. } => {}
            _ => {}
        }
    }

    /// Arms the monitor's timer if it wants to be woken earlier than one is armed for.
    pub(super) fn arm(&mut self, service: usize) {
        let watch = &mut self.watches[service];
        let Some(at) = watch.monitor.poll_timeout() else { return };
        if watch.armed.is_none_or(|armed| at < armed) {
            watch.armed = Some(at);
            self.reactor.timers.arm(Token::new(Room::Monitor, service as u32, 0), at);
        }
    }

    /// A timer of a monitor has come.
    pub(super) fn monitor_due(&mut self, service: usize) {
        let now = self.now;
        let Some(watch) = self.watches.get_mut(service) else { return };
        watch.armed = None;
        match watch.monitor.poll_timeout() {
            Some(at) if at <= now => self.feed(service, Event::Timeout),
            _ => self.arm(service),
        }
    }

    /// R14: those that need `service` are held while it is not ok.
    pub(super) fn settle_needs(&mut self, service: usize) {
        for dependent in self.dependents(service) {
            self.settle_need(dependent);
        }
    }

    /// Holds or releases `service` by what it needs.
    pub(super) fn settle_need(&mut self, service: usize) {
        let needs = &self.plan.services[service].needs;
        let unmet = needs.iter().any(|need| {
            let watch = self.watches.get(*need as usize);
            watch.is_some_and(|watch| !watch.meets_needs()) && !self.runs_elsewhere(*need as usize)
        });
        let held = self.watches[service].monitor.held_by(Holder::Need);
        match (unmet, held) {
            (true, false) => self.feed(service, Event::Hold(Holder::Need)),
            (false, true) => self.feed(service, Event::Release(Holder::Need)),
            _ => {}
        }
    }

    fn dependents(&self, service: usize) -> Vec<usize> {
        if !self.has_needs {
            return Vec::new();
        }
        let needs_it =
            |plan: &crate::config::plan::ServicePlan| plan.needs.contains(&(service as u32));
        let services = self.plan.services.iter().enumerate();
        services.filter(|(_, plan)| needs_it(plan)).map(|(place, _)| place).collect()
    }
}

/// Whether what happened must be in the kernel's hands before it is acted on. Healthy probes can
/// wait: to lose the last of them loses nothing that counts.
fn is_worth_a_write(event: &Event, actions: &Actions) -> bool {
    let quiet = match event {
        Event::Timeout => true,
        Event::Probed { result, .. } => {
            matches!(result, ProbeResult::Healthy | ProbeResult::Void)
        }
        _ => false,
    };
    !quiet || actions.as_slice().iter().any(|action| !matches!(action, Action::Probe { .. }))
}

/// Whether `event` is the end of a cycle that has seen the service.
fn is_a_cycle(event: &Event) -> bool {
    let seen =
        |result: &ProbeResult| !matches!(result, ProbeResult::Void | ProbeResult::CannotMeasure(_));
    matches!(event, Event::Probed { result, .. } if seen(result))
}

/// What stood before an event.
#[derive(Clone, Copy)]
pub(super) struct Before {
    pub(super) status: Status,
    pub(super) message: Message,
    pub(super) unmeasured_since: Option<Instant>,
    /// When a restart that had been decided would have been made.
    pub(super) restarting_at: Option<Instant>,
}

impl Before {
    fn of(monitor: &BoxedMonitor) -> Self {
        Self {
            status: monitor.status(),
            message: monitor.message(),
            unmeasured_since: monitor.unmeasured_since(),
            restarting_at: match monitor.waiting_for() {
                Waiting::Delay(at) => Some(at),
                _ => None,
            },
        }
    }
}

/// The time an event is fed with: begin and end of a cycle are rounded down to the tick, everything
/// else is what the clock says. Without that each wake-up that comes a little late would move the
/// cycles of a service, and those of others away from them.
fn moment(event: &Event, now: Instant, monitor: &BoxedMonitor) -> Instant {
    let due = match (event, monitor.waiting_for()) {
        (Event::Probed { .. }, _) => Instant::default(),
        (Event::Timeout, Waiting::Probe(due)) => due,
        _ => return now,
    };
    let interval = monitor.policy().limits().thorough_probe_interval;
    tick_before(now, interval).max(due).max(monitor.latest()).min(now)
}

/// The last tick of the scheduler at or before `at`, for services probed each `interval`.
pub(super) fn tick_before(at: Instant, interval: Span) -> Instant {
    let tick = (u64::from(interval.as_millis()) / 50).clamp(1, TICK_MOST_MS);
    Instant::from_millis(at.as_millis() - at.as_millis() % tick)
}

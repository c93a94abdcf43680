//! One member: its cycles, what its checks and its agent said, and what a person wants of it.

use crate::failure::{Cause, Phase, ProbeResult};
use crate::ring::Ring;
use crate::time::{Instant, Span};

use super::cause_of;
use super::event::{Face, Ticket, Why};
use super::settings::{Busy, Settings};

/// How a member begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// It gets work only while nobody else does.
    pub backup: bool,
    /// What is known of it.
    pub start: Start,
    /// A person's drain that is not over: until when, and when its connections are cut.
    pub drain: Option<Drain>,
    /// Another service of its server has failed.
    pub elsewhere: bool,
}

/// What is known of a member when a pool begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Nothing: it is taken as in, and its first cycle decides.
    #[default]
    Unknown,
    /// It was in.
    In,
    /// It was out: its checks have yet to pass.
    Out,
}

/// A person's drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drain {
    /// When it ends by itself.
    pub until: Option<Instant>,
    /// When connections are cut, or were; `None` if that is only done at the end.
    pub cut_at: Option<Instant>,
    /// They have been cut.
    pub has_cut: bool,
}

/// The cycles of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cycle {
    Sleeping { due: Instant },
    Probing { ticket: Ticket, slot: Instant },
    Still,
}

/// What a member's agent said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Agent {
    /// When; or since when silence counts.
    at: Instant,
    /// It has ever spoken.
    heard: bool,
    load: Option<u8>,
    failed: bool,
    silent: bool,
}

/// One member of a pool.
#[derive(Clone, Debug)]
pub struct Member {
    backup: bool,
    cycle: Cycle,
    last_ticket: u32,
    late: u32,
    /// The last cycles that were measured; true is healthy.
    marks: Ring<bool, [bool; Settings::MOST_CYCLES as usize]>,
    /// How many of them count: those since it last moved.
    evidence: u8,
    /// Healthy ones in a row at their end.
    passes: u8,
    /// What the last cycle found.
    last: Option<ProbeResult>,
    /// Its checks let it be in.
    fit: bool,
    /// A cycle was measured since the pool began, or it is known from before.
    seen: bool,
    /// It was drained, or out when we began, and its checks have yet to pass.
    returning: bool,
    /// It was out when we began: its own fault, as far as anybody knows.
    was_out: bool,
    /// Its checks want it out; that is decided for all members together.
    pub(super) falling: bool,
    /// When its checks took it out.
    pub(super) fell_at: Instant,
    cause: Cause,
    agent: Agent,
    busy: bool,
    pub(super) elsewhere: bool,
    pub(super) drain: Option<Drain>,
    /// It would be out but for the floor.
    pub(super) kept: bool,
    pub(super) face: Face,
    /// Since when it has been out, or not out.
    pub(super) since: Instant,
}

impl Member {
    pub(super) fn new(setup: &Setup, now: Instant) -> Self {
        let out = setup.start == Start::Out;
        Self {
            backup: setup.backup,
            cycle: Cycle::Still,
            last_ticket: 0,
            late: 0,
            marks: Ring::new([false; Settings::MOST_CYCLES as usize]),
            evidence: 0,
            passes: 0,
            last: None,
            fit: !out,
            seen: setup.start != Start::Unknown,
            returning: out,
            was_out: out,
            falling: false,
            fell_at: now,
            cause: Cause::new(Phase::Reported, 0),
            agent: Agent { at: now, heard: false, load: None, failed: false, silent: false },
            busy: false,
            elsewhere: setup.elsewhere,
            drain: setup.drain,
            kept: false,
            face: Face::In { weight: 100 },
            since: now,
        }
    }

    /// It gets work only while nobody else does.
    #[must_use]
    pub const fn is_backup(&self) -> bool {
        self.backup
    }

    /// What a balancer sees of it.
    #[must_use]
    pub const fn face(&self) -> Face {
        self.face
    }

    /// Since when it has been out, or not out.
    #[must_use]
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// What its last cycle found; `None` before the first.
    #[must_use]
    pub const fn last(&self) -> Option<ProbeResult> {
        self.last
    }

    /// A person's drain.
    #[must_use]
    pub const fn drained(&self) -> Option<Drain> {
        self.drain
    }

    /// Its connections have been cut in the middle of its drain.
    #[must_use]
    pub fn has_cut(&self) -> bool {
        self.drain.is_some_and(|drain| drain.has_cut)
    }

    /// It would be out but for the floor.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.kept
    }

    /// Its load, as its agent says.
    #[must_use]
    pub const fn load(&self) -> Option<u8> {
        self.agent.load
    }

    /// From `busy.from` on, until below `busy.until`.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.busy
    }

    /// How many of its cycles ended after the slot of the next.
    #[must_use]
    pub const fn late(&self) -> u32 {
        self.late
    }

    /// The last cycles that were measured, oldest first; true is healthy.
    pub fn marks(&self) -> impl Iterator<Item = bool> + '_ {
        self.marks.iter()
    }

    /// HAProxy's count: `rise + fall - 1` is all well, below `rise` it is out.
    #[must_use]
    pub fn health(&self, settings: &Settings) -> u8 {
        if self.fit {
            let most = settings.rise + settings.fall.count - 1;
            most.saturating_sub(self.failures(settings))
        } else {
            self.passes.min(settings.rise - 1)
        }
    }

    /// Its own fault, whatever is elsewhere and whatever a person wants: what other services of
    /// its server are told.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        !self.fit && (!self.returning || self.was_out) || self.is_down_by_agent()
    }

    /// Its agent keeps it out: a work unit has failed, or nothing is heard.
    #[must_use]
    pub const fn is_down_by_agent(&self) -> bool {
        self.agent.failed || self.agent.silent
    }

    /// Its checks, or what is left of a drain, keep it out.
    #[must_use]
    pub const fn is_unfit(&self) -> bool {
        !self.fit
    }

    /// Another service of its server has failed.
    #[must_use]
    pub const fn is_down_elsewhere(&self) -> bool {
        self.elsewhere
    }

    /// What keeps it out, if the floor does not keep it in; a drain is none of it.
    pub(super) const fn veto(&self) -> Option<Why> {
        if !self.fit && self.returning {
            Some(Why::Returning)
        } else if !self.fit {
            Some(Why::Checks(self.cause))
        } else if self.agent.failed {
            Some(Why::WorkUnit)
        } else if self.agent.silent {
            Some(Why::Silent)
        } else if self.elsewhere {
            Some(Why::Elsewhere)
        } else {
            None
        }
    }

    /// Percent of its share: what its load leaves, in steps of five, never nothing.
    pub(super) fn weight(&self) -> u8 {
        let load = self.agent.load.filter(|_| !self.agent.silent).unwrap_or(0);
        (100 - load.min(100)).div_ceil(5).max(1) * 5
    }

    pub(super) const fn is_healthy(&self) -> bool {
        matches!(self.last, Some(ProbeResult::Healthy))
    }

    pub(super) const fn has_been_seen(&self) -> bool {
        self.last.is_some()
    }

    pub(super) const fn is_unmeasured(&self) -> bool {
        matches!(self.last, Some(ProbeResult::CannotMeasure(_)))
    }

    pub(super) fn begin(&mut self, now: Instant, due: Instant) {
        self.cycle = Cycle::Sleeping { due };
        self.agent.at = now;
        self.since = now;
    }

    /// When it wants to be woken, but for its agent's silence.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let due = match self.cycle {
            Cycle::Sleeping { due } => Some(due),
            Cycle::Probing { .. } | Cycle::Still => None,
        };
        let cut_at = |drain: &Drain| drain.cut_at.filter(|_| !drain.has_cut);
        let drain = self.drain.map(|drain| [drain.until, cut_at(&drain)]);
        [due].into_iter().chain(drain.into_iter().flatten()).flatten().min()
    }

    /// Begins the cycle that is due.
    pub(super) fn begin_cycle(&mut self, now: Instant) -> Option<Ticket> {
        let Cycle::Sleeping { due } = self.cycle else { return None };
        if now < due {
            return None;
        }
        self.last_ticket = self.last_ticket.wrapping_add(1);
        let ticket = Ticket(self.last_ticket);
        self.cycle = Cycle::Probing { ticket, slot: due };
        Some(ticket)
    }

    /// Ends the cycle of `ticket`; the next begins at the next slot. False if it is not under way.
    pub(super) fn end_cycle(&mut self, ticket: Ticket, interval: Span, now: Instant) -> bool {
        let Cycle::Probing { ticket: waited, slot } = self.cycle else { return false };
        if waited != ticket {
            return false;
        }
        let each = u64::from(interval.as_millis()).max(1);
        let passed = now.since(slot) / each;
        if passed > 0 {
            self.late = self.late.saturating_add(1);
        }
        let next = slot.as_millis().saturating_add(each.saturating_mul(passed + 1));
        self.cycle = Cycle::Sleeping { due: Instant::from_millis(next) };
        true
    }

    /// Takes a cycle's verdict. What could not be measured, and what comes while membership
    /// stands still, is remembered and counts nothing.
    pub(super) fn take(&mut self, result: ProbeResult, settings: &Settings, frozen: bool) {
        let healthy = match result {
            ProbeResult::Void => return,
            ProbeResult::CannotMeasure(_) => {
                self.last = Some(result);
                return;
            }
            ProbeResult::Healthy => true,
            ProbeResult::Failed(..) | ProbeResult::Immediate(_) => false,
        };
        self.last = Some(result);
        self.marks.push(healthy);
        if let (false, Some(cause)) = (healthy, cause_of(&result)) {
            self.cause = cause;
        }
        if frozen {
            return;
        }
        self.evidence = self.evidence.saturating_add(1).min(Settings::MOST_CYCLES);
        self.passes = if healthy { self.passes.saturating_add(1) } else { 0 };
        let first = !core::mem::replace(&mut self.seen, true);
        let at_once = matches!(result, ProbeResult::Immediate(_)) || first && !healthy;
        let fallen = at_once || self.failures(settings) >= settings.fall.count;
        if self.fit {
            self.falling = fallen && !healthy;
        } else if self.passes >= settings.rise {
            self.rise();
        } else if self.returning && fallen {
            self.returning = false; // its checks had their chance
        }
    }

    /// Failed cycles that count: among the last few, and since it last moved.
    fn failures(&self, settings: &Settings) -> u8 {
        let counted = u16::from(self.evidence.min(settings.fall.of)).min(self.marks.len());
        let from = self.marks.len() - counted;
        let failed = (from..self.marks.len()).filter(|at| self.marks.get(*at) == Some(false));
        let failed = failed.count() as u8;
        // In a row: one that was healthy in between has undone those before it.
        if settings.fall.of == settings.fall.count && self.passes > 0 { 0 } else { failed }
    }

    fn rise(&mut self) {
        self.fit = true;
        self.returning = false;
        self.was_out = false;
        self.begin_anew();
    }

    pub(super) fn fall(&mut self, now: Instant) {
        self.fit = false;
        self.fell_at = now;
        self.begin_anew();
    }

    /// What was seen so far is no ground to move it any more.
    pub(super) const fn begin_anew(&mut self) {
        self.falling = false;
        self.evidence = 0;
        self.passes = 0;
    }

    /// Silence counts from now on.
    pub(super) fn forgive_silence(&mut self, now: Instant) {
        if !self.agent.silent {
            self.agent.at = self.agent.at.max(now);
        }
    }

    pub(super) fn hear_agent(
        &mut self,
        load: Option<u8>,
        failed: bool,
        busy: Option<Busy>,
        now: Instant,
    ) {
        let load = load.map(|load| load.min(100));
        self.agent = Agent { at: now, heard: true, load, failed, silent: false };
        self.busy = match (busy, load) {
            (Some(busy), Some(load)) if load >= busy.from => true,
            (Some(busy), Some(load)) if load >= busy.until => self.busy,
            _ => false,
        };
    }

    /// Since when an agent's silence counts, if it does.
    pub(super) const fn heard_agent(&self, required: bool) -> Option<Instant> {
        if (self.agent.heard || required) && !self.agent.silent {
            Some(self.agent.at)
        } else {
            None
        }
    }

    pub(super) fn fall_silent(&mut self) {
        self.agent.silent = true;
        self.busy = false;
    }

    pub(super) fn drain(&mut self, until: Option<Instant>, cut_at: Option<Instant>) {
        // One that has cut already does so again only where another time for it is said.
        let done = self.drain.filter(|drain| drain.has_cut && cut_at.is_none());
        let cut_at = cut_at.or(done.and_then(|done| done.cut_at));
        self.drain = Some(Drain { until, cut_at, has_cut: done.is_some() });
    }

    /// Whether its connections are to be cut now, in the middle of its drain.
    pub(super) fn cut_is_due(&mut self, now: Instant) -> bool {
        match &mut self.drain {
            Some(drain) if drain.cut_at.is_some_and(|at| at <= now) => {
                !core::mem::replace(&mut drain.has_cut, true)
            }
            _ => false,
        }
    }

    /// Whether its drain is over, and if so whether its connections have been cut.
    pub(super) fn drain_has_ended(&self, now: Instant) -> Option<bool> {
        let drain = self.drain?;
        drain.until.is_some_and(|until| until <= now).then_some(drain.has_cut)
    }

    /// Its drain is over: it is in again once its checks have passed.
    pub(super) fn return_to_work(&mut self) {
        self.drain = None;
        self.fit = false;
        self.returning = true;
        self.was_out = false;
        self.seen = true;
        self.falling = false;
        self.evidence = 0;
        self.passes = 0;
    }
}

//! A monitor's shadow: the same engine, fed the same events on the board, and compared (L10).
//!
//! The host says every event that a monitor of its own is fed, and after each cycle how that
//! monitor stands. The board feeds the events to a monitor of the same policy and capacity, and
//! compares. Only what a fault of the host would change is compared: tickets and generations
//! count from where the shadow began.
//!
//! A shadow begins where there is nothing to tell: behind a healthy cycle, with nothing remembered
//! and nothing under way, where a monitor that has just had its first stands as the original does.

use crate::bytes::{Crc32, Put, Take};
use crate::failure::{Failure, ProbeResult};
use crate::history::{FailureSlots, History, InstantSlots};
use crate::monitor::{Event, Holder, Monitor, Ticket};
use crate::policy::{
    Capacity, Delays, Destination, FailoverMode, Limits, Policy, PolicySlot, Scope,
};
use crate::time::{Instant, Span};
use crate::weight::Weight;

/// At most so many services are shadowed.
pub const MOST: usize = 4;

/// A difference is a failure of the host when it has lasted so many cycles.
const LASTS: u8 = 2;

/// Where tickets and generations begin to count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Base {
    tickets: u32,
    generation: u32,
}

/// A monitor that has a shadow elsewhere; the host keeps one beside each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original {
    base: Base,
}

impl Original {
    /// Begins a shadow of `monitor`, which has had a healthy cycle at `now`, if there is nothing of
    /// it to tell.
    pub fn begin<F: FailureSlots, R: InstantSlots, P: PolicySlot>(
        monitor: &Monitor<F, R, P>,
        now: Instant,
    ) -> Option<Self> {
        let history = monitor.history();
        let empty = history.failure_sum() == 0 && history.restarts() == 0 && history.starts() == 0;
        let next = now.after(monitor.policy().limits().thorough_probe_interval);
        let calm = monitor.standing().is_calm(now) && monitor.poll_timeout() == Some(next);
        // One that has just begun is in its first generation, and has made one ticket.
        let generation = monitor.generation().wrapping_sub(1);
        let tickets = monitor.standing().tickets().wrapping_sub(1);
        (empty && calm).then_some(Self { base: Base { tickets, generation } })
    }

    /// The event as the shadow is to be fed it; `None` where the shadow ends with it: another
    /// policy, or another beginning.
    #[must_use]
    pub fn event(&self, event: &Event) -> Option<Event> {
        let theirs = |ticket: Ticket| Ticket(ticket.0.wrapping_sub(self.base.tickets));
        Some(match *event {
            Event::SetPolicy(_) | Event::Begin { .. } => return None,
            Event::Probed { ticket, result } => Event::Probed { ticket: theirs(ticket), result },
            Event::RestartDone { ticket, outcome } => {
                Event::RestartDone { ticket: theirs(ticket), outcome }
            }
            Event::GiveoverDone { ticket, outcome } => {
                Event::GiveoverDone { ticket: theirs(ticket), outcome }
            }
            other => other,
        })
    }

    /// How the monitor stands, as its shadow should.
    pub fn digest<F: FailureSlots, R: InstantSlots, P: PolicySlot>(
        &self,
        monitor: &Monitor<F, R, P>,
    ) -> u32 {
        digest(monitor, self.base)
    }
}

/// How a monitor stands, in four bytes: status, what is remembered and what is under way.
fn digest<F: FailureSlots, R: InstantSlots, P: PolicySlot>(
    monitor: &Monitor<F, R, P>,
    base: Base,
) -> u32 {
    let mut crc = Crc32::NEW;
    let mut bytes = |bytes: &[u8]| bytes.iter().for_each(|byte| crc.byte(*byte));
    let history = monitor.history();
    bytes(&[monitor.status() as u8, monitor.message() as u8, u8::from(monitor.is_dead())]);
    for holder in Holder::ALL {
        bytes(&[u8::from(monitor.held_by(holder))]);
    }
    for number in [history.failure_sum(), history.restarts(), history.starts()] {
        bytes(&number.to_le_bytes());
    }
    bytes(&monitor.generation().wrapping_sub(base.generation).to_le_bytes());
    bytes(&monitor.standing().tickets().wrapping_sub(base.tickets).to_le_bytes());
    let due = monitor.poll_timeout().map_or(u64::MAX, Instant::as_millis);
    bytes(&due.to_le_bytes());
    crc.value()
}

/// The board's half.
#[derive(Clone, Debug)]
pub struct Shadow<F, R> {
    service: u8,
    monitor: Monitor<F, R>,
    differs: u8,
}

impl<F, R> Shadow<F, R>
where
    F: AsRef<[Failure]> + AsMut<[Failure]>,
    R: AsRef<[Instant]> + AsMut<[Instant]>,
{
    /// A shadow of this service's monitor; [`Shadow::begin`] begins it. `None` where `history` is
    /// too small for the policy.
    #[must_use]
    pub fn new(service: u8, policy: Policy, history: History<F, R>, at: Instant) -> Option<Self> {
        Some(Self { service, monitor: Monitor::new(policy, history, at).ok()?, differs: 0 })
    }

    /// The original has had a healthy cycle at `at`, a time of the host's line.
    #[inline(never)]
    pub fn begin(&mut self, at: Instant) {
        let probed = Event::Probed { ticket: Ticket(1), result: ProbeResult::Healthy };
        let begin = Event::Begin { first: Span::ZERO, started: false };
        for event in [begin, Event::Timeout, probed] {
            let _ = self.monitor.handle(event, at); // what it would do is the host's to do
        }
    }

    /// The original was fed this.
    #[inline(never)]
    pub fn feed(&mut self, event: Event, at: Instant) {
        let _ = self.monitor.handle(event, at); // as above
    }

    /// After a cycle: the original stands so. Whether they have differed for as long as makes a
    /// failure of the host.
    pub fn compare(&mut self, original: u32) -> bool {
        if digest(&self.monitor, Base::default()) == original {
            self.differs = 0;
            return false;
        }
        self.differs = self.differs.saturating_add(1);
        let lasted = self.differs >= LASTS;
        if lasted {
            self.differs = 0;
        }
        lasted
    }
}

/// A policy in a fixed layout, for the wire.
///
/// # Units
/// [`PolicyBytes::LEN`] bytes, little-endian: the six spans in the order of [`Limits`], the count
/// (all ones for none), the number of waits and the waits, mode, smallest and heaviest weight
/// (zero for none), deaths, destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyBytes(pub [u8; Self::LEN]);

impl PolicyBytes {
    /// How long it is.
    pub const LEN: usize = 6 * 4 + 2 + 1 + 4 * Delays::MOST + 5;

    /// The bytes of a policy.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let (limits, scope) = (policy.limits(), policy.scope());
        let mut bytes = [0; Self::LEN];
        let mut out = Put::new(&mut bytes);
        for span in [
            limits.thorough_probe_interval,
            limits.probe_timeout,
            limits.retry_interval,
            limits.start_timeout,
            limits.stop_timeout,
            limits.start_grace,
        ] {
            out.span(span);
        }
        out.u16(limits.retry_count.unwrap_or(u16::MAX));
        out.u8(limits.restart_delay.len() as u8);
        let waits = limits.restart_delay.iter().chain(core::iter::repeat(Span::ZERO));
        waits.take(Delays::MOST).for_each(|wait| out.span(wait));
        out.u8(limits.failover_mode as u8);
        out.u8(scope.smallest.value());
        out.u8(scope.heaviest.map_or(0, Weight::value));
        out.u8(u8::from(scope.deaths));
        out.u8(scope.destination as u8);
        Self(bytes)
    }

    /// The policy of the bytes; `None` where they are none. That it can work the host has
    /// checked; what it needs of room is checked by [`Shadow::begin`].
    #[must_use]
    pub fn policy(&self) -> Option<Policy> {
        let mut from = Take::new(&self.0);
        let mut spans = [Span::ZERO; 6];
        spans.iter_mut().for_each(|span| *span = from.span());
        let [interval, timeout, window, start, stop, grace] = spans;
        let count = from.u16();
        let waits = usize::from(from.u8());
        let mut delays = [Span::ZERO; Delays::MOST];
        delays.iter_mut().for_each(|wait| *wait = from.span());
        let mode = usize::from(from.u8());
        let (smallest, heaviest) = (Weight::new(from.u8())?, from.u8());
        let deaths = from.bool();
        let destination = match from.u8() {
            0 => Destination::Nobody,
            1 => Destination::Elsewhere,
            2 => Destination::Board,
            _ => return None,
        };
        let limits = Limits {
            thorough_probe_interval: interval,
            probe_timeout: timeout,
            retry_count: Some(count).filter(|count| *count != u16::MAX),
            retry_interval: window,
            start_timeout: start,
            stop_timeout: stop,
            start_grace: grace,
            restart_delay: Delays::new(delays.get(..waits)?)?,
            failover_mode: *FailoverMode::ALL.get(mode)?,
        };
        let heaviest = if heaviest == 0 { None } else { Some(Weight::new(heaviest)?) };
        let scope = Scope { smallest, heaviest, deaths, destination };
        from.end(Policy::known(limits, scope))
    }
}

/// What a board's shadow holds at most; a service that needs more has none.
pub const CAPACITY: Capacity = Capacity { failures: 16, restarts: 8, starts: 8 };

/// A shadow with that much room.
pub type OnBoard = Shadow<[Failure; 16], [Instant; 8]>;

/// A place for one. Its empty form is all zeros, so that a board's places take no flash.
#[derive(Debug)]
#[repr(u8)]
#[expect(clippy::large_enum_variant, reason = "there is no box to put it into")]
enum Slot {
    Empty = 0,
    Taken(OnBoard) = 1,
}

/// The shadows of a board, and the policy that is on its way for the next.
#[derive(Debug)]
pub struct Shadows {
    slots: [Slot; MOST],
    policy: PolicyBytes,
}

impl Shadows {
    /// None.
    pub const NONE: Self =
        Self { slots: [const { Slot::Empty }; MOST], policy: PolicyBytes([0; PolicyBytes::LEN]) };

    /// A piece of the next one's policy, to stand at this place of it. False where it is none.
    pub fn take_piece(&mut self, at: u8, bytes: &[u8]) -> bool {
        let from = usize::from(at);
        let to = from.saturating_add(bytes.len());
        match self.policy.0.get_mut(from..to) {
            Some(place) => {
                place.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
                true
            }
            None => false,
        }
    }

    /// Begins a shadow with the policy that has come, in the place of an earlier one of the same
    /// service. False where there is no room for it, or the policy is none.
    pub fn begin(&mut self, service: u8, at: Instant) -> bool {
        self.make(service, at) && {
            if let Some(shadow) = self.of(service) {
                shadow.begin(at);
            }
            true
        }
    }

    /// It stands apart because the stack is small.
    #[inline(never)]
    fn make(&mut self, service: u8, at: Instant) -> bool {
        let Some(policy) = self.policy.policy() else { return false };
        let taken = self.slots.iter().position(|slot| slot.service() == Some(service));
        let place = taken.or_else(|| self.slots.iter().position(|slot| slot.service().is_none()));
        let Some(slot) = place.and_then(|place| self.slots.get_mut(place)) else { return false };
        let never = Instant::from_millis(0);
        let history = History::new([Failure::BLANK; 16], [never; 8], [never; 8]);
        *slot = Shadow::new(service, policy, history, at).map_or(Slot::Empty, Slot::Taken);
        matches!(slot, Slot::Taken(_))
    }

    /// The original of this service was fed this. False where it has no shadow.
    pub fn feed(&mut self, service: u8, event: Event, at: Instant) -> bool {
        let shadow = self.of(service);
        let known = shadow.is_some();
        if let Some(shadow) = shadow {
            shadow.feed(event, at);
        }
        known
    }

    /// The original of this service stands so, after a cycle. Whether it has differed for long
    /// enough; `None` where it has no shadow.
    pub fn compare(&mut self, service: u8, original: u32) -> Option<bool> {
        self.of(service).map(|shadow| shadow.compare(original))
    }

    /// All of them end: the connection did, and what came on it last nobody knows.
    pub fn end_all(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = Slot::Empty);
    }

    fn of(&mut self, service: u8) -> Option<&mut OnBoard> {
        self.slots.iter_mut().find_map(|slot| match slot {
            Slot::Taken(shadow) if shadow.service == service => Some(shadow),
            Slot::Taken(_) | Slot::Empty => None,
        })
    }
}

impl Slot {
    const fn service(&self) -> Option<u8> {
        match self {
            Self::Taken(shadow) => Some(shadow.service),
            Self::Empty => None,
        }
    }
}

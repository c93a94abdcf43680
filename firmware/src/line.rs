//! The host's reset line: released in every state but one, and in that one not for long.

use core::fmt;

use embedded_hal::digital::{OutputPin, PinState};
use giveover_core::monitor::Ticket;
use giveover_core::time::{Instant, Span};

/// How the pin moves the line, which at the host's connector is open drain and active low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wiring {
    /// A transistor between them: the pin is high to hold the line.
    Inverted,
    /// The pin itself, open drain or driven by its direction: low to hold the line.
    Direct,
}

impl Wiring {
    /// The pin's level while the line is released.
    #[must_use]
    pub const fn released(self) -> PinState {
        match self {
            Self::Inverted => PinState::Low,
            Self::Direct => PinState::High,
        }
    }

    /// The pin's level while the line is held.
    #[must_use]
    pub const fn held(self) -> PinState {
        match self {
            Self::Inverted => PinState::High,
            Self::Direct => PinState::Low,
        }
    }
}

/// How long a pulse is, and how far pulses are apart. What is out of range is refused, never cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    pulse: Span,
    boot_grace: Span,
}

impl Timing {
    /// The shortest pulse every host takes for one.
    pub const SHORTEST: Span = Span::from_millis(50);
    /// The longest the line is held, whatever else fails.
    pub const LONGEST: Span = Span::from_millis(1000);
    /// The pulse unless another is written.
    pub const PULSE: Span = Span::from_millis(250);
    /// After power-up nothing is pulled for this long.
    pub const HOLD_OFF: Span = Span::from_secs(2);

    /// What holds where nothing else is known.
    pub const USUAL: Self = Self { pulse: Self::PULSE, boot_grace: Span::from_secs(600) };

    /// A pulse of `pulse`, and `boot_grace` from its end to the next.
    ///
    /// # Errors
    /// [`TimingError`]; nothing is made.
    pub const fn new(pulse: Span, boot_grace: Span) -> Result<Self, TimingError> {
        let ms = pulse.as_millis();
        if ms < Self::SHORTEST.as_millis() || ms > Self::LONGEST.as_millis() {
            return Err(TimingError::Pulse);
        }
        if boot_grace.as_millis() < Self::HOLD_OFF.as_millis() {
            return Err(TimingError::BootGrace);
        }
        Ok(Self { pulse, boot_grace })
    }
}

/// Timing that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingError {
    /// The pulse is not 50 to 1000 ms long.
    Pulse,
    /// The grace for booting is below the two seconds after a power-up.
    BootGrace,
}

impl fmt::Display for TimingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pulse => write!(f, "a pulse lasts 50 to 1000 ms"),
            Self::BootGrace => write!(f, "boot_grace is at least 2 s"),
        }
    }
}

/// Why the board has just started, and the newest pulse its durable records know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Board and host were powered up together.
    PowerUp {
        /// So that no ticket is served twice.
        last: Option<Ticket>,
    },
    /// The board alone was reset: a host that it reset before may still be booting.
    BoardReset {
        /// If there is one, a new grace begins.
        last: Option<Ticket>,
    },
}

/// Why a pulse is refused. The line did not move, and the ticket can be served later, unless it
/// was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// This ticket, or a later one, has had its pulse.
    Served,
    /// A pulse is under way.
    Pulsing,
    /// Too soon after a power-up or the last pulse.
    TooSoon {
        /// The earliest time.
        until: Instant,
    },
}

/// A pulse under way, and the two mechanisms that end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pulse {
    /// The first, by the clock.
    until: Instant,
    /// The second, counted down by the periodic timer whether the clock goes on or not.
    left_ms: u32,
}

/// The reset line of the host.
///
/// One cause, one pulse: it is asked with the ticket of the core's restart, and no ticket has two.
/// The loop calls [`ResetLine::poll`], the periodic timer [`ResetLine::count_down`]; either ends
/// a pulse without the other. Every poll writes the level that belongs to the state, so that a
/// pin register which was upset is put right within one turn.
///
/// # Source
/// The incidents behind this module are boards that reset their host at power-up: an output
/// whose direction came before its level, a pin that floats in the bootloader.
#[derive(Debug)]
pub struct ResetLine<P> {
    pin: P,
    wiring: Wiring,
    timing: Timing,
    /// Nothing is pulled before.
    not_before: Instant,
    pulse: Option<Pulse>,
    last: Option<Ticket>,
    latest: Instant,
    pin_errors: u32,
}

impl<P: OutputPin> ResetLine<P> {
    /// The line of a board that has just started.
    ///
    /// The idle level comes first: `output` is given the level of the released line and makes the
    /// pin an output that has it from the first moment (for a port that cannot preset a level,
    /// one that drives by direction only). Nothing is written to the pin here: no edge.
    pub fn new(
        wiring: Wiring,
        output: impl FnOnce(PinState) -> P,
        timing: Timing,
        start: Start,
        now: Instant,
    ) -> Self {
        let (last, wait) = match start {
            Start::PowerUp { last } | Start::BoardReset { last: last @ None } => {
                (last, Timing::HOLD_OFF)
            }
            Start::BoardReset { last } => (last, timing.boot_grace),
        };
        Self {
            pin: output(wiring.released()),
            wiring,
            timing,
            not_before: now.after(wait),
            pulse: None,
            last,
            latest: now,
            pin_errors: 0,
        }
    }

    /// Begins the pulse of `ticket`.
    ///
    /// # Errors
    /// [`Refused`]; the line did not move.
    pub fn pulse(&mut self, ticket: Ticket, now: Instant) -> Result<(), Refused> {
        self.poll(now);
        let now = self.latest;
        if self.pulse.is_some() {
            return Err(Refused::Pulsing);
        }
        if self.last.is_some_and(|last| !is_newer(ticket, last)) {
            return Err(Refused::Served);
        }
        if now < self.not_before {
            return Err(Refused::TooSoon { until: self.not_before });
        }
        // A pin that fails may have moved: the pulse counts, and is not repeated.
        self.last = Some(ticket);
        let until = now.after(self.timing.pulse);
        self.pulse = Some(Pulse { until, left_ms: Timing::LONGEST.as_millis() });
        // From the latest end either mechanism allows: the loop may be stuck meanwhile.
        self.not_before = now.after(Timing::LONGEST).after(self.timing.boot_grace);
        self.write(self.wiring.held());
        Ok(())
    }

    /// Ends a pulse whose time is over, and puts the pin right in any state.
    pub fn poll(&mut self, now: Instant) {
        let now = self.clamp(now);
        if self.pulse.is_some_and(|pulse| now < pulse.until) {
            self.write(self.wiring.held());
        } else {
            self.end();
        }
    }

    /// The second mechanism: the periodic timer has gone on by `by`. After [`Timing::LONGEST`] of
    /// them together the pulse ends, whatever the clock says.
    pub fn count_down(&mut self, by: Span) {
        let Some(pulse) = &mut self.pulse else { return };
        pulse.left_ms = pulse.left_ms.saturating_sub(by.as_millis());
        if pulse.left_ms == 0 {
            self.end();
        }
    }

    /// Releases the line at once: for the handlers of faults and panics, and for a switch-off.
    /// A pulse under way is over.
    pub fn release(&mut self) {
        self.end();
    }

    /// When [`ResetLine::poll`] is wanted; never a time that has passed, though the pin refuses.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.pulse.map(|pulse| pulse.until.max(self.latest.after(Span::from_millis(1))))
    }

    /// Other timing, from the next pulse on. No edge, and no grace under way becomes shorter.
    pub fn set_timing(&mut self, timing: Timing) {
        self.timing = timing;
    }

    /// Whether a pulse is under way.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.pulse.is_some()
    }

    /// The newest ticket that had its pulse.
    #[must_use]
    pub const fn last(&self) -> Option<Ticket> {
        self.last
    }

    /// When the next pulse may begin.
    #[must_use]
    pub const fn not_before(&self) -> Instant {
        self.not_before
    }

    /// How often the pin did not take a level.
    #[must_use]
    pub const fn pin_errors(&self) -> u32 {
        self.pin_errors
    }

    /// The pulse is over only once the pin has taken the level; until then every poll and every
    /// count tries again.
    fn end(&mut self) {
        if self.write(self.wiring.released()) && self.pulse.take().is_some() {
            // A pin that refused made the pulse longer, and that must not shorten the grace.
            self.not_before = self.not_before.max(self.latest.after(self.timing.boot_grace));
        }
    }

    fn write(&mut self, level: PinState) -> bool {
        let written = self.pin.set_state(level).is_ok();
        if !written {
            self.pin_errors = self.pin_errors.saturating_add(1);
        }
        written
    }

    fn clamp(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.latest
    }
}

/// Tickets count up and wrap; of two, the newer is less than half the circle ahead.
const fn is_newer(ticket: Ticket, than: Ticket) -> bool {
    let ahead = ticket.0.wrapping_sub(than.0);
    ahead != 0 && ahead < 1 << 31
}

#[cfg(test)]
mod tests;

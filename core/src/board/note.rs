//! What the board writes down: its log, its counters, and how it stands.

use crate::time::Instant;

use super::words::{End, Refusal, Second, State, Why};

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Note {
    /// The board started.
    Started {
        /// Together with the host; else it was reset alone.
        power_up: bool,
    },
    /// It went over to this state.
    State(State),
    /// A feed came past 60 % of the time-out, this long after the one before, in ms.
    NearMiss(u32),
    /// An authentic feed was too early.
    Early,
    /// An authentic feed answered wrongly.
    Wrong,
    /// A pulse is wanted; its intent is being written.
    Intent {
        /// The pulse's number.
        ticket: u32,
        /// Why.
        why: Why,
    },
    /// The line was held and released again.
    Done {
        /// The pulse's number.
        ticket: u32,
    },
    /// A pulse was intended before the start of the board, and nobody saw its end: counted, and
    /// never repeated.
    Unproven {
        /// The pulse's number.
        ticket: u32,
    },
    /// The line did not take the pulse: counted, and never repeated.
    LineRefused {
        /// The pulse's number.
        ticket: u32,
    },
    /// The budget is spent or no pulse is possible: given over.
    GivenOver {
        /// What the last failure was.
        why: Why,
        /// What the second line does.
        second: Second,
    },
    /// A person forgot all resets.
    Cleared,
    /// The host booted well.
    Confirmed,
    /// The host wants to be guarded.
    Armed,
    /// Off for so many ms.
    Disarmed(u32),
    /// The host announced its end.
    End(End),
    /// The host may take so many ms for its next boot.
    Grace(u32),
    /// New settings were taken.
    Configured,
    /// Something asked for was refused.
    Refused(Refusal),
    /// The jumper was set or taken out.
    Jumper(bool),
    /// The host's supply came or went.
    HostPower(bool),
    /// The port came or went.
    Link(bool),
    /// The durable store failed to take a record.
    StoreFailed,
    /// The line was read back: low for so many ms while a pulse was made.
    ReadLow(u32),
}

/// A note with its number and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// Counts up from the start of the board; what is missing was lost.
    pub number: u32,
    /// Powered time.
    pub at: Instant,
    /// What.
    pub note: Note,
}

impl Entry {
    /// What unused storage is filled with; never read.
    pub const BLANK: Self = Self { number: 0, at: Instant::from_millis(0), note: Note::Cleared };
}

/// The newest `N` notes. The host reads them in order and says through which it has them.
///
/// Numbers count up by one, so that a number is a place: no ring could be smaller. `N` is a power
/// of two, so that finding it is no division.
// In this order because a Cortex-M0 reaches what is near by one instruction.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Log<const N: usize> {
    /// The oldest kept, and the next to come.
    oldest: u32,
    next: u32,
    lost: u32,
    entries: [Entry; N],
}

impl<const N: usize> Log<N> {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N.is_power_of_two()) }
        Self { entries: [Entry::BLANK; N], oldest: 1, next: 1, lost: 0 }
    }

    /// Writes a note down; the oldest goes where there is no room.
    pub fn add(&mut self, at: Instant, note: Note) {
        let number = self.next;
        if usize::from(self.len()) >= N {
            self.oldest = self.oldest.wrapping_add(1);
            self.lost = self.lost.saturating_add(1);
        }
        if let Some(place) = self.entries.get_mut(number as usize % N) {
            *place = Entry { number, at, note };
        }
        self.next = number.wrapping_add(1);
    }

    /// The oldest entry numbered `from` or later.
    #[must_use]
    pub fn read(&self, from: u32) -> Option<&Entry> {
        let number = from.max(self.oldest);
        if number < self.next { self.entries.get(number as usize % N) } else { None }
    }

    /// Forgets every entry up to and with number `through`: the host has them.
    pub fn flush(&mut self, through: u32) {
        // Not `clamp`, which can panic as far as a linker knows.
        self.oldest = through.saturating_add(1).max(self.oldest).min(self.next);
    }

    /// How many entries are kept.
    #[must_use]
    pub const fn len(&self) -> u16 {
        self.next.wrapping_sub(self.oldest) as u16
    }

    /// Whether none is kept.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.next == self.oldest
    }

    /// How many were lost for want of room.
    #[must_use]
    pub const fn lost(&self) -> u32 {
        self.lost
    }
}

impl<const N: usize> Default for Log<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// What the board has counted since it started; each stays at its largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counters {
    /// Feeds taken.
    pub feeds: u32,
    /// Feeds that came past 60 % of the time-out.
    pub near_misses: u32,
    /// The longest time between two feeds, in ms.
    pub longest_gap_ms: u32,
    /// Authentic feeds that were too early.
    pub early: u32,
    /// Authentic feeds that answered wrongly.
    pub wrong: u32,
    /// What was asked and refused.
    pub refused: u32,
    /// Records the store did not take.
    pub store_failures: u32,
    /// How often time went back.
    pub clock_went_back: u32,
}

/// The last pulse, and what came after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LastReset {
    /// Why.
    pub why: Why,
    /// How long ago its intent was written, in ms of powered time.
    pub ago_ms: u32,
    /// From the pulse to the first feed, in ms; `None` before it.
    pub up_after_ms: Option<u32>,
    /// From the pulse to the confirmed boot, in ms; `None` before it.
    pub confirmed_after_ms: Option<u32>,
}

/// How the board stands, for the host's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// Its state.
    pub state: State,
    /// Whether the host wants to be guarded.
    pub armed: bool,
    /// The jumper is set.
    pub jumper: bool,
    /// The host has power, as far as can be seen.
    pub host_power: bool,
    /// The store took the last record.
    pub store_ok: bool,
    /// How long this state lasts if nothing happens, in ms; `None` for ever.
    pub left_ms: Option<u32>,
    /// How long ago the last feed was, in ms; `None` if there was none since the start.
    pub fed_ago_ms: Option<u32>,
    /// Sum of the weights of live failures.
    pub failure_sum: u16,
    /// Resets in the window, or not yet followed by a confirmed boot.
    pub resets: u8,
    /// Resets ever.
    pub resets_ever: u32,
    /// While the line is held: what the last failure was.
    pub held: Option<Why>,
    /// The last reset.
    pub last: Option<LastReset>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn numbers<const N: usize>(log: &Log<N>) -> impl Iterator<Item = u32> + '_ {
        let mut from = 0;
        core::iter::from_fn(move || {
            let entry = log.read(from)?;
            assert_eq!(entry.at, at(u64::from(entry.number)));
            from = entry.number + 1;
            Some(entry.number)
        })
    }

    #[test]
    fn the_newest_notes_are_kept_and_what_is_lost_is_counted() {
        let mut log = Log::<4>::new();
        assert!(log.is_empty() && log.read(0).is_none());
        for number in 1..=6 {
            log.add(at(number), Note::Armed);
        }
        assert!(numbers(&log).eq([3, 4, 5, 6]));
        assert_eq!((log.len(), log.lost()), (4, 2));
        assert_eq!(log.read(5).map(|entry| entry.number), Some(5));
        assert_eq!(log.read(7), None);
        assert_eq!(log.read(u32::MAX), None);
    }

    #[test]
    fn what_the_host_has_is_forgotten_and_nothing_else() {
        let mut log = Log::<4>::new();
        for number in 1..=3 {
            log.add(at(number), Note::Armed);
        }
        log.flush(0);
        assert_eq!(log.len(), 3);
        log.flush(2);
        assert!(numbers(&log).eq([3]));
        log.flush(1);
        assert!(numbers(&log).eq([3]), "an old flush forgets nothing more");
        log.flush(u32::MAX);
        assert!(log.is_empty());
        log.add(at(4), Note::Armed);
        assert!(numbers(&log).eq([4]), "what comes later is kept");
        assert_eq!(log.lost(), 0);
    }
}

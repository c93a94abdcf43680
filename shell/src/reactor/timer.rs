//! What is due when.

use giveover_core::time::Instant;

use super::Token;

/// Timers of all rooms, and nothing but what is still to come: a timer that is not needed any
/// more is taken out at once.
///
/// Nearly every probe is answered long before its deadline. Were its timer left to run out, ten
/// thousand probes a second with ten seconds each would keep a hundred thousand dead entries,
/// and wake the loop for nothing. So the heap knows where each timer stands in it.
///
/// # Order
/// By time, and among equal times in the order they were armed.
#[derive(Default)]
pub struct Timers {
    heap: Vec<Node>,
    entries: Vec<Entry>,
    /// The first free entry, or one that there is not; each free one names the next.
    free: u32,
    /// Counts arms, so that equal times keep their order.
    armed: u32,
}

/// No entry.
const NONE: u32 = u32::MAX;

/// An armed timer, for taking it back.
///
/// One that has fired or was taken back means nothing any more; its number may serve another,
/// its generation does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    entry: u32,
    generation: u32,
}

#[derive(Clone, Copy)]
struct Node {
    at: Instant,
    order: u32,
    entry: u32,
}

impl Node {
    /// Orders of equal times are compared by their distance: the counter may wrap.
    fn before(self, other: Self) -> bool {
        self.at < other.at
            || self.at == other.at && (self.order.wrapping_sub(other.order) as i32) < 0
    }
}

struct Entry {
    token: Token,
    /// Odd while the timer is armed.
    generation: u32,
    /// Where in the heap while it is armed; the next free entry otherwise.
    place: u32,
}

impl Timers {
    /// No timers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many at once.
    pub fn reserve(&mut self, timers: usize) {
        self.heap.reserve(timers);
        self.entries.reserve(timers);
    }

    /// Wakes the owner of `token` once `at` has come. What is returned takes it back; whoever
    /// never does that need not keep it.
    pub fn arm(&mut self, token: Token, at: Instant) -> Timer {
        let place = self.heap.len() as u32;
        let timer = self.occupy(token, place);
        self.armed = self.armed.wrapping_add(1);
        self.heap.push(Node { at, order: self.armed, entry: timer.entry });
        self.rise(place as usize);
        timer
    }

    /// Takes a timer back; nothing if it has fired or was taken back already.
    pub fn disarm(&mut self, timer: Timer) {
        let Some(entry) = self.entries.get(timer.entry as usize) else { return };
        if entry.generation == timer.generation {
            self.remove(entry.place as usize);
        }
    }

    /// When the next timer is due.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.heap.first().map(|node| node.at)
    }

    /// Takes one timer that is due at `now`, the earliest first.
    pub fn pop_due(&mut self, now: Instant) -> Option<Token> {
        if self.next()? > now {
            return None;
        }
        self.remove(0)
    }

    /// How many timers are armed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if nothing is armed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    fn occupy(&mut self, token: Token, place: u32) -> Timer {
        if let Some(entry) = self.entries.get_mut(self.free as usize) {
            let number = std::mem::replace(&mut self.free, entry.place);
            entry.generation = entry.generation.wrapping_add(1);
            (entry.token, entry.place) = (token, place);
            return Timer { entry: number, generation: entry.generation };
        }
        self.free = NONE;
        self.entries.push(Entry { token, generation: 1, place });
        Timer { entry: self.entries.len() as u32 - 1, generation: 1 }
    }

    /// Takes the node at `place` out and lets the last one find its place from there.
    fn remove(&mut self, place: usize) -> Option<Token> {
        if place >= self.heap.len() {
            return None;
        }
        let node = self.heap.swap_remove(place);
        if place < self.heap.len() && self.rise(place) == place {
            self.sink(place);
        }
        let entry = &mut self.entries[node.entry as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.place = std::mem::replace(&mut self.free, node.entry);
        Some(entry.token)
    }

    /// Moves the node at `place` up while it is due before the one above; says where it ended.
    fn rise(&mut self, mut place: usize) -> usize {
        let node = self.heap[place];
        while place > 0 {
            let above = (place - 1) / 2;
            if !node.before(self.heap[above]) {
                break;
            }
            self.set(place, self.heap[above]);
            place = above;
        }
        self.set(place, node);
        place
    }

    /// Moves the node at `place` down while one below is due before it.
    fn sink(&mut self, mut place: usize) {
        let node = self.heap[place];
        loop {
            let mut below = 2 * place + 1;
            if below >= self.heap.len() {
                break;
            }
            if below + 1 < self.heap.len() && self.heap[below + 1].before(self.heap[below]) {
                below += 1;
            }
            if !self.heap[below].before(node) {
                break;
            }
            self.set(place, self.heap[below]);
            place = below;
        }
        self.set(place, node);
    }

    fn set(&mut self, place: usize, node: Node) {
        self.heap[place] = node;
        self.entries[node.entry as usize].place = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::Room;

    fn token(index: u32) -> Token {
        Token::new(Room::Daemon, index, 0)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn drain(timers: &mut Timers, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| timers.pop_due(at(now))).map(|token| token.index).collect()
    }

    #[test]
    fn nothing_is_due_before_its_time_and_the_earliest_comes_first() {
        let mut timers = Timers::new();
        for (index, ms) in [(1, 30), (2, 10), (3, 20)] {
            timers.arm(token(index), at(ms));
        }
        assert_eq!(timers.next(), Some(at(10)));
        assert!(drain(&mut timers, 9).is_empty());
        assert_eq!(drain(&mut timers, 20), [2, 3]);
        assert_eq!(drain(&mut timers, 30), [1]);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn equal_times_fire_in_the_order_they_were_armed_even_when_the_counter_wraps() {
        let mut timers = Timers { armed: u32::MAX - 2, ..Timers::new() };
        for index in 0..6 {
            timers.arm(token(index), at(5));
        }
        assert_eq!(drain(&mut timers, 5), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_timer_taken_back_is_gone_and_its_handle_never_takes_back_another() {
        let mut timers = Timers::new();
        let first = timers.arm(token(1), at(10));
        timers.disarm(first);
        assert!(timers.is_empty());
        timers.arm(token(2), at(10)); // in the same entry
        timers.disarm(first);
        assert_eq!(drain(&mut timers, 10), [2]);
        timers.disarm(first);
    }

    #[test]
    fn probes_that_end_early_leave_nothing_behind() {
        let mut timers = Timers::new();
        for n in 0..100_000 {
            let timer = timers.arm(token(n), at(u64::from(n) / 10 + 10_000));
            timers.disarm(timer);
        }
        assert_eq!((timers.len(), timers.entries.len()), (0, 1));
    }

    /// Against the plainest model there is: a sorted list.
    #[test]
    fn random_arms_and_disarms_agree_with_a_sorted_list() {
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = move |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        let mut timers = Timers::new();
        let mut model: Vec<(u64, u32, Timer)> = Vec::new(); // sorted by time, then arm order
        let mut now = 0;
        for n in 0..20_000 {
            match random(4) {
                0 | 1 => {
                    let due = now + random(100);
                    let timer = timers.arm(token(n), at(due));
                    let place = model.partition_point(|entry| entry.0 <= due);
                    model.insert(place, (due, n, timer));
                }
                2 if !model.is_empty() => {
                    let (_, _, timer) = model.remove(random(model.len() as u64) as usize);
                    timers.disarm(timer);
                }
                _ => {
                    now += random(20);
                    let due = model.partition_point(|entry| entry.0 <= now);
                    let expected: Vec<u32> = model.drain(..due).map(|entry| entry.1).collect();
                    assert_eq!(drain(&mut timers, now), expected);
                }
            }
            assert_eq!(timers.next(), model.first().map(|entry| at(entry.0)));
            assert_eq!(timers.len(), model.len());
        }
    }
}

//! What is due when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use giveover_core::time::Instant;

use super::Token;

/// Timers of all rooms. A timer is never cancelled: its owner arms another and knows from its
/// own deadline, or from the generation, that an old one means nothing.
#[derive(Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Instant, Token)>>,
}

impl Timers {
    /// No timers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes the owner of `token` once `at` has come.
    pub fn arm(&mut self, token: Token, at: Instant) {
        self.heap.push(Reverse((at, token)));
    }

    /// When the next timer is due.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes one timer that is due at `now`, the earliest first.
    pub fn pop_due(&mut self, now: Instant) -> Option<Token> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, token))| token)
    }
}

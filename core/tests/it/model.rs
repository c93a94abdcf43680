//! Ring and history against models that are too simple to be wrong.

use std::collections::VecDeque;

use giveover_core::failure::{Cause, Failure, Phase};
use giveover_core::history::History;
use giveover_core::ring::Ring;
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

use crate::random::Random;
use crate::script::ms;

/// A ring as a deque that is cut, and what the last clear forgot as far as it is not overwritten.
#[derive(Default)]
struct RingModel {
    items: VecDeque<u32>,
    cleared: VecDeque<u32>,
    /// Places taken since the clear, and not given back by taking the newest.
    extent: usize,
    lost: u32,
}

impl RingModel {
    fn push(&mut self, item: u32, capacity: usize) -> Option<u32> {
        self.items.push_back(item);
        let dropped = if self.items.len() > capacity { self.items.pop_front() } else { None };
        self.lost += u32::from(dropped.is_some());
        self.extent += 1;
        while self.cleared.len() + self.extent > capacity && !self.cleared.is_empty() {
            self.cleared.pop_front();
        }
        dropped
    }

    fn pop_newest(&mut self) -> Option<u32> {
        let newest = self.items.pop_back();
        self.extent -= usize::from(newest.is_some());
        newest
    }

    fn clear(&mut self) {
        if !self.items.is_empty() {
            self.cleared = std::mem::take(&mut self.items);
            self.extent = 0;
        }
    }
}

fn check(ring: &Ring<u32, Vec<u32>>, model: &RingModel) {
    assert!(ring.iter().eq(model.items.iter().copied()));
    assert!(ring.cleared().eq(model.cleared.iter().copied()));
    assert_eq!(usize::from(ring.len()), model.items.len());
    assert_eq!(ring.is_empty(), model.items.is_empty());
    assert_eq!(ring.oldest(), model.items.front().copied());
    assert_eq!(ring.newest(), model.items.back().copied());
    assert_eq!(ring.get(1), model.items.get(1).copied());
    assert_eq!(ring.get(ring.len()), None);
    assert_eq!(ring.lost(), model.lost);
}

#[test]
fn a_ring_is_a_deque_that_is_cut() {
    for capacity in [0, 1, 2, 3, 7, 99] {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let mut ring = Ring::new(vec![0; capacity]);
            let mut model = RingModel::default();
            for item in 1..400 {
                match random.below(14) {
                    0..=6 => assert_eq!(ring.push(item), model.push(item, capacity)),
                    7..=8 => assert_eq!(ring.pop_oldest(), model.items.pop_front()),
                    9 => assert_eq!(ring.pop_newest(), model.pop_newest()),
                    10..=11 => {
                        ring.clear();
                        model.clear();
                    }
                    12 if item % 3 == 0 => {
                        ring.pop_all();
                        model.items.clear();
                    }
                    _ => {
                        // Over and back through larger storage: nothing is lost.
                        ring = ring.moved_to(vec![0; 2 * capacity]).moved_to(vec![0; capacity]);
                        model.extent = model.items.len();
                    }
                }
                check(&ring, &model);
            }
        }
    }
}

#[test]
fn smaller_storage_keeps_the_newest_and_counts_the_rest() {
    for capacity in 0..6 {
        for len in 0..8u32 {
            let mut ring = Ring::new(vec![0; 5]);
            for item in 0..len {
                ring.push(item);
            }
            let moved = ring.moved_to(vec![0; capacity]);
            let kept = ring.len().min(capacity as u16);
            assert!(moved.iter().eq(len - u32::from(kept)..len));
            assert_eq!(moved.lost(), ring.lost() + u32::from(ring.len() - kept));
        }
    }
}

/// A history that keeps everything and looks at all of it every time.
#[derive(Default)]
struct Naive {
    failures: Vec<(Instant, u16)>,
    restarts: Vec<Instant>,
    starts: Vec<Instant>,
    total: u32,
}

impl Naive {
    fn age(&mut self, now: Instant, window: Span) {
        let live = |at: Instant| now.since(at) <= u64::from(window.as_millis());
        self.failures.retain(|(at, _)| live(*at));
        self.restarts.retain(|at| live(*at));
        self.starts.retain(|at| live(*at));
    }

    fn sum(&self) -> u16 {
        self.failures.iter().map(|(_, weight)| weight).sum()
    }
}

/// A1: what counts is exactly what is not older than the window, for any order of events.
#[test]
fn a_history_counts_exactly_what_is_not_older_than_the_window() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let window = Span::from_millis(random.pick(&[1, 50, 1_000]));
        let mut history =
            History::new(vec![Failure::BLANK; 512], vec![ms(0); 512], vec![ms(0); 512]);
        let mut naive = Naive::default();
        let mut now = ms(0);
        for _ in 0..250 {
            // Often exactly to the edge of some record.
            let edge = history.failures().next().map_or(now, |failure| failure.at).after(window);
            now = match random.below(8) {
                0 => now.max(edge),
                1 => now.max(edge.after(Span::from_millis(1))),
                2..=5 => now,
                _ => now.after(Span::from_millis(random.below(80) as u32)),
            };
            let tally = history.tally(now, window);
            naive.age(now, window);
            history.age(now, window);
            match random.below(12) {
                0..=5 => {
                    let weight = Weight::new(1 + random.below(100) as u8).expect("a weight");
                    history.add_failure(now, weight, Cause::new(Phase::Answer, 0));
                    naive.failures.push((now, u16::from(weight.value())));
                    naive.total += 1;
                }
                6 => {
                    history.add_restart(now);
                    naive.restarts.push(now);
                }
                7 => {
                    history.add_start(now);
                    naive.starts.push(now);
                }
                8 => {
                    history.take_back_restart();
                    naive.restarts.pop();
                }
                9 => {
                    history.spend_failures();
                    naive.failures.clear();
                }
                10 if random.percent(20) => {
                    history.clear();
                    naive.failures.clear();
                    naive.restarts.clear();
                }
                _ => {
                    assert_eq!(usize::from(tally.failures), naive.failures.len());
                    assert_eq!(usize::from(tally.restarts), naive.restarts.len());
                    assert_eq!(tally.failure_sum, naive.sum(), "without ageing it first");
                }
            }
            assert_eq!(history.failure_sum(), naive.sum(), "seed {seed}");
            assert!(history.failures().map(|f| f.at).eq(naive.failures.iter().map(|f| f.0)));
            assert!(history.restart_times().eq(naive.restarts.iter().copied()));
            assert!(history.start_times().eq(naive.starts.iter().copied()));
            assert_eq!(history.total(Phase::Answer), naive.total);
        }
        assert_eq!(history.lost(), (0, 0, 0));
    }
}

//! Sees, every few milliseconds, which of several hosts' kernels have an address.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::ifaddrs::getifaddrs;

use crate::lan::Lan;

/// When a host had it: first and last seen.
type Spans = Vec<(Instant, Instant)>;

/// The auditor of one address. It looks until it is dropped.
pub struct Audit {
    seen: Arc<Mutex<Vec<Spans>>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Audit {
    /// Looks for `address` on `hosts`, which have their places in this order.
    ///
    /// # Panics
    /// There is no such host.
    #[must_use]
    pub fn new(lan: &Lan, hosts: &[&'static str], address: &'static str) -> Self {
        let seen = Arc::new(Mutex::new(vec![Spans::new(); hosts.len()]));
        let over = Arc::new(AtomicBool::new(false));
        let look = |(place, host): (usize, &&'static str)| {
            let enter = lan.door(host);
            let (seen, over) = (Arc::clone(&seen), Arc::clone(&over));
            std::thread::spawn(move || {
                enter();
                look_at(address, place, &seen, &over);
            })
        };
        let threads = hosts.iter().enumerate().map(look).collect();
        Self { seen, over, threads }
    }

    fn seen(&self) -> MutexGuard<'_, Vec<Spans>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When a place's kernel first had the address after `since`, or that it has had it since before;
    /// `None` where it has not.
    #[must_use]
    pub fn held_since(&self, place: usize, since: Instant) -> Option<Instant> {
        let seen = self.seen();
        let spans = seen.get(place)?.iter();
        spans.filter(|(_, to)| *to >= since).map(|(from, _)| (*from).max(since)).next()
    }

    /// How long two had the address at once, as far as was seen.
    #[must_use]
    pub fn overlap(&self) -> Duration {
        let seen = self.seen();
        let mut overlap = Duration::ZERO;
        for (place, first) in seen.iter().enumerate() {
            for second in seen.iter().skip(place + 1) {
                for (from, to) in first {
                    for (begin, end) in second {
                        overlap += (*to.min(end)).saturating_duration_since(*from.max(begin));
                    }
                }
            }
        }
        overlap
    }

    /// How often the address has come up, on any.
    #[must_use]
    pub fn times_held(&self) -> usize {
        self.seen().iter().map(Vec::len).sum()
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn look_at(address: &str, place: usize, seen: &Mutex<Vec<Spans>>, over: &AtomicBool) {
    let mut had = false;
    while !over.load(Ordering::Relaxed) {
        // It was there at some time between these two: a thread that waits for its turn makes
        // nothing longer than it was.
        let before = Instant::now();
        let has = getifaddrs().expect("addresses").any(|it| {
            let found = it.address.and_then(|it| it.as_sockaddr_in().copied());
            found.is_some_and(|found| found.ip().to_string() == address)
        });
        let after = Instant::now();
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spans) = seen.get_mut(place) {
            match spans.last_mut() {
                Some(span) if has && had => span.1 = before.max(span.0),
                _ if has => spans.push((after, after)),
                _ => {}
            }
        }
        had = has;
        drop(seen);
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

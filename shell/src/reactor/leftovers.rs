//! What runs leave behind, looked for a little after they end.

use giveover_core::time::{Instant, Span};
use rustc_hash::FxHashMap;

use super::procfs::{self, Mark};
use super::{Instance, Reactor, Stuck, Timer, Token, Tree};

/// Runs that are over and may have left processes: those that called `setsid`, and so were not
/// killed with the run's group.
///
/// They are children of ours by now. One look asks every orphan for its mark, so it is shared
/// by all runs that ended within a moment, and costs a busy daemon next to nothing.
pub(super) struct Leftovers<K> {
    token: Token,
    /// Runs that ended since the last look.
    ended: FxHashMap<Instance, K>,
    /// When the next look is due.
    due: Option<(Instant, Timer)>,
    /// How many looks in a row have found something.
    found: u32,
}

impl<K: Clone> Leftovers<K> {
    /// Nothing to look for; `token` is that of its timer.
    pub(super) fn new(token: Token) -> Self {
        Self { token, ended: FxHashMap::default(), due: None, found: 0 }
    }

    /// A run is over; `held` if somebody still holds its output.
    pub(super) fn ended(
        &mut self,
        reactor: &mut Reactor,
        instance: Instance,
        key: K,
        held: bool,
        now: Instant,
    ) {
        self.ended.insert(instance, key);
        self.arm(reactor, if held { now } else { now.after(AFTER) });
    }

    /// True if there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.ended.is_empty()
    }

    /// Looks, and kills what is found. Says what cannot be killed.
    pub(super) fn look(&mut self, reactor: &mut Reactor, now: Instant) -> Vec<Stuck<K>> {
        self.due = None;
        let mut left = FxHashMap::default();
        for pid in reactor.children.orphans() {
            let Mark::Instance(instance) = procfs::mark(pid) else { continue };
            if let Some(key) = self.ended.get(&instance) {
                left.insert(instance, (key.clone(), pid));
            }
        }
        let mut stuck = Vec::new();
        self.found = if left.is_empty() { 0 } else { self.found + 1 };
        self.ended.clear();
        for (instance, (key, pid)) in left {
            let refused = Tree::new(instance).kill(&reactor.children).refused;
            if self.found < MOST {
                self.ended.insert(instance, key);
            } else {
                stuck.push(Stuck { key, pid, refused });
            }
        }
        if !self.ended.is_empty() {
            self.arm(reactor, now.after(AGAIN));
        }
        stuck
    }

    /// Lets the next look be at `at`, or sooner if that was so.
    fn arm(&mut self, reactor: &mut Reactor, at: Instant) {
        match self.due {
            Some((due, _)) if due <= at => return,
            Some((_, timer)) => reactor.timers.disarm(timer),
            None => {}
        }
        self.due = Some((at, reactor.timers.arm(self.token, at)));
    }
}

/// How long after the end of a run it is looked for what it left, if nothing speaks for any.
const AFTER: Span = Span::from_millis(250);
/// How long between looks while something is left.
const AGAIN: Span = Span::from_millis(20);
/// How many looks in a row may find something before it is given up.
const MOST: u32 = 100;

//! The disk the journal is on. What a daemon writes is in the kernel's hands: a daemon that is
//! killed loses nothing of it. What the disk itself does with it is another matter.

use std::sync::Arc;

use giveover_core::record::Entry;
use giveover_core::time::Instant;

use super::random::Random;
use crate::journal::{Memory, Recovered};
use crate::machine::BoxedMonitor;

/// The kernel has written everything down after so long.
const SETTLES: u64 = 1_000;

#[derive(Default)]
pub(super) struct Disk {
    memory: Memory,
    /// So many bytes are safe from a loss of power.
    safe: usize,
    /// Everything up to here was written by then; the kernel is at it.
    settling: Option<(u64, usize)>,
    /// Faults that cut the last write, lose what is written, or refuse it.
    pub(super) torn: u32,
    pub(super) losing: u32,
    pub(super) full: u32,
    /// What the disk lost since the last daemon came up.
    lost: bool,
    /// As much as a daemon will find.
    found: Option<usize>,
    pending: bool,
    begun: usize,
}

impl Disk {
    pub(super) fn begin<'m>(
        &mut self,
        now: Instant,
        machines: impl Iterator<Item = (u32, &'m Arc<str>, &'m BoxedMonitor)>,
    ) {
        self.memory.begin(now, machines);
        self.begun = self.memory.len();
        self.safe = self.begun; // a generation is synced before it takes the other's place
        self.settling = None;
        self.found = None;
        self.lost = false;
        self.pending = false;
    }

    pub(super) fn append(&mut self, entry: &Entry) {
        if self.full == 0 {
            self.memory.append(entry);
            self.pending = true;
        } else {
            self.lost = true;
        }
    }

    /// What was appended is written, all of it at once.
    pub(super) fn write(&mut self, now: u64) {
        if !std::mem::take(&mut self.pending) {
            return;
        }
        self.memory.write();
        match self.settling {
            Some((at, length)) if now.saturating_sub(at) >= SETTLES && self.losing == 0 => {
                self.safe = self.safe.max(length);
                self.settling = Some((now, self.memory.len()));
            }
            None => self.settling = Some((now, self.memory.len())),
            _ => {}
        }
    }

    /// The power goes: what the kernel had not written down yet is gone.
    pub(super) fn power_lost(&mut self, now: u64) {
        let settled = self.settling.filter(|(at, _)| now.saturating_sub(*at) >= SETTLES);
        if let (Some((_, length)), 0) = (settled, self.losing) {
            self.safe = self.safe.max(length);
        }
        self.found = Some(self.safe);
        self.lost |= self.safe < self.memory.len();
    }

    /// What a daemon finds that comes up now.
    pub(super) fn recover(&mut self, random: &mut Random) -> Recovered {
        let mut length = self.found.unwrap_or(self.memory.len());
        if self.torn > 0 && length > self.begun {
            // the last write, or some of those before it: any byte may be the last
            let tail = (length - self.begun).min(200) as u64;
            length -= random.below(tail + 1) as usize;
            self.lost |= length < self.memory.len();
        }
        self.memory.recover(length)
    }

    pub(super) const fn has_lost(&self) -> bool {
        self.lost
    }
}

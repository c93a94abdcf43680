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

/// Past so many entries another generation is begun.
const MOST: usize = 4_096;

#[derive(Default)]
pub(super) struct Disk {
    memory: Memory,
    /// So many entries are safe from a loss of power.
    safe: usize,
    /// Everything up to here was written by then; the kernel is at it.
    settling: Option<(u64, usize)>,
    /// Faults that cut the last write, lose what is written, or refuse it.
    pub(super) torn: u32,
    pub(super) losing: u32,
    pub(super) full: u32,
    /// What the disk lost since the last daemon came up.
    lost: bool,
    /// As many entries as a daemon will find.
    found: Option<usize>,
    pending: bool,
}

impl Disk {
    pub(super) fn begin<'m>(
        &mut self,
        now: Instant,
        machines: impl Iterator<Item = (u32, &'m Arc<str>, &'m BoxedMonitor)>,
    ) {
        self.memory.begin(now, machines);
        self.safe = 0; // a snapshot is synced before it takes the old one's place
        self.settling = None;
        self.found = None;
        self.lost = false;
        self.pending = false;
    }

    /// Whether another generation is to be begun. Not on a disk that fails just now.
    pub(super) fn is_full_of(&self) -> bool {
        self.memory.entries() > MOST && self.losing == 0 && self.full == 0 && !self.lost
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
            Some((at, entries)) if now.saturating_sub(at) >= SETTLES && self.losing == 0 => {
                self.safe = self.safe.max(entries);
                self.settling = Some((now, self.memory.entries()));
            }
            None => self.settling = Some((now, self.memory.entries())),
            _ => {}
        }
    }

    /// The power goes: what the kernel had not written down yet is gone.
    pub(super) fn power_lost(&mut self, now: u64) {
        let settled = self.settling.filter(|(at, _)| now.saturating_sub(*at) >= SETTLES);
        if let (Some((_, entries)), 0) = (settled, self.losing) {
            self.safe = self.safe.max(entries);
        }
        self.found = Some(self.safe);
        self.lost |= self.safe < self.memory.entries();
    }

    /// What a daemon finds that comes up now.
    pub(super) fn recover(&mut self, random: &mut Random) -> Recovered {
        let entries = self.found.unwrap_or(self.memory.entries());
        let torn = self.torn > 0;
        let mut lost = false;
        let recovered = self.memory.recover(entries, |bytes| {
            // the last write, or some of those before it: any byte may be the last
            let cut = if torn { random.below(bytes.min(200) as u64 + 1) as usize } else { 0 };
            lost = cut > 0;
            cut
        });
        self.lost |= lost;
        recovered
    }

    pub(super) const fn has_lost(&self) -> bool {
        self.lost
    }
}

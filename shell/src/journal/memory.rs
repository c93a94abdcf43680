//! A journal in memory: the same bytes, written and recovered by the same code, for worlds in which
//! disks tear and lose writes.

use std::sync::Arc;

use giveover_core::record::Entry;
use giveover_core::time::Instant;

use super::VERSION;
use super::compact::machine_entries;
use super::frame::Framer;
use super::item::{encode_entry, encode_note};
use super::load::Bytes;
use super::note::Note;
use super::place::Place;
use super::recover::{Recovered, recover_files};
use super::walk::Header;
use crate::machine::BoxedMonitor;

/// A journal's one generation: its entries, and bytes only once somebody reads them.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    snapshot: Framer,
    /// Each with whether a write ended with it.
    entries: Vec<(Entry, bool)>,
}

impl Memory {
    /// Begins with a snapshot of `machines`: each a number, a name, and the monitor.
    pub fn begin<'m>(
        &mut self,
        now: Instant,
        machines: impl Iterator<Item = (u32, &'m Arc<str>, &'m BoxedMonitor)>,
    ) {
        let mut records: Vec<Vec<u8>> = Vec::new();
        for (machine, name, monitor) in machines {
            records.push(encode_note(now, &Note::Named { machine, name: name.clone() }));
            machine_entries(now, machine, monitor, |entry| {
                encode_entry(&entry, |bytes| records.push(bytes.to_vec()));
            });
        }
        self.entries.clear();
        self.snapshot.clear();
        let snapshot = u32::try_from(records.len()).unwrap_or(u32::MAX);
        Header { version: VERSION, first: 1, snapshot }.write(&mut self.snapshot);
        records.iter().for_each(|record| self.snapshot.push(record));
        self.snapshot.seal();
    }

    /// Appends an entry to what is written at once.
    pub fn append(&mut self, entry: &Entry) {
        self.entries.push((*entry, false));
    }

    /// What was appended is written now, all of it or nothing.
    pub fn write(&mut self) {
        if let Some((_, ends)) = self.entries.last_mut() {
            *ends = true;
        }
    }

    /// How many entries there are behind the snapshot.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// What a daemon finds that comes up when only the first so many entries are there, less the
    /// last bytes that `cut` takes of as many as they are.
    #[must_use]
    pub fn recover(&self, entries: usize, cut: impl FnOnce(usize) -> usize) -> Recovered {
        let mut framer = self.snapshot.clone();
        let begun = framer.len();
        for (entry, ends) in self.entries.iter().take(entries) {
            encode_entry(entry, |bytes| framer.push(bytes));
            if *ends {
                framer.seal();
            }
        }
        framer.seal();
        let cut = cut(framer.len() - begun);
        let mut found = framer.bytes().to_vec();
        found.truncate(found.len().saturating_sub(cut).max(begun));
        let place = Place::in_dir("/");
        let current = place.current();
        let read = move |path: &std::path::Path| match path == current {
            true => Bytes::Read(found.clone()),
            false => Bytes::Absent,
        };
        recover_files(&place, &read).0
    }
}

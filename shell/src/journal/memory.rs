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

/// The bytes of a journal's one generation.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    framer: Framer,
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
        self.framer.clear();
        let snapshot = u32::try_from(records.len()).unwrap_or(u32::MAX);
        Header { version: VERSION, first: 1, snapshot }.write(&mut self.framer);
        records.iter().for_each(|record| self.framer.push(record));
        self.framer.seal();
    }

    /// Appends an entry to what is written at once.
    pub fn append(&mut self, entry: &Entry) {
        encode_entry(entry, |bytes| self.framer.push(bytes));
    }

    /// What was appended is written now, all of it or nothing.
    pub fn write(&mut self) {
        self.framer.seal();
    }

    /// How many bytes are written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.framer.len()
    }

    /// Whether nothing is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.framer.is_empty()
    }

    /// What a daemon finds that comes up when only the first `length` bytes are there.
    #[must_use]
    pub fn recover(&self, length: usize) -> Recovered {
        let bytes = self.framer.bytes();
        let found = bytes.get(..length).unwrap_or(bytes).to_vec();
        let place = Place::in_dir("/");
        let current = place.current();
        let read = move |path: &std::path::Path| match path == current {
            true => Bytes::Read(found.clone()),
            false => Bytes::Absent,
        };
        recover_files(&place, &read).0
    }
}

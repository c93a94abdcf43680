//! One record of a journal, and its bytes.

use giveover_core::record::{DecodeError, Entry, MAX_BYTES};
use giveover_core::time::Instant;

use super::note::Note;

/// What a record holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// An event, an action, or a part of a snapshot of a machine.
    Entry(Entry),
    /// A note of the shell's.
    Note {
        /// When it was made.
        at: Instant,
        /// What it says.
        note: Note,
    },
}

/// Why bytes are no record. Nothing was read of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemError {
    /// Written by a newer version.
    Newer,
    /// Not what any version writes.
    Malformed,
}

/// First byte of a record: what follows.
const ENTRY: u8 = 1;
const NOTE: u8 = 2;

impl Item {
    /// When.
    #[must_use]
    pub fn at(&self) -> Instant {
        match self {
            Self::Entry(entry) => entry.at,
            Self::Note { at, .. } => *at,
        }
    }

    pub(super) fn decode(record: &[u8]) -> Result<Self, ItemError> {
        match record.split_first() {
            Some((&ENTRY, bytes)) => match Entry::decode(bytes) {
                Ok(entry) => Ok(Self::Entry(entry)),
                Err(DecodeError::Newer(_)) => Err(ItemError::Newer),
                Err(DecodeError::Empty | DecodeError::Malformed) => Err(ItemError::Malformed),
            },
            Some((&NOTE, bytes)) => match postcard::take_from_bytes(bytes) {
                Ok(((at, note), [])) => Ok(Self::Note { at, note }),
                _ => Err(ItemError::Malformed),
            },
            _ => Err(ItemError::Malformed),
        }
    }
}

/// Hands the record of `entry` to `take`.
pub(super) fn encode_entry(entry: &Entry, take: impl FnOnce(&[u8])) {
    let mut bytes = [0; MAX_BYTES + 1];
    let Some((tag, rest)) = bytes.split_first_mut() else { return };
    *tag = ENTRY;
    let Some(length) = entry.encode(rest) else {
        debug_assert!(false, "an entry is never longer than it may be");
        return;
    };
    if let Some(record) = bytes.get(..=length) {
        take(record);
    }
}

/// The record of a note.
pub(super) fn encode_note(at: Instant, note: &Note) -> Vec<u8> {
    match postcard::to_extend(&(at, note), vec![NOTE]) {
        Ok(record) => record,
        Err(error) => unreachable!("a vector takes every note: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use giveover_core::monitor::Event;
    use giveover_core::record::Body;

    #[test]
    fn notes_and_entries_are_read_back() {
        let at = Instant::from_millis(77);
        let note = Note::Text { machine: Some(3), event: "died".into(), text: "pid 8".into() };
        let item = Item::Note { at, note: note.clone() };
        assert_eq!(Item::decode(&encode_note(at, &note)), Ok(item));
        let entry = Entry { at, machine: 3, body: Body::Event(Event::Timeout) };
        let mut record = Vec::new();
        encode_entry(&entry, |bytes| record.extend_from_slice(bytes));
        assert_eq!(Item::decode(&record), Ok(Item::Entry(entry)));
    }

    #[test]
    fn other_bytes_are_no_record() {
        assert_eq!(Item::decode(&[]), Err(ItemError::Malformed));
        assert_eq!(Item::decode(&[9, 1, 2]), Err(ItemError::Malformed));
        assert_eq!(Item::decode(&[ENTRY]), Err(ItemError::Malformed));
        assert_eq!(Item::decode(&[ENTRY, 250]), Err(ItemError::Newer));
        let mut longer = encode_note(Instant::from_millis(1), &Note::Ended);
        longer.push(0);
        assert_eq!(Item::decode(&longer), Err(ItemError::Malformed));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text: Box<str> = "ä".repeat(Note::LONGEST_TEXT).into();
        let note = Note::Text { machine: None, event: "x".into(), text };
        let Note::Text { text, .. } = note.trim() else { panic!("another note") };
        assert_eq!(text.len(), Note::LONGEST_TEXT);
    }
}

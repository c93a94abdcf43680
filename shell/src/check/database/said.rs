//! What a database has to say, whoever it is and however it is spoken with.

/// What the bytes so far came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing yet.
    More,
    /// We are let in, and may ask.
    Ready,
    /// It has been looked at.
    Looked(Reading),
    /// A table was made, filled, changed and dropped; with the counters after that, where our own
    /// work moves them.
    Worked(Option<Box<str>>),
    /// It answered with an error.
    Failed(Complaint),
    /// What came is not of its protocol.
    Nonsense,
    /// We cannot go on: a code of [`crate::config::database::code`].
    Lack(u16),
}

/// What a look at it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// It is in recovery: nothing can be written.
    pub(super) reads_only: bool,
    /// Its counters, as a text: they have moved if it differs.
    pub(super) counters: Box<str>,
}

/// An error it answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// An SQLSTATE, or Oracle's number without zeros before it.
    pub(super) code: Box<str>,
    /// In its own words, fit for a screen.
    pub(super) text: String,
    /// The session is over with it.
    pub(super) over: bool,
}

/// A text fit for a screen: one line of it, without what moves a cursor.
pub(super) fn shown(text: &[u8]) -> String {
    let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    let text = String::from_utf8_lossy(line);
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(200).collect()
}

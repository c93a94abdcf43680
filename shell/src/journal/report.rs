//! What a recovery has to tell people: what was cut, set aside, lost, or decided otherwise.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use giveover_core::time::Instant;

use super::replay::Difference;
use super::walk::Lost;

/// Everything a recovery found that is not as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// There was no journal: this is the first run here.
    pub first_run: bool,
    /// The last write had been cut off; so much of it was there. Nothing that was acted on is
    /// in it.
    pub torn: Option<u64>,
    /// Files that are not used and kept.
    pub set_aside: Vec<SetAside>,
    /// The generation before was read instead; what came after this instant is lost.
    pub fell_back_to: Option<Instant>,
    /// The run before could not write its journal when it ended, so its last part is missing.
    pub unwritten: bool,
    /// Services whose histories could not be put together again.
    pub forgotten: Vec<Arc<str>>,
    /// Decisions that would be others now.
    pub differences: Vec<Difference>,
    /// How many more of those.
    pub more_differences: u64,
    /// Entries of machines that nobody had made.
    pub orphans: u64,
    /// Why the journal cannot be written, if it cannot: the run goes on in memory.
    pub unwritable: Option<String>,
}

/// A file that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// What it was called.
    pub from: PathBuf,
    /// What it is called now; `None` if it could not be renamed yet.
    pub to: Option<PathBuf>,
    /// Why it is not used.
    pub why: Why,
    /// What of it was not used.
    pub lost: Lost,
}

/// Why a file is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is nothing in it: the file system lost what was written.
    Empty,
    /// It is damaged from this byte on; what stands before was used if it could be.
    Damaged(u64),
    /// A newer version wrote it.
    Newer(u8),
    /// It could not be read; the system's error number.
    Unreadable(i32),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "empty"),
            Self::Damaged(at) => write!(f, "damaged at byte {at}"),
            Self::Newer(version) => write!(f, "written by a newer version (format {version})"),
            Self::Unreadable(errno) => {
                write!(f, "cannot be read: {}", std::io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

impl Report {
    /// Whether a part of the histories is missing. Until its first cycle a service must not be
    /// called healthy then.
    #[must_use]
    pub fn lost_history(&self) -> bool {
        !self.set_aside.is_empty()
            || self.fell_back_to.is_some()
            || self.unwritten
            || !self.forgotten.is_empty()
            || self.orphans > 0
    }

    /// Whether there is nothing to tell.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self::default() || *self == Self { first_run: true, ..Self::default() }
    }

    /// What to tell, a line each, worst first. `wall` writes an instant for people.
    pub fn lines(&self, wall: impl Fn(Instant) -> String) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.unwritable.iter().map(|why| {
            format!("the journal cannot be written, histories are kept in memory only: {why}")
        }));
        lines.extend(self.set_aside.iter().map(|file| file.line(&wall)));
        if let Some(at) = self.fell_back_to {
            let at = wall(at);
            lines.push(format!(
                "histories are those of {at}, from the journal before; what followed is lost"
            ));
        }
        if self.unwritten {
            lines.push(
                "the run before could not write its journal when it ended; its last part is lost"
                    .to_owned(),
            );
        }
        if !self.forgotten.is_empty() {
            lines.push(format!("histories lost of: {}", self.forgotten.join(", ")));
        }
        if self.orphans > 0 {
            lines.push(format!("{} entries belong to no service", self.orphans));
        }
        lines.extend(self.torn.map(|bytes| {
            format!("the last write was cut off ({bytes} bytes); nothing that was acted on is lost")
        }));
        if let Some(first) = self.differences.first() {
            let count = self.differences.len() as u64 + self.more_differences;
            lines.push(format!(
                "{count} decisions would be others now; the first is entry {}: written {:?}, \
                 decided {:?}",
                first.seq, first.written, first.decided
            ));
        }
        lines
    }
}

impl SetAside {
    fn line(&self, wall: &impl Fn(Instant) -> String) -> String {
        let from = self.from.display();
        let kept = match &self.to {
            Some(to) => format!("kept as {}", to.display()),
            None => "left where it is".to_owned(),
        };
        let mut line =
            format!("{from} is {}; {kept}, {} bytes not used", self.why, self.lost.bytes);
        if let (Some(from), Some(until)) = (self.lost.from, self.lost.until) {
            let (count, from, until) = (self.lost.records, wall(from), wall(until));
            line.push_str(&format!(", among them {count} records from {from} to {until}"));
        }
        line
    }
}

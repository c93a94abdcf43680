//! What a node must know after a crash: how often it started, and how it voted.
//!
//! One small file beside the journal, written anew beside the old one, synced and renamed: it is
//! whole or it is the one before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use giveover_core::node::Node;
use giveover_core::{peer, share};
use serde::{Deserialize, Serialize};

use super::promotion::Promotion;
use crate::clock::BootId;

/// The first line of the file; a later version's is not read half.
const FORM: u32 = 1;

/// A file is no longer than this.
const MOST: u64 = 64 << 10;

/// Why what is there cannot be used. It is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Written by a version that this one does not know.
    Form(u32),
    /// Not what we wrote.
    Damaged,
    /// The kernel's own.
    Os(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Form(form) => write!(f, "was written by a later version (form {form})"),
            Self::Damaged => f.write_str("is damaged: how this node voted is not known"),
            Self::Os(error) => f.write_str(error),
        }
    }
}

impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        Self::Os(error.to_string())
    }
}

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    form: u32,
    incarnation: u64,
    groups: Vec<(String, peer::Durable)>,
    /// What each group shares; files of before it have none.
    #[serde(default)]
    shared: Vec<(String, share::Durable)>,
    /// The newest promotion of each, where it has a command here.
    #[serde(default)]
    promotions: Vec<(String, Promotion)>,
    /// The recovery under way, and in which boot: its time is of that one.
    #[serde(default)]
    recoveries: Vec<(String, Recovery)>,
}

/// A recovery, and the boot whose time it is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Recovery {
    boot: Option<BootId>,
    lasting: share::Lasting,
}

/// A recovery that an earlier life left under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// In this boot.
    Lasts(share::Lasting),
    /// In another one, by this node: its time is lost, and so may be what refused connections.
    Lost(Node),
}

/// The file, and what it holds.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    kept: Kept,
}

impl Store {
    /// Opens the file `cluster` in `dir`, and counts this start: durably, before anything is said.
    /// `wall_ms` is people's time: a node that has lost its file is then still a later start.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(dir: &Path, wall_ms: u64) -> Result<Self, StoreError> {
        let path = dir.join("cluster");
        let mut kept = match read(&path) {
            Ok(bytes) => parse(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Kept::default(),
            Err(error) => return Err(error.into()),
        };
        kept.form = FORM;
        kept.incarnation = kept.incarnation.saturating_add(1).max(wall_ms).max(1);
        let store = Self { path, kept };
        store.write()?;
        Ok(store)
    }

    /// The number of this start.
    #[must_use]
    pub const fn incarnation(&self) -> u64 {
        self.kept.incarnation
    }

    /// How the group called `name` stood.
    #[must_use]
    pub fn group(&self, name: &str) -> peer::Durable {
        let found = self.kept.groups.iter().find(|(known, _)| known == name);
        found.map(|(_, durable)| *durable).unwrap_or_default()
    }

    /// Keeps how the group called `name` stands, durably.
    ///
    /// # Errors
    /// Those of the disk; what was kept before is kept still.
    pub fn keep(&mut self, name: &str, durable: peer::Durable) -> io::Result<()> {
        let before = self.kept.clone();
        put(&mut self.kept.groups, name, durable);
        self.write_or(before)
    }

    /// What the group called `name` shares.
    #[must_use]
    pub fn shared(&self, name: &str) -> share::Durable {
        let found = self.kept.shared.iter().find(|(known, _)| known == name);
        found.map(|(_, durable)| *durable).unwrap_or_default()
    }

    /// Keeps what the group called `name` shares, durably, and in the same write the promotion that
    /// is to be run for it.
    ///
    /// # Errors
    /// Those of the disk; what was kept before is kept still.
    pub fn keep_shared(
        &mut self,
        name: &str,
        durable: share::Durable,
        owed: Option<Promotion>,
    ) -> io::Result<()> {
        let before = self.kept.clone();
        put(&mut self.kept.shared, name, durable);
        if let Some(owed) = owed {
            put(&mut self.kept.promotions, name, owed);
        }
        self.write_or(before)
    }

    /// The newest promotion of the group called `name`, if it has a command here.
    #[must_use]
    pub fn promotion(&self, name: &str) -> Option<&Promotion> {
        self.kept.promotions.iter().find(|(known, _)| known == name).map(|(_, it)| it)
    }

    /// Keeps how far that promotion has come.
    ///
    /// # Errors
    /// Those of the disk; what was kept before is kept still.
    pub fn keep_promotion(&mut self, name: &str, promotion: Promotion) -> io::Result<()> {
        let before = self.kept.clone();
        put(&mut self.kept.promotions, name, promotion);
        self.write_or(before)
    }

    /// The recovery that an earlier life left under way in the group called `name`, asked in `boot`.
    #[must_use]
    pub fn recovery(&self, name: &str, boot: Option<BootId>) -> Option<Left> {
        let (_, kept) = self.kept.recoveries.iter().find(|(known, _)| known == name)?;
        Some(match boot.is_some() && kept.boot == boot {
            true => Left::Lasts(kept.lasting),
            false => Left::Lost(kept.lasting.by),
        })
    }

    /// Keeps the recovery under way in the group called `name`, or that there is none.
    ///
    /// # Errors
    /// Those of the disk; what was kept before is kept still.
    pub fn keep_recovery(
        &mut self,
        name: &str,
        boot: Option<BootId>,
        lasting: Option<share::Lasting>,
    ) -> io::Result<()> {
        let before = self.kept.clone();
        match lasting {
            Some(lasting) => put(&mut self.kept.recoveries, name, Recovery { boot, lasting }),
            None => self.kept.recoveries.retain(|(known, _)| known != name),
        }
        if self.kept == before { Ok(()) } else { self.write_or(before) }
    }

    fn write_or(&mut self, before: Kept) -> io::Result<()> {
        let written = self.write();
        if written.is_err() {
            self.kept = before;
        }
        written
    }

    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.kept).map_err(io::Error::other)?;
        let beside = self.path.with_extension("new");
        let mut file = File::create(&beside)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)?;
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
    }
}

fn put<T>(all: &mut Vec<(String, T)>, name: &str, durable: T) {
    match all.iter_mut().find(|(known, _)| known == name) {
        Some((_, kept)) => *kept = durable,
        None => all.push((name.to_owned(), durable)),
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Result<Kept, StoreError> {
    #[derive(Deserialize)]
    struct Head {
        form: u32,
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|_| StoreError::Damaged)?;
    if head.form != FORM {
        return Err(StoreError::Form(head.form));
    }
    serde_json::from_slice(bytes).map_err(|_| StoreError::Damaged)
}

#[cfg(test)]
mod tests {
    use giveover_core::node::Nodes;
    use giveover_core::peer::{Ballot, Durable};
    use giveover_core::share::{Lasting, Number, Pool};
    use giveover_core::time::Instant;

    use super::super::promotion::Stage;
    use super::*;

    #[test]
    fn starts_are_counted_and_votes_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = Store::open(dir.path(), 5000).expect("a store");
        assert_eq!((store.incarnation(), store.group("front")), (5000, Durable::default()));
        let durable = Durable { term: 7, ballot: Some(Ballot { term: 8, node: Node(1) }) };
        store.keep("front", durable).expect("kept");
        let number = Number { term: 7, n: 3 };
        let pool = Pool { detached: Nodes::only(Node(0)), primary: Some(Node(1)) };
        let shared = share::Durable { number, pool };
        store.keep_shared("front", shared, None).expect("kept");
        let again = Store::open(dir.path(), 4000).expect("a store");
        assert_eq!((again.incarnation(), again.group("front")), (5001, durable));
        assert_eq!(
            (again.shared("front"), again.shared("back")),
            (shared, share::Durable::default())
        );
    }

    #[test]
    fn a_promotion_and_a_recovery_outlive_a_start_and_a_recovery_no_boot() {
        let dir = tempfile::tempdir().expect("a directory");
        let boot = |digit: &str| BootId::parse(&digit.repeat(32));
        let mut store = Store::open(dir.path(), 1).expect("a store");
        assert_eq!((store.promotion("front"), store.recovery("front", boot("1"))), (None, None));
        let number = Number { term: 7, n: 3 };
        let owed = Promotion::owed(number, Node(1));
        let shared = share::Durable { number, pool: Pool::default() };
        store.keep_shared("front", shared, Some(owed.clone())).expect("kept");
        let (by, until) = (Node(1), Instant::from_millis(5000));
        let lasting = Lasting { by, until, waits_for: Nodes::NONE };
        store.keep_recovery("front", boot("1"), Some(lasting)).expect("kept");
        let mut store = Store::open(dir.path(), 1).expect("a store");
        assert_eq!(store.promotion("front"), Some(&owed));
        assert_eq!(store.recovery("front", boot("1")), Some(Left::Lasts(lasting)));
        for another in [boot("2"), None] {
            assert_eq!(store.recovery("front", another), Some(Left::Lost(by)));
        }
        // The next command that is no promotion leaves it as it is.
        store.keep_promotion("front", owed.at(Stage::Begun)).expect("kept");
        store.keep_shared("front", shared, None).expect("kept");
        store.keep_recovery("front", boot("1"), None).expect("kept");
        let store = Store::open(dir.path(), 1).expect("a store");
        assert_eq!(store.promotion("front"), Some(&owed.at(Stage::Begun)));
        assert_eq!(store.recovery("front", boot("1")), None);
    }

    #[test]
    fn a_file_from_before_anything_was_shared_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let text = "{\"form\":1,\"incarnation\":7,\"groups\":[]}";
        fs::write(dir.path().join("cluster"), text).expect("a file");
        let store = Store::open(dir.path(), 1).expect("a store");
        assert_eq!((store.incarnation(), store.shared("front")), (8, share::Durable::default()));
    }

    #[test]
    fn what_is_torn_or_of_a_later_version_is_said_and_left() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("cluster");
        let open = || Store::open(dir.path(), 1).expect_err("refused");
        fs::write(&path, "{\"form\":9,\"more\":1}").expect("a file");
        assert_eq!(open(), StoreError::Form(9));
        for text in ["", "{\"form\":1,\"incarnation\":1,\"gro", "{\"form\":1}"] {
            fs::write(&path, text).expect("a file");
            assert_eq!(open(), StoreError::Damaged, "{text}");
            assert_eq!(fs::read(&path).expect("as it was"), text.as_bytes());
        }
    }
}

//! The keys that heartbeats are signed with. Their files are read beside the loop, as they may lie
//! where nothing answers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use giveover_core::time::Instant;

use crate::check::agent::beat::Key;
use crate::key;
use crate::reactor::{Kept, Reactor};

/// Keys by the names of their files.
#[derive(Default)]
pub(super) struct Keys(BTreeMap<PathBuf, Kept<Result<Key, String>>>);

impl Keys {
    /// These are needed from now on, and each is read. What was read of it before stays until then.
    pub(super) fn need<'n>(
        &mut self,
        names: impl Iterator<Item = &'n Path>,
        reactor: &Reactor,
        now: Instant,
    ) {
        let mut before = std::mem::take(&mut self.0);
        for name in names {
            if !self.0.contains_key(name) {
                self.0.insert(name.to_owned(), before.remove(name).unwrap_or_default());
                self.ask(name, reactor, now);
            }
        }
        before.into_values().for_each(|mut kept| kept.let_go(reactor));
    }

    fn ask(&mut self, name: &Path, reactor: &Reactor, now: Instant) {
        let Some(kept) = self.0.get_mut(name) else { return };
        let path = name.to_owned();
        let reader = || move || key::of_name(&path).map(|secret| Key::new(&secret));
        if let Err(error) = kept.ask(reactor, "key", now, reader) {
            kept.set(Err(format!("{} {error}", name.display())));
        }
    }

    /// Has it read again if there was no key in it.
    pub(super) fn ask_again(&mut self, name: &Path, reactor: &Reactor, now: Instant) {
        if matches!(self.0.get(name).and_then(Kept::known), Some(Err(_))) {
            self.ask(name, reactor, now);
        }
    }

    /// The key, as it was read last.
    pub(super) fn key(&self, name: &Path) -> Option<&Key> {
        self.0.get(name)?.known()?.as_ref().ok()
    }

    /// Why there is none, in words; `None` too while it may still be read.
    pub(super) fn lacks(&self, name: &Path, now: Instant) -> Option<String> {
        let kept = self.0.get(name)?;
        match kept.known() {
            Some(Ok(_)) => None,
            Some(Err(why)) => Some(why.clone()),
            None => kept.hangs(now).then(|| format!("{} does not answer", name.display())),
        }
    }

    /// Whether heartbeats are to wait for it.
    pub(super) fn is_awaited(&self, name: &Path, now: Instant) -> bool {
        self.0.get(name).is_some_and(|kept| kept.is_awaited(now))
    }

    /// Takes what was read: the names, each with whether there is a key now where there was none.
    pub(super) fn hear(&mut self, reactor: &Reactor) -> Vec<(PathBuf, bool)> {
        let mut read = Vec::new();
        for (name, kept) in &mut self.0 {
            let had = matches!(kept.known(), Some(Ok(_)));
            if kept.hear() {
                kept.let_go(reactor); // once is enough, and it can begin again
                read.push((name.clone(), !had && matches!(kept.known(), Some(Ok(_)))));
            }
        }
        read
    }
}

//! Which board was here, and how often it had reset this host: kept beside the journal.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// What was known when it was last heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    path: PathBuf,
    known: Option<(u64, u32)>,
}

impl Memory {
    /// What the directory of this configuration has kept. A file that makes no sense is none: any
    /// board is then the first.
    pub(super) fn read(dir: &Path) -> Self {
        let path = dir.join("board");
        let known = fs::read_to_string(&path).ok().and_then(|text| {
            let (device, resets) = text.trim_end().split_once(' ')?;
            Some((u64::from_str_radix(device, 16).ok()?, resets.parse().ok()?))
        });
        Self { path, known }
    }

    /// The number of the board that was here.
    pub(super) fn device(&self) -> Option<u64> {
        self.known.map(|(device, _)| device)
    }

    /// Its resets, if it is the board of this number.
    pub(super) fn resets(&self, device: u64) -> Option<u32> {
        self.known.filter(|known| known.0 == device).map(|(_, resets)| resets)
    }

    /// Remembers both. A disk that refuses costs one line of the log after the next start.
    pub(super) fn remember(&mut self, device: u64, resets: u32) {
        self.known = Some((device, resets));
        let fresh = self.path.with_extension("new");
        let written = File::create(&fresh)
            .and_then(|mut file| file.write_all(format!("{device:016x} {resets}\n").as_bytes()))
            .and_then(|()| fs::rename(&fresh, &self.path));
        if written.is_err() {
            let _ = fs::remove_file(&fresh);
        }
    }

    /// Any board may come.
    pub(super) fn forget(&mut self) {
        self.known = None;
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_remembered_and_nonsense_is_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut memory = Memory::read(dir.path());
        assert_eq!(memory.device(), None);
        memory.remember(0x6614_04D3, 3);
        let again = Memory::read(dir.path());
        assert_eq!(again, memory);
        assert_eq!((again.resets(0x6614_04D3), again.resets(1)), (Some(3), None));
        for text in ["", "x", "12", "zz 1", "12 -1", "12 1 1", "\u{0}"] {
            fs::write(dir.path().join("board"), text).expect("a file");
            assert_eq!(Memory::read(dir.path()).device(), None, "{text:?}");
        }
        memory.forget();
        assert_eq!(Memory::read(dir.path()).device(), None);
    }
}

//! The key that host and board share.

use std::path::Path;

use giveover_core::wire::Key;

pub use crate::key::{KeyError, nonce, place};
use crate::key::{make_secret, read_secret};

/// Reads the key in the file at `path`. The open file is judged, not the name.
///
/// # Errors
/// [`KeyError`].
pub fn read(path: &Path) -> Result<Key, KeyError> {
    read_secret(path).map(|secret| Key::of_secret(&secret))
}

/// Makes a new key and the file for it, readable by its owner only, and durable before this
/// returns.
///
/// # Errors
/// [`KeyError`]; a file that was there is left as it was.
pub fn make(path: &Path) -> Result<Key, KeyError> {
    make_secret(path).map(|secret| Key::of_secret(&secret))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn with_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn a_key_that_was_made_is_read_and_belongs_to_its_owner_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("board.key");
        assert_eq!(read(&path), Err(KeyError::Absent));
        let made = make(&path).expect("a key");
        assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o7777, 0o400);
        assert_eq!(read(&path), Ok(made));
        assert_eq!(make(&path), Err(KeyError::Exists));
        assert_eq!(read(&path), Ok(made));
        assert_ne!(make(&dir.path().join("other")).expect("a key"), made);
        for mode in [0o440, 0o404, 0o420, 0o402, 0o644] {
            with_mode(&path, mode);
            assert_eq!(read(&path), Err(KeyError::Open(mode)));
        }
    }

    #[test]
    fn what_is_no_key_says_so_and_nothing_of_its_contents() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("board.key");
        let half = "ab".repeat(31);
        let twice = "ab".repeat(64);
        let signs = "+1".repeat(32);
        for text in ["", "\n", &half, &twice, &"zz".repeat(32), &signs] {
            let _ = fs::remove_file(&path);
            fs::write(&path, text).expect("a file");
            with_mode(&path, 0o400);
            assert_eq!(read(&path), Err(KeyError::Form), "{text:?}");
        }
        assert_eq!(read(dir.path()), Err(KeyError::NotAFile));
        let _ = fs::remove_file(&path);
        fs::write(&path, format!(" {}\r\n", "AB".repeat(32))).expect("a file");
        with_mode(&path, 0o600);
        assert_eq!(read(&path), Ok(Key::of_secret(&[0xAB; 32])));
        assert_eq!(place(&path).as_deref(), Ok(path.as_path()));
    }
}

//! The file with the key that host and board share: 32 random bytes as 64 hexadecimal digits.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use giveover_core::wire::Key;

/// A key file is no longer than this, with room for the end of its line.
const MOST: u64 = 80;

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// No such file.
    Absent,
    /// A directory, a device, anything but a file.
    NotAFile,
    /// Others than its owner may read or write it: these permissions.
    Open(u32),
    /// It belongs to this user, who is neither root nor we.
    Owner(u32),
    /// Not 64 hexadecimal digits.
    Form,
    /// It is there already and will not be written over.
    Exists,
    /// `CREDENTIALS_DIRECTORY` is not set, so a bare name means nothing.
    NoCredentials,
    /// The kernel's own, by number.
    Os(i32),
}

impl From<io::Error> for KeyError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Absent,
            io::ErrorKind::AlreadyExists => Self::Exists,
            _ => Self::Os(error.raw_os_error().unwrap_or(0)),
        }
    }
}

impl KeyError {
    /// The same of a key that is shared with others than the board.
    #[must_use]
    pub fn of_others(&self) -> String {
        match self {
            Self::Absent => "is not there; `openssl rand -hex 32` makes one".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("is not there; `giveover board pair` makes one"),
            Self::NotAFile => f.write_str("is no file"),
            Self::Open(mode) => {
                write!(f, "is open to others (mode {mode:04o}); chmod 0400 and make a new key")
            }
            Self::Owner(uid) => write!(f, "belongs to uid {uid}, neither root nor the daemon's"),
            Self::Form => f.write_str("is no key: 64 hexadecimal digits are wanted"),
            Self::Exists => f.write_str("is there already"),
            Self::NoCredentials => {
                f.write_str("is a bare name, and CREDENTIALS_DIRECTORY is not set")
            }
            Self::Os(errno) => {
                write!(f, "cannot be read: {}", io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

/// Where the key called `name` in a configuration is: a path, or a bare name under
/// `$CREDENTIALS_DIRECTORY`.
///
/// # Errors
/// [`KeyError::NoCredentials`].
pub fn place(name: &Path) -> Result<PathBuf, KeyError> {
    if name.is_absolute() {
        return Ok(name.to_path_buf());
    }
    let dir = std::env::var_os("CREDENTIALS_DIRECTORY").ok_or(KeyError::NoCredentials)?;
    Ok(Path::new(&dir).join(name))
}

/// The bytes of the key called `name` in a configuration, for whoever only wants to know why not.
///
/// # Errors
/// Why there is none, behind its place.
pub fn of_name(name: &Path) -> Result<[u8; 32], String> {
    let said = |error: KeyError| format!("{} {}", name.display(), error.of_others());
    read_secret(&place(name).map_err(said)?).map_err(said)
}

/// Reads the key in the file at `path`. The open file is judged, not the name.
///
/// # Errors
/// [`KeyError`].
pub fn read(path: &Path) -> Result<Key, KeyError> {
    read_secret(path).map(|secret| Key::of_secret(&secret))
}

/// The same, as the bytes of the file: for keys that are shared with others than the board.
///
/// # Errors
/// [`KeyError`].
pub fn read_secret(path: &Path) -> Result<[u8; 32], KeyError> {
    // A pipe of that name would make `open` wait for its other end.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(KeyError::NotAFile);
    }
    let mode = meta.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Open(mode));
    }
    let own = nix::unistd::Uid::effective().as_raw();
    if meta.uid() != 0 && meta.uid() != own {
        return Err(KeyError::Owner(meta.uid()));
    }
    let mut text = Vec::new();
    file.take(MOST + 1).read_to_end(&mut text)?;
    secret(&text).ok_or(KeyError::Form)
}

fn secret(text: &[u8]) -> Option<[u8; 32]> {
    let digits = text.trim_ascii();
    if digits.len() != 64 {
        return None;
    }
    let mut secret = [0; 32];
    for (byte, pair) in secret.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16);
        let (high, low) = (value(*pair.first()?)?, value(*pair.get(1)?)?);
        *byte = (high << 4 | low) as u8;
    }
    Some(secret)
}

/// Makes a new key and the file for it, readable by its owner only, and durable before this
/// returns.
///
/// # Errors
/// [`KeyError`]; a file that was there is left as it was.
pub fn make(path: &Path) -> Result<Key, KeyError> {
    let mut secret = [0; 32];
    random(&mut secret)?;
    let mut text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    text.push('\n');
    let mut file = File::options().write(true).create_new(true).mode(0o400).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let written = written.and_then(|()| {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
    });
    if let Err(error) = written {
        let _ = fs::remove_file(path); // half a key is none
        return Err(error.into());
    }
    Ok(Key::of_secret(&secret))
}

/// Fills `bytes` from the kernel's generator.
///
/// # Errors
/// Its own; a kernel without one cannot do this.
pub fn random(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        match rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A number that was never used before, for a connection.
///
/// # Errors
/// The kernel has no random numbers.
pub fn nonce() -> io::Result<u64> {
    let mut bytes = [0; 8];
    random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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

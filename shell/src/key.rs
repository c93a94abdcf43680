//! Files with secrets that hosts, boards and nodes share: 32 random bytes as 64 hexadecimal digits.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

/// A line of a key's file is no longer than this, with room for its end.
const LINE: u64 = 80;

/// The bytes of a secret.
pub type Secret = [u8; 32];

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
    /// It is to be made where there is no directory.
    NoDirectory,
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
            Self::Absent => "is not there; `giveover key new PATH` makes one".to_owned(),
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
            Self::NoDirectory => {
                f.write_str("cannot be made: its directory is not there; install -d -m 0700 DIR")
            }
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

/// Reads the secret in the file at `path`. The open file is judged, not the name.
///
/// # Errors
/// [`KeyError`].
pub fn read_secret(path: &Path) -> Result<Secret, KeyError> {
    match read_secrets(path, 1)?.as_slice() {
        [secret] => Ok(*secret),
        _ => Err(KeyError::Form),
    }
}

/// Reads the secrets in the file at `path`, one a line, at least one and at most `most`.
///
/// # Errors
/// [`KeyError`].
pub fn read_secrets(path: &Path, most: usize) -> Result<Vec<Secret>, KeyError> {
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
    let cap = LINE.saturating_mul(most as u64);
    file.take(cap + 1).read_to_end(&mut text)?;
    let lines = text.trim_ascii().split(|byte| *byte == b'\n');
    let secrets: Option<Vec<Secret>> = lines.map(secret).collect();
    secrets.filter(|found| found.len() <= most && text.len() as u64 <= cap).ok_or(KeyError::Form)
}

fn secret(text: &[u8]) -> Option<Secret> {
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

/// Makes a new secret and the file for it, readable by its owner only, and durable before this
/// returns.
///
/// # Errors
/// [`KeyError`]; a file that was there is left as it was.
pub fn make_secret(path: &Path) -> Result<Secret, KeyError> {
    let mut secret = [0; 32];
    random(&mut secret)?;
    let mut text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    text.push('\n');
    let made = File::options().write(true).create_new(true).mode(0o400).open(path);
    let mut file = made.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KeyError::NoDirectory,
        _ => error.into(),
    })?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    let written = written.and_then(|()| {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
    });
    if let Err(error) = written {
        let _ = fs::remove_file(path); // half a key is none
        return Err(error.into());
    }
    Ok(secret)
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

    #[test]
    fn several_secrets_stand_a_line_each_and_one_is_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("cluster.key");
        let text = format!("{}\n{}\r\n", "ab".repeat(32), "01".repeat(32));
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("a mode");
        assert_eq!(read_secrets(&path, 2), Ok(vec![[0xAB; 32], [1; 32]]));
        assert_eq!(read_secrets(&path, 1), Err(KeyError::Form));
        assert_eq!(read_secret(&path), Err(KeyError::Form));
        let made = dir.path().join("made.key");
        let secret = make_secret(&made).expect("a key");
        assert_eq!(read_secret(&made), Ok(secret));
        assert_eq!(make_secret(&made), Err(KeyError::Exists));
        // Who makes one is not told to make one.
        let nowhere = dir.path().join("keys/board.key");
        assert_eq!(make_secret(&nowhere), Err(KeyError::NoDirectory));
        assert!(!KeyError::NoDirectory.to_string().contains("pair"));
    }
}

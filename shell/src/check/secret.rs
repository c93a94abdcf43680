//! Passwords: each in a file of its own, never in the configuration, and never shown.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use crate::message::secret::NoSecret;

/// A password is no longer than this.
const MOST: u64 = 4096;

/// A password. It is shown nowhere, and it is not in what is printed of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Its bytes, for whom they are meant.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        &self.0
    }

    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Reads the password in the file called `name`: a path, or a bare name under
/// `$CREDENTIALS_DIRECTORY`. The open file is judged, not the name; the end of its line is not
/// part of the password.
///
/// # Errors
/// See [`NoSecret`].
pub fn read(name: &str) -> Result<Secret, NoSecret> {
    let path = place(name)?;
    // A pipe of that name would make `open` wait for its other end.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| match error.kind() {
        ErrorKind::NotFound => NoSecret::Absent,
        _ => NoSecret::Unreadable,
    })?;
    let meta = file.metadata().map_err(|_| NoSecret::Unreadable)?;
    if !meta.is_file() {
        return Err(NoSecret::NotAFile);
    }
    if meta.mode() & 0o077 != 0 {
        return Err(NoSecret::Open);
    }
    let own = rustix::process::geteuid().as_raw();
    if meta.uid() != 0 && meta.uid() != own {
        return Err(NoSecret::Owner);
    }
    let mut bytes = Vec::new();
    file.take(MOST + 3).read_to_end(&mut bytes).map_err(|_| NoSecret::Unreadable)?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    let bad = |byte: &u8| matches!(byte, b'\0' | b'\n');
    if bytes.is_empty() || bytes.len() as u64 > MOST || bytes.iter().any(bad) {
        return Err(NoSecret::Form);
    }
    Ok(Secret(bytes.into()))
}

fn place(name: &str) -> Result<PathBuf, NoSecret> {
    if name.starts_with('/') {
        return Ok(PathBuf::from(name));
    }
    let dir = std::env::var_os("CREDENTIALS_DIRECTORY").ok_or(NoSecret::NoCredentials)?;
    Ok(Path::new(&dir).join(name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn found(bytes: &[u8], mode: u32) -> Result<Vec<u8>, NoSecret> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("password");
        fs::write(&path, bytes).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
        read(path.to_str().expect("a path")).map(|secret| secret.bytes().to_vec())
    }

    #[test]
    fn a_password_is_one_line_of_a_file_that_is_ours_alone() {
        assert_eq!(found(b"secret\n", 0o400), Ok(b"secret".to_vec()));
        assert_eq!(found(b"two words \r\n", 0o600), Ok(b"two words ".to_vec()));
        assert_eq!(found(&[b'x'; 4096], 0o400).map(|bytes| bytes.len()), Ok(4096));
    }

    #[test]
    fn anything_else_is_refused() {
        for mode in [0o440, 0o404, 0o420, 0o402, 0o644, 0o410] {
            assert_eq!(found(b"secret", mode), Err(NoSecret::Open), "{mode:o}");
        }
        for bytes in [&b""[..], b"\n", b"a\nb\n", b"a\0b", &[b'x'; 4097]] {
            assert_eq!(found(bytes, 0o400), Err(NoSecret::Form));
        }
        assert_eq!(read("/no/such/file").err(), Some(NoSecret::Absent));
        assert_eq!(read("/proc").err(), Some(NoSecret::NotAFile));
    }

    #[test]
    fn it_is_not_in_what_is_printed_of_it() {
        assert_eq!(format!("{:?}", Secret::of(b"hush")), "Secret");
    }
}

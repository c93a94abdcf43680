//! Why a password could not be had, as a number in a cause and in words.
//!
//! Numbers are in journals: only ever append. They lie above every code of an answer.

/// The number of the first.
const FIRST: u16 = 64_000;

/// Why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSecret {
    /// No such file.
    Absent,
    /// A directory, a device, anything but a file.
    NotAFile,
    /// Others than its owner may read or write it.
    Open,
    /// It belongs to somebody who is neither root nor we.
    Owner,
    /// It is empty, longer than 4 KiB, or holds a NUL character.
    Form,
    /// `CREDENTIALS_DIRECTORY` is not set, so a bare name means nothing.
    NoCredentials,
    /// It cannot be opened or read.
    Unreadable,
    /// It lies where nothing answers.
    Silent,
}

const WORDS: [(NoSecret, &str); 8] = [
    (NoSecret::Absent, "password_file is not there"),
    (NoSecret::NotAFile, "password_file is no file"),
    (NoSecret::Open, "password_file is open to others: chmod 0400 and choose a new password"),
    (NoSecret::Owner, "password_file belongs to somebody who is neither root nor this daemon's"),
    (NoSecret::Form, "password_file holds no password: one line of 1 to 4096 bytes is wanted"),
    (NoSecret::NoCredentials, "password_file is a bare name and CREDENTIALS_DIRECTORY is not set"),
    (NoSecret::Unreadable, "password_file cannot be read"),
    (NoSecret::Silent, "password_file does not answer"),
];

impl NoSecret {
    /// As it stands in a cause.
    #[must_use]
    pub fn code(self) -> u16 {
        let place = WORDS.iter().position(|(why, _)| *why == self);
        FIRST + place.map_or(0, |place| place as u16)
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        words(self.code()).unwrap_or_default()
    }
}

/// What a cause's code says of a password; `None` if it is about something else.
#[must_use]
pub fn words(code: u16) -> Option<&'static str> {
    let place = code.checked_sub(FIRST)?;
    WORDS.get(usize::from(place)).map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_number_for_ever() {
        assert_eq!(NoSecret::Absent.code(), 64_000);
        assert_eq!(NoSecret::Open.code(), 64_002);
        assert_eq!(NoSecret::Unreadable.code(), 64_006);
        assert_eq!(NoSecret::Silent.code(), 64_007);
        for (why, said) in WORDS {
            assert_eq!((words(why.code()), why.words()), (Some(said), said));
        }
        assert_eq!((words(0), words(63_999), words(64_008)), (None, None, None));
    }
}

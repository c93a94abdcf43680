//! What the kernel offers of a watchdog, and the device file behind it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use rustix::io::Errno;
use watchdog_device::{OptionFlags, Watchdog};

use crate::board::serial::SerialError;

/// What a driver says that it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// Its name.
    pub identity: Option<String>,
    /// It stops only if it is told so before it is closed; else any close stops it.
    pub magic_close: bool,
    /// It resets nothing.
    pub alarm_only: bool,
    /// It can be fed.
    pub pings: bool,
}

/// One open watchdog; opening it has started it. Errors are the kernel's own, by number.
pub trait Device: Sized + Send {
    /// Opens the one of this name.
    ///
    /// # Errors
    /// [`SerialError`]; nothing was started.
    fn open(path: &Path) -> Result<Self, SerialError>;

    /// What it can.
    ///
    /// # Errors
    /// It cannot tell.
    fn support(&mut self) -> Result<Support, i32>;

    /// Gives it a time-out. It may take another: [`Device::timeout`] says.
    ///
    /// # Errors
    /// It refuses.
    fn set_timeout(&mut self, seconds: u32) -> Result<(), i32>;

    /// The time-out in force, in seconds.
    ///
    /// # Errors
    /// It cannot tell.
    fn timeout(&mut self) -> Result<u32, i32>;

    /// Has the kernel warn itself so many seconds before the end.
    ///
    /// # Errors
    /// It refuses.
    fn set_pretimeout(&mut self, seconds: u32) -> Result<(), i32>;

    /// The warning in force; zero is none.
    ///
    /// # Errors
    /// It cannot tell.
    fn pretimeout(&mut self) -> Result<u32, i32>;

    /// Whether the last start of this host was its doing.
    fn has_reset(&mut self) -> Option<bool>;

    /// Starts its time anew.
    ///
    /// # Errors
    /// It takes no feed.
    fn feed(&mut self) -> Result<(), i32>;

    /// Whether the kernel goes on counting whatever it is told (its own `nowayout`).
    fn cannot_be_stopped(&self) -> bool;

    /// Closes it; to `stop` it too is the letter before that.
    fn close(self, stop: bool);
}

/// The device of a name, by the kernel's own calls.
///
/// One that is called neither `/dev/watchdog` nor `/dev/watchdogN`, and is no link to one, is
/// opened and closed as one would be and asked nothing: it cannot say a time-out, and so guards
/// nobody.
pub struct Kernel {
    file: Open,
    stays: bool,
}

enum Open {
    Watchdog(Watchdog),
    Other(File),
}

const ENOTTY: i32 = Errno::NOTTY.raw_os_error();

impl Kernel {
    fn ask<T, E: Into<io::Error>>(
        &mut self,
        with: impl FnOnce(&mut Watchdog) -> Result<T, E>,
    ) -> Result<T, i32> {
        match &mut self.file {
            Open::Watchdog(watchdog) => with(watchdog).map_err(|error| number(&error.into())),
            Open::Other(_) => Err(ENOTTY),
        }
    }
}

fn number(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(0)
}

/// `Some(None)` for `/dev/watchdog`, `Some(Some(3))` for `/dev/watchdog3`.
fn id(path: &Path) -> Option<Option<u8>> {
    let device = fs::canonicalize(path).ok()?;
    let rest = device.to_str()?.strip_prefix("/dev/watchdog")?;
    if rest.is_empty() { Some(None) } else { rest.parse().ok().map(Some) }
}

/// What the kernel says of its own `nowayout`, where it says anything.
fn stays(under: &Path, id: Option<u8>) -> bool {
    let file = under.join(format!("watchdog{}", id.unwrap_or(0))).join("nowayout");
    fs::read_to_string(file).is_ok_and(|text| text.trim() == "1")
}

fn at_least_zero(seconds: i32) -> u32 {
    u32::try_from(seconds).unwrap_or(0)
}

fn signed(seconds: u32) -> i32 {
    i32::try_from(seconds).unwrap_or(i32::MAX)
}

impl Device for Kernel {
    fn open(path: &Path) -> Result<Self, SerialError> {
        let refused =
            |error: io::Error| SerialError::of(Errno::from_io_error(&error).unwrap_or(Errno::IO));
        let id = id(path);
        let file = match id {
            Some(None) => Open::Watchdog(Watchdog::new().map_err(refused)?),
            Some(Some(id)) => Open::Watchdog(Watchdog::new_by_id(id).map_err(refused)?),
            None => Open::Other(File::options().write(true).open(path).map_err(refused)?),
        };
        let stays = id.is_some_and(|id| stays(Path::new("/sys/class/watchdog"), id));
        Ok(Self { file, stays })
    }

    fn support(&mut self) -> Result<Support, i32> {
        let identity = self.ask(|watchdog| watchdog.get_driver_identity())?;
        let mut can = |flag| self.ask(|watchdog| watchdog.is_option_supported(&flag));
        Ok(Support {
            magic_close: can(OptionFlags::MagicClose)?,
            alarm_only: can(OptionFlags::AlarmOnly)?,
            pings: can(OptionFlags::KeepalivePing)?,
            identity: Some(identity.trim_end_matches('\0').replace(char::is_control, "?")),
        })
    }

    fn set_timeout(&mut self, seconds: u32) -> Result<(), i32> {
        self.ask(|watchdog| watchdog.set_timeout(signed(seconds))).map(drop)
    }

    fn timeout(&mut self) -> Result<u32, i32> {
        self.ask(|watchdog| watchdog.get_timeout()).map(at_least_zero)
    }

    fn set_pretimeout(&mut self, seconds: u32) -> Result<(), i32> {
        self.ask(|watchdog| watchdog.set_pretimeout(signed(seconds))).map(drop)
    }

    fn pretimeout(&mut self) -> Result<u32, i32> {
        self.ask(|watchdog| watchdog.get_pretimeout()).map(at_least_zero)
    }

    fn has_reset(&mut self) -> Option<bool> {
        self.ask(|watchdog| watchdog.get_boot_status(&OptionFlags::CardReset)).ok()
    }

    fn feed(&mut self) -> Result<(), i32> {
        self.ask(Watchdog::keep_alive)
    }

    fn cannot_be_stopped(&self) -> bool {
        self.stays
    }

    fn close(mut self, stop: bool) {
        // What cannot be written is not stopped, and resets this host: nothing else can be done.
        if stop {
            let _ = match &mut self.file {
                Open::Watchdog(watchdog) => watchdog.magic_close(),
                Open::Other(file) => file.write_all(b"V"),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::testing::Pty;

    #[test]
    fn what_is_no_watchdog_is_asked_nothing_and_stopped_by_the_letter() {
        let pty = Pty::new();
        let mut device = Kernel::open(&pty.path).expect("it opens");
        assert_eq!((device.support(), device.timeout()), (Err(ENOTTY), Err(ENOTTY)));
        assert_eq!((device.set_timeout(60), device.feed()), (Err(ENOTTY), Err(ENOTTY)));
        assert_eq!((device.set_pretimeout(6), device.pretimeout()), (Err(ENOTTY), Err(ENOTTY)));
        assert_eq!((device.has_reset(), device.cannot_be_stopped()), (None, false));
        device.close(true);
        assert_eq!(pty.read_some(), b"V");
        let absent = Kernel::open(Path::new("/dev/no-such-watchdog"));
        assert!(matches!(absent, Err(SerialError::Absent)));
    }

    #[test]
    fn a_kernel_that_never_stops_says_so() {
        let dir = tempfile::tempdir().expect("a directory");
        let attributes = dir.path().join("watchdog0");
        fs::create_dir(&attributes).expect("a directory");
        assert!(!stays(dir.path(), None), "one that says nothing is believed to stop");
        for (text, answer) in [("1\n", true), ("0\n", false), ("", false)] {
            fs::write(attributes.join("nowayout"), text).expect("a file");
            assert_eq!((stays(dir.path(), None), stays(dir.path(), Some(0))), (answer, answer));
            assert!(!stays(dir.path(), Some(1)));
        }
    }

    #[test]
    fn a_watchdog_is_known_by_its_name() {
        assert_eq!(id(Path::new("/dev/null")), None);
        assert_eq!(id(Path::new("/dev/no-such")), None);
        assert_eq!((at_least_zero(-1), signed(u32::MAX)), (0, i32::MAX));
    }

    /// Only where there is one, and never in CI: opening it starts it.
    #[test]
    fn a_real_watchdog_takes_a_time_out_and_tells_it() {
        if std::env::var_os("GIVEOVER_WATCHDOG").is_none() {
            println!("skipped: watchdog: GIVEOVER_WATCHDOG=1 would start /dev/watchdog");
            return;
        }
        let mut device = Kernel::open(Path::new("/dev/watchdog")).expect("root, and a driver");
        assert_eq!(device.set_timeout(60), Ok(()));
        assert!(device.timeout().is_ok_and(|seconds| seconds > 0));
        assert_eq!(device.feed(), Ok(()));
        device.close(true);
    }
}

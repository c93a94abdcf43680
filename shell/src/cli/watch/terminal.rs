//! The terminal while it is watched: another screen, and keys as they are typed. Whatever ends
//! us puts it back.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use super::keys::{self, Key};

/// Another screen without a cursor, and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// The terminal, and how it was before; `None` where keys come from elsewhere.
pub(super) struct Terminal {
    before: Option<Termios>,
    ended: Arc<AtomicBool>,
    keys_ended: bool,
}

impl Terminal {
    pub(super) fn enter() -> io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&ended))?;
        }
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut raw = before.clone();
            // Signals are off too: an interrupt comes as a key, so that the screen is put back.
            raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
            tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        }
        let terminal = Self { before, ended, keys_ended: false };
        write(ENTER)?;
        Ok(terminal)
    }

    /// Whether keys can be typed.
    pub(super) fn has_keys(&self) -> bool {
        self.before.is_some() && !self.keys_ended
    }

    /// Whether a signal wants us to end.
    pub(super) fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Keys that have been typed; call it when there are some.
    pub(super) fn keys(&mut self) -> io::Result<Vec<Key>> {
        let mut bytes = [0; 64];
        // Not through the standard library's buffer: what it holds back no poll would tell of.
        match rustix::io::read(io::stdin(), &mut bytes) {
            Ok(0) => {
                self.keys_ended = true;
                Ok(vec![Key::Quit]) // the terminal has gone
            }
            Ok(count) => Ok(keys::keys(bytes.get(..count).unwrap_or_default())),
            Err(rustix::io::Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Rows and columns.
    pub(super) fn size(&self) -> (usize, usize) {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                (usize::from(size.ws_row), usize::from(size.ws_col))
            }
            _ => (24, 80),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = write(LEAVE);
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, before);
        }
    }
}

fn write(text: &str) -> io::Result<()> {
    io::stdout().write_all(text.as_bytes())?;
    io::stdout().flush()
}

/// `lines` drawn over what is there, without clearing first, which would flicker. Each line is
/// cleared before it is written: afterwards, in a full line, the last character would go.
pub(super) fn redrawn(lines: &[String]) -> String {
    let Some((last, others)) = lines.split_last() else { return String::from("\x1b[H\x1b[J") };
    let others: String = others.iter().map(|line| format!("\x1b[K{line}\r\n")).collect();
    format!("\x1b[H{others}\x1b[J{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_erased_behind_a_line() {
        let lines = [String::from("one"), String::from("two")];
        assert_eq!(redrawn(&lines), "\x1b[H\x1b[Kone\r\n\x1b[Jtwo");
        assert_eq!(redrawn(&[]), "\x1b[H\x1b[J");
    }
}

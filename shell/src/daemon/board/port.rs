//! The port: opened, read, written, lost and found again; and the pairing that borrows it.

use std::fmt;
use std::path::Path;

use giveover_core::time::{Instant, Span};
use giveover_core::wire::KeyId;
use mio::Interest;

use super::{Board, Leash, PORT};
use crate::board::key::{self, KeyError};
use crate::board::pair::{self, Paired};
use crate::board::serial::Heard;
use crate::board::{Serial, SerialError};
use crate::config::plan::BoardKind;
use crate::daemon::Daemon;
use crate::daemon::control::ClientId;
use crate::reactor::{Ready, Room, Token};
use crate::report::model::Reply;

/// Between two tries to open the port, at first and at last.
pub(super) const WAIT_FIRST: Span = Span::from_millis(500);
const WAIT_LAST: Span = Span::from_secs(10);

/// Bytes taken in one turn: a line that never falls silent keeps nothing else waiting.
const AT_ONCE: usize = 16 * 1024;

/// Why there is no line to talk on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PortTrouble {
    /// The port.
    Port(SerialError),
    /// It was there, and is gone.
    Gone,
    /// The key's file.
    Key(KeyError),
}

impl PortTrouble {
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Port(SerialError::Absent) => "port_absent",
            Self::Port(SerialError::NotTty) => "port_no_tty",
            Self::Port(SerialError::InUse) => "port_in_use",
            Self::Port(SerialError::NoRights) => "port_no_rights",
            Self::Port(SerialError::Os(_)) => "port_error",
            Self::Gone => "port_gone",
            Self::Key(KeyError::Absent) => "key_absent",
            Self::Key(_) => "key_unusable",
        }
    }

    pub(super) const fn remedy(&self) -> &'static str {
        match self {
            Self::Port(SerialError::Absent) | Self::Gone => "is it plugged in and powered?",
            Self::Port(SerialError::NotTty) => "board.port is the serial port of the board",
            Self::Port(SerialError::InUse) => {
                "another daemon, a console or a modem manager has it: fuser -v says which"
            }
            Self::Port(SerialError::NoRights) => "run as root, or as a member of its group",
            Self::Port(SerialError::Os(_)) => "the kernel's log may say more",
            Self::Key(KeyError::Absent) => {
                "giveover board pair makes one and gives it to the board"
            }
            Self::Key(_) => "board.key is a file that only its owner can read",
        }
    }
}

impl fmt::Display for PortTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(error) => write!(f, "the port {error}"),
            Self::Gone => f.write_str("the port has gone"),
            Self::Key(error) => write!(f, "the key's file {error}"),
        }
    }
}

/// A pairing under way, and who waits for it.
pub(super) struct Pairing {
    dialogue: pair::Pairing,
    client: ClientId,
}

impl Pairing {
    pub(super) const fn due(&self) -> Instant {
        self.dialogue.poll_timeout()
    }
}

pub(super) fn read_key(name: &Path) -> Result<giveover_core::wire::Key, KeyError> {
    key::read(&key::place(name)?)
}

impl Board {
    /// The key's file; other hardware than ours has none, and is never asked for it.
    fn key_name(&self) -> &Path {
        match &self.plan.kind {
            BoardKind::Giveover { key } => key,
            BoardKind::Linux { .. } | BoardKind::Stick => Path::new(""),
        }
    }

    /// The next try, later each time.
    fn try_later(&mut self, trouble: PortTrouble, now: Instant) {
        self.trouble = Some(trouble);
        self.wait_longer(now);
    }

    pub(super) fn wait_longer(&mut self, now: Instant) {
        self.again = Some(now.after(self.wait));
        let twice = Span::from_millis(self.wait.as_millis().saturating_mul(2));
        let quarter = Span::from_millis(self.plan.settings.timeout.as_millis() / 4);
        self.wait = twice.min(WAIT_LAST).min(quarter.max(WAIT_FIRST));
    }
}

impl Daemon {
    /// Opens the port if it is time to.
    pub(super) fn open_port(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        let open = board.serial.is_some() || board.leash.as_ref().is_some_and(Leash::is_open);
        if open || board.again.is_none_or(|again| now < again) {
            return;
        }
        board.again = None;
        board.touched = true;
        if board.leash.is_some() {
            return self.open_dog();
        }
        let key = match read_key(board.key_name()) {
            Ok(key) => key,
            Err(error) => return board.try_later(PortTrouble::Key(error), now),
        };
        let mut serial = match Serial::open(&board.plan.port) {
            Ok(serial) => serial,
            Err(error) => return board.try_later(PortTrouble::Port(error), now),
        };
        board.generation = board.generation.wrapping_add(1);
        let token = Token::new(Room::Board, PORT, board.generation);
        let both = Interest::READABLE | Interest::WRITABLE;
        let added = self.reactor.add(&mut serial, token, both);
        let (Ok(()), Ok(nonce)) = (added, key::nonce()) else {
            return board.try_later(PortTrouble::Port(SerialError::NotTty), now);
        };
        board.trouble = None;
        board.key = Some(key.id());
        board.serial = Some(serial);
        board.link.open(key, nonce, now);
    }

    /// Takes the port out of the loop and closes it.
    pub(super) fn drop_port(&mut self) {
        self.drop_dog();
        let Some(board) = &mut self.board else { return };
        if let Some(mut serial) = board.serial.take() {
            self.reactor.remove(&mut serial);
        }
        board.link.close();
    }

    fn port_gone(&mut self) {
        let now = self.now;
        self.drop_port();
        self.end_pairing(&Err("the port has gone".to_owned()));
        if let Some(board) = &mut self.board {
            board.try_later(PortTrouble::Gone, now);
        }
    }

    /// The port has something, or room.
    pub(in super::super) fn board_ready(&mut self, ready: Ready) {
        let now = self.now;
        let mut buffer = [0; 1024];
        let mut taken = 0;
        loop {
            let Some(board) = &mut self.board else { return };
            if ready.token.generation != Token::new(Room::Board, PORT, board.generation).generation
            {
                return;
            }
            if board.leash.is_some() {
                return self.dog_ready();
            }
            let Some(serial) = &mut board.serial else { return };
            board.touched = true;
            match serial.read(&mut buffer) {
                Heard::Nothing => return,
                Heard::Gone => return self.port_gone(),
                Heard::Bytes(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default();
                    taken += count;
                    match &mut board.pairing {
                        None => board.link.hear(bytes, now),
                        Some(pairing) => {
                            if let Some(paired) = pairing.dialogue.hear(bytes, now) {
                                self.end_pairing(&Ok(paired));
                            }
                        }
                    }
                }
            }
            if taken > AT_ONCE {
                // The edge will not come again for what is left: dropped, and greeted anew.
                return self.port_gone();
            }
        }
    }

    /// Writes what fits; the rest goes with the next edge or the next turn.
    pub(super) fn write_to_board(&mut self) {
        let Some(board) = &mut self.board else { return };
        let Some(serial) = &mut board.serial else { return };
        let output = match &mut board.pairing {
            Some(pairing) => &mut pairing.dialogue.output,
            None => board.link.output(),
        };
        while !output.is_empty() {
            match serial.write(output) {
                Ok(0) => return,
                Ok(count) => {
                    output.drain(..count);
                }
                Err(_) => return self.port_gone(),
            }
        }
    }

    /// Gives the board our key; makes one where there is none.
    pub(super) fn pair_board(&mut self, client: ClientId) {
        let now = self.now;
        let begun = self.begin_pairing(now);
        match begun {
            Ok(dialogue) => {
                if let Some(board) = &mut self.board {
                    board.link.close();
                    board.pairing = Some(Pairing { dialogue, client });
                }
            }
            Err(why) => self.reply(client, &Reply { exit: 1, lines: vec![why] }),
        }
    }

    fn begin_pairing(&mut self, now: Instant) -> Result<pair::Pairing, String> {
        let board = self.board.as_mut().ok_or("no board is configured")?;
        if board.pairing.is_some() {
            return Err("a pairing is under way".to_owned());
        }
        let name = board.key_name().to_path_buf();
        let path = key::place(&name).map_err(|error| format!("{} {error}", name.display()))?;
        let (key, made) = match key::read(&path) {
            Err(KeyError::Absent) => (key::make(&path), true),
            read => (read, false),
        };
        let key = key.map_err(|error| format!("{} {error}", path.display()))?;
        board.again = Some(now);
        board.key = Some(key.id());
        self.open_port();
        let board = self.board.as_mut().ok_or("no board is configured")?;
        match (&board.serial, &board.trouble) {
            (Some(_), _) => {
                let nonce = key::nonce().map_err(|error| error.to_string())?;
                Ok(pair::Pairing::begin(key, nonce, now))
            }
            (None, trouble) => {
                if made {
                    let _ = std::fs::remove_file(&path); // no board was given it
                }
                Err(trouble.as_ref().map_or_else(|| "no port".to_owned(), ToString::to_string))
            }
        }
    }

    pub(super) fn pairing_due(&mut self) {
        let now = self.now;
        let pairing = self.board.as_mut().and_then(|board| board.pairing.as_mut());
        if let Some(paired) = pairing.and_then(|pairing| pairing.dialogue.due(now)) {
            self.end_pairing(&Ok(paired));
        }
    }

    fn end_pairing(&mut self, ended: &Result<Paired, String>) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        let Some(Pairing { client, .. }) = board.pairing.take() else { return };
        let taken = matches!(ended, Ok(Paired::Taken { .. } | Paired::Already { .. }));
        if taken {
            board.memory.forget();
            board.link.accept_any();
        }
        let lines = vec![match ended {
            Ok(paired) => paired.told(board.key.unwrap_or(KeyId(0))),
            Err(why) => why.clone(),
        }];
        match (read_key(board.key_name()), key::nonce(), board.serial.is_some()) {
            (Ok(key), Ok(nonce), true) => {
                board.key = Some(key.id());
                board.link.open(key, nonce, now);
            }
            _ => self.drop_port_for_later(),
        }
        self.reply(client, &Reply { exit: u8::from(!taken), lines });
    }

    fn drop_port_for_later(&mut self) {
        let now = self.now;
        self.drop_port();
        if let Some(board) = &mut self.board {
            board.again = Some(now.after(WAIT_FIRST));
        }
    }
}

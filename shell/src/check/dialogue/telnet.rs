//! TELNET: `IAC DO` somewhere in what the server begins with. Many offer (`WILL`) before they
//! ask (`DO`), and text may come before either, so the first two bytes alone do not tell.

use super::talk::Heard;
use crate::check::outcome::Outcome;

const IAC: u8 = 255;
const DONT: u8 = 254;
const DO: u8 = 253;
const WILL: u8 = 251;
const SB: u8 = 250;
const SE: u8 = 240;

/// How far the stream of options was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Telnet {
    part: Part,
    wrote: bool,
}

/// Which part of it comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    /// Text, or a command.
    #[default]
    Text,
    /// What follows an IAC.
    Command,
    /// The option of WILL, WONT or DONT.
    Named,
    /// Inside a subnegotiation.
    Sub,
    /// After an IAC inside one.
    SubCommand,
}

impl Telnet {
    pub(super) fn byte(&mut self, byte: u8) -> Heard {
        self.part = match (self.part, byte) {
            (Part::Text, IAC) => Part::Command,
            (Part::Command, DO) => return Heard::Done(Outcome::Healthy { shown: 0 }),
            (Part::Command, WILL..=DONT) => Part::Named,
            (Part::Command, SB) => Part::Sub,
            (Part::Sub, IAC) => Part::SubCommand,
            (Part::Sub, _) => Part::Sub,
            (Part::SubCommand, SE) | (Part::Named, _) => Part::Text,
            (Part::SubCommand, _) => Part::Sub,
            // Two of them are a byte of text.
            (Part::Text, _) | (Part::Command, IAC) => {
                self.wrote = true;
                Part::Text
            }
            (Part::Command, _) => Part::Text,
        };
        Heard::More
    }

    /// Whether there was text: a server that then closes is none of TELNET's.
    pub(super) const fn wrote(&self) -> bool {
        self.wrote
    }
}

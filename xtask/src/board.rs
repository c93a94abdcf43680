//! The boards, the bounds their images keep, and how an emulator shows their pins.

/// A board that has an image.
#[derive(Debug)]
pub(crate) struct Board {
    /// The image's name, its feature, and the argument of `--board`.
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    /// The most its stack may take, in bytes (L11).
    pub(crate) stack: u32,
    /// The most it may take of flash for now, in bytes. L11 wants [`FLASH`], which the machine and
    /// its wire do not keep; this is what keeps them from growing.
    pub(crate) flash: u32,
    /// The same with shadows.
    pub(crate) shadow_flash: u32,
    /// It has a UART beside the link.
    pub(crate) logs: bool,
    /// Where QEMU has the board: what it says of its pins.
    pub(crate) qemu: Option<Pins>,
    /// Where somebody may own one: how its image gets there.
    pub(crate) real: Option<Real>,
}

/// How the image of a board that can be bought gets there.
#[derive(Debug)]
pub(crate) struct Real {
    /// Its name for probe-rs.
    pub(crate) chip: &'static str,
    /// The drive that it shows.
    pub(crate) drive: &'static str,
    /// The drive takes UF2, else Intel HEX.
    pub(crate) uf2: bool,
    /// What makes it show the drive.
    pub(crate) how: &'static str,
}

/// The most an image should take of flash, in bytes (L11).
pub(crate) const FLASH: u32 = 16 * 1024;
/// The most its variables may take of RAM, in bytes (L11).
pub(crate) const RAM: u32 = 4 * 1024;

/// The most of RAM with shadows, of which each takes some 700 bytes.
const SHADOW_RAM: u32 = 7 * 1024;

/// And of the stack, on which a shadow is made.
const SHADOW_STACK: u32 = 2_500;

/// What an image of a board has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// What every board needs.
    Plain,
    /// The shadows of the host's monitors too (L10).
    Shadow,
    /// Each note as a line of log, on a UART of its own.
    Log,
}

impl Variant {
    /// All there are.
    pub(crate) const ALL: [Self; 3] = [Self::Plain, Self::Shadow, Self::Log];

    /// Those of a board: a log needs a UART beside the link.
    pub(crate) fn of(board: &Board) -> impl Iterator<Item = Self> {
        let logs = board.logs;
        Self::ALL.into_iter().filter(move |variant| logs || *variant != Self::Log)
    }

    /// The name of the image.
    pub(crate) fn name(self, board: &Board) -> String {
        match self {
            Self::Plain => board.name.to_owned(),
            Self::Shadow => format!("{}-shadow", board.name),
            Self::Log => format!("{}-log", board.name),
        }
    }

    /// The features it is built with.
    pub(crate) fn features(self, board: &Board) -> String {
        match self {
            Self::Plain => board.name.to_owned(),
            Self::Shadow => format!("{},shadow", board.name),
            Self::Log => format!("{},defmt", board.name),
        }
    }

    /// The most it may take of flash, of RAM, and of the stack.
    pub(crate) const fn granted(self, board: &Board) -> (u32, u32, u32) {
        match self {
            Self::Plain => (board.flash, RAM, board.stack),
            Self::Shadow => (board.shadow_flash, SHADOW_RAM, SHADOW_STACK),
            // L11 is said without a log; RAM and stack must do all the same.
            Self::Log => (board.shadow_flash, RAM, SHADOW_STACK),
        }
    }
}

pub(crate) const BOARDS: [Board; 3] = [
    Board {
        name: "lm3s6965evb",
        target: "thumbv7m-none-eabi",
        stack: 2048,
        flash: 18_100,
        shadow_flash: 25_430,
        logs: true,
        qemu: Some(Pins {
            trace: "pl061_set_output",
            // Port F; the other ports are not ours.
            before: "device[13] setting output ",
            between: " to ",
            line: "0",
            second: "2",
            held: "0",
        }),
        real: None,
    },
    Board {
        name: "microbit",
        target: "thumbv6m-none-eabi",
        stack: 1536,
        flash: 19_850,
        shadow_flash: 27_670,
        logs: false,
        qemu: Some(Pins {
            trace: "nrf51_gpio_update_output_irq",
            before: " line ",
            between: " value ",
            line: "3",
            second: "2",
            held: "1",
        }),
        real: Some(Real {
            chip: "nRF51822_xxAA",
            drive: "MICROBIT",
            uf2: false,
            how: "Plug the board in; it shows the drive MICROBIT. Mount it.",
        }),
    },
    Board {
        name: "rp-pico",
        target: "thumbv6m-none-eabi",
        stack: 1536,
        flash: 22_660,
        shadow_flash: 30_480,
        logs: true,
        qemu: None,
        real: Some(Real {
            chip: "RP2040",
            drive: "RPI-RP2",
            uf2: true,
            how: "Hold BOOTSEL while you plug the board in; it shows the drive RPI-RP2. Mount it.",
        }),
    },
];

/// The board of that name.
pub(crate) fn named(name: &str) -> Option<&'static Board> {
    BOARDS.iter().find(|board| board.name == name)
}

/// What an emulator says when a pin moves: "…{before}PIN{between}LEVEL".
#[derive(Debug)]
pub(crate) struct Pins {
    pub(crate) trace: &'static str,
    before: &'static str,
    between: &'static str,
    line: &'static str,
    second: &'static str,
    /// The level that holds a line.
    held: &'static str,
}

impl Pins {
    /// An edge of ours in words; `Some(None)` for a pin that is none of the lines.
    pub(crate) fn edge(&self, line: &str) -> Option<Option<String>> {
        if !line.starts_with(self.trace) {
            return None;
        }
        let words = line.split_once(self.before).map(|(_, rest)| rest);
        let Some((pin, level)) = words.and_then(|rest| rest.split_once(self.between)) else {
            return Some(None);
        };
        let name = match pin {
            pin if pin == self.line => "reset line",
            pin if pin == self.second => "second line",
            _ => return Some(None),
        };
        let level = if level.trim() == self.held { "held" } else { "released" };
        Some(Some(format!("{name} {level}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_read_from_what_qemu_traces() {
        let pins = BOARDS[0].qemu.as_ref().expect("in QEMU");
        let edge = |text: &str| pins.edge(&format!("pl061_set_output /machine/unattached/{text}"));
        let held = Some(Some("reset line held".to_string()));
        assert_eq!(edge("device[13] setting output 0 to 0"), held);
        let released = Some(Some("second line released".to_string()));
        assert_eq!(edge("device[13] setting output 2 to 1"), released);
        assert_eq!(edge("device[13] setting output 3 to 1"), Some(None));
        assert_eq!(edge("device[12] setting output 0 to 0"), Some(None));
        let pins = BOARDS[1].qemu.as_ref().expect("in QEMU");
        assert_eq!(pins.edge("nrf51_gpio_update_output_irq line 3 value 1"), held);
        assert_eq!(pins.edge("nrf51_gpio_update_output_irq line 13 value 1"), Some(None));
        assert_eq!(pins.edge("Timer with period zero, disabling"), None);
    }
}

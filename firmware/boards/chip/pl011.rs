//! The UART that two of the chips have, PL011: 115,200 baud 8N1, both ways by interrupt.

use super::{RECEIVE, Register, SEND};

const RECEIVED: u32 = 1 << 4;
const SENDING: u32 = 1 << 5;
const TIMED_OUT: u32 = 1 << 6;

/// One of them, by its address.
#[derive(Clone, Copy)]
pub(crate) struct Pl011(pub(crate) usize);

impl Pl011 {
    const fn register(self, offset: usize) -> Register {
        Register::at(self.0 + offset)
    }

    /// Starts it; the clock divided by sixteen times the speed, and the 64ths of what is left.
    pub(crate) fn start(self, divisor: u32, fraction: u32) {
        self.register(0x30).write(0);
        self.register(0x24).write(divisor);
        self.register(0x28).write(fraction);
        self.register(0x2C).write(0b11 << 5 | 1 << 4);
        self.register(0x38).write(RECEIVED | TIMED_OUT);
        self.register(0x30).write(1 << 9 | 1 << 8 | 1);
    }

    /// Sends bytes, and waits for each no longer than it takes to send one: a log is no reason to be
    /// late. What finds no room is lost, and the next line begins with a delimiter.
    #[cfg(feature = "defmt")]
    pub(crate) fn send(self, bytes: &[u8]) {
        const A_BYTE: u32 = 1_000;
        let (data, flags) = (self.register(0), self.register(0x18));
        for byte in bytes {
            if (0..A_BYTE).any(|_| flags.read() & 1 << 5 == 0) {
                data.write(u32::from(*byte));
            }
        }
    }

    /// Moves bytes between it and the queues, and stays within what both hold. `ours` says, after
    /// what has come was taken, whether what is to be sent goes this way.
    pub(crate) fn carry(self, mut heard: impl FnMut(), ours: impl FnOnce() -> bool) {
        let (data, flags) = (self.register(0), self.register(0x18));
        self.register(0x44).write(RECEIVED | SENDING | TIMED_OUT);
        while flags.read() & 1 << 4 == 0 {
            heard();
            RECEIVE.push(data.read() as u8);
        }
        let ours = ours();
        while ours && flags.read() & 1 << 5 == 0 {
            match SEND.pop() {
                Some(byte) => data.write(u32::from(byte)),
                None => break,
            }
        }
        // The room in the UART is asked for only while there is something to put into it.
        let sending = if !ours || SEND.is_empty() { 0 } else { SENDING };
        self.register(0x38).write(RECEIVED | TIMED_OUT | sending);
    }
}

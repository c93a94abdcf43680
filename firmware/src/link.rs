//! The line of bytes to the host: frames in, frames out, and nothing that waits.

use embedded_io::{Read, ReadReady, Write};
use giveover_core::wire::{BoardEnd, Decoder, Key, LinkCounters, MAX_ENCODED, Opened, Refused};

/// The board's end of the serial line.
///
/// A step takes no more than [`Link::AT_ONCE`] bytes, so that a line that never falls silent
/// keeps nothing else waiting.
// In this order because a Cortex-M0 reaches what is near by one instruction.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    /// The last frame did not go out whole: the next begins with a delimiter.
    cut: bool,
    decoder: Decoder,
    end: BoardEnd,
}

impl Link {
    /// Bytes taken in one step: more than a line of 115,200 baud brings in a tick.
    pub const AT_ONCE: usize = 192;

    /// A line without a connection, of the device of this number.
    #[must_use]
    pub const fn new(key: Option<Key>, device: u64) -> Self {
        Self { decoder: Decoder::new(), end: BoardEnd::new(key, device), cut: false }
    }

    /// The end that opens and seals.
    pub const fn end(&mut self) -> &mut BoardEnd {
        &mut self.end
    }

    /// What was seen of the line.
    #[must_use]
    pub fn counters(&self) -> LinkCounters {
        LinkCounters { garbage: self.decoder.garbage(), ..self.end.counters() }
    }

    /// Takes bytes until there is a frame, and puts it into `opened`, with how far it can be trusted.
    /// `left` is what this step may still take; garbage takes from it too. A frame that is refused
    /// is an error here and the host is not told: that would be an oracle.
    #[inline(never)]
    pub fn hear<P: Read + ReadReady>(
        &mut self,
        port: &mut P,
        left: &mut usize,
        opened: &mut Opened,
    ) -> Option<Result<(), Refused>> {
        while *left > 0 && port.read_ready().unwrap_or(false) {
            let mut byte = [0];
            if port.read(&mut byte).unwrap_or(0) == 0 {
                return None;
            }
            *left -= 1;
            let [byte] = byte;
            if let Some(Ok(raw)) = self.decoder.push(byte) {
                return Some(self.end.open_into(&raw, opened));
            }
        }
        None
    }

    /// Answers a hello; `nonce` was never used before.
    #[inline(never)]
    pub fn answer_hello<P: Write>(&mut self, port: &mut P, host: u64, nonce: u64) {
        let mut out = [0; MAX_ENCODED];
        let written = self.end.answer_hello(host, nonce, &mut out);
        self.write(port, &out, written);
    }

    /// Sends a frame of this kind and payload. One that finds no room is lost, as on any line; the
    /// host asks again.
    #[inline(never)]
    pub fn say<P: Write>(&mut self, port: &mut P, kind: u8, payload: &[u8]) {
        let mut out = [0; MAX_ENCODED];
        let written = self.end.seal_payload(kind, payload, &mut out);
        self.write(port, &out, written);
    }

    #[inline(never)]
    fn write<P: Write>(&mut self, port: &mut P, out: &[u8], written: Option<usize>) {
        let Some(frame) = written.and_then(|written| out.get(..written)) else { return };
        if self.cut && port.write(&[0]).unwrap_or(0) == 0 {
            return;
        }
        let mut bytes = frame.iter().map(core::slice::from_ref);
        self.cut = !bytes.all(|byte| port.write(byte).unwrap_or(0) > 0);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::fifo::Fifo;
    use crate::serial::Port;
    use giveover_core::bytes::Put;
    use giveover_core::wire::{HostEnd, ToBoard};
    use std::vec::Vec;

    const KEY: Key = Key::new([7; 16]);

    fn drain<const N: usize>(fifo: &Fifo<N>) -> Vec<u8> {
        std::iter::from_fn(|| fifo.pop()).collect()
    }

    #[test]
    fn a_hello_is_answered_and_a_frame_after_it_is_authentic() {
        let (up, down) = (Fifo::<512>::new(), Fifo::<512>::new());
        let mut port = Port::new(&up, &down, || {});
        let mut link = Link::new(Some(KEY), 77);
        let mut host = HostEnd::new(KEY, 1);
        let mut out = [0; MAX_ENCODED];
        let length = host.hello(&mut out).expect("room");
        out[..length].iter().for_each(|byte| assert!(up.push(*byte)));
        let mut left = Link::AT_ONCE;
        let mut opened = Opened::NONE;
        assert_eq!(link.hear(&mut port, &mut left, &mut opened), Some(Ok(())));
        assert_eq!(opened.frame, ToBoard::Hello { nonce: 1 });
        assert_eq!(left, Link::AT_ONCE - length);
        link.answer_hello(&mut port, 1, 99);
        let mut decoder = Decoder::new();
        for byte in drain(&down) {
            if let Some(raw) = decoder.push(byte) {
                host.open(&raw.expect("a frame")).expect("authentic");
            }
        }
        let length = host.seal(&ToBoard::Arm, &mut out).expect("a connection").0;
        out[..length].iter().for_each(|byte| assert!(up.push(*byte)));
        let mut left = Link::AT_ONCE;
        assert_eq!(link.hear(&mut port, &mut left, &mut opened), Some(Ok(())));
        assert_eq!(opened, Opened { frame: ToBoard::Arm, counter: 1, fresh: true });
        // Once more is a replay.
        out[..length].iter().for_each(|byte| assert!(up.push(*byte)));
        let heard = link.hear(&mut port, &mut left, &mut opened);
        assert_eq!(heard, Some(Err(Refused::Replayed)));
        assert_eq!(link.counters().replayed, 1);
    }

    #[test]
    fn a_line_that_never_falls_silent_keeps_nothing_waiting() {
        let (up, down) = (Fifo::<512>::new(), Fifo::<512>::new());
        let mut port = Port::new(&up, &down, || {});
        let mut link = Link::new(None, 77);
        (0..500).for_each(|_| assert!(up.push(0x55)));
        let mut left = Link::AT_ONCE;
        let mut opened = Opened::NONE;
        assert_eq!(link.hear(&mut port, &mut left, &mut opened), None);
        assert_eq!((left, drain(&up).len()), (0, 500 - Link::AT_ONCE));
    }

    #[test]
    fn a_frame_cut_for_want_of_room_does_not_take_the_next_with_it() {
        let (up, down) = (Fifo::<2>::new(), Fifo::<24>::new());
        let mut port = Port::new(&up, &down, || {});
        let mut link = Link::new(None, 77);
        let mut payload = [0; 5];
        let kind = giveover_core::wire::Write::answer(&mut Put::new(&mut payload), 1, None);
        let mut heard = 0;
        let mut decoder = Decoder::new();
        for turn in 0..20 {
            link.say(&mut port, kind, &payload);
            if turn % 3 == 2 {
                for byte in drain(&down) {
                    heard += u32::from(matches!(decoder.push(byte), Some(Ok(_))));
                }
            }
        }
        assert!(heard >= 6, "{heard} frames whole");
        assert!(link.cut || decoder.garbage() > 0);
    }
}

//! The byte stream to the host, between an interrupt and the loop.

use core::convert::Infallible;

use embedded_io::{ErrorType, Read, ReadReady, Write, WriteReady};

use crate::fifo::Fifo;

/// The loop's end of two queues whose other ends belong to an interrupt.
///
/// Nothing here waits: [`Read::read`] gives what is there, none of it too, and [`Write::write`]
/// takes what fits. `kick` tells the interrupt that there is something to send.
#[derive(Debug)]
pub struct Port<'a, const R: usize, const W: usize> {
    received: &'a Fifo<R>,
    to_send: &'a Fifo<W>,
    kick: fn(),
}

impl<'a, const R: usize, const W: usize> Port<'a, R, W> {
    /// A port over these queues.
    pub const fn new(received: &'a Fifo<R>, to_send: &'a Fifo<W>, kick: fn()) -> Self {
        Self { received, to_send, kick }
    }
}

impl<const R: usize, const W: usize> ErrorType for Port<'_, R, W> {
    type Error = Infallible;
}

impl<const R: usize, const W: usize> Read for Port<'_, R, W> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Infallible> {
        let mut read = 0;
        for place in bytes {
            let Some(byte) = self.received.pop() else { break };
            *place = byte;
            read += 1;
        }
        Ok(read)
    }
}

impl<const R: usize, const W: usize> ReadReady for Port<'_, R, W> {
    fn read_ready(&mut self) -> Result<bool, Infallible> {
        Ok(!self.received.is_empty())
    }
}

impl<const R: usize, const W: usize> Write for Port<'_, R, W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let taken = bytes.iter().take_while(|byte| self.to_send.push(**byte)).count();
        (self.kick)();
        Ok(taken)
    }

    fn flush(&mut self) -> Result<(), Infallible> {
        (self.kick)();
        Ok(())
    }
}

impl<const R: usize, const W: usize> WriteReady for Port<'_, R, W> {
    fn write_ready(&mut self) -> Result<bool, Infallible> {
        Ok(!self.to_send.is_full())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_waits_for_the_other_end() {
        let (received, to_send) = (Fifo::<8>::new(), Fifo::<4>::new());
        let mut port = Port::new(&received, &to_send, || {});
        let mut bytes = [0; 3];
        assert_eq!((port.read_ready(), port.read(&mut bytes)), (Ok(false), Ok(0)));
        b"hello".iter().for_each(|byte| assert!(received.push(*byte)));
        assert_eq!((port.read_ready(), port.read(&mut bytes)), (Ok(true), Ok(3)));
        assert_eq!((port.read(&mut bytes), bytes), (Ok(2), *b"lol"));
        assert_eq!((port.write(b"abcde"), port.write_ready()), (Ok(3), Ok(false)));
        assert_eq!((to_send.pop(), port.write_ready()), (Some(b'a'), Ok(true)));
    }
}

//! The remote protocol of debuggers, as far as stopping, looking and going on.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::{PATIENCE, wait_for};

/// A connection to the debugger's door of an emulator, which stands still while we hold it.
#[derive(Debug)]
pub struct Gdb {
    stream: UnixStream,
    read: Vec<u8>,
}

impl Gdb {
    /// Connects; the processor is stopped from now on.
    pub fn connect(path: &Path) -> Self {
        let stream = wait_for("the debugger's door", || UnixStream::connect(path).ok());
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut gdb = Self { stream, read: Vec::new() };
        // Registers can be named only by who has asked which there are.
        gdb.ask("qXfer:features:read:target.xml:0,ffb");
        gdb
    }

    /// Says something and gives the answer.
    pub fn ask(&mut self, words: &str) -> String {
        self.say(words);
        self.answer()
    }

    fn say(&mut self, words: &str) {
        let sum = words.bytes().fold(0_u8, u8::wrapping_add);
        write!(self.stream, "${words}#{sum:02x}").expect("the emulator listens");
    }

    /// Goes on until the next stop.
    pub fn go_on(&mut self) {
        let answer = self.ask("c");
        assert!(answer.starts_with('T'), "stopped for no reason: {answer}");
    }

    /// Goes on and does not wait.
    pub fn let_go(&mut self) {
        self.say("c");
    }

    /// Stops what was let go.
    pub fn stop(&mut self) {
        self.stream.write_all(&[3]).expect("the emulator listens");
        let answer = self.answer();
        assert!(answer.starts_with('T'), "stopped for no reason: {answer}");
    }

    /// Executes one instruction, which may be one with a stop on it.
    pub fn step(&mut self) {
        self.ask("s");
    }

    /// Stops whenever the instruction at `address` is about to be executed.
    pub fn stop_at(&mut self, address: u32) {
        assert_eq!(self.ask(&format!("Z0,{:x},2", address & !1)), "OK");
    }

    /// No longer stops there.
    pub fn pass_by(&mut self, address: u32) {
        assert_eq!(self.ask(&format!("z0,{:x},2", address & !1)), "OK");
    }

    /// A word of memory or of a device.
    pub fn word(&mut self, address: u32) -> u32 {
        u32::from_le_bytes(self.memory(address, 4).try_into().expect("4 bytes"))
    }

    /// Bytes of memory.
    pub fn memory(&mut self, address: u32, length: usize) -> Vec<u8> {
        let answer = self.ask(&format!("m{address:x},{length:x}"));
        let byte = |at: usize| u8::from_str_radix(&answer[at..at + 2], 16).ok();
        let bytes: Option<Vec<u8>> = (0..answer.len()).step_by(2).map(byte).collect();
        bytes.filter(|bytes| bytes.len() == length).unwrap_or_else(|| panic!("read: {answer}"))
    }

    /// Writes bytes of memory.
    pub fn write(&mut self, address: u32, bytes: &[u8]) {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(self.ask(&format!("M{address:x},{:x}:{hex}", bytes.len())), "OK");
    }

    /// A register: 13 is the stack pointer, 15 the next instruction.
    pub fn register(&mut self, number: u32) -> u32 {
        let answer = self.ask(&format!("p{number:x}"));
        let value = u32::from_str_radix(&answer, 16).expect("a register");
        value.swap_bytes()
    }

    /// Sets a register.
    pub fn set_register(&mut self, number: u32, value: u32) {
        let value = value.swap_bytes();
        assert_eq!(self.ask(&format!("P{number:x}={value:08x}")), "OK");
    }

    fn answer(&mut self) -> String {
        loop {
            let from = self.read.iter().position(|byte| *byte == b'$');
            let to = self.read.iter().position(|byte| *byte == b'#');
            if let (Some(from), Some(to)) = (from, to) {
                if self.read.len() >= to + 3 {
                    let words = String::from_utf8_lossy(&self.read[from + 1..to]).into_owned();
                    self.read.drain(..to + 3);
                    self.stream.write_all(b"+").expect("the emulator listens");
                    return words;
                }
            }
            let mut bytes = [0; 4096];
            let length = match self.stream.read(&mut bytes) {
                // Programs of the test end meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                length => length.expect("the emulator answers"),
            };
            assert!(length > 0, "the emulator is gone");
            self.read.extend_from_slice(&bytes[..length]);
        }
    }
}

//! A serial port over USB (CDC ACM), on the device controller of an RP2040.
//!
//! Everything happens in the controller's interrupt: requests on endpoint 0, bytes on endpoint 2.
//! Line settings are taken and change nothing: opening and closing the port is nothing to us (L9).
//! What we do not know is refused by a stall, as USB wants.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use crate::chip::Register;

pub(crate) const IRQ: u32 = 5;

const MEMORY: usize = 0x5010_0000;
const DEVICE: usize = 0x5011_0000;
const ADDRESS: Register = Register::at(DEVICE);
const CONTROL: Register = Register::at(DEVICE + 0x40);
const WIRE: Register = Register::at(DEVICE + 0x4C);
const STATUS: usize = DEVICE + 0x50;
const DONE: Register = Register::at(DEVICE + 0x58);
const STALL: Register = Register::at(DEVICE + 0x68);
const MUXING: Register = Register::at(DEVICE + 0x74);
const POWER: Register = Register::at(DEVICE + 0x78);
const INTERRUPTS: Register = Register::at(DEVICE + 0x90);

const SETUP: u32 = 1 << 17;
const BUS_RESET: u32 = 1 << 19;

/// Endpoints as their bits in [`DONE`], and their words and buffers in the controller's memory.
const CONTROL_IN: usize = 0;
const CONTROL_OUT: usize = 1;
const NOTICE_IN: usize = 2;
const DATA_IN: usize = 4;
const DATA_OUT: usize = 5;
const CONTROL_BUFFER: usize = 0x100;
const NOTICE_BUFFER: usize = 0x180;
const IN_BUFFER: usize = 0x1C0;
const OUT_BUFFER: usize = 0x200;
const PACKET: usize = 64;

const FULL: u32 = 1 << 15;
const SECOND_KIND: u32 = 1 << 13;
const STALLED: u32 = 1 << 11;
const READY: u32 = 1 << 10;

static CONFIGURED: AtomicBool = AtomicBool::new(false);
/// The address to take once the host has heard our answer; 0 is none.
static NEXT_ADDRESS: AtomicU8 = AtomicU8::new(0);
/// Which kind of packet comes next on each endpoint, as bits.
static KINDS: AtomicU32 = AtomicU32::new(0);
/// A packet of ours is under way.
static SENDING: AtomicBool = AtomicBool::new(false);
/// The last one was full, so that the host waits for more.
static OWED: AtomicBool = AtomicBool::new(false);
/// What is left to say on endpoint 0: which text, from where, how much of it.
static SAYS: AtomicU32 = AtomicU32::new(0);
static DEVICE_NUMBER: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Raspberry Pi's numbers for a serial port on its chip.
const DESCRIPTOR: [u8; 18] =
    [18, 1, 0, 2, 2, 0, 0, 64, 0x8A, 0x2E, 0x0A, 0x00, 0x01, 0x00, 1, 2, 3, 1];
const CONFIGURATION: [u8; 67] = [
    9, 2, 67, 0, 2, 1, 0, 0x80, 50, // two interfaces, 100 mA
    9, 4, 0, 0, 1, 2, 2, 0, 0, // notices
    5, 0x24, 0, 0x10, 0x01, // CDC 1.1
    5, 0x24, 1, 0, 1, // calls are none of ours
    4, 0x24, 2, 2, // line settings are taken
    5, 0x24, 6, 0, 1, // notices and data belong together
    7, 5, 0x81, 3, 8, 0, 255, //
    9, 4, 1, 0, 2, 0x0A, 0, 0, 0, // data
    7, 5, 0x02, 2, 64, 0, 0, //
    7, 5, 0x82, 2, 64, 0, 0,
];
const LANGUAGES: [u8; 4] = [4, 3, 0x09, 0x04];
const MAKER: &[u8] = b"Giveover";
const PRODUCT: &[u8] = b"Giveover board";
/// 115,200 baud 8N1, which is as good as any.
const LINE_SETTINGS: [u8; 7] = [0x00, 0xC2, 0x01, 0x00, 0, 0, 8];

/// What can be said on endpoint 0.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Text {
    Device,
    Configuration,
    Languages,
    Maker,
    Product,
    Number,
    LineSettings,
    Zero,
    One,
    TwoZeros,
}

impl Text {
    const ALL: [Self; 10] = [
        Self::Device,
        Self::Configuration,
        Self::Languages,
        Self::Maker,
        Self::Product,
        Self::Number,
        Self::LineSettings,
        Self::Zero,
        Self::One,
        Self::TwoZeros,
    ];

    fn bytes(self) -> &'static [u8] {
        match self {
            Self::Device => &DESCRIPTOR,
            Self::Configuration => &CONFIGURATION,
            Self::Languages => &LANGUAGES,
            Self::Maker => MAKER,
            Self::Product => PRODUCT,
            Self::Number => &[],
            Self::LineSettings => &LINE_SETTINGS,
            Self::Zero => &[0],
            Self::One => &[1],
            Self::TwoZeros => &[0, 0],
        }
    }

    /// Texts for people go as UTF-16 with two bytes before them.
    fn length(self) -> usize {
        match self {
            Self::Maker | Self::Product => 2 + 2 * self.bytes().len(),
            Self::Number => 2 + 2 * 16,
            _ => self.bytes().len(),
        }
    }

    fn byte(self, at: usize) -> u8 {
        let letter = match self {
            Self::Maker | Self::Product | Self::Number => match (at, at & 1) {
                (0, _) => return self.length() as u8,
                (1, _) => return 3,
                (_, 1) => return 0,
                _ => (at - 2) / 2,
            },
            _ => at,
        };
        if self == Self::Number {
            return digit(letter);
        }
        self.bytes().get(letter).copied().unwrap_or(0)
    }
}

/// A digit of the device's number, the highest first.
fn digit(at: usize) -> u8 {
    let [low, high] = &DEVICE_NUMBER;
    let word = if at < 8 { high } else { low };
    let digit = (word.load(Ordering::Relaxed) >> (28 - 4 * (at & 7))) & 15;
    (if digit < 10 { 48 + digit } else { 55 + digit }) as u8
}

/// Shows itself to the host.
pub(crate) fn start(device: u64) {
    let [low, high] = &DEVICE_NUMBER;
    low.store(device as u32, Ordering::Relaxed);
    high.store((device >> 32) as u32, Ordering::Relaxed);
    for at in (0..0x280).step_by(4) {
        Register::at(MEMORY + at).write(0);
    }
    MUXING.write(1 | 1 << 3);
    POWER.write(1 << 2 | 1 << 3);
    CONTROL.write(1);
    INTERRUPTS.write(1 << 4 | 1 << 12 | 1 << 16);
    WIRE.write(1 << 29 | 1 << 16);
}

/// Whether a host has taken us into use.
pub(crate) fn is_configured() -> bool {
    CONFIGURED.load(Ordering::Relaxed)
}

/// The interrupt: `hear` gets what came, `say` tells what there is to send.
pub(crate) fn look(mut hear: impl FnMut(u8), mut say: impl FnMut() -> Option<u8>) {
    let status = Register::at(STATUS).read();
    if status & BUS_RESET != 0 {
        Register::at(STATUS).write(BUS_RESET);
        ADDRESS.write(0);
        CONFIGURED.store(false, Ordering::Relaxed);
        SENDING.store(false, Ordering::Relaxed);
        NEXT_ADDRESS.store(0, Ordering::Relaxed);
    }
    let done = DONE.read();
    DONE.write(done);
    if done & 1 << CONTROL_IN != 0 {
        control_sent();
    }
    // Line settings have come, and nobody needs them; an empty packet is the end of an answer.
    if done & 1 << CONTROL_OUT != 0 && buffer(CONTROL_OUT).read() & 0x3FF != 0 {
        give(CONTROL_IN, 0);
    }
    if status & SETUP != 0 {
        Register::at(STATUS).write(SETUP);
        setup();
    }
    if done & 1 << DATA_OUT != 0 {
        let length = (buffer(DATA_OUT).read() & 0x3FF) as usize;
        for at in 0..length.min(PACKET) {
            hear(byte_at(OUT_BUFFER + at));
        }
        give(DATA_OUT, PACKET);
    }
    if done & 1 << DATA_IN != 0 {
        SENDING.store(false, Ordering::Relaxed);
    }
    if CONFIGURED.load(Ordering::Relaxed) && !SENDING.load(Ordering::Relaxed) {
        let mut length = 0;
        while length < PACKET {
            let Some(byte) = say() else { break };
            put_byte(IN_BUFFER, length, byte);
            length += 1;
        }
        // Behind a full packet one of no length says that this was all.
        if length > 0 || OWED.load(Ordering::Relaxed) {
            OWED.store(length == PACKET, Ordering::Relaxed);
            SENDING.store(true, Ordering::Relaxed);
            give(DATA_IN, length);
        }
    }
}

/// A request of the host.
fn setup() {
    let (first, second) = (Register::at(MEMORY).read(), Register::at(MEMORY + 4).read());
    let (kind, request, value) = (first as u8, (first >> 8) as u8, (first >> 16) as u16);
    let wanted = (second >> 16) as usize;
    SAYS.store(0, Ordering::Relaxed);
    // What follows a request on endpoint 0 begins with the second kind of packet.
    KINDS.set_bits(1 << CONTROL_IN | 1 << CONTROL_OUT);
    match (kind, request) {
        (0x80, 6) => match text(value) {
            Some(text) => answer(text, wanted),
            None => stall(),
        },
        (0x00, 5) => {
            NEXT_ADDRESS.store(value as u8 & 127, Ordering::Relaxed);
            give(CONTROL_IN, 0);
        }
        (0x00, 9) => {
            configure(value & 0xFF != 0);
            give(CONTROL_IN, 0);
        }
        (0x80, 8) => answer(if is_configured() { Text::One } else { Text::Zero }, wanted),
        (0x80..=0x82, 0) => answer(Text::TwoZeros, wanted),
        (0x81, 10) => answer(Text::Zero, wanted),
        (0xA1, 0x21) => answer(Text::LineSettings, wanted),
        // New line settings come behind the request, and then we say that they have.
        (0x21, 0x20) => give(CONTROL_OUT, PACKET),
        (0x00..=0x02, 1 | 3) | (0x01, 11) | (0x21, 0x22 | 0x23) => give(CONTROL_IN, 0),
        _ => stall(),
    }
}

fn text(value: u16) -> Option<Text> {
    Some(match value {
        0x0100 => Text::Device,
        0x0200 => Text::Configuration,
        0x0300 => Text::Languages,
        0x0301 => Text::Maker,
        0x0302 => Text::Product,
        0x0303 => Text::Number,
        _ => return None,
    })
}

fn answer(text: Text, wanted: usize) {
    let length = text.length().min(wanted);
    SAYS.store((text as u32) << 24 | length as u32, Ordering::Relaxed);
    go_on();
}

/// The next packet of what is being said on endpoint 0.
fn go_on() {
    let says = SAYS.load(Ordering::Relaxed);
    let (from, length) = ((says >> 12 & 0xFFF) as usize, (says & 0xFFF) as usize);
    let Some(text) = Text::ALL.get((says >> 24) as usize) else { return };
    let some = length.saturating_sub(from).min(PACKET);
    for at in 0..some {
        put_byte(CONTROL_BUFFER, at, text.byte(from + at));
    }
    SAYS.store(says.wrapping_add((some as u32) << 12), Ordering::Relaxed);
    give(CONTROL_IN, some);
}

fn control_sent() {
    let address = NEXT_ADDRESS.load(Ordering::Relaxed);
    if address != 0 {
        NEXT_ADDRESS.store(0, Ordering::Relaxed);
        ADDRESS.write(u32::from(address));
    }
    let says = SAYS.load(Ordering::Relaxed);
    let (from, length) = (says >> 12 & 0xFFF, says & 0xFFF);
    if length == 0 {
        return;
    }
    if from < length {
        go_on();
    } else {
        // The host says by an empty packet that it has all.
        SAYS.store(0, Ordering::Relaxed);
        KINDS.set_bits(1 << CONTROL_OUT);
        give(CONTROL_OUT, PACKET);
    }
}

fn configure(on: bool) {
    KINDS.clear_bits(1 << NOTICE_IN | 1 << DATA_IN | 1 << DATA_OUT);
    SENDING.store(false, Ordering::Relaxed);
    OWED.store(false, Ordering::Relaxed);
    let enabled = if on { 1 << 31 | 1 << 29 } else { 0 };
    endpoint(NOTICE_IN, enabled | 3 << 26, NOTICE_BUFFER);
    endpoint(DATA_IN, enabled | 2 << 26, IN_BUFFER);
    endpoint(DATA_OUT, enabled | 2 << 26, OUT_BUFFER);
    CONFIGURED.store(on, Ordering::Relaxed);
    if on {
        give(DATA_OUT, PACKET);
    }
}

fn endpoint(endpoint: usize, how: u32, place: usize) {
    Register::at(MEMORY + 4 * endpoint).write(how | place as u32);
}

/// Gives the controller a packet to send, or room for one to come.
fn give(endpoint: usize, length: usize) {
    let bit = 1 << endpoint;
    let kind = if KINDS.load(Ordering::Relaxed) & bit != 0 { SECOND_KIND } else { 0 };
    if kind == 0 {
        KINDS.set_bits(bit);
    } else {
        KINDS.clear_bits(bit);
    }
    let full = if endpoint & 1 == 0 { FULL } else { 0 };
    let word = full | kind | length as u32;
    buffer(endpoint).write(word);
    // The controller has a clock of its own, and must see all else before it is told to go.
    for _ in 0..12 {
        core::hint::spin_loop();
    }
    buffer(endpoint).write(word | READY);
}

fn stall() {
    SAYS.store(0, Ordering::Relaxed);
    STALL.write(0b11);
    buffer(CONTROL_IN).write(STALLED);
    buffer(CONTROL_OUT).write(STALLED);
}

const fn buffer(endpoint: usize) -> Register {
    Register::at(MEMORY + 0x80 + 4 * endpoint)
}

fn byte_at(at: usize) -> u8 {
    (Register::at(MEMORY + (at & !3)).read() >> (8 * (at & 3))) as u8
}

/// Bytes are put in order, each into its word.
fn put_byte(place: usize, at: usize, byte: u8) {
    let word = Register::at(MEMORY + place + (at & !3));
    let shift = 8 * (at & 3);
    word.write(word.read() & !(0xFF << shift) | u32::from(byte) << shift);
}

/// All of this is in one interrupt, so that nothing comes between reading and writing.
trait Bits {
    fn set_bits(&self, bits: u32);
    fn clear_bits(&self, bits: u32);
}

impl Bits for AtomicU32 {
    fn set_bits(&self, bits: u32) {
        self.store(self.load(Ordering::Relaxed) | bits, Ordering::Relaxed);
    }

    fn clear_bits(&self, bits: u32) {
        self.store(self.load(Ordering::Relaxed) & !bits, Ordering::Relaxed);
    }
}

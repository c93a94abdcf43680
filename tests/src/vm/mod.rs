//! A board in QEMU, tick by tick in its own time.
//!
//! The emulator counts instructions instead of looking at a clock and stops at every tick of the
//! board's timer; whatever the test does meanwhile takes no time at all there. So the same test
//! sees the same ticks on any machine, however busy.
//!
//! The image is the one that is flashed, but for one instruction: sleeping would tie the
//! emulator to the clock, so where the processor would sleep it does nothing and looks again.

mod gdb;
pub mod host;
mod image;
pub mod lines;
pub mod shadowed;
pub mod twin;
pub mod wired;

use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use giveover_firmware::kept::Kept;
use tempfile::TempDir;

pub use gdb::Gdb;
use image::{image, symbols, unslept};

use crate::wait_for;

/// A board that QEMU knows.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name there and here.
    name: &'static str,
    /// With the shadows of the host's monitors.
    shadow: bool,
    /// With a log.
    log: bool,
    /// The handler of its periodic timer.
    tick: &'static str,
    /// The register that shows the lines, and their bits while held.
    lines: u32,
    line: u32,
    second: u32,
    /// What the emulator can say of its pins.
    trace: &'static str,
    /// How many bytes its receiver holds.
    receiver: usize,
    /// RAM that nobody uses.
    spare: u32,
    /// What of the emulator is the pin that reads the line back, where the board has one.
    sense: &'static str,
    /// Two to the power of this are the nanoseconds an instruction takes: more than the real ones
    /// do, for a test that is quicker, and few enough for all there is to do in a tick.
    shift: u32,
}

/// A Cortex-M3 with a watchdog and RAM that outlives a reset.
pub const LM3S6965EVB: Kind = Kind {
    name: "lm3s6965evb",
    shadow: false,
    log: false,
    tick: "SysTick",
    lines: 0x4002_5400,
    line: 1 << 0,
    second: 1 << 2,
    trace: "pl061_set_output",
    receiver: 16,
    spare: 0x2000_8000,
    sense: "/machine/unattached/device[13] unnamed-gpio-in 5",
    shift: 10,
};

/// A Cortex-M0 with flash that keeps its rules, and without a watchdog.
pub const MICROBIT: Kind = Kind {
    name: "microbit",
    shadow: false,
    log: false,
    tick: "periodic",
    lines: 0x5000_0504,
    line: 1 << 3,
    second: 1 << 2,
    trace: "nrf51_gpio_update_output_irq",
    receiver: SLOW,
    spare: 0x2000_2000,
    sense: "",
    shift: 8,
};

/// A byte that is no code and no address.
const PAINT: u8 = 0xC3;

/// As many bytes a tick as the smallest receiver holds.
pub(crate) const SLOW: usize = 6;

/// Milliseconds from tick to tick.
pub const TICK_MS: u64 = 10;

/// A step of a pulse, as a board does them in order (L5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This word of the record that says it is wanted, 1 to [`RECORD`], is about to be written.
    Intent(u32),
    /// The line is held.
    Held,
    /// The same of the record that says it is over.
    Done(u32),
}

impl Step {
    /// Whether the line has been held by then.
    #[must_use]
    pub const fn has_pulsed(self) -> bool {
        !matches!(self, Self::Intent(_))
    }
}

/// How many words of flash a record is; the last is its checksum, without which it is none.
pub const RECORD: u32 = Kept::WORDS as u32 / 2;

/// The word that every record begins with.
const RECORD_BEGINS: u32 = 0x4756_4F31;

/// Whether QEMU is on this machine; says that the test was skipped where it is not.
#[must_use]
pub fn is_here() -> bool {
    let version = Command::new("qemu-system-arm").arg("--version").stdout(Stdio::null()).status();
    let here = version.is_ok_and(|status| status.success());
    if !here {
        println!("skipped: qemu: qemu-system-arm is not installed");
    }
    here
}

/// The most stack the image of a board can use, in bytes, as computed from its code.
#[must_use]
pub fn stack_bound(kind: Kind) -> u32 {
    image(kind).1
}

impl Kind {
    /// The same board with the image that shadows.
    #[must_use]
    pub const fn shadowing(self) -> Self {
        Self { shadow: true, ..self }
    }

    /// The same board with the image that logs, on its second UART.
    #[must_use]
    pub const fn logging(self) -> Self {
        Self { log: true, ..self }
    }

    /// Its name in QEMU and here.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// An emulated board, stopped at a tick.
#[derive(Debug)]
pub struct Vm {
    kind: Kind,
    /// Ended when we are.
    _emulator: Emulator,
    /// Its debugger.
    pub gdb: Gdb,
    serial: UnixStream,
    /// From the line to the pin that reads it back.
    wire: Option<Wire>,
    symbols: HashMap<String, u32>,
    dir: TempDir,
    ticks: u64,
    /// What the lines were at each tick where they changed: tick, reset line, second line.
    edges: Vec<(u64, bool, bool)>,
}

impl Vm {
    /// Powers a board up; it is stopped at its first tick.
    ///
    /// # Panics
    /// The emulator does not start.
    #[must_use]
    pub fn start(kind: Kind) -> Self {
        Self::power_up(kind, false)
    }

    /// The same with the line wired to the pin that reads it back.
    ///
    /// # Panics
    /// The emulator does not start, or the board has no such pin.
    #[must_use]
    pub fn start_wired(kind: Kind) -> Self {
        assert!(!kind.sense.is_empty(), "{} has no pin for it", kind.name);
        Self::power_up(kind, true)
    }

    fn power_up(kind: Kind, wired: bool) -> Self {
        let dir = tempfile::Builder::new().prefix("giveover-vm-").tempdir().expect("a directory");
        let elf = fs::read(image(kind).0).expect("an image");
        let symbols = symbols(&elf).expect("an ELF file");
        let awake = dir.path().join("image");
        fs::write(&awake, unslept(elf)).expect("an image");
        let path = |name: &str| dir.path().join(name);
        let door = |name: &str| format!("unix:{},server=on,wait=off", path(name).display());
        let mut command = Command::new("qemu-system-arm");
        command.args(["-machine", kind.name, "-display", "none", "-monitor", "none", "-S"]);
        command.args(["-gdb", &door("gdb"), "-serial", &door("serial")]);
        command.args(["-icount", &format!("shift={}", kind.shift), "-trace", kind.trace]);
        if wired {
            command.args(["-accel", "tcg", "-qtest", &door("pins"), "-qtest-log", "/dev/null"]);
        }
        if kind.log {
            command.args(["-serial", &format!("file:{}", path("log").display())]);
        }
        command.arg("-kernel").arg(&awake);
        let log = fs::File::create(path("trace")).expect("a file");
        let nothing = Stdio::null();
        let child = command.stdin(nothing).stdout(Stdio::null()).stderr(log).spawn().expect("QEMU");
        let serial = wait_for("the serial line", || UnixStream::connect(path("serial")).ok());
        serial.set_nonblocking(true).expect("a socket");
        let wire = wired.then(|| Wire::connect(kind, &path("pins")));
        let mut gdb = Gdb::connect(&path("gdb"));
        let tick = *symbols.get(kind.tick).expect("the timer's handler");
        gdb.stop_at(tick);
        let mut vm = Self {
            kind,
            _emulator: Emulator(child),
            gdb,
            serial,
            wire,
            symbols,
            dir,
            ticks: 0,
            edges: vec![(0, false, false)],
        };
        vm.gdb.go_on();
        vm.look();
        vm
    }

    /// Goes on to the next tick.
    pub fn tick(&mut self) {
        self.gdb.step();
        self.gdb.go_on();
        self.ticks += 1;
        self.look();
    }

    /// From now on no more bytes come in a tick than the smallest receiver of all holds.
    pub fn slow_line(&mut self) {
        self.kind.receiver = SLOW;
    }

    /// Goes on until the function of this name is about to be called for the `n`-th time, or for so
    /// many milliseconds at the most. Whether it was.
    ///
    /// # Panics
    /// The image has no such function.
    pub fn run_until(&mut self, function: &str, n: u32, ms: u64) -> bool {
        let (place, end) = (*self.symbols.get(function).expect("a function"), self.now() + ms);
        let mut left = n;
        self.gdb.stop_at(place);
        while left > 0 && self.now() < end {
            self.gdb.step();
            self.gdb.go_on();
            if self.gdb.register(15) == place & !1 {
                left -= 1;
            } else {
                self.ticks += 1;
            }
            self.look();
        }
        self.gdb.pass_by(place);
        left == 0
    }

    /// Goes on until the next pulse, if it comes within so many milliseconds, is at this step. Whether
    /// it was.
    ///
    /// # Panics
    /// What the board writes to its flash is not the record of that step.
    pub fn run_to(&mut self, step: Step, ms: u64) -> bool {
        let (end, before) = (self.now() + ms, self.pulses().len());
        while !matches!(step, Step::Intent(_)) && self.pulses().len() == before {
            if self.now() >= end {
                return false;
            }
            self.tick();
        }
        let (Step::Intent(word) | Step::Done(word)) = step else { return true };
        let left = end.saturating_sub(self.now());
        if !self.run_until("program", 1, left) {
            return false;
        }
        assert_eq!(self.gdb.register(1), RECORD_BEGINS, "a record begins");
        let over = self.pulses().get(before).is_some_and(|pulse| pulse.1.is_some());
        assert_eq!(over, matches!(step, Step::Done(_)), "{step:?}, {:?}", self.pulses());
        word <= 1 || self.run_until("program", word - 1, left)
    }

    /// The power goes and comes back, here and now: RAM is anything, flash is what it is.
    pub fn cut_power(&mut self) {
        let kept = self.symbols.iter().find(|symbol| symbol.0.contains("4KEPT"));
        let kept = *kept.expect("retained RAM").1;
        self.gdb.write(kept, &[0x5A; 128]);
        self.gdb.write(kept + 128, &[0x5A; 128]);
        // `str r1, [r0]` and `b .`: the processor asks for a reset of everything.
        self.gdb.write(self.kind.spare, &[0x01, 0x60, 0xFE, 0xE7]);
        self.gdb.set_register(0, 0xE000_ED0C);
        self.gdb.set_register(1, 0x05FA_0004);
        self.gdb.set_register(15, self.kind.spare);
        self.gdb.go_on();
        self.ticks += 1;
        // On a busy machine the emulator may be a few ticks late with it.
        while self.up_ticks() > 0 {
            self.tick();
        }
        self.look();
    }

    /// Lets the board run in the time of this machine while `talk` has the serial line.
    ///
    /// # Panics
    /// The emulator is gone.
    pub fn let_go(&mut self, talk: impl FnOnce(&mut UnixStream)) {
        let tick = *self.symbols.get(self.kind.tick).expect("the timer's handler");
        self.gdb.step();
        self.gdb.pass_by(tick);
        self.gdb.let_go();
        talk(&mut self.serial);
        self.gdb.stop();
        self.gdb.stop_at(tick);
        self.gdb.go_on();
        // How many there were without us is not known here: the count goes on where it was.
        self.ticks += 1;
        self.look();
    }

    /// The most stack that was used since [`Vm::paint`], in bytes.
    pub fn high_water(&mut self) -> u32 {
        let (from, top) = self.stack();
        let bytes = self.gdb.memory(from, 1024);
        let rest = self.gdb.memory(from + 1024, 1024);
        let clean = bytes.iter().chain(&rest).take_while(|byte| **byte == PAINT).count();
        top - from - clean as u32
    }

    /// Paints what the stack does not use now, as far as it may ever go.
    pub fn paint(&mut self) {
        let (from, _) = self.stack();
        // What stands below the stack pointer is nobody's.
        let used = self.gdb.register(13);
        for at in (from..used).step_by(64) {
            let length = 64.min(used - at) as usize;
            self.gdb.write(at, &[PAINT; 64][..length]);
        }
    }

    /// Where the stack may be: twice the bound of the larger board, up to the end of RAM.
    fn stack(&self) -> (u32, u32) {
        let top = *self.symbols.get("_stack_start").expect("the stack");
        (top - 2048, top)
    }

    /// Goes on for so many milliseconds of the board.
    pub fn run(&mut self, ms: u64) {
        (0..ms / TICK_MS).for_each(|_| self.tick());
    }

    /// Milliseconds since it was powered up, by its ticks.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.ticks * TICK_MS
    }

    /// Whether the reset line and the second line are held.
    #[must_use]
    pub fn lines(&self) -> (bool, bool) {
        self.edges.last().map_or((false, false), |edge| (edge.1, edge.2))
    }

    /// From when to when the reset line was held, in milliseconds; the last may still be.
    #[must_use]
    pub fn pulses(&self) -> Vec<(u64, Option<u64>)> {
        let mut pulses: Vec<(u64, Option<u64>)> = vec![];
        for (tick, line, _) in &self.edges {
            let open = pulses.last().is_some_and(|pulse| pulse.1.is_none());
            match (line, open) {
                (true, false) => pulses.push((tick * TICK_MS, None)),
                (false, true) => pulses.last_mut().expect("a pulse").1 = Some(tick * TICK_MS),
                _ => {}
            }
        }
        pulses
    }

    /// What the emulator itself saw of the pins, between ticks too: pin and level in order.
    ///
    /// # Panics
    /// It wrote nothing.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.path().join("trace")).expect("the trace");
        text.lines().filter(|line| line.contains(self.kind.trace)).map(str::to_owned).collect()
    }

    /// How often the emulator saw the reset line being held, between ticks too.
    #[must_use]
    pub fn held(&self) -> usize {
        let held = ["output 0 to 0", "line 3 value 1"];
        let trace = self.trace();
        trace.iter().filter(|line| held.iter().any(|held| line.ends_with(held))).count()
    }

    /// The lines of its log until now, of an image that has one.
    ///
    /// # Panics
    /// It has none, or one cannot be read.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        let elf = fs::read(image(self.kind).0).expect("an image");
        let mut lines = lines::Lines::of(&elf).expect("an image with a log");
        let bytes = fs::read(self.dir.path().join("log")).expect("a log");
        let text = lines.hear(&bytes);
        assert_eq!(lines.lost, 0, "all can be read");
        text
    }

    /// Ticks since the board itself last started.
    pub fn up_ticks(&mut self) -> u32 {
        let ticks = *self.symbols.get("GIVEOVER_TICKS").expect("the board's count of ticks");
        self.gdb.word(ticks)
    }

    /// Gives the board bytes; a tick passes for as many as its receiver holds.
    ///
    /// # Panics
    /// The emulator is gone.
    pub fn send(&mut self, bytes: &[u8]) {
        for some in bytes.chunks(self.kind.receiver) {
            self.serial.write_all(some).expect("the serial line");
            // The emulator takes a byte each time it looks round.
            for _ in 0..some.len() + 4 {
                self.gdb.word(self.kind.lines);
            }
            self.tick();
        }
    }

    /// What the board has sent until now.
    ///
    /// # Panics
    /// The emulator is gone.
    pub fn received(&mut self) -> Vec<u8> {
        let mut all = vec![];
        let mut bytes = [0; 1024];
        loop {
            match self.serial.read(&mut bytes) {
                Ok(0) => panic!("the emulator is gone"),
                Ok(length) => all.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return all,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => panic!("the serial line: {error}"),
            }
        }
    }

    /// Makes the processor turn on the spot, where its loop is, for ever. Interrupts go on.
    pub fn get_stuck(&mut self) {
        // Out of the handler of the timer first.
        self.gdb.step();
        while self.gdb.register(25) & 0x1FF != 0 {
            self.gdb.step();
        }
        // `b .`, where neither variables nor the stack reach.
        self.gdb.write(self.kind.spare, &[0xFE, 0xE7]);
        self.gdb.set_register(15, self.kind.spare);
    }

    /// The address of a symbol.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.symbols.get(name).copied()
    }

    fn look(&mut self) {
        let lines = self.gdb.word(self.kind.lines);
        let seen = (lines & self.kind.line != 0, lines & self.kind.second != 0);
        if seen != self.lines() {
            self.edges.push((self.ticks, seen.0, seen.1));
        }
        if let Some(wire) = &mut self.wire {
            wire.set(!seen.0);
        }
    }
}

/// A wire from the host's end of the reset line to the pin that reads it.
#[derive(Debug)]
struct Wire {
    pins: UnixStream,
    pin: &'static str,
    high: Option<bool>,
}

impl Wire {
    fn connect(kind: Kind, door: &Path) -> Self {
        let pins = wait_for("the pins", || UnixStream::connect(door).ok());
        Self { pins, pin: kind.sense, high: None }
    }

    fn set(&mut self, high: bool) {
        if self.high.replace(high) == Some(high) {
            return;
        }
        let command = format!("set_irq_in {} {}\n", self.pin, u8::from(high));
        self.pins.write_all(command.as_bytes()).expect("the pins");
        let mut said = [0; 64];
        let length = loop {
            match self.pins.read(&mut said) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                length => break length.expect("the pins"),
            }
        };
        assert!(said[..length].starts_with(b"OK"), "{}", String::from_utf8_lossy(&said));
    }
}

/// Runs the image as it is flashed, sleep and all, in the time of this machine, and gives `talk`
/// its serial line.
///
/// # Panics
/// The emulator does not start.
pub fn as_flashed(kind: Kind, talk: impl FnOnce(&mut UnixStream)) {
    let dir = tempfile::Builder::new().prefix("giveover-vm-").tempdir().expect("a directory");
    let door = dir.path().join("serial");
    let mut command = Command::new("qemu-system-arm");
    command.args(["-machine", kind.name, "-display", "none", "-monitor", "none", "-serial"]);
    command.arg(format!("unix:{},server=on,wait=off", door.display()));
    command.arg("-kernel").arg(image(kind).0);
    let mut emulator = Emulator(command.stdin(Stdio::null()).spawn().expect("QEMU"));
    talk(&mut wait_for("the serial line", || UnixStream::connect(&door).ok()));
    assert!(emulator.0.try_wait().expect("a child").is_none(), "the emulator is gone");
}

/// Ends with us, however we end.
#[derive(Debug)]
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

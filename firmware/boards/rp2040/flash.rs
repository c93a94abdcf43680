//! The last sectors of the flash beside an RP2040, for the ring of records, and its own number.
//!
//! While the flash is written or asked it cannot be run from: what does so stands in RAM, calls
//! nothing but the chip's own routines, and lets no interrupt through. The processor stands still
//! for it, some 50 ms while a sector is erased and 400 ms at the worst.

use crate::chip::flash::Pages;

const SECTOR: usize = 4096;
/// The flash programs this much at once; ones leave a bit as it is.
const PAGE: usize = 256;

/// The last of 512.
pub(crate) struct Last;

impl Pages for Last {
    const PAGE: usize = SECTOR;
    const COUNT: usize = 4;
    const FIRST: usize = 508 * SECTOR;
    const READ: usize = 0x1000_0000;

    fn erase(sector: usize) {
        away(&Rom::find(), &mut Work::Erase(sector));
    }

    fn program(to: usize, word: u32) {
        let mut page = [0xFF; PAGE];
        let at = to % PAGE;
        page.iter_mut().skip(at).zip(word.to_le_bytes()).for_each(|(to, from)| *to = from);
        away(&Rom::find(), &mut Work::Program(to - at, &page));
    }
}

/// The number that the flash was made with, which is the board's: the chip has none.
pub(crate) fn number() -> u64 {
    let mut said = [0; 13];
    away(&Rom::find(), &mut Work::Number(&mut said));
    // Behind the command and four bytes of nothing.
    said.iter().skip(5).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The chip's own routines.
struct Rom {
    connect: extern "C" fn(),
    leave: extern "C" fn(),
    erase: extern "C" fn(usize, usize, u32, u8),
    program: extern "C" fn(usize, *const u8, usize),
    flush: extern "C" fn(),
    enter: extern "C" fn(),
}

impl Rom {
    fn find() -> Self {
        // SAFETY: in every RP2040 there stand, at these addresses, the address of a table and that
        // of a function which finds in it what two letters name; all six are in every version, with
        // these arguments.
        unsafe {
            let half = |at: usize| usize::from((at as *const u16).read_volatile());
            let table = half(0x14);
            let find: extern "C" fn(usize, u32) -> *const () = core::mem::transmute(half(0x18));
            let routine = |name: [u8; 2]| find(table, u32::from(u16::from_le_bytes(name)));
            Self {
                connect: core::mem::transmute::<*const (), extern "C" fn()>(routine(*b"IF")),
                leave: core::mem::transmute::<*const (), extern "C" fn()>(routine(*b"EX")),
                erase: core::mem::transmute::<*const (), extern "C" fn(usize, usize, u32, u8)>(
                    routine(*b"RE"),
                ),
                program: core::mem::transmute::<*const (), extern "C" fn(usize, *const u8, usize)>(
                    routine(*b"RP"),
                ),
                flush: core::mem::transmute::<*const (), extern "C" fn()>(routine(*b"FC")),
                enter: core::mem::transmute::<*const (), extern "C" fn()>(routine(*b"CX")),
            }
        }
    }
}

/// What to do with the flash.
enum Work<'a> {
    Erase(usize),
    Program(usize, &'a [u8; PAGE]),
    Number(&'a mut [u8; 13]),
}

/// Does it, with the flash away meanwhile. Afterwards the flash is read by the slow and simple way
/// of the chip's own routine, which is fast enough for us.
#[unsafe(link_section = ".data.away")]
#[inline(never)]
fn away(rom: &Rom, work: &mut Work<'_>) {
    // SAFETY: masks interrupts, whose code is in the flash; let through again below.
    unsafe { core::arch::asm!("cpsid i", options(nostack, preserves_flags)) };
    (rom.connect)();
    (rom.leave)();
    match work {
        Work::Erase(sector) => (rom.erase)(*sector, SECTOR, SECTOR as u32, 0x20),
        Work::Program(page, bytes) => (rom.program)(*page, bytes.as_ptr(), PAGE),
        Work::Number(said) => ask(said),
    }
    (rom.flush)();
    (rom.enter)();
    // SAFETY: as above; nobody calls us from where they were masked already.
    unsafe { core::arch::asm!("cpsie i", options(nostack, preserves_flags)) };
}

/// A command and what the flash says to it, byte for byte.
#[inline(always)]
fn ask(said: &mut [u8; 13]) {
    const SELECT: usize = 0x4001_800C;
    const STATUS: usize = 0x1800_0028;
    const DATA: usize = 0x1800_0060;
    const UNIQUE_NUMBER: u32 = 0x4B;
    // SAFETY: registers of this chip, by themselves and not by `Register`, which is in the flash.
    unsafe {
        let select = SELECT as *mut u32;
        select.write_volatile(select.read_volatile() & !(3 << 8) | 2 << 8);
        let mut command = UNIQUE_NUMBER;
        for byte in said.iter_mut() {
            while (STATUS as *const u32).read_volatile() & 1 << 1 == 0 {}
            (DATA as *mut u32).write_volatile(command);
            command = 0;
            while (STATUS as *const u32).read_volatile() & 1 << 3 == 0 {}
            *byte = (DATA as *const u32).read_volatile() as u8;
        }
        select.write_volatile(select.read_volatile() & !(3 << 8) | 3 << 8);
    }
}

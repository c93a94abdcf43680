//! A board's hardware, as all that this library sees of it.

use embedded_hal::digital::{OutputPin, PinState};
use embedded_io::{Read, ReadReady, Write};
use embedded_storage::nor_flash::NorFlash;

use giveover_core::time::Span;

use crate::line::Wiring;
use crate::store::Memory;
use crate::tick::Counter;

/// What a board has to have. Registers, pins and `unsafe` stay behind it.
pub trait Board {
    /// The host's reset line.
    type Line: OutputPin;
    /// The second line: alarm, or what the maker wired to it.
    type Second: OutputPin;
    /// RAM that keeps its bytes over a reset.
    type Memory: Memory;
    /// Flash pages for the ring of records.
    type Flash: NorFlash;
    /// The byte stream to the host; reading and writing it never waits.
    type Serial: Read + ReadReady + Write;

    /// The board's name; twelve letters of it are told.
    const NAME: &'static str;

    /// How the pins move both lines.
    const WIRING: Wiring;

    /// The counter behind [`Board::now`].
    const COUNTER: Counter;

    /// From one tick of the periodic timer to the next.
    const TICK: Span;

    /// What the free-running counter shows.
    fn now(&mut self) -> u32;

    /// How often the periodic timer has gone off since the start, wrapping. It is the second
    /// mechanism that ends a pulse, and it goes on while [`Board::now`] stands still.
    fn ticks(&mut self) -> u32;

    /// The device's own number, which no other of its kind has.
    fn device(&mut self) -> u64;

    /// Which image it runs: a number that no other image has.
    fn image(&mut self) -> u64;

    /// Whether the chip says that it was powered up just now; `None` where it cannot tell. A
    /// hint, no more: it is not believed when it says the opposite of what memory shows.
    fn was_powered_up(&mut self) -> Option<bool>;

    /// Makes the pin of the reset line an output whose level is `released` from the first moment.
    /// Asked for once.
    fn line(&mut self, released: PinState) -> Self::Line;

    /// The same for the second line.
    fn second(&mut self, released: PinState) -> Self::Second;

    /// Whether the reset line reads high, where a pin is wired to tell.
    fn sense(&mut self) -> Option<bool>;

    /// Whether the pin of the second line reads as on, where it can be read.
    fn second_reads(&mut self) -> Option<bool>;

    /// Switches the light.
    fn light(&mut self, on: bool);

    /// Switches the light that says across a room that a person is needed, where there is one.
    fn held(&mut self, _: bool) {}

    /// Whether the jumper is set that switches the board off for good.
    fn jumper(&mut self) -> bool;

    /// Whether the host has power, where a pin is wired to tell.
    fn host_power(&mut self) -> Option<bool>;

    /// Whether the port to the host is there, where that can be seen; a lost port is not a lost
    /// host (L9).
    fn port(&mut self) -> Option<bool>;

    /// What keeps the record. Asked for once.
    fn store(&mut self) -> (Self::Memory, Option<Self::Flash>);

    /// Feeds the chip's own watchdog. Nothing but the loop may call it, and only when all it has
    /// to do is done.
    fn watchdog(&mut self);

    /// The byte stream to the host.
    fn serial(&mut self) -> &mut Self::Serial;
}

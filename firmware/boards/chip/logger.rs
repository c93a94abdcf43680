//! Lines of log by a UART of their own, each a few bytes whose words are in the image's ELF file.

use core::cell::UnsafeCell;

struct Lines(UnsafeCell<defmt::Encoder>);

// SAFETY: a line is begun, written and ended from the loop, before it does anything else; no handler
// of an interrupt logs, and there is one processor.
unsafe impl Sync for Lines {}

static LINES: Lines = Lines(UnsafeCell::new(defmt::Encoder::new()));

#[defmt::global_logger]
struct ByUart;

impl ByUart {
    fn with(what: impl FnOnce(&mut defmt::Encoder)) {
        // SAFETY: as above; what is done with it calls nothing that logs.
        what(unsafe { &mut *LINES.0.get() });
    }
}

// SAFETY: there is one context that logs, as above, so it is never acquired twice.
unsafe impl defmt::Logger for ByUart {
    fn acquire() {
        Self::with(|lines| lines.start_frame(crate::log));
    }

    unsafe fn flush() {}

    unsafe fn release() {
        Self::with(|lines| lines.end_frame(crate::log));
    }

    unsafe fn write(bytes: &[u8]) {
        Self::with(|lines| lines.write(bytes, crate::log));
    }
}

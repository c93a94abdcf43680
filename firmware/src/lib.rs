//! Firmware library of the Giveover watchdog board: what every board does alike.
//!
//! The board runs the decision core on one more service, its host; *restart* is a pulse of the
//! host's reset line. This library is host code as much as board code: it knows no registers,
//! and everything in it is tested where it is compiled.
//!
//! - [`tick`]: milliseconds that never wrap, from a hardware counter that does.
//! - [`mod@line`]: the reset line, which is released in every state but one, and in that one for a
//!   second at most.
//! - [`store`]: the record that outlives resets and power cuts, in retained RAM and flash.
//! - [`link`]: frames from the host and to it, over [`serial`].
//! - [`fifo`]: bytes from an interrupt to the loop.
//!
//! What it leaves to board support: pins, the periodic timer, and calling
//! [`line::ResetLine::release`] from the handlers of faults and panics.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(any(test, feature = "bench"))]
pub mod bench;
pub mod board;
pub mod contact;
pub mod fifo;
pub mod hardware;
pub mod kept;
pub mod light;
pub mod line;
pub mod link;
pub mod serial;
pub mod store;
pub mod tick;

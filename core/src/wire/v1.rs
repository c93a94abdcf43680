//! What host and board say to each other, version 1, as bytes of a fixed layout.

mod event;
mod from_board;
mod to_board;

pub use event::{EventBytes, ToShadow};
pub use from_board::{About, FromBoard, Lines, Write};
pub use to_board::{Ask, ToBoard};

//! The boards, and the bounds their images keep.

/// A board that has an image.
#[derive(Debug)]
pub(crate) struct Board {
    /// The image's name, its feature, and the argument of `--board`.
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    /// The most its stack may take, in bytes.
    pub(crate) stack: u32,
}

/// The most an image may take of flash, in bytes (L11).
pub(crate) const FLASH: u32 = 16 * 1024;
/// The most its variables may take of RAM, in bytes (L11).
pub(crate) const RAM: u32 = 4 * 1024;

pub(crate) const BOARDS: [Board; 1] =
    [Board { name: "lm3s6965evb", target: "thumbv7m-none-eabi", stack: 2048 }];

/// The board of that name.
pub(crate) fn named(name: &str) -> Option<&'static Board> {
    BOARDS.iter().find(|board| board.name == name)
}

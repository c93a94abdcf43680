//! Bytes from a terminal into keys.

/// A key that means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Enter,
    Escape,
    Up,
    Down,
    Other,
}

/// The keys of one read. Arrow keys come as a whole.
pub(super) fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        let (key, taken) = match (first, rest) {
            (0x1b, [b'[' | b'O', b'A', ..]) => (Key::Up, 2),
            (0x1b, [b'[' | b'O', b'B', ..]) => (Key::Down, 2),
            (0x1b, [b'[' | b'O', _, ..]) => (Key::Other, 2),
            (0x1b, _) => (Key::Escape, 0),
            (b'q' | b'Q' | 0x03 | 0x04, _) => (Key::Quit, 0),
            (b'\r' | b'\n', _) => (Key::Enter, 0),
            (b'k', _) => (Key::Up, 0),
            (b'j', _) => (Key::Down, 0),
            _ => (Key::Other, 0),
        };
        keys.push(key);
        bytes = rest.get(taken..).unwrap_or_default();
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_alone_and_in_a_row() {
        assert_eq!(keys(b"\x1b[A\x1bOBjk"), [Key::Up, Key::Down, Key::Down, Key::Up]);
        assert_eq!(keys(b"\r"), [Key::Enter]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x03q\x04"), [Key::Quit; 3]);
        assert_eq!(keys(b"x\xff"), [Key::Other; 2]);
        assert!(keys(b"").is_empty());
    }
}

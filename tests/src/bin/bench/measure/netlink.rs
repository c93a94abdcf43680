//! Messages to the kernel, byte by byte: there are only two.

/// A netlink message under construction.
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Begins one of this type; its length is filled in at the end.
    pub(super) fn new(kind: u16, flags: u16) -> Message {
        let mut message = Message(Vec::new());
        // Length, type, flags, sequence, sender.
        message.word(0).half(kind).half(flags).word(0).word(0);
        message
    }

    pub(super) fn word(&mut self, word: u32) -> &mut Message {
        self.0.extend(word.to_ne_bytes());
        self
    }

    pub(super) fn half(&mut self, half: u16) -> &mut Message {
        self.0.extend(half.to_ne_bytes());
        self
    }

    pub(super) fn bytes(mut self) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_begins_with_its_length() {
        let mut message = Message::new(3, 1);
        message.word(7);
        let bytes = message.bytes();
        assert_eq!(bytes.len(), 20);
        assert_eq!(bytes[..4], 20u32.to_ne_bytes());
    }
}

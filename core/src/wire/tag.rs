//! Keys, and the tag that says a frame is authentic: SipHash-2-4.

use core::fmt;

use crate::bytes::Take;

/// A key of 128 bits, shared by a host and its board. Never printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; Self::BYTES]);

impl Key {
    /// How long a key is.
    pub const BYTES: usize = 16;

    /// The key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// The key made of the 32 bytes of a key file.
    #[must_use]
    pub fn of_secret(secret: &[u8; 32]) -> Self {
        let mut under = [0; Self::BYTES];
        under.iter_mut().zip(secret).for_each(|(to, from)| *to = *from);
        let half = |number| {
            let mut sip = Sip::new(&Self(under));
            secret.iter().skip(Self::BYTES).for_each(|byte| sip.byte(*byte));
            sip.byte(number);
            sip.finish()
        };
        let halves = (u128::from(half(1)) << 64) | u128::from(half(0));
        Self(halves.to_le_bytes())
    }

    /// The bytes, for the store and for pairing.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// What may be shown of it.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let mut sip = Sip::new(self);
        sip.bytes(b"key id");
        let [low, high, ..] = sip.finish().to_le_bytes();
        KeyId(u16::from_le_bytes([low, high]))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.id())
    }
}

/// Tells keys apart without giving any of them away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KeyId(pub u16);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}", self.0)
    }
}

/// SipHash-2-4, byte by byte.
///
/// # Source
/// Aumasson and Bernstein, "SipHash: a fast short-input PRF"; checked against their vectors. Own
/// code because it is a quarter of the flash of the crate that was tried.
#[derive(Clone, Debug)]
pub struct Sip {
    v: [u64; 4],
    /// The last bytes, the newest on top.
    word: u64,
    len: u8,
}

impl Sip {
    /// "somepseudorandomlygeneratedbytes", as letters from the left.
    const BEGUN: [u64; 4] = [
        0x736F_6D65_7073_6575,
        0x646F_7261_6E64_6F6D,
        0x6C79_6765_6E65_7261,
        0x7465_6462_7974_6573,
    ];

    /// Nothing yet, under `key`.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        let mut halves = Take::new(&key.0);
        let (k0, k1) = (halves.u64(), halves.u64());
        let mut v = Self::BEGUN;
        v.iter_mut().zip([k0, k1, k0, k1]).for_each(|(v, half)| *v ^= half);
        Self { v, word: 0, len: 0 }
    }

    /// Takes in a byte.
    pub fn byte(&mut self, byte: u8) {
        self.word = (self.word >> 8) | (u64::from(byte) << 56);
        self.len = self.len.wrapping_add(1);
        if self.len & 7 == 0 {
            self.compress();
        }
    }

    /// Takes in `bytes`.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.byte(*byte);
        }
    }

    /// The hash of what was taken in.
    #[must_use]
    pub fn finish(mut self) -> u64 {
        let len = self.len;
        while self.len & 7 != 7 {
            self.byte(0);
        }
        self.byte(len);
        self.v[2] ^= 0xFF;
        self.rounds(4);
        self.v.iter().fold(0, |all, v| all ^ v)
    }

    fn compress(&mut self) {
        self.v[3] ^= self.word;
        self.rounds(2);
        self.v[0] ^= self.word;
    }

    /// Not inlined: 64-bit rotations are long on the board's processors.
    #[inline(never)]
    fn rounds(&mut self, count: u8) {
        let [v0, v1, v2, v3] = &mut self.v;
        for _ in 0..count {
            *v0 = v0.wrapping_add(*v1);
            *v1 = v1.rotate_left(13) ^ *v0;
            *v0 = v0.rotate_left(32);
            *v2 = v2.wrapping_add(*v3);
            *v3 = v3.rotate_left(16) ^ *v2;
            *v0 = v0.wrapping_add(*v3);
            *v3 = v3.rotate_left(21) ^ *v0;
            *v2 = v2.wrapping_add(*v1);
            *v1 = v1.rotate_left(17) ^ *v2;
            *v2 = v2.rotate_left(32);
        }
    }
}

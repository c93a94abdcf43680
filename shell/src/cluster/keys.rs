//! The keys that nodes share, and what they sign.
//!
//! The first of the file signs, each of them is accepted. So a key is exchanged without a gap: the
//! new one is added as a second line everywhere, then moved up everywhere, then the old one is
//! taken out.

use std::path::Path;

use giveover_core::wire::peer::MAC;
use ring::{digest, hmac};

use crate::key::{self, KeyError, Secret};

/// A file has no more lines.
const MOST: usize = 4;

/// Keys by their ids.
pub struct Keys(Vec<(u16, hmac::Key)>);

impl std::fmt::Debug for Keys {
    /// The ids, and nothing else.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(id, _)| format!("{id:04x}"))).finish()
    }
}

impl Keys {
    /// The keys of `secrets`, of which the first signs. `None` where there is none, or where two
    /// have the same id.
    #[must_use]
    pub fn of(secrets: &[Secret]) -> Option<Self> {
        let mut keys: Vec<(u16, hmac::Key)> = Vec::new();
        for secret in secrets {
            let id = id(secret);
            if keys.iter().any(|(known, _)| *known == id) {
                return None;
            }
            keys.push((id, hmac::Key::new(hmac::HMAC_SHA256, secret)));
        }
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// The keys in the file that a configuration calls `name`.
    ///
    /// # Errors
    /// Why there are none, behind the file's name.
    pub fn of_name(name: &Path) -> Result<Self, String> {
        let said = |error: KeyError| format!("{} {}", name.display(), error.of_others());
        let secrets = key::read_secrets(&key::place(name).map_err(said)?, MOST).map_err(said)?;
        Self::of(&secrets).ok_or_else(|| format!("{}: two keys share an id", name.display()))
    }

    /// What may be shown of the key that signs.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.0.first().map_or(0, |(id, _)| *id)
    }

    /// The MAC of `bytes` under the key that signs.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> [u8; MAC] {
        self.mac(self.id(), bytes).unwrap_or([0; MAC])
    }

    /// The MAC of `bytes` under the key `id`; `None` where there is no such key.
    #[must_use]
    pub fn mac(&self, id: u16, bytes: &[u8]) -> Option<[u8; MAC]> {
        let (_, key) = self.0.iter().find(|(known, _)| *known == id)?;
        hmac::sign(key, bytes).as_ref().try_into().ok()
    }
}

/// A number that tells keys apart and nothing about them.
fn id(secret: &Secret) -> u16 {
    let mut hash = digest::Context::new(&digest::SHA256);
    hash.update(b"giveover cluster key id\0");
    hash.update(secret);
    match hash.finish().as_ref() {
        [high, low, ..] => u16::from_be_bytes([*high, *low]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signs_and_all_are_accepted() {
        let (old, new) = ([1; 32], [2; 32]);
        let both = Keys::of(&[new, old]).expect("two keys");
        let alone = Keys::of(&[old]).expect("a key");
        assert_ne!(both.id(), alone.id());
        assert_eq!(alone.mac(both.id(), b"x"), None);
        assert_eq!(both.mac(alone.id(), b"x"), Some(alone.sign(b"x")));
        assert_ne!(both.sign(b"x"), alone.sign(b"x"));
        assert!(Keys::of(&[]).is_none() && Keys::of(&[old, old]).is_none());
        assert!(!format!("{both:?}").contains("0101"), "ids only");
    }
}

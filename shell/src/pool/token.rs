//! The room of pools has several kinds of tenants.

use crate::reactor::{Room, Token};

/// Whose a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// A pool's machine is due.
    Machine,
    /// A socket agent checks come in on.
    AgentListener,
    /// An agent check.
    AgentClient,
    /// A socket pages are asked for on.
    PageListener,
    /// Somebody who asks for a page.
    PageClient,
    /// The connection to HAProxy of a pool.
    Haproxy,
    /// A pool's drivers: what is to be tried again, or looked at again.
    Drivers,
    /// Connections of a pool's members that were made after a cut.
    Stragglers,
    /// What could not be listened on is tried again.
    Listen,
}

impl Part {
    const ALL: [Self; 9] = [
        Self::Machine,
        Self::AgentListener,
        Self::AgentClient,
        Self::PageListener,
        Self::PageClient,
        Self::Haproxy,
        Self::Drivers,
        Self::Stragglers,
        Self::Listen,
    ];
}

/// Rooms keep below 2^20 entries: four bits say whose, the rest which.
const PLACE_BITS: u32 = 16;

/// The token of the `place`-th tenant of `part`, in its `generation`-th use.
#[must_use]
pub const fn token(part: Part, place: u32, generation: u32) -> Token {
    let place = place & ((1 << PLACE_BITS) - 1);
    Token::new(Room::Pool, (part as u32) << PLACE_BITS | place, generation)
}

/// Whose `token` is, and which of them.
#[must_use]
pub fn part(token: Token) -> Option<(Part, usize)> {
    let part = Part::ALL.get((token.index >> PLACE_BITS) as usize).copied()?;
    Some((part, (token.index & ((1 << PLACE_BITS) - 1)) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_whose_it_is() {
        for kind in Part::ALL {
            for place in [0, 1, 0xFFFF] {
                let token = token(kind, place, 7);
                assert_eq!(part(token), Some((kind, place as usize)));
                assert!(token.index < 1 << 20);
            }
        }
        assert_eq!(part(Token::new(Room::Pool, 0xF_0000, 0)), None);
    }
}

//! Names for sources and timers that say when they are stale.

/// Who owns a source or timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Room {
    /// The daemon itself: signals, housekeeping.
    Daemon,
    /// The control socket and its clients.
    Control,
    /// Deadlines of services' monitors.
    Monitor,
    /// Probes over sockets.
    Probe,
    /// Check commands.
    Command,
    /// Processes and methods of services.
    Service,
    /// Name resolution.
    Resolver,
    /// Reports from outside.
    Notify,
    /// Commands of services: stop methods, `systemctl`.
    Method,
    /// The daemon's own commands: validation, giveover.
    Errand,
    /// The board's port.
    Board,
    /// Kept connections to databases.
    Database,
    /// Heartbeats of agents.
    Agent,
    /// `[watch]` and who looks.
    Web,
    /// What `[notify.NAME]` runs.
    Hook,
    /// Pools: their machines, agent checks, pages, HAProxy's socket.
    Pool,
    /// Commands of pools.
    PoolCommand,
    /// The link to other nodes.
    Cluster,
    /// Commands of groups: `on_active`, `on_standby`, a fence.
    GroupCommand,
    /// Who holds the addresses of groups.
    Address,
    /// The store that decides between nodes.
    Etcd,
}

impl Room {
    const ALL: [Self; 21] = [
        Self::Daemon,
        Self::Control,
        Self::Monitor,
        Self::Probe,
        Self::Command,
        Self::Service,
        Self::Resolver,
        Self::Notify,
        Self::Method,
        Self::Errand,
        Self::Board,
        Self::Database,
        Self::Agent,
        Self::Web,
        Self::Hook,
        Self::Pool,
        Self::PoolCommand,
        Self::Cluster,
        Self::GroupCommand,
        Self::Address,
        Self::Etcd,
    ];
}

/// A place in a room, and which tenant of it is meant.
///
/// # Units
/// On 64-bit hosts 32 bits of index and 24 of generation; on 32-bit hosts 20 and 7. What does
/// not fit is cut off alike on every way through, so comparison stays sound as long as rooms
/// keep below 2^20 entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    /// The room.
    pub room: Room,
    /// The place in it.
    pub index: u32,
    /// Counts the tenants of that place.
    pub generation: u32,
}

const ROOM_BITS: u32 = 5;
const INDEX_BITS: u32 = if usize::BITS == 64 { 32 } else { 20 };
const GENERATION_BITS: u32 = if usize::BITS == 64 { 24 } else { 7 };

impl Token {
    /// The token of `index` in `room` in its `generation`-th use.
    #[must_use]
    pub const fn new(room: Room, index: u32, generation: u32) -> Self {
        Self {
            room,
            index: index & mask(INDEX_BITS),
            generation: generation & mask(GENERATION_BITS),
        }
    }
}

const fn mask(bits: u32) -> u32 {
    ((1u64 << bits) - 1) as u32
}

impl From<Token> for mio::Token {
    fn from(token: Token) -> Self {
        let place = (token.generation as usize) << INDEX_BITS | token.index as usize;
        Self(place << ROOM_BITS | token.room as usize)
    }
}

impl From<mio::Token> for Token {
    fn from(token: mio::Token) -> Self {
        let room = Room::ALL.get(token.0 & (mask(ROOM_BITS) as usize));
        let place = token.0 >> ROOM_BITS;
        Self::new(
            room.copied().unwrap_or(Room::Daemon),
            (place & (mask(INDEX_BITS) as usize)) as u32,
            (place >> INDEX_BITS) as u32,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_the_kernel() {
        for room in Room::ALL {
            for (index, generation) in [(0, 0), (1, 2), (0xF_FFFF, 0xFF)] {
                let token = Token::new(room, index, generation);
                assert_eq!(Token::from(mio::Token::from(token)), token);
            }
        }
    }
}

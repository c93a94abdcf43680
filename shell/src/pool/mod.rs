//! What a pool does outwards: HAProxy's agent checks answered, HAProxy, nftables and IPVS told,
//! connections cut, and a page for those who come when nobody is left.
//!
//! Who is in is decided by [`giveover_core::pool`]; nothing here does. Protocols are functions of
//! bytes; the servers and clients around them belong to the daemon's loop and never make it wait.

pub mod agent;
pub mod answer;
pub mod cut;
mod guests;
pub mod haproxy;
pub mod ipvs;
pub mod nft;
pub mod page;
pub mod request;
mod token;

pub use self::token::{Part, part, token};

//! The virtual address: a group's addresses held by a process of their own.
//!
//! [`keeper`] says in what order they come up, are kept and go, and does nothing itself; [`frame`]
//! and [`sight`] are bytes: what is said about an address on the wire, and how the kernel tells of
//! its addresses. [`edge`] does what the keeper says, [`process`] is the loop around both, with the
//! rights that it takes, and [`words`] what the daemon and it say to each other. [`holder`] is the
//! daemon's end, which never waits.
//!
//! An address is set with a lifetime that only answers of the daemon renew: whatever becomes of
//! daemon and holder, the kernel lets it go by itself.

pub mod edge;
pub mod frame;
pub mod holder;
pub mod keeper;
pub mod process;
mod refuse;
pub mod rights;
pub mod sight;
mod spawn;
pub mod words;

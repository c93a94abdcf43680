//! The journal: every event fed to a machine and every action it returned, on disk before the
//! action is carried out, and recovered by whoever runs next.
//!
//! A journal is a file that is only appended to. It begins with a snapshot of everything known
//! and goes on with numbered records, framed and summed so that a torn end is cut off and
//! damage is noticed. Past a size another generation is begun with another snapshot, and the
//! one before is kept for `history`. Nothing here decides anything, and what cannot be read is
//! told: lost history is never taken for health.
//!
//! How a daemon uses it:
//!
//! 1. [`Journal::open`] locks and recovers. What [`Recovered`] holds is taken over: machines by
//!    the names of their services, processes, holds, stages and budgets from its ledger. What
//!    its report says is told to people.
//! 2. [`crate::clock::carry_on`] makes the time line go on, and [`Note::Run`] says that it does.
//! 3. A service without a machine gets a number ([`Journal::name`]) and its machine is written
//!    ([`Journal::made`]); one that is no longer configured is forgotten ([`Journal::forget`]).
//! 4. Each event that is fed to a machine is appended, then each action it returned, before the
//!    next event of that machine; [`crate::machine::make_room`] comes before
//!    [`giveover_core::monitor::Monitor::handle`]. Then [`Journal::flush`], then the actions are
//!    carried out. For probes alone no flush is needed. Before a reset it is [`Journal::sync`].
//! 5. Once each turn [`Journal::pass`], then [`Journal::compact`] where
//!    [`Journal::wants_compaction`]; a change of [`Journal::health`] is told to people.
//! 6. At the end [`Journal::end`].
//!
//! [`Reader`] and [`recover`] only look, and may do so beside a daemon.

mod compact;
mod disk;
mod frame;
mod item;
mod ledger;
mod load;
mod lock;
mod memory;
mod note;
mod open;
mod options;
mod place;
mod reader;
mod recover;
mod replay;
mod report;
mod sync;
mod walk;
mod writer;

#[cfg(test)]
mod tests;

pub use item::Item;
pub use ledger::{Ledger, Service, Wish};
pub use memory::Memory;
pub use note::{Hold, HostBudget, MemberNote, Note, Process, Run, Stage};
pub use open::OpenError;
pub use options::Options;
pub use place::{Place, base_dir, state_dir};
pub use reader::{Line, Lines, Reader, Unread};
pub use recover::{Machine, Recovered, recover};
pub use replay::{Difference, Replay};
pub use report::{Report, SetAside, Why};
pub use walk::Lost;
pub use writer::{Health, Journal};

/// The version of the format that is written. Raised with anything that is added, so that an
/// older version knows that it cannot read the file; older formats stay readable.
pub const VERSION: u8 = 3;

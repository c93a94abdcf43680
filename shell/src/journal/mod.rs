//! The journal: every event fed to a machine and every action it returned, on disk before the
//! action is carried out, and recovered by whoever runs next.
//!
//! A journal is a file that is only appended to. It begins with a snapshot of everything known
//! and goes on with numbered records, framed and summed so that a torn end is cut off and
//! damage is noticed. Past a size another generation is begun with another snapshot, and the
//! one before is kept for `history`. Nothing here decides anything, and what cannot be read is
//! told: lost history is never taken for health.
//!
//! Start with [`Journal::open`], which recovers and goes on, and [`Reader`], which only looks.

mod compact;
mod disk;
mod frame;
mod item;
mod ledger;
mod lock;
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
pub use ledger::{Ledger, Service};
pub use note::{Hold, HostBudget, Note, Process, Run, Stage};
pub use open::OpenError;
pub use options::Options;
pub use place::{Place, base_dir, state_dir};
pub use reader::{Line, Lines, Reader};
pub use recover::{Machine, Recovered, recover};
pub use replay::Difference;
pub use report::{Report, SetAside, Why};
pub use walk::Lost;
pub use writer::{Health, Journal};

/// The version of the format that is written. Raised with anything that is added, so that an
/// older version knows that it cannot read the file; older formats stay readable.
pub const VERSION: u8 = 1;

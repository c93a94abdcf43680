//! The board's machine: the same engine on one more service, the host.

mod layout;
mod note;
mod settings;
mod words;

pub use layout::Layout;
pub use note::{Counters, Entry, LastReset, Log, Note, Report};
pub use settings::{Settings, SettingsError};
pub use words::{End, Light, Refusal, Second, State, Verdict, Why};

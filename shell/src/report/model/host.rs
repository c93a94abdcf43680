//! The host as a whole.

use serde::{Deserialize, Serialize};

/// The host as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostDoc {
    /// The node's name.
    pub node: String,
    /// The daemon's process.
    pub pid: u32,
    /// How long the daemon has been running.
    pub up_ms: u64,
    /// The configuration file.
    pub file: String,
    /// How many files it included.
    pub included: u32,
    /// Nothing is acted on.
    pub observe: bool,
    /// Restarts and giveovers of all services.
    pub actions: ActionsDoc,
    /// The local-fault rule holds.
    pub local_fault: bool,
    /// Trusted servers.
    pub trusted: TrustedDoc,
    /// `ok`, or why the journal cannot be written.
    pub journal: String,
}

/// The host budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActionsDoc {
    /// Used inside the window.
    pub spent: u16,
    /// Allowed inside the window.
    pub count: u16,
    /// The window.
    pub per_ms: u64,
    /// When a spent budget frees again.
    pub frees_in_ms: Option<u64>,
}

/// Trusted servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrustedDoc {
    /// How many answered last.
    pub answering: u16,
    /// How many there are.
    pub total: u16,
}

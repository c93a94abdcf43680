//! Which process is the service: enough to know it again after the monitor was killed.

use serde::{Deserialize, Serialize};

use crate::reactor::{Instance, procfs};

/// A running process of ours, for the journal.
///
/// A number alone names nobody: after a reboot, or after it went once around, it is another's.
/// With the boot and the start time it is this one or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The boot it runs in.
    pub boot: [u8; 16],
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
    /// The mark in the environment of all it started.
    pub instance: Instance,
}

impl Identity {
    /// The identity of `pid`, which is the run `instance`. `None` if it is gone, or `/proc` is.
    #[must_use]
    pub fn of(pid: u32, instance: Instance) -> Option<Self> {
        let start = procfs::stat(pid)?.start;
        Some(Self { boot: procfs::boot_id()?, pid, start, instance })
    }

    /// Whether it is from this boot. If not, whatever it names is gone.
    #[must_use]
    pub fn is_of_this_boot(&self) -> bool {
        procfs::boot_id() == Some(self.boot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_the_journal() {
        let instance = Instance { monitor: 1, since: 2, number: 3 };
        let identity = Identity::of(std::process::id(), instance).unwrap();
        assert!(identity.is_of_this_boot());
        let text = serde_json::to_string(&identity).unwrap();
        assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), identity);
        assert!(!Identity { boot: [7; 16], ..identity }.is_of_this_boot());
    }
}

//! The services, and what is known of each.

use serde::{Deserialize, Serialize};

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceDoc {
    /// Its name.
    pub name: String,
    /// `unknown`, `ok`, `degraded`, `faulted` or `offline`.
    pub status: String,
    /// One of the four texts, or empty.
    pub message: String,
    /// The rest, in words.
    pub detail: String,
    /// Since when it has this status and message; RFC 3339, UTC.
    pub since: String,
    /// For how long.
    pub for_ms: u64,
    /// `none`, `soft`, `hard`, `restart_only` or `log_only`.
    pub mode: String,
    /// Where it would be given over to: `command`, `none`.
    pub giveover: String,
    /// Its main process.
    pub pid: Option<u32>,
    /// Its unit of systemd.
    pub unit: Option<String>,
    /// The number of its instance.
    pub generation: u32,
    /// When the instance was started, and by whom: `giveover`, `operator`, `adopted`, `systemd`.
    pub started: Option<StartedDoc>,
    /// Live sum of weights, of 100.
    pub failure_sum: u16,
    /// Live failures, oldest first.
    pub failures: Vec<RecordDoc>,
    /// Live restarts charged to the budget.
    pub restarts: u16,
    /// When each was decided and why, oldest first.
    pub restart_records: Vec<RecordDoc>,
    /// Allowed restarts; null is unlimited.
    pub retry_count: Option<u16>,
    /// The window.
    pub retry_interval_ms: u64,
    /// Time from cycle to cycle.
    pub interval_ms: u64,
    /// Why it is kept from acting.
    pub held: Option<HeldDoc>,
    /// Services it needs that are not ok.
    pub unmet: Vec<String>,
    /// How long nothing could be measured.
    pub unmeasured_ms: Option<u64>,
    /// How much of `start_grace` is left.
    pub grace_ms: Option<u64>,
    /// What it waits for: `probe`, `answer`, `delay`, `restart`, `stop_again`, `giveover`,
    /// `ask_again`, `dead_cycle`, `release`, `given_over`, `not_begun`, `stopped`, `unmonitored`.
    pub waiting_for: String,
    /// When that is due.
    pub next_in_ms: Option<u64>,
    /// What the next failure leads to: `restart`, `giveover`, `budget_spent`, `log`.
    pub next_failure: String,
    /// The delay before the next restart.
    pub next_delay_ms: u64,
    /// When the oldest restart is forgotten and the budget refills.
    pub refills_in_ms: Option<u64>,
    /// The last 20 cycles, oldest first: `. o x ? - R G`.
    pub cycles: String,
    /// The checks in file order.
    pub checks: Vec<CheckDoc>,
}

/// Who started an instance, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StartedDoc {
    /// RFC 3339, UTC.
    pub at: String,
    /// `giveover`, `operator`, `adopted` or `systemd`.
    pub by: String,
}

/// A record of a history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordDoc {
    /// RFC 3339, UTC.
    pub at: String,
    /// Weight; 100 for a restart.
    pub weight: u8,
    /// In words.
    pub cause: String,
    /// When it is forgotten.
    pub forgotten_in_ms: u64,
}

/// Why a service is kept from acting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldDoc {
    /// `operator`, `budget`, `host_budget`, `local_fault`, `systemd`, `unproven`.
    pub by: String,
    /// The person.
    pub who: Option<String>,
    /// The reason given.
    pub why: Option<String>,
    /// RFC 3339, UTC.
    pub since: String,
    /// RFC 3339, UTC; null where it has no end of its own.
    pub until: Option<String>,
}

/// The last result of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckDoc {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// `healthy`, `partial`, `complete`, `immediate`, `unmeasured`, `void`, `not_evaluated`,
    /// `none` before the first.
    pub outcome: String,
    /// What it weighed.
    pub weight: Option<u8>,
    /// In words, healthy or not: `200`, `503, expected 200 or 204`.
    pub cause: String,
    /// How far it got, for a failure.
    pub phase: Option<String>,
    /// How long it took.
    pub ms: u32,
    /// RFC 3339, UTC; empty before the first.
    pub at: String,
    /// It counts nothing.
    pub observed: bool,
    /// Of a name with several addresses, the one that answered last.
    pub address: Option<String>,
}

impl CheckDoc {
    /// Whether it failed, and that counts.
    #[must_use]
    pub fn fails(&self) -> bool {
        !self.observed && matches!(&*self.outcome, "partial" | "complete" | "immediate")
    }
}

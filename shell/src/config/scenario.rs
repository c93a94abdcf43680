//! Scenario files in their small form: one service, what happens to it, and what should follow.
//!
//! A file is a list of `[[scenario]]`:
//!
//! | key | |
//! |---|---|
//! | `name` | what people call it |
//! | `policy` | limits as in a configuration; delays and grace are zero unless written. Unless `thorough_probe_interval` is written there are no cycles between steps |
//! | `destination` | `"elsewhere"` (unless written), `"board"` or `"nobody"` |
//! | `giveover` | how every request is answered, at once: a word of [`Reply`], `{ accept_from = "300s" }` (denied before) or `{ not_now_until = "60s" }` (accepted from then on) |
//! | `restart` | how every restart ends, at once: a word of [`Ending`], or `{ ok_from = "150s" }` (its start fails before) |
//! | `step` | `[[scenario.step]]`: `at`, one input, and optionally `expect` |
//!
//! The inputs are the keys of [`INPUTS`]; `expect` has any of `actions`, `status`,
//! `failure_sum` and `restarts`.

use giveover_core::failure::ProbeResult;
use giveover_core::monitor::Status;
use giveover_core::policy::Policy;
use giveover_core::time::Instant;
use serde_json::Value;

use super::schema::Key;

pub mod peer;
pub mod pool;
mod read;
#[cfg(test)]
mod tests;

use self::read::written;
pub use self::read::{Form, load, load_form, load_form_str, load_str};
pub(super) use self::read::{limits, replies};
use super::pool::silence;

/// One timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What people call it.
    pub name: String,
    /// The limits, found possible.
    pub policy: Policy,
    /// Whether cycles begin by themselves, at the pace of the policy.
    pub cadence: bool,
    /// How requests for giveover are answered.
    pub giveover: Script<Reply>,
    /// How restarts end.
    pub restart: Script<Ending>,
    /// What happens, in order of time.
    pub steps: Vec<Step>,
}

/// Something that is so, and from some time on something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script<T> {
    /// At first.
    pub first: T,
    /// From this instant on.
    pub then: Option<(Instant, T)>,
}

impl<T: Copy> Script<T> {
    /// What is so at `now`.
    #[must_use]
    pub fn at(&self, now: Instant) -> T {
        match self.then {
            Some((from, then)) if now >= from => then,
            _ => self.first,
        }
    }
}

/// The answer to a request for giveover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `"accept"`: granted and carried out.
    Accept,
    /// `"deny"`.
    Deny,
    /// `"not_now"`.
    NotNow,
    /// `"abort_stopped"`: granted; stopped here, started nowhere.
    AbortStopped,
    /// `"abort_running"`: granted, and could not be stopped.
    AbortRunning,
    /// `"unproven"`: granted, and nobody knows whether the other side runs.
    Unproven,
}

impl Reply {
    const WORDS: &[&str] =
        &["accept", "deny", "not_now", "abort_stopped", "abort_running", "unproven"];
    const ALL: [Self; 6] = [
        Self::Accept,
        Self::Deny,
        Self::NotNow,
        Self::AbortStopped,
        Self::AbortRunning,
        Self::Unproven,
    ];
}

/// How a restart ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// `"ok"`.
    Ok,
    /// `"fail"`: its start fails.
    Fail,
    /// `"stop_fails"`: what ran is not proven gone.
    StopFails,
    /// `"invalid"`: validation refuses it.
    Invalid,
}

impl Ending {
    const WORDS: &[&str] = &["ok", "fail", "stop_fails", "invalid"];
    const ALL: [Self; 4] = [Self::Ok, Self::Fail, Self::StopFails, Self::Invalid];
}

/// One moment of a timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When.
    pub at: Instant,
    /// What happens.
    pub input: Input,
    /// The same as it is written: an object with one key.
    pub written: Value,
    /// What should follow.
    pub expect: Expect,
    /// The line it begins on.
    pub line: usize,
}

/// What happens to the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// The probe under way, or one begun now, finds this.
    Probe(ProbeResult),
    /// The process ends.
    Died,
    /// An operator holds it, or lets go.
    Hold(bool),
    /// A service it needs is not ok, or is again.
    NeedUnmet(bool),
    /// The host has used up its actions, or may act again.
    HostBudgetSpent(bool),
    /// Everything fails at once, or no longer.
    LocalFault(bool),
    /// An operator forgets the histories.
    Clear,
    /// These limits from now on.
    Policy(Policy),
    /// An operator wants a restart.
    Restart,
    /// An operator wants a giveover.
    Giveover,
    /// It has been started, and a monitor begins.
    Begin,
    /// It has been stopped on purpose.
    Stopped,
}

/// What should follow a step: what is not written is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// What was done since the step before, in words of [`ACTIONS`].
    pub actions: Option<Vec<&'static str>>,
    /// The status.
    pub status: Option<Status>,
    /// The live sum of weights.
    pub failure_sum: Option<u16>,
    /// The live number of restarts.
    pub restarts: Option<u16>,
}

/// What a monitor can have done, as `expect` and the output call it.
///
/// `restart` worked; `giveover` was granted; `giveover_aborted` and `giveover_unproven` were
/// granted first; `held` waits for the budget; `cancel` withdraws a request.
pub const ACTIONS: &[&str] = &[
    "restart",
    "restart_failed",
    "stop_failed",
    "restart_invalid",
    "reset",
    "giveover",
    "giveover_denied",
    "giveover_not_now",
    "giveover_aborted",
    "giveover_unproven",
    "cancel",
    "held",
    "log",
];

const fn key(name: &'static str, takes: &'static str, about: &'static str) -> Key {
    Key { name, takes, default: "", about }
}

/// The keys of a scenario.
pub const SCENARIO: &[Key] = &[
    key("name", "text", "what people call it"),
    key("policy", "table", "limits as in a configuration"),
    key("destination", "\"elsewhere\", \"board\" or \"nobody\"", "where a giveover would go"),
    key("giveover", "a word or a table", "how every request for giveover is answered"),
    key("restart", "a word or a table", "how every restart ends"),
    key("step", "tables", "what happens"),
];

/// The keys of a step besides its input.
const STEP: &[Key] = &[
    key("at", "duration", "when, since the beginning"),
    key("expect", "table", "what should follow"),
];

/// The inputs a step may have, one of them.
pub const INPUTS: &[Key] = &[
    key("probe", "0 to 100, or \"immediate\"", "a probe finds this; 0 is healthy"),
    key("measure", "false", "the checks could not run"),
    key("void", "true", "we were not running while they did"),
    key("died", "true", "the process ended"),
    key("tick", "true", "time has passed"),
    key("hold", "true", "an operator holds it"),
    key("release", "true", "the operator lets go"),
    key("need", "\"unmet\" or \"met\"", "what it needs is not ok, or is again"),
    key("host_budget", "\"spent\" or \"free\"", "the host may not act, or may again"),
    key("local_fault", "true or false", "everything fails at once, or no longer"),
    key("clear", "true", "an operator forgets failures and restarts"),
    key("policy", "table", "these limits from now on"),
    key("restart", "\"operator\"", "an operator wants a restart"),
    key("giveover", "\"operator\"", "an operator wants a giveover"),
    key("begin", "true", "it has been started, a monitor begins"),
    key("stopped", "true", "it has been stopped on purpose"),
];

/// The keys of `expect`.
const EXPECT: &[Key] = &[
    key("actions", "list of words", "what was done since the step before"),
    key("status", "a status", "the status"),
    key("failure_sum", "a number", "the live sum of weights"),
    key("restarts", "a number", "the live number of restarts"),
];

//! What is said on the control socket besides the status: events, commands and their answers.

use serde::{Deserialize, Serialize};

/// One line of the log, and of `events --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventDoc {
    /// The journal's number.
    pub seq: u64,
    /// RFC 3339, UTC.
    pub at: String,
    /// `debug`, `info`, `notice`, `warning`, `error` or `critical`.
    pub level: String,
    /// `failure`, `restart`, …: the event's word in the catalogue.
    pub event: String,
    /// The service, or empty for the host.
    pub service: String,
    /// The text after `NAME: `.
    pub text: String,
    /// The check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The cause in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u8>,
    /// The live sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<u16>,
    /// Live restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u16>,
    /// Allowed restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u16>,
    /// The instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    /// The incident it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<u32>,
    /// The person who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

/// `POST /command`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// `start`, `stop`, `restart`, `hold`, `release`, `clear`, `giveover`, `monitor_stop`,
    /// `monitor_start`, `reload`, `debug`, `board`, `pool`, `node`.
    pub verb: String,
    /// `board`: `pair`, `confirm`, `arm`, `disarm`, `grace`, `clear`, `reset`, `end`. `pool`: `drain`,
    /// `enable`, `report`. `node`: `switch`, `attach`, `detach`, `promote`, `recover`, `recovered`.
    #[serde(default)]
    pub action: Option<String>,
    /// The services meant; for `pool` a pool and a member, for `node` a group or members.
    #[serde(default)]
    pub services: Vec<String>,
    /// All of them.
    #[serde(default)]
    pub all: bool,
    /// `hold`, `node recover`: for how long; null with `for_ever`.
    #[serde(default)]
    pub for_ms: Option<u64>,
    /// `hold`: the reason.
    #[serde(default)]
    pub reason: Option<String>,
    /// `giveover`: the node.
    #[serde(default)]
    pub to: Option<String>,
    /// `start`: the node that gave it over to us.
    #[serde(default)]
    pub from: Option<String>,
    /// `reload`: only say what would change.
    #[serde(default)]
    pub dry_run: bool,
    /// `debug`: `off`, `low` or `high`.
    #[serde(default)]
    pub level: Option<String>,
    /// `pool drain`: when connections that are left are cut.
    #[serde(default)]
    pub cut_after_ms: Option<u64>,
    /// `pool report`: the member's load in percent.
    #[serde(default)]
    pub load: Option<u8>,
    /// `pool report`: a work unit has failed.
    #[serde(default)]
    pub failed: bool,
    /// `node switch`: this node becomes active by a person's word alone.
    #[serde(default)]
    pub force: bool,
    /// `node attach` and the like: the group, where there are several.
    #[serde(default)]
    pub group: Option<String>,
}

/// The answer to a command. It comes when the command has been carried out or refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The exit status of the verb.
    pub exit: u8,
    /// What to tell the person, a line each.
    pub lines: Vec<String>,
}

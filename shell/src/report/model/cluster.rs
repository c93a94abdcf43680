//! The groups that move between nodes.

use serde::{Deserialize, Serialize};

use super::CheckDoc;

/// One group, as this node sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupDoc {
    /// Its name.
    pub name: String,
    /// What this node is for it: `init`, `standby`, `active`, `down`.
    pub role: String,
    /// Since when.
    pub since: String,
    /// For how long.
    pub for_ms: u64,
    /// The node that is active, as far as this one knows.
    pub active: Option<String>,
    /// The highest term known to have had an active.
    pub term: u64,
    /// Who decides: `majority`, `fence`, `stay`, `trusted`, `etcd`.
    pub quorum: String,
    /// By how many votes this node is active.
    pub votes: u8,
    /// How many win.
    pub votes_needed: u8,
    /// How many nodes there are.
    pub members: u8,
    /// Two holders are possible, and were accepted in writing.
    pub two_holders: bool,
    /// Where its services run: `active` or `all`.
    pub run: String,
    /// Its services.
    pub services: Vec<String>,
    /// The addresses that move.
    pub addresses: Vec<String>,
    /// It is up here.
    pub holds: bool,
    /// So long it is held without a renewal.
    pub lease_ms: u64,
    /// What is left of the grant under which it is held; null where none is needed.
    pub grant_left_ms: Option<u64>,
    /// How long nobody holds it when this node dies, at most; null: until somebody acts.
    pub takeover_ms: Option<u64>,
    /// Frames of nobody known, and connections of too many of them, that were dropped.
    pub strangers: u32,
    /// Trusted servers that answered last.
    pub trusted_answering: u16,
    /// Trusted servers.
    pub trusted: u16,
    /// The same one by one: what each answered last, and how fast.
    pub trusted_servers: Vec<CheckDoc>,
    /// Where the addresses are, if the file says so.
    pub interface: Option<String>,
    /// Where it is active: whether it may be given over now, and to whom, or why not.
    pub may_give: Option<String>,
    /// So long an active must be silent before it is replaced.
    pub wait_ms: u64,
    /// Between two looks.
    pub interval_ms: u64,
    /// The nodes in file order.
    pub nodes: Vec<NodeDoc>,
    /// The members of the store that decides, in file order; none where nodes do.
    pub etcd: Vec<EtcdDoc>,
    /// The pool that its nodes share, if they do.
    pub pool: Option<SharedDoc>,
    /// New connections are refused on every node, if they are.
    pub recovery: Option<RecoveryDoc>,
}

/// A member of etcd, as it is from this node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EtcdDoc {
    /// `http://HOST:PORT`
    pub url: String,
    /// It is the one that is asked.
    pub asked: bool,
    /// It answered last.
    pub answers: bool,
    /// How long ago; null: never.
    pub answered_ms: Option<u64>,
    /// How long its last answer took.
    pub took_ms: Option<u64>,
    /// What is wrong with it.
    pub why: Option<String>,
}

/// A pool that the nodes of a group share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedDoc {
    /// Its name.
    pub name: String,
    /// The newest command that was carried out here: `TERM.NUMBER`; `0.0` before the first.
    pub command: String,
    /// The member that was promoted last.
    pub primary: Option<String>,
    /// What became of the command of the newest promotion on this node, if it has one.
    pub promotion: Option<PromotionDoc>,
    /// Its members in file order.
    pub members: Vec<SharedMemberDoc>,
}

/// One member of a pool that nodes share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedMemberDoc {
    /// Its place, counted from 0.
    pub index: u8,
    /// Its name.
    pub name: String,
    /// `HOST:PORT`.
    pub address: String,
    /// As the source document numbers it: 2 takes part, 3 does not.
    pub state: u8,
    /// A command took it out on every node.
    pub detached: bool,
}

/// A promotion's command on this node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromotionDoc {
    /// Who is to be the primary.
    pub member: String,
    /// Which shared command it is of: `TERM.NUMBER`.
    pub command: String,
    /// `owed`, `running`, `done`, `failed`, or `cut_short`: the daemon ended while it ran.
    pub state: String,
    /// How it failed.
    pub why: Option<String>,
}

/// A recovery that lasts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecoveryDoc {
    /// The node on which it was begun.
    pub by: String,
    /// When it ends by itself.
    pub left_ms: u64,
}

/// One node, as this one sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeDoc {
    /// Its name.
    pub name: String,
    /// Its place in the file.
    pub index: u8,
    /// It is this node.
    pub me: bool,
    /// It only votes.
    pub witness: bool,
    /// Where it is.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What it is: `init` (also a node never heard), `standby`, `active`, `down`.
    pub role: String,
    /// The same as the source document numbers it: 1 to 4.
    pub number: u8,
    /// It was heard less than `wait` ago, and is accepted.
    pub alive: bool,
    /// It said that it is up there.
    pub holds: bool,
    /// The term it told.
    pub term: u64,
    /// Since when it is in the group, as it told.
    pub since: Option<String>,
    /// When it was heard last; null: never since this node began.
    pub heard_ms: Option<u64>,
    /// How many more looks may fail.
    pub life: u8,
    /// Of how many.
    pub life_of: u8,
    /// Why it is not heard: `name`, `refused`, `no_route`, `silent`, `filtered`, `wrong_key`,
    /// `version`, `replayed`; null where it is.
    pub why: Option<String>,
    /// The same in words.
    pub why_text: Option<String>,
    /// Why it is not accepted: its configuration differs.
    pub refused: Option<String>,
    /// What the group's checks of it found last, where this node asks them.
    pub checks: Vec<CheckDoc>,
    /// There is a connection to it.
    pub connected: bool,
    /// Frames taken.
    pub taken: u32,
    /// Frames refused: not frames.
    pub garbage: u32,
    /// Frames refused: of another key, or of nobody who has it.
    pub unauthentic: u32,
    /// Frames refused: seen before, or for an earlier start.
    pub repeated: u32,
    /// Frames refused: more than any node sends.
    pub over_budget: u32,
}

//! The pools.

use serde::{Deserialize, Serialize};

use super::{CheckDoc, HeldDoc};

/// One pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolDoc {
    /// Its name.
    pub name: String,
    /// How many members get new work.
    pub takes_work: u32,
    /// How many stay in, however their checks look.
    pub min_members: u8,
    /// Why clients are served by the fallback: `nobody_in`, `all_busy`.
    pub none_left: Option<String>,
    /// Why membership stands still: `nothing_measured`, `no_trusted`.
    pub frozen: Option<String>,
    /// Who is told of its members, in words.
    pub told: Vec<String>,
    /// Who of them cannot be told, and why.
    pub trouble: Vec<String>,
    /// The members in file order.
    pub members: Vec<MemberDoc>,
}

/// One member of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberDoc {
    /// Its name.
    pub name: String,
    /// `HOST:PORT`.
    pub address: String,
    /// It gets work only while nobody else does.
    pub backup: bool,
    /// `in`, `standby`, `busy`, `drained` or `out`.
    pub state: String,
    /// Why it is out, in words.
    pub why: String,
    /// Percent of its share, where it gets work.
    pub weight: Option<u8>,
    /// Its load in percent, as its agent says.
    pub load: Option<u8>,
    /// That is too much.
    pub busy: bool,
    /// It has failed, and `min_members` keeps it in.
    pub kept: bool,
    /// HAProxy's count of its cycles.
    pub health: u8,
    /// How many of its cycles took longer than the interval.
    pub late: u32,
    /// Since when it has been out, or not out; RFC 3339, UTC.
    pub since: String,
    /// For how long.
    pub for_ms: u64,
    /// Who drains it, and until when.
    pub drained: Option<HeldDoc>,
    /// The last cycles that were measured, oldest first: `. x`.
    pub cycles: String,
    /// The checks in file order.
    pub checks: Vec<CheckDoc>,
}

//! The documents the control socket speaks: `status --json` and the events.

mod board;
mod cluster;
mod host;
mod pool;
mod service;
mod talk;

pub use self::board::{BoardDoc, BoardEntryDoc, BoardLinkDoc, BoardResetDoc, BoardShadowDoc};
pub use self::cluster::{
    EtcdDoc, GroupDoc, NodeDoc, PromotionDoc, RecoveryDoc, SharedDoc, SharedMemberDoc,
};
pub use self::host::{ActionsDoc, HostDoc, TrustedDoc};
pub use self::pool::{MemberDoc, PoolDoc};
pub use self::service::{CheckDoc, HeldDoc, RecordDoc, ServiceDoc, StartedDoc};
pub use self::talk::{Command, EventDoc, Reply};

use serde::{Deserialize, Serialize};

/// `GET /status.json`, and what `status --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusDoc {
    /// Version of this form.
    pub schema: u32,
    /// Version of the daemon.
    pub version: String,
    /// When it was taken; RFC 3339, UTC.
    pub at: String,
    /// The host as a whole.
    pub host: HostDoc,
    /// The services in file order.
    pub services: Vec<ServiceDoc>,
    /// The groups that move between nodes, in file order.
    pub groups: Vec<GroupDoc>,
    /// The pools in file order.
    pub pools: Vec<PoolDoc>,
    /// The board that resets this host; null without one.
    pub board: Option<BoardDoc>,
}

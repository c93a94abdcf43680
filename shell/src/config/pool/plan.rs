//! A pool that can be run.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use giveover_core::ladder::Combine;
use giveover_core::pool::Settings;
use giveover_core::time::Span;
use serde::{Deserialize, Serialize};

use crate::config::agent::AgentPlan;
use crate::config::few::Few;
use crate::config::plan::{CheckPlan, Host, Kind, Target};

/// `[pool.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolPlan {
    /// The pool's name.
    pub name: Arc<str>,
    /// The members in file order. A member's place here is its number everywhere.
    pub members: Vec<MemberPlan>,
    /// Checks (by place) tried in this order, each only when the one before is healthy.
    pub ladder: Vec<u8>,
    /// The counts and limits, found possible.
    pub settings: Settings,
    /// One service of a server that fails takes the whole server out of every pool that says so.
    pub whole_server: bool,
    /// Where HAProxy's agent checks are answered.
    pub agent: Option<SocketAddr>,
    /// HAProxy, told over its own socket.
    pub haproxy: Option<HaproxyPlan>,
    /// nftables, whose maps and sets follow the members.
    pub nft: Option<NftPlan>,
    /// The virtual service of IPVS whose destinations follow the members.
    pub ipvs: Option<SocketAddr>,
    /// Run at each change of a member.
    pub command: Option<Vec<String>>,
    /// What acts when none is left.
    pub none_left: Option<FallbackPlan>,
    /// We stand beside the traffic, not in its way.
    pub parallel: bool,
}

/// `member.NAME`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberPlan {
    /// The member's name: HAProxy's name of the server.
    pub name: Arc<str>,
    /// Where it serves.
    pub target: Target,
    /// It gets work only while nobody else does.
    pub backup: bool,
    /// Its share, among those of the others.
    pub weight: u16,
    /// The pool's checks, asked of this member.
    #[serde(skip)] // packed with the other checks
    pub checks: Few<CheckPlan>,
}

impl MemberPlan {
    /// The place of the check that hears its agent, and how, unless that is only shown.
    #[must_use]
    pub fn agent(&self) -> Option<(u8, &AgentPlan)> {
        self.checks.iter().zip(0..).find_map(|(check, place)| match &check.kind {
            Kind::Agent(agent) if !check.observe => Some((place, &**agent)),
            _ => None,
        })
    }

    /// Its address, where it is one and not a name.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        match &self.target.host {
            Host::Address(ip) => Some(SocketAddr::new(*ip, self.target.port)),
            Host::Name(_) | Host::Socket(_) => None,
        }
    }

    /// `HOST:PORT`, IPv6 in brackets.
    #[must_use]
    pub fn authority(&self) -> String {
        let port = self.target.port;
        match &self.target.host {
            Host::Address(IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
            host => format!("{host}:{port}"),
        }
    }
}

impl PoolPlan {
    /// How the checks of one cycle make one verdict.
    pub const COMBINE: Combine = Combine::Heaviest;

    /// The place of the member called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| &*member.name == name)
    }
}

/// `haproxy = { … }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HaproxyPlan {
    /// Its administrative socket.
    pub socket: PathBuf,
    /// Its name of the pool.
    pub backend: String,
}

/// `nft = { … }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NftPlan {
    /// `ip`, `ip6` or `inet`.
    pub family: String,
    /// The table.
    pub table: String,
    /// A map from slots to the members that work, each as often as its weight asks.
    pub map: Option<String>,
    /// How many slots it has.
    pub slots: u16,
    /// A set of the members that work.
    pub set: Option<String>,
    /// A set of the members whose connections are rejected.
    pub cut: Option<String>,
}

/// `none_left = { … }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackPlan {
    /// Where we serve.
    pub listen: SocketAddr,
    /// What.
    pub instead: Instead,
    /// When clients are told to come again.
    pub retry_after: Option<Span>,
}

/// What clients get when none is left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instead {
    /// The page in this file, with status 503.
    Page(PathBuf),
    /// They are sent there, with status 302.
    Redirect(String),
    /// Their connections are reset.
    Reset,
}

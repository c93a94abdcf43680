//! `agent` checks: heartbeats that come by themselves.

use std::path::PathBuf;

use giveover_core::time::Span;
use giveover_core::weight::Weight;
use serde::{Deserialize, Serialize};

use super::plan::{Host, Kind, Target, Weights};
use super::reader::Reader;
use super::report::Findings;
use super::schema::{Key, key};
use super::target::Target as Url;
use super::{values, words};

/// The port heartbeats are heard on where none is written.
pub const PORT: u16 = 9708;

/// Whose heartbeats are heard, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPlan {
    /// The agent's name, which each heartbeat carries.
    pub name: Box<str>,
    /// How they come.
    pub transport: Transport,
    /// How often they are sent.
    pub interval: Span,
    /// So many intervals, each with ten seconds more, may pass without one.
    pub count: u16,
    /// Work units that must be reported.
    pub units: Vec<Box<str>>,
    /// The key they are signed with: a path, or the name of a credential.
    pub key: Option<PathBuf>,
    /// How far the sender's clock may be from ours, if they are signed.
    pub skew: Span,
    /// The load at which a member of a pool is fully loaded.
    pub full: u16,
}

/// How heartbeats come.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Transport {
    /// By datagram.
    Udp,
    /// As lines on a connection.
    Tcp,
    /// As lines on a UNIX socket, which is made at this path.
    Unix(Box<str>),
}

/// Added to each interval, for whatever delays a heartbeat on its way.
///
/// # Source
/// (6 + 10) × 3 = 48 s, as the source document's agents are given.
const ALLOWANCE_MS: u32 = 10_000;

/// The code of a work unit that is not among those that must be reported.
pub const OTHER_UNIT: u16 = 1000;

impl AgentPlan {
    /// The silence that is a failure.
    #[must_use]
    pub fn silence(&self) -> Span {
        let each = self.interval.as_millis().saturating_add(ALLOWANCE_MS);
        Span::from_millis(each.saturating_mul(u32::from(self.count)))
    }

    /// A load in hundredths as percent of what is full.
    #[must_use]
    pub fn percent(&self, load: u32) -> u8 {
        (load / u32::from(self.full.max(1))).min(100) as u8
    }

    /// The code that stands for the work unit `name`.
    #[must_use]
    pub fn code_of(&self, name: &str) -> u16 {
        let place = self.units.iter().position(|known| **known == *name);
        place.and_then(|place| u16::try_from(place + 1).ok()).unwrap_or(OTHER_UNIT)
    }

    /// The work unit that `code` stands for.
    #[must_use]
    pub fn unit(&self, code: u16) -> Option<&str> {
        let place = usize::from(code).checked_sub(1)?;
        self.units.get(place).map(|name| &**name)
    }
}

pub(super) const KEYS: &[Key] = &[
    key("name", "name", "the URL's", "the agent's own, which each heartbeat carries"),
    key("transport", "udp, tcp, unix", "\"udp\"", "datagrams, or lines on a connection"),
    key("socket", "absolute path", "", "where the UNIX socket is made"),
    key("interval", "duration", "\"6s\"", "how often the agent sends"),
    key("count", "1 to 1000", "3", "so many times interval + 10s of silence are a failure"),
    key("units", "list of names", "[]", "work units that must be reported; others may be"),
    key(
        "key",
        "absolute path, or the name of a credential",
        "",
        "the key heartbeats are signed with",
    ),
    key(
        "full",
        "1 to 1000",
        "1",
        "the load that is 100% of a pool's member, as its processors are",
    ),
    key("skew", "duration", "\"60s\"", "how far a signed heartbeat's time may be from ours"),
];

/// What failures weigh unless it is written: a work unit that failed is a complete failure.
pub const WEIGHTS: Weights = Weights { answer: Weight::COMPLETE, ..Weights::DEFAULT };

/// Most work units of an agent.
pub const MOST_UNITS: usize = 32;

/// Whether the check hears on a UNIX socket, and so needs no address.
pub(super) fn is_unix(reader: &Reader<'_>) -> bool {
    let transport = reader.entry("transport").map(|entry| &entry.node.value);
    matches!(transport, Some(super::tree::Value::Text(text)) if text == "unix")
}

pub(super) fn read(
    what: &str,
    url: Option<&Url<'_>>,
    targets: &[Target],
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let named = url.map_or("", |url| url.path.strip_prefix('/').unwrap_or(url.path));
    let name = match reader.entry("name") {
        Some(entry) if !named.is_empty() => {
            out.error(entry.place, "name: the URL has one already").label("leave one of them out");
            None
        }
        Some(entry) => values::name("name", &entry.node, out),
        None if !words::is_name(named) => {
            let message = format!("{what}: the agent's name is not said");
            out.error(reader.header, message).label("agent://ADDRESS:PORT/NAME").of_absence();
            None
        }
        None => Some(named),
    };
    let transport = transport(what, url, targets, reader, out);
    let interval = reader.read("interval", values::positive_span, out);
    let count = reader.read("count", values::number::<u16>(1..=1000), out);
    let units = match reader.entry("units") {
        Some(entry) => values::list("units", &entry.node, out, values::name)?,
        None => Vec::new(),
    };
    if units.len() > MOST_UNITS {
        out.error(reader.place("units"), format!("units: at most {MOST_UNITS}"));
        return None;
    }
    let key = match reader.entry("key") {
        Some(entry) => Some(values::secret_file("key", &entry.node, out)?),
        None => None,
    };
    if key.is_none() && reader.has("skew") {
        let message = "skew: only a signed heartbeat has a time that can be trusted";
        out.error(reader.place("skew"), message).label("give it `key`");
    }
    let skew = reader.read("skew", values::positive_span, out);
    let full = reader.read("full", values::number::<u16>(1..=1000), out);
    Some(Kind::Agent(Box::new(AgentPlan {
        name: name?.into(),
        transport: transport?,
        interval: interval.unwrap_or(Span::from_secs(6)),
        count: count.unwrap_or(3),
        units: units.into_iter().map(Into::into).collect(),
        key: key.map(PathBuf::from),
        skew: skew.unwrap_or(Span::from_secs(60)),
        full: full.unwrap_or(1),
    })))
}

fn transport(
    what: &str,
    url: Option<&Url<'_>>,
    targets: &[Target],
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Transport> {
    let transport = match reader.entry("transport") {
        Some(entry) => values::one_of(&["udp", "tcp", "unix"])("transport", &entry.node, out)?,
        None => 0,
    };
    if transport == 2 {
        for key in ["url", "address"] {
            let address = url.is_none_or(|url| url.address.is_some());
            if let Some(entry) = reader.entry(key).filter(|_| address) {
                let message = format!("{key}: heartbeats on a UNIX socket come to no address");
                out.error(entry.place, message).label("kind = \"agent\", with `socket` and `name`");
                return None;
            }
        }
        if !reader.has("socket") {
            let message = format!("{what}: which socket is not said");
            let finding = out.error(reader.header, message);
            finding.label("socket = \"/run/giveover/agent.sock\"").of_absence();
            return None;
        }
        return Some(Transport::Unix(reader.read("socket", values::path, out)?.into()));
    }
    if let Some(entry) = reader.entry("socket") {
        let message = "socket: only `transport = \"unix\"` has one";
        out.error(entry.place, message);
        return None;
    }
    if let Some(named) = targets.iter().find(|target| !matches!(target.host, Host::Address(_))) {
        let message = format!("{what}: `{}` is no address of this host", named.host);
        let place =
            if reader.has("address") { reader.place("address") } else { reader.place("url") };
        out.error(place, message).label("where we hear, as in 0.0.0.0 or [::]");
        return None;
    }
    if targets.len() > 1 {
        let message = format!("{what}: an agent is heard at one address");
        out.error(reader.place("address"), message).label("0.0.0.0 and [::] are all of them");
        return None;
    }
    Some(if transport == 1 { Transport::Tcp } else { Transport::Udp })
}

//! `cluster.etcd`: the store that decides with `quorum = "etcd"`.

use giveover_core::claim;
use giveover_core::peer::{Limits, Quorum};
use giveover_core::time::Span;
use serde::{Deserialize, Serialize};

use super::super::plan::Host;
use super::super::quantity::written;
use super::super::reader::Reader;
use super::super::report::Findings;
use super::super::source::Place;
use super::super::tree::Node;
use super::super::{address, target, values};
use super::keys;

/// The store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EtcdPlan {
    /// Its members, in the order in which they are tried.
    pub endpoints: Vec<EndpointPlan>,
    /// What every key of ours begins with; without a `/` at its end.
    pub prefix: String,
    /// How long a lease is: whole seconds.
    pub ttl: Span,
    /// So long before its end an active is none any more.
    pub margin: Span,
}

/// One of its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointPlan {
    /// Where.
    pub host: Host,
    /// At which port.
    pub port: u16,
}

impl std::fmt::Display for EndpointPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            Host::Address(address) => {
                write!(f, "http://{}", std::net::SocketAddr::new(*address, self.port))
            }
            host => write!(f, "http://{host}:{}", self.port),
        }
    }
}

const PREFIX: &str = "/giveover";
/// The port that etcd has for clients.
const PORT: u16 = 2379;
/// A lease is seconds; one of one second is shorter than etcd grants, and one of a day no use.
const TTL: [Span; 2] = [Span::from_secs(2), Span::from_secs(3600)];
const USUAL_TTL: Span = Span::from_secs(10);
const USUAL_MARGIN: Span = Span::from_secs(5);
const LEAST_MARGIN: Span = Span::from_secs(1);
/// How many members are tried.
const MOST: usize = 16;

impl EtcdPlan {
    /// So long what a renewal gives is held: the `lease` of the group's machine.
    #[must_use]
    pub const fn hold(&self) -> Span {
        Span::from_millis(self.ttl.as_millis().saturating_sub(self.margin.as_millis()))
    }

    /// The times of a claim.
    #[must_use]
    pub const fn limits(&self, limits: &Limits) -> claim::Limits {
        let (ttl, margin) = (self.ttl, self.margin);
        claim::Limits { ttl, margin, wait: limits.wait, beat: limits.heartbeat }
    }
}

/// Reads `etcd`; `None` where it is not there, or wrong and that has been said.
pub(super) fn read(
    reader: &Reader<'_>,
    quorum: Option<Quorum>,
    out: &mut Findings,
) -> Option<EtcdPlan> {
    let wanted = quorum == Some(Quorum::Etcd);
    if wanted && !cfg!(feature = "etcd") {
        let message = "quorum: \"etcd\" needs a program that was built with the feature `etcd`";
        let remedy = "cargo build --features etcd, or a witness: quorum = \"majority\"";
        out.error(reader.place("quorum"), message).label(remedy);
        return None;
    }
    let Some(entry) = reader.entry("etcd") else {
        if wanted {
            let finding = out.error(reader.place("quorum"), "quorum: \"etcd\" needs `etcd`");
            finding.label("etcd = { endpoints = [\"http://10.0.0.5:2379\"] }");
        }
        return None;
    };
    if quorum.is_some() && !wanted {
        let finding = out.error(entry.place, "etcd: only quorum = \"etcd\" asks it");
        finding.label("leave it out, or say quorum = \"etcd\"");
        return None;
    }
    if wanted && reader.has("lease") {
        let message = "lease: with quorum = \"etcd\" it is etcd.ttl less etcd.margin";
        out.error(reader.place("lease"), message).label("leave it out");
    }
    let table = values::table("etcd", &entry.node, out)?;
    let reader =
        Reader::new(table, entry.node.place, "cluster.etcd".to_owned(), &[keys::ETCD], out);
    let endpoints = endpoints(&reader, out);
    let prefix = match reader.has("prefix") {
        true => reader.read("prefix", prefix, out),
        false => Some(PREFIX.to_owned()),
    };
    let ttl = reader.read("ttl", values::positive_span, out).unwrap_or(USUAL_TTL);
    let margin = reader.read("margin", values::positive_span, out).unwrap_or(USUAL_MARGIN);
    let times = check_times(&reader, ttl, margin, out);
    times?;
    Some(EtcdPlan { endpoints: endpoints?, prefix: prefix?, ttl, margin })
}

fn check_times(reader: &Reader<'_>, ttl: Span, margin: Span, out: &mut Findings) -> Option<()> {
    let mut no = |key: &str, message: String, remedy: String| {
        out.error(reader.place(key), message).label(remedy);
        None
    };
    let [least, most] = TTL;
    if ttl.as_millis() % 1000 != 0 || ttl < least || ttl > most {
        let (least, most) = (written(least), written(most));
        return no(
            "ttl",
            format!("ttl: whole seconds, {least} to {most}"),
            "ttl = \"10s\"".to_owned(),
        );
    }
    if margin < LEAST_MARGIN {
        let message = "margin: at least 1s, for what clocks and timers may be wrong by".to_owned();
        return no("margin", message, "margin = \"1s\"".to_owned());
    }
    if margin >= ttl {
        let message = format!("margin: must be below ttl, which is {}", written(ttl));
        return no(
            "margin",
            message,
            "what is left of ttl is what a renewal is good for".to_owned(),
        );
    }
    Some(())
}

fn endpoints(reader: &Reader<'_>, out: &mut Findings) -> Option<Vec<EndpointPlan>> {
    if !reader.has("endpoints") {
        let finding = out.error(reader.header, "etcd: needs `endpoints`");
        finding.label("endpoints = [\"http://10.0.0.5:2379\"]").of_absence();
        return None;
    }
    let all =
        reader.read("endpoints", |key, node, out| values::list(key, node, out, endpoint), out)?;
    let place = reader.place("endpoints");
    if all.is_empty() || all.len() > MOST {
        out.error(place, format!("endpoints: 1 to {MOST}, not {}", all.len()));
        return None;
    }
    twice(&all, place, out)?;
    Some(all)
}

fn twice(all: &[EndpointPlan], place: Place, out: &mut Findings) -> Option<()> {
    for (at, endpoint) in all.iter().enumerate() {
        if all.iter().take(at).any(|other| other == endpoint) {
            out.error(place, format!("endpoints: {endpoint} stands there twice"));
            return None;
        }
    }
    Some(())
}

/// `http://HOST:PORT`.
fn endpoint(key: &str, node: &Node, out: &mut Findings) -> Option<EndpointPlan> {
    let text = values::word(key, node, out)?;
    let usual = "\"http://10.0.0.5:2379\"";
    let Some((scheme, rest)) = text.split_once("://") else {
        out.error(node.place, format!("{key}: `{text}` is no URL")).label(usual);
        return None;
    };
    match scheme {
        "http" => {}
        "https" => {
            let message = format!("{key}: https to etcd is not in this version");
            let finding = out.error(node.place, message);
            finding.label("http, on a network of its own, or a TLS proxy on this host");
            return None;
        }
        _ => {
            out.error(node.place, format!("{key}: `{scheme}` is no scheme of etcd's")).label(usual);
            return None;
        }
    }
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains(['/', '?', '#', '@']) {
        let message = format!("{key}: only a host and a port may follow http://");
        out.error(node.place, message).label(usual);
        return None;
    }
    let address = address::said(key, target::address(rest), node, out)?;
    Some(EndpointPlan { host: address.host, port: address.port.unwrap_or(PORT) })
}

fn prefix(key: &str, node: &Node, out: &mut Findings) -> Option<String> {
    let text = values::word(key, node, out)?;
    let kept = text.trim_end_matches('/');
    if !kept.starts_with('/') || kept.len() > 200 || kept.chars().any(char::is_control) {
        let message = format!("{key}: begins with `/`, and has at most 200 bytes");
        out.error(node.place, message).label("\"/giveover\"");
        return None;
    }
    Some(kept.to_owned())
}

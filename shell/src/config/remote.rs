//! `remote` checks: another daemon's view of one of its services.

use giveover_core::weight::Weight;
use serde::{Deserialize, Serialize};

use super::plan::{Host, HttpPlan, Kind, Method, Target, Weights};
use super::reader::Reader;
use super::report::Findings;
use super::schema::{Key, key};
use super::target::Target as Url;
use super::{values, words};

/// Whose view of what is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemotePlan {
    /// The service, by its name there.
    pub service: Box<str>,
    /// Statuses that are healthy, by their places in [`STATUSES`], counted from one.
    pub expect: Vec<u16>,
    /// How it is asked.
    pub http: HttpPlan,
}

/// What a service can be. A cause holds a place in this list, counted from one: only ever append.
pub const STATUSES: [&str; 5] = ["ok", "degraded", "faulted", "offline", "unknown"];

/// The code of an answer about other services only.
pub const NO_SERVICE: u16 = 50;
/// The place of `unknown`.
pub const UNKNOWN: u16 = 5;

/// What a code means; statuses of HTTP say it themselves.
#[must_use]
pub fn words_of(code: u16) -> &'static str {
    match code {
        NO_SERVICE => "it has no such service",
        UNKNOWN => "unknown there, before its first cycle",
        place => super::talk::codes::named(&STATUSES, place),
    }
}

pub(super) const KEYS: &[Key] = &[
    key("service", "name of a service", "the URL's", "whose status is asked for"),
    key(
        "socket",
        "absolute path",
        "",
        "the other daemon's control socket, in place of an address; a forwarded one too",
    ),
    key("expect", "statuses: \"ok\", \"degraded\", …", "[\"ok\", \"degraded\"]", "which are right"),
    key("cap", "size, 1KiB to 16MiB", "\"4MiB\"", "an answer is not longer"),
];

/// What failures weigh unless it is written: who is asked has counted already.
pub(super) const WEIGHTS: Weights = Weights { answer: Weight::COMPLETE, ..Weights::DEFAULT };

/// The socket a `remote` check asks, if it names one.
pub(super) fn socket(reader: &Reader<'_>, out: &mut Findings) -> Option<Vec<Target>> {
    let path = reader.read("socket", values::path, out)?;
    Some(vec![Target { host: Host::Socket(path.into()), port: 0 }])
}

pub(super) fn read(
    what: &str,
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let named = url.map_or("", |url| url.path.strip_prefix('/').unwrap_or(url.path));
    let service = match reader.entry("service") {
        Some(entry) if !named.is_empty() => {
            let message = "service: the URL has one already";
            out.error(entry.place, message).label("leave one of them out");
            return None;
        }
        Some(entry) => values::name("service", &entry.node, out)?,
        None if named.is_empty() => {
            let message = format!("{what}: which of its services is not said");
            out.error(reader.header, message).label("remote://HOST:PORT/SERVICE").of_absence();
            return None;
        }
        None if !words::is_name(named) => {
            let message = format!("{what}: `{named}` is no name of a service");
            out.error(reader.place("url"), message).label("remote://HOST:PORT/SERVICE");
            return None;
        }
        None => named,
    };
    let expect = match reader.entry("expect") {
        Some(entry) => values::one_or_more("expect", &entry.node, out, |key, node, out| {
            Some(values::one_of(&STATUSES)(key, node, out)? as u16 + 1)
        })?,
        None => vec![1, 2],
    };
    if expect.is_empty() {
        out.error(reader.place("expect"), "expect: an empty list expects nothing");
        return None;
    }
    let cap = reader.read("cap", values::size(1 << 10..=16 << 20), out);
    let authority = url.map_or("", |url| url.authority);
    let http = HttpPlan {
        by_document: false,
        method: Method::Get,
        path: "/status.json".into(),
        host: if authority.is_empty() { "giveover" } else { authority }.into(),
        expect: vec![(200, 200)],
        body: None,
        cap: cap.unwrap_or(4 << 20),
    };
    Some(Kind::Remote(Box::new(RemotePlan { service: service.into(), expect, http })))
}

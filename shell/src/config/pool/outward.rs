//! Who is told of a pool's members, and what clients get when none is left.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::keys;
use super::plan::{FallbackPlan, HaproxyPlan, Instead, NftPlan};
use crate::config::reader::{Reader, header};
use crate::config::report::Findings;
use crate::config::tree::{Entry, Node};
use crate::config::values;
use crate::config::words;

/// An address with its port: where we listen, or a virtual service.
pub(super) fn socket(key: &str, node: &Node, out: &mut Findings) -> Option<SocketAddr> {
    let text = values::text(key, node, out)?;
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Some(address),
        _ => {
            let finding = out.error(node.place, format!("{key}: must be ADDRESS:PORT"));
            finding.label("as in \"127.0.0.1:9707\"");
            None
        }
    }
}

/// `haproxy`.
pub(super) fn haproxy(entry: &Entry, pool: &str, out: &mut Findings) -> Option<HaproxyPlan> {
    let table = values::table("haproxy", &entry.node, out)?;
    let path = format!("pool.{pool}.haproxy");
    let reader = Reader::new(table, header(entry), path, &[keys::HAPROXY], out);
    if !reader.has("socket") {
        let finding = out.error(reader.header, "haproxy: needs `socket`");
        finding.label("socket = \"/run/haproxy/admin.sock\"").of_absence();
    }
    let backend = reader.read("backend", backend, out);
    let socket = reader.read("socket", values::path, out)?;
    Some(HaproxyPlan {
        socket: PathBuf::from(socket),
        backend: backend.unwrap_or_else(|| pool.to_owned()),
    })
}

/// Goes into HAProxy's command lines, where a blank or a slash would mean something else.
fn backend(key: &str, node: &Node, out: &mut Findings) -> Option<String> {
    let name = values::word(key, node, out)?;
    if words::is_name(name) {
        return Some(name.to_owned());
    }
    out.error(node.place, format!("{key}: that cannot name a backend"));
    None
}

/// `nft`.
pub(super) fn nft(entry: &Entry, pool: &str, cut: bool, out: &mut Findings) -> Option<NftPlan> {
    let table = values::table("nft", &entry.node, out)?;
    let path = format!("pool.{pool}.nft");
    let reader = Reader::new(table, header(entry), path, &[keys::NFT], out);
    if !reader.has("table") {
        let finding = out.error(reader.header, "nft: needs `table`");
        finding.label("table = \"inet giveover\"").of_absence();
    }
    if !["map", "set", "cut"].iter().any(|key| reader.has(key)) {
        let finding = out.error(reader.header, "nft: needs `map`, `set` or `cut`");
        finding.label("what of the table follows the members").of_absence();
    }
    if let (Some(entry), false) = (reader.entry("cut"), cut) {
        let message = "cut: the pool does not cut connections";
        out.error(entry.place, message).label("cut = true in the pool");
    }
    let slots = reader.read("slots", values::number(1..=256), out);
    if let (Some(entry), false) = (reader.entry("slots"), reader.has("map")) {
        out.error(entry.place, "slots: only a `map` has them");
    }
    let name = |key: &str, out: &mut Findings| reader.read(key, nft_name, out);
    let (map, set, cut) = (name("map", out), name("set", out), name("cut", out));
    let (family, table) = reader.read("table", nft_table, out)?;
    Some(NftPlan { family, table, map, slots: slots.unwrap_or(64), set, cut })
}

fn nft_table(key: &str, node: &Node, out: &mut Findings) -> Option<(String, String)> {
    let text = values::text(key, node, out)?;
    if let Some((family, name)) = text.split_once(' ') {
        if ["ip", "ip6", "inet"].contains(&family) && is_nft_name(name) {
            return Some((family.to_owned(), name.to_owned()));
        }
    }
    let finding = out.error(node.place, format!("{key}: must be a family and a name"));
    finding.label("as in \"inet giveover\"; families are ip, ip6 and inet");
    None
}

fn nft_name(key: &str, node: &Node, out: &mut Findings) -> Option<String> {
    let text = values::text(key, node, out)?;
    if is_nft_name(text) {
        return Some(text.to_owned());
    }
    let finding = out.error(node.place, format!("{key}: nftables has no such names"));
    finding.label("a letter, then letters, digits and _");
    None
}

fn is_nft_name(name: &str) -> bool {
    let rest = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.len() <= 32
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(rest)
}

/// `none_left`. `tls` names a check by which the members speak TLS.
pub(super) fn none_left(
    entry: &Entry,
    pool: &str,
    tls: Option<&str>,
    out: &mut Findings,
) -> Option<FallbackPlan> {
    let table = values::table("none_left", &entry.node, out)?;
    let path = format!("pool.{pool}.none_left");
    let reader = Reader::new(table, header(entry), path, &[keys::NONE_LEFT], out);
    if !reader.has("listen") {
        let finding = out.error(reader.header, "none_left: needs `listen`");
        finding.label("listen = \"127.0.0.1:8081\"").of_absence();
    }
    let given = ["page", "redirect", "reset"].map(|key| reader.has(key));
    if given.iter().filter(|given| **given).count() != 1 {
        let finding = out.error(reader.header, "none_left: needs one of page, redirect and reset");
        finding.label("redirect = \"http://sorry.example.org/\"").of_absence();
    }
    let listen = reader.read("listen", socket, out);
    let page = reader.read("page", values::path, out);
    let redirect = reader.read("redirect", |k, n, o| url(k, n, listen, o), out);
    let reset = reader.read("reset", values::boolean, out);
    let retry_after = reader.read("retry_after", values::positive_span, out);
    let plain = reader.read("plain", values::boolean, out).unwrap_or(false);
    if let (Some(check), false, false) = (tls, plain, reset == Some(true)) {
        let message = format!("none_left: members speak TLS ({check}); it is served by plain HTTP");
        let label = "reset = true; or plain = true where the balancer ends TLS";
        out.error(reader.header, message).label(label);
    }
    let instead = match (page, redirect, reset) {
        (Some(page), _, _) => Instead::Page(PathBuf::from(page)),
        (_, Some(url), _) => Instead::Redirect(url),
        (_, _, Some(true)) => Instead::Reset,
        (_, _, Some(false)) => {
            out.error(reader.place("reset"), "reset: leave it out");
            return None;
        }
        (None, None, None) => return None,
    };
    Some(FallbackPlan { listen: listen?, instead, retry_after })
}

/// What goes into a Location field; not our own page, or clients would go round.
fn url(key: &str, node: &Node, listen: Option<SocketAddr>, out: &mut Findings) -> Option<String> {
    let text = values::text(key, node, out)?;
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.is_empty() || !text.chars().all(|c| ('!'..='~').contains(&c)) {
        let finding = out.error(node.place, format!("{key}: must be a whole URL"));
        finding.label("as in \"http://sorry.example.org/\"");
        return None;
    }
    if listen.is_some_and(|listen| host == listen.to_string()) {
        let message = format!("{key}: that is where we listen: clients would go round for ever");
        out.error(node.place, message).label("another server's URL");
        return None;
    }
    Some(text.to_owned())
}

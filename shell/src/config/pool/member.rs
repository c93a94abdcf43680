//! Members and their checks.

use std::net::IpAddr;

use giveover_core::time::Span;

use super::keys;
use super::plan::MemberPlan;
use crate::config::address::{self, Addresses};
use crate::config::check::{self, Around};
use crate::config::database::Rows;
use crate::config::few::Few;
use crate::config::name;
use crate::config::plan::{CheckPlan, Host, Kind, Target};
use crate::config::reader::Reader;
use crate::config::report::Findings;
use crate::config::source::Place;
use crate::config::target::{self, Address};
use crate::config::tree::{Entry, Node, Table, Value};
use crate::config::values;

/// Reads `member`, without its checks; wrong ones are said and missing.
pub(super) fn read_all(reader: &Reader<'_>, out: &mut Findings) -> Vec<MemberPlan> {
    let entries = reader.entries("member", out);
    let drafts = entries.iter().filter_map(|entry| {
        name::check("member", entry, out);
        read(entry, &reader.path, out)
    });
    drafts.collect()
}

fn read(entry: &Entry, pool: &str, out: &mut Findings) -> Option<MemberPlan> {
    let draft = |(host, port): (Host, u16), backup, weight| MemberPlan {
        name: entry.key.as_str().into(),
        target: Target { host, port },
        backup,
        weight,
        checks: Few::default(),
    };
    match &entry.node.value {
        Value::Text(_) => Some(draft(whom(&entry.key, &entry.node, out)?, false, 1)),
        Value::Table(table) => {
            let path = format!("{pool}.member.{}", entry.key);
            let reader = Reader::new(table, entry.place, path, &[keys::MEMBER], out);
            let backup = reader.read("backup", values::boolean, out).unwrap_or(false);
            let weight = reader.read("weight", values::number(1..=256), out).unwrap_or(1);
            if !reader.has("address") {
                let finding = out.error(entry.place, format!("{}: where is it?", reader.path));
                finding.label("address = \"HOST:PORT\"").of_absence();
            }
            Some(draft(reader.read("address", whom, out)?, backup, weight))
        }
        _ => values::wrong(&entry.key, "\"HOST:PORT\" or a table", &entry.node, out),
    }
}

fn whom(key: &str, node: &Node, out: &mut Findings) -> Option<(Host, u16)> {
    let text = values::text(key, node, out)?;
    let Address { host, port } = address::said(key, target::address(text), node, out)?;
    let Some(port) = port else {
        out.error(node.place, format!("{key}: a member needs its port")).label("HOST:PORT");
        return None;
    };
    Some((host, port))
}

/// The pool's checks as asked of one member.
pub(super) fn checks(
    entries: &[Entry],
    member: &MemberPlan,
    path: &str,
    (probe_timeout, interval): (Span, Span),
    out: &mut Findings,
) -> Option<Few<CheckPlan>> {
    let host = member.target.host.clone();
    let own = Address { host, port: Some(member.target.port) };
    let addresses = Addresses::of(vec![own], Place::whole(0));
    let around = Around {
        path,
        addresses: Some(&addresses),
        addresses_wrong: false,
        probe_timeout,
        interval,
        has_process: false,
        rows: &Rows::default(),
    };
    let authority = member.authority();
    let host = match &member.target.host {
        Host::Address(IpAddr::V6(ip)) => format!("[{ip}]"),
        host => host.to_string(),
    };
    let read = entries.iter().map(|entry| {
        let entry = asked_of(entry, &member.name, &authority, &host);
        let check = check::read(&entry, &around, out)?;
        // An agent says it by itself.
        if check.kind.asks_others() || matches!(check.kind, Kind::Agent(_)) {
            return Some(check);
        }
        let message =
            format!("check.{}: members have no `{}` checks", entry.key, check.kind.word());
        out.error(entry.node.place, message).label("a tcp check, or a command");
        None
    });
    // Every one of them is read before the first wrong one ends this.
    let read: Vec<_> = read.collect();
    read.into_iter().collect()
}

/// The check with `$MEMBER` in its target replaced. `ping://$MEMBER` means the host alone, and an
/// agent has the member's name.
fn asked_of(entry: &Entry, name: &str, authority: &str, host: &str) -> Entry {
    let put = |key: &str, text: &str| {
        let with = match text.split_once(':') {
            Some(("ping", _)) => host,
            Some(("agent", _)) => name,
            _ if key == "name" => name,
            _ => authority,
        };
        text.replace("$MEMBER", with)
    };
    let mut entry = entry.clone();
    match &mut entry.node.value {
        Value::Text(text) => *text = put("", text),
        Value::Table(table) => replace_in(table, &put),
        _ => {}
    }
    entry
}

fn replace_in(table: &mut Table, put: &dyn Fn(&str, &str) -> String) {
    for entry in &mut table.0 {
        match &mut entry.node.value {
            Value::Text(text) if matches!(&*entry.key, "url" | "address" | "name") => {
                *text = put(&entry.key, text);
            }
            _ => {}
        }
    }
}

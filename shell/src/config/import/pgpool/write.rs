//! The section in our words.

use std::fmt::Write as _;

use super::interface::{self, Interface, PLACEHOLDER};
use super::watchdog::Watchdog;

/// Behind this column a line says where it comes from.
const COLUMN: usize = 44;

/// The configuration, without what was left out.
pub(super) fn configuration(watchdog: &Watchdog, name: &str) -> String {
    let mut out = Page(String::new());
    out.line(&format!("# Made by `giveover import pgpool` of {name}, pgpool-II's watchdog."));
    if watchdog.on {
        out.line("# The same file belongs on every node.");
        host(watchdog, &mut out);
        cluster(watchdog, &mut out);
        nodes(watchdog, &mut out);
        service(watchdog, &mut out);
        group(watchdog, &mut out);
    } else {
        out.line("# use_watchdog is off: there are no other nodes, and no address to move.");
        service(watchdog, &mut out);
    }
    out.0
}

struct Page(String);

impl Page {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.0, "{line}"); // a string takes everything
    }

    /// A line and where it comes from.
    fn from(&mut self, line: &str, source: &str) {
        let _ = writeln!(self.0, "{line:<COLUMN$} # {source}");
    }

    /// A table, with a line before it.
    fn table(&mut self, header: &str) {
        self.line(&format!("\n[{header}]"));
    }
}

fn host(watchdog: &Watchdog, out: &mut Page) {
    out.table("host");
    let own = format!("# node = {}", quoted(&watchdog.hostname));
    out.from(&own, "wd_hostname: each node its own, where its address does not tell");
    let trusted: Vec<String> = watchdog
        .trusted
        .iter()
        .map(|host| quoted(&format!("ping://{}", bracketed(host))))
        .collect();
    out.from(&format!("trusted = [{}]", trusted.join(", ")), "trusted_servers");
}

fn cluster(watchdog: &Watchdog, out: &mut Page) {
    out.table("cluster");
    let key = "key      = \"/etc/giveover/keys/cluster.key\"";
    out.from(key, "pgpool-II 3.2 has none; the same 32 bytes on every node");
    if watchdog.others.len() == 1 {
        let quorum = "pgpool-II's rule; \"majority\" with a witness never has two holders";
        out.from("quorum   = \"trusted\"", quorum);
        let accepts = "as pgpool-II: two, if only the link between the nodes is cut";
        out.from("accept_two_holders = true", accepts);
    } else {
        let quorum = "pgpool-II 3.2 takes over without one; more than half must agree here";
        out.from("quorum   = \"majority\"", quorum);
    }
    out.from(&format!("interval = \"{}s\"", watchdog.interval_s), "wd_interval");
    out.from(&format!("life     = {}", watchdog.life), "wd_life_point");
    out.from(&format!("port     = {}", watchdog.port), "wd_port");
}

fn nodes(watchdog: &Watchdog, out: &mut Page) {
    node(&watchdog.hostname, None, "wd_hostname", out);
    for other in &watchdog.others {
        let port = (other.port != watchdog.port).then_some(other.port);
        let number = other.number;
        let source = format!("other_pgpool_hostname{number}, other_wd_port{number}");
        node(&other.hostname, port, &source, out);
    }
}

fn node(hostname: &str, port: Option<u16>, source: &str, out: &mut Page) {
    out.table(&format!("node.{}", key(hostname)));
    let address = match port {
        Some(port) => format!("{}:{port}", bracketed(hostname)),
        None => hostname.to_owned(),
    };
    out.from(&format!("address = {}", quoted(&address)), source);
}

fn service(watchdog: &Watchdog, out: &mut Page) {
    out.table("service.pgpool");
    let unit = "# unit = \"pgpool2.service\"";
    out.from(unit, "without, it is only watched, as pgpool-II's watchdog does");
    if watchdog.on {
        out.from("giveover = \"none\"", "wd_life_point looks of the group's check decide");
    }
    out.line(&query(watchdog, "127.0.0.1"));
}

fn group(watchdog: &Watchdog, out: &mut Page) {
    out.table("group.pgpool");
    out.line("services  = [\"pgpool\"]");
    out.from("run       = \"all\"", "pgpool-II runs on every node, only the address moves");
    let (up, down, arping) = (&watchdog.up, &watchdog.down, &watchdog.arping);
    let address = watchdog.address.map(|address| address.to_string()).unwrap_or_default();
    match interface::told(up, down, arping) {
        Some(Interface { name, label, prefix }) => {
            let addresses = format!("addresses = [\"{address}/{prefix}\"]");
            out.from(&addresses, "delegate_IP, if_up_cmd");
            out.from(&format!("interface = {}", quoted(&name)), "if_up_cmd");
            if let Some(label) = label {
                out.from(&format!("label     = {}", quoted(&label)), "if_up_cmd, if_down_cmd");
            }
        }
        None => {
            let bits = watchdog.address.map_or(32, |it| if it.is_ipv4() { 32 } else { 128 });
            let addresses = format!("addresses = [\"{address}/{bits}\"]");
            out.from(&addresses, "delegate_IP; its prefix is what if_up_cmd says");
            let (ifconfig, arp) = (&watchdog.ifconfig_path, &watchdog.arping_path);
            out.from(&format!("up        = {}", argv(ifconfig, up)), "ifconfig_path, if_up_cmd");
            let line = format!("down      = {}", argv(ifconfig, down));
            out.from(&line, "ifconfig_path, if_down_cmd");
            out.from(&format!("announce  = {}", argv(arp, arping)), "arping_path, arping_cmd");
        }
    }
    out.line(&query(watchdog, "$NODE"));
}

/// The life check: pgpool-II connects within half of the interval and a second.
fn query(watchdog: &Watchdog, host: &str) -> String {
    let timeout = (watchdog.interval_s / 2 + 1).min(MOST_S);
    format!(
        "# port, wd_lifecheck_query; pgpool-II's limit is wd_interval / 2 + 1 s, ours at most {MOST_S} s\n\
         check.query = {{ url = \"postgres://postgres@{host}:{}/template1\", query = {}, \
         timeout = \"{timeout}s\" }}",
        watchdog.pgpool_port,
        quoted(&watchdog.query),
    )
}

/// A probe has no more time unless its policy says so.
const MOST_S: u32 = 10;

/// A command's words. A program without a path is looked for in `path`, as pgpool-II does; a
/// dollar is doubled, the placeholder stays.
fn argv(path: &str, command: &str) -> String {
    let mut words = command.split_whitespace().map(|word| {
        let pieces: Vec<String> =
            word.split(PLACEHOLDER).map(|piece| piece.replace('$', "$$")).collect();
        pieces.join(PLACEHOLDER)
    });
    let program = words.next().unwrap_or_default();
    let program = match program.starts_with('/') || path.is_empty() {
        true => program,
        false => format!("{}/{program}", path.trim_end_matches('/')),
    };
    let words: Vec<String> = std::iter::once(program).chain(words).map(|it| quoted(&it)).collect();
    format!("[{}]", words.join(", "))
}

/// An address of IPv6 as it stands before a port.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// A key of TOML.
fn key(name: &str) -> String {
    let bare = name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it));
    if bare && !name.is_empty() { name.to_owned() } else { quoted(name) }
}

/// A string of TOML 1.0.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

//! Targets and addresses as people write them: `http://127.0.0.1/health`, `[::1]:80`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::agent;
use super::plan::Host;
use super::schema::KINDS;
use super::talk;
use super::tls;
use super::words;

/// A host, with its port if one is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: Host,
    pub(super) port: Option<u16>,
}

/// A target: what kind of check, whom it asks, what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target<'t> {
    /// A kind of this version.
    pub(super) kind: &'static str,
    /// Whom; `None` for a bare kind.
    pub(super) address: Option<Address>,
    /// The host with its port as written, for the Host field.
    pub(super) authority: &'t str,
    /// Before an `@`, for the kinds that have users; empty if none is.
    pub(super) user: &'t str,
    /// The path with its query, as written; empty if none is.
    pub(super) path: &'t str,
    /// The socket in the file system that is asked instead of an address.
    pub(super) socket: Option<Box<str>>,
}

/// What is wrong with a target, and perhaps the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadTarget {
    pub(super) message: String,
    pub(super) remedy: String,
}

impl BadTarget {
    fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: remedy.into() }
    }
}

/// The kind called `word`.
pub(super) fn kind(word: &str) -> Result<&'static str, BadTarget> {
    if let Some(kind) = KINDS.iter().find(|kind| **kind == word) {
        return Ok(kind);
    }
    let remedy = match words::nearest(word, KINDS) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("kinds are {}", words::and(KINDS)),
    };
    Err(BadTarget::new(format!("no kind of check is called `{word}`"), remedy))
}

/// Reads `KIND://HOST[:PORT][/PATH]`, or a bare `KIND`.
pub(super) fn parse(text: &str) -> Result<Target<'_>, BadTarget> {
    let Some((word, rest)) = text.split_once("://") else {
        let bare = kind(text).map_err(|bad| not_even_a_kind(text, bad))?;
        return Ok(Target::bare(bare, ""));
    };
    let kind = kind(word)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    match kind {
        "command" => {
            let program = if rest.starts_with('/') { rest } else { "/path/to/program" };
            let remedy = format!("{{ command = [\"{program}\"] }}");
            return Err(BadTarget::new("a command is no URL", remedy));
        }
        "process" => {
            return Err(BadTarget::new("a process has no address", "write \"process\" alone"));
        }
        "path" | "log" if authority.is_empty() && path.starts_with('/') => {
            return Ok(Target::bare(kind, path));
        }
        "log" => return Err(BadTarget::new("a log is of this host", "log:///var/log/app.log")),
        "systemd" => return Ok(Target::bare(kind, rest)),
        "oracle" | "listener" => {
            let remedy = format!("{{ kind = \"{word}\" }} and its keys");
            return Err(BadTarget::new(format!("{} check has no URL", a(kind)), remedy));
        }
        "postgres" if path.contains('?') => return at_socket(kind, authority, path),
        "path" => return Err(BadTarget::new("a path is of this host", "path:///srv/data")),
        "http" | "apache" | "https" | "iplanet" => check_path(path)?,
        _ if path.is_empty() => {}
        _ if path_means(plain(kind)).is_some() => plain_path(kind, path)?,
        _ => {
            let remedy = format!("{word}://{authority}");
            return Err(BadTarget::new(format!("{} target has no path", a(kind)), remedy));
        }
    }
    let (user, authority) = authority.rsplit_once('@').unwrap_or(("", authority));
    if user.contains(':') {
        return Err(BadTarget::new("a password has no place in a target", "leave it out"));
    }
    if !(user.is_empty() || talk::has_user(plain(kind))) {
        return Err(BadTarget::new(format!("{} target has no user", a(kind)), "leave it out"));
    }
    let address = address(authority)?;
    if kind == "ping" && address.port.is_some() {
        let end = authority.rfind(':').unwrap_or(authority.len());
        let remedy = format!("ping://{}", authority.get(..end).unwrap_or_default());
        return Err(BadTarget::new("a ping target has no port", remedy));
    }
    Ok(Target { address: Some(address), authority, user, ..Target::bare(kind, path) })
}

impl<'t> Target<'t> {
    /// One that says nothing of whom it asks.
    const fn bare(kind: &'static str, path: &'t str) -> Self {
        Self { kind, address: None, authority: "", user: "", path, socket: None }
    }
}

/// `USER@[:PORT]/DATABASE?host=/DIRECTORY`: a socket of PostgreSQL in the file system.
fn at_socket<'t>(
    kind: &'static str,
    authority: &'t str,
    path: &'t str,
) -> Result<Target<'t>, BadTarget> {
    let form = "as in postgres://giveover@/postgres?host=/run/postgresql";
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let (user, rest) = authority.rsplit_once('@').unwrap_or(("", authority));
    if user.contains(':') {
        return Err(BadTarget::new("a password has no place in a target", "use password_file"));
    }
    let digits = match rest.strip_prefix(':') {
        Some(digits) => digits,
        None if rest.is_empty() => "5432",
        None => {
            return Err(BadTarget::new("a socket in the file system has no host besides", form));
        }
    };
    let number = port(digits)?;
    let Some(dir) = query.strip_prefix("host=").filter(|dir| dir.starts_with('/')) else {
        return Err(BadTarget::new("only `host` with an absolute path may follow a `?`", form));
    };
    if dir.contains(['&', '%', '?', '#']) || dir.len() > 90 {
        let message = "the directory of a socket is at most 90 plain characters";
        return Err(BadTarget::new(message, form));
    }
    plain_path(kind, if path.is_empty() { "/" } else { path })?;
    let socket = format!("{}/.s.PGSQL.{number}", dir.trim_end_matches('/'));
    Ok(Target { user, socket: Some(socket.into()), ..Target::bare(kind, path) })
}

/// What the path of a URL of `kind` means, where it is a name.
fn path_means(kind: &str) -> Option<&'static str> {
    match kind {
        "agent" => Some("name"),
        "remote" => Some("service"),
        kind => talk::path_means(kind),
    }
}

/// The path of a kind for which it is a name: taken as it is written.
fn plain_path(kind: &'static str, path: &str) -> Result<(), BadTarget> {
    let key = path_means(plain(kind)).unwrap_or_default();
    let name = path.strip_prefix('/').unwrap_or_default();
    if name.contains(['/', '?', '#', '%']) || !path.starts_with('/') {
        let message = format!("{} target has a plain name for its path", a(kind));
        return Err(BadTarget::new(message, format!("write it as `{key}` of the check")));
    }
    Ok(())
}

/// The keys of a check whose place parts of the URL `text` take.
pub(super) fn said_by(text: &str) -> Vec<&'static str> {
    let Ok(target) = parse(text) else { return Vec::new() };
    let mut keys = Vec::new();
    if !target.path.is_empty() {
        match plain(target.kind) {
            "http" | "apache" | "iplanet" | "log" => keys.push("path"),
            "path" => keys.extend(["path", "list"]),
            "systemd" => keys.push("unit"),
            kind => keys.extend(path_means(kind)),
        }
    }
    if !target.user.is_empty() {
        keys.push("user");
    }
    if target.address.is_some() {
        keys.push("address");
    }
    keys
}

/// The kind spoken inside `kind`, or `kind` itself.
pub(super) fn plain(kind: &str) -> &str {
    tls::inside(kind).filter(|inside| !inside.is_empty()).unwrap_or(kind)
}

/// `a tcp`, `an http`.
pub(super) fn a(kind: &str) -> String {
    let spelled = [
        "agent", "http", "apache", "xfnts", "smtp", "imap", "ftp", "nntp", "ldap", "mqtt",
        "oracle", "iplanet",
    ];
    let n = if spelled.contains(&plain(kind)) || kind == "iiops" { "n" } else { "" };
    format!("a{n} {kind}")
}

/// A text without `://` that is no kind either is likelier an address than a word.
fn not_even_a_kind(text: &str, bad: BadTarget) -> BadTarget {
    if text.contains([':', '/', '.']) {
        let remedy = format!("KIND://HOST:PORT; kinds are {}", words::and(KINDS));
        return BadTarget::new(format!("`{text}` does not say what kind of check it is"), remedy);
    }
    bad
}

/// What a path may hold: anything else would end the request line, or never reach the server.
pub(super) fn check_path(path: &str) -> Result<(), BadTarget> {
    if let Some(bad) = path.chars().find(|c| !('!'..='~').contains(c)) {
        let mut bytes = [0; 4];
        let escaped: String =
            bad.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect();
        let message = "a path has neither blanks nor characters outside ASCII";
        return Err(BadTarget::new(message, format!("write {bad:?} as {escaped}")));
    }
    if path.contains('#') {
        return Err(BadTarget::new("a server is never sent what follows a `#`", "leave it out"));
    }
    Ok(())
}

/// Reads `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`.
pub(super) fn address(text: &str) -> Result<Address, BadTarget> {
    if let Some(rest) = text.strip_prefix('[') {
        let Some((inside, behind)) = rest.split_once(']') else {
            return Err(BadTarget::new("an IPv6 address is not closed", "`]` is missing"));
        };
        let host = inside.parse::<Ipv6Addr>().map_err(|_| {
            BadTarget::new(format!("`{inside}` is no IPv6 address"), "as in [2001:db8::1]:80")
        })?;
        let port = match behind.strip_prefix(':') {
            Some(digits) => Some(port(digits)?),
            None if behind.is_empty() => None,
            None => return Err(BadTarget::new("only `:PORT` may follow a `]`", "")),
        };
        return Ok(Address { host: Host::Address(host.into()), port });
    }
    if text.parse::<Ipv6Addr>().is_ok() || text.matches(':').count() > 1 {
        let remedy = "as in [2001:db8::1]:80";
        return Err(BadTarget::new("an IPv6 address stands in brackets", remedy));
    }
    match text.split_once(':') {
        Some((name, digits)) => Ok(Address { host: host(name)?, port: Some(port(digits)?) }),
        None => Ok(Address { host: host(text)?, port: None }),
    }
}

/// A host alone; here an IPv6 address needs no brackets.
pub(super) fn bare_host(text: &str) -> Result<Host, BadTarget> {
    match text.parse::<IpAddr>() {
        Ok(address) => Ok(Host::Address(address)),
        Err(_) => host(text),
    }
}

fn host(text: &str) -> Result<Host, BadTarget> {
    if text.is_empty() {
        return Err(BadTarget::new("the host is missing", "KIND://HOST:PORT"));
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(Host::Address(address.into()));
    }
    if let Some(variable) = text.strip_prefix('$') {
        let message = format!("`${variable}` stands for members of groups and pools");
        let remedy = match variable.starts_with("MEMBER") {
            true => "only the checks of a pool have members: write the host",
            false => "these are not in this version: write the host",
        };
        return Err(BadTarget::new(message, remedy));
    }
    if text.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(BadTarget::new(format!("`{text}` is no IPv4 address"), "as in 192.0.2.1"));
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.len() > 253 || !name.split('.').all(label) {
        return Err(BadTarget::new(format!("`{text}` is no name of a host"), ""));
    }
    Ok(Host::Name(text.into()))
}

/// Reads a port, 1 to 65535.
pub(super) fn port(text: &str) -> Result<u16, BadTarget> {
    let digits = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    match text.parse::<u16>() {
        Ok(port) if port > 0 && digits => Ok(port),
        _ => Err(BadTarget::new(format!("`{text}` is no port: 1 to 65535"), "")),
    }
}

/// The port of `kind` where none is written.
pub(super) fn usual_port(kind: &str) -> Option<u16> {
    match kind {
        "http" | "apache" | "iplanet" => Some(80),
        "directory" => Some(389),
        "xfnts" => Some(7100),
        "agent" => Some(agent::PORT),
        _ => talk::usual_port(kind).or_else(|| tls::usual_port(kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
        let address = address(text).ok()?;
        let host = match address.host {
            Host::Address(address) => address.to_string(),
            Host::Name(name) | Host::Socket(name) => name.into(),
        };
        Some((host, address.port))
    }

    #[test]
    fn addresses_are_a_host_and_perhaps_a_port() {
        let is = |text, host: &str, port| {
            assert_eq!(host_and_port(text), Some((host.to_owned(), port)), "{text}");
        };
        is("10.0.0.1", "10.0.0.1", None);
        is("10.0.0.1:80", "10.0.0.1", Some(80));
        is("[::1]:65535", "::1", Some(65535));
        is("[2001:db8::1]", "2001:db8::1", None);
        is("db_1.example.org.:5432", "db_1.example.org.", Some(5432));
        is("localhost", "localhost", None);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = "a".repeat(64);
        let longer = format!("{}.org", "a.".repeat(130));
        for text in [
            "",
            ":80",
            "::1",
            "fe80::1%eth0",
            "[::1",
            "[::1]80",
            "[10.0.0.1]:80",
            "host:",
            "host:0",
            "host:65536",
            "host:+80",
            "host:80:90",
            "300.1.2.3",
            "1.2.3",
            "a..b",
            ".a",
            "a b",
            "ü.org",
            "$NODE:80",
            "a/b",
            &long,
            &longer,
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_target_is_a_kind_with_whom_it_asks() {
        let target = parse("http://example.org:8080/a?b=c").expect("a target");
        assert_eq!(
            (target.kind, target.authority, target.path),
            ("http", "example.org:8080", "/a?b=c")
        );
        assert_eq!(parse("http://h?x=1").expect("a target").path, "?x=1");
        let target = parse("postgres://me@h:1/d").expect("a target");
        assert_eq!((target.kind, target.user, target.path), ("postgres", "me", "/d"));
        let target = parse("postgres://me@:1/d?host=/run/pg/").expect("a target");
        assert_eq!((target.user, target.path, target.address), ("me", "/d", None));
        assert_eq!(target.socket.as_deref(), Some("/run/pg/.s.PGSQL.1"));
        let base = parse("ldap://h/dc=example,dc=org").expect("a target");
        assert_eq!((base.authority, base.path), ("h", "/dc=example,dc=org"));
        assert_eq!(parse("process").expect("a target").address, None);
        for text in [
            "httpz://h/",
            "ftps://h/x",
            "ftp://u@h",
            "postgres://u:secret@h",
            "postgres://h/d?host=/run",
            "postgres://u@/d?host=run",
            "postgres://u:p@/d?host=/run",
            "postgres://u@/d?host=/run&port=1",
            "oracle://scott@ORCL",
            "ldap://h/dc=a%20b",
            "htp://h",
            "tcp://h:1/x",
            "http://u@h/",
            "http:///x",
            "10.0.0.1:80",
            "http://h/a b",
            "http://h/ü",
            "http://h/#top",
            "command:///bin/true",
            "process://x",
            "",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

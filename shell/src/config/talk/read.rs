//! From the keys of these kinds to what is asked.

use super::super::kind::{bytes, statuses};
use super::super::reader::Reader;
use super::super::report::Findings;
use super::super::target::Target as Url;
use super::super::tree::{Node, Value};
use super::super::{values, words};
use super::{BannerPlan, Codes, DnsPlan, Greets, Login, PostgresPlan, RpcPlan, Talk, codes};

/// The longest text that goes into a protocol's field.
const LONGEST: usize = 255;

/// Reads the keys of `kind`, which is one of [`Talk::KINDS`].
pub(in crate::config) fn read(
    kind: &str,
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Talk> {
    Some(match kind {
        "smtp" => banner(Greets::Smtp, &[(220, 220)], reader, out)?,
        "ftp" => banner(Greets::Ftp, &[(220, 220)], reader, out)?,
        "nntp" => banner(Greets::Nntp, &[(200, 200), (201, 201)], reader, out)?,
        "pop3" => Talk::Pop3,
        "imap" => {
            Talk::Imap { preauth: reader.read("preauth", values::boolean, out).unwrap_or(false) }
        }
        "telnet" => Talk::Telnet,
        "ping" => Talk::Ping,
        "ldap" => {
            let base = said("base", url.map(|url| url.path), reader, out);
            let expect = numbers("expect", 4096, reader, out);
            let login = login(true, reader, out)?;
            Talk::Ldap { base: base?.map(Into::into), expect: expect?, login }
        }
        "redis" => {
            let login = login(false, reader, out);
            Talk::Redis { expect: redis(reader, out)?, login: login? }
        }
        "mqtt" => {
            let client = given("client", reader, out);
            let expect = numbers("expect", 5, reader, out);
            let login = login(true, reader, out)?;
            let client = client?.unwrap_or_default().into();
            Talk::Mqtt { client, expect: expect?, login }
        }
        "postgres" => Talk::Postgres(postgres(url, reader, out)?),
        "dns" => Talk::Dns(dns(url, reader, out)?),
        "rpc" => Talk::Rpc(rpc(reader, out)?),
        _ => {
            let given = |key: &str, out: &mut Findings| {
                reader.entry(key).map(|entry| bytes(key, &entry.node, out))
            };
            let (send, expect) = (given("send", out), given("expect", out));
            let send = send.unwrap_or_else(|| Some([0].into()))?;
            Talk::Udp { send, expect: expect.map_or(Some(None), |expect| expect.map(Some))? }
        }
    })
}

fn banner(
    greets: Greets,
    usual: &[(u16, u16)],
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Talk> {
    let expect = match reader.entry("expect") {
        Some(entry) => statuses("expect", &entry.node, out),
        None => Some(usual.to_vec()),
    };
    // Only SMTP's checks can have it.
    let ehlo = given("ehlo", reader, out)?;
    if let Some(name) = ehlo {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
        if name.is_empty() || !name.chars().all(allowed) {
            out.error(reader.place("ehlo"), "ehlo: a host's name or [ADDRESS] is wanted");
            return None;
        }
    }
    Some(Talk::Banner(BannerPlan { greets, expect: expect?, ehlo: ehlo.map(Into::into) }))
}

/// `user` and `password_file`, which go together; where nobody logs in without a name
/// (`named`) both are needed. The outer `None` says that an error was reported.
fn login(named: bool, reader: &Reader<'_>, out: &mut Findings) -> Option<Option<Box<Login>>> {
    let user = given("user", reader, out)?;
    let file = match reader.entry("password_file") {
        Some(entry) => Some(values::secret_file("password_file", &entry.node, out)?),
        None => None,
    };
    match (user, file) {
        (None, None) => Some(None),
        (Some(_), None) => {
            let message = "user: means nothing without its password";
            let label = "password_file = \"/etc/giveover/keys/NAME\"";
            out.error(reader.place("user"), message).label(label);
            None
        }
        (None | Some(""), Some(_)) if named => {
            let message = "password_file: needs `user`, whose password it is";
            out.error(reader.place("password_file"), message);
            None
        }
        (user, Some(file)) => {
            let user = user.unwrap_or_default().into();
            Some(Some(Box::new(Login { user, password_file: file.into() })))
        }
    }
}

fn postgres(
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<PostgresPlan> {
    let role = role(url, reader, out);
    let query = given("query", reader, out);
    let expect = match reader.entry("expect") {
        Some(entry) => values::one_or_more("expect", &entry.node, out, sql_state),
        None => Some(Vec::new()),
    };
    let (user, database) = role?;
    Some(PostgresPlan {
        user,
        database,
        query: query?.unwrap_or("SELECT 1").into(),
        expect: expect?,
    })
}

/// Role and database of PostgreSQL.
pub(in crate::config) fn role(
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<(Box<str>, Box<str>)> {
    let user = said("user", url.map(|url| url.user), reader, out);
    let database = said("database", url.map(|url| url.path), reader, out);
    let or_usual =
        |name: Option<&str>| name.filter(|name| !name.is_empty()).unwrap_or("postgres").into();
    Some((or_usual(user?), or_usual(database?)))
}

fn dns(url: Option<&Url<'_>>, reader: &Reader<'_>, out: &mut Findings) -> Option<DnsPlan> {
    let name = said("name", url.map(|url| url.path), reader, out);
    let kind = match reader.entry("type") {
        Some(entry) => named("type", &codes::DNS_TYPES, &entry.node, out).map(Some),
        None => Some(None),
    };
    let expect = match reader.entry("expect") {
        Some(entry) => values::one_or_more("expect", &entry.node, out, |key, node, out| {
            named(key, &codes::DNS, node, out).map(|code| (code, code))
        })
        .and_then(|codes| not_empty("expect", codes, &entry.node, out)),
        None => Some(vec![(0, 0)]),
    };
    let tcp = match reader.entry("transport") {
        Some(entry) => values::one_of(&["udp", "tcp"])("transport", &entry.node, out),
        None => Some(0),
    };
    let name = name?.unwrap_or_default();
    let Some(mut question) = wire_name(name) else {
        let place = if reader.has("name") { reader.place("name") } else { reader.place("url") };
        let message = format!("name: `{name}` is no name of a domain");
        out.error(place, message).label("labels of 1 to 63 characters, 255 in all");
        return None;
    };
    let usual = if question.len() == 1 { SOA } else { A };
    question.extend_from_slice(&kind?.unwrap_or(usual).to_be_bytes());
    question.extend_from_slice(&IN.to_be_bytes());
    Some(DnsPlan { question: question.into(), expect: expect?, tcp: tcp? == 1 })
}

fn rpc(reader: &Reader<'_>, out: &mut Findings) -> Option<RpcPlan> {
    let program = match reader.entry("program") {
        Some(entry) => program("program", &entry.node, out),
        None => Some((100_000, 2)),
    };
    let version = match reader.entry("version") {
        Some(entry) => {
            values::number(0..=i64::from(u32::MAX))("version", &entry.node, out).map(Some)
        }
        None => Some(None),
    };
    let tcp = match reader.entry("transport") {
        Some(entry) => values::one_of(&["udp", "tcp"])("transport", &entry.node, out),
        None => Some(0),
    };
    let (program, usual) = program?;
    Some(RpcPlan { program, version: version?.unwrap_or(usual), tcp: tcp? == 1 })
}

/// The port an ONC RPC program is called at where none is written: rpcbind has one; zero, it is to
/// be asked for that of any other.
pub(in crate::config) fn usual_rpc_port(reader: &Reader<'_>) -> Option<u16> {
    let is_rpcbind = match reader.entry("program").map(|entry| &entry.node.value) {
        None => true,
        Some(Value::Text(name)) => name == "rpcbind",
        Some(Value::Integer(number)) => *number == 100_000,
        Some(_) => false,
    };
    Some(if is_rpcbind { 111 } else { 0 })
}

/// A program of ONC RPC, and the version that is usual.
fn program(key: &str, node: &Node, out: &mut Findings) -> Option<(u32, u32)> {
    let Value::Text(name) = &node.value else {
        return Some((values::number(0..=i64::from(u32::MAX))(key, node, out)?, 1));
    };
    let known = codes::PROGRAMS.iter().find(|(.., known)| known == name);
    if let Some((program, version, _)) = known {
        return Some((*program, *version));
    }
    let names = words::and(codes::PROGRAMS.iter().map(|(.., name)| *name));
    let message = format!("{key}: no program is known as `{name}`");
    out.error(node.place, message).label(format!("a number, or one of {names}"));
    None
}

/// Types of records, and the class of the internet.
const A: u16 = 1;
const SOA: u16 = 6;
const IN: u16 = 1;

/// A name as it stands in a query: each label behind its length, then the root's empty one.
fn wire_name(name: &str) -> Option<Vec<u8>> {
    let mut wire = Vec::with_capacity(name.len() + 2);
    let name = name.strip_suffix('.').unwrap_or(name);
    for label in name.split('.').filter(|_| !name.is_empty()) {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_*".contains(&byte);
        if !(1..=63).contains(&label.len()) || !label.bytes().all(allowed) {
            return None;
        }
        wire.push(label.len() as u8);
        wire.extend_from_slice(label.as_bytes());
    }
    wire.push(0);
    (wire.len() <= 255).then_some(wire)
}

/// The number of a word in `list`.
fn named(key: &str, list: &[(u16, &'static str)], node: &Node, out: &mut Findings) -> Option<u16> {
    let text = values::text(key, node, out)?;
    let known = || list.iter().map(|(_, word)| *word);
    let found = list.iter().find(|(_, word)| word.eq_ignore_ascii_case(text));
    if found.is_none() {
        let finding = out.error(node.place, format!("{key}: nothing is called `{text}`"));
        match words::nearest(text, known()) {
            Some(near) => finding.label(format!("did you mean `{near}`?")),
            None => finding.label(format!("known are {}", words::and(known()))),
        };
    }
    found.map(|(number, _)| *number)
}

/// The text of `key`, or what the URL has in its place; an empty part of a URL is none. Both is
/// an error. The outer `None` says that one was reported.
fn said<'t>(
    key: &str,
    of_url: Option<&'t str>,
    reader: &Reader<'t>,
    out: &mut Findings,
) -> Option<Option<&'t str>> {
    let of_url = of_url.filter(|text| !text.is_empty());
    match (reader.entry(key), of_url) {
        (Some(entry), Some(_)) => {
            let message = format!("{key}: the URL has one already");
            out.error(entry.place, message).label("leave one of them out");
            None
        }
        (None, of_url) => Some(of_url.map(|text| text.strip_prefix('/').unwrap_or(text))),
        (Some(_), None) => given(key, reader, out),
    }
}

/// The text of `key`, if it is there. The outer `None` says that an error was reported.
fn given<'t>(key: &str, reader: &Reader<'t>, out: &mut Findings) -> Option<Option<&'t str>> {
    let Some(entry) = reader.entry(key) else { return Some(None) };
    let text = values::text(key, &entry.node, out)?;
    if text.contains('\0') {
        out.error(entry.node.place, format!("{key}: holds a NUL character"));
        return None;
    }
    if text.len() > LONGEST {
        out.error(entry.node.place, format!("{key}: at most {LONGEST} bytes"));
        return None;
    }
    Some(Some(text))
}

/// Codes that are numbers, up to `most`; zero alone unless they are written.
fn numbers(key: &str, most: i64, reader: &Reader<'_>, out: &mut Findings) -> Option<Codes> {
    let Some(entry) = reader.entry(key) else { return Some(vec![(0, 0)]) };
    let numbers = values::one_or_more(key, &entry.node, out, values::number::<u16>(0..=most))?;
    not_empty(key, numbers.into_iter().map(|number| (number, number)).collect(), &entry.node, out)
}

fn redis(reader: &Reader<'_>, out: &mut Findings) -> Option<Vec<u16>> {
    let Some(entry) = reader.entry("expect") else {
        return Some(vec![codes::code_of(&codes::REDIS, b"PONG")]);
    };
    let words = values::one_or_more("expect", &entry.node, out, |key, node, out| {
        let text = values::text(key, node, out)?;
        let word = text.strip_prefix(['+', '-']).unwrap_or(text);
        let code = codes::code_of(&codes::REDIS, word.as_bytes());
        if code == 0 {
            let finding = out.error(node.place, format!("{key}: no answer is called `{text}`"));
            match words::nearest(word, codes::REDIS) {
                Some(near) => finding.label(format!("did you mean `{near}`?")),
                None => finding.label(format!("known are {}", words::and(codes::REDIS))),
            };
            return None;
        }
        Some(code)
    })?;
    not_empty("expect", words, &entry.node, out)
}

fn sql_state(key: &str, node: &Node, out: &mut Findings) -> Option<[u8; 5]> {
    let text = values::text(key, node, out)?;
    let state = <[u8; 5]>::try_from(text.as_bytes()).ok();
    let is_state = |state: &[u8; 5]| {
        state.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    };
    let state = state.filter(is_state);
    if state.is_none() {
        let message = format!("{key}: an SQLSTATE is five digits or capitals");
        out.error(node.place, message).label("as in \"53300\"");
    }
    state
}

fn not_empty<T>(key: &str, list: Vec<T>, node: &Node, out: &mut Findings) -> Option<Vec<T>> {
    if list.is_empty() {
        out.error(node.place, format!("{key}: an empty list expects nothing"));
        return None;
    }
    Some(list)
}

//! From the keys of these kinds to what is done.

use super::super::plan::{CommandPlan, ExitTable, Kind, Target};
use super::super::reader::Reader;
use super::super::report::Findings;
use super::super::target::Target as Url;
use super::super::tree::Node;
use super::super::{look, talk, tls, values};
use super::{DatabasePlan, OracleLogin, OracleRun, PostgresLogin, Rows, SecureLogin, Speaks};

/// How long a connection is kept where nothing is written.
///
/// # Source
/// `Connect_cycle` of Sun Cluster's Oracle monitor.
const CONNECT_CYCLE: u32 = 5;

/// Whether a `postgres` check is more than one question: a monitor.
pub(in crate::config) fn wants_monitor(
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    rows: &Rows,
) -> bool {
    let asked = super::OF_POSTGRES.iter().any(|key| reader.has(key.name));
    asked || !rows.is_empty() || url.is_some_and(|url| url.socket.is_some())
}

/// A monitor of PostgreSQL.
pub(in crate::config) fn postgres(
    url: Option<&Url<'_>>,
    targets: &[Target],
    rows: &Rows,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    for key in ["query", "expect"] {
        if let Some(entry) = reader.entry(key) {
            let message = format!("{key}: means nothing to a monitor of a database");
            let label = "rows [[service.NAME.error]] say what an error leads to";
            out.error(entry.place, message).label(label);
        }
    }
    let (user, database) = talk::role(url, reader, out)?;
    let schema = reader.read("schema", schema, out).map(Into::into);
    let password_file = reader.read("password_file", values::secret_file, out).map(Into::into);
    let tls = match tls::asked(reader, out) {
        Some(true) => {
            let (trust, name) = tls::whom(url, reader, out)?;
            Some(SecureLogin { trust, name })
        }
        _ => {
            tls::refuse_without(reader, "tls", out);
            None
        }
    };
    let socket = url.and_then(|url| url.socket.clone());
    if tls.is_some() && socket.is_some() {
        let message = "tls: a socket in the file system is never in TLS";
        out.error(reader.place("tls"), message).label("leave it out");
    }
    if targets.len() > 1 {
        let message = "a monitor of a database asks one address";
        out.error(reader.place("address"), message).label("give each a check of its own");
        return None;
    }
    let login = PostgresLogin { user, database, password_file, socket, tls, schema };
    finish(Speaks::Postgres(login), &["log"], rows, reader, out)
}

/// A monitor of Oracle.
pub(in crate::config) fn oracle(
    rows: &Rows,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let (user, database) = match reader.entry("connect_string") {
        Some(entry) => connect_string(&entry.node, out)?,
        None => Default::default(),
    };
    let password_file: Option<Box<str>> =
        reader.read("password_file", values::secret_file, out).map(Into::into);
    if user.is_empty() != password_file.is_none() {
        let (place, label) = match user.is_empty() {
            true => {
                (reader.place("password_file"), "connect_string = \"USER\" or \"USER@DATABASE\"")
            }
            false => {
                (reader.place("connect_string"), "password_file names the file of its password")
            }
        };
        let message = "connect_string and password_file go together, unless it is \"/\"";
        out.error(place, message).label(label);
    }
    let login = OracleLogin {
        sqlplus: reader.read("sqlplus", values::word, out).unwrap_or("sqlplus").into(),
        user,
        database,
        password_file,
        runs: runs(reader, out),
        writes: reader.read("write", values::boolean, out).unwrap_or(true),
    };
    finish(Speaks::Oracle(login), &["log", "alert_log_file"], rows, reader, out)
}

/// A check of Oracle's listener: a command that is ourselves, running theirs.
pub(in crate::config) fn listener(reader: &Reader<'_>, out: &mut Findings) -> Option<Kind> {
    let name = reader.read("listener_name", plain, out).unwrap_or("LISTENER");
    let lsnrctl = reader.read("lsnrctl", values::word, out).unwrap_or("lsnrctl");
    let argv = look::at_listener(lsnrctl, name, &runs(reader, out));
    let exit = ExitTable::Plain;
    let looks = look::Looks::Listener;
    Some(Kind::Command(Box::new(CommandPlan { looks, argv, exit, missing: None })))
}

fn runs(reader: &Reader<'_>, out: &mut Findings) -> OracleRun {
    OracleRun {
        user: reader.read("user", values::word, out).map(Into::into),
        home: reader.read("oracle_home", values::path, out).map(Into::into),
        sid: reader.read("oracle_sid", plain, out).map(Into::into),
    }
}

fn finish(
    speaks: Speaks,
    logs: &[&str],
    rows: &Rows,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let connect_cycle = reader.read("connect_cycle", values::number(0..=99_999), out);
    let mut log: Option<Box<str>> = None;
    for key in logs {
        let written = reader.read(key, values::path, out).map(Into::into);
        if written.is_some() && log.is_some() {
            let message = format!("{key}: `log` says it already");
            out.error(reader.place(key), message).label("leave one of them out");
        }
        log = log.or(written);
    }
    let restarts_group = reader.read("restart_type", values::one_of(&["service", "group"]), out);
    let restarts_group = restarts_group == Some(1);
    let rows = rows.fit(&speaks, out)?;
    let connect_cycle = connect_cycle.unwrap_or(CONNECT_CYCLE);
    Some(Kind::Database(Box::new(DatabasePlan {
        speaks,
        connect_cycle,
        log,
        rows,
        restarts_group,
    })))
}

/// A name as it stands in SQL, in quotes.
fn schema<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t str> {
    let name = values::word(key, node, out)?;
    let right = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    if name.len() > 63 || !name.chars().all(right) {
        let message = format!("{key}: a name of 1 to 63 letters, digits, _ and $ is wanted");
        out.error(node.place, message);
        return None;
    }
    Some(name)
}

/// A name that no program takes for an option or for two.
fn plain<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t str> {
    let name = values::word(key, node, out)?;
    let right = |c: char| c.is_ascii_alphanumeric() || "_$#.".contains(c);
    if !name.chars().all(right) {
        out.error(node.place, format!("{key}: a plain name is wanted"));
        return None;
    }
    Some(name)
}

/// `USER`, `USER@DATABASE` or `/`: two names, empty for what is not there.
fn connect_string(node: &Node, out: &mut Findings) -> Option<(Box<str>, Box<str>)> {
    let text = values::word("connect_string", node, out)?;
    if text == "/" {
        return Some(Default::default());
    }
    let (user, database) = text.split_once('@').unwrap_or((text, ""));
    let in_user = |c: char| c.is_ascii_alphanumeric() || "_$#".contains(c);
    let in_name = |c: char| c.is_ascii_alphanumeric() || "_$#.-/:".contains(c);
    if user.contains('/') {
        let message = "connect_string: a password has no place in a configuration";
        out.error(node.place, message).label("\"USER@DATABASE\", and its file in password_file");
        return None;
    }
    if user.is_empty() || !user.chars().all(in_user) || !database.chars().all(in_name) {
        let message = "connect_string: must be USER, USER@DATABASE or /";
        out.error(node.place, message);
        return None;
    }
    Some((user.into(), database.into()))
}

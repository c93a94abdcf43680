//! Protocols of a few bytes against the servers of Debian's packages: healthy, refusing, frozen,
//! stopped. Each prints its rows of the table: kind, server, situation, verdict, time.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use giveover_tests::probing::{probe, row};
use giveover_tests::server::{Server, is_root};
use giveover_tests::{free_port, servers, wait_for};

/// For what answers. A busy machine takes its time.
const PATIENT_MS: u32 = 20_000;
/// For what never will.
const SHORT_MS: u32 = 500;

const LATE: &str = "50 read no answer in 0.5s";
const REFUSED: &str = "100 connect refused";

fn url(kind: &str, port: u16) -> String {
    format!("{{ url = \"{kind}://127.0.0.1:{port}\" }}")
}

/// A file with `password` that nobody else can read, as a key of a check.
fn password_file(server: &Server, password: &str) -> String {
    let path = server.dir.path().join(format!("password-{password}"));
    fs::write(&path, format!("{password}\n")).expect("a password");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("its mode");
    format!("password_file = \"{}\"", path.display())
}

/// Healthy, frozen, thawed, stopped.
fn life(kind: &str, name: &str, healthy: &str, mut server: Server) {
    let check = url(kind, server.port);
    row(kind, name, "healthy", &check, PATIENT_MS, healthy);
    server.freeze();
    row(kind, name, "frozen", &check, SHORT_MS, LATE);
    server.thaw();
    row(kind, name, "thawed", &check, PATIENT_MS, healthy);
    server.stop();
    row(kind, name, "stopped", &check, PATIENT_MS, REFUSED);
}

/// What `kind` says and hears on the way, without numbers of bytes.
fn steps(kind: &str, port: u16) -> Vec<String> {
    let steps = probe(&url(kind, port), PATIENT_MS).steps;
    steps.into_iter().skip(1).map(|step| step.chars().take(18).collect()).collect()
}

#[test]
fn redis() {
    let server = Server::start(servers::redis(&[]));
    assert_eq!(
        steps("redis", server.port),
        ["send > *1 $4 PING", "read < +PONG (7 B)", "send > *1 $4 QUIT"]
    );
    life("redis", "redis", "healthy", server);
    let locked = Server::start(servers::redis(&["--requirepass", "secret"]));
    let check = url("redis", locked.port);
    row(
        "redis",
        "redis",
        "wants a password",
        &check,
        PATIENT_MS,
        "50 answer NOAUTH, expected PONG",
    );
    let lenient = format!("{{ url = \"redis://127.0.0.1:{}\", expect = \"NOAUTH\" }}", locked.port);
    row("redis", "redis", "a password, expected", &lenient, PATIENT_MS, "healthy");
    let with = |user: &str, password: &str| {
        let file = password_file(&locked, password);
        format!("{{ url = \"redis://127.0.0.1:{}\", {user}{file} }}", locked.port)
    };
    row("redis", "redis", "the password", &with("", "secret"), PATIENT_MS, "healthy");
    let named = with("user = \"default\", ", "secret");
    row("redis", "redis", "a name and password", &named, PATIENT_MS, "healthy");
    let refused = "50 answer WRONGPASS, expected PONG";
    row("redis", "redis", "a wrong password", &with("", "other"), PATIENT_MS, refused);
    let steps = probe(&with("", "secret"), PATIENT_MS).steps;
    assert!(!format!("{steps:?}").contains("secret"), "{steps:?}");
}

/// A connection alone is made by the kernel, whatever becomes of the server behind it.
#[test]
fn a_word_and_its_answer() {
    let mut server = Server::start(servers::redis(&[]));
    let bare = url("tcp", server.port);
    let url = format!("tcp://127.0.0.1:{}", server.port);
    let words = format!("{{ url = \"{url}\", send = \"PING\\r\\n\", expect = \"+PONG\" }}");
    let other = format!("{{ url = \"{url}\", send = \"PONG\\r\\n\", expect = \"+PONG\" }}");
    row("tcp", "redis", "connection alone", &bare, PATIENT_MS, "healthy");
    row("tcp", "redis", "healthy", &words, PATIENT_MS, "healthy");
    row("tcp", "redis", "another answer", &other, SHORT_MS, LATE);
    server.freeze();
    row("tcp", "redis", "frozen, connection alone", &bare, PATIENT_MS, "healthy");
    row("tcp", "redis", "frozen", &words, SHORT_MS, LATE);
    server.thaw();
    row("tcp", "redis", "thawed", &words, PATIENT_MS, "healthy");
    server.stop();
    row("tcp", "redis", "stopped", &words, PATIENT_MS, REFUSED);
}

#[test]
fn mosquitto() {
    let server = Server::start(servers::mosquitto(true));
    let log = {
        assert_eq!(probe(&url("mqtt", server.port), PATIENT_MS).verdict, "healthy");
        wait_for("the goodbye", || server.log().contains(" disconnected.").then(|| server.log()))
    };
    assert!(!log.contains("protocol error"), "{log}");
    life("mqtt", "mosquitto", "healthy", server);
    let locked = Server::start(servers::mosquitto(false));
    let refused = "50 answer 5 not authorized, expected 0";
    row("mqtt", "mosquitto", "wants a name", &url("mqtt", locked.port), PATIENT_MS, refused);
    let lenient = format!("{{ url = \"mqtt://127.0.0.1:{}\", expect = [0, 5] }}", locked.port);
    row("mqtt", "mosquitto", "a name, expected", &lenient, PATIENT_MS, "healthy");
    let known = Server::start(servers::mosquitto_knowing("giveover", "hush"));
    let with = |password: &str| {
        let file = password_file(&known, password);
        let port = known.port;
        format!("{{ url = \"mqtt://127.0.0.1:{port}\", user = \"giveover\", {file} }}")
    };
    row("mqtt", "mosquitto", "a name and password", &with("hush"), PATIENT_MS, "healthy");
    row("mqtt", "mosquitto", "a wrong password", &with("other"), PATIENT_MS, refused);
}

#[test]
fn slapd() {
    // req 3.20
    let server = Server::start(servers::slapd(""));
    let port = server.port;
    let base = |base: &str| format!("{{ url = \"ldap://127.0.0.1:{port}/{base}\" }}");
    row("ldap", "slapd", "entry found", &base("dc=example,dc=org"), PATIENT_MS, "healthy");
    let root = format!("{{ url = \"ldap://127.0.0.1:{port}\", base = \"\" }}");
    row("ldap", "slapd", "root entry found", &root, PATIENT_MS, "healthy");
    let nowhere = "50 answer 32 noSuchObject, expected 0";
    row("ldap", "slapd", "wrong base", &base("dc=example,dc=com"), PATIENT_MS, nowhere);
    let nonsense = "50 answer 34 invalidDNSyntax, expected 0";
    row("ldap", "slapd", "base that is no name", &base("nonsense"), PATIENT_MS, nonsense);
    life("ldap", "slapd", "healthy", server);
    let locked = Server::start(servers::slapd("disallow bind_anon"));
    let refused = "50 answer 48 inappropriateAuthentication, expected 0";
    row("ldap", "slapd", "no anonymous bind", &url("ldap", locked.port), PATIENT_MS, refused);
    let lenient = format!("{{ url = \"ldap://127.0.0.1:{}\", expect = [0, 48] }}", locked.port);
    row("ldap", "slapd", "none, expected", &lenient, PATIENT_MS, "healthy");
    let known = Server::start(servers::slapd_knowing("cn=admin,dc=example,dc=org", "hush"));
    let with = |password: &str| {
        let (port, file) = (known.port, password_file(&known, password));
        let user = "user = \"cn=admin,dc=example,dc=org\"";
        format!("{{ url = \"ldap://127.0.0.1:{port}/dc=example,dc=org\", {user}, {file} }}")
    };
    row("ldap", "slapd", "a name and password", &with("hush"), PATIENT_MS, "healthy");
    let refused = "50 answer 49 invalidCredentials, expected 0";
    row("ldap", "slapd", "a wrong password", &with("other"), PATIENT_MS, refused);
}

#[test]
fn postgres() {
    let server = Server::start(servers::postgres("trust", &[]));
    let port = server.port;
    // It listens before it is ready, and says so.
    wait_for("it to be ready", || {
        let found = probe(&url("postgres", port), PATIENT_MS).verdict;
        assert!(["healthy", "50 answer 57P03 cannot connect now"].contains(&&*found), "{found}");
        (found == "healthy").then_some(())
    });
    let at = |what: &str| format!("{{ url = \"postgres://127.0.0.1:{port}\", {what} }}");
    for (situation, what, verdict) in [
        ("no query", "query = \"\"", "healthy"),
        ("two queries", "query = \"SELECT 1; SELECT 2\"", "healthy"),
        ("query with an error", "query = \"SELEKT\"", "50 answer 42601 syntax error"),
        ("query that is late", "query = \"SELECT pg_sleep(60)\"", LATE),
        ("no such table", "query = \"SELECT 1 FROM t\"", "50 answer 42P01 undefined table"),
        ("no such role", "user = \"nobody\"", "50 answer 28000 invalid authorization"),
        ("no such database", "database = \"no\"", "50 answer 3D000 no such database"),
        ("no such role, expected", "user = \"nobody\", expect = [\"28000\"]", "healthy"),
    ] {
        let limit = if verdict == LATE { SHORT_MS } else { PATIENT_MS };
        row("postgres", "postgresql", situation, &at(what), limit, verdict);
    }
    life("postgres", "postgresql", "healthy", server);
    let locked = Server::start(servers::postgres("scram-sha-256", &["-c", "log_connections=on"]));
    let ready = |server: &Server, wanted: &str| {
        wait_for(wanted, || {
            (probe(&url("postgres", server.port), PATIENT_MS).verdict == wanted).then_some(())
        });
    };
    ready(&locked, "healthy");
    row(
        "postgres",
        "postgresql",
        "asks for a password",
        &url("postgres", locked.port),
        PATIENT_MS,
        "healthy",
    );
    let log = locked.log();
    let complaints = ["FATAL", "ERROR", "WARNING"];
    let starting = |line: &&str| !line.contains("is starting up");
    let complains = |line: &str| complaints.iter().any(|level| line.contains(level));
    assert!(!log.lines().filter(starting).any(complains), "it logs no failed login: {log}");
    let closed = Server::start(servers::postgres("reject", &[]));
    ready(&closed, "50 answer 28000 invalid authorization");
    let check = url("postgres", closed.port);
    row(
        "postgres",
        "postgresql",
        "rejects us",
        &check,
        PATIENT_MS,
        "50 answer 28000 invalid authorization",
    );
}

#[test]
fn vsftpd() {
    // req 3.14
    let server = Server::start(servers::vsftpd(0));
    assert_eq!(steps("ftp", server.port)[1], "send > QUIT");
    life("ftp", "vsftpd", "healthy", server);
    let busy = Server::start(servers::vsftpd(1));
    let _guest = wait_for("the only place to be free, and taken", || {
        let mut guest = TcpStream::connect(("127.0.0.1", busy.port)).expect("a connection");
        let mut code = [0; 3];
        guest.read_exact(&mut code).expect("a greeting");
        (&code == b"220").then_some(guest)
    });
    let refused = "50 answer 421, expected 220";
    row("ftp", "vsftpd", "too many clients", &url("ftp", busy.port), PATIENT_MS, refused);
}

#[test]
fn telnetd() {
    // req 3.19
    if is_root("telnetd") {
        life("telnet", "inetutils", "healthy", Server::start(servers::telnetd()));
    }
}

#[test]
fn leafnode() {
    // req 3.18
    if !is_root("leafnode") {
        return;
    }
    let server = Server::start(servers::leafnode("news.giveover-test.org"));
    assert_eq!(steps("nntp", server.port)[1], "send > QUIT");
    life("nntp", "leafnode", "healthy", server);
    let nameless = Server::start(servers::leafnode("nameless"));
    let refused = "50 answer 503, expected 200 or 201";
    row("nntp", "leafnode", "refuses to serve", &url("nntp", nameless.port), PATIENT_MS, refused);
}

#[test]
fn dovecot() {
    // req 3.16, 3.17
    let pop3 = free_port();
    let server = Server::start(servers::dovecot(pop3));
    assert_eq!(steps("imap", server.port)[1], "send > a1 LOGOUT");
    assert_eq!(steps("pop3", pop3)[1], "send > QUIT");
    row("pop3", "dovecot", "healthy", &url("pop3", pop3), PATIENT_MS, "healthy");
    server.freeze();
    row("pop3", "dovecot", "frozen", &url("pop3", pop3), SHORT_MS, LATE);
    server.thaw();
    row("pop3", "dovecot", "thawed", &url("pop3", pop3), PATIENT_MS, "healthy");
    life("imap", "dovecot", "healthy", server);
    row("pop3", "dovecot", "stopped", &url("pop3", pop3), PATIENT_MS, REFUSED);
}

#[test]
fn postfix() {
    // req 3.15, 3.11
    if !is_root("postfix") {
        return;
    }
    let server = Server::start(servers::postfix(""));
    let port = server.port;
    let ehlo = format!("{{ url = \"smtp://127.0.0.1:{port}\", ehlo = \"gw.example.org\" }}");
    row("smtp", "postfix", "EHLO too", &ehlo, PATIENT_MS, "healthy");
    let log = wait_for("it to write down the goodbye", || {
        let log = std::fs::read_to_string(server.dir.path().join("log")).unwrap_or_default();
        log.contains("quit=1").then_some(log)
    });
    assert!(log.contains("ehlo=1 quit=1 commands=2"), "{log}");
    life("smtp", "postfix", "healthy", server);
    let closed = "smtpd_client_restrictions = reject\nsmtpd_delay_reject = no";
    let closed = Server::start(servers::postfix(closed));
    let refused = "50 answer 554, expected 220";
    row("smtp", "postfix", "rejects us", &url("smtp", closed.port), PATIENT_MS, refused);
}

//! TLS against the servers of Debian's packages: healthy, with a bad certificate, of one version,
//! wanting a certificate of ours, frozen, stopped, cut off. Each prints its rows of the table.

use giveover_tests::faults::{Fault, nobody, serve};
use giveover_tests::probing::{probe, row, tell};
use giveover_tests::secure::{self, Certificates, cut_off, s_server, stunnel};
use giveover_tests::server::{Server, is_root};
use giveover_tests::{free_port, servers, wait_for};

/// For what answers. A busy machine takes its time.
const PATIENT_MS: u32 = 20_000;
/// For what never will.
const SHORT_MS: u32 = 500;

const REFUSED: &str = "100 connect refused";
const NO_TLS: &str = "100 tls no TLS in 0.5s";

/// A check of `kind` that trusts our authority.
fn check(kind: &str, port: u16, made: &Certificates, more: &str) -> String {
    format!("{{ url = \"{kind}://127.0.0.1:{port}\", ca = \"{}\"{more} }}", made.ca())
}

/// Healthy, frozen, thawed, stopped; `frozen` is how it looks when nothing comes.
fn life(kind: &str, name: &str, check: &str, frozen: &str, mut server: Server) {
    row(kind, name, "healthy", check, PATIENT_MS, "healthy");
    server.freeze();
    row(kind, name, "frozen", check, SHORT_MS, frozen);
    server.thaw();
    row(kind, name, "thawed", check, PATIENT_MS, "healthy");
    server.stop();
    row(kind, name, "stopped", check, PATIENT_MS, REFUSED);
}

#[test]
fn openssl_of_each_version() {
    // req 3.22 3.31
    let made = Certificates::make();
    for (situation, more) in
        [("1.2 only", "-www -tls1_2"), ("1.3 only", "-www -tls1_3"), ("default", "-www")]
    {
        let server = Server::start(s_server(&made, "server", more));
        let light = format!("{{ url = \"tls://127.0.0.1:{}\" }}", server.port);
        row("tls", "openssl", situation, &light, PATIENT_MS, "healthy");
        row(
            "tls",
            "openssl",
            situation,
            &check("tls", server.port, &made, ""),
            PATIENT_MS,
            "healthy",
        );
        row(
            "iiops",
            "openssl",
            situation,
            &check("iiops", server.port, &made, ""),
            PATIENT_MS,
            "healthy",
        );
        row(
            "https",
            "openssl",
            situation,
            &check("https", server.port, &made, ""),
            PATIENT_MS,
            "healthy",
        );
    }
    let server = Server::start(s_server(&made, "server", "-www -tls1_2 -cipher PSK -psk 00"));
    let light = format!("{{ url = \"tls://127.0.0.1:{}\" }}", server.port);
    let alert = "100 tls TLS alert 40 handshake failure";
    row("tls", "openssl", "no cipher in common", &light, PATIENT_MS, alert);
    row(
        "https",
        "openssl",
        "no cipher in common",
        &check("https", server.port, &made, ""),
        PATIENT_MS,
        alert,
    );
    let server = Server::start(s_server(&made, "server", "-www"));
    let light = format!("{{ url = \"tls://127.0.0.1:{}\" }}", server.port);
    life("tls", "openssl", &light, NO_TLS, server);
}

#[test]
fn openssl_with_certificates() {
    let made = Certificates::make();
    let server = Server::start(s_server(&made, "server", "-www"));
    let port = server.port;
    let at = |more: &str| check("https", port, &made, more);
    let unknown = format!("{{ url = \"https://127.0.0.1:{port}\" }}");
    let anybody = format!("{{ url = \"https://127.0.0.1:{port}\", verify = false }}");
    let named = ", server_name = \"www.example.org\"";
    let own = ", min_valid = \"1200d\"";
    for (situation, check, verdict) in [
        ("unknown issuer", unknown, "100 tls certificate of an unknown issuer"),
        ("anybody's", anybody, "healthy"),
        ("asked for another name", at(named), "100 tls certificate of another name"),
        ("asked for its name", at(", server_name = \"localhost\""), "healthy"),
        ("valid for long", at(own), "healthy"),
    ] {
        row("https", "openssl", situation, &check, PATIENT_MS, verdict);
    }
    let other = Server::start(s_server(&made, "other", "-www"));
    let right = check("tls", other.port, &made, named);
    row("tls", "openssl", "name and address differ", &right, PATIENT_MS, "healthy");
    let wrong = check("tls", other.port, &made, "");
    row("tls", "openssl", "another's", &wrong, PATIENT_MS, "100 tls certificate of another name");
    let expired = Server::start(s_server(&made, "expired", "-www"));
    let at = |more: &str| format!("{{ url = \"https://127.0.0.1:{}\"{more} }}", expired.port);
    let ca = format!(", ca = \"{}\"", made.ca());
    row("https", "openssl", "expired", &at(&ca), PATIENT_MS, "100 tls certificate expired");
    let soon = "1 tls certificate valid for 0 days more";
    let asked = ", verify = false, min_valid = \"1d\"";
    row("https", "openssl", "expired, only asked", &at(asked), PATIENT_MS, soon);
    let weighed = format!("{asked}, weights = {{ expiry = 34 }}");
    let soon = "34 tls certificate valid for 0 days more";
    row("https", "openssl", "the same, weighed", &at(&weighed), PATIENT_MS, soon);
    let lost = format!("{{ url = \"https://127.0.0.1:{port}\", ca = \"/nowhere.pem\" }}");
    assert!(probe(&lost, PATIENT_MS).verdict.starts_with("CannotMeasure"));
}

/// We have none to show. Who speaks TLS 1.2 says so within the handshake; by TLS 1.3 our part of it is
/// over before, so that only those who then wait for something hear of it.
#[test]
fn openssl_that_wants_our_certificate() {
    // req 3.22 3.31
    let made = Certificates::make();
    for (version, alert, handshake_alone) in [
        ("1_2", "100 tls TLS alert 40 handshake failure", None),
        ("1_3", "100 tls TLS alert 116 certificate required", Some("healthy")),
    ] {
        let situation = format!("wants ours, TLS {}", version.replace('_', "."));
        let words = format!("-www -Verify 1 -verify_return_error -tls{version}");
        let server = Server::start(s_server(&made, "server", &words));
        let each = |kind: &str, check: &str, verdict: &str| {
            row(kind, "openssl", &situation, check, PATIENT_MS, verdict);
        };
        // Read as far as the server's hello, which is there.
        each("tls", &format!("{{ url = \"tls://127.0.0.1:{}\" }}", server.port), "healthy");
        for kind in ["tls", "iiops"] {
            let whole = check(kind, server.port, &made, "");
            each(kind, &whole, handshake_alone.unwrap_or(alert));
        }
        for kind in ["https", "ftps", "smtps", "pop3s", "imaps", "nntps", "telnets", "ldaps"] {
            each(kind, &check(kind, server.port, &made, ""), alert);
        }
        for kind in ["redis", "mqtt", "remote"] {
            let name = if kind == "remote" { ", service = \"web\"" } else { "" };
            each(kind, &check(kind, server.port, &made, &format!(", tls = true{name}")), alert);
        }
    }
    // One that would like to have it and does without.
    for version in ["-tls1_2", "-tls1_3"] {
        let words = format!("-www -verify 1 {version}");
        let server = Server::start(s_server(&made, "server", &words));
        for kind in ["tls", "iiops", "https"] {
            let whole = check(kind, server.port, &made, "");
            row(kind, "openssl", "asks for ours", &whole, PATIENT_MS, "healthy");
        }
    }
}

#[test]
fn nginx() {
    // req 3.23
    let made = Certificates::make();
    let server = Server::start(secure::nginx(&made));
    let port = server.port;
    let bad = check("https", port, &made, ", path = \"/bad\"");
    let refused = "50 answer 503, expected 2xx or 3xx";
    row("https", "nginx", "answers 503", &bad, PATIENT_MS, refused);
    let body = |body: &str| check("https", port, &made, &format!(", body = \"{body}\""));
    row("https", "nginx", "body as expected", &body("ello"), PATIENT_MS, "healthy");
    let lacks = "50 answer 200, expected \"bye\" in its body";
    row("https", "nginx", "another body", &body("bye"), PATIENT_MS, lacks);
    let found = probe(&check("https", port, &made, ""), PATIENT_MS);
    let starts: Vec<String> =
        found.steps.iter().skip(1).map(|step| step.chars().take(21).collect()).collect();
    assert_eq!(starts, ["tls TLS 1.3, 127.0.0.", "send > GET / HTTP/1.1", "read < HTTP/1.1 200 O"]);
    life("https", "nginx", &check("https", port, &made, ""), NO_TLS, server);
}

#[test]
fn what_is_cut_off_is_no_tls_or_half_a_failure() {
    let made = Certificates::make();
    let server = Server::start(secure::nginx(&made));
    let mut seen = Vec::new();
    for limit in (0..1600).step_by(23) {
        let cut = check("https", cut_off(server.port, limit, false).port(), &made, "");
        let found = probe(&cut, PATIENT_MS).verdict;
        if seen.last() != Some(&found) {
            seen.push(found);
        }
    }
    let [tls, read, healthy] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(
        (&**tls, &**read, &**healthy),
        ("100 tls closed before TLS", "50 read answer cut short", "healthy")
    );
    tell("https", "nginx", "cut off", &seen.join(", "), None);
    let late = check("https", cut_off(server.port, 300, true).port(), &made, "");
    row("https", "nginx", "hangs in the handshake", &late, SHORT_MS, NO_TLS);
}

#[test]
fn what_is_no_tls_is_said_so_by_every_kind() {
    let kinds =
        ["https", "ftps", "smtps", "pop3s", "imaps", "nntps", "telnets", "ldaps", "iiops", "tls"];
    for kind in kinds {
        let url = |fault| format!("{{ url = \"{kind}://{}\" }}", serve(fault));
        let each = |situation, fault, limit, verdict| {
            row(kind, "stand-in", situation, &url(fault), limit, verdict);
        };
        let garbage = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
        each("another protocol", Fault::Says(garbage.clone()), PATIENT_MS, "100 tls not TLS");
        each("endless", Fault::Endless(garbage), PATIENT_MS, "100 tls not TLS");
        let endless = Fault::Endless(b"\x16\x03\x03\0\x04\x02\0\x10\0".to_vec());
        let found = probe(&url(endless), PATIENT_MS).verdict;
        assert!(found.starts_with("100 tls "), "{kind}: {found}");
        let alert = b"\x15\x03\x03\0\x02\x02\x46".to_vec();
        let verdict = "100 tls TLS alert 70 protocol version";
        each("alert", Fault::Says(alert), PATIENT_MS, verdict);
        each("closed at once", Fault::Says(Vec::new()), PATIENT_MS, "100 tls closed before TLS");
        let half = b"\x16\x03\x03\0\x54\x02\0\0\x50\x03\x03".to_vec();
        each("half a hello", Fault::Says(half.clone()), PATIENT_MS, "100 tls closed before TLS");
        for length in 1..half.len() {
            let found = probe(&url(Fault::Says(half[..length].to_vec())), PATIENT_MS).verdict;
            assert_eq!(found, "100 tls closed before TLS", "{kind}, {length} bytes");
        }
        tell(kind, "stand-in", "cut at every byte", "100 tls closed before TLS", None);
        let second = std::time::Duration::from_secs(1);
        each("a byte a second", Fault::Slow(half, second), SHORT_MS, NO_TLS);
        each("silent", Fault::Silent, SHORT_MS, NO_TLS);
        each("reset", Fault::Resets, PATIENT_MS, "100 tls connection reset");
        let (_taken, nobody) = nobody();
        let url = format!("{{ url = \"{kind}://{nobody}\" }}");
        row(kind, "nobody", "refused", &url, PATIENT_MS, REFUSED);
    }
}

/// STARTTLS that is not to be had, or is made fun of.
#[test]
fn starttls_refused_and_garbled() {
    let says = |kind: &str, bytes: &[u8]| {
        let address = serve(Fault::Says(bytes.to_vec()));
        format!("{{ url = \"{kind}://{address}\", starttls = true, verify = false }}")
    };
    for (kind, bytes, verdict) in [
        ("smtp", &b"220 a\r\n250 b\r\n502 no\r\n"[..], "50 answer 502, expected 220"),
        ("smtp", b"220 a\r\n250 b\r\n220 go\r\nplain", "100 tls not TLS"),
        ("smtp", b"220 a\r\n250 b\r\n220 go\r\n", "100 tls closed before TLS"),
        ("smtp", b"220 a\r\n250 b", "50 read answer cut short"),
        ("pop3", b"+OK\r\n-ERR no\r\n", "50 answer -ERR, expected +OK"),
        ("imap", b"* OK\r\na1 NO never\r\n", "50 answer NO, expected OK"),
        ("ftp", b"220 a\r\n530 no\r\n", "50 answer 530, expected 220"),
        (
            "ldap",
            b"0\x0c\x02\x01\x01x\x07\x0a\x01\x02\x04\0\x04\0",
            "50 answer 2 protocolError, expected 0",
        ),
        ("ldap", b"HTTP/1.1 400", "50 answer wrong answer"),
    ] {
        row(kind, "stand-in", "STARTTLS goes wrong", &says(kind, bytes), PATIENT_MS, verdict);
    }
    for (kind, whole) in [
        ("smtp", &b"220 a\r\n250 b\r\n220 go\r\n"[..]),
        ("pop3", b"+OK\r\n+OK go\r\n"),
        ("imap", b"* OK\r\na1 OK go\r\n"),
        ("ftp", b"220 a\r\n234 go\r\n"),
        ("ldap", b"0\x0c\x02\x01\x01x\x07\x0a\x01\0\x04\0\x04\0"),
    ] {
        let cut = "50 read answer cut short";
        for length in 0..whole.len() {
            let found = probe(&says(kind, &whole[..length]), PATIENT_MS).verdict;
            assert_eq!(found, cut, "{kind}, {length} bytes");
        }
        tell(kind, "stand-in", "STARTTLS, cut at every byte", cut, None);
        let verdict = "100 tls closed before TLS";
        row(kind, "stand-in", "STARTTLS, then closed", &says(kind, whole), PATIENT_MS, verdict);
    }
}

/// What is said inside TLS, and how much a wrong answer weighs.
const INSIDE: [(&str, &str, &[u8], u8); 11] = [
    ("https", "", b"HTTP/1.1 200 OK\r\n\r\n", 50),
    ("ftps", "", b"220 ready\r\n", 50),
    ("smtps", "", b"220 ready\r\n", 50),
    ("pop3s", "", b"+OK ready\r\n", 50),
    ("imaps", "", b"* OK ready\r\n", 50),
    ("nntps", "", b"200 ready\r\n", 50),
    ("telnets", "", b"\xff\xfb\x25\xff\xfd", 50),
    ("ldaps", "", b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0", 50),
    ("redis", ", tls = true", b"+PONG\r\n", 50),
    ("mqtt", ", tls = true", b"\x20\x02\0\0", 50),
    ("remote", ", tls = true, service = \"web\"", b"HTTP/1.1 200 OK\r\n\r\n", 100),
];

/// The handshake is a real server's, and what comes after it is not.
#[test]
fn what_garbles_hangs_up_or_dawdles_inside_tls() {
    let made = Certificates::make();
    let garbage = Fault::Says(b"SSH-2.0-OpenSSH\r\n\0\x01\x02".to_vec());
    let garbles = Server::start(stunnel(&made, serve(garbage).port()));
    let closes = Server::start(stunnel(&made, serve(Fault::Says(Vec::new())).port()));
    for (kind, more, _, wrong) in INSIDE {
        let each = |situation: &str, server: &Server, verdict: &str| {
            let check = check(kind, server.port, &made, more);
            row(kind, "stunnel", situation, &check, PATIENT_MS, verdict);
        };
        each("garbage inside", &garbles, &format!("{wrong} answer wrong answer"));
        each("closed once inside", &closes, "50 read answer cut short");
    }
    // All at once: each takes all the time it has, which is enough for the handshake.
    let slow = INSIDE.map(|(kind, more, whole, _)| {
        let fault = Fault::Slow(whole.to_vec(), std::time::Duration::from_secs(6));
        let server = Server::start(stunnel(&made, serve(fault).port()));
        let check = check(kind, server.port, &made, more);
        let probes = move || {
            let verdict = "50 read no answer in 15s";
            row(kind, "stunnel", "a byte in 6 s inside", &check, 15_000, verdict);
        };
        (server, std::thread::spawn(probes))
    });
    for (_server, probes) in slow {
        probes.join().expect("the verdict that is wanted");
    }
}

#[test]
fn slapd() {
    // req 3.30
    let made = Certificates::make();
    let lines = secure::slapd_lines(&made);
    let server = Server::start(servers::slapd_as("ldaps", lines));
    let base = check("ldaps", server.port, &made, ", base = \"dc=example,dc=org\"");
    row("ldaps", "slapd", "entry found", &base, PATIENT_MS, "healthy");
    let nowhere = check("ldaps", server.port, &made, ", base = \"dc=example,dc=com\"");
    let verdict = "50 answer 32 noSuchObject, expected 0";
    row("ldaps", "slapd", "wrong base", &nowhere, PATIENT_MS, verdict);
    life("ldaps", "slapd", &check("ldaps", server.port, &made, ""), NO_TLS, server);
    let server = Server::start(servers::slapd(lines));
    let late = "50 read no answer in 0.5s";
    life("ldap", "slapd", &check("ldap", server.port, &made, ", starttls = true"), late, server);
    let plain = Server::start(servers::slapd(""));
    let refused = check("ldap", plain.port, &made, ", starttls = true");
    let found = probe(&refused, PATIENT_MS).verdict;
    assert!(found.starts_with("50 answer "), "{found}");
}

#[test]
fn vsftpd() {
    // req 3.24
    let made = Certificates::make();
    let server = Server::start(servers::vsftpd_with(0, secure::vsftpd_lines(&made, true)));
    life("ftps", "vsftpd", &check("ftps", server.port, &made, ""), NO_TLS, server);
    let server = Server::start(servers::vsftpd_with(0, secure::vsftpd_lines(&made, false)));
    let late = "50 read no answer in 0.5s";
    life("ftp", "vsftpd", &check("ftp", server.port, &made, ", starttls = true"), late, server);
    let plain = Server::start(servers::vsftpd(0));
    let refused = check("ftp", plain.port, &made, ", starttls = true");
    row("ftp", "vsftpd", "no AUTH TLS", &refused, PATIENT_MS, "50 answer 530, expected 220");
}

#[test]
fn dovecot() {
    // req 3.26 3.27
    let made = Certificates::make();
    let (pop3, imaps, pop3s) = (free_port(), free_port(), free_port());
    let (pem, key) = (made.path("server.pem"), made.path("server.key"));
    let ssl = format!("ssl = yes\nssl_cert = <{}\nssl_key = <{}\n", pem.display(), key.display());
    let mut server = Server::start(servers::dovecot_with(pop3, (imaps, pop3s), ssl));
    let late = "50 read no answer in 0.5s";
    let starttls = ", starttls = true";
    let checks = [
        ("imap", check("imap", server.port, &made, starttls), late),
        ("pop3", check("pop3", pop3, &made, starttls), late),
        ("imaps", check("imaps", imaps, &made, ""), NO_TLS),
        ("pop3s", check("pop3s", pop3s, &made, ""), NO_TLS),
    ];
    let each = |situation: &str, limit: u32, wanted: Option<&str>| {
        for (kind, check, late) in &checks {
            row(kind, "dovecot", situation, check, limit, wanted.unwrap_or(late));
        }
    };
    each("healthy", PATIENT_MS, Some("healthy"));
    server.freeze();
    each("frozen", SHORT_MS, None);
    server.thaw();
    each("thawed", PATIENT_MS, Some("healthy"));
    server.stop();
    each("stopped", PATIENT_MS, Some(REFUSED));
}

#[test]
fn postfix() {
    // req 3.25
    if !is_root("postfix") {
        return;
    }
    let made = Certificates::make();
    let lines = secure::postfix_lines(&made);
    let server = Server::start(servers::postfix(lines));
    let starttls = check("smtp", server.port, &made, ", starttls = true");
    row("smtp", "postfix", "STARTTLS", &starttls, PATIENT_MS, "healthy");
    let log = wait_for("it to write down the goodbye", || {
        let log = std::fs::read_to_string(server.dir.path().join("log")).unwrap_or_default();
        log.contains("quit=1").then_some(log)
    });
    assert!(log.contains("ehlo=2 starttls=1 quit=1 commands=4"), "{log}");
    life("smtp", "postfix", &starttls, "50 read no answer in 0.5s", server);
    let server = Server::start(servers::postfix_with(lines, "-o smtpd_tls_wrappermode=yes"));
    life("smtps", "postfix", &check("smtps", server.port, &made, ""), NO_TLS, server);
    let plain = Server::start(servers::postfix(""));
    let refused = check("smtp", plain.port, &made, ", starttls = true");
    row("smtp", "postfix", "no STARTTLS", &refused, PATIENT_MS, "50 answer 502, expected 220");
}

#[test]
fn news_and_terminals_behind_stunnel() {
    // req 3.28 3.29
    if !is_root("leafnode and telnetd") {
        return;
    }
    let made = Certificates::make();
    let news = Server::start(servers::leafnode("news.giveover-test.org"));
    let server = Server::start(stunnel(&made, news.port));
    life("nntps", "leafnode", &check("nntps", server.port, &made, ""), NO_TLS, server);
    let telnet = Server::start(servers::telnetd());
    let server = Server::start(stunnel(&made, telnet.port));
    life("telnets", "inetutils", &check("telnets", server.port, &made, ""), NO_TLS, server);
}

/// What has a key for TLS in place of a kind of its own.
#[test]
fn databases_brokers_and_another_daemon() {
    let made = Certificates::make();
    let tls = ", tls = true";
    let redis = Server::start(servers::redis(&[]));
    let server = Server::start(stunnel(&made, redis.port));
    life("redis", "stunnel", &check("redis", server.port, &made, tls), NO_TLS, server);
    let server = Server::start(secure::redis(&made));
    life("redis", "redis", &check("redis", server.port, &made, tls), NO_TLS, server);
    let server = Server::start(secure::mosquitto(&made));
    life("mqtt", "mosquitto", &check("mqtt", server.port, &made, tls), NO_TLS, server);
    let plain = Server::start(servers::postgres("trust", &[]));
    let refused = check("postgres", plain.port, &made, tls);
    wait_for("it to be ready", || {
        (probe(&refused, PATIENT_MS).verdict == "100 tls TLS refused").then_some(())
    });
    let (hba, more) = secure::POSTGRES;
    let server = Server::start(servers::postgres_with(hba, more));
    let ca = server.dir.path().join("cert.pem").display().to_string();
    let at = |name: &str| {
        let name = format!("ca = \"{ca}\", server_name = \"{name}\"");
        format!("{{ url = \"postgres://127.0.0.1:{}\", tls = true, {name} }}", server.port)
    };
    let right = at("db.example.org");
    wait_for("it to be ready", || (probe(&right, PATIENT_MS).verdict == "healthy").then_some(()));
    let wrong = "100 tls certificate of another name";
    row("postgres", "postgresql", "another name", &at("x.example.org"), PATIENT_MS, wrong);
    life("postgres", "postgresql", &right, "50 read no answer in 0.5s", server);

    let status = "{\"services\":[{\"name\":\"web\",\"status\":\"ok\"}]}";
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{status}", status.len());
    let other = serve(Fault::Says(answer.into_bytes()));
    let server = Server::start(stunnel(&made, other.port()));
    let of = |service: &str| {
        check("remote", server.port, &made, &format!(", tls = true, service = \"{service}\""))
    };
    let unknown = format!("{{ url = \"remote://127.0.0.1:{}/web\", tls = true }}", server.port);
    let wanted = "100 tls certificate of an unknown issuer";
    row("remote", "stunnel", "unknown issuer", &unknown, PATIENT_MS, wanted);
    let none = probe(&of("none"), PATIENT_MS).verdict;
    assert!(none.starts_with("CannotMeasure"), "{none}");
    life("remote", "stunnel", &of("web"), NO_TLS, server);
}

//! One file that uses the presets of every server of Debian's that can be started here: all are
//! ok; each that is frozen weighs half, each that is stopped a whole failure, as its preset says.

use giveover_tests::probing::tell;
use giveover_tests::secure::{self, Certificates, stunnel};
use giveover_tests::server::{Server, is_root};
use giveover_tests::{Daemon, free_port, servers, wait_for};
use serde_json::Value;

/// Of each service, over what its preset has.
const POLICY: &str = "policy.thorough_probe_interval = \"300ms\"\n\
    policy.probe_timeout = \"5s\"\n\
    policy.retry_interval = \"60s\"\n\
    policy.failover_mode = \"log_only\"\n\
    allow = [\"watched-only\"]\n";

/// A service of each preset, watched where it listens.
struct Watched {
    name: &'static str,
    /// The check that fails first, and in which phase and how much silence weighs to it.
    check: &'static str,
    silent: (&'static str, u64),
    server: Server,
}

fn all(pop3: u16) -> Vec<Watched> {
    const READ: (&str, u64) = ("read", 50);
    const SILENCE: (&str, u64) = ("silence", 100);
    let mut all = vec![
        ("apache", "server", READ, Server::start(servers::apache())),
        ("iplanet", "server", READ, Server::start(servers::nginx())),
        ("directory", "directory", READ, Server::start(servers::slapd(""))),
        ("nginx", "page", READ, Server::start(servers::nginx())),
        ("haproxy", "health", READ, Server::start(servers::haproxy())),
        // The first probe that is late is no failure, the second in a row is a complete one.
        ("postgres", "sql", ("read", 100), Server::start(servers::postgres("trust", &[]))),
        ("redis", "ping", READ, Server::start(servers::redis(&[]))),
        ("mosquitto", "connect", READ, Server::start(servers::mosquitto(true))),
        ("slapd", "bind", READ, Server::start(servers::slapd(""))),
        ("vsftpd", "greeting", READ, Server::start(servers::vsftpd(0))),
        ("dovecot", "imap", READ, Server::start(servers::dovecot(pop3))),
        ("bind", "query", SILENCE, Server::start(servers::named())),
        ("named", "query", SILENCE, Server::start(servers::unbound())),
    ];
    if is_root("postfix and leafnode") {
        let leafnode = servers::leafnode("news.giveover-test.org");
        all.push(("inn2", "greeting", READ, Server::start(leafnode)));
        all.push(("postfix", "greeting", READ, Server::start(servers::postfix(""))));
    }
    let all = all.into_iter();
    all.map(|(name, check, silent, server)| Watched { name, check, silent, server }).collect()
}

fn config(all: &[Watched], pop3: u16) -> String {
    let service = |Watched { name, server, .. }: &Watched| {
        let port = server.port;
        let place = match *name {
            "dovecot" => format!(
                "check.imap.address = \"127.0.0.1:{port}\"\n\
                 check.pop3.address = \"127.0.0.1:{pop3}\"\n"
            ),
            "bind" => {
                format!("address = \"127.0.0.1:{port}\"\ncheck.query.name = \"ns.example.org\"\n")
            }
            "named" | "apache" | "iplanet" | "directory" => {
                format!("network_resources_used = [\"127.0.0.1\"]\nport_list = [{port}]\n")
            }
            _ => format!("address = \"127.0.0.1:{port}\"\n"),
        };
        format!("[service.{name}]\npreset = \"{name}\"\n{place}{POLICY}")
    };
    all.iter().map(service).collect()
}

/// The failures of a service so far: check, phase and weight of each.
fn failures(daemon: &Daemon, name: &str) -> Vec<(String, String, u64)> {
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let events = daemon.events(name).into_iter().filter(|event| event["event"] == "failure");
    events
        .map(|event| {
            let weight = event["weight"].as_u64().unwrap_or_default();
            (text(&event, "check"), text(&event, "phase"), weight)
        })
        .collect()
}

#[test]
fn every_preset_says_ok_half_a_failure_and_a_whole_one() {
    let pop3 = free_port();
    let mut all = all(pop3);
    let daemon = Daemon::start(&config(&all, pop3));
    for watched in &all {
        daemon.wait_status(watched.name, "ok");
    }
    let wait_failure = |name: &str, wanted: (&str, &str, u64)| {
        let (check, phase, weight) = wanted;
        let wanted = (check.to_owned(), phase.to_owned(), weight);
        wait_for("a failure", || failures(&daemon, name).contains(&wanted).then_some(()));
        tell(name, "its preset", phase, &format!("{weight} {check}"), None);
    };
    all.iter().for_each(|watched| watched.server.freeze());
    for Watched { name, check, silent, .. } in &all {
        wait_failure(name, (check, silent.0, silent.1));
    }
    all.iter().for_each(|watched| watched.server.thaw());
    for watched in &all {
        daemon.wait_status(watched.name, "ok");
    }
    all.iter_mut().for_each(|watched| watched.server.stop());
    for Watched { name, check, .. } in &all {
        wait_failure(name, (check, "connect", 100));
        daemon.wait_status(name, "faulted");
    }
}

/// A preset whose server speaks TLS: what is written besides, `CA` being the check's.
fn in_tls(pop3s: u16) -> [(&'static str, &'static str, String); 10] {
    let starttls = |check: &str| format!("check.{check}.starttls = true\nCA");
    let tls = |check: &str| format!("check.{check}.tls = true\nCA");
    let url = |check: &str, kind: &str| format!("check.{check}.url = \"{kind}\"\nCA");
    [
        ("nginx", "page", url("page", "https")),
        ("haproxy", "health", url("health", "https") + "check.health.path = \"/health\"\n"),
        ("postgres", "sql", tls("sql") + "check.sql.server_name = \"db.example.org\"\n"),
        ("redis", "ping", tls("ping")),
        ("mosquitto", "connect", tls("connect")),
        ("slapd", "bind", starttls("bind")),
        ("vsftpd", "greeting", url("greeting", "ftps")),
        (
            "dovecot",
            "imap",
            format!(
                "check.imap.url = \"imaps\"\ncheck.imap.address = \"ADDRESS\"\nCA\
                 check.pop3 = {{ url = \"pop3s\", address = \"127.0.0.1:{pop3s}\", ca = \"PEM\" }}\n"
            ),
        ),
        ("inn2", "greeting", url("greeting", "nntps")),
        ("postfix", "greeting", starttls("greeting")),
    ]
}

/// The presets that are of our own, in TLS: ok with the authority that signed, and with any other a
/// complete failure that says so.
#[test]
fn presets_in_tls_are_ok_for_whom_trusts_the_right_authority() {
    if !is_root("postfix and leafnode") {
        return;
    }
    let made = Certificates::make();
    let (pop3, imaps, pop3s) = (free_port(), free_port(), free_port());
    let (pem, key) = (made.path("server.pem"), made.path("server.key"));
    let ssl = format!("ssl = yes\nssl_cert = <{}\nssl_key = <{}\n", pem.display(), key.display());
    let (hba, more) = secure::POSTGRES;
    let news = Server::start(servers::leafnode("news.giveover-test.org"));
    let running = [
        Server::start(secure::nginx(&made)),
        Server::start(secure::haproxy(&made)),
        Server::start(servers::postgres_with(hba, more)),
        Server::start(secure::redis(&made)),
        Server::start(secure::mosquitto(&made)),
        Server::start(servers::slapd(secure::slapd_lines(&made))),
        Server::start(servers::vsftpd_with(0, secure::vsftpd_lines(&made, true))),
        Server::start(servers::dovecot_with(pop3, (imaps, pop3s), ssl)),
        Server::start(stunnel(&made, news.port)),
        Server::start(servers::postfix(secure::postfix_lines(&made))),
    ];
    let presets = in_tls(pop3s);
    let service = |trusts: bool| {
        let made = &made;
        presets.iter().zip(&running).map(move |((preset, check, more), server)| {
            let port = if *preset == "dovecot" { imaps } else { server.port };
            let ca = match *preset {
                "postgres" => server.dir.path().join("cert.pem").display().to_string(),
                _ => made.ca(),
            };
            let named = if trusts { "" } else { "-distrusted" };
            let trust =
                if trusts { format!("check.{check}.ca = \"{ca}\"\n") } else { String::new() };
            let more = more.replace("CA", &trust).replace("PEM", &ca);
            let more = more.replace("ADDRESS", &format!("127.0.0.1:{port}"));
            let place = match *preset {
                "dovecot" => String::new(),
                _ => format!("address = \"127.0.0.1:{port}\"\n"),
            };
            format!("[service.{preset}{named}]\npreset = \"{preset}\"\n{place}{more}{POLICY}")
        })
    };
    let daemon = Daemon::start(&service(true).chain(service(false)).collect::<String>());
    for (preset, check, _) in &presets {
        daemon.wait_status(preset, "ok");
        tell(preset, "its preset, TLS", "healthy", "ok", None);
        let name = format!("{preset}-distrusted");
        let wanted = ((*check).to_owned(), String::from("tls"), 100);
        wait_for(&name, || failures(&daemon, &name).contains(&wanted).then_some(()));
        tell(preset, "its preset, TLS", "unknown issuer", "100 tls", None);
    }
}

//! The monitor of a database against PostgreSQL of Debian's package: let in by every proof, on a
//! socket and in TLS, idle and busy, in recovery, frozen, ended, full; and what the table of errors
//! makes of it. Each probe prints its row of the table: kind, server, situation, verdict, time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use giveover_tests::mount::DeadMount;
use giveover_tests::probing::{probe, row, tell};
use giveover_tests::server::{Server, is_root};
use giveover_tests::{Daemon, servers, wait_for};
use serde_json::Value;

const PATIENT_MS: u32 = 20_000;
const SHORT_MS: u32 = 700;

/// Runs SQL as the superuser, on the socket in the server's directory.
fn sql(server: &Server, text: &str) -> String {
    let output = psql(server, text);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn psql(server: &Server, text: &str) -> Output {
    Command::new("psql")
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres"])
        .args(["-d", "postgres", "-p", &server.port.to_string(), "-h"])
        .arg(server.dir.path())
        .args(["-c", text])
        .output()
        .expect("psql")
}

/// A server that is ready, with a role and a schema for the monitor.
fn database(more: &'static [&'static str], hba: &str) -> Server {
    let server = Server::start(servers::postgres_with(hba, more));
    wait_for("it to be ready", || psql(&server, "SELECT 1").status.success().then_some(()));
    sql(&server, "CREATE ROLE giveover LOGIN PASSWORD 'hush'");
    sql(&server, "CREATE SCHEMA giveover AUTHORIZATION giveover");
    server
}

/// The usual: superusers on the socket, the monitor by `method` from anywhere.
fn hba(method: &str) -> String {
    format!(
        "local all postgres trust\nlocal all all {method}\nhost all all 127.0.0.1/32 {method}\n"
    )
}

fn check(server: &Server, more: &str) -> String {
    format!(
        "{{ url = \"postgres://giveover@127.0.0.1:{}/postgres\", schema = \"giveover\"{more} }}",
        server.port
    )
}

fn at_socket(server: &Server, more: &str) -> String {
    format!(
        "{{ url = \"postgres://giveover@:{}/postgres?host={}\", schema = \"giveover\"{more} }}",
        server.port,
        server.dir.path().display()
    )
}

fn password(server: &Server, name: &str, text: &str, mode: u32) -> String {
    let path = server.dir.path().join(name);
    fs::write(&path, text).expect("a password");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
    format!(", password_file = \"{}\"", path.display())
}

fn row_of(situation: &str, check: &str, timeout_ms: u32, wanted: &str) {
    row("postgres", "postgresql", situation, check, timeout_ms, wanted);
}

/// What a probe that cannot be made says.
fn unmeasured(situation: &str, check: &str, wanted: &str) {
    let found = probe(check, PATIENT_MS);
    tell("postgres", "postgresql", situation, &format!("cannot measure: {wanted}"), Some(found.ms));
    assert!(found.verdict.starts_with("CannotMeasure"), "{situation}: {found:#?}");
    let text = giveover_tests::probing::words(check, PATIENT_MS);
    assert!(text.contains(wanted), "{situation}: {text}");
}

/// req 1.95 1.97
#[test]
fn it_is_let_in_by_every_proof_and_makes_a_table_that_leaves_nothing() {
    for method in ["scram-sha-256", "md5", "password"] {
        let server = database(&["-c", "log_statement=all"], &hba(method));
        if method == "md5" {
            sql(&server, "SET password_encryption = 'md5'; ALTER ROLE giveover PASSWORD 'hush'");
        }
        let right = password(&server, "right", "hush\n", 0o400);
        let clear = method == "password";
        if clear {
            let why = "the server wants the password in the clear: tls = true hides it";
            unmeasured("password in the clear", &check(&server, &right), why);
        } else {
            row_of(method, &check(&server, &right), PATIENT_MS, "healthy");
        }
        row_of(&format!("{method}, socket"), &at_socket(&server, &right), PATIENT_MS, "healthy");
        let wrong = password(&server, "wrong", "other", 0o400);
        let refused = "50 answer 28P01 invalid password";
        row_of(&format!("{method}, wrong"), &at_socket(&server, &wrong), PATIENT_MS, refused);
        let why = "the server wants a password: password_file names its file";
        unmeasured(&format!("{method}, none"), &check(&server, ""), why);
        let open = password(&server, "open", "hush", 0o444);
        let why = "password_file is open to others: chmod 0400 and choose a new password";
        unmeasured(&format!("{method}, open to others"), &check(&server, &open), why);
        let left = sql(&server, "SELECT count(*) FROM pg_tables WHERE schemaname = 'giveover'");
        assert_eq!(left, "0");
        assert!(server.log().contains("CREATE TABLE \"giveover\".giveover_probe_"));
        assert!(!server.log().contains("hush\n"), "no password in a log");
    }
}

#[test]
fn errors_refusals_and_silence() {
    let mut server = database(&[], &hba("trust"));
    let steps = probe(&check(&server, ""), PATIENT_MS).steps;
    let steps: Vec<&str> = steps.iter().map(|step| step.split(',').next().unwrap_or("")).collect();
    let address = format!("connect 127.0.0.1:{}", server.port);
    assert_eq!(
        steps[..3],
        [address.as_str(), "send > start-up as giveover at postgres", "read < let in"]
    );
    assert_eq!(steps.last(), Some(&"read < made"));
    row_of("healthy", &check(&server, ""), PATIENT_MS, "healthy");
    row_of("healthy, socket", &at_socket(&server, ""), PATIENT_MS, "healthy");
    let by = |url: &str, more: &str| format!("{{ url = \"postgres://{url}\"{more} }}");
    let at = format!("127.0.0.1:{}", server.port);
    let cycle = ", connect_cycle = 5";
    row_of("reads only", &by(&format!("giveover@{at}"), cycle), PATIENT_MS, "healthy");
    let no_role = "50 answer 28000 invalid authorization";
    row_of("no such role", &by(&format!("nobody@{at}"), cycle), PATIENT_MS, no_role);
    let no_base = "50 answer 3D000 no such database";
    row_of("no such database", &by(&format!("giveover@{at}/no"), cycle), PATIENT_MS, no_base);
    let other = ", schema = \"pg_catalog\"";
    let denied = "50 answer 42501 insufficient privilege";
    row_of("no right to write", &by(&format!("giveover@{at}"), other), PATIENT_MS, denied);
    let name = format!("giveover@localhost:{}", server.port);
    row_of("by name", &by(&name, ", schema = \"giveover\""), PATIENT_MS, "healthy");
    let refused = "100 tls TLS refused";
    row_of("no TLS", &check(&server, ", tls = true, verify = false"), PATIENT_MS, refused);
    server.freeze();
    row_of("frozen", &check(&server, ""), SHORT_MS, "50 read no answer in 0.7s");
    server.thaw();
    row_of("thawed", &check(&server, ""), PATIENT_MS, "healthy");
    let socket = at_socket(&server, "");
    server.stop();
    row_of("stopped", &check(&server, ""), PATIENT_MS, "100 connect refused");
    let gone = probe(&socket, PATIENT_MS).verdict;
    assert!(["100 connect refused", "100 connect no such file"].contains(&&*gone), "{gone}");
}

#[test]
fn in_tls_a_password_may_be_said() {
    let server = database(
        &["-c", "ssl=on", "-c", "ssl_cert_file=../cert.pem", "-c", "ssl_key_file=../key.pem"],
        "local all postgres trust\nhostssl all all 127.0.0.1/32 password\n",
    );
    let right = password(&server, "right", "hush\n", 0o400);
    let ca = server.dir.path().join("cert.pem");
    let tls = format!("{right}, tls = true, ca = \"{}\"", ca.display());
    let named = format!("{tls}, server_name = \"db.example.org\"");
    row_of("in TLS, by its name", &check(&server, &named), PATIENT_MS, "healthy");
    let other = format!("{tls}, server_name = \"other.example.org\"");
    let wanted = "100 tls certificate of another name";
    row_of("in TLS, another name", &check(&server, &other), PATIENT_MS, wanted);
    let plain = probe(&check(&server, &right), PATIENT_MS).verdict;
    assert_eq!(plain, "50 answer 28000 invalid authorization", "only in TLS");
}

#[test]
fn a_server_in_recovery_is_only_read() {
    let primary = database(
        &["-c", "wal_level=replica", "-c", "max_wal_senders=3"],
        &format!("{}local replication all trust\n", hba("trust")),
    );
    sql(&primary, "SELECT pg_switch_wal()");
    let standby = Server::start(servers::standby(primary.dir.path().to_owned(), primary.port));
    wait_for("it to be ready", || {
        (probe(&check(&standby, ""), PATIENT_MS).verdict == "healthy").then_some(())
    });
    let steps = probe(&check(&standby, ""), PATIENT_MS).steps;
    assert!(steps.last().is_some_and(|step| step.ends_with(", in recovery")), "{steps:?}");
    row_of("in recovery", &check(&standby, ""), PATIENT_MS, "healthy");
}

/// A service that watches the server, with everything short.
fn service(server: &Server, more: &str, rows: &str) -> String {
    format!(
        "[service.db]\npreset = \"postgres\"\ncheck.sql.url = \"postgres://giveover@:{}/postgres?host={}\"\n\
         check.sql.schema = \"giveover\"\n{more}\n\
         policy = {{ thorough_probe_interval = \"150ms\", probe_timeout = \"2s\", retry_interval = \"60s\", \
         failover_mode = \"log_only\" }}\nallow = [\"watched-only\"]\n{rows}",
        server.port,
        server.dir.path().display()
    )
}

fn events(daemon: &Daemon, event: &str) -> Vec<Value> {
    daemon.events("db").into_iter().filter(|found| found["event"] == event).collect()
}

fn text(event: &Value) -> String {
    event["text"].as_str().unwrap_or_default().to_owned()
}

/// req 1.94
#[test]
fn the_connection_is_kept_and_counters_that_move_spare_the_work() {
    let server = database(&["-c", "log_connections=on", "-c", "log_statement=all"], &hba("trust"));
    let mut daemon = Daemon::start(&service(&server, "check.sql.connect_cycle = 4", ""));
    daemon.wait_status("db", "ok");
    let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'giveover'";
    let pids = "SELECT string_agg(pid::text, ',') FROM pg_stat_activity \
                WHERE application_name = 'giveover'";
    assert_eq!(sql(&server, ours), "1");
    let first = sql(&server, pids);
    wait_for("the next connection", || {
        let pid = sql(&server, pids);
        (!pid.is_empty() && pid != first).then_some(())
    });
    let made = |log: &str| log.matches("statement: CREATE TABLE \"giveover\"").count();
    let let_in =
        |log: &str| log.matches("user=giveover database=postgres application_name").count();
    wait_for("more of them", || (made(&server.log()) >= 9).then_some(()));
    let log = server.log();
    assert!(let_in(&log) * 2 < made(&log), "four probes a connection: {}", let_in(&log));
    // Now somebody else works: nothing is made for as long as the counters move.
    sql(&server, "CREATE TABLE work (n integer)");
    let spared = |log: &str| log.matches("statement: SELECT pg_is_in_recovery").count() - made(log);
    let before = spared(&server.log());
    wait_for("probes that make none", || {
        sql(&server, "INSERT INTO work VALUES (1)");
        (spared(&server.log()) >= before + 10).then_some(())
    });
    let during = made(&server.log());
    wait_for("it to be made again", || (made(&server.log()) > during + 2).then_some(()));
    assert!(events(&daemon, "failure").is_empty());
    let url = format!(
        "postgres://giveover@:{}/postgres?host={}",
        server.port,
        server.dir.path().display()
    );
    let probed = daemon.ok(&["probe", "-v", &url]);
    assert!(probed.contains("< let in") && probed.contains("healthy"), "{probed}");
    let probed = daemon.ok(&["probe", "db"]);
    assert!(probed.contains("healthy"), "{probed}");
    let _ = daemon.ok(&["monitor", "stop", "db"]);
    wait_for("it to leave", || (sql(&server, ours) == "0").then_some(()));
    let _ = daemon.ok(&["monitor", "start", "db"]);
    wait_for("it to come back", || (sql(&server, ours) == "1").then_some(()));
    assert_eq!(daemon.stop(), Some(0));
    wait_for("it to leave", || (sql(&server, ours) == "0").then_some(()));
}

#[test]
fn a_session_that_is_ended_is_made_again_at_once() {
    let server = database(&[], &hba("trust"));
    let daemon = Daemon::start(&service(&server, "check.sql.connect_cycle = 0", ""));
    daemon.wait_status("db", "ok");
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE application_name = 'giveover'";
    for _ in 0..5 {
        wait_for("a session to end", || (sql(&server, end) == "1").then_some(()));
    }
    daemon.wait_status("db", "ok");
    assert!(events(&daemon, "failure").is_empty(), "{:?}", events(&daemon, "failure"));
}

/// req 1.103
#[test]
fn the_second_time_out_in_a_row_is_a_complete_failure() {
    let server = database(&[], &hba("trust"));
    let daemon = Daemon::start(&service(&server, "", ""));
    daemon.wait_status("db", "ok");
    server.freeze();
    let failure = wait_for("a failure", || events(&daemon, "failure").first().cloned());
    assert_eq!(failure["weight"], 100, "{failure}");
    assert!(text(&failure).starts_with("sql no answer in 2s"), "{failure}");
    server.thaw();
    daemon.wait_status("db", "ok");
}

#[test]
fn a_row_can_tolerate_more_time_outs_and_give_the_last_an_action() {
    let server = database(&[], &hba("trust"));
    let rows = "[[service.db.error]]\non = \"timeout\"\nmatch = 2\n\
                [[service.db.error]]\non = \"timeout\"\nmatch = 3\naction = \"stop\"\n\
                message = \"not ours to heal\"\n";
    let daemon = Daemon::start(&service(&server, "check.sql.timeout = \"600ms\"", rows));
    daemon.wait_status("db", "ok");
    server.freeze();
    let ended =
        wait_for("the monitor to end", || events(&daemon, "monitor_ended").first().cloned());
    assert!(text(&ended).contains("3 time-outs in a row: not ours to heal"), "{ended}");
    assert!(events(&daemon, "failure").is_empty(), "what is tolerated does not count");
    server.thaw();
    let _ = daemon.ok(&["monitor", "start", "db"]);
    daemon.wait_status("db", "ok");
}

/// req 1.98 1.99 1.104
#[test]
fn the_table_of_errors_and_the_log() {
    let mut server = database(&[], &hba("trust"));
    let log = server.dir.path().join("db.log");
    fs::write(&log, "PANIC: long ago\n").expect("a log");
    let more = format!("check.sql.log = \"{}\"", log.display());
    let ran = server.dir.path().join("ran");
    let rows = format!(
        "[[service.db.error]]\nmatch = \"53100\"\nmessage = \"disk full: a restart makes no room\"\n\
         run = [\"touch\", \"{}\"]\n\
         [[service.db.error]]\non = \"log\"\nmatch = \"^PANIC:\"\naction = \"restart\"\n\
         [[service.db.error]]\non = \"log\"\nmatch = \"WARN\"\nmessage = \"seen\"\n",
        ran.display()
    );
    let daemon = Daemon::start(&service(&server, &more, &rows));
    daemon.wait_status("db", "ok");
    assert!(events(&daemon, "failure").is_empty(), "what was in the log is old");
    // As a full disk would: the server says 53100 to whoever makes a table.
    sql(
        &server,
        "CREATE FUNCTION full_disk() RETURNS event_trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE 'could not extend file' USING ERRCODE = '53100'; END $$",
    );
    sql(
        &server,
        "CREATE EVENT TRIGGER full_disk ON ddl_command_start EXECUTE FUNCTION full_disk()",
    );
    let told = wait_for("the row", || events(&daemon, "database_error").first().cloned());
    let wanted =
        "sql 53100 disk full: disk full: a restart makes no room (could not extend file): none";
    assert_eq!(text(&told), wanted);
    wait_for("what it runs", || ran.exists().then_some(()));
    let end = wait_for("its end", || events(&daemon, "row_ran").first().cloned());
    assert_eq!(text(&end), "what a row of errors runs: exit 0");
    daemon.wait_service("db", "to be unmeasured", |service| !service["unmeasured_ms"].is_null());
    assert!(events(&daemon, "failure").is_empty());
    assert_eq!(events(&daemon, "database_error").len(), 1, "it is told once");
    sql(&server, "DROP EVENT TRIGGER full_disk");
    daemon.wait_service("db", "to be measured", |service| service["unmeasured_ms"].is_null());
    // Lines of the log, across its rotation.
    append(&log, "WARN a\nnothing\n");
    let seen = || events(&daemon, "database_error").iter().map(text).collect::<Vec<_>>();
    let said = |line: &str| {
        wait_for(line, || seen().iter().any(|text| text.contains(line)).then_some(()));
    };
    said("(WARN a): none");
    append(&log, "WARN b\n");
    fs::rename(&log, server.dir.path().join("db.log.1")).expect("a rotation");
    append(&log, "WARN c\n");
    said("(WARN b): none");
    said("(WARN c): none");
    assert!(events(&daemon, "failure").is_empty());
    append(&log, "PANIC: could not write\n");
    let failure = wait_for("a failure", || events(&daemon, "failure").first().cloned());
    assert_eq!(failure["weight"], 100, "{failure}");
    assert!(text(&failure).starts_with("sql log matches \"^PANIC:\""), "{failure}");
    daemon.wait_status("db", "ok");
    // One that is gone is a complete failure by itself, and recovers by itself.
    server.stop();
    daemon.wait_status("db", "faulted");
    let last = events(&daemon, "failure").pop().expect("a failure");
    assert_eq!(last["weight"], 100, "{last}");
}

/// Nobody serves the mount that the log lies on: that is said, and the database is asked all the same.
/// req 1.104
#[test]
fn a_log_on_a_dead_mount_leaves_the_database_watched() {
    if !is_root("a mount") {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let Some(mount) = DeadMount::on(place.path()) else { return };
    let mut server = database(&[], &hba("trust"));
    let log = place.path().join("db.log");
    let more = format!("check.sql.log = \"{}\"", log.display());
    let rows = "[[service.db.error]]\non = \"log\"\nmatch = \"WARN\"\nmessage = \"seen\"\n";
    let daemon = Daemon::start(&service(&server, &more, rows));
    daemon.wait_service("db", "to be unmeasured", |it| {
        let cause = it["checks"][0]["cause"].as_str().unwrap_or_default();
        it["checks"][0]["outcome"] == "unmeasured" && cause.contains("the log cannot be read")
    });
    let ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'giveover'";
    wait_for("the database to be asked", || (sql(&server, ours) == "1").then_some(()));
    assert!(events(&daemon, "failure").is_empty());
    let unmeasured = "cannot measure: the log cannot be read";
    tell("postgres", "nobody's FUSE", "dead mount: log", unmeasured, None);
    server.freeze();
    let failure = wait_for("a failure", || events(&daemon, "failure").first().cloned());
    assert_eq!((&failure["weight"], &failure["phase"]), (&100.into(), &"read".into()));
    tell("postgres", "postgresql", "frozen, its log hangs", "100 read", None);
    server.thaw();
    wait_for("the database to be asked", || (sql(&server, ours) == "1").then_some(()));
    drop(mount);
    // What it holds by the time it can be read is new.
    fs::write(&log, "WARN a\n").expect("a log");
    let told = wait_for("its line", || events(&daemon, "database_error").first().map(text));
    assert!(told.contains("(WARN a): none"), "{told}");
    daemon.wait_status("db", "ok");
    server.stop();
    daemon.wait_status("db", "faulted");
}

fn append(path: &Path, line: &str) {
    let text = fs::read_to_string(path).unwrap_or_default();
    if text.is_empty() {
        return fs::write(path, line).expect("a log");
    }
    use std::io::Write;
    let file = fs::File::options().append(true).open(path);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("a line");
}

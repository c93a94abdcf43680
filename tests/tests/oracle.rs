//! The monitors of Oracle's server and listener against a stand-in for `sqlplus` and `lsnrctl`,
//! since Oracle itself is not for everybody's machines.

use std::fs;
use std::path::Path;

use giveover_tests::oracle::Oracle;
use giveover_tests::{Daemon, wait_for};
use serde_json::Value;

fn oracle() -> Oracle {
    Oracle::new(Path::new(env!("CARGO_BIN_EXE_oracle")))
}

const POLICY: &str = "policy = { thorough_probe_interval = \"100ms\", probe_timeout = \"1s\", \
                      retry_interval = \"60s\", failover_mode = \"log_only\" }\n\
                      allow = [\"watched-only\"]\n";

fn service(oracle: &Oracle, more: &str) -> String {
    format!(
        "[service.db]\npreset = \"oracle\"\ncheck.sql.oracle_home = \"{}\"\n{POLICY}{more}\n",
        oracle.home()
    )
}

fn events(daemon: &Daemon, event: &str) -> Vec<Value> {
    daemon.events("db").into_iter().filter(|found| found["event"] == event).collect()
}

fn text(event: &Value) -> String {
    event["text"].as_str().unwrap_or_default().to_owned()
}

fn first(daemon: &Daemon, event: &str) -> String {
    wait_for(event, || events(daemon, event).first().map(text))
}

/// req 1.93 1.94 1.95 1.97
#[test]
fn a_client_is_kept_and_statistics_that_stand_still_have_a_table_made() {
    let oracle = oracle();
    let login = format!(
        "check.sql.connect_string = \"giveover@ORCL\"\ncheck.sql.password_file = \"{}\"\n\
         check.sql.connect_cycle = 4",
        oracle.password("hush")
    );
    let mut daemon = Daemon::start(&service(&oracle, &login));
    daemon.wait_status("db", "ok");
    wait_for("probes", || (oracle.count("SELECT") >= 12).then_some(()));
    let (sessions, made) = (oracle.count("begin -S -L /nolog"), oracle.count("CREATE"));
    assert!(sessions * 3 <= oracle.count("SELECT"), "{:?}", oracle.said());
    // One that has just begun may not have come to it yet.
    assert!(oracle.count("connect giveover ORCL") + 1 >= sessions, "{:?}", oracle.said());
    assert_eq!(made, 1, "the first probe alone has nothing to compare with");
    oracle.mood("idle");
    wait_for("tables", || (oracle.count("CREATE") >= made + 3).then_some(()));
    for step in ["INSERT", "UPDATE", "COMMIT", "DROP"] {
        wait_for(step, || (oracle.count(step) >= 3).then_some(()));
    }
    assert!(events(&daemon, "failure").is_empty());
    let words = fs::read_to_string(&daemon.log).unwrap_or_default();
    assert!(!words.contains("hush") && !oracle.said().join(" ").contains("hush"));
    assert_eq!(daemon.stop(), Some(0));
    let (begun, ended) = (oracle.count("begin -S -L /nolog"), oracle.count("end"));
    println!("{begun} clients, {ended} of them ended by themselves");
    assert!(begun > 2 && ended + 2 >= begun, "only the last is ended");
}

/// req 1.96
#[test]
fn the_client_can_run_as_another_user() {
    if !giveover_tests::server::is_root("becoming another user") {
        return;
    }
    let oracle = oracle();
    let daemon = Daemon::start(&service(&oracle, "check.sql.user = \"nobody\""));
    daemon.wait_status("db", "ok");
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| fs::metadata(path).expect("what it said").uid();
    assert_eq!(owner(&oracle.path("said")), 65534);
    assert!(oracle.count("connect  ") > 0, "as whom the operating system vouches for");
}

/// req 1.98
#[test]
fn rows_of_the_preset_and_of_the_file_say_what_an_error_leads_to() {
    let oracle = oracle();
    let rows =
        "[[service.db.error]]\nmatch = 257\naction = \"restart\"\nmessage = \"ours first\"\n";
    let daemon = Daemon::start(&service(&oracle, rows));
    daemon.wait_status("db", "ok");
    oracle.mood("error 28");
    let told = first(&daemon, "database_error");
    let wanted = "sql ORA-00028: our session was killed (ORA-00028: as it was told): none";
    assert_eq!(told, wanted);
    assert!(events(&daemon, "failure").is_empty());
    oracle.mood("ok");
    daemon.wait_service("db", "to be measured", |service| service["unmeasured_ms"].is_null());
    oracle.mood("error 257");
    let failure = first(&daemon, "failure");
    assert!(failure.starts_with("sql ORA-00257: ours first, weight 100"), "{failure}");
    oracle.mood("ok");
    daemon.wait_status("db", "ok");
    oracle.mood("error 50");
    // Nobody takes it over, so what would switch is a complete failure.
    wait_for("a switch", || {
        events(&daemon, "failure")
            .iter()
            .any(|it| text(it).starts_with("sql ORA-00050"))
            .then_some(())
    });
    oracle.mood("ok");
    daemon.wait_status("db", "ok");
    oracle.mood("error 12345");
    wait_for("one without a row", || {
        let mut all = events(&daemon, "failure").into_iter();
        all.any(|it| text(&it).starts_with("sql ORA-12345, weight 50")).then_some(())
    });
    oracle.mood("ok");
    daemon.wait_status("db", "ok");
    oracle.mood("error 62");
    let ended = first(&daemon, "monitor_ended");
    assert!(ended.contains("a row of errors (ORA-00062)"), "{ended}");
}

#[test]
fn a_client_that_hangs_dies_or_is_not_let_in() {
    let oracle = oracle();
    let wrong = oracle.password("other");
    let config = format!(
        "{}[service.wrong]\npreset = \"oracle\"\ncheck.sql.oracle_home = \"{}\"\n{POLICY}\
         check.sql.connect_string = \"giveover\"\ncheck.sql.password_file = \"{wrong}\"\n\
         [service.none]\npreset = \"oracle\"\ncheck.sql.oracle_home = \"/no/such/home\"\n{POLICY}",
        service(&oracle, ""),
        oracle.home()
    );
    let daemon = Daemon::start(&config);
    daemon.wait_status("db", "ok");
    let unmeasured = |name: &str, wanted: &str| {
        let service = daemon.wait_service(name, "to be unmeasured", |service| {
            service["checks"][0]["outcome"] == "unmeasured"
        });
        let cause = service["checks"][0]["cause"].as_str().unwrap_or_default().to_owned();
        assert_eq!(cause, wanted, "{service}");
    };
    unmeasured("wrong", "ORA-01017: we are not let in: user and password");
    unmeasured("none", "cannot be run: no such file");
    oracle.mood("die");
    let failure = first(&daemon, "failure");
    assert!(
        failure.starts_with("sql the client ended before it had answered, weight 50"),
        "{failure}"
    );
    oracle.mood("ok");
    daemon.wait_status("db", "ok");
    oracle.mood("hang");
    wait_for("the second time-out", || {
        let mut all = events(&daemon, "failure").into_iter();
        all.any(|it| text(&it).starts_with("sql no answer in 1s, weight 100")).then_some(())
    });
    oracle.mood("ok");
    daemon.wait_status("db", "ok");
}

/// req 1.100 1.101
#[test]
fn what_is_switched_is_given_over_and_what_is_restarted_is_stopped_and_started() {
    let oracle = oracle();
    let config = format!(
        "[giveover]\ncommand = [\"/bin/touch\", \"{}\"]\n\
         [service.db]\npreset = \"oracle\"\nstart = [\"/bin/sleep\", \"1000\"]\n\
         check.sql.oracle_home = \"{}\"\n\
         policy = {{ thorough_probe_interval = \"100ms\", probe_timeout = \"1s\", \
         retry_interval = \"60s\", restart_delay = [\"0s\"], start_grace = \"0s\" }}\n",
        oracle.path("given-over").display(),
        oracle.home()
    );
    let daemon = Daemon::start(&config);
    let before = daemon.wait_status("db", "ok")["pid"].as_u64().expect("a pid");
    oracle.mood("error 107");
    let restart = first(&daemon, "restart");
    assert!(restart.ends_with(": sql ORA-00107 (sum 100)"), "{restart}");
    let _ = first(&daemon, "restarted");
    oracle.mood("ok");
    let after = daemon.wait_status("db", "ok")["pid"].as_u64().expect("a pid");
    assert_ne!(before, after);
    let restarts = events(&daemon, "restart").len();
    oracle.mood("error 290");
    wait_for("the giveover", || oracle.path("given-over").exists().then_some(()));
    let giveover = first(&daemon, "giveover");
    assert!(giveover.contains("ORA-00290"), "{giveover}");
    assert_eq!(events(&daemon, "restart").len(), restarts, "restarts were left");
}

/// req 1.106 1.107
#[test]
fn a_listener_that_answers_or_wants_a_password_is_healthy() {
    let oracle = oracle();
    let config = format!(
        "[service.db]\npreset = \"listener\"\ncheck.listener.oracle_home = \"{}\"\n\
         policy = {{ thorough_probe_interval = \"100ms\", probe_timeout = \"1s\", \
         retry_interval = \"60s\", failover_mode = \"log_only\" }}\nallow = [\"watched-only\"]\n",
        oracle.home()
    );
    let daemon = Daemon::start(&config);
    daemon.wait_status("db", "ok");
    oracle.listener("locked");
    wait_for("a few probes", || (oracle.count("listener locked") >= 4).then_some(()));
    assert!(events(&daemon, "failure").is_empty());
    oracle.listener("down");
    let failure = first(&daemon, "failure");
    assert!(failure.starts_with("listener exit 1, weight 100"), "{failure}");
    oracle.listener("up");
    daemon.wait_status("db", "ok");
    oracle.listener("hang");
    wait_for("a time-out", || {
        let mut all = events(&daemon, "failure").into_iter();
        all.any(|it| text(&it).starts_with("listener no end in 1s, weight 100")).then_some(())
    });
}

/// req 1.107 1.109 1.110
#[test]
fn past_its_restarts_the_listeners_monitor_ends_and_it_is_never_given_over() {
    let oracle = oracle();
    let config = format!(
        "[giveover]\ncommand = [\"/bin/touch\", \"{}\"]\n\
         [service.db]\npreset = \"listener\"\nstart = [\"/bin/sleep\", \"1000\"]\n\
         check.listener.oracle_home = \"{}\"\n\
         policy = {{ thorough_probe_interval = \"100ms\", probe_timeout = \"1s\", \
         retry_interval = \"60s\", retry_count = 2, restart_delay = [\"0s\"], start_grace = \"0s\" }}\n",
        oracle.path("given-over").display(),
        oracle.home()
    );
    let daemon = Daemon::start(&config);
    daemon.wait_status("db", "ok");
    oracle.listener("down");
    let ended = first(&daemon, "monitor_ended");
    assert!(ended.contains("its spent budget"), "{ended}");
    assert_eq!(events(&daemon, "restart").len(), 2, "retry_count of them");
    assert!(events(&daemon, "giveover").is_empty() && !oracle.path("given-over").exists());
    let before = daemon.service("db");
    assert!(before["pid"].as_u64().is_some(), "it runs on: {before}");
    oracle.listener("up");
    let _ = daemon.ok(&["monitor", "start", "db"]);
    daemon.wait_status("db", "ok");
}

/// A database that is restarted with its group: `app`, and `front` behind that; `other` needs nobody.
fn group(oracle: &Oracle) -> String {
    let policy = "policy = { thorough_probe_interval = \"100ms\", probe_timeout = \"20s\", \
                  retry_interval = \"9h\", restart_delay = [\"0s\"], start_grace = \"0s\" }\n";
    let sleeper = |name: &str, needs: &str| {
        format!(
            "[service.{name}]\nstart = [\"/bin/sleep\", \"1000\"]\n\
             check.up = {{ command = [\"/bin/true\"] }}\n{needs}{policy}"
        )
    };
    format!(
        "[service.db]\npreset = \"oracle\"\nstart = [\"/bin/sleep\", \"1000\"]\n\
         check.sql.oracle_home = \"{}\"\ncheck.sql.restart_type = \"group\"\n{policy}{}{}{}",
        oracle.home(),
        sleeper("app", "needs = [\"db\"]\n"),
        sleeper("front", "needs = [\"app\"]\n"),
        sleeper("other", "")
    )
}

/// `restart_type = "group"`: what needs the database is restarted when that is ok again, and then what
/// needs that; nobody else is, and nobody's budget pays for it.
///
/// req 1.102
#[test]
fn a_restart_of_the_group_goes_through_all_that_need_the_database() {
    let oracle = oracle();
    let daemon = Daemon::start(&group(&oracle));
    let pid = |name: &str| daemon.wait_status(name, "ok")["pid"].as_u64().expect("a pid");
    let names = ["db", "app", "front", "other"];
    let before = names.map(pid);
    oracle.mood("error 107");
    // One that has not begun yet is called off by a healthy cycle.
    let _ = first(&daemon, "restarted");
    oracle.mood("ok");
    for (name, before) in names.into_iter().zip(before).take(3) {
        daemon.wait_service(name, "to be ok as another process", |it| {
            it["status"] == "ok" && it["pid"].as_u64().is_some_and(|pid| pid != before)
        });
    }
    assert_eq!(pid("other"), before[3], "it needs nobody");
    let of_app = daemon.wait_event("app", "restart");
    assert_eq!(of_app["text"], "restart with db, which it needs, not charged");
    let of_front = daemon.wait_event("front", "restart");
    assert_eq!(of_front["text"], "restart with app, which it needs, not charged");
    assert_eq!(daemon.service("app")["restarts"], 0);
}

/// The monitor is killed when the database was restarted and nobody else: the next one restarts those
/// that need it.
///
/// req 1.102
#[test]
fn a_restart_of_the_group_outlives_the_monitor() {
    let oracle = oracle();
    let mut daemon = Daemon::start(&group(&oracle));
    let pid = |daemon: &Daemon, name: &str| {
        daemon.wait_status(name, "ok")["pid"].as_u64().expect("a pid")
    };
    let names = ["app", "front", "other"];
    let before = names.map(|name| pid(&daemon, name));
    oracle.mood("error 107");
    let _ = first(&daemon, "restarted");
    daemon.kill();
    oracle.mood("ok");
    daemon.run();
    for (name, before) in names.into_iter().zip(before).take(2) {
        daemon.wait_service(name, "to be ok as another process", |it| {
            it["status"] == "ok" && it["pid"].as_u64().is_some_and(|pid| pid != before)
        });
        assert_eq!(daemon.service(name)["restarts"], 0, "charged to nobody");
    }
    assert_eq!(pid(&daemon, "other"), before[2], "it needs nobody, and was taken up as it was");
    // What has been made is not made again.
    let app = pid(&daemon, "app");
    daemon.kill();
    daemon.run();
    daemon.wait_status("db", "ok");
    let probes = oracle.count("SELECT");
    wait_for("healthy probes", || (oracle.count("SELECT") > probes + 5).then_some(()));
    assert_eq!(pid(&daemon, "app"), app);
}

//! What a configuration asks of a machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use giveover_core::time::Span;

use super::super::here::{self, UnitFacts, look};
use super::*;

fn loaded(text: &str) -> Loaded {
    load_str("giveover.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// What is said about `text` where systemd has `facts` about every unit.
fn said_here(text: &str, facts: Option<UnitFacts>) -> String {
    let report = look(&mut loaded(text), |_| facts.clone());
    format!("{report}{}", report.summary())
}

#[test]
fn programs_users_and_directories_must_be_there() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let plain = dir.path().join("plain");
    fs::write(&plain, "").expect("a file");
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).expect("a mode");
    let text = format!(
        r#"
[giveover]
command = ["/no/such/program", "$SERVICE"]
[service.a]
start = ["sh", "-c", "true"]
stop = ["no-such-program-anywhere"]
dir = "{dir}"
user = "root"
group = "no-such-group"
validate = ["{plain}"]
check.x = {{ command = ["{dir}"] }}
check.y = {{ command = ["/no/such"], missing = 50 }}
[service.b]
start = ["/bin/$SERVICE"]
dir = "/no/such/dir"
user = "no-such-user"
group = "0"
check.x = {{ command = ["/bin/sh"] }}
"#,
        dir = dir.path().display(),
        plain = plain.display()
    );
    let said = said_here(&text, None);
    for part in [
        "giveover.toml:3:11: error: giveover.command: /no/such/program is not here",
        "error: stop: no-such-program-anywhere is in no directory of PATH",
        "error: group: `no-such-group` is not known here",
        "/plain cannot be executed",
        "error: check.x: ",
        " is not a file",
        "error: dir: /no/such/dir is no directory here",
        "error: user: `no-such-user` is not known here",
    ] {
        assert!(said.contains(part), "{part} in:\n{said}");
    }
    assert!(said.ends_with("7 errors"), "{said}");
}

const UNIT: &str = "[service.mqtt]\nunit       = \"mosquitto.service\"\ncheck.x = \"http://h/\"\n";

fn facts(load_state: &str, restart: &str) -> Option<UnitFacts> {
    let (load_state, restart) = (load_state.to_owned(), restart.to_owned());
    Some(UnitFacts { load_state, restart, ..UnitFacts::default() })
}

#[test]
fn a_unit_that_restarts_itself_is_warned_of() {
    let expected = "\
giveover.toml:2:14: warning: unit-restarts-itself: mosquitto.service has Restart=on-failure
  2 | unit       = \"mosquitto.service\"
    |              ^^^^^^^^^^^^^^^^^^^ systemd will heal deaths before we count them
    = systemctl edit mosquitto.service: [Service] Restart=no
    = or allow = [\"unit-restarts-itself\"] in service.mqtt
1 warning";
    assert_eq!(said_here(UNIT, facts("loaded", "on-failure")), expected);
    assert_eq!(said_here(UNIT, facts("loaded", "no")), "");
    assert_eq!(said_here(UNIT, None), "");
    let allowed = format!("{UNIT}allow = [\"unit-restarts-itself\"]");
    assert_eq!(said_here(&allowed, facts("loaded", "always")), "");
}

#[test]
fn a_units_own_time_outs_are_taken_where_the_file_has_none() {
    let facts = |start, stop| {
        let (start_timeout, stop_timeout) =
            (Some(Span::from_secs(start)), Some(Span::from_secs(stop)));
        UnitFacts { start_timeout, stop_timeout, ..UnitFacts::default() }
    };
    let text =
        format!("[giveover]\ncommand = [\"/bin/sh\"]\n{UNIT}policy = {{ stop_timeout = \"5s\" }}");
    let mut loaded = loaded(&text);
    assert!(look(&mut loaded, |_| Some(facts(7, 8))).is_empty());
    let service = &loaded.plan.services[0];
    assert_eq!(service.policy.limits().start_timeout, Span::from_secs(7));
    assert_eq!(service.policy.limits().stop_timeout, Span::from_secs(5));
    let source = service.sources.iter().find(|(key, _)| *key == "start_timeout");
    assert_eq!(source.map(|(_, source)| source.as_str()), Some("the unit's own"));
    let said = said_here(&text, Some(facts(600, 8)));
    let begin = "giveover.toml:4:14: warning: worst-case-too-long: service.mqtt: with \
                 mosquitto.service's time-outs, at worst";
    assert!(said.starts_with(begin), "{said}");
}

#[test]
fn a_unit_must_be_known() {
    let said = said_here(UNIT, facts("not-found", ""));
    assert!(said.contains("error: unit: systemd knows no mosquitto.service"), "{said}");
    let said = said_here(UNIT, facts("masked", "no"));
    assert!(said.contains("error: unit: mosquitto.service is masked"), "{said}");
}

#[test]
fn what_pools_need_is_looked_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let page = dir.path().join("sorry.html");
    let text = |page: &Path, command: &str| {
        format!(
            "[pool.web]\ncheck.port = \"tcp\"\ncommand = [\"{command}\"]\n\
             haproxy = {{ socket = \"{}/admin.sock\" }}\n\
             none_left = {{ page = \"{}\", listen = \"127.0.0.1:8081\" }}\n\
             member.a = \"127.0.0.1:80\"\n",
            dir.path().display(),
            page.display()
        )
    };
    let said = |command: &str| {
        let loaded = load_str("giveover.toml", &text(&page, command)).expect("possible");
        let report = here::look_at_pools(&loaded);
        report.findings().iter().map(|it| it.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let all = said("/no/such/program");
    for part in ["cannot be read", "nobody answers there", "/no/such/program is not here"] {
        assert!(all.contains(part), "{all}");
    }
    std::fs::write(&page, "<p>").expect("a page");
    let _listener = std::os::unix::net::UnixListener::bind(dir.path().join("admin.sock"));
    assert_eq!(said("/bin/sh"), "");
}

#[test]
fn what_groups_and_their_checks_need_is_looked_for() {
    let text = |me: &str, program: &str| {
        format!(
            "[host]\nnode = \"{me}\"\n[cluster]\nkey = \"/key\"\n\
             [node.a]\naddress = \"10.0.0.1\"\n[node.b]\naddress = \"10.0.0.2\"\n\
             [node.door]\naddress = \"10.0.0.3\"\nwitness = true\n\
             [pool.db]\ncheck.member.command = [\"{program}/member\", \"$MEMBER\"]\n\
             command = [\"/bin/true\"]\nmember.one = \"10.0.0.4:5432\"\n\
             [group.front]\naddresses = [\"10.0.0.10/24\"]\npool = \"db\"\n\
             check.page.command = [\"{program}/page\", \"$NODE\"]\n\
             check.echo = \"ping://$NODE\"\n\
             on_active = [\"{program}/active\"]\npromote = [\"{program}/promote\"]\n\
             up = [\"{program}/up\", \"$_IP_$\"]\ndown = [\"/bin/true\", \"$_IP_$\"]\n\
             recovery = {{ block = [\"{program}/block\"], unblock = [\"/bin/true\"] }}\n"
        )
    };
    let said = |me: &str, program: &str| {
        let mut loaded = load_str("giveover.toml", &text(me, program)).expect("possible");
        let seen = here::look(&mut loaded, |_| None);
        let more = [here::look_at_pings(&loaded, |_| false), here::look_at_groups(&loaded)];
        let all = more.iter().fold(seen, |all, more| all.with(more));
        let messages: Vec<_> = all.findings().iter().map(|it| it.message.clone()).collect();
        messages
    };
    let all = said("a", "/no/such");
    let mut expected = vec![
        "check.echo: cannot measure: no right to ping",
        "check.member: /no/such/member is not here",
        "check.page: /no/such/page is not here",
        "on_active: /no/such/active is not here",
        "promote: /no/such/promote is not here",
        "recovery.block: /no/such/block is not here",
        "up: /no/such/up is not here",
    ];
    let mut found: Vec<&str> = all.iter().map(String::as_str).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    // A witness has the same file, and runs nothing of it.
    let of_witness = said("door", "/no/such");
    assert_eq!(of_witness, ["check.member: /no/such/member is not here"]);
}

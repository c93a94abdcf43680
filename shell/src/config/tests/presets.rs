//! Presets under what is written.

use super::super::plan::*;
use super::super::preset::{list, text};
use super::super::talk::{Talk, codes};
use super::{check, load_str, plan_of};

fn checks(text: &str) -> Vec<CheckPlan> {
    plan_of(&format!("[service.s]\nunit = \"s.service\"\n{text}"))
        .services
        .remove(0)
        .checks
        .into_vec()
}

#[test]
fn every_preset_can_be_pasted_where_it_is_used() {
    for (name, purpose) in list() {
        let text = text(name).expect("a preset that is listed has a text");
        let has_address = text.contains("address = \"");
        let address = if has_address { "" } else { "address = \"127.0.0.1\"\n" };
        let service = format!("[service.s]\nunit = \"s.service\"\n{address}");
        let used = format!("{service}preset = \"{name}\"\n");
        let pasted = format!("{service}{text}");
        let (used, pasted) = (plan_of(&used), plan_of(&pasted));
        assert_eq!(used.services[0].checks, pasted.services[0].checks, "{name}");
        assert_eq!(used.services[0].policy, pasted.services[0].policy, "{name}");
        assert!(!purpose.is_empty());
    }
}

#[test]
fn a_preset_is_without_warnings_once_it_knows_whom_to_watch() {
    for run in ["unit = \"s.service\"", "start = [\"/bin/s\"]"] {
        for (name, _) in list() {
            let address = if ["apache", "xfnts", "named", "iplanet", "directory"].contains(&name) {
                "address = \"127.0.0.1\"\n"
            } else {
                ""
            };
            let text = format!(
                "[giveover]\ncommand = [\"/bin/x\"]\n\
                 [service.s]\npreset = \"{name}\"\n{run}\n{address}"
            );
            let loaded = load_str("giveover.toml", &text).unwrap_or_else(|it| panic!("{it}"));
            assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
        }
    }
}

/// Of each daemon: what is looked at, whether it counts, and whether anything is restarted.
// req 1.64, 1.69, 1.70, 1.71, 1.72, 1.73, 1.74, 1.75, 1.76, 1.77, 1.78, 1.79, 1.81, 1.82, 1.83, 1.84, 1.90
#[test]
fn the_presets_of_nfs_are_the_table_of_its_daemons() {
    let of = |preset: &str, more: &str| {
        let text = format!("[service.s]\nunit = \"s.service\"\npreset = \"{preset}\"\n{more}");
        plan_of(&text).services.remove(0)
    };
    let rows = |service: &ServicePlan| -> Vec<(String, &str, bool, u8)> {
        let checks = service.checks.iter();
        checks
            .map(|it| (it.name.to_string(), it.kind.word(), !it.observe, it.heaviest().value()))
            .collect()
    };
    let row = |name: &str, kind, counts| (name.to_owned(), kind, counts, 100);
    for (preset, retry_count, wanted) in [
        ("nfs-rpcbind", 0, vec![row("gone", "process", true), row("null", "rpc", false)]),
        (
            "nfs-statd",
            2,
            vec![
                row("statd", "process", true),
                row("lockd", "process", true),
                row("statd-null", "rpc", false),
                row("lockd-null", "rpc", false),
            ],
        ),
        (
            "nfs-mountd",
            2,
            vec![
                row("gone", "process", true),
                row("share", "path", false),
                row("null", "rpc", true),
            ],
        ),
        (
            "nfs-nfsd",
            2,
            vec![
                row("gone", "process", true),
                row("share", "path", false),
                row("null", "rpc", false),
            ],
        ),
    ] {
        let service = of(preset, "");
        assert_eq!(rows(&service), wanted, "{preset}");
        assert_eq!(service.policy.limits().retry_count, Some(retry_count), "{preset}");
        let null = service.checks.iter().filter(|check| check.kind.word() == "rpc");
        for null in null {
            assert_eq!(null.timeout.as_millis(), 120_000, "{preset}: the document's default");
            assert_eq!(null.smallest().value(), 100, "{preset}: however it fails");
        }
    }
    // The switches and the properties.
    for (preset, counts) in [("nfs-rpcbind", true), ("nfs-nfsd", true), ("nfs-mountd", false)] {
        let text = format!("check.null.observe = {}\ncheck.null.timeout = \"60s\"\n", !counts);
        let service = of(preset, &(text + "policy.thorough_probe_interval = \"90s\"\n"));
        let null = service.checks.iter().find(|check| &*check.name == "null").expect("a null call");
        assert_eq!((null.observe, null.timeout.as_millis()), (!counts, 60_000), "{preset}");
        assert_eq!(service.policy.limits().thorough_probe_interval.as_millis(), 90_000);
    }
    let shares = of("nfs-shares", "");
    assert_eq!(rows(&shares).len(), 6);
    assert!(rows(&shares).iter().all(|(_, _, counts, weight)| *counts && *weight == 100));
    assert_eq!(shares.policy.limits().failover_mode.word(), "log_only", "it restarts nothing");
}

#[test]
fn what_is_written_goes_before_the_preset_key_by_key() {
    let [ping] = &checks("preset = \"redis\"\ncheck.ping.expect = \"-NOAUTH\"\n")[..] else {
        panic!("one check")
    };
    let noauth = codes::code_of(&codes::REDIS, b"NOAUTH");
    assert_eq!(ping.kind, Kind::Talk(Box::new(Talk::Redis { expect: vec![noauth], login: None })));
    assert_eq!(ping.targets[0].port, 6379);
    let other = checks("preset = \"redis\"\nnetwork_resources_used = [\"h\"]\nport_list = [1]\n");
    assert_eq!(other[0].targets[0].port, 1);
    let moved = checks("preset = \"redis\"\ncheck.ping.url = \"redis://h:2\"\n");
    assert_eq!(moved[0].kind.word(), "redis");
    assert_eq!(moved[0].targets[0].port, 2);
}

/// The path a check asks for, in TLS or not.
fn path(check: &CheckPlan) -> String {
    match &check.kind {
        Kind::Http(plan) => plan.path.to_string(),
        Kind::Tls(plan) => match &plan.inner {
            Some(Kind::Http(http)) => format!("{} in TLS", http.path),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_url_says_itself_is_not_the_presets_and_what_it_does_not_say_is() {
    for (written, asked) in [
        ("check.health.url = \"http://h:1\"", "h:1 /health"),
        ("check.health = \"http://h:1\"", "h:1 /health"),
        ("check.health.url = \"http://h:1/\"", "h:1 /"),
        ("check.health.url = \"http://h:1/up?x=1\"", "h:1 /up?x=1"),
        ("check.health = \"http://h:1/up\"", "h:1 /up"),
        ("check.health.path = \"/up\"", "127.0.0.1:8404 /up"),
        ("check.health = { url = \"http://h:1\", path = \"/up\" }", "h:1 /up"),
        ("check.health.url = \"https://h:1\"", "h:1 /health in TLS"),
        ("check.health = { url = \"https://h:1/up\", verify = false }", "h:1 /up in TLS"),
    ] {
        let [check] = &checks(&format!("preset = \"haproxy\"\n{written}\n"))[..] else {
            panic!("one check of {written}")
        };
        let target = &check.targets[0];
        assert_eq!(format!("{}:{} {}", target.host, target.port, path(check)), asked, "{written}");
    }
    // The name that is asked for, the list of paths: the same for whatever stands in a URL.
    let query = checks("preset = \"named\"\ncheck.query = \"dns://h/example.org\"\n");
    let of_preset = checks("preset = \"named\"\nnetwork_resources_used = [\"h\"]\n");
    let named = "{ url = \"dns://h\", name = \"example.org\", expect = [\"NOERROR\", \"NXDOMAIN\"], \
                 weight = 100 }";
    let whole = checks(&format!("preset = \"named\"\ncheck.query = {named}\n"));
    assert_eq!(query, whole);
    assert_ne!(query[0].kind, of_preset[0].kind);
    for shares in ["check.shares = \"path:///srv\"", "check.shares.path = \"/srv\""] {
        let shares = checks(&format!("preset = \"nfs-shares\"\n{shares}\n"));
        let alone = checks("check.shares = \"path:///srv\"\n");
        assert_eq!(shares[0].kind, alone[0].kind);
    }
}

#[test]
fn a_check_of_another_kind_takes_the_presets_place() {
    let replaced = checks("preset = \"redis\"\ncheck.ping = { url = \"http://h/\" }\n");
    assert!(matches!(replaced[0].kind, Kind::Http(_)));
    let target = checks("preset = \"redis\"\ncheck.ping = \"tcp://h:3\"\n");
    assert_eq!(target[0].kind, Kind::Tcp { send: None, expect: None });
    let command = checks("preset = \"redis\"\ncheck.ping = { command = [\"x\"] }\n");
    assert_eq!((command.len(), command[0].kind.word()), (1, "command"));
}

#[test]
fn a_check_that_is_false_is_dropped() {
    let kept = checks("preset = \"redis\"\ncheck.ping = false\ncheck.own = \"http://h/\"\n");
    assert_eq!(kept.iter().map(|check| &*check.name).collect::<Vec<_>>(), ["own"]);
}

#[test]
fn an_error_in_what_a_preset_and_the_file_make_together_is_shown_where_it_is_written() {
    check(
        r#"
[service.s]
unit = "s.service"
preset = "redis"
check.ping = { expect = 5 }
policy = { probe_timeout = 3 }
"#,
        r#"
giveover.toml:4:25: error: expect: a text in quotes is wanted, this is a number
  4 | check.ping = { expect = 5 }
    |                         ^
giveover.toml:5:28: error: probe_timeout: a duration needs a unit: "3s"
  5 | policy = { probe_timeout = 3 }
    |                            ^
2 errors
"#,
    );
}

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

//! What changes from one configuration to the next.

use super::super::diff::Fate;
use super::*;

const OLD: &str = r#"
[service.web]
unit = "web.service"
check.page = "http://h/"
needs = ["db"]
[service.db]
start = ["/bin/db"]
check.port = { url = "tcp://h:1", expect = "x" }
"#;

fn changes(change: impl Fn(&str) -> String) -> Diff {
    diff(&plan_of(OLD), &plan_of(&change(OLD)))
}

#[test]
fn nothing_is_said_of_what_stays() {
    let same = changes(str::to_owned);
    assert!(same.is_empty());
    assert_eq!(same.to_string(), "nothing changed");
    assert_eq!(same.services, [Fate::Kept { old: 0 }, Fate::Kept { old: 1 }]);
}

#[test]
fn limits_are_spelled_out() {
    let diff = changes(|old| {
        let web = "[service.web]\npolicy = { retry_count = 3, restart_delay = [\"1m\", \"2s\"] }";
        old.replace("[service.web]", web)
    });
    let phrases = "web: retry_count 2 → 3, restart_delay 0s 5s → 60s 2s";
    assert_eq!(diff.to_string(), phrases);
    assert!(matches!(&diff.services[0], Fate::Changed { old: 0, run: false, .. }));
}

#[test]
fn services_come_and_go_by_name_and_needs_follow_the_name() {
    let new = "[service.cache]\nunit = \"c.service\"\ncheck.page = \"http://i/\"\n";
    let diff = changes(|old| format!("{new}{old}"));
    assert_eq!(diff.to_string(), "+1 service (cache)");
    let fates = [Fate::New, Fate::Kept { old: 0 }, Fate::Kept { old: 1 }];
    assert_eq!(diff.services, fates);
    let gone = diff_of_lines(OLD, "needs = [\"db\"]\n", "");
    assert_eq!(gone, "web: needs changed");
    let (web, _) = OLD.split_once("[service.db]").expect("two services");
    let diff = super::super::diff(&plan_of(OLD), &plan_of(&web.replace("needs = [\"db\"]", "")));
    assert_eq!(diff.to_string(), "-1 service (db); web: needs changed");
    assert_eq!(diff.removed, [("db".into(), 1)]);
}

fn diff_of_lines(old: &str, line: &str, other: &str) -> String {
    diff(&plan_of(old), &plan_of(&old.replace(line, other))).to_string()
}

#[test]
fn checks_and_what_runs_a_service_are_named() {
    let page = "check.page = \"http://h/\"\n";
    assert_eq!(diff_of_lines(OLD, page, "check.page = \"http://i/\"\n"), "web: check page changed");
    assert_eq!(
        diff_of_lines(OLD, page, "check.site = \"http://h/\"\n"),
        "web: +check site, -check page"
    );
    let start = "start = [\"/bin/db\"]";
    assert_eq!(
        diff_of_lines(OLD, start, "start = [\"/bin/db\", \"-v\"]"),
        "db: how it is run changed"
    );
    let unit = diff(&plan_of(OLD), &plan_of(&OLD.replace(start, "unit = \"db.service\"")));
    assert!(matches!(&unit.services[1], Fate::Changed { run: true, .. }));
    assert!(unit.to_string().starts_with("db: runs as process /bin/db → db.service"), "{unit}");
}

#[test]
fn the_host_is_named_last() {
    let diff = changes(|old| {
        format!("host.observe = true\nhost.actions.count = 5\ngiveover.command = [\"x\"]\n{old}")
    });
    assert_eq!(
        diff.to_string(),
        "web: giveover none → command; db: giveover none → command; \
         host.observe false → true; host.actions 20 in 1h → 5 in 1h; giveover.command changed"
    );
}

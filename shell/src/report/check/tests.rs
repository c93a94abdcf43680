use super::*;
use crate::config::load_str;

const GATEWAY: &str = r#"
[giveover]
command = ["/usr/sbin/reset-host"]

[policy.slow]
thorough_probe_interval = "60s"
retry_count    = 3
retry_interval = "1h"
restart_delay  = ["0s", "1m", "5m"]

[service.uplink]
unit      = "wwan.service"
check.out = { command = ["/bin/ping", "-c1", "9.9.9.9"] }
policy    = "slow"

[service.collector]
start     = ["/usr/bin/collector"]
check.api = "http://127.0.0.1:9100/health"
giveover  = "none"

[service.mqtt]
unit       = "mosquitto.service"
check.port = { url = "tcp://127.0.0.1:1883", send = "x", expect = "y" }
giveover   = "none"
"#;

fn checked(text_of: &str) -> String {
    match load_str("giveover.toml", text_of) {
        Ok(loaded) => text(&loaded, &loaded.warnings),
        Err(errors) => panic!("{errors}"),
    }
}

#[test]
fn the_screen_shows_how_fast_each_service_is_noticed_and_given_over() {
    let expected = "\
giveover.toml: 3 services

SERVICE    MODE  NOTICED dead / hung  RESTARTS  GIVES OVER at worst  MOST     GOES TO
uplink     soft  at once / 70s        at once   21m 10s              3 in 1h  command
collector  soft  at once / 80s        at once   8m 5s               12 in 1h  nobody: restart_only
mqtt       soft  at once / 80s        at once   11m 5s              12 in 1h  nobody: restart_only

uplink: 1 failure of out restarts it; 3 restarts in 1h (policy slow), the 4th failure gives over
uplink: thorough_probe_interval 60s, retry_count 3, retry_interval 1h, restart_delay 0s 60s 300s
  (policy slow)
uplink: start_timeout 90s, stop_timeout 90s (systemd's default)
collector: 1 refused, or 2 late or wrong answers of api among some 20 probes in 600s, restart it
mqtt: 1 refused, or 2 late or wrong answers or failed closes of port among some 20 probes in 600s,
  restart it
mqtt: start_timeout 90s, stop_timeout 90s (systemd's default)
";
    let shown = checked(GATEWAY);
    assert_eq!(shown, expected, "\n{shown}");
}

fn sentence_of(text_of: &str) -> String {
    let shown = checked(text_of).replace("\n  ", " ");
    let begin = shown.find("\nweb: ").expect("a sentence") + 1;
    shown[begin..].lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_sentence_says_what_restarts_it_and_what_follows() {
    let web = "[service.web]\nstart = [\"w\"]\n";
    let given = format!("[giveover]\ncommand = [\"g\"]\n{web}");
    let http = "check.a = \"http://h/\"\ncheck.b = \"http://h/\"\n";
    for (text, sentence) in [
        (web.to_owned(), "its end restarts it"),
        (
            format!("{web}{http}policy.retry_count = -1\n"),
            "1 refused, or 2 late or wrong answers \
             of a or b among some 20 probes in 600s, restart it; there is no limit to restarts",
        ),
        (format!("{given}policy.retry_count = 0"), "its end gives it over"),
        (format!("{web}policy.retry_count = 0"), "its end leaves it faulted"),
        (
            format!("{given}check.a = {{ command = [\"c\"], exit = {{ 9 = \"immediate\" }} }}\n"),
            "1 failure of a restarts it; an immediate result gives over at once; \
             2 restarts in 600s (built in), the 3rd failure gives over",
        ),
        (
            "[service.web]\ncheck.a = { url = \"tcp://h:1\", weight = 34 }\n".to_owned(),
            "3 failures of a among some 20 probes in 600s, are logged",
        ),
        (
            format!(
                "{web}check.a = {{ url = \"http://h/\", weights = {{ answer = 100 }} }}\n\
                 policy.combine = \"sum\""
            ),
            "1 refused or wrong answer, or 2 late answers of a among \
             some 20 probes in 600s, restart it; failures of one cycle are added up",
        ),
    ] {
        let said = sentence_of(&text);
        assert_eq!(said, format!("web: {sentence}"), "\n{text}");
    }
}

#[test]
fn never_and_no_limit_have_words() {
    let shown = checked(
        "host.observe = true\n[service.a]\ncheck.x = \"http://h/\"\n\
         [service.b]\nstart = [\"b\"]\npolicy = { retry_count = -1, restart_delay = \"5s\" }\n\
         [service.c]\nstart = [\"c\"]\npolicy = { retry_count = 250, retry_interval = \"7d\" }\n",
    );
    let expected = "\
OBSERVING: everything is decided and shown, nothing is acted on
giveover.toml: 3 services, 3 warnings

SERVICE  MODE      NOTICED dead / hung  RESTARTS  GIVES OVER at worst   MOST     GOES TO
a        log_only  40s / 80s            never     never                 -        nobody: log_only
b        soft      at once / never      5s        never               no limit   nobody: restart_only
c        soft      at once / never      at once   11h 28m             250 in 7d  nobody: restart_only
";
    assert!(shown.starts_with(expected), "\n{shown}");
}

#[test]
fn json_has_the_same_numbers() {
    let loaded = load_str("giveover.toml", GATEWAY).unwrap_or_else(|errors| panic!("{errors}"));
    let json = to_json(&loaded, &loaded.warnings);
    let uplink = &json["services"][0];
    assert_eq!(uplink["giveover_at_worst_ms"], 1_270_000);
    assert_eq!(uplink["noticed_hung_ms"], 70_000);
    assert_eq!(uplink["most_restarts"]["count"], 3);
    assert_eq!(uplink["limits"]["retry_count"]["source"], "policy slow");
    assert_eq!(json["services"][1]["giveover_at_worst_ms"], 485_000);
    assert_eq!(json["services"][2]["giveover_at_worst_ms"], 665_000);
    let errors = load_str("giveover.toml", "x = 1").expect_err("refused");
    assert_eq!(refused_json(&errors)["findings"][0]["column"], 1);
    assert_eq!(refused_json(&errors)["findings"][0]["level"], "error");
}

#[test]
fn warnings_are_errors_if_that_is_asked_for() {
    let warned = load_str("giveover.toml", "[service.a]\ncheck.x = \"http://h/\"\n");
    let warned = warned.unwrap_or_else(|errors| panic!("{errors}")).warnings;
    assert_eq!((exit_status(&warned, false), exit_status(&warned, true)), (0, 3));
    assert_eq!(exit_status(&Report::empty(), true), 0);
    let errors = load_str("giveover.toml", "x = 1").expect_err("refused");
    assert_eq!(exit_status(&errors, false), 3);
}

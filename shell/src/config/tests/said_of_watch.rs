//! What is said of mistakes in `[watch]` and `[notify.NAME]`.

use super::{check, plan_of};
use crate::config::plan::{Listen, Way};

#[test]
fn who_may_look_and_who_is_told() {
    let plan = plan_of(
        r#"
[watch]
listen = "[::1]:9709"
[notify.ops]
webhook = "https://hooks.example.org/x?token=1"
on = ["giveover", "recovered"]
repeat = "1h"
[notify.log]
command = ["logger", "$SERVICE: $REASON"]
on = "died"
"#,
    );
    assert_eq!(plan.watch, Some(Listen::Address("[::1]:9709".parse().expect("an address"))));
    let [ops, log] = &plan.notify[..] else { panic!("two of them") };
    assert!(matches!(ops.way, Way::Webhook(_)) && matches!(log.way, Way::Command(_)));
    let words: Vec<&str> = ops.on.iter().map(|edge| edge.word()).collect();
    assert_eq!(words, ["giveover", "recovered"]);
    assert_eq!(log.on.len(), 1);
}

#[test]
fn mistakes_have_their_place_and_a_remedy() {
    check(
        r#"
[watch]
listen = "0.0.0.0:9709"
[notify.a]
[notify.b]
command = ["true"]
webhook = "ftp://h/"
[notify.c]
webhook = "http://user:secret@h/"
on = ["give", "restart"]
repeat = "0s"
"#,
        r#"
giveover.toml:2:10: error: listen: only an address of this host itself
  2 | listen = "0.0.0.0:9709"
    |          ^^^^^^^^^^^^^^ 127.0.0.1 or [::1]; a proxy that asks for a password can show it to others
giveover.toml:3:1: error: notify.a: needs `command` or `webhook`
  3 | [notify.a]
    | ^^^^^^^^^^
giveover.toml:6:11: error: webhook: a URL of http or https, without a password in it
  6 | webhook = "ftp://h/"
    |           ^^^^^^^^^^ "https://hooks.example.org/giveover"
giveover.toml:6:11: error: a notice goes one way, by `command` or `webhook`
  6 | webhook = "ftp://h/"
    |           ^^^^^^^^^^ another [notify.NAME] will do
giveover.toml:8:11: error: webhook: a URL of http or https, without a password in it
  8 | webhook = "http://user:secret@h/"
    |           ^^^^^^^^^^^^^^^^^^^^^^^ "https://hooks.example.org/giveover"
giveover.toml:9:7: error: on: no edge is called `give`
  9 | on = ["give", "restart"]
    |       ^^^^^^ edges are failure, died, restart, restarted, restart_failed, stop_failed, healed, giveover, granted, denied, not_now, aborted, unproven, budget_spent, logged, held, released, cleared, recovered, unmeasured, measured, start_failed, stopped, local_fault, local_fault_over, host_budget, host_budget_over, reset, reset_refused, board_armed, board_not_armed, board_missed, board_reset, reloaded, refused, journal_damaged, journal_failing, journal_well, daemon_started and daemon_stopped
giveover.toml:10:10: error: repeat: must not be zero
  10 | repeat = "0s"
     |          ^^^^
7 errors
"#,
    );
}

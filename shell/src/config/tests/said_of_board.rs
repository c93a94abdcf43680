//! What is said of `[board]`.

use std::path::Path;

use giveover_core::board::{Second, Settings};
use giveover_core::policy::Destination;
use giveover_core::time::Span;

use super::{check, plan_of, said};
use crate::config::plan::{BoardKind, GoesTo};

const LEAST: &str = "[board]\nport = \"/dev/giveover-board\"\nkey = \"/etc/giveover/board.key\"\n";

#[test]
fn a_board_needs_its_port_and_key_and_the_rest_is_the_interfaces_default() {
    let board = plan_of(LEAST).board.expect("a board");
    assert_eq!(board.settings, Settings::DEFAULT);
    assert_eq!(board.confirm_after, Span::from_secs(300));
    assert!(!board.required);
    assert_eq!(board.port, Path::new("/dev/giveover-board"));
    assert_eq!(board.kind, BoardKind::Giveover { key: "/etc/giveover/board.key".into() });
    assert_eq!(plan_of("").board, None);
}

#[test]
fn every_key_is_taken() {
    let text = r#"
[board]
kind = "giveover"
port = "/dev/serial/by-id/usb-x"
key = "board.key"
timeout = "10m"
boot_grace = "20m"
link_timeout = "15m"
pulse = "300ms"
confirm_after = "1m"
policy = { retry_count = 2, retry_interval = "6h" }
giveover = "cycle"
nowayout = true
required = true
shadow = true
[service.uplink]
unit = "wwan.service"
check.out = "tcp://192.0.2.1:53"
giveover = "board"
"#;
    let plan = plan_of(text);
    let board = plan.board.as_deref().expect("a board");
    let expected = Settings {
        timeout: Span::from_secs(600),
        boot_grace: Span::from_secs(1200),
        link_timeout: Span::from_secs(900),
        pulse: Span::from_millis(300),
        retry_count: 2,
        retry_interval: Span::from_secs(6 * 3600),
        second: Second::Cycle,
        nowayout: true,
    };
    assert_eq!(board.settings, expected);
    assert_eq!(board.confirm_after, Span::from_secs(60));
    assert!(board.required && board.shadow);
    assert_eq!(plan.services[0].giveover, GoesTo::Board);
    assert_eq!(plan.services[0].policy.scope().destination, Destination::Board);
    // A long time-out takes the wait for a lost port along.
    let long = plan_of(&format!("{LEAST}timeout = \"1h\"\npolicy.retry_interval = \"7h\"\n"));
    assert_eq!(long.board.expect("a board").settings.link_timeout, Span::from_secs(3600));
}

#[test]
fn what_is_out_of_range_or_of_another_version_is_refused_with_its_place() {
    check(
        r#"
[board]
kind = "linx"
key = "../board.key"
timeout = "500ms"
boot_grace = "1s"
link_timeout = "30s"
pulse = "2s"
confirm_after = "0s"
policy = { retry_count = 9, retry_interval = 600, retry_cont = 3 }
giveover = "alram"
nowayout = 1
shadow = "yes"
tiemout = "60s"
"#,
        r#"
giveover.toml:1:1: error: board: needs `port`
  1 | [board]
    | ^^^^^^^ port = "/dev/giveover-board"
giveover.toml:2:8: error: kind: must be "giveover", "linux" or "stick"
  2 | kind = "linx"
    |        ^^^^^^ did you mean `linux`?
giveover.toml:3:7: error: key: must be an absolute path, or the bare name of a credential
  3 | key = "../board.key"
    |       ^^^^^^^^^^^^^^
giveover.toml:4:11: error: timeout: must be 1s to 1h
  4 | timeout = "500ms"
    |           ^^^^^^^
giveover.toml:5:14: error: boot_grace: must be 2s to 1d
  5 | boot_grace = "1s"
    |              ^^^^
giveover.toml:6:16: error: link_timeout: must be 60s to 1d
  6 | link_timeout = "30s"
    |                ^^^^^
giveover.toml:7:9: error: pulse: must be 50ms to 1s
  7 | pulse = "2s"
    |         ^^^^
giveover.toml:8:17: error: confirm_after: must be 1s to 1h
  8 | confirm_after = "0s"
    |                 ^^^^
giveover.toml:9:26: error: retry_count: must be 0 to 8
  9 | policy = { retry_count = 9, retry_interval = 600, retry_cont = 3 }
    |                          ^
giveover.toml:9:46: error: retry_interval: a duration needs a unit: "600s"
  9 | policy = { retry_count = 9, retry_interval = 600, retry_cont = 3 }
    |                                              ^^^
giveover.toml:9:51: error: unknown key `retry_cont` in board.policy
  9 | policy = { retry_count = 9, retry_interval = 600, retry_cont = 3 }
    |                                                   ^^^^^^^^^^ did you mean `retry_count`?
giveover.toml:10:12: error: giveover: must be "alarm", "off", "cycle" or "none"
  10 | giveover = "alram"
     |            ^^^^^^^ did you mean `alarm`?
giveover.toml:11:12: error: nowayout: true or false is wanted, this is a number
  11 | nowayout = 1
     |            ^
giveover.toml:12:10: error: shadow: true or false is wanted, this is a text
  12 | shadow = "yes"
     |          ^^^^^
giveover.toml:13:1: error: unknown key `tiemout` in board
  13 | tiemout = "60s"
     | ^^^^^^^ did you mean `timeout`?
15 errors
"#,
    );
    check(
        &format!("{LEAST}policy = {{ retry_interval = \"30m\" }}\n"),
        r#"
giveover.toml:4:10: error: policy: the resets would be forgotten before they are used up: never given over
  4 | policy = { retry_interval = "30m" }
    |          ^^^^^^^^^^^^^^^^^^^^^^^^^^ retry_interval must be at least retry_count × (timeout + boot_grace), 1980s
1 error
"#,
    );
}

#[test]
fn a_watchdog_of_the_kernels_and_a_stick_have_the_keys_they_can_keep() {
    let linux = plan_of(
        "[board]\nkind = \"linux\"\ntimeout = \"90s\"\npretimeout = \"10s\"\nnowayout = true\n\
         required = true\nboot_grace = \"5m\"\n",
    );
    let linux = linux.board.expect("a watchdog");
    assert_eq!(linux.kind, BoardKind::Linux { pretimeout: Some(Span::from_secs(10)) });
    assert_eq!(linux.port, Path::new("/dev/watchdog"));
    assert!(linux.required && linux.settings.nowayout);
    assert_eq!(linux.settings.timeout, Span::from_secs(90));
    assert_eq!(linux.settings.boot_grace, Span::from_secs(300));
    let stick = plan_of("[board]\nkind = \"stick\"\nport = \"/dev/ttyUSB0\"\n");
    let stick = stick.board.expect("a stick");
    assert_eq!((stick.kind, stick.settings.timeout), (BoardKind::Stick, Span::from_secs(60)));
}

#[test]
fn what_other_hardware_cannot_keep_is_refused_with_its_place() {
    check(
        r#"
[board]
kind = "linux"
port = "watchdog"
timeout = "1500ms"
pretimeout = "90s"
policy = { retry_count = 3 }
key = "/etc/giveover/board.key"
"#,
        r#"
giveover.toml:3:8: error: port: must be an absolute path
  3 | port = "watchdog"
    |        ^^^^^^^^^^
giveover.toml:4:11: error: timeout: is counted in whole units of 1s
  4 | timeout = "1500ms"
    |           ^^^^^^^^
giveover.toml:5:14: error: pretimeout: must be 1s to 59s
  5 | pretimeout = "90s"
    |              ^^^^^
giveover.toml:6:1: error: policy: means nothing with kind = "linux"
  6 | policy = { retry_count = 3 }
    | ^^^^^^ it has no budget: the host's own, 3 resets in 1h, holds
giveover.toml:7:1: error: key: means nothing with kind = "linux"
  7 | key = "/etc/giveover/board.key"
    | ^^^ only a board with our firmware knows it
5 errors
"#,
    );
    check(
        r#"
[board]
kind = "stick"
timeout = "65s"
pretimeout = "10s"
shadow = true
"#,
        r#"
giveover.toml:1:1: error: board: needs `port`
  1 | [board]
    | ^^^^^^^ port = "/dev/serial/by-id/…"
giveover.toml:3:11: error: timeout: is counted in whole units of 10s
  3 | timeout = "65s"
    |           ^^^^^
giveover.toml:4:1: error: pretimeout: means nothing with kind = "stick"
  4 | pretimeout = "10s"
    | ^^^^^^^^^^ only the kernel warns itself, kind = "linux"
giveover.toml:5:1: error: shadow: means nothing with kind = "stick"
  5 | shadow = true
    | ^^^^^^ only a board with our firmware knows it
4 errors
"#,
    );
    check(
        &format!("{LEAST}pretimeout = \"10s\"\n"),
        r#"
giveover.toml:4:1: error: pretimeout: means nothing with kind = "giveover"
  4 | pretimeout = "10s"
    | ^^^^^^^^^^ only the kernel warns itself, kind = "linux"
1 error
"#,
    );
}

#[test]
fn shadows_have_their_room() {
    let service = |name: &str, more: &str| {
        format!("[service.{name}]\ncheck.x = \"tcp://192.0.2.1:53\"\ngiveover = \"board\"\n{more}")
    };
    let board = format!("{LEAST}shadow = true\n");
    check(
        &board,
        r#"
giveover.toml:4:10: error: shadow: no service gives over to the board
  4 | shadow = true
    |          ^^^^ only monitors of services with giveover = "board" are shadowed
1 error
"#,
    );
    let names = ["a", "b", "c", "d", "e"];
    let five: String = names.iter().map(|name| service(name, "")).collect();
    check(
        &(board.clone() + &five),
        r#"
giveover.toml:4:10: error: shadow: 5 services give over to the board
  4 | shadow = true
    |          ^^^^ a board shadows 4 at most
1 error
"#,
    );
    let many = "start = [\"/bin/a\"]\npolicy = { retry_count = 9, retry_interval = \"3h\" }\n";
    let large = service("a", many);
    check(
        &(board.clone() + &large),
        r#"
giveover.toml:4:10: error: shadow: a remembers more than a board can
  4 | shadow = true
    |          ^^^^ a board has room for weights of at least 7, and for 8 restarts
1 error
"#,
    );
    let four: String = names.iter().take(4).map(|name| service(name, "")).collect();
    assert!(plan_of(&(board + &four)).board.expect("a board").shadow);
}

#[test]
fn a_stick_is_warned_of_until_that_is_allowed() {
    let stick = "[board]\nkind = \"stick\"\nport = \"/dev/ttyUSB0\"\n";
    check(
        stick,
        r#"
giveover.toml:2:1: warning: stick-counts-on: board: a stick counts on when the daemon has stopped, and resets this host after 21m 10s
  2 | kind = "stick"
    | ^^^^ unplug it before a longer stop
    = or allow = ["stick-counts-on"] in board
1 warning
"#,
    );
    check(
        &format!("{stick}timeout = \"90s\"\nnowayout = true\n"),
        r#"
giveover.toml:2:1: warning: stick-counts-on: board: a stick counts on when the daemon has stopped, and resets this host after 90s
  2 | kind = "stick"
    | ^^^^ unplug it before a longer stop
    = or allow = ["stick-counts-on"] in board
1 warning
"#,
    );
    let allowed = format!("{stick}allow = [\"stick-counts-on\"]\n");
    assert!(plan_of(&allowed).board.is_some());
    assert_eq!(said(&allowed).trim(), "");
}

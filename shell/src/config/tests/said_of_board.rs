//! What is said of `[board]`.

use std::path::Path;

use giveover_core::board::{Second, Settings};
use giveover_core::policy::Destination;
use giveover_core::time::Span;

use super::{check, plan_of};
use crate::config::plan::GoesTo;

const LEAST: &str = "[board]\nport = \"/dev/giveover-board\"\nkey = \"/etc/giveover/board.key\"\n";

#[test]
fn a_board_needs_its_port_and_key_and_the_rest_is_the_interfaces_default() {
    let board = plan_of(LEAST).board.expect("a board");
    assert_eq!(board.settings, Settings::DEFAULT);
    assert_eq!(board.confirm_after, Span::from_secs(300));
    assert!(!board.required);
    assert_eq!(board.port, Path::new("/dev/giveover-board"));
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
shadow = false
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
    assert!(board.required);
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
kind = "linux"
key = "../board.key"
timeout = "500ms"
boot_grace = "1s"
link_timeout = "30s"
pulse = "2s"
confirm_after = "0s"
policy = { retry_count = 9, retry_interval = 600, retry_cont = 3 }
giveover = "alram"
nowayout = 1
shadow = true
tiemout = "60s"
"#,
        r#"
giveover.toml:13:1: error: unknown key `tiemout` in board
  13 | tiemout = "60s"
     | ^^^^^^^ did you mean `timeout`?
giveover.toml:2:8: error: kind: "linux" is not in this version
  2 | kind = "linux"
    |        ^^^^^^^ systemd's RuntimeWatchdogSec= feeds /dev/watchdog
giveover.toml:12:10: error: shadow: is not in this version
  12 | shadow = true
     |          ^^^^ take it out: the board trusts the host's own monitors
"#,
    );
}

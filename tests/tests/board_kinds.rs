//! The real daemon with hardware of other kinds than ours: a stick on a line, and what is no
//! watchdog of the kernel's.

use giveover_tests::plugged::Plugged;
use giveover_tests::stick::Stick;
use giveover_tests::{Daemon, text_of, wait_for};
use rustix::process::Signal;
use serde_json::Value;

fn start(stick: &Stick, more: &str) -> Daemon {
    Daemon::start(&format!(
        "[board]\nkind = \"stick\"\nport = \"{}\"\ntimeout = \"10s\"\nboot_grace = \"60s\"\n{more}",
        stick.path.display()
    ))
}

fn board(daemon: &Daemon) -> Value {
    daemon.status().expect("it answers")["board"].clone()
}

fn armed(daemon: &Daemon) -> Value {
    wait_for("it to be armed", || Some(board(daemon)).filter(|doc| doc["armed"] == true))
}

#[test]
fn a_stick_is_armed_fed_and_left_its_longest_time() {
    let stick = Stick::plug();
    let mut daemon = start(&stick, "");
    let doc = armed(&daemon);
    assert_eq!((&doc["kind"], &doc["timeout_ms"]), (&Value::from("stick"), &Value::from(10_000)));
    wait_for("some feeds", || (stick.look().heard.len() >= 5).then_some(()));
    assert_eq!(stick.look().heard[..5], [0x80, 1, 1, 1, 1]);
    assert!(daemon.log_text().contains("armed, 10 s, stick"));
    let screen = daemon.ok(&["board", "status", "--exit-code"]);
    assert!(screen.contains("stick") && screen.contains("armed, 10s; fed"), "{screen}");
    assert_eq!(daemon.cli(&["board", "test"]).status.code(), Some(0));
    // What a board of ours can and a stick cannot.
    for words in
        [&["board", "confirm"][..], &["board", "disarm", "--for", "1m"], &["board", "pair"]]
    {
        let said = daemon.cli(words);
        assert_eq!(said.status.code(), Some(1), "{words:?}");
        assert!(text_of(&said).contains("hardware of kind \"stick\""), "{}", text_of(&said));
    }
    assert_eq!(daemon.stop(), Some(0));
    let told = stick.look();
    assert_eq!((told.heard.last(), told.resets), (Some(&0x7F), 0));
    drop(told);
    assert!(daemon.log_text().contains("stop: it goes on, and resets this host in 21m 10s unless"));
}

#[test]
fn a_stick_that_falls_silent_is_told_in_red_and_armed_again() {
    let stick = Stick::plug();
    let mut daemon = start(&stick, "");
    let _ = armed(&daemon);
    stick.look().mute = true;
    let lost = wait_for("its loss", || Some(board(&daemon)).filter(|doc| doc["armed"] == false));
    assert_eq!(lost["state"], "no_answer", "{lost}");
    assert_eq!(daemon.cli(&["board", "status", "--exit-code"]).status.code(), Some(1));
    assert!(daemon.log_text().contains("NOT ARMED: no answer"));
    stick.look().mute = false;
    let _ = armed(&daemon);
    assert_eq!(stick.look().resets, 0);
    assert_eq!(daemon.stop(), Some(0));
}

/// Frozen it is not fed; a reload in between leaves no gap.
#[test]
fn a_daemon_that_stands_still_is_reset_by_the_stick_and_one_that_is_reloaded_is_not() {
    let stick = Stick::plug();
    let mut daemon = start(&stick, "");
    let _ = armed(&daemon);
    daemon.write_config(&format!(
        "[board]\nkind = \"stick\"\nport = \"{}\"\ntimeout = \"20s\"\n",
        stick.path.display()
    ));
    assert_eq!(daemon.cli(&["reload"]).status.code(), Some(0));
    wait_for("the other time-out", || (stick.look().heard.last() == Some(&2)).then_some(()));
    assert!(!stick.look().heard.contains(&0x7F), "it was not left");
    daemon.signal(Signal::STOP);
    wait_for("its reset", || (stick.look().resets == 1).then_some(()));
    daemon.signal(Signal::CONT);
    let _ = armed(&daemon);
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn a_service_that_gives_over_to_a_stick_has_the_host_reset_within_the_hosts_budget() {
    let stick = Stick::plug();
    let doomed = "[service.uplink]\ncheck.out = { command = [\"/bin/false\"] }\ngiveover = \"board\"\n\
                  policy = { thorough_probe_interval = \"1s\", retry_interval = \"60s\" }\n";
    let mut daemon = start(&stick, doomed);
    wait_for("the command to reset", || stick.look().heard.contains(&0xFF).then_some(()));
    assert!(daemon.log_text().contains("the board is asked to reset this host"));
    assert_eq!(board(&daemon)["state"], "pulsing");
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn what_is_no_watchdog_is_said_so_stopped_and_not_taken_for_one() {
    let line = Plugged::new(
        |far| (far, Vec::new()),
        |(far, heard)| {
            let mut bytes = [0; 16];
            let count = far.read(&mut bytes);
            heard.extend_from_slice(&bytes[..count]);
            count > 0
        },
    );
    let path = line.path.display();
    let text = format!("[board]\nkind = \"linux\"\nport = \"{path}\"\n");
    let mut daemon = Daemon::start(&text);
    let doc = wait_for("it to be told", || {
        Some(board(&daemon)).filter(|doc| doc["state"] == "no_timeout")
    });
    assert_eq!(doc["armed"], false);
    let screen = text_of(&daemon.cli(&["board", "status", "--exit-code"]));
    assert!(screen.contains("NOT ARMED: its time-out can neither be set nor read"), "{screen}");
    assert!(screen.contains("this host is unguarded"), "{screen}");
    assert_eq!(daemon.cli(&["board", "test"]).status.code(), Some(1));
    // Whatever it is, it was stopped as a watchdog is, and never fed.
    wait_for("the letter", || line.lock().1.contains(&b'V').then_some(()));
    assert!(line.lock().1.iter().all(|byte| *byte == b'V'));
    assert_eq!(daemon.stop(), Some(0));

    let absent = Daemon::start("[board]\nkind = \"linux\"\nport = \"/dev/no-such-watchdog\"\n");
    let state = || board(&absent)["state"].as_str().map(str::to_owned);
    wait_for("its absence", || (state().as_deref() == Some("port_absent")).then_some(()));
    assert!(absent.log_text().contains("NOT ARMED: it is not there"));
}

//! The sample of the source document: an X font server, `fsinfo` (Debian calls it `xfsinfo`), the
//! outcomes 0, 50 and 100, and the document's messages character for character.

use std::fs;

use giveover_tests::{Daemon, free_port, wait_for};
use serde_json::Value;

struct Fonts {
    daemon: Daemon,
    port: u16,
}

impl Fonts {
    fn start() -> Self {
        let (port, server) = (free_port(), env!("CARGO_BIN_EXE_fontserver"));
        let daemon = Daemon::start_with(
            &format!(
                "[service.xfs]\n\
                 preset = \"xfnts\"\n\
                 address = \"127.0.0.1:{port}\"\n\
                 start = [\"{server}\", \"{port}\", \"$DIR/mood\"]\n\
                 check.xfs.fsinfo = \"/usr/bin/xfsinfo\"\n\
                 [service.xfs.policy]\n\
                 thorough_probe_interval = \"300ms\"\n\
                 probe_timeout  = \"2s\"\n\
                 retry_count    = 2\n\
                 retry_interval = \"60s\"\n\
                 start_grace    = \"0s\"\n"
            ),
            &["-d=high"],
        );
        let fonts = Self { daemon, port };
        fonts.daemon.wait_status("xfs", "ok");
        fonts
    }

    fn mood(&self, word: &str) {
        fs::write(self.daemon.dir.path().join("mood"), word).expect("a mood");
    }

    /// Waits for an event and returns its text and level.
    fn said(&self, event: &str) -> (String, String) {
        let event = self.daemon.wait_event("xfs", event);
        let word = |key: &str| event[key].as_str().expect("a word").to_owned();
        (word("text"), word("level"))
    }

    fn weights(&self) -> Vec<u64> {
        let events = self.daemon.events("xfs");
        let failures = events.iter().filter(|event| event["event"] == "failure");
        failures.filter_map(|event: &Value| event["weight"].as_u64()).collect()
    }
}

/// req 0.1 0.4 0.9 0.10 0.11 0.17 0.18 0.22 0.31 0.42 0.43 0.45 0.50 1.2
#[test]
fn a_font_server_that_answers_is_healthy_and_each_probe_says_so() {
    let fonts = Fonts::start();
    let (text, level) = fonts.said("probing");
    assert_eq!(text, format!("Probing the service on port: {}.", fonts.port));
    assert_eq!(level, "info");
    let (text, level) = fonts.said("checking_server");
    let command = format!("/usr/bin/xfsinfo -server 127.0.0.1:{} > /dev/null", fonts.port);
    assert_eq!(
        (text, level.as_str()),
        (format!("Checking the server status with {command}."), "debug")
    );
    assert!(fonts.weights().is_empty(), "0 is no failure");
    // Begun once the service was started, and without an end.
    let place = |wanted: &str| {
        let events = fonts.daemon.events("xfs");
        events.iter().position(|event| event["event"] == wanted).expect("such an event")
    };
    assert!(place("started") < place("probing"));
    wait_for("more probes", || {
        let events = fonts.daemon.events("xfs").into_iter();
        (events.filter(|event| event["event"] == "probing").count() > 4).then_some(())
    });
    // The state is on the command line, and to be had by programs.
    let screen = fonts.daemon.ok(&["status", "xfs"]);
    assert!(screen.contains("Service is online"), "{screen}");
    assert_eq!(fonts.daemon.service("xfs")["message"], "Service is online");
}

/// req 0.29 0.34 0.51 0.53 0.58
#[test]
fn a_refused_connection_is_100_and_restarts_at_once() {
    let fonts = Fonts::start();
    fonts.mood("refuse");
    let (text, level) = fonts.said("connect_failed");
    assert_eq!(text, format!("Failed to connect to port <{}> of resource <xfs>.", fonts.port));
    assert_eq!(level, "error");
    fonts.daemon.wait_event("xfs", "restarted");
    assert_eq!(fonts.weights().first(), Some(&100));
}

/// req 0.47 0.49 0.51 0.52 0.56 0.57
#[test]
fn a_server_whose_status_cannot_be_had_is_50_and_the_second_50_restarts() {
    let fonts = Fonts::start();
    fonts.mood("garbage");
    let (text, level) = fonts.said("check_command_failed");
    let command = format!("/usr/bin/xfsinfo -server 127.0.0.1:{} > /dev/null", fonts.port);
    assert_eq!(text, format!("Failed to check server status with command <{command}>"));
    assert_eq!(level, "error");
    let restart = fonts.daemon.wait_event("xfs", "restart");
    assert!(restart["text"].as_str().expect("text").contains("(sum 100)"), "{restart}");
    assert_eq!(fonts.weights()[..2], [50, 50]);
}

/// req 0.12 0.13 0.14
#[test]
fn without_an_address_it_stays_says_so_and_recovers_with_the_configuration() {
    let fonts = Fonts::start();
    let file = fs::read_to_string(fonts.daemon.config()).expect("the configuration");
    let address = format!("address = \"127.0.0.1:{}\"", fonts.port);
    fs::write(
        fonts.daemon.config(),
        file.replace(&address, "network_resources_used = []\nport_list = [7100]"),
    )
    .expect("a configuration");
    let _ = fonts.daemon.ok(&["reload"]);
    let (text, level) = fonts.said("no_address");
    assert_eq!(text, "No network address resource in resource group.");
    assert_eq!(level, "error");
    let service = fonts
        .daemon
        .wait_service("xfs", "to be unmeasured", |service| !service["unmeasured_ms"].is_null());
    assert_eq!(service["failure_sum"], 0, "counts nothing: {service}");
    fs::write(fonts.daemon.config(), file).expect("a configuration");
    let _ = fonts.daemon.ok(&["reload"]);
    fonts.daemon.wait_service("xfs", "to be measured", |service| {
        service["unmeasured_ms"].is_null() && service["status"] == "ok"
    });
}

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

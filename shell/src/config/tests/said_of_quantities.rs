//! Durations, sizes, shares and numbers.

use super::check;

#[test]
fn a_bare_number_for_a_duration_gets_its_likely_unit() {
    check(
        r#"
[policy.slow]
retry_interval = 300
probe_timeout = 0.5
start_grace = "30"
restart_delay = [5, "1m", "90"]
"#,
        r#"
giveover.toml:2:18: error: retry_interval: a duration needs a unit: "300s"
  2 | retry_interval = 300
    |                  ^^^
giveover.toml:3:17: error: probe_timeout: a duration needs a unit: "500ms"
  3 | probe_timeout = 0.5
    |                 ^^^
giveover.toml:4:15: error: start_grace: a duration needs a unit: "30s"
  4 | start_grace = "30"
    |               ^^^^
giveover.toml:5:18: error: restart_delay: a duration needs a unit: "5s"
  5 | restart_delay = [5, "1m", "90"]
    |                  ^
giveover.toml:5:27: error: restart_delay: a duration needs a unit: "90s"
  5 | restart_delay = [5, "1m", "90"]
    |                           ^^^^
5 errors
"#,
    );
}

#[test]
fn a_wrong_unit_names_the_right_ones() {
    check(
        r#"
[policy.slow]
retry_interval = "5min"
probe_timeout = "1m1h"
start_grace = "1h30"
stop_timeout = "soon"
start_timeout = "1.5s"
thorough_probe_interval = "1h 30m"
"#,
        r#"
giveover.toml:2:18: error: retry_interval: `min` is no unit here; ms, s, m, h and d are
  2 | retry_interval = "5min"
    |                  ^^^^^^
giveover.toml:3:17: error: probe_timeout: "1m1h": the longer unit comes first, each once, as in "1h30m"
  3 | probe_timeout = "1m1h"
    |                 ^^^^^^
giveover.toml:4:15: error: start_grace: "1h30": 30 needs a unit too; ms, s, m, h and d are
  4 | start_grace = "1h30"
    |               ^^^^^^
giveover.toml:5:16: error: stop_timeout: "soon" is not a duration; write "30s", "1h30m" or "250ms"
  5 | stop_timeout = "soon"
    |                ^^^^^^
giveover.toml:6:17: error: start_timeout: "1.5s" is not a duration; write "30s", "1h30m" or "250ms"
  6 | start_timeout = "1.5s"
    |                 ^^^^^^
giveover.toml:7:27: error: thorough_probe_interval: "1h 30m" is not a duration; write "30s", "1h30m" or "250ms"
  7 | thorough_probe_interval = "1h 30m"
    |                           ^^^^^^^^
6 errors
"#,
    );
}

#[test]
fn forty_nine_days_are_the_most() {
    check(
        r#"
[policy.slow]
retry_interval = "50d"
"#,
        r#"
giveover.toml:2:18: error: retry_interval: more than 49 days, the most there is
  2 | retry_interval = "50d"
    |                  ^^^^^
1 error
"#,
    );
}

#[test]
fn what_must_not_be_zero_is_refused_each() {
    check(
        r#"
[policy.slow]
thorough_probe_interval = "0s"
probe_timeout = "0s"
retry_interval = "0ms"
start_timeout = "0s"
stop_timeout = "0s"
start_grace = "0s"
"#,
        r#"
giveover.toml:2:27: error: thorough_probe_interval: must not be zero
  2 | thorough_probe_interval = "0s"
    |                           ^^^^
giveover.toml:3:17: error: probe_timeout: must not be zero
  3 | probe_timeout = "0s"
    |                 ^^^^
giveover.toml:4:18: error: retry_interval: must not be zero
  4 | retry_interval = "0ms"
    |                  ^^^^^
giveover.toml:5:17: error: start_timeout: must not be zero
  5 | start_timeout = "0s"
    |                 ^^^^
giveover.toml:6:16: error: stop_timeout: must not be zero
  6 | stop_timeout = "0s"
    |                ^^^^
5 errors
"#,
    );
}

#[test]
fn retry_count_has_a_range_and_a_word_for_none() {
    check(
        r#"
[policy.a]
retry_count = -2
[policy.b]
retry_count = 10000
[policy.c]
retry_count = "never"
[policy.d]
retry_count = 99999999999999999999
[policy.e]
retry_count = 2.0
"#,
        r#"
giveover.toml:2:15: error: retry_count: must be 0 to 9999, or -1 or "unlimited" for no limit
  2 | retry_count = -2
    |               ^^
giveover.toml:4:15: error: retry_count: must be 0 to 9999, or -1 or "unlimited" for no limit
  4 | retry_count = 10000
    |               ^^^^^
giveover.toml:6:15: error: retry_count: must be 0 to 9999, or -1 or "unlimited" for no limit
  6 | retry_count = "never"
    |               ^^^^^^^
giveover.toml:8:15: error: `99999999999999999999` is no number of 64 bits
  8 | retry_count = 99999999999999999999
    |               ^^^^^^^^^^^^^^^^^^^^
giveover.toml:10:15: error: retry_count: must be 0 to 9999, or -1 or "unlimited" for no limit
  10 | retry_count = 2.0
     |               ^^^
5 errors
"#,
    );
}

#[test]
fn too_many_waits_are_refused() {
    check(
        r#"
[policy.a]
restart_delay = ["1s", "2s", "3s", "4s", "5s", "6s", "7s", "8s", "9s"]
"#,
        r#"
giveover.toml:2:17: error: restart_delay: at most 8 waits; the last repeats
  2 | restart_delay = ["1s", "2s", "3s", "4s", "5s", "6s", "7s", "8s", "9s"]
    |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
1 error
"#,
    );
}

#[test]
fn sizes_shares_and_counts_have_ranges() {
    check(
        r#"
[host]
actions = { count = 0, per = "0s" }
local_fault = { share = "0%", least = 10000, within = 120 }
[host.local]
[service.web]
unit = "nginx.service"
check.a = { url = "http://h/", cap = 65536 }
check.b = { url = "http://h/", cap = "64KB", weight = 0 }
check.c = { url = "http://h/", cap = "1B", weight = 101 }
check.d = { url = "http://h/", cap = "17MiB", weights = { read = 300 } }
"#,
        r#"
giveover.toml:2:21: error: count: must be 1 to 9999
  2 | actions = { count = 0, per = "0s" }
    |                     ^
giveover.toml:2:30: error: per: must not be zero
  2 | actions = { count = 0, per = "0s" }
    |                              ^^^^
giveover.toml:3:25: error: share: must not be zero
  3 | local_fault = { share = "0%", least = 10000, within = 120 }
    |                         ^^^^
giveover.toml:3:39: error: least: must be 1 to 9999
  3 | local_fault = { share = "0%", least = 10000, within = 120 }
    |                                       ^^^^^
giveover.toml:3:55: error: within: a duration needs a unit: "120s"
  3 | local_fault = { share = "0%", least = 10000, within = 120 }
    |                                                       ^^^
giveover.toml:4:7: error: unknown key `local` in host
  4 | [host.local]
    |       ^^^^^ keys here are node, trusted, observe, actions and local_fault
giveover.toml:7:38: error: cap: a size needs a unit: "65536B"
  7 | check.a = { url = "http://h/", cap = 65536 }
    |                                      ^^^^^
giveover.toml:8:38: error: cap: `KB` is no unit here; B, KiB, MiB and GiB are
  8 | check.b = { url = "http://h/", cap = "64KB", weight = 0 }
    |                                      ^^^^^^
giveover.toml:8:55: error: weight: must be 1 to 100
  8 | check.b = { url = "http://h/", cap = "64KB", weight = 0 }
    |                                                       ^
giveover.toml:9:38: error: cap: must be 1024 to 16777216 bytes
  9 | check.c = { url = "http://h/", cap = "1B", weight = 101 }
    |                                      ^^^^
giveover.toml:9:53: error: weight: must be 1 to 100
  9 | check.c = { url = "http://h/", cap = "1B", weight = 101 }
    |                                                     ^^^
giveover.toml:10:38: error: cap: must be 1024 to 16777216 bytes
  10 | check.d = { url = "http://h/", cap = "17MiB", weights = { read = 300 } }
     |                                      ^^^^^^^
giveover.toml:10:66: error: read: must be 1 to 100
  10 | check.d = { url = "http://h/", cap = "17MiB", weights = { read = 300 } }
     |                                                                  ^^^
13 errors
"#,
    );
}

#[test]
fn words_that_are_wrong_name_the_nearest() {
    check(
        r#"
[policy.a]
failover_mode = "sotf"
combine = "max"
[service.web]
unit = "nginx.service"
check.a = { url = "http://h/", method = "get", expect = [99, "6xx", "2XX"] }
"#,
        r#"
giveover.toml:2:17: error: failover_mode: must be "none", "soft", "hard", "restart_only" or "log_only"
  2 | failover_mode = "sotf"
    |                 ^^^^^^ did you mean `soft`?
giveover.toml:3:11: error: combine: must be "heaviest" or "sum"
  3 | combine = "max"
    |           ^^^^^
giveover.toml:6:41: error: method: must be "GET" or "HEAD"
  6 | check.a = { url = "http://h/", method = "get", expect = [99, "6xx", "2XX"] }
    |                                         ^^^^^ did you mean `GET`?
giveover.toml:6:58: error: expect: a status is 100 to 599, or a class of them as "2xx"
  6 | check.a = { url = "http://h/", method = "get", expect = [99, "6xx", "2XX"] }
    |                                                          ^^
giveover.toml:6:62: error: expect: a status is 100 to 599, or a class of them as "2xx"
  6 | check.a = { url = "http://h/", method = "get", expect = [99, "6xx", "2XX"] }
    |                                                              ^^^^^
giveover.toml:6:69: error: expect: a status is 100 to 599, or a class of them as "2xx"
  6 | check.a = { url = "http://h/", method = "get", expect = [99, "6xx", "2XX"] }
    |                                                                     ^^^^^
6 errors
"#,
    );
}

//! Warnings: what is possible but hardly meant.

use super::check;

#[test]
fn limits_that_hardly_work_are_warned_of_by_the_core() {
    check(
        r#"
[giveover]
command = ["/usr/bin/hand-over"]
[policy.default]
retry_interval = "200s"
[service.web]
unit = "a.service"
allow = ["worst-case-too-long"]
check.x = { command = ["/bin/x"], exit = "weight" }
[service.db]
start = ["/bin/db"]
policy = { thorough_probe_interval = "150s" }
check.x = "http://h/"
"#,
        r#"
giveover.toml:4:18: warning: part-never-acts: service.web: failures that weigh 1 never reach 100 inside retry_interval
  4 | retry_interval = "200s"
    |                  ^^^^^^ "2970s" would do
    = or allow = ["part-never-acts"] in service.web
giveover.toml:4:18: warning: giveover-by-death-only: service.db: failed probes alone never reach giveover inside retry_interval
  4 | retry_interval = "200s"
    |                  ^^^^^^ "305s" would do
    = or allow = ["giveover-by-death-only"] in service.db
giveover.toml:4:18: warning: worst-case-too-long: service.db: at worst the restarts take longer than retry_interval and it never gives over
  4 | retry_interval = "200s"
    |                  ^^^^^^ "885s" would hold them
    = or allow = ["worst-case-too-long"] in service.db
3 warnings
"#,
    );
}

#[test]
fn services_that_cannot_act_are_warned_of() {
    check(
        r#"
[service.a]
check.x = "http://h/"
[service.b]
unit = "b.service"
[service.c]
unit = "c.service"
check.x = { url = "http://h/", observe = true }
[service.d]
unit = "d.service"
check.p = "process"
[service.e]
unit = "e.service"
check.port = "tcp://h:1"
[service.f]
unit = "f.service"
network_resources_used = []
check.port = { url = "tcp", expect = "+" }
"#,
        r#"
giveover.toml:1:1: warning: watched-only: service.a: neither `unit` nor `start`: failures are only shown and logged
  1 | [service.a]
    | ^^^^^^^^^^^ say what runs it, or where it is given over
    = or allow = ["watched-only"] in service.a
giveover.toml:3:1: warning: no-checks: service.b: its end is noticed, but nothing asks it whether it works
  3 | [service.b]
    | ^^^^^^^^^^^ add a check
    = or allow = ["no-checks"] in service.b
giveover.toml:7:11: warning: check-cannot-act: service.c: its checks are only observed and count nothing
  7 | check.x = { url = "http://h/", observe = true }
    |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ take observe = true from one of them
    = or allow = ["check-cannot-act"] in service.c
giveover.toml:8:1: warning: no-checks: service.d: its end is noticed, but nothing asks it whether it works
  8 | [service.d]
    | ^^^^^^^^^^^ add a check
    = or allow = ["no-checks"] in service.d
giveover.toml:13:14: warning: tcp-only: service.e: a server that hangs still accepts connections, and nothing else is asked
  13 | check.port = "tcp://h:1"
     |              ^^^^^^^^^^^ give it `send` and `expect`
     = or allow = ["tcp-only"] in service.e
giveover.toml:17:14: warning: no-address: service.f: check.port has no address: it cannot be measured
  17 | check.port = { url = "tcp", expect = "+" }
     |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ network_resources_used × port_list is empty
     = or allow = ["no-address"] in service.f
6 warnings
"#,
    );
}

#[test]
fn two_services_that_probe_one_address_are_warned_of() {
    check(
        r#"
[service.a]
unit = "a.service"
check.x = { url = "tcp://h:1", expect = "a" }
[service.b]
unit = "b.service"
check.x = { url = "tcp://h:1", expect = "b" }
check.y = "http://h/"
[service.c]
unit = "c.service"
allow = ["shared-address"]
check.x = { url = "tcp://h:1", expect = "b" }
"#,
        r#"
giveover.toml:6:11: warning: shared-address: service.b: service.a probes the same address
  6 | check.x = { url = "tcp://h:1", expect = "b" }
    |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ when it fails, both act
    = or allow = ["shared-address"] in service.b
1 warning
"#,
    );
}

#[test]
fn what_is_allowed_is_not_said() {
    check(
        r#"
[service.a]
allow = ["watched-only"]
check.x = "http://h/"
[service.b]
unit = "b.service"
allow = ["no-checks"]
[service.c]
unit = "c.service"
allow = ["check-cannot-act"]
check.x = { url = "http://h/", observe = true }
[service.d]
unit = "d.service"
allow = ["tcp-only", "no-address"]
address = []
check.port = "tcp"
"#,
        r#"

"#,
    );
}

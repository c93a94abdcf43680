//! Keys: unknown, twice, missing, of the wrong type.

use super::check;

#[test]
fn an_unknown_key_names_the_nearest() {
    check(
        r#"
[service.web]
unit = "nginx.service"
validate = ["/usr/sbin/nginx", "-t"]
check.page = { url = "http://127.0.0.1/health", expcet = [200, 204] }
"#,
        r#"
giveover.toml:4:49: error: unknown key `expcet` in service.web.check.page
  4 | check.page = { url = "http://127.0.0.1/health", expcet = [200, 204] }
    |                                                 ^^^^^^ did you mean `expect`?
1 error
"#,
    );
}

#[test]
fn an_unknown_key_is_found_in_every_table() {
    check(
        r#"
hosts = 1
[host]
observ = true
actions = { counts = 3 }
local_fault = { shares = "5%" }
[giveover]
cmd = ["a"]
[control]
users = []
[policy.default]
retry = 3
interval = "3s"
[service.web]
exec = ["a"]
check.page = { url = "http://h/", send = "x" }
check.sql = { kind = "tcp", address = "h:1", colour = "red", weights = { conect = 50, exit = 3 } }
"#,
        r#"
giveover.toml:1:1: error: unknown key `hosts`
  1 | hosts = 1
    | ^^^^^ did you mean `host`?
giveover.toml:3:1: error: unknown key `observ` in host
  3 | observ = true
    | ^^^^^^ did you mean `observe`?
giveover.toml:4:13: error: unknown key `counts` in host.actions
  4 | actions = { counts = 3 }
    |             ^^^^^^ did you mean `count`?
giveover.toml:5:17: error: unknown key `shares` in host.local_fault
  5 | local_fault = { shares = "5%" }
    |                 ^^^^^^ did you mean `share`?
giveover.toml:7:1: error: unknown key `cmd` in giveover
  7 | cmd = ["a"]
    | ^^^ did you mean `command`?
giveover.toml:9:1: error: unknown key `users` in control
  9 | users = []
    | ^^^^^ keys here are command
giveover.toml:11:1: error: unknown key `retry` in policy.default
  11 | retry = 3
     | ^^^^^ keys here are like, thorough_probe_interval, probe_timeout, retry_count, retry_interval, start_timeout, stop_timeout, start_grace, restart_delay, failover_mode and combine
giveover.toml:12:1: error: unknown key `interval` in policy.default
  12 | interval = "3s"
     | ^^^^^^^^ did you mean `thorough_probe_interval`?
giveover.toml:14:1: error: unknown key `exec` in service.web
  14 | exec = ["a"]
     | ^^^^ did you mean `start`?
giveover.toml:15:35: error: unknown key `send` in service.web.check.page
  15 | check.page = { url = "http://h/", send = "x" }
     |                                   ^^^^ only checks of kind tcp and udp have it
giveover.toml:16:46: error: unknown key `colour` in service.web.check.sql
  16 | check.sql = { kind = "tcp", address = "h:1", colour = "red", weights = { conect = 50, exit = 3 } }
     |                                              ^^^^^^ keys here are url, kind, address, timeout, weight, weights, every, observe, send and expect
giveover.toml:16:74: error: weights: a tcp check has no phase `conect`
  16 | check.sql = { kind = "tcp", address = "h:1", colour = "red", weights = { conect = 50, exit = 3 } }
     |                                                                          ^^^^^^ did you mean `connect`?
giveover.toml:16:87: error: weights: a tcp check has no phase `exit`
  16 | check.sql = { kind = "tcp", address = "h:1", colour = "red", weights = { conect = 50, exit = 3 } }
     |                                                                                       ^^^^ its phases are resolve, connect, send, read, answer and close
13 errors
"#,
    );
}

#[test]
fn a_known_key_in_capitals_is_recognised() {
    check(
        r#"
[policy.default]
Retry-Count = 2
RETRY_INTERVAL = "600s"
"#,
        r#"
giveover.toml:2:1: error: unknown key `Retry-Count` in policy.default
  2 | Retry-Count = 2
    | ^^^^^^^^^^^ did you mean `retry_count`?
giveover.toml:3:1: error: unknown key `RETRY_INTERVAL` in policy.default
  3 | RETRY_INTERVAL = "600s"
    | ^^^^^^^^^^^^^^ did you mean `retry_interval`?
2 errors
"#,
    );
}

#[test]
fn a_key_given_twice_names_both_places() {
    check(
        r#"
[policy.slow]
retry_count = 1
retry_interval = "1h"
retry_count = 2
[service.web]
unit = "nginx.service"
check.page = "http://h/"
check.page = { url = "tcp://h:1" }
check.site = { url = "http://h/", every = "1h", every = "2h" }
"#,
        r#"
giveover.toml:4:1: error: key `retry_count` is given twice
  4 | retry_count = 2
    | ^^^^^^^^^^^ first given at giveover.toml:2:1
giveover.toml:8:7: error: key `page` is given twice
  8 | check.page = { url = "tcp://h:1" }
    |       ^^^^ first given at giveover.toml:7:7
giveover.toml:9:49: error: key `every` is given twice
  9 | check.site = { url = "http://h/", every = "1h", every = "2h" }
    |                                                 ^^^^^ first given at giveover.toml:9:35
3 errors
"#,
    );
}

#[test]
fn two_services_with_one_name_name_both_places() {
    check(
        r#"
[service.web]
unit = "nginx.service"
check.page = "http://h/"
[service.db]
unit = "db.service"
check.page = "http://i/"
[service.web]
user = "x"
"#,
        r#"
giveover.toml:7:10: error: [service.web] is given twice
  7 | [service.web]
    |          ^^^ first given at giveover.toml:1:10
giveover.toml:8:1: error: `user` means nothing without `start`
  8 | user = "x"
    | ^^^^ the unit has its own
2 errors
"#,
    );
}

#[test]
fn values_of_the_wrong_type_say_what_is_wanted() {
    check(
        r#"
[host]
node = 3
observe = "yes"
trusted = "tcp://h:1"
actions = 20
[service.web]
unit = ["nginx.service"]
needs = "db"
check = "http://h/"
network = 1
env = ["A=1"]
[service.db]
start = "/usr/bin/db --port 5"
env = { PORT = 80, "A=B" = "x" }
forks = 1979-05-27
policy = 3
check.a = 3
check.b = ["/bin/true"]
check.c = true
check.d = false
"#,
        r#"
giveover.toml:2:8: error: node: a text in quotes is wanted, this is a number
  2 | node = 3
    |        ^
giveover.toml:3:11: error: observe: true or false is wanted, this is a text
  3 | observe = "yes"
    |           ^^^^^
giveover.toml:4:11: error: trusted: a list is wanted, this is a text
  4 | trusted = "tcp://h:1"
    |           ^^^^^^^^^^^
giveover.toml:5:11: error: host.actions: a table is wanted, this is a number
  5 | actions = 20
    |           ^^
giveover.toml:7:8: error: unit: a text in quotes is wanted, this is a list
  7 | unit = ["nginx.service"]
    |        ^^^^^^^^^^^^^^^^^
giveover.toml:8:9: error: needs: a list is wanted, this is a text
  8 | needs = "db"
    |         ^^^^
giveover.toml:9:9: error: check: a table is wanted, this is a text
  9 | check = "http://h/"
    |         ^^^^^^^^^^^
giveover.toml:10:11: error: network: true or false is wanted, this is a number
  10 | network = 1
     |           ^
giveover.toml:11:1: error: `env` means nothing without `start`
  11 | env = ["A=1"]
     | ^^^ the unit has its own
giveover.toml:11:7: error: env: a table is wanted, this is a list
  11 | env = ["A=1"]
     |       ^^^^^^^
giveover.toml:13:9: error: start: a list of words is wanted, no shell reads this
  13 | start = "/usr/bin/db --port 5"
     |         ^^^^^^^^^^^^^^^^^^^^^^ ["/usr/bin/db", "--port", "5"]
giveover.toml:14:16: error: PORT: a text in quotes is wanted, this is a number
  14 | env = { PORT = 80, "A=B" = "x" }
     |                ^^
giveover.toml:14:20: error: env: `A=B` is no name of a variable
  14 | env = { PORT = 80, "A=B" = "x" }
     |                    ^^^^^
giveover.toml:15:9: error: forks: true or false is wanted, this is a date
  15 | forks = 1979-05-27
     |         ^^^^^^^^^^
giveover.toml:16:10: error: policy: the name of a policy, or a table of limits, is wanted, this is a number
  16 | policy = 3
     |          ^
giveover.toml:17:11: error: check.a: a target or a table is wanted, this is a number
  17 | check.a = 3
     |           ^ "KIND://HOST:PORT" or { url = "KIND://HOST:PORT" }
giveover.toml:18:11: error: check.b: a target or a table is wanted, this is a list
  18 | check.b = ["/bin/true"]
     |           ^^^^^^^^^^^^^ a command is { command = ["/path/to/program"] }
giveover.toml:19:11: error: check.c: a target or a table is wanted, this is true or false
  19 | check.c = true
     |           ^^^^ "KIND://HOST:PORT" or { url = "KIND://HOST:PORT" }
giveover.toml:20:7: error: check.d = false: there is no preset's check to drop
  20 | check.d = false
     |       ^
19 errors
"#,
    );
}

#[test]
fn what_is_missing_is_said_where_it_belongs() {
    check(
        r#"
[service.web]
[service.db]
unit = "db.service"
check.a = {}
check.b = { kind = "command" }
check.c = "http"
check.d = "tcp://db"
check.e = { kind = "tcp", address = "db" }
"#,
        r#"
giveover.toml:1:1: error: service.web: there is nothing to watch
  1 | [service.web]
    | ^^^^^^^^^^^^^ give it `unit` or `start`, or at least a check
giveover.toml:4:7: error: check.a does not say what is asked
  4 | check.a = {}
    |       ^ give it `url`, or `kind` with `address`, or `command`
giveover.toml:5:7: error: check.b: what to run is not said
  5 | check.b = { kind = "command" }
    |       ^ argv = ["/path/to/program"]
giveover.toml:6:11: error: check.c: whom to ask is not said
  6 | check.c = "http"
    |           ^^^^^^ http://HOST:PORT, or `address` in service.db
giveover.toml:7:11: error: check.d: the port is missing
  7 | check.d = "tcp://db"
    |           ^^^^^^^^^^ tcp has no usual port: HOST:PORT
giveover.toml:8:37: error: check.e: the port is missing
  8 | check.e = { kind = "tcp", address = "db" }
    |                                     ^^^^ tcp has no usual port: HOST:PORT
6 errors
"#,
    );
}

#[test]
fn names_are_of_few_characters() {
    check(
        r#"
[policy."a b"]
retry_count = 1
[service."a/b"]
unit = "a.service"
check."ü" = "http://h/"
[service.""]
unit = "a.service"
check.page = "http://h/"
[service.aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaa]
unit = "a.service"
check.page = "http://h/"
"#,
        r#"
giveover.toml:1:9: error: `a b` cannot name a policy
  1 | [policy."a b"]
    |         ^^^^^ names are 1 to 64 of A-Z a-z 0-9 _ - . @ :
giveover.toml:3:10: error: `a/b` cannot name a service
  3 | [service."a/b"]
    |          ^^^^^ names are 1 to 64 of A-Z a-z 0-9 _ - . @ :
giveover.toml:5:7: error: `ü` cannot name a check
  5 | check."ü" = "http://h/"
    |       ^^^ names are 1 to 64 of A-Z a-z 0-9 _ - . @ :
giveover.toml:6:10: error: the service's name is empty
  6 | [service.""]
    |          ^^ names are 1 to 64 of A-Z a-z 0-9 _ - . @ :
giveover.toml:9:10: error: a service's name of 65 characters is too long
  9 | [service.aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaa]
    |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ names are 1 to 64 of A-Z a-z 0-9 _ - . @ :
5 errors
"#,
    );
}

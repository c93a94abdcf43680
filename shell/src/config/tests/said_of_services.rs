//! Services: what runs them, what they need, where they go.

use super::check;

#[test]
fn a_unit_and_a_start_are_one_too_many() {
    check(
        r#"
[service.web]
unit = "nginx.service"
start = ["/usr/sbin/nginx"]
check.page = "http://h/"
"#,
        r#"
giveover.toml:3:9: error: service.web: both `unit` and `start`
  3 | start = ["/usr/sbin/nginx"]
    |         ^^^^^^^^^^^^^^^^^^^ one of them runs it: leave the other out
1 error
"#,
    );
}

#[test]
fn what_belongs_to_start_means_nothing_without() {
    check(
        r#"
[service.web]
unit = "nginx.service"
user = "www-data"
stop = "TERM"
check.page = "http://h/"
[service.db]
dir = "/"
allow = ["watched-only"]
check.page = "http://i/"
"#,
        r#"
giveover.toml:3:1: error: `user` means nothing without `start`
  3 | user = "www-data"
    | ^^^^ the unit has its own
giveover.toml:4:1: error: `stop` means nothing without `start`
  4 | stop = "TERM"
    | ^^^^ the unit has its own
giveover.toml:7:1: error: `dir` means nothing without `start`
  7 | dir = "/"
    | ^^^ nothing is started
3 errors
"#,
    );
}

#[test]
fn units_have_a_suffix_and_no_odd_characters() {
    check(
        r#"
[service.a]
unit = "nginx"
[service.b]
unit = "foo@.service"
[service.c]
unit = "a b.service"
[service.d]
unit = ".service"
[service.e]
unit = ""
"#,
        r#"
giveover.toml:2:8: error: unit: a unit's name ends in .service, .socket, .target, .mount, .timer, .path or .scope
  2 | unit = "nginx"
    |        ^^^^^^^ "nginx.service"
giveover.toml:4:8: error: unit: a template runs only with an instance, as in name@ONE.service
  4 | unit = "foo@.service"
    |        ^^^^^^^^^^^^^^
giveover.toml:6:8: error: unit: that is no name of a unit
  6 | unit = "a b.service"
    |        ^^^^^^^^^^^^^
giveover.toml:8:8: error: unit: the name is missing
  8 | unit = ".service"
    |        ^^^^^^^^^^
giveover.toml:10:8: error: unit: must not be empty
  10 | unit = ""
     |        ^^
5 errors
"#,
    );
}

#[test]
fn stops_are_signals_or_commands() {
    check(
        r#"
[service.a]
start = ["a"]
stop = "TRM"
[service.b]
start = ["a"]
stop = 65
dir = "tmp"
[service.c]
start = ["a"]
stop = true
user = ""
"#,
        r#"
giveover.toml:3:8: error: stop: must be a command, or a signal
  3 | stop = "TRM"
    |        ^^^^^ as in ["/path/to/program"], "TERM" or 15
giveover.toml:6:8: error: stop: must be a command, or a signal
  6 | stop = 65
    |        ^^ as in ["/path/to/program"], "TERM" or 15
giveover.toml:7:7: error: dir: must be an absolute path
  7 | dir = "tmp"
    |       ^^^^^
giveover.toml:10:8: error: stop: must be a command, or a signal
  10 | stop = true
     |        ^^^^ as in ["/path/to/program"], "TERM" or 15
giveover.toml:11:8: error: user: must not be empty
  11 | user = ""
     |        ^^
5 errors
"#,
    );
}

/// Another signal in their place would be worse than none.
#[test]
fn real_time_signals_are_refused() {
    check(
        r#"
[service.a]
start = ["a"]
stop = 34
[service.b]
start = ["a"]
stop = "SIGRTMIN+3"
[service.c]
start = ["a"]
stop = 31
"#,
        r#"
giveover.toml:3:8: error: stop: real-time signals cannot be sent
  3 | stop = 34
    |        ^^ another signal, or a command that sends it
giveover.toml:6:8: error: stop: real-time signals cannot be sent
  6 | stop = "SIGRTMIN+3"
    |        ^^^^^^^^^^^^ another signal, or a command that sends it
2 errors
"#,
    );
}

#[test]
fn needs_in_a_circle_name_the_circle() {
    check(
        r#"
[service.a]
unit = "a.service"
needs = ["b"]
check.x = "http://h/a"
[service.b]
unit = "b.service"
needs = ["c", "c"]
check.x = "http://h/b"
[service.c]
unit = "c.service"
needs = ["a"]
check.x = "http://h/c"
[service.d]
unit = "d.service"
needs = ["d", "bb"]
check.x = "http://h/d"
"#,
        r#"
giveover.toml:3:10: error: needs: a circle: a -> b -> c -> a
  3 | needs = ["b"]
    |          ^^^ none of them could ever be acted on
giveover.toml:7:15: error: needs: `c` is named twice
  7 | needs = ["c", "c"]
    |               ^^^
giveover.toml:15:10: error: needs: a circle: d -> d
  15 | needs = ["d", "bb"]
     |          ^^^ none of them could ever be acted on
giveover.toml:15:15: error: needs: no service is called `bb`
  15 | needs = ["d", "bb"]
     |               ^^^^ did you mean `b`?
4 errors
"#,
    );
}

#[test]
fn destinations_must_be_there() {
    check(
        r#"
[service.a]
unit = "a.service"
giveover = "command"
check.x = "http://h/a"
[service.b]
unit = "a.service"
giveover = "node"
check.x = "http://h/b"
[service.c]
unit = "a.service"
giveover = "board"
check.x = "http://h/c"
[service.d]
unit = "a.service"
giveover = "nobody"
check.x = "http://h/d"
[service.e]
unit = "a.service"
giveover = "comand"
check.x = "http://h/e"
[giveover]
may = ["/bin/true"]
"#,
        r#"
giveover.toml:3:12: error: giveover: there is no command to hand it over with
  3 | giveover = "command"
    |            ^^^^^^^^^ [giveover] needs `command`
giveover.toml:7:12: error: giveover: it is in no group, and only groups move
  7 | giveover = "node"
    |            ^^^^^^ [group.NAME] needs services = ["b"]
giveover.toml:11:12: error: giveover: there is no board to reset this host
  11 | giveover = "board"
     |            ^^^^^^^ [board] needs `port` and `key`
giveover.toml:15:12: error: giveover: must be "node", "command", "board" or "none"
  15 | giveover = "nobody"
     |            ^^^^^^^^
giveover.toml:19:12: error: giveover: must be "node", "command", "board" or "none"
  19 | giveover = "comand"
     |            ^^^^^^^^ did you mean `command`?
giveover.toml:22:1: error: may: nothing is ever handed over without `command`
  22 | may = ["/bin/true"]
     | ^^^
6 errors
"#,
    );
}

#[test]
fn a_cluster_without_a_key_and_rows_without_a_database_are_told_at_once() {
    check(
        r#"
[cluster]
quorum = "majority"
[node.a]
address = "10.0.0.1"
[node.b]
address = "10.0.0.2"
[group.front]
services = ["db"]
[[service.db.error]]
match = "x"
[[service.db.error]]
match = "y"
[service.db]
unit = "db.service"
check.x = "http://h/"
"#,
        r#"
giveover.toml:1:1: error: cluster: needs `key`
  1 | [cluster]
    | ^^^^^^^^^ key = "/etc/giveover/keys/cluster.key"
giveover.toml:9:14: error: service.db.error: rows of errors belong to checks of databases
  9 | [[service.db.error]]
    |              ^^^^^ there is no check of kind postgres or oracle
2 errors
"#,
    );
}

#[test]
fn warnings_that_are_allowed_must_exist() {
    check(
        r#"
[service.a]
unit = "a.service"
allow = ["tcp-onyl", "tcp-only", "everything"]
check.x = "tcp://h:1"
"#,
        r#"
giveover.toml:3:10: error: allow: no warning is called `tcp-onyl`
  3 | allow = ["tcp-onyl", "tcp-only", "everything"]
    |          ^^^^^^^^^^ did you mean `tcp-only`?
giveover.toml:3:34: error: allow: no warning is called `everything`
  3 | allow = ["tcp-onyl", "tcp-only", "everything"]
    |                                  ^^^^^^^^^^^^ there are part-never-acts, giveover-by-death-only, worst-case-too-long, watched-only, no-checks, check-cannot-act, tcp-only, shared-address, no-address, unit-restarts-itself, two-holders and stick-counts-on
2 errors
"#,
    );
}

#[test]
fn presets_must_exist() {
    check(
        r#"
[service.a]
unit = "a.service"
preset = "xfnt"
[service.b]
unit = "a.service"
preset = "../etc/passwd"
[service.c]
unit = "c.service"
preset = 3
"#,
        r#"
giveover.toml:3:10: error: preset: none is called `xfnt`
  3 | preset = "xfnt"
    |          ^^^^^^ did you mean `xfnts`?
giveover.toml:6:10: error: preset: none is called `../etc/passwd`
  6 | preset = "../etc/passwd"
    |          ^^^^^^^^^^^^^^^ there are apache, bind, directory, dovecot, haproxy, inn2, iplanet, listener, mosquitto, named, nfs-daemons, nfs-mountd, nfs-nfsd, nfs-rpcbind, nfs-shares, nfs-statd, nginx, oracle, postfix, postgres, redis, slapd, vsftpd and xfnts
giveover.toml:9:10: error: preset: a text in quotes is wanted, this is a number
  9 | preset = 3
    |          ^
3 errors
"#,
    );
}

#[test]
fn trusted_servers_are_somewhere_else() {
    check(
        r#"
[host]
trusted = ["ping://10.0.0.254", "tcp://10.0.0.53", "process", "tcp://10.0.0.53:53"]
[control]
command = ["deploy", "@ops", "@", "a b"]
"#,
        r#"
giveover.toml:2:33: error: trusted: the port is missing
  2 | trusted = ["ping://10.0.0.254", "tcp://10.0.0.53", "process", "tcp://10.0.0.53:53"]
    |                                 ^^^^^^^^^^^^^^^^^ tcp has no usual port: HOST:PORT
giveover.toml:2:52: error: trusted: a process check says nothing of our network
  2 | trusted = ["ping://10.0.0.254", "tcp://10.0.0.53", "process", "tcp://10.0.0.53:53"]
    |                                                    ^^^^^^^^^ ping://HOST, tcp://HOST:PORT or http://HOST/
giveover.toml:4:30: error: command: a user, or a group as "@group"
  4 | command = ["deploy", "@ops", "@", "a b"]
    |                              ^^^
giveover.toml:4:35: error: command: a user, or a group as "@group"
  4 | command = ["deploy", "@ops", "@", "a b"]
    |                                   ^^^^^
4 errors
"#,
    );
}

#[test]
fn one_wrong_check_hides_no_other_error() {
    check(
        r#"
[service.web]
validate = ["/bin/true"]
ladder = ["prot"]
check.port = "tcp://h"
check.page = { url = "http://h/", cap = 5 }
needs = ["db"]
policy = "fast"
"#,
        r#"
giveover.toml:2:1: error: `validate` means nothing without `unit` or `start`
  2 | validate = ["/bin/true"]
    | ^^^^^^^^ nothing is ever stopped
giveover.toml:3:11: error: ladder: no check is called `prot`
  3 | ladder = ["prot"]
    |           ^^^^^^ did you mean `port`?
giveover.toml:4:14: error: check.port: the port is missing
  4 | check.port = "tcp://h"
    |              ^^^^^^^^^ tcp has no usual port: HOST:PORT
giveover.toml:5:41: error: cap: a size needs a unit: "5B"
  5 | check.page = { url = "http://h/", cap = 5 }
    |                                         ^
giveover.toml:6:10: error: needs: no service is called `db`
  6 | needs = ["db"]
    |          ^^^^
giveover.toml:7:10: error: policy: no policy is called `fast`
  7 | policy = "fast"
    |          ^^^^^^
6 errors
"#,
    );
}

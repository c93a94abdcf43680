//! Checks: targets, kinds, keys of kinds, commands.

use super::check;

#[test]
fn targets_that_cannot_be_parsed_say_why() {
    check(
        r#"
[service.web]
unit = "nginx.service"
check.a = "127.0.0.1:80"
check.b = "htp://127.0.0.1"
check.c = "http://300.1.2.3/"
check.d = "http://h:99999/"
check.e = "tcp://::1:80"
check.f = "tcp://h:80/x"
check.g = "http://user@h/"
check.h = "http:///x"
check.i = "http://h/a b"
check.j = "http://$NODE/"
check.k = "ready"
"#,
        r#"
giveover.toml:3:11: error: check.a: `127.0.0.1:80` does not say what kind of check it is
  3 | check.a = "127.0.0.1:80"
    |           ^^^^^^^^^^^^^^ KIND://HOST:PORT; kinds are tcp, http, apache, command, path, process, xfnts, smtp, pop3, imap, ftp, nntp, telnet, ldap, redis, mqtt, postgres, dns, rpc, udp, ping, https, ftps, smtps, pop3s, imaps, nntps, telnets, ldaps, iiops, tls, oracle, listener, iplanet, directory, agent, log, remote and systemd
giveover.toml:4:11: error: check.b: no kind of check is called `htp`
  4 | check.b = "htp://127.0.0.1"
    |           ^^^^^^^^^^^^^^^^^ did you mean `http`?
giveover.toml:5:11: error: check.c: `300.1.2.3` is no IPv4 address
  5 | check.c = "http://300.1.2.3/"
    |           ^^^^^^^^^^^^^^^^^^^ as in 192.0.2.1
giveover.toml:6:11: error: check.d: `99999` is no port: 1 to 65535
  6 | check.d = "http://h:99999/"
    |           ^^^^^^^^^^^^^^^^^
giveover.toml:7:11: error: check.e: an IPv6 address stands in brackets
  7 | check.e = "tcp://::1:80"
    |           ^^^^^^^^^^^^^^ as in [2001:db8::1]:80
giveover.toml:8:11: error: check.f: a tcp target has no path
  8 | check.f = "tcp://h:80/x"
    |           ^^^^^^^^^^^^^^ tcp://h:80
giveover.toml:9:11: error: check.g: an http target has no user
  9 | check.g = "http://user@h/"
    |           ^^^^^^^^^^^^^^^^ leave it out
giveover.toml:10:11: error: check.h: the host is missing
  10 | check.h = "http:///x"
     |           ^^^^^^^^^^^ KIND://HOST:PORT
giveover.toml:11:11: error: check.i: a path has neither blanks nor characters outside ASCII
  11 | check.i = "http://h/a b"
     |           ^^^^^^^^^^^^^^ write ' ' as %20
giveover.toml:12:11: error: check.j: `$NODE` stands for members of groups and pools
  12 | check.j = "http://$NODE/"
     |           ^^^^^^^^^^^^^^^ these are not in this version: write the host
giveover.toml:13:11: error: check.k: no kind of check is called `ready`
  13 | check.k = "ready"
     |           ^^^^^^^ kinds are tcp, http, apache, command, path, process, xfnts, smtp, pop3, imap, ftp, nntp, telnet, ldap, redis, mqtt, postgres, dns, rpc, udp, ping, https, ftps, smtps, pop3s, imaps, nntps, telnets, ldaps, iiops, tls, oracle, listener, iplanet, directory, agent, log, remote and systemd
11 errors
"#,
    );
}

#[test]
fn keys_and_kinds_must_go_together() {
    check(
        r#"
[service.web]
unit = "nginx.service"
check.a = { url = "http://h/", kind = "http" }
check.b = { url = "http://h/x", path = "/y" }
check.c = { url = "http://h/", method = "HEAD", body = "ok" }
check.d = { command = ["a"], argv = ["a"] }
check.e = { command = ["a"], address = "h:1" }
check.f = { kind = "process", weight = 50, every = "1h" }
check.g = { command = ["a"], weights = { connect = 50 } }
check.h = "command:///bin/true"
check.i = { url = "tcp://h:1", timeout = "11s", every = "29s" }
check.j = { kind = "http", address = "h", path = "x" }
"#,
        r#"
giveover.toml:3:32: error: kind: `url` says it already
  3 | check.a = { url = "http://h/", kind = "http" }
    |                                ^^^^ leave one of them out
giveover.toml:4:33: error: path: the URL has one already
  4 | check.b = { url = "http://h/x", path = "/y" }
    |                                 ^^^^ leave one of them out
giveover.toml:5:56: error: body: the answer to a HEAD request has none
  5 | check.c = { url = "http://h/", method = "HEAD", body = "ok" }
    |                                                        ^^^^ method = "GET" asks for it
giveover.toml:6:30: error: argv: `command` says it already
  6 | check.d = { command = ["a"], argv = ["a"] }
    |                              ^^^^ leave one of them out
giveover.toml:7:30: error: `address` means nothing to a command check
  7 | check.e = { command = ["a"], address = "h:1" }
    |                              ^^^^^^^ a command knows itself whom it asks
giveover.toml:8:31: error: `weight` means nothing to a process check
  8 | check.f = { kind = "process", weight = 50, every = "1h" }
    |                               ^^^^^^ its end is a complete failure
giveover.toml:8:44: error: `every` means nothing to a process check
  8 | check.f = { kind = "process", weight = 50, every = "1h" }
    |                                            ^^^^^ its end is heard at once
giveover.toml:9:42: error: weights: a command check has no phase `connect`
  9 | check.g = { command = ["a"], weights = { connect = 50 } }
    |                                          ^^^^^^^ its phases are exit
giveover.toml:10:11: error: check.h: a command is no URL
  10 | check.h = "command:///bin/true"
     |           ^^^^^^^^^^^^^^^^^^^^^ { command = ["/bin/true"] }
giveover.toml:11:42: error: timeout: must be within probe_timeout
  11 | check.i = { url = "tcp://h:1", timeout = "11s", every = "29s" }
     |                                          ^^^^^ probe_timeout is "10s"
giveover.toml:11:57: error: every: no check can be probed oftener than each cycle
  11 | check.i = { url = "tcp://h:1", timeout = "11s", every = "29s" }
     |                                                         ^^^^^ thorough_probe_interval is "30s"
giveover.toml:12:50: error: path: must begin with a slash
  12 | check.j = { kind = "http", address = "h", path = "x" }
     |                                                  ^^^
12 errors
"#,
    );
}

#[test]
fn a_process_check_needs_a_process() {
    check(
        r#"
[service.web]
allow = ["watched-only"]
check.a = "process"
"#,
        r#"
giveover.toml:3:11: error: check.a: there is no process to watch
  3 | check.a = "process"
    |           ^^^^^^^^^ the service needs `unit` or `start`
1 error
"#,
    );
}

#[test]
fn commands_are_lists_of_words_with_known_names() {
    check(
        r#"
[service.web]
start = ["/bin/x", "$HOME", "$SERVCE", "a$", "$$ok $SERVICE"]
validate = []
stop = ["", "x"]
check.a = { command = "/bin/x -f y" }
check.b = { command = ["a\u0000b"] }
check.c = { command = [3] }
"#,
        r#"
giveover.toml:2:20: error: start: `$HOME` is not known
  2 | start = ["/bin/x", "$HOME", "$SERVCE", "a$", "$$ok $SERVICE"]
    |                    ^^^^^^^ known are $SERVICE $CHECK $NODE $MEMBER $FROM $TO $ADDRESS $REASON $TOKEN
giveover.toml:2:29: error: start: `$SERVCE` is not known
  2 | start = ["/bin/x", "$HOME", "$SERVCE", "a$", "$$ok $SERVICE"]
    |                             ^^^^^^^^^ did you mean `$SERVICE`? a dollar that is meant is written `$$`
giveover.toml:2:40: error: start: a dollar that is meant is written `$$`
  2 | start = ["/bin/x", "$HOME", "$SERVCE", "a$", "$$ok $SERVICE"]
    |                                        ^^^^
giveover.toml:3:12: error: validate: needs at least a program
  3 | validate = []
    |            ^^
giveover.toml:4:8: error: stop: the program's name is empty
  4 | stop = ["", "x"]
    |        ^^^^^^^^^
giveover.toml:5:23: error: command: a list of words is wanted, no shell reads this
  5 | check.a = { command = "/bin/x -f y" }
    |                       ^^^^^^^^^^^^^ ["/bin/x", "-f", "y"]
giveover.toml:6:24: error: command: holds a NUL character, which no program can be given
  6 | check.b = { command = ["a\u0000b"] }
    |                        ^^^^^^^^^^
giveover.toml:7:24: error: command: a text in quotes is wanted, this is a number
  7 | check.c = { command = [3] }
    |                        ^
8 errors
"#,
    );
}

#[test]
fn exits_are_statuses_with_a_meaning() {
    check(
        r#"
[service.web]
unit = "a.service"
check.a = { command = ["a"], exit = "wieght" }
check.b = { command = ["a"], exit = { 256 = 50, x = 1, 1 = 101, 2 = "fine", 3 = true } }
"#,
        r#"
giveover.toml:3:37: error: exit: must be "weight", "plugin", or a table
  3 | check.a = { command = ["a"], exit = "wieght" }
    |                                     ^^^^^^^^ as in { 1 = 50, 75 = "unmeasured" }
giveover.toml:4:39: error: exit: `256` is no exit status: 0 to 255
  4 | check.b = { command = ["a"], exit = { 256 = 50, x = 1, 1 = 101, 2 = "fine", 3 = true } }
    |                                       ^^^
giveover.toml:4:49: error: exit: `x` is no exit status: 0 to 255
  4 | check.b = { command = ["a"], exit = { 256 = 50, x = 1, 1 = 101, 2 = "fine", 3 = true } }
    |                                                 ^
giveover.toml:4:60: error: exit: must be 1 to 100
  4 | check.b = { command = ["a"], exit = { 256 = 50, x = 1, 1 = 101, 2 = "fine", 3 = true } }
    |                                                            ^^^
giveover.toml:4:69: error: exit: must be a weight, "ok", "immediate" or "unmeasured"
  4 | check.b = { command = ["a"], exit = { 256 = 50, x = 1, 1 = 101, 2 = "fine", 3 = true } }
    |                                                                     ^^^^^^
giveover.toml:4:81: error: exit: a whole number is wanted, this is true or false
  4 | check.b = { command = ["a"], exit = { 256 = 50, x = 1, 1 = 101, 2 = "fine", 3 = true } }
    |                                                                                 ^^^^
6 errors
"#,
    );
}

#[test]
fn ladders_name_checks() {
    check(
        r#"
[service.web]
unit = "a.service"
check.port = "tcp://h:1"
check.page = "http://h/"
ladder = ["prot", "page", "page"]
"#,
        r#"
giveover.toml:5:11: error: ladder: no check is called `prot`
  5 | ladder = ["prot", "page", "page"]
    |           ^^^^^^ did you mean `port`?
giveover.toml:5:27: error: ladder: `page` is named twice
  5 | ladder = ["prot", "page", "page"]
    |                           ^^^^^^
2 errors
"#,
    );
}

#[test]
fn addresses_and_ports_are_parsed_each() {
    check(
        r#"
[service.web]
unit = "a.service"
address = ["h:1", "h:x", "[::1"]
check.a = "tcp"
[service.b]
unit = "a.service"
network_resources_used = ["10.0.0.1:80"]
port_list = [0, "80/udp", "7100/tcp"]
check.a = "tcp"
[service.c]
unit = "a.service"
address = "h"
network_resources_used = ["i"]
check.a = "tcp"
"#,
        r#"
giveover.toml:3:19: error: address: `x` is no port: 1 to 65535
  3 | address = ["h:1", "h:x", "[::1"]
    |                   ^^^^^
giveover.toml:3:26: error: address: an IPv6 address is not closed
  3 | address = ["h:1", "h:x", "[::1"]
    |                          ^^^^^^ `]` is missing
giveover.toml:7:27: error: network_resources_used: `10.0.0.1:80` is no name of a host
  7 | network_resources_used = ["10.0.0.1:80"]
    |                           ^^^^^^^^^^^^^
giveover.toml:8:14: error: port_list: must be 1 to 65535
  8 | port_list = [0, "80/udp", "7100/tcp"]
    |              ^
giveover.toml:8:17: error: port_list: `80/udp` is no port: 1 to 65535
  8 | port_list = [0, "80/udp", "7100/tcp"]
    |                 ^^^^^^^^
giveover.toml:13:26: error: network_resources_used: `address` says it already
  13 | network_resources_used = ["i"]
     |                          ^^^^^ leave one of them out
6 errors
"#,
    );
}

#[test]
fn an_exit_that_is_the_weight_leaves_no_other() {
    check(
        r#"
[service.web]
unit = "a.service"
check.a = { command = ["a"], exit = "plugin", weight = 50 }
"#,
        r#"
giveover.toml:3:47: error: `weight` means nothing beside this `exit`
  3 | check.a = { command = ["a"], exit = "plugin", weight = 50 }
    |                                               ^^^^^^ the command's exit says what it weighs
1 error
"#,
    );
}

#[test]
fn what_the_protocols_do_not_have_is_said() {
    check(
        r#"
[service.s]
unit = "s.service"
check.a = { url = "smtp://h", ehol = "x" }
check.b = { url = "smtp://h", ehlo = "a b" }
check.c = { url = "pop3://h", expect = 200 }
check.d = { url = "redis://h", expect = ["NOAUHT"] }
check.e = { url = "mqtt://h", expect = [6] }
check.f = { url = "postgres://me@h/d", user = "you", expect = ["5330"] }
check.g = { url = "ldap://h", expect = [] }
check.h = "smpt://h"
check.i = "ldap://h/dc=a/x"
check.j = "postgres://u:secret@h"
check.k = { url = "imap://h", weights = { close = 50 } }
check.l = { url = "dns://h", name = "a..b", type = "AAAAA", expect = "NXDOMAN" }
check.m = { url = "dns://h/a b", transport = "tls" }
check.n = "udp://h"
check.o = { url = "udp://h:1", send = "", expect = "", weights = { read = 50 } }
"#,
        r#"
giveover.toml:3:31: error: unknown key `ehol` in service.s.check.a
  3 | check.a = { url = "smtp://h", ehol = "x" }
    |                               ^^^^ did you mean `ehlo`?
giveover.toml:4:38: error: ehlo: a host's name or [ADDRESS] is wanted
  4 | check.b = { url = "smtp://h", ehlo = "a b" }
    |                                      ^^^^^
giveover.toml:5:31: error: unknown key `expect` in service.s.check.c
  5 | check.c = { url = "pop3://h", expect = 200 }
    |                               ^^^^^^ only checks of kind tcp, http, smtp, ftp, nntp, ldap, redis, mqtt, postgres, dns, udp, https, ftps, smtps, nntps, ldaps, remote and systemd have it
giveover.toml:6:42: error: expect: no answer is called `NOAUHT`
  6 | check.d = { url = "redis://h", expect = ["NOAUHT"] }
    |                                          ^^^^^^^^ did you mean `NOAUTH`?
giveover.toml:7:41: error: expect: must be 0 to 5
  7 | check.e = { url = "mqtt://h", expect = [6] }
    |                                         ^
giveover.toml:8:40: error: user: the URL has one already
  8 | check.f = { url = "postgres://me@h/d", user = "you", expect = ["5330"] }
    |                                        ^^^^ leave one of them out
giveover.toml:8:64: error: expect: an SQLSTATE is five digits or capitals
  8 | check.f = { url = "postgres://me@h/d", user = "you", expect = ["5330"] }
    |                                                                ^^^^^^ as in "53300"
giveover.toml:9:40: error: expect: an empty list expects nothing
  9 | check.g = { url = "ldap://h", expect = [] }
    |                                        ^^
giveover.toml:10:11: error: check.h: no kind of check is called `smpt`
  10 | check.h = "smpt://h"
     |           ^^^^^^^^^^ did you mean `smtp`?
giveover.toml:11:11: error: check.i: an ldap target has a plain name for its path
  11 | check.i = "ldap://h/dc=a/x"
     |           ^^^^^^^^^^^^^^^^^ write it as `base` of the check
giveover.toml:12:11: error: check.j: a password has no place in a target
  12 | check.j = "postgres://u:secret@h"
     |           ^^^^^^^^^^^^^^^^^^^^^^^ leave it out
giveover.toml:13:43: error: weights: an imap check has no phase `close`
  13 | check.k = { url = "imap://h", weights = { close = 50 } }
     |                                           ^^^^^ its phases are resolve, connect, tls, expiry, send, read and answer
giveover.toml:14:37: error: name: `a..b` is no name of a domain
  14 | check.l = { url = "dns://h", name = "a..b", type = "AAAAA", expect = "NXDOMAN" }
     |                                     ^^^^^^ labels of 1 to 63 characters, 255 in all
giveover.toml:14:52: error: type: nothing is called `AAAAA`
  14 | check.l = { url = "dns://h", name = "a..b", type = "AAAAA", expect = "NXDOMAN" }
     |                                                    ^^^^^^^ did you mean `AAAA`?
giveover.toml:14:70: error: expect: nothing is called `NXDOMAN`
  14 | check.l = { url = "dns://h", name = "a..b", type = "AAAAA", expect = "NXDOMAN" }
     |                                                                      ^^^^^^^^^ did you mean `NXDOMAIN`?
giveover.toml:15:19: error: name: `a b` is no name of a domain
  15 | check.m = { url = "dns://h/a b", transport = "tls" }
     |                   ^^^^^^^^^^^^^ labels of 1 to 63 characters, 255 in all
giveover.toml:15:46: error: transport: must be "udp" or "tcp"
  15 | check.m = { url = "dns://h/a b", transport = "tls" }
     |                                              ^^^^^
giveover.toml:16:11: error: check.n: the port is missing
  16 | check.n = "udp://h"
     |           ^^^^^^^^^ udp has no usual port: HOST:PORT
giveover.toml:17:39: error: send: must not be empty
  17 | check.o = { url = "udp://h:1", send = "", expect = "", weights = { read = 50 } }
     |                                       ^^
giveover.toml:17:52: error: expect: must not be empty
  17 | check.o = { url = "udp://h:1", send = "", expect = "", weights = { read = 50 } }
     |                                                    ^^
giveover.toml:17:68: error: weights: a udp check has no phase `read`
  17 | check.o = { url = "udp://h:1", send = "", expect = "", weights = { read = 50 } }
     |                                                                    ^^^^ its phases are resolve, connect, send and answer
21 errors
"#,
    );
}

#[test]
fn a_path_is_of_this_host_and_said_once() {
    check(
        r#"
[service.s]
check.a = "path"
check.b = "path://h/x"
check.c = { url = "path:///x", path = "/y" }
check.d = { kind = "path", path = "x", address = "h", age = 5, free = "0%" }
"#,
        r#"
giveover.toml:2:11: error: check.a: which path is not said
  2 | check.a = "path"
    |           ^^^^^^ path = "/srv/data"
giveover.toml:3:11: error: check.b: a path is of this host
  3 | check.b = "path://h/x"
    |           ^^^^^^^^^^^^ path:///srv/data
giveover.toml:4:32: error: path: the URL has one already
  4 | check.c = { url = "path:///x", path = "/y" }
    |                                ^^^^ leave one of them out
giveover.toml:5:35: error: path: must be an absolute path
  5 | check.d = { kind = "path", path = "x", address = "h", age = 5, free = "0%" }
    |                                   ^^^
giveover.toml:5:40: error: `address` means nothing to a path check
  5 | check.d = { kind = "path", path = "x", address = "h", age = 5, free = "0%" }
    |                                        ^^^^^^^ a path is of this host
giveover.toml:5:61: error: age: a duration needs a unit: "5s"
  5 | check.d = { kind = "path", path = "x", address = "h", age = 5, free = "0%" }
    |                                                             ^
giveover.toml:5:71: error: free: must not be zero
  5 | check.d = { kind = "path", path = "x", address = "h", age = 5, free = "0%" }
    |                                                                       ^^^^
7 errors
"#,
    );
}

#[test]
fn a_program_of_rpc_is_known_or_a_number() {
    check(
        r#"
[service.s]
check.a = { url = "rpc://h", program = "nfs", version = -1, transport = "tls" }
"#,
        r#"
giveover.toml:2:40: error: program: no program is known as `nfs`
  2 | check.a = { url = "rpc://h", program = "nfs", version = -1, transport = "tls" }
    |                                        ^^^^^ a number, or one of rpcbind, nfsd, mountd, lockd and statd
giveover.toml:2:57: error: version: must be 0 to 4294967295
  2 | check.a = { url = "rpc://h", program = "nfs", version = -1, transport = "tls" }
    |                                                         ^^
giveover.toml:2:73: error: transport: must be "udp" or "tcp"
  2 | check.a = { url = "rpc://h", program = "nfs", version = -1, transport = "tls" }
    |                                                                         ^^^^^
3 errors
"#,
    );
}

/// What answers above L3 is behind a transparent device, and a ping has no port.
#[test]
fn a_transparent_device_may_only_be_pinged_and_a_ping_has_no_port() {
    // req 3.5
    check(
        r#"
[service.bridge]
transparent = true
address = "10.0.0.1:80"
check.a = "ping"
check.b = "tcp"
[service.web]
check.c = "ping://10.0.0.1:80"
check.d = { kind = "ping", address = "10.0.0.1:80" }
"#,
        r#"
giveover.toml:5:11: error: check.b: a tcp check asks whoever is behind it
  5 | check.b = "tcp"
    |           ^^^^^ transparent = true: only `ping` asks the device
giveover.toml:7:11: error: check.c: a ping target has no port
  7 | check.c = "ping://10.0.0.1:80"
    |           ^^^^^^^^^^^^^^^^^^^^ ping://10.0.0.1
giveover.toml:8:38: error: address: a ping has no port
  8 | check.d = { kind = "ping", address = "10.0.0.1:80" }
    |                                      ^^^^^^^^^^^^^ leave it out
3 errors
"#,
    );
}

//! Checks that look at this host, hear heartbeats or ask another daemon: `agent log process remote
//! systemd`.

use super::check;

#[test]
fn what_a_look_at_this_host_needs_is_said() {
    check(
        r#"
[service.s]
unit = "s.service"
check.a = "log:///var/log/a.log"
check.b = { url = "log:///var/log/a.log", pattern = "(" }
check.c = { kind = "log", pattern = [], line = "8B" }
check.d = "log://host/a.log"
check.e = { kind = "process", name = "/usr/sbin/rpc.mountd" }
check.f = { kind = "path", list = "/etc/exports", age = "1h" }
check.g = { url = "systemd://nginx" }
check.h = { kind = "systemd", timeout = "1s" }
check.i = { url = "systemd://a.service", expect = "activ" }
check.j = { url = "log:///x", pattern = "x", address = "h" }
"#,
        r#"
giveover.toml:3:11: error: check.a: what to look for is not said
  3 | check.a = "log:///var/log/a.log"
    |           ^^^^^^^^^^^^^^^^^^^^^^ pattern = "ERROR|PANIC"
giveover.toml:4:53: error: pattern: this is no pattern: found open group without closing ')'
  4 | check.b = { url = "log:///var/log/a.log", pattern = "(" }
    |                                                     ^^^ backslashes need '…', or two of each
giveover.toml:5:7: error: check.c: which log is not said
  5 | check.c = { kind = "log", pattern = [], line = "8B" }
    |       ^ path = "/var/log/app.log"
giveover.toml:5:37: error: pattern: takes 1 to 64 patterns
  5 | check.c = { kind = "log", pattern = [], line = "8B" }
    |                                     ^^
giveover.toml:5:48: error: line: must be 64 to 1048576 bytes
  5 | check.c = { kind = "log", pattern = [], line = "8B" }
    |                                                ^^^^
giveover.toml:6:11: error: check.d: a log is of this host
  6 | check.d = "log://host/a.log"
    |           ^^^^^^^^^^^^^^^^^^ log:///var/log/app.log
giveover.toml:7:38: error: name: a process is known by the name of its program, without its path
  7 | check.e = { kind = "process", name = "/usr/sbin/rpc.mountd" }
    |                                      ^^^^^^^^^^^^^^^^^^^^^^ "rpc.mountd"
giveover.toml:8:51: error: `age` means nothing beside `list`
  8 | check.f = { kind = "path", list = "/etc/exports", age = "1h" }
    |                                                   ^^^ every path of the list is looked at
giveover.toml:9:19: error: check.g: a unit's name ends in .service, .socket, .target, .mount, .timer, .path or .scope
  9 | check.g = { url = "systemd://nginx" }
    |                   ^^^^^^^^^^^^^^^^^ "nginx.service"
giveover.toml:10:7: error: check.h: which unit is not said
  10 | check.h = { kind = "systemd", timeout = "1s" }
     |       ^ unit = "nginx.service"
giveover.toml:10:31: error: `timeout` means nothing to a systemd check
  10 | check.h = { kind = "systemd", timeout = "1s" }
     |                               ^^^^^^^ systemd has ten seconds to answer, and no answer counts nothing
giveover.toml:11:51: error: expect: no state of a unit is called `activ`
  11 | check.i = { url = "systemd://a.service", expect = "activ" }
     |                                                   ^^^^^^^ did you mean `active`?
giveover.toml:12:46: error: `address` means nothing to a log check
  12 | check.j = { url = "log:///x", pattern = "x", address = "h" }
     |                                              ^^^^^^^ a log is of this host
13 errors
"#,
    );
}

#[test]
fn what_an_agent_needs_is_said() {
    check(
        r#"
[service.s]
unit = "s.service"
check.a = "agent://10.0.0.1"
check.b = "agent://host/web"
check.c = { kind = "agent", address = ["10.0.0.1", "10.0.0.2"], name = "web" }
check.d = { url = "agent://10.0.0.1/web", name = "web", count = 0 }
check.e = { url = "agent://10.0.0.1/web", transport = "unix", socket = "/run/a" }
check.f = { kind = "agent", transport = "unix", name = "web" }
check.g = { url = "agent://10.0.0.1/web", socket = "/run/a" }
check.h = { url = "agent://10.0.0.1/web", skew = "5s", key = "a/b" }
check.i = { url = "agent://10.0.0.1/web", units = ["a b"], timeout = "1s" }
check.j = { url = "agent://10.0.0.1/web", weights = { read = 1 } }
"#,
        r#"
giveover.toml:3:11: error: check.a: the agent's name is not said
  3 | check.a = "agent://10.0.0.1"
    |           ^^^^^^^^^^^^^^^^^^ agent://ADDRESS:PORT/NAME
giveover.toml:4:11: error: check.b: `host` is no address of this host
  4 | check.b = "agent://host/web"
    |           ^^^^^^^^^^^^^^^^^^ where we hear, as in 0.0.0.0 or [::]
giveover.toml:5:39: error: check.c: an agent is heard at one address
  5 | check.c = { kind = "agent", address = ["10.0.0.1", "10.0.0.2"], name = "web" }
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^ 0.0.0.0 and [::] are all of them
giveover.toml:6:43: error: name: the URL has one already
  6 | check.d = { url = "agent://10.0.0.1/web", name = "web", count = 0 }
    |                                           ^^^^ leave one of them out
giveover.toml:6:65: error: count: must be 1 to 1000
  6 | check.d = { url = "agent://10.0.0.1/web", name = "web", count = 0 }
    |                                                                 ^
giveover.toml:7:13: error: url: heartbeats on a UNIX socket come to no address
  7 | check.e = { url = "agent://10.0.0.1/web", transport = "unix", socket = "/run/a" }
    |             ^^^ kind = "agent", with `socket` and `name`
giveover.toml:8:7: error: check.f: which socket is not said
  8 | check.f = { kind = "agent", transport = "unix", name = "web" }
    |       ^ socket = "/run/giveover/agent.sock"
giveover.toml:9:43: error: socket: only `transport = "unix"` has one
  9 | check.g = { url = "agent://10.0.0.1/web", socket = "/run/a" }
    |                                           ^^^^^^
giveover.toml:10:62: error: key: must be an absolute path, or the bare name of a credential
  10 | check.h = { url = "agent://10.0.0.1/web", skew = "5s", key = "a/b" }
     |                                                              ^^^^^
giveover.toml:11:52: error: units: `a b` is no name
  11 | check.i = { url = "agent://10.0.0.1/web", units = ["a b"], timeout = "1s" }
     |                                                    ^^^^^ names are 1 to 64 of A-Z a-z 0-9 _ - . @ :
giveover.toml:11:60: error: `timeout` means nothing to an agent check
  11 | check.i = { url = "agent://10.0.0.1/web", units = ["a b"], timeout = "1s" }
     |                                                            ^^^^^^^ what is waited for is `interval` and `count`
giveover.toml:12:55: error: weights: an agent check has no phase `read`
  12 | check.j = { url = "agent://10.0.0.1/web", weights = { read = 1 } }
     |                                                       ^^^^ its phases are connect and answer
12 errors
"#,
    );
}

#[test]
fn what_asking_another_daemon_needs_is_said() {
    check(
        r#"
[service.s]
unit = "s.service"
check.a = "remote://10.0.0.1/web"
check.b = "remote://10.0.0.1:9709"
check.c = { url = "remote://10.0.0.1:9709/web", service = "db", socket = "/run/s" }
check.d = { kind = "remote", socket = "run/s", service = "w b" }
check.e = { kind = "remote", socket = "/run/s", service = "web", expect = ["okay"] }
"#,
        r#"
giveover.toml:3:11: error: check.a: the port is missing
  3 | check.a = "remote://10.0.0.1/web"
    |           ^^^^^^^^^^^^^^^^^^^^^^^ remote has no usual port: HOST:PORT
giveover.toml:4:11: error: check.b: which of its services is not said
  4 | check.b = "remote://10.0.0.1:9709"
    |           ^^^^^^^^^^^^^^^^^^^^^^^^ remote://HOST:PORT/SERVICE
giveover.toml:5:49: error: service: the URL has one already
  5 | check.c = { url = "remote://10.0.0.1:9709/web", service = "db", socket = "/run/s" }
    |                                                 ^^^^^^^ leave one of them out
giveover.toml:5:74: error: socket: an address says already whom to ask
  5 | check.c = { url = "remote://10.0.0.1:9709/web", service = "db", socket = "/run/s" }
    |                                                                          ^^^^^^^^ leave one of them out
giveover.toml:6:39: error: socket: must be an absolute path
  6 | check.d = { kind = "remote", socket = "run/s", service = "w b" }
    |                                       ^^^^^^^
giveover.toml:6:58: error: service: `w b` is no name
  6 | check.d = { kind = "remote", socket = "run/s", service = "w b" }
    |                                                          ^^^^^ names are 1 to 64 of A-Z a-z 0-9 _ - . @ :
giveover.toml:7:76: error: expect: must be "ok", "degraded", "faulted", "offline" or "unknown"
  7 | check.e = { kind = "remote", socket = "/run/s", service = "web", expect = ["okay"] }
    |                                                                            ^^^^^^
7 errors
"#,
    );
}

#[test]
fn what_is_right_is_taken() {
    let text = r#"
[service.s]
unit = "s.service"
check.a = { url = "agent://[::]:1/web-1", units = ["db"], key = "agent.key", skew = "5s" }
check.b = { kind = "agent", transport = "unix", socket = "/run/a", name = "web", count = 5 }
check.c = { url = "log:///var/log/a $1.log", pattern = ["ERROR", 'a\s'], ignore = "x" }
check.d = { kind = "process", name = "rpc.mountd", weight = 50, every = "1h" }
check.e = { kind = "path", list = "/etc/exports" }
check.f = "systemd://a@b.service"
check.g = { kind = "systemd", unit = "a.mount", expect = "inactive" }
check.h = "remote://10.0.0.1:9709/web"
check.i = { kind = "remote", socket = "/run/s", service = "web", expect = "ok" }
"#;
    let loaded = super::super::load_str("giveover.toml", text).expect("a configuration");
    let service = &loaded.plan.services[0];
    let words: Vec<&str> = service.checks.iter().map(|check| check.kind.word()).collect();
    let expected =
        ["agent", "agent", "log", "process", "path", "systemd", "systemd", "remote", "remote"];
    assert_eq!(words, expected);
    let bytes = super::super::pack::pack(&loaded.plan).expect("bytes");
    let again = super::super::pack::unpack(&bytes).expect("the same");
    assert_eq!(again.services[0].checks, service.checks);
}

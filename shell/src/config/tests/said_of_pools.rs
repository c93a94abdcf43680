//! What is said of `[pool.NAME]`.

use std::path::Path;

use giveover_core::pool::{Busy, Fall, Settings};
use giveover_core::time::Span;

use super::{check, plan_of};
use crate::config::plan::{FallbackPlan, Host, Instead, Kind, NftPlan, Target};

/// The interface's fourth file.
const FILE: &str = r#"
[pool.web]
check.port = "tcp"
check.page = "http://$MEMBER/health"
ladder     = ["port", "page"]
interval   = "2s"
rise       = 2
fall       = 3
agent      = "127.0.0.1:9707"
none_left  = { page = "/etc/giveover/sorry.html", retry_after = "30s", listen = "127.0.0.1:8081" }

[pool.web.member]
a = "10.0.0.11:80"
b = "10.0.0.12:80"
c = { address = "10.0.0.13:80", backup = true }
"#;

#[test]
fn the_interfaces_pool_is_read_with_its_defaults() {
    let plan = plan_of(FILE);
    let [pool] = &plan.pools[..] else { panic!("one pool") };
    assert_eq!(&*pool.name, "web");
    assert_eq!(pool.ladder, [0, 1]);
    let expected = Settings { min_members: 0, fallback: true, ..Settings::DEFAULT };
    assert_eq!(pool.settings, expected);
    assert_eq!(pool.agent, "127.0.0.1:9707".parse().ok());
    let fallback = FallbackPlan {
        listen: "127.0.0.1:8081".parse().expect("an address"),
        instead: Instead::Page("/etc/giveover/sorry.html".into()),
        retry_after: Some(Span::from_secs(30)),
    };
    assert_eq!(pool.none_left, Some(fallback));
    let backups: Vec<bool> = pool.members.iter().map(|member| member.backup).collect();
    assert_eq!(backups, [false, false, true]);
    let member = &pool.members[1];
    let own = Target { host: Host::Address([10, 0, 0, 12].into()), port: 80 };
    assert_eq!(member.target, own);
    for one in &member.checks {
        assert_eq!(one.targets[..], *std::slice::from_ref(&own));
        assert_eq!(one.timeout, Span::from_secs(1));
    }
    let Kind::Http(page) = &member.checks[1].kind else { panic!("a page") };
    assert_eq!((&*page.path, &*page.host), ("/health", "10.0.0.12"));
}

#[test]
fn every_key_is_taken() {
    let plan = plan_of(
        r#"
[host]
trusted = ["tcp://192.0.2.1:53"]
[pool.cache]
check.ping = { kind = "redis", timeout = "500ms" }
check.host = "ping://$MEMBER"
check.own  = { command = ["/bin/look", "$MEMBER", "$ADDRESS"], observe = true }
interval = "1s"
probe_timeout = "900ms"
rise = 3
fall = { count = 3, of = 5 }
min_members = 2
heartbeat = "6s"
busy = { from = "80%", until = "50%" }
haproxy = { socket = "/run/haproxy/admin.sock" }
nft = { table = "inet giveover", map = "cache", slots = 32, set = "cache_in", cut = "cache_cut" }
ipvs = "192.0.2.10:6379"
command = ["/bin/tell", "$SERVICE", "$MEMBER", "$TO", "$REASON"]
none_left = { reset = true, listen = "[::1]:6380" }
placement = "inline"
any_service_fails = "member"
cut = true
member.a = "[2001:db8::1]:6379"
member.b = { address = "[2001:db8::2]:6379", weight = 3 }
"#,
    );
    let [pool] = &plan.pools[..] else { panic!("one pool") };
    let settings = Settings {
        interval: Span::from_secs(1),
        rise: 3,
        fall: Fall { count: 3, of: 5 },
        min_members: 2,
        busy: Some(Busy { from: 80, until: 50 }),
        // (6 + 10) × 3
        silence: Some(Span::from_secs(48)),
        agent_required: false,
        fallback: true,
        cut: true,
        trusted: true,
    };
    assert_eq!(pool.settings, settings);
    assert!(pool.whole_server && !pool.parallel);
    let haproxy = pool.haproxy.as_ref().expect("a socket");
    assert_eq!(haproxy.socket, Path::new("/run/haproxy/admin.sock"));
    assert_eq!(haproxy.backend, "cache");
    let nft = NftPlan {
        family: "inet".into(),
        table: "giveover".into(),
        map: Some("cache".into()),
        slots: 32,
        set: Some("cache_in".into()),
        cut: Some("cache_cut".into()),
    };
    assert_eq!(pool.nft, Some(nft));
    assert_eq!(pool.members[1].weight, 3);
    assert_eq!(pool.members[0].authority(), "[2001:db8::1]:6379");
    // A host is pinged, not a port of it.
    assert_eq!(pool.members[0].checks[1].targets[0].port, 0);
    let again = crate::config::pack::pack(&plan);
    let again = again.as_deref().and_then(crate::config::pack::unpack).expect("its bytes");
    assert_eq!(again.pools, plan.pools);
}

/// Beside the traffic nothing can be answered or reset: refused at load, with the reason.
// req 3.46
#[test]
fn what_needs_the_traffic_is_refused_beside_it() {
    check(
        r#"
[pool.web]
check.port = "tcp"
agent = "127.0.0.1:9707"
placement = "parallel"
none_left = { redirect = "http://sorry.example.org/", listen = "127.0.0.1:8081" }
cut = true
member.a = "10.0.0.11:80"
[pool.fine]
check.port = "tcp"
agent = "127.0.0.1:9707"
placement = "parallel"
cut = false
member.a = "10.0.0.11:80"
"#,
        r#"
giveover.toml:5:1: error: none_left: beside the traffic (placement = "parallel") nothing can be answered
  5 | none_left = { redirect = "http://sorry.example.org/", listen = "127.0.0.1:8081" }
    | ^^^^^^^^^ replies pass this host by; placement = "inline"
giveover.toml:6:1: error: cut: beside the traffic (placement = "parallel") nothing can be reset
  6 | cut = true
    | ^^^ replies pass this host by; placement = "inline"
2 errors
"#,
    );
}

/// Who speaks TLS can be given neither page nor redirect.
// req 3.43
#[test]
fn a_page_is_not_for_tls() {
    let text = |more: &str| {
        format!(
            "[pool.web]\ncheck.page = \"https://$MEMBER/\"\nagent = \"127.0.0.1:9707\"\n\
             none_left = {{ {more}listen = \"127.0.0.1:8081\" }}\nmember.a = \"10.0.0.11:443\"\n"
        )
    };
    check(
        &text("redirect = \"http://sorry.example.org/\", "),
        r#"
giveover.toml:4:13: error: none_left: members speak TLS (check.page); it is served by plain HTTP
  4 | none_left = { redirect = "http://sorry.example.org/", listen = "127.0.0.1:8081" }
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ reset = true; or plain = true where the balancer ends TLS
1 error
"#,
    );
    assert_eq!(plan_of(&text("reset = true, ")).pools.len(), 1);
    let plain = text("redirect = \"http://sorry.example.org/\", plain = true, ");
    assert_eq!(plan_of(&plain).pools.len(), 1);
}

#[test]
fn what_is_missing_is_said() {
    check(
        r#"
[pool.web]
[pool.db]
member.a = "10.0.0.11"
member.b = { backup = true }
member.c = 5
haproxy = {}
nft = {}
none_left = {}
"#,
        r#"
giveover.toml:1:1: error: pool.web: has no members
  1 | [pool.web]
    | ^^^^^^^^^^ member.NAME = "HOST:PORT"
giveover.toml:1:1: error: pool.web: nothing looks at its members
  1 | [pool.web]
    | ^^^^^^^^^^ check.port = "tcp"
giveover.toml:1:1: error: pool.web: nobody is told who is in
  1 | [pool.web]
    | ^^^^^^^^^^ it needs one of agent, haproxy, nft, ipvs and command
giveover.toml:2:1: error: pool.db: nothing looks at its members
  2 | [pool.db]
    | ^^^^^^^^^ check.port = "tcp"
giveover.toml:3:12: error: a: a member needs its port
  3 | member.a = "10.0.0.11"
    |            ^^^^^^^^^^^ HOST:PORT
giveover.toml:4:8: error: pool.db.member.b: where is it?
  4 | member.b = { backup = true }
    |        ^ address = "HOST:PORT"
giveover.toml:5:12: error: c: "HOST:PORT" or a table is wanted, this is a number
  5 | member.c = 5
    |            ^
giveover.toml:6:11: error: haproxy: needs `socket`
  6 | haproxy = {}
    |           ^^ socket = "/run/haproxy/admin.sock"
giveover.toml:7:7: error: nft: needs `table`
  7 | nft = {}
    |       ^^ table = "inet giveover"
giveover.toml:7:7: error: nft: needs `map`, `set` or `cut`
  7 | nft = {}
    |       ^^ what of the table follows the members
giveover.toml:8:13: error: none_left: needs `listen`
  8 | none_left = {}
    |             ^^ listen = "127.0.0.1:8081"
giveover.toml:8:13: error: none_left: needs one of page, redirect and reset
  8 | none_left = {}
    |             ^^ redirect = "http://sorry.example.org/"
12 errors
"#,
    );
}

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    check(
        r#"
[pool.web]
check.port = "tcp"
check.page = "http://$MEMBR/"
check.font = "xfnts"
ladder = ["prt", "port", "port"]
interval = 2
rise = 0
fall = { count = 6, of = 5 }
busy = { from = "60%", until = "80%" }
agent = "localhost"
haproxy = { socket = "run/haproxy.sock", backend = "a b" }
nft = { table = "bridge x", map = "1x", cut = "y" }
none_left = { page = "/a", redirect = "sorry.html", listen = "127.0.0.1" }
placement = "beside"
any_service_fails = "all"
member.a = "10.0.0.11:80"
member.b = "10.0.0.12:80"
"#,
        r#"
giveover.toml:3:14: error: check.page: `$MEMBR` stands for members of groups and pools
  3 | check.page = "http://$MEMBR/"
    |              ^^^^^^^^^^^^^^^^ these are not in this version: write the host
giveover.toml:4:14: error: check.font: members have no `xfnts` checks
  4 | check.font = "xfnts"
    |              ^^^^^^^ a tcp check, or a command
giveover.toml:5:11: error: ladder: no check is called `prt`
  5 | ladder = ["prt", "port", "port"]
    |           ^^^^^ did you mean `port`?
giveover.toml:5:26: error: ladder: `port` is named twice
  5 | ladder = ["prt", "port", "port"]
    |                          ^^^^^^
giveover.toml:6:12: error: interval: a duration needs a unit: "2s"
  6 | interval = 2
    |            ^
giveover.toml:7:8: error: rise: must be 1 to 16
  7 | rise = 0
    |        ^
giveover.toml:10:9: error: agent: must be ADDRESS:PORT
  10 | agent = "localhost"
     |         ^^^^^^^^^^^ as in "127.0.0.1:9707"
giveover.toml:11:22: error: socket: must be an absolute path
  11 | haproxy = { socket = "run/haproxy.sock", backend = "a b" }
     |                      ^^^^^^^^^^^^^^^^^^
giveover.toml:11:52: error: backend: that cannot name a backend
  11 | haproxy = { socket = "run/haproxy.sock", backend = "a b" }
     |                                                    ^^^^^
giveover.toml:12:17: error: table: must be a family and a name
  12 | nft = { table = "bridge x", map = "1x", cut = "y" }
     |                 ^^^^^^^^^^ as in "inet giveover"; families are ip, ip6 and inet
giveover.toml:12:35: error: map: nftables has no such names
  12 | nft = { table = "bridge x", map = "1x", cut = "y" }
     |                                   ^^^^ a letter, then letters, digits and _
giveover.toml:12:41: error: cut: the pool does not cut connections
  12 | nft = { table = "bridge x", map = "1x", cut = "y" }
     |                                         ^^^ cut = true in the pool
giveover.toml:13:13: error: none_left: needs one of page, redirect and reset
  13 | none_left = { page = "/a", redirect = "sorry.html", listen = "127.0.0.1" }
     |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ redirect = "http://sorry.example.org/"
giveover.toml:13:39: error: redirect: must be a whole URL
  13 | none_left = { page = "/a", redirect = "sorry.html", listen = "127.0.0.1" }
     |                                       ^^^^^^^^^^^^ as in "http://sorry.example.org/"
giveover.toml:13:62: error: listen: must be ADDRESS:PORT
  13 | none_left = { page = "/a", redirect = "sorry.html", listen = "127.0.0.1" }
     |                                                              ^^^^^^^^^^^ as in "127.0.0.1:9707"
giveover.toml:14:13: error: placement: must be "inline" or "parallel"
  14 | placement = "beside"
     |             ^^^^^^^^
giveover.toml:15:21: error: any_service_fails: must be "service" or "member"
  15 | any_service_fails = "all"
     |                     ^^^^^
17 errors
"#,
    );
}

#[test]
fn what_the_values_are_together_is_judged() {
    check(
        r#"
[pool.web]
check.port = "tcp"
agent = "127.0.0.1:9707"
fall = { count = 6, of = 5 }
member.a = "10.0.0.11:80"
[pool.many]
check.port = "tcp"
agent = "127.0.0.1:9707"
min_members = 2
member.a = "10.0.0.11:80"
[pool.backups]
check.port = "tcp"
agent = "127.0.0.1:9707"
member.a = { address = "10.0.0.11:80", backup = true }
[pool.round]
check.port = "tcp"
agent = "127.0.0.1:9707"
none_left = { redirect = "http://127.0.0.1:8081/", listen = "127.0.0.1:8081" }
member.a = "10.0.0.11:80"
[pool.names]
check.port = "tcp"
ipvs = "192.0.2.1:80"
member.a = "www.example.org:80"
[pool.mixed]
check.port = "tcp"
ipvs = "192.0.2.1:80"
member.a = "10.0.0.11:80"
member.b = "[2001:db8::1]:80"
[pool.first]
check.port = "tcp"
agent = "127.0.0.1:9707"
none_left = { reset = true, listen = "127.0.0.1:9707" }
member.a = "10.0.0.11:80"
"#,
        r#"
giveover.toml:4:8: error: fall: must be 1 to 16, and `count` at most `of`
  4 | fall = { count = 6, of = 5 }
    |        ^^^^^^^^^^^^^^^^^^^^^
giveover.toml:9:15: error: min_members: there are only 1
  9 | min_members = 2
    |               ^ at most 1
giveover.toml:14:1: error: pool.backups: every member is a backup
  14 | member.a = { address = "10.0.0.11:80", backup = true }
     | ^^^^^^ of nobody
giveover.toml:18:26: error: redirect: that is where we listen: clients would go round for ever
  18 | none_left = { redirect = "http://127.0.0.1:8081/", listen = "127.0.0.1:8081" }
     |                          ^^^^^^^^^^^^^^^^^^^^^^^^ another server's URL
giveover.toml:23:1: error: ipvs: member a is a name, and the kernel knows addresses
  23 | member.a = "www.example.org:80"
     | ^^^^^^ write its address
giveover.toml:27:1: error: pool.mixed: IPv4 and IPv6 do not go into one set
  27 | member.a = "10.0.0.11:80"
     | ^^^^^^ make two pools of it
giveover.toml:32:38: error: listen: agent checks of pool.first are answered there
  32 | none_left = { reset = true, listen = "127.0.0.1:9707" }
     |                                      ^^^^^^^^^^^^^^^^
7 errors
"#,
    );
}

/// Agents are heard, each under its member's name, and say how often themselves.
#[test]
fn a_check_that_hears_agents_is_a_layer_of_its_own() {
    let plan = plan_of(
        r#"
[pool.web]
check.port = "tcp"
check.beat = { url = "agent://0.0.0.0/$MEMBER", interval = "4s", count = 2, full = 8 }
agent = "127.0.0.1:9707"
agent_required = true
member.a = "10.0.0.11:80"
member.b = "10.0.0.12:80"
"#,
    );
    let [pool] = &plan.pools[..] else { panic!("one pool") };
    // (4 + 10) × 2
    assert_eq!(pool.settings.silence, Some(Span::from_secs(28)));
    assert!(pool.settings.agent_required);
    let names: Vec<_> = pool.members.iter().filter_map(|it| it.agent()).collect();
    assert_eq!(
        names.iter().map(|(at, it)| (*at, &*it.name)).collect::<Vec<_>>(),
        [(1, "a"), (1, "b")]
    );
    assert_eq!((names[0].1.percent(400), names[0].1.percent(900)), (50, 100));
    check(
        r#"
[pool.web]
check.beat = { url = "agent://0.0.0.0/web", observe = false }
check.more = "agent://0.0.0.0/$MEMBER"
ladder = ["beat"]
heartbeat = "6s"
agent = "127.0.0.1:9707"
member.a = "10.0.0.11:80"
member.b = "10.0.0.12:80"
[pool.mail]
check.port = "tcp"
agent = "127.0.0.1:9707"
agent_required = true
member.a = "10.0.0.11:25"
"#,
        r#"
giveover.toml:2:7: error: check.beat: all members would have the same agent
  2 | check.beat = { url = "agent://0.0.0.0/web", observe = false }
    |       ^^^^ agent://ADDRESS:PORT/$MEMBER
giveover.toml:3:7: error: check.more: a member has one agent
  3 | check.more = "agent://0.0.0.0/$MEMBER"
    |       ^^^^ it reports several work units
giveover.toml:4:10: error: ladder: `beat` is heard, not asked
  4 | ladder = ["beat"]
    |          ^^^^^^^^ an agent takes its member out by itself
giveover.toml:5:1: error: heartbeat: the agent check says how often they come
  5 | heartbeat = "6s"
    | ^^^^^^^^^ leave it out; `interval` in the check
giveover.toml:12:1: error: agent_required: nobody says how often agents report
  12 | agent_required = true
     | ^^^^^^^^^^^^^^ `heartbeat`, or a check of kind agent
5 errors
"#,
    );
}

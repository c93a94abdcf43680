//! Pools behind Debian's HAProxy, under a bounded load: members killed, frozen, drained and revived,
//! HAProxy itself restarted, the monitor restarted, and nobody left.

use std::fs;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

use giveover_tests::pools::{Haproxy, Load, connect, get, named_nginx, ports, post, read};
use giveover_tests::server::{Server, is_root};
use giveover_tests::servers::redis;
use giveover_tests::{Daemon, PATIENCE, wait_for};

/// How often HAProxy asks.
const AGENT_INTER: Duration = Duration::from_millis(200);

/// What a busy machine may add to it.
const SLACK: Duration = Duration::from_secs(2);

/// Two nginx members behind HAProxy, which asks us.
struct Web {
    daemon: Daemon,
    haproxy: Haproxy,
    members: [Option<Server>; 2],
    ports: [u16; 2],
}

impl Web {
    /// `more` is added to the pool's table.
    fn start(more: &str) -> Self {
        let [front, agent, page] = ports();
        let a = Server::start(named_nginx("a"));
        let b = Server::start(named_nginx("b"));
        let members = [a.port, b.port];
        let [one, two] = members;
        let daemon = Daemon::start(&format!(
            "[pool.web]\n\
             check.port = \"tcp\"\n\
             check.page = \"http://$MEMBER/\"\n\
             ladder = [\"port\", \"page\"]\n\
             interval = \"200ms\"\n\
             probe_timeout = \"400ms\"\n\
             agent = \"127.0.0.1:{agent}\"\n\
             none_left = {{ {more} listen = \"127.0.0.1:{page}\" }}\n\
             member.a = \"127.0.0.1:{one}\"\n\
             member.b = \"127.0.0.1:{two}\"\n"
        ));
        let inter = AGENT_INTER.as_millis();
        let haproxy = Haproxy::start(
            front,
            &format!(
                "  mode http\n\
                 frontend web\n  bind 127.0.0.1:{front}\n  default_backend web\n\
                 backend web\n\
                 \x20 default-server weight 100 agent-check agent-addr 127.0.0.1 agent-port {agent} agent-inter {inter}ms\n\
                 \x20 server a 127.0.0.1:{one} agent-send \"web/a\\n\"\n\
                 \x20 server b 127.0.0.1:{two} agent-send \"web/b\\n\"\n\
                 \x20 server sorry 127.0.0.1:{page} backup no-agent-check\n"
            ),
        );
        let web = Self { daemon, haproxy, members: [Some(a), Some(b)], ports: members };
        for name in ["a", "b"] {
            web.daemon.wait_member("web", name, "in");
            web.haproxy.wait_status("web", name, "UP");
        }
        web
    }

    /// Shows that nothing went to `member` later than HAProxy could know of its exclusion, once it
    /// was told `said`.
    fn nothing_late(&self, load: &Load, member: &str, said: &str) {
        let told = self.daemon.logged(said).unwrap_or_else(|| panic!("{said} was not told"));
        load.wait_for_more(60);
        let served = load.served();
        let last = served.iter().rev().find(|it| it.body == member && it.status == 200);
        let late = last.and_then(|it| it.asked.duration_since(told).ok()).unwrap_or_default();
        println!("last request to {member}: {late:?} after it was told {said}");
        assert!(late <= AGENT_INTER + SLACK, "a request went to {member} {late:?} after {said}");
        self.nothing_is_sent(load, member);
    }

    /// Shows that HAProxy, which has heard of the exclusion, sends `member` nothing at all, not even
    /// what is never answered: its own count of sessions stands still while others get a hundred.
    /// Requests that it had sent there before it tries there again, three times, a second apart.
    fn nothing_is_sent(&self, load: &Load, member: &str) {
        wait_for(&format!("no sessions of {member}"), || {
            let (status, before) = self.haproxy.sessions_of("web", member)?;
            assert!(!status.starts_with("UP"), "{member} is {status}");
            load.wait_for_more(100);
            let (_, after) = self.haproxy.sessions_of("web", member)?;
            (after == before).then_some(())
        });
    }
}

/// req 3.1 3.2 3.3 3.9 3.12
#[test]
fn a_member_that_is_killed_frozen_or_drained_gets_no_new_work_and_comes_back() {
    let mut web = Web::start("reset = true,");
    let load = Load::start(web.haproxy.port());
    load.wait_for_more(20);
    assert_eq!(load.last(20), ["a", "b"], "both work");

    // Frozen: the kernel still takes connections for it, and only an answer tells.
    let frozen = web.members[0].as_ref().expect("a");
    frozen.freeze();
    let out = web.daemon.wait_member("web", "a", "out");
    assert!(out["why"].as_str().is_some_and(|why| why.contains("no answer")), "{out}");
    web.haproxy.wait_status("web", "a", "DOWN (agent)");
    load.wait_for_more(40);
    assert_eq!(load.last(20), ["b"]);
    web.nothing_is_sent(&load, "a");
    frozen.thaw();
    web.haproxy.wait_status("web", "a", "UP");
    load.wait_for_more(20);
    assert_eq!(load.last(20), ["a", "b"], "and it works again");

    // Drained: it is well, and gets nothing.
    web.daemon.tell(&["pool", "drain", "web", "b", "--for", "1h", "--reason", "upgrade"]);
    web.haproxy.wait_status("web", "b", "DRAIN");
    let log = web.daemon.log_text();
    let said = log.lines().rev().find(|line| line.contains("web/b: drained by")).expect("told");
    let said = said.split_once("NOTICE ").expect("a notice").1.to_owned();
    web.nothing_late(&load, "b", &said);
    web.daemon.tell(&["pool", "enable", "web", "b"]);
    web.haproxy.wait_status("web", "b", "UP");

    // Killed, and started again where it was.
    let port = web.ports[0];
    let dead = web.members[0].take().expect("a");
    drop(dead);
    web.daemon.wait_member("web", "a", "out");
    web.haproxy.wait_status("web", "a", "DOWN (agent)");
    load.wait_for_more(40);
    assert_eq!(load.last(20), ["b"]);
    web.nothing_is_sent(&load, "a");
    web.members[0] = Some(Server::start_at(port, named_nginx("a")));
    web.haproxy.wait_status("web", "a", "UP");
    load.wait_for_more(20);
    assert_eq!(load.last(20), ["a", "b"]);
}

/// HAProxy has it as our interface shows it, reason and all.
#[test]
fn the_reason_is_shown_in_haproxys_own_statistics() {
    let web = Web::start("reset = true,");
    web.members[0].as_ref().expect("a").freeze();
    web.haproxy.wait_status("web", "a", "DOWN (agent)");
    wait_for("the reason", || {
        let log = web.haproxy.log();
        log.contains("via agent : down (page no answer in 0.4s)").then_some(())
    });
}

/// req 3.35 3.37 3.38 3.39
#[test]
fn with_all_down_redirect_and_page_arrive_complete_a_thousand_times() {
    let page = "<!doctype html><title>sorry</title><p>We shall be back.";
    let dir = tempfile::tempdir().expect("a place");
    let file = dir.path().join("sorry.html");
    fs::write(&file, page).expect("a page");
    let page_key = format!("page = \"{}\", retry_after = \"30s\",", file.display());
    let redirect_key = "redirect = \"http://sorry.example.org/\",";
    for (key, status) in [(page_key.as_str(), 503), (redirect_key, 302)] {
        let mut web = Web::start(key);
        for member in &mut web.members {
            member.take().expect("a member").stop();
        }
        for name in ["a", "b"] {
            web.haproxy.wait_status("web", name, "DOWN (agent)");
        }
        let front = web.haproxy.port();
        for request in 0..1000 {
            let answer = get(front, "/a?b", PATIENCE).unwrap_or_else(|error| {
                panic!("request {request} of 1000: {error}\n{}", web.daemon.log_text())
            });
            assert_eq!(answer.status, status, "request {request}");
            assert_eq!(answer.field("cache-control"), Some("no-store"));
            if status == 503 {
                assert_eq!(
                    (answer.text().as_str(), answer.field("retry-after")),
                    (page, Some("30"))
                );
            } else {
                assert_eq!(answer.field("location"), Some("http://sorry.example.org/"));
            }
        }
        // 10 MB that nobody wants, through HAProxy and past it.
        let direct = page_port(&web.daemon);
        for port in [front, direct] {
            for _ in 0..20 {
                let answer = post(port, 10_000_000, PATIENCE).expect("a whole answer");
                assert_eq!(answer.status, status);
                assert_eq!(answer.body.is_empty(), status == 302);
            }
        }
        keeps_the_connection(direct, status);
        // One is back, and so is everybody.
        let port = web.ports[0];
        web.members[0] = Some(Server::start_at(port, named_nginx("a")));
        web.haproxy.wait_status("web", "a", "UP");
        assert_eq!(get(front, "/", PATIENCE).expect("an answer").text(), "a");
    }
}

/// Where the daemon serves the page, from its configuration.
fn page_port(daemon: &Daemon) -> u16 {
    let text = fs::read_to_string(daemon.config()).expect("its configuration");
    let (_, rest) = text.split_once("listen = \"127.0.0.1:").expect("a place");
    rest.split('"').next().and_then(|port| port.parse().ok()).expect("a port")
}

/// GET, HEAD and GET again on one connection.
fn keeps_the_connection(port: u16, status: u16) {
    let mut stream = connect(port, PATIENCE).expect("connected");
    let mut answers = BufReader::new(stream.try_clone().expect("a copy"));
    for (method, is_head) in [("GET", false), ("HEAD", true), ("GET", false)] {
        let request = format!("{method} / HTTP/1.1\r\nHost: test\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("asked");
        let answer = read(&mut answers, is_head).expect("a whole answer");
        assert_eq!(answer.status, status, "{method}");
        assert_eq!(answer.field("connection"), Some("keep-alive"));
    }
}

/// Drains survive the monitor, and what HAProxy forgets when it is restarted it is told again.
#[test]
fn a_drain_survives_a_restart_of_either() {
    let mut web = Web::start("reset = true,");
    web.daemon.tell(&["pool", "drain", "web", "b", "--for", "1h"]);
    web.haproxy.wait_status("web", "b", "DRAIN");
    let load = Load::start(web.haproxy.port());
    load.wait_for_more(20);
    web.haproxy.restart();
    web.haproxy.wait_status("web", "b", "DRAIN");
    web.haproxy.wait_status("web", "a", "UP");
    web.nothing_is_sent(&load, "b");
    assert_eq!(load.last(20), ["a"]);
    drop(load);
    web.daemon.kill();
    assert_eq!(get(web.haproxy.port(), "/", PATIENCE).expect("an answer").text(), "a");
    web.daemon.run();
    let drained = web.daemon.wait_member("web", "b", "drained");
    assert!(
        drained["drained"]["until"].is_string() && drained["drained"]["who"] == "root",
        "{drained}"
    );
    web.haproxy.wait_status("web", "b", "DRAIN");
    // One that ends by itself: in again once its checks have passed.
    web.daemon.tell(&["pool", "drain", "web", "b", "--for", "300ms"]);
    web.haproxy.wait_status("web", "b", "UP");
    assert!(web.daemon.log_text().contains("web/b: drain ended by itself"));
}

/// Three redis members behind HAProxy in `tcp` mode, which is told over its own socket.
struct Cache {
    daemon: Daemon,
    haproxy: Haproxy,
    members: Vec<Server>,
}

impl Cache {
    fn start(cut: bool) -> Self {
        Self::followed_by(cut, None)
    }

    /// HAProxy asks at this port how members are; or else it is told.
    fn followed_by(cut: bool, agent: Option<u16>) -> Self {
        let members: Vec<Server> = (0..3).map(|_| Server::start(redis(&[]))).collect();
        let [front] = ports();
        let line = |(name, server): (&str, &Server)| {
            let asks = agent.map(|port| {
                format!(
                    " agent-check agent-addr 127.0.0.1 agent-port {port} agent-inter 1s \
                     agent-send \"cache/{name}\\n\" weight 100"
                )
            });
            format!("  server {name} 127.0.0.1:{}{}\n", server.port, asks.unwrap_or_default())
        };
        let servers: String = ["a", "b", "c"].into_iter().zip(&members).map(line).collect();
        let haproxy = Haproxy::start(
            front,
            &format!(
                "  mode tcp\nfrontend cache\n  bind 127.0.0.1:{front}\n  default_backend cache\n\
                 backend cache\n{servers}"
            ),
        );
        let line = |(name, server): (&str, &Server)| {
            format!("member.{name} = \"127.0.0.1:{}\"\n", server.port)
        };
        let list: String = ["a", "b", "c"].into_iter().zip(&members).map(line).collect();
        let daemon = Daemon::start(&format!(
            "[pool.cache]\n\
             check.ping = \"redis\"\n\
             interval = \"200ms\"\n\
             probe_timeout = \"300ms\"\n\
             haproxy = {{ socket = \"{}\" }}\n\
             {agent}cut = {cut}\n{list}",
            haproxy.socket().display(),
            agent = agent.map(|port| format!("agent = \"127.0.0.1:{port}\"\n")).unwrap_or_default()
        ));
        for name in ["a", "b", "c"] {
            daemon.wait_member("cache", name, "in");
        }
        Self { daemon, haproxy, members }
    }

    fn client(&self) -> Client {
        Client::new(self.haproxy.port())
    }

    /// A client of each member.
    fn clients(&self) -> Vec<Client> {
        let all: Vec<Client> = (0..6).map(|_| self.client()).collect();
        let of = |server: &Server| all.iter().filter(|it| it.member == server.port).count();
        assert!(self.members.iter().all(|server| of(server) > 0), "HAProxy shares them out");
        all
    }
}

/// A connection that stays.
struct Client {
    stream: TcpStream,
    member: u16,
}

impl Client {
    fn new(port: u16) -> Self {
        let mut client = Self { stream: connect(port, PATIENCE).expect("connected"), member: 0 };
        client.stream.write_all(b"CONFIG GET port\r\n").expect("asked");
        let mut text = String::new();
        while text.matches("\r\n").count() < 5 {
            let mut buffer = [0; 256];
            let count = client.stream.read(&mut buffer).expect("an answer");
            text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        client.member = text.lines().last().and_then(|line| line.parse().ok()).expect("a port");
        client
    }

    fn ping(&mut self) {
        self.stream.write_all(b"PING\r\n").expect("asked");
        let mut buffer = [0; 7];
        self.stream.read_exact(&mut buffer).expect("an answer");
        assert_eq!(&buffer, b"+PONG\r\n");
    }
}

/// Clients of a dead member learn it at once, and nobody else hears of it.
// req 3.40 3.41
#[test]
fn with_the_cut_on_clients_of_a_dead_member_are_reset_within_a_second() {
    if !is_root("what destroys sockets") {
        return;
    }
    let cache = Cache::start(true);
    let clients = cache.clients();
    let dead = cache.members[0].port;
    cache.members[0].freeze();
    let mut of_others = 0;
    for mut client in clients {
        if client.member != dead {
            of_others += 1;
            continue;
        }
        let mut buffer = [0; 1];
        let error = client.stream.read(&mut buffer).expect_err("cut");
        let heard = SystemTime::now();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        let out = cache.daemon.logged("cache/a: out: ping no answer in 0.3s").expect("told");
        let after = heard.duration_since(out).unwrap_or_default();
        println!("reset {after:?} after the exclusion");
        assert!(after < Duration::from_secs(1), "{after:?} after the exclusion");
    }
    assert!(of_others > 0);
    wait_for("the cut to be told", || {
        cache.daemon.log_text().contains("connections cut").then_some(())
    });
    cache.haproxy.wait_status("cache", "a", "MAINT");
    let mut fresh: Vec<Client> = (0..4).map(|_| cache.client()).collect();
    assert!(fresh.iter().all(|client| client.member != dead));
    fresh.iter_mut().for_each(Client::ping);
    cache.members[0].thaw();
    cache.haproxy.wait_status("cache", "a", "UP");
}

/// HAProxy asks once a second, and until it knows sends clients who come again to the dead member
/// again. They are cut as soon as it has heard: nobody is left hanging there.
#[test]
fn who_was_sent_to_a_dead_member_after_the_cut_is_cut_as_well() {
    if !is_root("what destroys sockets") {
        return;
    }
    let [agent] = ports();
    let cache = Cache::followed_by(true, Some(agent));
    let dead = cache.members[0].port;
    for name in ["a", "b", "c"] {
        cache.haproxy.wait_status("cache", name, "UP");
    }
    let mut first = cache.clients();
    first.retain(|client| client.member == dead);
    cache.members[0].freeze();
    for client in &mut first {
        let error = client.stream.read(&mut [0; 1]).expect_err("cut");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    // All of them come again and again until one of the living answers.
    let port = cache.haproxy.port();
    let comes_again = move || {
        for again in 0..1000 {
            let Ok(mut stream) = connect(port, PATIENCE) else { continue };
            let _ = stream.write_all(b"PING\r\n");
            match stream.read(&mut [0; 7]) {
                Ok(7) => return again,
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
            }
        }
        panic!("nobody answers");
    };
    let clients: Vec<_> = (0..30).map(|_| std::thread::spawn(comes_again)).collect();
    let again: usize = clients.into_iter().map(|it| it.join().expect("served")).sum();
    println!("{again} came to the dead one after the cut, and were cut");
    cache.haproxy.wait_status("cache", "a", "DOWN (agent)");
    cache.members[0].thaw();
}

/// The same, seen from those who are none of the dead one's.
#[test]
fn a_cut_touches_nobody_elses_connections() {
    if !is_root("what destroys sockets") {
        return;
    }
    let cache = Cache::start(true);
    let mut clients = cache.clients();
    let dead = cache.members[1].port;
    clients.retain(|client| client.member != dead);
    cache.members[1].freeze();
    cache.daemon.wait_member("cache", "b", "out");
    wait_for("HAProxy to be told", || {
        cache.haproxy.status_of("cache", "b").filter(|it| it == "MAINT")
    });
    clients.iter_mut().for_each(Client::ping);
    cache.members[1].thaw();
}

/// Off by default: what flows goes on flowing.
#[test]
fn with_the_cut_off_clients_keep_their_connections() {
    let cache = Cache::start(false);
    let mut clients = cache.clients();
    cache.members[0].freeze();
    cache.haproxy.wait_status("cache", "a", "MAINT");
    cache.members[0].thaw();
    clients.iter_mut().for_each(Client::ping);
    cache.daemon.wait_member("cache", "a", "in");
    cache.haproxy.wait_status("cache", "a", "UP");
    assert!(!cache.daemon.log_text().contains("cut"));
}

/// A maintenance: no new work, then the cut, then in again once the checks have passed.
// req 3.42
#[test]
fn a_maintenance_drains_then_cuts_then_ends_by_itself() {
    if !is_root("what destroys sockets") {
        return;
    }
    let cache = Cache::start(true);
    let clients = cache.clients();
    let there = cache.members[2].port;
    cache.daemon.tell(&["pool", "drain", "cache", "c", "--for", "1h", "--cut-after", "1s"]);
    cache.haproxy.wait_status("cache", "c", "DRAIN");
    for mut client in clients {
        if client.member == there {
            let mut buffer = [0; 1];
            let error = client.stream.read(&mut buffer).expect_err("cut");
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        } else {
            client.ping();
        }
    }
    // Nobody is let in there any more, not even who was there before.
    cache.haproxy.wait_status("cache", "c", "MAINT");
    assert!(cache.daemon.member("cache", "c")["drained"].is_object(), "the drain goes on");
    cache.daemon.tell(&["pool", "drain", "cache", "c", "--for", "300ms"]);
    cache.haproxy.wait_status("cache", "c", "UP");
    assert!(cache.daemon.log_text().contains("cache/c: drain ended by itself"));
}

/// HAProxy restarted in the middle comes back to our view, and so does one that somebody changed.
#[test]
fn what_haproxy_forgets_or_is_told_by_others_is_put_right() {
    let mut cache = Cache::start(false);
    cache.members[0].freeze();
    cache.daemon.tell(&["pool", "drain", "cache", "b", "--for", "1h"]);
    cache.haproxy.wait_status("cache", "a", "MAINT");
    cache.haproxy.wait_status("cache", "b", "DRAIN");
    cache.haproxy.restart();
    cache.haproxy.wait_status("cache", "a", "MAINT");
    cache.haproxy.wait_status("cache", "b", "DRAIN");
    assert_eq!(cache.haproxy.ask("set server cache/c state maint").trim(), "");
    cache.haproxy.wait_status("cache", "c", "UP");
    // Loads become shares; of a weight of 1 there is no half.
    cache.daemon.tell(&["pool", "report", "cache", "c", "--load", "40"]);
    assert_eq!(cache.daemon.wait_member("cache", "c", "in")["weight"], 60);
    assert_eq!(cache.haproxy.ask("get weight cache/c").trim(), "1 (initial 1)");
    cache.members[0].thaw();
    cache.haproxy.wait_status("cache", "a", "UP");
}

/// A failed work unit excludes at once, and the agent's next word readmits; busy members are drained
/// as one, and none of it flaps.
// req 3.33 3.34
#[test]
fn what_agents_report_moves_members() {
    let web = Web::start("redirect = \"http://sorry.example.org/\",");
    let out = |text: &str| web.daemon.ok(&text.split(' ').collect::<Vec<_>>());
    assert_eq!(out("pool report web a --failed"), "web/a: heard\n");
    assert_eq!(web.daemon.member("web", "a")["state"], "out");
    web.haproxy.wait_status("web", "a", "DOWN (agent)");
    assert_eq!(out("pool report web a --load 10"), "web/a: heard\n");
    assert_eq!(web.daemon.member("web", "a")["state"], "in");
    assert_eq!(web.daemon.member("web", "a")["weight"], 90);
    web.haproxy.wait_status("web", "a", "UP");
    wait_for("HAProxy to weigh it", || {
        (web.haproxy.ask("get weight web/a").trim() == "90 (initial 100)").then_some(())
    });
}

// req 3.36
#[test]
fn all_members_being_busy_sends_clients_elsewhere() {
    let text = |daemon: &Daemon| {
        let text = fs::read_to_string(daemon.config()).expect("its configuration");
        text.replace("[pool.web]\n", "[pool.web]\nbusy = { from = \"80%\", until = \"60%\" }\n")
    };
    let web = Web::start("redirect = \"http://sorry.example.org/\",");
    web.daemon.write_config(&text(&web.daemon));
    web.daemon.tell(&["reload"]);
    for member in ["a", "b"] {
        web.daemon.tell(&["pool", "report", "web", member, "--load", "85"]);
    }
    for member in ["a", "b"] {
        assert_eq!(web.daemon.member("web", member)["state"], "busy");
        web.haproxy.wait_status("web", member, "DRAIN");
    }
    let front = web.haproxy.port();
    assert_eq!(get(front, "/", PATIENCE).expect("an answer").status, 302);
    web.daemon.tell(&["pool", "report", "web", "a", "--load", "70"]);
    assert_eq!(web.daemon.member("web", "a")["state"], "busy", "not below 60 yet");
    web.daemon.tell(&["pool", "report", "web", "a", "--load", "50"]);
    web.haproxy.wait_status("web", "a", "UP");
    wait_for("members to answer", || {
        let answer = get(front, "/", PATIENCE).ok()?;
        (answer.status == 200).then_some(())
    });
}

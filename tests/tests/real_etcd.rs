//! Nodes that decide by a real etcd of three members: its faults and theirs, with an auditor that
//! never sees two holders.

use std::time::Duration;

use giveover_tests::etcd::Etcds;
use giveover_tests::nodes::{NAMES, Shared, active_of, group, never_twice, role, wait_for};
use giveover_tests::pair::{ADDRESS, Pair};
use giveover_tests::server::is_root;
use giveover_tests::{Daemon, signal_to, text_of};
use rustix::process::Signal;
use serde_json::Value;

/// Longer than the usual ones: a machine busy with other tests may take seconds for an answer, and
/// for an election of etcd's own.
fn keys(etcds: &Etcds) -> String {
    let endpoints = etcds.endpoints();
    format!(
        "quorum = \"etcd\"\nwait = \"14s\"\n\
         etcd = {{ endpoints = {endpoints}, ttl = \"15s\", margin = \"5s\" }}"
    )
}

fn term(daemon: &Daemon) -> u64 {
    group(daemon).unwrap_or_default()["term"].as_u64().unwrap_or(0)
}

/// The members that answer this node.
fn answering(daemon: &Daemon) -> usize {
    let group = group(daemon).unwrap_or_default();
    let members = group["etcd"].as_array().cloned().unwrap_or_default();
    members.iter().filter(|member| member["answers"] == true).count()
}

/// Waits until what is held here is renewed by an answer to something asked from now on.
fn wait_renewed(daemon: &Daemon) {
    let left = |group: &Value| group["grant_left_ms"].as_u64();
    let mut before = group(daemon).as_ref().and_then(left).unwrap_or(0);
    wait_for("a renewal", || {
        let now = left(&group(daemon)?)?;
        // What is left shrinks, except by a renewal.
        let renewed = now > before;
        before = now;
        renewed.then_some(())
    });
}

/// Started before etcd is: no refusal, and nobody is active. Then one is, with a fencing token that
/// grows each time it moves: told to, stopped in good order, killed.
#[test]
fn the_role_goes_with_the_key_in_etcd() {
    let mut etcds = Etcds::on_loopback();
    let shared = Shared::new(2, &keys(&etcds));
    let tokens = shared.path("tokens");
    let hook =
        format!("on_active = [\"/bin/sh\", \"-c\", \"echo $TOKEN >> {}\"]\n", tokens.display());
    let start = |me: usize| shared.start_as(me, &(shared.text(me) + &hook));
    let mut all = [start(0), start(1)];
    wait_for("both to say that etcd is away", || {
        let says = |daemon: &Daemon| daemon.log_text().contains("etcd does not answer");
        all.iter().all(says).then_some(())
    });
    let group_of = |daemon: &Daemon| group(daemon).unwrap_or_default();
    wait_for("each member to be known to be away", || {
        let members = group_of(&all[0])["etcd"].as_array().cloned().unwrap_or_default();
        let refused = |member: &Value| {
            member["why"].as_str().is_some_and(|why| why.contains("nothing listens there"))
        };
        (members.len() == 3 && members.iter().all(refused)).then_some(())
    });
    assert!(all.iter().all(|daemon| role(daemon) != "active"));
    let out = all[0].cli(&["node", "switch", "--force"]);
    assert_eq!(out.status.code(), Some(1), "{}", text_of(&out));
    assert!(text_of(&out).contains("etcd decides"), "{}", text_of(&out));

    etcds.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    let begun = term(&all[first]);
    wait_for("all three to answer", || (answering(&all[first]) == 3).then_some(()));
    wait_for("the standby to know it", || {
        (group(&all[other])?["active"] == NAMES[first]).then_some(())
    });

    wait_for("it to be allowed", || {
        let out = all[first].cli(&["node", "switch"]);
        (out.status.code() == Some(0)).then_some(())
    });
    assert_eq!(active_of(&[&all[0], &all[1]]), other);
    let switched = term(&all[other]);
    assert!(switched > begun, "{switched} is no newer than {begun}");

    assert_eq!(all[other].stop(), Some(0));
    assert_eq!(active_of(&[&all[first]]), 0);
    let stopped = term(&all[first]);
    assert!(stopped > switched, "{stopped} is no newer than {switched}");
    all[other].run();
    wait_for("it to come back as standby", || (role(&all[other]) == "standby").then_some(()));
    never_twice(&[&all[0], &all[1]]);

    all[first].kill();
    wait_for("the other to be active", || (role(&all[other]) == "active").then_some(()));
    assert!(term(&all[other]) > stopped);
    all[first].run();
    wait_for("it to be a standby", || (role(&all[first]) == "standby").then_some(()));
    assert_eq!(active_of(&[&all[0], &all[1]]), other);
    let tokens = std::fs::read_to_string(tokens).expect("what the hook was told");
    let tokens: Vec<u64> = tokens.lines().map(|line| line.parse().expect("a number")).collect();
    assert!(tokens.len() >= 4 && tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
}

/// All of etcd away for a second, one member dead: nothing happens. All of it away: the active is
/// none any more before its lease ends, and nobody else becomes it; back, there is one.
#[test]
fn a_moment_without_etcd_is_nothing_and_more_is_a_standby() {
    let mut etcds = Etcds::on_loopback();
    etcds.start_all();
    let shared = Shared::new(2, &keys(&etcds));
    let all = shared.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let begun = term(&all[first]);

    etcds.freeze();
    std::thread::sleep(Duration::from_secs(1)); // the fault itself
    etcds.thaw();
    wait_renewed(&all[first]);
    etcds.kill(0);
    wait_for("it to be noticed", || (answering(&all[first]) == 2).then_some(()));
    wait_renewed(&all[first]);
    etcds.start(0);
    wait_for("it to be back", || (answering(&all[first]) == 3).then_some(()));
    etcds.kill(1);
    wait_for("it to be noticed", || (answering(&all[first]) == 2).then_some(()));
    wait_renewed(&all[first]);
    assert_eq!(
        (term(&all[first]), role(&all[first]).as_str()),
        (begun, "active"),
        "the same reign"
    );

    etcds.freeze();
    wait_for("it to let go", || {
        let service = all[first].service("web");
        (role(&all[first]) == "standby" && service["pid"].is_null()).then_some(())
    });
    let log = all[first].log_text();
    assert!(log.contains("etcd renews the lease no more: it is let go here"), "{log}");
    wait_for("both to know that nobody answers", || {
        all.iter().all(|daemon| answering(daemon) == 0).then_some(())
    });
    for _ in 0..20 {
        assert!(all.iter().all(|daemon| role(daemon) != "active"), "by whom?");
    }
    etcds.thaw();
    active_of(&[&all[0], &all[1]]);
    wait_for("people to be told", || {
        all[first].log_text().contains("etcd answers again").then_some(())
    });
    never_twice(&[&all[0], &all[1]]);
}

/// Frozen, killed, its key deleted by somebody: another holds the address, and an auditor of both
/// kernels never sees two. A holder that runs again stands down.
#[test]
fn the_address_goes_with_the_key_and_never_two_have_it() {
    if !is_root("networks of our own") {
        return;
    }
    let mut pair = Pair::by(|lan| {
        let door = lan.pid("door").to_string();
        let etcds = Etcds::on("10.0.0.3", &["nsenter", "-t", &door, "-n"]);
        (keys(&etcds), etcds)
    });
    pair.start(0);
    pair.wait_served(0);
    pair.start(1);

    let frozen = pair.daemon(0).pid();
    signal_to(frozen, Signal::STOP);
    pair.wait_served(1);
    assert!(!pair.lan.has("a", ADDRESS), "nobody renewed it");
    signal_to(frozen, Signal::CONT);
    wait_for("it to be a standby", || (role(pair.daemon(0)) == "standby").then_some(()));
    assert!(!pair.lan.has("a", ADDRESS), "it takes nothing back");

    // Somebody takes the key out: it is let go, and after a while held by one again.
    let url = pair.etcds().endpoints();
    let url = url.split('"').nth(1).expect("an endpoint").to_owned();
    let mut deletes = pair.lan.on("door", "etcdctl");
    deletes.env("ETCDCTL_API", "3").args(["--endpoints", &url]);
    let done = deletes.args(["del", "--prefix", "/giveover/"]).output().expect("etcdctl");
    assert!(done.status.success(), "{}", text_of(&done));
    wait_for("it to be let go", || pair.logs().contains("as the holder no more").then_some(()));
    pair.wait_answered();

    // Cut off from etcd and from the other, whoever holds it lets go by itself.
    let holder = usize::from(pair.answered_by().as_deref() == Some("b"));
    pair.lan.cable(holder as u8 + 1, false);
    pair.wait_served(1 - holder);
    assert!(!pair.lan.has(NAMES[holder], ADDRESS), "it was not renewed");
    pair.lan.cable(holder as u8 + 1, true);

    pair.kill(1 - holder);
    pair.wait_served(holder);
    assert_eq!(pair.overlap(), Duration::ZERO, "two have had it");
    assert!(pair.times_held() >= 4, "each time it moved");
}

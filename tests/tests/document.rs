//! The source document's example on two real daemons, with its own rule and no trusted server: who
//! is what, and what each knows of the other.

use giveover_tests::Daemon;
use giveover_tests::cluster::{Cluster, NAMES, wait_long};
use serde_json::Value;

const KEYS: &str = "quorum = \"trusted\"\naccept_two_holders = true\nheartbeat = \"500ms\"\n\
                    lease = \"3s\"\nwait = \"5500ms\"";
const SERVICE: &str = "[service.web]\nstart = [\"sleep\", \"100000\"]\nallow = [\"no-checks\"]\n\
                       [group.front]\nservices = [\"web\"]\n";

/// What `place` knows of the node of that number.
fn record(cluster: &Cluster, place: usize, of: usize) -> Option<Value> {
    let group = cluster.group(place)?;
    group["nodes"].as_array()?.iter().find(|node| node["name"] == NAMES[of]).cloned()
}

/// Waits until `place` knows the node `of` as this: 1 has just started, 2 is a standby, 3 the
/// active, 4 down.
fn wait_number(cluster: &Cluster, place: usize, of: usize, number: u64) -> Value {
    let what = format!("{} to know {} as {number}", NAMES[place], NAMES[of]);
    wait_long(&what, || {
        let record = record(cluster, place, of)?;
        (record["number"] == number && record["alive"] == true).then_some(record)
    })
}

/// Sections 4.1, 4.4, 4.5 and 5.3.1: the records of all are had at the start, and follow each start,
/// stop and promotion.
// req 2.11 2.19 2.20 2.25 2.32 2.36 2.37 2.48 2.62 2.63 2.67 2.68 2.90 2.94 2.95
#[test]
fn two_nodes_without_a_trusted_server_fail_over_and_know_each_other() {
    let mut cluster = Cluster::of(2, KEYS, SERVICE);
    cluster.start(0);
    wait_long("the first to be active alone", || (cluster.role(0) == "active").then_some(()));
    // Who was never seen is said to be so, and why.
    wait_long("why the other is not there", || {
        let other = record(&cluster, 0, 1)?;
        (other["why"] == "refused" && other["heard_ms"].is_null() && other["number"] == 1)
            .then_some(())
    });
    cluster.start(1);
    wait_number(&cluster, 0, 1, 2);
    let first = wait_number(&cluster, 1, 0, 3);
    assert_eq!((&first["host"], &first["port"]), (&"127.0.0.1".into(), &cluster.port(0).into()));
    assert!(first["since"].is_string(), "since when it is there: {first}");
    assert_eq!((cluster.role(0), cluster.role(1)), ("active".to_owned(), "standby".to_owned()));

    assert_eq!(cluster.daemon_mut(0).stop(), Some(0));
    wait_long("the other to be active", || (cluster.role(1) == "active").then_some(()));
    cluster.start(0);
    wait_number(&cluster, 1, 0, 2);
    wait_number(&cluster, 0, 1, 3);
    assert_eq!((cluster.role(0), cluster.role(1)), ("standby".to_owned(), "active".to_owned()));
    assert!(cluster.daemon(0).log_text().contains("TWO HOLDERS"), "and what that rule costs");
}

/// Section 4.6: a name that does not resolve is a peer that does not answer, and that is said.
// req 2.48 2.70
#[test]
fn a_name_that_does_not_resolve_is_a_peer_that_does_not_answer() {
    let cluster = Cluster::of(2, KEYS, SERVICE);
    let there = format!("127.0.0.1:{}\"\n[service", cluster.port(1));
    let text = cluster.text(0).replace(&there, "no-such-host.invalid\"\n[service");
    assert!(text.contains("invalid"), "{text}");
    let daemon = Daemon::start(&text);
    wait_long("the name to be named", || {
        let group = daemon.status()?["groups"].get(0)?.clone();
        let other = group["nodes"].get(1)?.clone();
        (other["why"] == "name" && other["alive"] == false && group["role"] == "active")
            .then_some(())
    });
}

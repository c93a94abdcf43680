//! A pair and its witness on a wire that is late, loses, doubles and reorders, and on hosts whose
//! clocks are years apart: the address follows whoever is active, and never two have it.

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use giveover_tests::cluster::wait_long;
use giveover_tests::pair::{ADDRESS, NAMES, Pair};
use giveover_tests::server::is_root;
use giveover_tests::wire::Weather;

const TIMES: &str = "heartbeat = \"500ms\"\nlease = \"3s\"\nwait = \"5500ms\"";

/// Frames of other nodes that a place has dropped because it had them already.
fn repeated(pair: &mut Pair, place: usize) -> u64 {
    let status = pair.daemon(place).status().unwrap_or_default();
    let nodes = status["groups"][0]["nodes"].as_array().cloned().unwrap_or_default();
    nodes.iter().filter_map(|node| node["repeated"].as_u64()).sum()
}

/// What comes late, twice or in another order makes no second holder; what comes later than a lease
/// makes none at all, until it comes in time again.
// req 2.61
#[test]
fn late_doubled_and_reordered_frames_make_no_second_holder() {
    if !is_root("networks of our own") {
        return;
    }
    let mut pair = Pair::wired(TIMES);
    let [delay, jitter] = [20, 250].map(Duration::from_millis);
    let rough = Weather { delay, jitter, doubled: 30, lost: 5 };
    pair.wire().set(rough);
    for place in [2, 0, 1] {
        pair.start(place);
    }
    for _ in 0..2 {
        let active = pair.settled();
        pair.kill(active);
        pair.wait_served(1 - active);
        pair.start(active);
    }
    let active = pair.settled();
    wait_long("frames that come twice to be counted", || {
        (repeated(&mut pair, 1 - active) > 0).then_some(())
    });
    let counts = pair.wire().counts();
    for (what, count) in
        [("doubled", &counts.doubled), ("lost", &counts.lost), ("overtaken", &counts.overtaken)]
    {
        assert!(count.load(Ordering::Relaxed) > 0, "no datagram was {what}");
    }

    // No answer comes within a lease of what it answers.
    pair.wire().set(Weather { delay: Duration::from_secs(4), ..rough });
    wait_long("nobody to have it", || {
        NAMES.iter().all(|name| !pair.lan.has(name, ADDRESS)).then_some(())
    });
    pair.wire().set(Weather::default());
    pair.wait_answered();
    let active = pair.settled();
    pair.stop(active);
    pair.wait_served(1 - active);
    assert_eq!(pair.overlap(), Duration::ZERO, "two have had it:\n{}", pair.logs());
}

/// The clock of one host began decades before the other's, as if it had run for so long: nothing
/// that nodes tell each other is a time of day or of a boot.
#[test]
fn clocks_that_are_far_apart_change_nothing() {
    if !is_root("networks of our own") {
        return;
    }
    let ahead = ["unshare", "-T", "--monotonic", "900000000", "--boottime", "900000000"];
    let output = Command::new(ahead[0]).args(&ahead[1..]).args(["cat", "/proc/uptime"]).output();
    let uptime = output.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let seconds = uptime.ok().and_then(|text| text.split('.').next()?.parse::<u64>().ok());
    if seconds.is_none_or(|seconds| seconds < 900_000_000) {
        println!("skipped: timens: no clocks of our own: {seconds:?} s");
        return;
    }
    let mut pair = Pair::with_times(TIMES);
    pair.runs_behind(0, &ahead);
    for place in [2, 0, 1] {
        pair.start(place);
    }
    // Away from each, by a crash and by a stop.
    for crashes in [true, true, false, false] {
        let active = pair.settled();
        if crashes {
            pair.kill(active);
        } else {
            pair.stop(active);
        }
        pair.wait_served(1 - active);
        pair.start(active);
    }
    let _ = pair.settled();
    assert_eq!(pair.overlap(), Duration::ZERO, "two have had it:\n{}", pair.logs());
}

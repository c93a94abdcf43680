//! Networks of our own making, in which hosts are dead, filtered or said to be unreachable. What a
//! datagram that needs no answer hears there is the difference between health and a guess.

use giveover_tests::network::Network;
use giveover_tests::probing::row;
use giveover_tests::server::is_root;

/// Longer than ARP tries.
const LONG_MS: u32 = 6_000;
const SHORT_MS: u32 = 500;

#[test]
fn who_cannot_be_reached_is_not_taken_for_silent() {
    // req 3.8
    if !is_root("a network of our own") {
        return;
    }
    let _network = Network::new();
    let udp = |address: &str| format!("{{ url = \"udp://{address}:9\" }}");
    let dns = |address: &str| format!("{{ url = \"dns://{address}\" }}");
    let tcp = |address: &str| format!("{{ url = \"tcp://{address}:9\" }}");
    for (situation, address, limit, verdict) in [
        ("closed port", "192.0.2.254", LONG_MS, "100 connect refused"),
        ("dead neighbour", "192.0.2.77", LONG_MS, "100 connect no route to host"),
        ("dead, too little time", "192.0.2.78", SHORT_MS, "healthy"),
        ("router: no such host", "198.51.100.1", LONG_MS, "100 connect no route to host"),
        ("router: prohibited", "198.51.100.2", LONG_MS, "100 connect no route to host"),
        ("router: silent", "198.51.100.3", SHORT_MS, "healthy"),
    ] {
        row("udp", "network", situation, &udp(address), limit, verdict);
    }
    for (situation, address, limit, verdict) in [
        ("dead neighbour", "192.0.2.79", LONG_MS, "100 connect no route to host"),
        ("router: no such host", "198.51.100.1", LONG_MS, "100 connect no route to host"),
        ("router: silent", "198.51.100.3", SHORT_MS, "100 silence no reply in 0.5s"),
    ] {
        row("dns", "network", situation, &dns(address), limit, verdict);
    }
    for (situation, address, limit, verdict) in [
        ("closed port", "192.0.2.254", LONG_MS, "100 connect refused"),
        ("dead neighbour", "192.0.2.80", LONG_MS, "100 connect no route to host"),
        ("router: no such host", "198.51.100.1", LONG_MS, "100 connect no route to host"),
        ("router: prohibited", "198.51.100.2", LONG_MS, "100 connect no route to host"),
        ("router: silent", "198.51.100.3", SHORT_MS, "100 connect no connection in 0.5s"),
    ] {
        row("tcp", "network", situation, &tcp(address), limit, verdict);
    }
    for check in [udp("203.0.113.1"), dns("203.0.113.1"), udp("233.252.0.1")] {
        let found = giveover_tests::probing::probe(&check, LONG_MS).verdict;
        println!("{check}: {found}");
        assert!(found.starts_with("CannotMeasure"), "{check}: {found}");
    }
}

//! The steady state allocates nothing per probe: a daemon in this very process, under a counting
//! allocator. One test only, because the counter is the whole process's.

use std::alloc::System;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use giveover::daemon::{self, Options};
use giveover_tests::wait_for;
use rustix::process::Signal;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SERVICES: u64 = 20;

#[test]
fn a_healthy_probe_allocates_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let answered = Arc::new(AtomicU64::new(0));
    let port = serve(Arc::clone(&answered));
    let mut text = String::from(
        "[policy.default]\nthorough_probe_interval = \"50ms\"\nprobe_timeout = \"1s\"\n",
    );
    for service in 0..SERVICES {
        text += &format!(
            "[service.s{service}]\n\
             check.page = \"http://127.0.0.1:{port}/\"\n\
             check.port = {{ url = \"tcp://127.0.0.1:{port}\", send = \"hello\", expect = \"HTTP\" }}\n"
        );
    }
    let file = dir.path().join("giveover.toml");
    std::fs::write(&file, text).expect("a configuration");
    let options = Options {
        file: Some(file),
        state: Some(dir.path().join("state")),
        socket: dir.path().join("control.sock"),
        ..Options::default()
    };
    let running = std::thread::spawn(move || daemon::run(&options));

    let so_far = || answered.load(Ordering::Relaxed);
    // Buffers grow to what they need: the first rounds may allocate, and a compaction may.
    wait_for("the first rounds", || (so_far() > 100 * SERVICES).then_some(()));
    let region = Region::new(COUNTING);
    let before = so_far();
    while so_far() < before + 200 * SERVICES {
        std::thread::yield_now();
    }
    let change = region.change();
    let probes = so_far() - before;
    let allocations = change.allocations + change.reallocations;
    giveover_tests::signal_to(std::process::id(), Signal::TERM);
    assert_eq!(running.join().expect("no panic"), 0);
    assert!(
        allocations as u64 * 50 < probes,
        "{allocations} allocations in {probes} probes: {change:?}"
    );
    println!("{allocations} allocations in {probes} probes");
}

/// Answers every connection, allocating nothing.
fn serve(answered: Arc<AtomicU64>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut request = [0; 512];
        while let Ok((mut stream, _)) = listener.accept() {
            if matches!(stream.read(&mut request), Ok(1..)) {
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
                );
                answered.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    port
}

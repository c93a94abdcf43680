//! Failovers in a row, of an address where there is a right to move one, and of a service.
//!
//! With `GIVEOVER_NIGHTLY` there are 100 of each, else 30 and a few.

use std::time::Duration;

use giveover_tests::failovers::{How, PROMISE, Series, of_address, of_service};
use giveover_tests::server::is_root;

fn nightly() -> bool {
    std::env::var_os("GIVEOVER_NIGHTLY").is_some()
}

fn tell(what: &str, series: &Series) {
    let ways = [How::Died, How::Stopped, How::CutOff, How::Frozen, How::Switched];
    for how in ways {
        if let Some(slowest) = series.slowest(how) {
            println!("{what}: {how:?}, at most {:.2} s", slowest.as_secs_f64());
        }
    }
    println!(
        "{what}: {} failovers within {:.1} s, {} made again on a busy machine, two holders for {} ms",
        series.failovers.len(),
        PROMISE.as_secs_f64(),
        series.disturbed,
        series.overlap.as_millis()
    );
}

/// The figure of the design: within `wait` + one interval + 1 s, and never two holders.
// req 2.1 2.2 2.12 2.16 2.17
#[test]
fn every_failover_is_in_time_and_never_two_have_the_address() {
    if !is_root("networks of our own") {
        return;
    }
    let (count, pairs) = if nightly() { (100, 5) } else { (30, 6) };
    let series = of_address(count, pairs);
    tell("address", &series);
    assert_eq!(series.failovers.len(), count);
    assert_eq!(series.overlap, Duration::ZERO, "two have had it");
}

#[test]
fn a_service_fails_over_in_time_without_any_right() {
    let count = match (nightly(), rustix::process::geteuid().is_root()) {
        (true, _) => 100,
        (false, true) => 6, // the address's thirty are beside it
        (false, false) => 30,
    };
    let series = of_service(count);
    tell("service", &series);
    assert_eq!((series.failovers.len(), series.overlap), (count, Duration::ZERO));
}

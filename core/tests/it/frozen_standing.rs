//! The bytes of a standing, frozen like the rest of the journal.

use giveover_core::monitor::Event;
use giveover_core::policy::{Delays, FailoverMode, Limits};
use giveover_core::record::Body;
use giveover_core::time::Span;

use crate::frozen::frozen;
use crate::script::*;

/// What a monitor has decided and not done is most of a standing.
#[test]
fn the_bytes_of_every_standing() {
    let standing = |script: &Script, pursuit: &[u8], before: &[u8], after: &[u8]| {
        let bytes = [before, pursuit, after].concat();
        frozen(Body::Standing(*script.monitor.standing()), 7, &bytes);
    };
    let limits = |count, mode| Limits { retry_count: Some(count), failover_mode: mode, ..PLAIN };
    let calm = [
        0, // the process is not dead
        255, 9, 0, // its last death: no check, died, 0
        0, // holds
        1, // generation
        1, // last ticket
    ];
    let rest = [
        0, // clock_went_back
        0, // no grace
        0, // no last start
        0, // no floor of the waits
        0, // measured
        0, // giveover was not asked for
        0, // no restart was tried
    ];

    let mut script = Script::new(limits(2, FailoverMode::Soft));
    let status_and_cycle = [
        0, // unknown
        0, 0xB0, 0xEA, 0x01, // sleeping until 30,000
    ];
    let before_any = [
        0, 255, 9, 0, 0, // alive, no death, no holds
        1, // generation
        0, // no ticket yet
        0, // latest
    ];
    standing(&script, &[0], &status_and_cycle, &[&before_any[..], &rest].concat());
    script.at(30_000, Tick, "");
    let probing = [
        0, // unknown
        1, 1, // probing, ticket 1
    ];
    let latest = [0xB0, 0xEA, 0x01]; // 30,000
    standing(&script, &[0], &probing, &[&calm[..], &latest, &rest].concat());
    script.at(30_000, Feed(Event::End), "");
    let still = [
        0, // unknown
        2, // still
    ];
    let ended = [
        7, // ended
        2, // not begun, stopped, unmonitored
    ];
    standing(&script, &ended, &still, &[&calm[..], &latest, &rest].concat());
    script.at(30_000, ADOPT, "");
    script.at(30_000, Feed(Event::Stopped), "offline");
    let offline = [
        4, // offline
        2, // still
    ];
    let stopped = [
        7, // ended
        1, // stopped
    ];
    let second = [
        0, 255, 9, 0, 0, // alive, no death, no holds
        2, // generation
        1, // last ticket
    ];
    standing(&script, &stopped, &offline, &[&second[..], &latest, &rest].concat());
    let young = roomy(*script.monitor.policy(), ms(0));
    let bytes = [
        0, // unknown
        2, // still
        7, // ended
        0, // not begun
        0, 255, 9, 0, 0, // alive, no death, no holds
        0, // generation
        0, // no ticket yet
        0, // latest
    ];
    frozen(Body::Standing(*young.standing()), 7, &[&bytes[..], &rest].concat());

    let mut script = Script::new(limits(0, FailoverMode::Soft));
    script.at(5, Immediate, "giveover, faulted");
    let faulted = [
        3, // faulted
        2, // still
    ];
    let asking = [
        4, 2, // asking, ticket 2
        1, 0, 4, 110, // immediate, and its cause
        5,   // first asked at 5
    ];
    let after = |tickets: u8, latest: &[u8]| {
        let mut bytes = vec![0, 255, 9, 0, 0, 1, tickets];
        bytes.extend(latest);
        bytes.extend([0, 0, 0, 0, 0]);
        bytes.extend([
            1, // giveover has been asked for
            0, // no restart was tried
        ]);
        bytes
    };
    standing(&script, &asking, &faulted, &after(2, &[5]));
    script.at(6, NOT_NOW, "");
    let sleeping = [
        3, // faulted
        0, 0xB6, 0xEA, 0x01, // sleeping until 30,006
    ];
    let not_now = [
        5, // not now
        0x96, 0x4E, // again at 10,006
        0xE5, 0xA7, 0x12, // last at 300,005
        1, 0, 4, 110, // immediate, and its cause
        5,   // first asked at 5
    ];
    standing(&script, &not_now, &sleeping, &after(2, &[6]));
    script.at(10_006, Tick, "giveover");
    script.at(10_006, GRANTED, "");
    let given_over = [
        6, 3, // given over, ticket 3
    ];
    standing(&script, &given_over, &faulted, &after(3, &[0x96, 0x4E]));
}

#[test]
fn the_bytes_of_restarts_that_wait() {
    let restart_delay = Delays::new(&[Span::from_millis(60)]).expect("few");
    let mut script = Script::new(Limits { restart_delay, ..PLAIN });
    script.at(1, Died, "degraded (not running)");
    let standing = |script: &Script, bytes: &[&[u8]]| {
        frozen(Body::Standing(*script.monitor.standing()), 7, &bytes.concat());
    };
    let degraded = [
        2, // degraded
        2, // still
    ];
    let dead = [
        1, // the process is dead
        255, 9, 1, // no check, died, 1
        0, // holds
        2, // generation
    ];
    let tail = [
        0, // no floor of the waits
        0, // measured
        0, // giveover was not asked for
        1, // a restart was tried
    ];
    let delaying = [
        1, 61, // delaying, until 61
        0,  // for the monitor
    ];
    let young = [
        0, // no ticket yet
        1, // latest
        0, // clock_went_back
        0, // no grace
        0, // no last start
    ];
    standing(&script, &[&degraded, &delaying, &dead, &young, &tail]);
    script.at(61, Tick, "restart");
    let restarting = [
        2, 1, // restarting, ticket 1
        0, // for the monitor
    ];
    let older = [
        1,  // last ticket
        61, // latest
        0,  // clock_went_back
        0,  // no grace
        1, 61, // last start: some, 61
    ];
    standing(&script, &[&degraded, &restarting, &dead, &older, &tail]);
    script.at(62, StopFails, "faulted (not running)");
    let faulted = [
        3, // faulted
        2, // still
    ];
    let unstopped = [
        3, // unstopped
        0xEE, 0xEA, 0x01, // again at 30,062
        0,    // for the monitor
    ];
    let oldest = [
        1,  // last ticket
        62, // latest
        0,  // clock_went_back
        0,  // no grace
        1, 61, // last start
    ];
    standing(&script, &[&faulted, &unstopped, &dead, &oldest, &tail]);
}

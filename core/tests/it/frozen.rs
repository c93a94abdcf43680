//! The journal's bytes, frozen.
//!
//! If one of the frozen tests fails, the code is wrong, not the test: journals with these bytes
//! lie on disks. A new variant goes at the end of its enum, and its bytes to the end here.

use giveover_core::failure::{Cause, Failure, Phase, ProbeResult};
use giveover_core::monitor::{
    Action, Event, GiveoverOutcome, Holder, Message, Origin, Reason, RestartOutcome, Status, Ticket,
};
use giveover_core::policy::{Capacity, Policy};
use giveover_core::record::{Body, Entry, MAX_BYTES};
use giveover_core::time::Span;
use giveover_core::weight::Weight;

use crate::script::*;

const T: Ticket = Ticket(9);
const READ: Cause = Cause::of_check(2, Phase::Read, 110);

/// `body` at 7 ms of machine 3 is these bytes, after the four every entry begins with.
#[track_caller]
pub(crate) fn frozen(body: Body, number: u8, rest: &[u8]) {
    let entry = Entry { at: ms(7), machine: 3, body };
    let mut expected = vec![
        1,      // version
        7,      // at, ms
        3,      // machine
        number, // which body
    ];
    expected.extend(rest);
    let mut out = [0; MAX_BYTES];
    let len = entry.encode(&mut out).expect("it fits");
    assert_eq!(out[..len], expected, "{body:?}");
    assert_eq!(Entry::decode(&expected), Ok(entry));
}

#[track_caller]
fn event(event: Event, bytes: &[u8]) {
    frozen(Body::Event(event), 1, bytes);
}

#[track_caller]
fn action(action: Action, bytes: &[u8]) {
    frozen(Body::Action(action), 2, bytes);
}

#[test]
fn the_bytes_of_every_event() {
    event(Event::Timeout, &[0]);
    event(
        Event::Begin { first: Span::from_millis(300), started: true },
        &[
            1,    // Begin
            0xAC, // first: 300 ms, low seven bits
            0x02, // and the rest
            1,    // started
        ],
    );
    event(Event::ProbeNow, &[2]);
    event(
        Event::Died { cause: Cause::new(Phase::Died, 0x109) },
        &[
            4,    // Died
            255,  // no check
            9,    // phase: died
            0x89, // code: signal 9, low seven bits
            0x02, // and the rest
        ],
    );
    event(Event::Healed, &[7]);
    event(Event::Stopped, &[8]);
    event(Event::End, &[9]);
    event(Event::Restart, &[10]);
    event(Event::Giveover, &[11]);
    for (holder, number) in Holder::ALL.into_iter().zip(0..) {
        event(
            Event::Hold(holder),
            &[
                12,     // Hold
                number, // operator, need, host budget, local fault, unproven
            ],
        );
        event(
            Event::Release(holder),
            &[
                13,     // Release
                number, // as above
            ],
        );
    }
    event(Event::Clear, &[14]);
    let mut bytes = vec![15]; // SetPolicy
    bytes.extend(POLICY);
    event(Event::SetPolicy(a_policy()), &bytes);
}

#[test]
fn the_bytes_of_every_answer() {
    let probed = |result, bytes: &[u8]| {
        let mut all = vec![
            3, // Probed
            9, // ticket
        ];
        all.extend(bytes);
        event(Event::Probed { ticket: T, result }, &all);
    };
    probed(ProbeResult::Healthy, &[0]);
    probed(
        ProbeResult::Failed(Weight::HALF, READ),
        &[
            1,   // Failed
            50,  // weight
            2,   // check
            4,   // phase: read
            110, // code
        ],
    );
    probed(
        ProbeResult::Immediate(READ),
        &[
            2,   // Immediate
            2,   // check
            4,   // phase
            110, // code
        ],
    );
    probed(
        ProbeResult::CannotMeasure(READ),
        &[
            3,   // CannotMeasure
            2,   // check
            4,   // phase
            110, // code
        ],
    );
    probed(ProbeResult::Void, &[4]);

    let restarts = [
        (RestartOutcome::Started, &[0][..]),
        (RestartOutcome::Invalid(READ), &[1, 2, 4, 110]), // and the cause, as above
        (RestartOutcome::StartFailed(READ), &[2, 2, 4, 110]),
        (RestartOutcome::StopFailed(READ), &[3, 2, 4, 110]),
    ];
    for (outcome, bytes) in restarts {
        let mut all = vec![
            5, // RestartDone
            9, // ticket
        ];
        all.extend(bytes);
        event(Event::RestartDone { ticket: T, outcome }, &all);
    }

    let answers = [
        (GiveoverOutcome::Granted, &[0][..]),
        (GiveoverOutcome::Denied, &[1]),
        (GiveoverOutcome::NotNow, &[2]),
        (GiveoverOutcome::Aborted { stopped: true, cause: READ }, &[3, 1, 2, 4, 110]), // stopped, cause
        (GiveoverOutcome::Unproven, &[4]),
    ];
    for (outcome, bytes) in answers {
        let mut all = vec![
            6, // GiveoverDone
            9, // ticket
        ];
        all.extend(bytes);
        event(Event::GiveoverDone { ticket: T, outcome }, &all);
    }
}

#[test]
fn the_bytes_of_every_action() {
    action(
        Action::Probe { ticket: Ticket(200) },
        &[
            0,    // Probe
            0xC8, // ticket 200, low seven bits
            0x01, // and the rest
        ],
    );
    for (origin, number) in [Origin::Monitor, Origin::Operator, Origin::Return].into_iter().zip(0..)
    {
        action(
            Action::Restart { ticket: T, origin },
            &[
                1,      // Restart
                9,      // ticket
                number, // monitor, operator, return
            ],
        );
    }
    let reasons = [
        (Reason::BudgetSpent, &[0][..]),
        (Reason::Immediate(READ), &[1, 2, 4, 110]), // and the cause
        (Reason::StartFailed(READ), &[2, 2, 4, 110]),
        (Reason::Operator, &[3]),
    ];
    for (reason, bytes) in reasons {
        let mut all = vec![
            2, // Giveover
            9, // ticket
        ];
        all.extend(bytes);
        action(Action::Giveover { ticket: T, reason }, &all);
    }
    action(
        Action::Cancel { ticket: T },
        &[
            3, // Cancel
            9, // ticket
        ],
    );
    action(Action::BudgetSpent, &[4]);
    action(Action::Log, &[5]);
    action(
        Action::Reset { cause: READ },
        &[
            6,   // Reset
            2,   // check
            4,   // phase
            110, // code
        ],
    );
    let statuses =
        [Status::Unknown, Status::Ok, Status::Degraded, Status::Faulted, Status::Offline];
    let messages =
        [Message::None, Message::Online, Message::Degraded, Message::Failed, Message::NotRunning];
    for ((status, message), number) in statuses.into_iter().zip(messages).zip(0..) {
        action(
            Action::Status { status, message },
            &[
                7,      // Status
                number, // unknown, ok, degraded, faulted, offline
                number, // none, online, degraded, failed, not running
            ],
        );
    }
}

/// The policy of these tests as its bytes.
const POLICY: [u8; 32] = [
    0xB0, 0xEA, 0x01, // thorough_probe_interval: 30,000 ms, seven bits each
    0x90, 0x4E, // probe_timeout: 10,000 ms
    1, 2, // retry_count: some, 2
    0xE0, 0xA7, 0x12, // retry_interval: 300,000 ms
    0xE0, 0xD4, 0x03, // start_timeout: 60,000 ms
    0xB0, 0xEA, 0x01, // stop_timeout: 30,000 ms
    0,    // start_grace
    0, 0, 0, 0, 0, 0, 0, 0, // restart_delay: eight waits
    1, // how many of them are named
    1, // failover_mode: soft
    1, // smallest weight
    1, 100, // heaviest: some, 100
    1,   // deaths are seen
    1,   // destination: elsewhere
];

fn a_policy() -> Policy {
    Policy::new(PLAIN, ANYTHING).expect("possible").0
}

#[test]
fn the_bytes_of_a_snapshot() {
    let capacity = Capacity { failures: 99, restarts: 2, starts: 3 };
    let mut bytes = POLICY.to_vec();
    bytes.extend([
        99, // failures
        2,  // restarts
        3,  // starts
    ]);
    frozen(Body::Made { policy: a_policy(), capacity }, 0, &bytes);
    frozen(
        Body::Failure(Failure { at: ms(300), weight: Weight::HALF, cause: READ }),
        3,
        &[
            0xAC, // at: 300 ms, low seven bits
            0x02, // and the rest
            50,   // weight
            2,    // check
            4,    // phase
            110,  // code
        ],
    );
    frozen(Body::Restart(ms(5)), 4, &[5]);
    frozen(Body::Start(ms(6)), 5, &[6]);
    for (phase, number) in Phase::ALL.into_iter().zip(0..) {
        frozen(
            Body::Total(phase, 127),
            6,
            &[
                number, // resolve … reported
                127,    // how many
            ],
        );
    }
}

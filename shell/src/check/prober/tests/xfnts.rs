//! The sample of the source document.

use super::*;

#[test]
fn an_xfnts_probe_connects_says_goodbye_and_hands_over_what_is_left() {
    // req 0.31, 0.35
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, xfnts());
    let id = turns.start(&plan);
    let mut stream = accept(&listener);
    assert_eq!(stream.read(&mut [0]).expect("an orderly end"), 0);
    turns.pass(4_000);
    drop(stream);
    while turns.prober.handovers.is_empty() {
        turns.turn(&plan);
    }
    let handover = turns.prober.handovers().next().expect("one");
    assert_eq!((handover.id, handover.remaining_ms(turns.now)), (id, 6_000));
    assert!(turns.is_clean() && turns.answered().is_empty());
}

#[test]
fn a_disconnect_that_fails_is_half_a_failure() {
    // req 0.30 0.40: no time is left, and no command is run
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, xfnts());
    turns.start(&plan);
    let _never_closed = accept(&listener);
    turns.expire(&plan);
    let answer = turns.answer();
    assert_eq!(answer.result, failed(50, Phase::Close, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, TIMEOUT.as_millis());
    assert!(turns.is_clean() && turns.prober.handovers.is_empty());

    turns.start(&plan);
    reset(accept(&listener));
    assert_eq!(turns.run(&plan), failed(50, Phase::Close, Errno::CONNRESET));
    assert!(turns.is_clean());
}

#[test]
fn an_xfnts_probe_may_connect_for_95_percent_of_its_time() {
    // req 0.33
    let (mut turns, (listener, _only)) = (Loop::new(), full("127.0.0.1:0"));
    let plan = at(&listener, xfnts());
    turns.start(&plan);
    turns.expire(&plan);
    let answer = turns.answer();
    assert_eq!(answer.result, failed(100, Phase::Connect, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, 9_500);
    assert!(turns.is_clean());
}

#[test]
fn a_connection_made_too_late_is_still_closed_within_two_seconds() {
    // req 0.36
    let (mut turns, (listener, only)) = (Loop::new(), full("127.0.0.1:0"));
    let plan = at(&listener, xfnts());
    turns.start(&plan);
    drop((accept(&listener), only)); // the next SYN finds room
    turns.wait();
    turns.pass(TIMEOUT.as_millis() + 7);
    turns.turn(&plan);
    assert_eq!(turns.answer().result, failed(100, Phase::Connect, Errno::TIMEDOUT));
    assert_eq!(turns.prober.in_flight(), 0);
    assert_eq!(accept(&listener).read(&mut [0]).expect("an orderly end"), 0);
    let limit = turns.reactor.timers.next().expect("a limit");
    assert_eq!(limit.since(turns.now), 2_000);
    turns.expire(&plan);
    assert!(turns.is_clean() && turns.answered().is_empty());
}

#[test]
fn each_address_has_the_whole_time_for_itself() {
    // req 0.20
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let one = at(&listener, xfnts());
    let targets = [one.targets[0].clone(), one.targets[0].clone()];
    let plan = CheckPlan { targets: targets.to_vec().into(), ..one };
    for target in 0..2 {
        let id = ProbeId { service: 0, check: 1, target, cycle: 0 };
        turns.prober.start(&mut turns.reactor, &plan, id, turns.now);
        turns.pass(3_000);
    }
    for target in 0..2 {
        turns.expire(&plan);
        let answer = turns.answer();
        assert_eq!((answer.id.target, answer.elapsed_ms), (target, TIMEOUT.as_millis()));
    }
}

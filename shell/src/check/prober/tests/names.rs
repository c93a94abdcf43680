//! Names, their addresses, and the want of both.

use super::*;

#[test]
fn an_address_that_refuses_costs_no_time() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let port = listener.local_addr().expect("its address").port();
    let plan = named("127.0.0.2+127.0.0.3+127.0.0.1", port, plain());
    turns.start(&plan);
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    assert!(turns.is_clean());
    turns.start(&plan); // from what is known by now
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    let chosen = turns.prober.chosen("127.0.0.2+127.0.0.3+127.0.0.1");
    assert_eq!(chosen, Some((IpAddr::from([127, 0, 0, 1]), 3)), "it can be shown");
    assert_eq!(turns.prober.chosen("another"), None);
}

#[test]
fn an_address_that_leads_nowhere_costs_250_ms() {
    let mut turns = Loop::new();
    let (_nowhere, listener, port) = full_beside(|port| TcpListener::bind(("127.0.0.1", port)));
    let plan = named("127.0.0.2+127.0.0.1", port, page(None));
    turns.start(&plan);
    turns.turn(&plan); // the name
    turns.expire(&plan);
    turns.turn(&plan); // the second attempt
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("sent");
    drop(stream);
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    assert_eq!(turns.now, Instant::from_millis(1_000_250));
    turns.settle(&plan);
}

#[test]
fn the_first_of_several_attempts_wins_and_the_others_are_closed() {
    let mut turns = Loop::new();
    let ((slow, only), nowhere, port) =
        full_beside(|port| TcpListener::bind(("127.0.0.3", port)).map(fill));
    let plan = named("127.0.0.2+127.0.0.3", port, page(None));
    turns.start(&plan);
    turns.turn(&plan);
    turns.expire(&plan);
    assert_eq!(turns.prober.slots.keys().count(), 3);
    drop((accept(&slow), only)); // the next SYN finds room
    turns.turn(&plan);
    let mut stream = accept_request(&slow, REQUEST);
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("sent");
    drop(stream);
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    turns.settle(&plan);
    drop(nowhere);
}

#[test]
fn a_name_all_of_whose_addresses_fail_fails_once() {
    let (mut turns, (plan, _fd)) = (Loop::new(), nobody("127.0.0.1:0"));
    let port = plan.targets[0].port;
    let refused = named("127.0.0.1+::1+127.0.0.2", port, plain());
    turns.start(&refused);
    assert_eq!(turns.run(&refused), failed(100, Phase::Connect, Errno::CONNREFUSED));
    assert!(turns.is_clean());

    let (nowhere, _only) = full("127.0.0.2:0");
    let port = nowhere.local_addr().expect("its address").port();
    let nowhere = named("127.0.0.2+127.0.0.3", port, plain());
    turns.start(&nowhere);
    turns.turn(&nowhere);
    turns.expire(&nowhere); // the second attempt is refused
    turns.expire(&nowhere); // the deadline
    let answer = turns.answer();
    assert_eq!(answer.result, failed(100, Phase::Connect, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, TIMEOUT.as_millis());
    assert!(turns.is_clean());
}

#[test]
fn a_name_that_does_not_resolve_cannot_be_measured() {
    let mut turns = Loop::new();
    let plan = named("none.test", 80, plain());
    turns.start(&plan);
    let cause = Cause::of_check(1, Phase::Resolve, code(Errno::NOENT));
    assert_eq!(turns.run(&plan), ProbeResult::CannotMeasure(cause));
    assert!(turns.is_clean());

    let weights = Weights { resolve: Some(Weight::HALF), ..Weights::DEFAULT };
    let mut plan = plan;
    plan.question_mut().weights = weights;
    turns.start(&plan);
    assert_eq!(turns.answer().result, failed(50, Phase::Resolve, Errno::NOENT));
}

#[test]
fn a_name_server_that_is_silent_costs_the_deadline_and_nobody_elses_time() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = named("later.test", 80, plain());
    turns.start(&plan);
    let other = at(&listener, plain());
    turns.start(&other);
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    turns.expire(&plan);
    let cause = Cause::of_check(1, Phase::Resolve, code(Errno::TIMEDOUT));
    assert_eq!(turns.answer().result, ProbeResult::CannotMeasure(cause));
    assert!(turns.is_clean() && turns.prober.waiting.is_empty());
}

//! What is sent and expected on a connection.

use super::*;

#[test]
fn what_comes_at_the_deadline_is_late_and_what_comes_after_the_answer_is_nothing() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, dialogue("", "ready"));
    turns.start(&plan);
    let mut stream = accept(&listener);
    stream.write_all(b"ready").expect("sent in time");
    turns.wait();
    let ready = turns.ready[0];
    turns.pass(TIMEOUT.as_millis());
    turns.turn(&plan);
    assert_eq!(turns.answer().result, failed(50, Phase::Read, Errno::TIMEDOUT));
    assert!(turns.is_clean());

    turns.prober.ready(&mut turns.reactor, &plan, ready, turns.now);
    turns.prober.due(&mut turns.reactor, &plan, ready.token, turns.now);
    assert!(turns.answered().is_empty());
    turns.start(&plan); // in the same place, with another generation
    turns.prober.ready(&mut turns.reactor, &plan, ready, turns.now);
    assert!(turns.answered().is_empty());
    assert_eq!(turns.prober.in_flight(), 1);
}

#[test]
fn a_server_that_accepts_and_is_silent_is_late() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    for kind in [page(None), dialogue("hello\r\n", "hi")] {
        let plan = at(&listener, kind);
        turns.start(&plan);
        turns.expire(&plan);
        assert_eq!(turns.answer().result, failed(50, Phase::Read, Errno::TIMEDOUT));
        assert!(turns.is_clean());
    }
}

#[test]
fn a_part_of_the_answer_at_the_deadline_is_a_partial_failure() {
    // req 1.23
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, dialogue("helo\r\n", "250 ok"));
    turns.start(&plan);
    let mut stream = accept_request(&listener, "helo\r\n");
    stream.write_all(b"250 ").expect("sent");
    turns.turn(&plan);
    turns.expire(&plan);
    assert_eq!(turns.answer().result, failed(50, Phase::Read, Errno::TIMEDOUT));
}

#[test]
fn a_dialogue_is_judged_by_what_is_expected() {
    let mut turns = Loop::new();
    let answers: [(&[u8], ProbeResult); 4] = [
        (b"220 mail ready\r\n", ProbeResult::Healthy),
        (b"554 no\r\n", failed_with(50, Phase::Answer, 0)),
        (b"22", failed(50, Phase::Read, Errno::NODATA)),
        (b"", failed(50, Phase::Read, Errno::NODATA)),
    ];
    for (answer, expected) in answers {
        let listener = listen("127.0.0.1:0");
        let plan = at(&listener, dialogue("", "220 "));
        turns.start(&plan);
        accept(&listener).write_all(answer).expect("sent");
        assert_eq!(turns.run(&plan), expected, "{answer:?}");
        assert!(turns.is_clean());
    }
}

#[test]
fn what_is_only_sent_arrives() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    turns.start(&at(&listener, dialogue("ping\n", "")));
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    assert!(turns.is_clean());
    let mut all = String::new();
    accept(&listener).read_to_string(&mut all).expect("an orderly end");
    assert_eq!(all, "ping\n");
}

#[test]
fn a_request_larger_than_the_socket_takes_is_sent_as_it_is_read() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let request = "x".repeat(16 << 20);
    let plan = at(&listener, dialogue(&request, "thanks"));
    turns.start(&plan);
    let mut stream = accept(&listener);
    let (mut read, mut buffer) = (0, vec![0; 1 << 20]);
    while read < request.len() {
        read += stream.read(&mut buffer).expect("a part");
        if read < request.len() {
            turns.reactor.wait(Some(Duration::ZERO), &mut turns.ready).expect("no error");
            for ready in std::mem::take(&mut turns.ready) {
                turns.prober.ready(&mut turns.reactor, &plan, ready, turns.now);
            }
        }
    }
    stream.write_all(b"thanks").expect("sent");
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
}

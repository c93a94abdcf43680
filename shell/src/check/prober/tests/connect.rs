//! Connections: made, refused, and neither.

use super::*;

#[test]
fn a_port_that_accepts_is_healthy_and_its_accept_never_sees_us() {
    // req 0.31 1.15 3.6
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, plain());
    let id = turns.start(&plan);
    let expected = Answer { id, result: ProbeResult::Healthy, elapsed_ms: 0, shown: 0 };
    assert_eq!(turns.answer(), expected);
    assert!(turns.is_clean());
    listener.set_nonblocking(true).expect("no blocking");
    assert_eq!(listener.accept().expect_err("nobody").kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_port_where_nobody_listens_is_a_complete_failure() {
    // req 0.29, 1.25
    let mut turns = Loop::new();
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let (plan, _fd) = nobody(address);
        turns.start(&plan);
        assert_eq!(turns.answer().result, failed(100, Phase::Connect, Errno::CONNREFUSED));
        assert!(turns.is_clean());
    }
}

#[test]
fn ipv6_is_as_good() {
    let (mut turns, listener) = (Loop::new(), listen("[::1]:0"));
    turns.start(&at(&listener, plain()));
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
}

#[test]
fn a_connection_that_is_not_made_in_time_is_a_complete_failure() {
    // req 0.32
    let (mut turns, (listener, _only)) = (Loop::new(), full("127.0.0.1:0"));
    let plan = at(&listener, plain());
    turns.start(&plan);
    assert_eq!(turns.prober.in_flight(), 1);
    turns.expire(&plan);
    let answer = turns.answer();
    assert_eq!(answer.result, failed(100, Phase::Connect, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, TIMEOUT.as_millis());
    assert!(turns.is_clean());
}

/// On loopback the kernel answers within `connect`. With a full queue it answers a second later,
/// as a network would: when the SYN is sent again.
#[test]
fn what_the_kernel_says_later_is_judged_the_same() {
    let mut turns = Loop::new();
    let queues = [(); 5].map(|()| full("127.0.0.1:0"));
    let kinds = [plain(), page(None), dialogue("", "220 "), plain(), page(None)];
    let plans = queues.iter().zip(kinds).map(|((listener, _), kind)| at(listener, kind));
    let plans = Plans(plans.collect());
    for check in 0..5 {
        let id = ProbeId { service: 0, check, target: 0, cycle: 0 };
        turns.prober.start(&mut turns.reactor, &plans, id, turns.now);
    }
    assert_eq!((turns.prober.in_flight(), turns.answered()), (5, Vec::new()));
    let [port, page, banner, closed, gone] = queues;
    drop((closed, gone));
    for (listener, _) in [&port, &page, &banner] {
        drop(accept(listener));
    }
    let mut results = vec![None; 5];
    let mut serve = |turns: &mut Loop, until: usize| {
        while results.iter().flatten().count() < until {
            turns.turn(&plans);
            for answer in turns.answered() {
                let before = results[usize::from(answer.id.check)].replace(answer.result);
                assert_eq!(before, None);
            }
        }
    };
    serve(&mut turns, 3);
    let response = b"HTTP/1.1 204 No Content\r\n\r\n";
    accept_request(&page.0, REQUEST).write_all(response).expect("sent");
    accept(&banner.0).write_all(b"220 ready").expect("sent");
    serve(&mut turns, 5);
    let refused = |check| {
        let cause = Cause::of_check(check, Phase::Connect, code(Errno::CONNREFUSED));
        Some(ProbeResult::Failed(Weight::COMPLETE, cause))
    };
    let healthy = Some(ProbeResult::Healthy);
    assert_eq!(results, [healthy, healthy, healthy, refused(3), refused(4)]);
    turns.settle(&plans);
}

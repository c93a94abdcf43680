//! Pages: their status, their body, and those that never end.

use super::*;

/// Serves one response in `pieces`, each read by the prober before the next is sent.
fn serve(turns: &mut Loop, plan: &CheckPlan, listener: &TcpListener, pieces: &[&[u8]]) {
    turns.start(plan);
    let mut stream = accept_request(listener, REQUEST);
    for piece in pieces {
        stream.write_all(piece).expect("sent");
        turns.turn(plan);
    }
}

#[test]
fn a_page_is_judged_by_its_status_and_its_body_across_reads() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    type Case<'a> = (Option<&'a str>, &'a [&'a [u8]], ProbeResult, u16);
    let cases: [Case<'_>; 5] = [
        (None, &[b"HTTP/1.1 204 No Content\r\n\r\n"], ProbeResult::Healthy, 204),
        (
            Some("all well"),
            &[b"HTTP/1.1 200 OK\r\nContent-Le", b"ngth: 8\r\n\r\nall", b" well"],
            ProbeResult::Healthy,
            200,
        ),
        (
            Some("all well"),
            &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nall ", b"\r\n4\r\nwell"],
            ProbeResult::Healthy,
            200,
        ),
        (None, &[b"HTTP/1.1 503 Busy\r\n\r\n"], failed_with(50, Phase::Answer, 503), 0),
        (None, &[b"what?"], failed_with(50, Phase::Answer, 0), 0),
    ];
    for (body, pieces, result, shown) in cases {
        let plan = at(&listener, page(body));
        serve(&mut turns, &plan, &listener, pieces);
        let answer = turns.answer();
        assert_eq!((answer.result, answer.shown), (result, shown));
    }
}

#[test]
fn half_a_page_is_cut_and_a_reset_in_the_middle_is_a_reset() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, page(None));
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
    serve(&mut turns, &plan, &listener, &[half]);
    assert_eq!(turns.run(&plan), failed(50, Phase::Read, Errno::NODATA));
    assert!(turns.is_clean());

    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(half).expect("sent");
    turns.turn(&plan);
    reset(stream);
    assert_eq!(turns.run(&plan), failed(50, Phase::Read, Errno::CONNRESET));
    assert!(turns.is_clean());
}

#[test]
fn a_page_that_comes_a_byte_at_a_time_without_end_stops_at_the_deadline() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let mut plan = at(&listener, page(None));
    plan.question_mut().timeout = Span::from_millis(50);
    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("sent");
    for _ in 0..50 {
        assert!(turns.answered().is_empty());
        turns.pass(1);
        stream.write_all(b".").expect("sent");
        turns.turn(&plan);
    }
    let answer = turns.answer();
    assert_eq!(answer.result, failed(50, Phase::Read, Errno::TIMEDOUT));
    assert_eq!(answer.elapsed_ms, 50);
    assert!(turns.is_clean());
}

#[test]
fn a_page_without_end_at_line_rate_stops_at_the_cap() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, page(Some("never there")));
    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    let server = std::thread::spawn(move || {
        let mut sent = stream.write(b"HTTP/1.1 200 OK\r\n\r\n").expect("sent");
        while let Ok(more) = stream.write(&[b'.'; 4096]) {
            sent += more;
        }
        sent
    });
    assert_eq!(turns.run(&plan), failed_with(50, Phase::Answer, 200));
    assert!(turns.is_clean());
    assert!(server.join().expect("its count") >= 256 * 1024);
}

/// Nobody waits for stray packets, and a server that keeps its connections keeps none of ours.
#[test]
fn nothing_is_left_of_a_connection_once_all_is_said() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, page(None));
    turns.start(&plan);
    let mut stream = accept_request(&listener, REQUEST);
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("sent");
    turns.turn(&plan);
    assert_eq!(turns.answer().result, ProbeResult::Healthy);
    assert!(turns.is_clean());
    let gone = stream.read(&mut [0]).expect_err("a reset");
    assert_eq!(gone.kind(), std::io::ErrorKind::ConnectionReset);
}

/// What Sun Cluster's monitors of web servers ask.
fn by_document() -> Kind {
    match page(None) {
        Kind::Http(plan) => {
            let method = Method::Head;
            Kind::Http(Box::new(HttpPlan { by_document: true, method, ..*plan }))
        }
        other => other,
    }
}

/// The documents' complete failures of a web server besides a connection that is refused: the time
/// is up after trying to connect; the request cannot be sent.
#[test]
fn a_web_server_that_takes_no_connection_or_no_request_is_a_complete_failure() {
    // req 1.49 1.50 1.123 1.124
    let (mut turns, (queue, _only)) = (Loop::new(), full("127.0.0.1:0"));
    let plan = at(&queue, by_document());
    turns.start(&plan);
    turns.expire(&plan);
    assert_eq!(turns.answer().result, failed(100, Phase::Connect, Errno::TIMEDOUT));

    // It is connected, and gone before we have said a word.
    let listener = listen("127.0.0.1:0");
    let plan = at(&listener, by_document());
    let id = ProbeId { service: 0, check: 1, target: 0, cycle: 7 };
    turns.prober.start(&mut turns.reactor, &plan, id, turns.now);
    reset(accept(&listener));
    assert_eq!(turns.run(&plan), failed(100, Phase::Send, Errno::CONNRESET));
    assert!(turns.is_clean());

    // It never takes the whole of it.
    let request = "/".to_owned() + &"x".repeat(16 << 20);
    let Kind::Http(small) = by_document() else { return };
    let long = Kind::Http(Box::new(HttpPlan { path: request.into(), ..*small }));
    let plan = at(&listener, long);
    turns.start(&plan);
    turns.expire(&plan);
    assert_eq!(turns.answer().result, failed(100, Phase::Send, Errno::TIMEDOUT));
}

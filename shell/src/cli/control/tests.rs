use super::super::testing::{Answer, Daemon};
use super::*;

const SOON: Duration = Duration::from_millis(300);

fn asked(daemon: &Daemon) -> Result<Vec<u8>, ControlError> {
    Control::new(daemon.socket()).get("/status.json", SOON)
}

#[test]
fn a_body_ends_with_its_length_or_with_the_connection() {
    assert_eq!(asked(&Daemon::always(Answer::http(200, "{}"))).expect("answered"), b"{}");
    let open = Answer::raw("HTTP/1.1 200 OK\r\n\r\n{}");
    assert_eq!(asked(&Daemon::always(open)).expect("answered"), b"{}");
    let more = Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{} and more");
    assert_eq!(asked(&Daemon::always(more)).expect("answered"), b"{}");
}

#[test]
fn a_request_is_plain_http() {
    let daemon = Daemon::always(Answer::http(200, "{}"));
    let control = Control::new(daemon.socket());
    control.post("/command", b"{\"verb\":\"clear\"}", SOON).expect("answered");
    let request = daemon.requests().remove(0);
    assert!(request.starts_with("POST /command HTTP/1.1\r\nHost: giveover\r\n"), "{request}");
    for field in ["Connection: close", "Content-Length: 16"] {
        assert!(request.contains(&format!("\r\n{field}\r\n")), "{request}");
    }
    assert!(request.ends_with("\r\n\r\n{\"verb\":\"clear\"}"), "{request}");
}

/// One byte at a time keeps no client longer than its limit: all of them would take longer.
#[test]
fn a_slow_answer_ends_at_the_limit() {
    let slow = Answer::http(200, "{}").slowly(Duration::from_millis(50));
    assert!(matches!(asked(&Daemon::always(slow)), Err(ControlError::Slow(_))));
}

#[test]
fn an_answer_that_ends_early_is_cut() {
    for cut in
        ["", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"]
    {
        let result = asked(&Daemon::always(Answer::raw(cut)));
        assert!(matches!(result, Err(ControlError::Cut)), "{cut:?}: {result:?}");
    }
}

#[test]
fn garbage_is_an_error_with_words() {
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(100_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(1000));
    let garbage = [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "\0\u{1}\u{2}",
        endless.as_str(),
        many.as_str(),
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ];
    for bytes in garbage {
        let result = asked(&Daemon::always(Answer::raw(bytes)));
        assert!(matches!(result, Err(ControlError::Garbage(_))), "{bytes:.40?}: {result:?}");
    }
}

#[test]
fn an_oversized_answer_is_not_read() {
    let huge = Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
    assert!(matches!(asked(&Daemon::always(huge)), Err(ControlError::TooLarge)));
}

#[test]
fn a_refusal_carries_its_words_and_no_control_characters() {
    let reply = Answer::http(404, r#"{"error":"no service `x`"}"#);
    let Err(ControlError::Status(404, said)) = asked(&Daemon::always(reply)) else {
        panic!("refused")
    };
    assert_eq!(said, "no service `x`");
    let Err(ControlError::Status(500, said)) =
        asked(&Daemon::always(Answer::http(500, "\u{1b}[2Jsorry")))
    else {
        panic!("refused")
    };
    assert_eq!(said, "[2Jsorry");
    let Err(ControlError::Status(403, said)) = asked(&Daemon::always(Answer::http(403, ""))) else {
        panic!("refused")
    };
    assert_eq!(said, "no reason given");
}

#[test]
fn a_socket_that_is_not_there_and_one_that_nobody_holds_are_told_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let get = |name: &str| Control::new(directory.path().join(name)).get("/", SOON);
    assert!(matches!(get("none.sock"), Err(ControlError::NoSocket)));
    drop(std::os::unix::net::UnixListener::bind(directory.path().join("left.sock")));
    assert!(matches!(get("left.sock"), Err(ControlError::NotListening)));
    assert!(matches!(get(&"x".repeat(200)), Err(ControlError::Io(_))));
}

/// A daemon that is stopped accepts nothing: once its queue is full, connecting takes the limit.
#[test]
fn a_stopped_daemon_does_not_hold_us() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("control.sock");
    let address = SocketAddrUnix::new(&path).expect("an address");
    let flags = SocketFlags::CLOEXEC;
    let listener = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .expect("a socket");
    rustix::net::bind(&listener, &address).expect("bound");
    rustix::net::listen(&listener, 0).expect("listening");
    let first = UnixStream::connect(&path).expect("queued");
    let result = Control::new(path).get("/status.json", SOON);
    assert!(matches!(result, Err(ControlError::Slow(_))), "{result:?}");
    drop(first);
}

#[test]
fn events_come_one_by_one_and_comments_are_nothing() {
    let event = |seq: u32| {
        format!(r#"{{"seq":{seq},"at":"","level":"","event":"","service":"web","text":"t"}}"#)
    };
    let daemon = Daemon::new(move |_| {
        let mut blocks = vec![event(1)];
        blocks.push(format!("{}\n\n: still here", event(2)));
        Answer::stream(&blocks)
    });
    let mut stream = Control::new(daemon.socket()).follow("/events").expect("a stream");
    let mut seen = Vec::new();
    let end = loop {
        match stream.receive() {
            Ok(events) => seen.extend(events.into_iter().map(|event| event.seq)),
            Err(error) => break error,
        }
    };
    assert_eq!(seen, [1, 2]);
    assert!(matches!(end, ControlError::Cut));
}

#[test]
fn a_stream_of_garbage_ends() {
    for garbage in [String::from("no json"), "x".repeat(400_000)] {
        let daemon = Daemon::always(Answer::stream(&[garbage]));
        let mut stream = Control::new(daemon.socket()).follow("/events").expect("a stream");
        let end = loop {
            match stream.receive() {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(end, ControlError::Garbage(_) | ControlError::TooLarge), "{end:?}");
    }
}

#[test]
fn a_stream_that_is_refused_says_why() {
    let daemon = Daemon::always(Answer::http(404, "no service `x`"));
    let result = Control::new(daemon.socket()).follow("/events?service=x");
    assert!(matches!(result, Err(ControlError::Status(404, said)) if said == "no service `x`"));
}

//! Every protocol on a connection against a server that garbles, stops in the middle, never ends,
//! dawdles or hangs up: verdict, weight, phase and cause.

use std::net::SocketAddr;
use std::time::Duration;

use giveover_tests::faults::nobody;
use giveover_tests::faults::{Fault, serve};
use giveover_tests::probing::{probe, row, tell};

/// A kind.
struct Kind {
    word: &'static str,
    /// Its keys besides the URL.
    keys: &'static str,
    /// All that a healthy server says.
    healthy: &'static [u8],
    /// Said over and over it has no end.
    endless: &'static [u8],
    /// What an answer weighs that is wrong.
    wrong: u8,
    /// What one weighs that is cut short, or whose connection is reset.
    cut: u8,
}

const fn kind(word: &'static str, healthy: &'static [u8], endless: &'static [u8]) -> Kind {
    Kind { word, keys: "", healthy, endless, wrong: 50, cut: 50 }
}

const fn with(keys: &'static str, kind: Kind) -> Kind {
    Kind { keys, ..kind }
}

const KINDS: [Kind; 18] = [
    kind("smtp", b"220-mail\r\n220 ready\r\n", b"220-more\r\n"),
    kind("pop3", b"+OK ready\r\n", b"+OK and on"),
    kind("imap", b"* OK ready\r\n", b"* OK "),
    kind("ftp", b"220-files\r\n free text\r\n220 ready\r\n", b"220-more\r\n"),
    kind("nntp", b"201 reading only\r\n", b"220-more\r\n"),
    kind("telnet", b"\xff\xfb\x25\xff\xfd", b"\xff\xfb\x01text"),
    kind("redis", b"+PONG\r\n", b"+PONG"),
    kind("mqtt", b"\x20\x02\x00\x00", b"\x20\x02\x01"),
    kind(
        "ldap",
        b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00",
        b"\x30\x03\x02\x01\x01",
    ),
    kind(
        "postgres",
        b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I\
          T\0\0\0\x06\0\0D\0\0\0\x06\0\0C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
        b"N\0\0\0\x06x\0",
    ),
    with(", send = \"?\", expect = \"ready\"", kind("tcp", b"ready", b"and on ")),
    kind("http", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 "),
    kind("apache", b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 "),
    kind("iplanet", b"HTTP/1.1 500 Server Error\r\n\r\n", b"HTTP/1.1 "),
    // The document's: everything but lateness is a whole failure.
    Kind {
        wrong: 100,
        cut: 100,
        ..kind(
            "directory",
            b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00\
              \x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x00\x04\x00\x04\x00",
            b"\x30\x03\x02\x01\x01",
        )
    },
    with(
        ", transport = \"tcp\", name = \"localhost\"",
        kind(
            "dns",
            b"\0\x1bgo\x81\x80\0\x01\0\0\0\0\0\0\x09localhost\0\0\x01\0\x01",
            b"\0\x1bgo\x81\x80\0\x01\0\0\0\0\0\0\x09elsewhere\0\0\x01\0\x01",
        ),
    ),
    with(
        ", transport = \"tcp\"",
        kind(
            "rpc",
            b"\x80\0\0\x18\x67\x6f\x67\x6f\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            b"\0\0\0\x01\x67",
        ),
    ),
    // Who is asked has counted already: what it says of a service is a whole failure.
    Kind {
        wrong: 100,
        ..with(
            ", service = \"web\"",
            kind(
                "remote",
                b"HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n\
                  {\"services\":[{\"name\":\"web\",\"status\":\"ok\"}]}",
                b"HTTP/1.1 ",
            ),
        )
    },
];

const PATIENT_MS: u32 = 20_000;

fn cut(kind: &Kind) -> String {
    format!("{} read answer cut short", kind.cut)
}

fn check(Kind { word, keys, .. }: &Kind, address: SocketAddr) -> String {
    format!("{{ url = \"{word}://{address}\"{keys} }}")
}

fn nonsense(kind: &Kind) -> String {
    format!("{} answer wrong answer", kind.wrong)
}

fn each(
    situation: &str,
    timeout_ms: u32,
    wanted: impl Fn(&Kind) -> String,
    fault: impl Fn(&Kind) -> Fault,
) {
    for kind in &KINDS {
        let check = check(kind, serve(fault(kind)));
        row(kind.word, "stand-in", situation, &check, timeout_ms, &wanted(kind));
    }
}

/// What is no answer at all.
fn each_nonsense(situation: &str, fault: impl Fn(&Kind) -> Fault) {
    each(situation, PATIENT_MS, nonsense, fault);
}

fn speaks_http(kind: &Kind) -> bool {
    matches!(kind.word, "http" | "apache" | "iplanet" | "remote")
}

#[test]
fn what_is_whole_is_healthy_also_when_it_comes_byte_by_byte() {
    let healthy = |_: &Kind| String::from("healthy");
    each("whole", PATIENT_MS, healthy, |kind| Fault::Says(kind.healthy.to_vec()));
    each("byte by byte", PATIENT_MS, healthy, |kind| {
        Fault::Slow(kind.healthy.to_vec(), Duration::from_millis(1))
    });
}

#[test]
fn an_answer_that_ends_too_early_weighs_the_same_wherever_it_ends() {
    for kind in &KINDS {
        let cut = cut(kind);
        for length in 0..kind.healthy.len() {
            let said = kind.healthy[..length].to_vec();
            let found = probe(&check(kind, serve(Fault::Says(said))), PATIENT_MS);
            assert_eq!(found.verdict, cut, "{}, {length} bytes: {found:#?}", kind.word);
        }
        tell(kind.word, "stand-in", "cut at every byte", &cut, None);
    }
}

#[test]
fn garbage_is_no_answer() {
    each_nonsense("garbage", |kind| {
        Fault::Says(match kind.word {
            // Anything may come before IAC DO, so it is known only by the end.
            "telnet" => b"SSH-2.0-OpenSSH\r\n\0\x01\x02".to_vec(),
            _ => b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03garbage".to_vec(),
        })
    });
    each_nonsense("another protocol", |kind| {
        Fault::Says(match speaks_http(kind) {
            true => b"SSH-2.0-OpenSSH\r\n".to_vec(),
            false => b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".to_vec(),
        })
    });
}

#[test]
fn an_endless_answer_is_no_answer_and_ends() {
    each_nonsense("endless", |kind| Fault::Endless(kind.endless.to_vec()));
}

#[test]
fn an_answer_that_dawdles_is_late() {
    let late = |ms: &'static str| move |_: &Kind| format!("50 read no answer in {ms}s");
    each("a byte a second", 500, late("0.5"), |kind| {
        Fault::Slow(kind.healthy.to_vec(), Duration::from_secs(1))
    });
    each("silent", 200, late("0.2"), |_| Fault::Silent);
}

#[test]
fn a_server_that_hangs_up_has_cut_its_answer_short_and_one_that_is_not_there_a_whole_one() {
    each("closed at once", PATIENT_MS, cut, |_| Fault::Says(Vec::new()));
    let reset = |kind: &Kind| format!("{} read connection reset", kind.cut);
    each("reset", PATIENT_MS, reset, |_| Fault::Resets);
    for kind in &KINDS {
        let (_taken, nobody) = nobody();
        let check = check(kind, nobody);
        row(kind.word, "nobody", "refused", &check, PATIENT_MS, "100 connect refused");
    }
}

/// The monitor of a database, let in and asked for its counters: garbled, cut short at every byte,
/// endless, slow, hung up on.
#[test]
fn the_monitor_of_a_database_is_answered_or_it_is_not() {
    const LET_IN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
    const COUNTERS: &[u8] =
        b"T\0\0\0\x06\0\0D\0\0\0\x10\0\x02\0\0\0\x01f\0\0\0\x017C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    let healthy = [LET_IN, COUNTERS].concat();
    let check = |address: SocketAddr| {
        format!("{{ url = \"postgres://u@{address}/d\", connect_cycle = 5 }}")
    };
    let each = |situation: &str, fault: Fault, limit: u32, wanted: &str| {
        let check = check(serve(fault));
        row("postgres", "stand-in", &format!("monitor: {situation}"), &check, limit, wanted);
    };
    let cut = "50 read answer cut short";
    each("whole", Fault::Says(healthy.clone()), PATIENT_MS, "healthy");
    let slowly = Fault::Slow(healthy.clone(), Duration::from_millis(1));
    each("byte by byte", slowly, PATIENT_MS, "healthy");
    for length in 0..healthy.len() {
        let said = healthy[..length].to_vec();
        let found = probe(&check(serve(Fault::Says(said))), PATIENT_MS);
        assert_eq!(found.verdict, cut, "{length} bytes: {found:#?}");
    }
    tell("postgres", "stand-in", "monitor: cut at every byte", cut, None);
    let wrong = "50 answer wrong answer";
    let garbage = b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03garbage".to_vec();
    each("garbage", Fault::Says(garbage.clone()), PATIENT_MS, wrong);
    let inside = [LET_IN, &garbage].concat();
    each("garbage, once let in", Fault::Says(inside), PATIENT_MS, wrong);
    each("endless", Fault::Endless(b"N\0\0\0\x06x\0".to_vec()), PATIENT_MS, wrong);
    let late = Fault::Slow(healthy, Duration::from_secs(1));
    each("a byte a second", late, 500, "50 read no answer in 0.5s");
    each("silent", Fault::Silent, 200, "50 read no answer in 0.2s");
    each("reset", Fault::Resets, PATIENT_MS, "50 read connection reset");
    let (_taken, nobody) = nobody();
    row(
        "postgres",
        "nobody",
        "monitor: refused",
        &check(nobody),
        PATIENT_MS,
        "100 connect refused",
    );
}

//! Every protocol of a few bytes against a server that garbles, stops in the middle, never ends,
//! dawdles or hangs up: verdict, weight, phase and cause.

use std::net::SocketAddr;
use std::time::Duration;

use giveover_tests::faults::nobody;
use giveover_tests::faults::{Fault, serve};
use giveover_tests::probing::{probe, row};

/// A kind, and all that a healthy server says.
const KINDS: [(&str, &[u8]); 10] = [
    ("smtp", b"220-mail\r\n220 ready\r\n"),
    ("pop3", b"+OK ready\r\n"),
    ("imap", b"* OK ready\r\n"),
    ("ftp", b"220-files\r\n free text\r\n220 ready\r\n"),
    ("nntp", b"201 reading only\r\n"),
    ("telnet", b"\xff\xfb\x25\xff\xfd"),
    ("redis", b"+PONG\r\n"),
    ("mqtt", b"\x20\x02\x00\x00"),
    ("ldap", b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00"),
    (
        "postgres",
        b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I\
          T\0\0\0\x06\0\0D\0\0\0\x06\0\0C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I",
    ),
];

const PATIENT_MS: u32 = 20_000;
const CUT: &str = "50 read answer cut short";
const NONSENSE: &str = "50 answer wrong answer";

fn url(kind: &str, address: SocketAddr) -> String {
    format!("{{ url = \"{kind}://{address}\" }}")
}

fn each(situation: &str, timeout_ms: u32, wanted: &str, fault: impl Fn(&str, &[u8]) -> Fault) {
    for (kind, healthy) in KINDS {
        let check = url(kind, serve(fault(kind, healthy)));
        row(kind, "stand-in", situation, &check, timeout_ms, wanted);
    }
}

#[test]
fn what_is_whole_is_healthy_also_when_it_comes_byte_by_byte() {
    each("whole", PATIENT_MS, "healthy", |_, bytes| Fault::Says(bytes.to_vec()));
    each("byte by byte", PATIENT_MS, "healthy", |_, bytes| {
        Fault::Slow(bytes.to_vec(), Duration::from_millis(1))
    });
}

#[test]
fn an_answer_that_ends_too_early_is_half_a_failure_wherever_it_ends() {
    for (kind, healthy) in KINDS {
        for length in 0..healthy.len() {
            let found =
                probe(&url(kind, serve(Fault::Says(healthy[..length].to_vec()))), PATIENT_MS);
            assert_eq!(found.verdict, CUT, "{kind}, {length} bytes: {found:#?}");
        }
        println!("{kind:<9} {:<12} {:<22} {CUT}", "stand-in", "cut at every byte");
    }
}

#[test]
fn garbage_is_half_a_failure() {
    let garbage = |kind: &str| match kind {
        // Anything may come before IAC DO, so it is known only by the end.
        "telnet" => b"SSH-2.0-OpenSSH\r\n\0\x01\x02".to_vec(),
        _ => b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03garbage".to_vec(),
    };
    each("garbage", PATIENT_MS, NONSENSE, |kind, _| Fault::Says(garbage(kind)));
    each("another protocol", PATIENT_MS, NONSENSE, |_, _| {
        Fault::Says(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".to_vec())
    });
}

#[test]
fn an_endless_answer_is_half_a_failure_and_ends() {
    each("endless", PATIENT_MS, NONSENSE, |kind, _| {
        Fault::Endless(match kind {
            "smtp" | "ftp" | "nntp" => b"220-more\r\n".to_vec(),
            "pop3" => b"+OK and on".to_vec(),
            "imap" => b"* OK ".to_vec(),
            "telnet" => b"\xff\xfb\x01text".to_vec(),
            "redis" => b"+PONG".to_vec(),
            "mqtt" => b"\x20\x02\x01".to_vec(),
            "ldap" => b"\x30\x03\x02\x01\x01".to_vec(),
            _ => b"N\0\0\0\x06x\0".to_vec(),
        })
    });
}

#[test]
fn an_answer_that_dawdles_is_late() {
    each("a byte a second", 500, "50 read no answer in 0.5s", |_, bytes| {
        Fault::Slow(bytes.to_vec(), Duration::from_secs(1))
    });
    each("silent", 200, "50 read no answer in 0.2s", |_, _| Fault::Silent);
}

#[test]
fn a_server_that_hangs_up_is_half_a_failure_and_one_that_is_not_there_a_whole_one() {
    each("closed at once", PATIENT_MS, CUT, |_, _| Fault::Says(Vec::new()));
    each("reset", PATIENT_MS, "50 read connection reset", |_, _| Fault::Resets);
    for (kind, _) in KINDS {
        let (_taken, nobody) = nobody();
        row(kind, "nobody", "refused", &url(kind, nobody), PATIENT_MS, "100 connect refused");
    }
}

//! Sessions with a server in memory: the verdict must not depend on how bytes were cut.

use std::io::{Read, Write};
use std::sync::Arc;

use giveover_core::failure::Phase;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::{HelloDialogue, Note, Session, Trusted, hello};
use crate::check::outcome::{Outcome, Step};
use crate::check::testing::Random;
use crate::config::plan::{HttpPlan, Kind, Method};
use crate::config::talk::{BannerPlan, Greets, Talk};
use crate::config::tls::{Opening, TlsPlan, Trust, Written};
use crate::message::tls;

const PEM: &[u8] = include_bytes!("tests.pem");

fn server(version: &'static SupportedProtocolVersion) -> ServerConnection {
    let certificates: Vec<_> =
        CertificateDer::pem_slice_iter(PEM).collect::<Result<_, _>>().expect("certificates");
    let key = PrivateKeyDer::from_pem_slice(PEM).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .expect("a configuration");
    ServerConnection::new(Arc::new(config)).expect("a connection")
}

fn plan(inner: Option<Kind>, opening: Opening) -> TlsPlan {
    TlsPlan {
        written: Written::Inner,
        inner,
        opening,
        trust: Trust::Anybody,
        name: None,
        min_valid: None,
    }
}

fn http() -> Kind {
    Kind::Http(Box::new(HttpPlan {
        by_document: false,
        method: Method::Get,
        path: "/".into(),
        host: "localhost".into(),
        expect: vec![(200, 399)],
        body: None,
        cap: 1 << 16,
    }))
}

fn talk(talk: Talk) -> Option<Kind> {
    Some(Kind::Talk(Box::new(talk)))
}

fn greets(greets: Greets) -> Option<Kind> {
    talk(Talk::Banner(BannerPlan { greets, expect: vec![(220, 220)], ehlo: None }))
}

/// A step of what a server does: once it has heard this, it says that.
type Turn = (&'static str, &'static [u8]);

/// What is played against a session.
struct Play {
    plan: TlsPlan,
    /// Before TLS.
    clear: &'static [Turn],
    /// Inside.
    inside: &'static [Turn],
    expected: Outcome,
}

/// Plays it with the server's bytes in pieces of `cut`; the verdict, and what was written down.
fn play(play: &Play, version: &'static SupportedProtocolVersion, cut: usize) -> (Outcome, String) {
    let mut trusted = Trusted::default();
    let config = trusted.config(&play.plan.trust).expect("a configuration");
    let name = ServerName::try_from("localhost").expect("a name");
    let mut session = Session::begin(&play.plan, config, name, true).expect("a session");
    let mut notes = session.notes();
    let mut server = server(version);
    let (mut clear, mut inside) = (play.clear.iter(), play.inside.iter());
    let mut sent = session.words().to_vec();
    let mut heard = Vec::new();
    let mut said = Vec::new();
    loop {
        if play.plan.opening != Opening::AtOnce && said.len() < play.clear.len() {
            let (_, words) = clear.next().expect("a turn");
            said.push(*words);
            sent.clear();
            let verdict = feed(&mut session, &play.plan, words, cut, &mut sent, &mut notes);
            if let Some(outcome) = verdict {
                return (outcome, written(&notes));
            }
            continue;
        }
        let mut bytes = &sent[..];
        while !bytes.is_empty() {
            server.read_tls(&mut bytes).expect("memory");
            let _ = server.process_new_packets();
            let mut piece = [0; 1024];
            while let Ok(length @ 1..) = server.reader().read(&mut piece) {
                heard.extend_from_slice(&piece[..length]);
            }
        }
        sent.clear();
        if !server.is_handshaking() {
            let mut next = inside.clone();
            while let Some((wanted, words)) = next.next() {
                if !String::from_utf8_lossy(&heard).contains(wanted) {
                    break;
                }
                server.writer().write_all(words).expect("memory");
                heard.clear();
                inside = next.clone();
            }
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).expect("memory");
        }
        if bytes.is_empty() {
            return (session.on_close(&play.plan), written(&notes));
        }
        let verdict = feed(&mut session, &play.plan, &bytes, cut, &mut sent, &mut notes);
        if let Some(outcome) = verdict {
            return (outcome, written(&notes));
        }
    }
}

fn feed(
    session: &mut Session,
    plan: &TlsPlan,
    bytes: &[u8],
    cut: usize,
    sent: &mut Vec<u8>,
    notes: &mut Vec<Note>,
) -> Option<Outcome> {
    for piece in bytes.chunks(cut) {
        let step = session.on_bytes(plan, piece);
        sent.extend_from_slice(session.words());
        notes.extend(session.notes());
        match step {
            Step::More | Step::Say => {}
            Step::Done { outcome, .. } | Step::Leave { outcome, .. } => return Some(outcome),
        }
    }
    None
}

/// All that was said, and each that was heard; how much of it at once is the wire's business.
fn written(notes: &[Note]) -> String {
    notes.iter().fold(String::new(), |text, note| match note {
        Note::Said(bytes) => text + &format!("<{}>", String::from_utf8_lossy(bytes)),
        Note::Heard(bytes) => text + &String::from_utf8_lossy(bytes),
        Note::Shaken(shaken) => text + &format!("[{}]", shaken.split(',').next().unwrap_or("")),
    })
}

const fn failed(code: u16) -> Outcome {
    Outcome::Failed { phase: Phase::Tls, code }
}

fn healthy(shown: u16) -> Outcome {
    Outcome::Healthy { shown }
}

fn plays() -> Vec<Play> {
    let mut all = Vec::new();
    let mut add = |plan, clear, inside, expected| {
        all.push(Play { plan, clear, inside, expected });
    };
    const OK: &[Turn] = &[("\r\n\r\n", b"HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nhi")];
    const BUSY: &[Turn] = &[("\r\n\r\n", b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")];
    const CUT: &[Turn] = &[("\r\n\r\n", b"HTTP/1.1 200 Fine\r\nContent-Le")];
    const BOUND: &[Turn] = &[("", b"0\x0c\x02\x01\x01a\x07\x0a\x01\0\x04\0\x04\0")];
    const EXTENDED: &[u8] = b"0\x0c\x02\x01\x01x\x07\x0a\x01\0\x04\0\x04\0";
    let ldap = || talk(Talk::Ldap { base: None, expect: vec![(0, 0)], login: None });
    let smtp = || plan(greets(Greets::Smtp), Opening::Smtp("me".into()));
    let imap = || plan(talk(Talk::Imap { preauth: false }), Opening::Imap);
    let at_once = |inner| plan(inner, Opening::AtOnce);
    add(at_once(Some(http())), &[], OK, healthy(200));
    add(at_once(Some(http())), &[], BUSY, Outcome::wrong(503));
    add(at_once(Some(http())), &[], CUT, Outcome::cut());
    add(at_once(greets(Greets::Smtp)), &[], &[("", b"220-a\r\n220 b\r\n")], healthy(220));
    add(at_once(talk(Talk::Telnet)), &[], &[("", b"\xff\xfd\x01")], healthy(0));
    add(at_once(ldap()), &[], BOUND, healthy(0));
    add(at_once(None), &[], &[], healthy(tls::MOST_DAYS));
    const TO_TLS: &[Turn] =
        &[("", b"220 hi\r\n"), ("", b"250-me\r\n250 STARTTLS\r\n"), ("", b"220 go\r\n")];
    add(smtp(), TO_TLS, &[("EHLO", b"250-me\r\n250 SIZE\r\n")], healthy(250));
    add(smtp(), TO_TLS, &[("EHLO", b"421 busy\r\n")], Outcome::wrong(421));
    add(
        smtp(),
        &[("", b"220 hi\r\n"), ("", b"250 me\r\n"), ("", b"454 no\r\n")],
        &[],
        Outcome::wrong(454),
    );
    add(smtp(), &[("", b"554 no\r\n")], &[], Outcome::wrong(554));
    let pop3 = || plan(talk(Talk::Pop3), Opening::Pop3);
    add(pop3(), &[("", b"+OK\r\n"), ("", b"+OK go\r\n")], &[("QUIT", b"+OK\r\n")], healthy(0));
    add(pop3(), &[("", b"+OK\r\n"), ("", b"-ERR no\r\n")], &[], Outcome::wrong(1));
    let agreed: &[Turn] = &[("", b"* OK hi\r\n"), ("", b"* CAPABILITY x\r\na1 OK go\r\n")];
    add(imap(), agreed, &[("LOGOUT", b"* BYE\r\na2 OK\r\n")], healthy(0));
    add(imap(), &[("", b"* OK hi\r\n"), ("", b"a1 BAD no\r\n")], &[], Outcome::wrong(5));
    let ftp = plan(greets(Greets::Ftp), Opening::Ftp);
    add(
        ftp,
        &[("", b"220 hi\r\n"), ("", b"234 go\r\n")],
        &[("QUIT", b"221 bye\r\n")],
        healthy(221),
    );
    let starttls = || plan(ldap(), Opening::Ldap);
    add(starttls(), &[("", EXTENDED)], BOUND, healthy(0));
    add(
        starttls(),
        &[("", b"0\x0c\x02\x01\x01x\x07\x0a\x01\x02\x04\0\x04\0")],
        &[],
        Outcome::wrong(2),
    );
    let postgres = || plan(talk(Talk::Redis { expect: vec![1], login: None }), Opening::Postgres);
    add(postgres(), &[("", b"S")], &[("PING", b"+PONG\r\n")], healthy(0));
    add(postgres(), &[("", b"N")], &[], failed(tls::REFUSED));
    add(postgres(), &[("", b"E")], &[], Outcome::wrong(0));
    all
}

#[test]
fn the_verdict_does_not_depend_on_the_cuts() {
    for one in plays() {
        for version in [&TLS12, &TLS13] {
            let whole = play(&one, version, usize::MAX);
            assert_eq!(whole.0, one.expected, "{:?}: {}", one.plan, whole.1);
            for cut in [1, 2, 3, 5, 7, 64, 100, 1000] {
                assert_eq!(play(&one, version, cut), whole, "{:?} by {cut}", one.plan);
            }
        }
    }
}

#[test]
fn a_certificate_that_is_valid_for_long_is_no_failure() {
    let with = |turns: &'static [Turn], least| {
        let mut plan = plan(Some(http()), Opening::AtOnce);
        plan.min_valid = Some(least);
        play(&Play { plan, clear: &[], inside: turns, expected: failed(0) }, &TLS13, 99).0
    };
    const OK: &[Turn] = &[("\r\n\r\n", b"HTTP/1.1 204 Fine\r\n\r\n")];
    // The certificate of these tests is valid for a century.
    assert_eq!(with(OK, 10 * 366 * 86_400), healthy(204));
}

#[test]
fn what_is_no_tls_is_known_at_the_first_wrong_byte() {
    let plan = plan(Some(http()), Opening::AtOnce);
    let verdict = |bytes: &[u8]| {
        let config = Trusted::default().config(&plan.trust).expect("a configuration");
        let name = ServerName::try_from("localhost").expect("a name");
        let mut session = Session::begin(&plan, config, name, false).expect("a session");
        let mut whole = None;
        let mut words = Vec::new();
        for byte in bytes {
            let step = session.on_bytes(&plan, &[*byte]);
            words.extend_from_slice(session.words());
            if let Step::Done { outcome, .. } | Step::Leave { outcome, .. } = step {
                whole = Some(outcome);
                break;
            }
        }
        whole.unwrap_or_else(|| session.on_close(&plan))
    };
    assert_eq!(verdict(b"HTTP/1.1 400 Bad\r\n"), failed(tls::NOT_TLS));
    assert_eq!(verdict(b"\x16\x02"), failed(tls::NOT_TLS));
    assert_eq!(verdict(b"\x16\x03\x03\xff\xff"), failed(tls::NOT_TLS));
    assert_eq!(verdict(b"\x15\x03\x03\0\x02\x02\x28"), failed(tls::ALERT + 40));
    let nodata = rustix::io::Errno::NODATA.raw_os_error() as u16;
    assert_eq!(verdict(b""), failed(nodata));
    assert_eq!(verdict(b"\x16\x03\x03\0\x30\x02"), failed(nodata));
    assert_eq!(verdict(b"\x16\x03\x03\0\x04\x02\xff\xff\xff"), failed(tls::BROKEN));
    // Whatever comes, it ends and does not panic.
    let mut random = Random::new(4);
    for _ in 0..500 {
        let mut bytes = vec![22, 3, 3, 0, random.below(64) as u8];
        bytes.extend((0..80).map(|_| random.below(256) as u8));
        verdict(&bytes);
    }
}

/// A ServerHello of 40 bytes, in one record and in two.
fn server_hello() -> Vec<u8> {
    let mut bytes = vec![22, 3, 3, 0, 44, 2, 0, 0, 40];
    bytes.extend([3; 40]);
    bytes
}

#[test]
fn a_hello_is_answered_by_a_hello_however_it_is_cut() {
    let verdict = |bytes: &[u8], cut: usize| {
        let mut dialogue = HelloDialogue::default();
        for piece in bytes.chunks(cut) {
            match dialogue.on_bytes(piece) {
                Step::Leave { outcome, .. } | Step::Done { outcome, .. } => return Some(outcome),
                Step::More | Step::Say => {}
            }
        }
        None
    };
    let whole = server_hello();
    let two = [&[22, 3, 3, 0, 9], &whole[5..14], &[22, 3, 3, 0, 35], &whole[14..]].concat();
    let cases = [
        (whole.clone(), Some(healthy(0))),
        ([&whole[..], b"certificate"].concat(), Some(healthy(0))),
        (two, Some(healthy(0))),
        (b"\x15\x03\x01\0\x02\x02\x46".to_vec(), Some(failed(tls::ALERT + 70))),
        (b"\x15\x03\x01\0\x02\x01\x70".to_vec(), Some(failed(tls::ALERT + 112))),
        (b"\x15\x03\x01\0\x03".to_vec(), Some(failed(tls::NOT_TLS))),
        (b"HTTP/1.1 400".to_vec(), Some(failed(tls::NOT_TLS))),
        (b"\x16\x03\x03\0\0".to_vec(), Some(failed(tls::NOT_TLS))),
        (b"\x16\x03\x03\0\x04\x0b".to_vec(), Some(failed(tls::BROKEN))),
        (b"\x16\x03\x03\0\x09\x02\0\0\x28\x02".to_vec(), Some(failed(tls::BROKEN))),
        (b"\x16\x03\x03\0\x09\x02\0\0\x01".to_vec(), Some(failed(tls::BROKEN))),
        (whole[..whole.len() - 1].to_vec(), None),
    ];
    for (bytes, expected) in cases {
        for cut in 1..=bytes.len() {
            assert_eq!(verdict(&bytes, cut), expected, "{bytes:?} by {cut}");
        }
    }
}

#[test]
fn the_hello_is_well_formed() {
    for name in [None, Some("www.example.org")] {
        let mut bytes = Vec::new();
        hello(name, &mut bytes);
        let length = |place: usize| usize::from(bytes[place]) << 8 | usize::from(bytes[place + 1]);
        assert_eq!((length(3), length(7)), (bytes.len() - 5, bytes.len() - 9));
        // Behind random, session, suites and compression.
        let extensions = 11 + 32 + 33 + 22 + 2;
        assert_eq!(length(extensions), bytes.len() - extensions - 2);
        let mut place = extensions + 2;
        let mut kinds = Vec::new();
        while place < bytes.len() {
            kinds.push(length(place));
            place += 4 + length(place + 2);
        }
        assert_eq!(place, bytes.len());
        assert_eq!(kinds[..5], [10, 11, 13, 43, 51]);
        assert_eq!(kinds.get(5), name.map(|_| &0));
    }
}

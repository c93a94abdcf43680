//! A session with PostgreSQL against the same faults as every dialogue: cut anywhere, truncated
//! anywhere, garbage, endless; and what only a hostile server would say.

use super::said::{Complaint, Heard, Reading};
use super::session::Session;
use crate::check::secret::Secret;
use crate::check::testing::Random;
use crate::config::database::{PostgresLogin, code};

fn login() -> PostgresLogin {
    PostgresLogin {
        user: "u".into(),
        database: "d".into(),
        password_file: None,
        socket: None,
        tls: None,
        schema: Some("s".into()),
    }
}

fn session(password: Option<&str>, private: bool) -> Session {
    let mut session =
        Session::begin(&login(), password.map(|word| Secret::of(word.as_bytes())), private);
    let startup = b"\0\0\0\x35\0\x03\0\0user\0u\0database\0d\0application_name\0giveover\0\0";
    assert_eq!(&session.words()[..], startup);
    session
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    message
}

fn error(severity: &str, state: &str) -> Vec<u8> {
    let fields = format!("SFATAAL\0V{severity}\0C{state}\0Mno C57P03 here\nmore\0\0");
    message(b'E', fields.as_bytes())
}

fn row(columns: &[&[u8]]) -> Vec<u8> {
    let mut body = (columns.len() as u16).to_be_bytes().to_vec();
    for column in columns {
        body.extend((column.len() as u32).to_be_bytes());
        body.extend(*column);
    }
    message(b'D', &body)
}

const IDLE: &[u8] = b"Z\0\0\0\x05I";
const OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";

fn welcome() -> Vec<u8> {
    [OK, &message(b'S', b"TZ\0UTC\0"), &message(b'K', &[0; 8]), IDLE].concat()
}

/// What the pieces lead to, up to the first that is more than nothing.
fn heard<'a>(session: &mut Session, pieces: impl IntoIterator<Item = &'a [u8]>) -> Heard {
    for piece in pieces {
        session.take(piece);
        match session.next() {
            Heard::More => {}
            heard => return heard,
        }
    }
    Heard::More
}

fn looking() -> Session {
    let mut session = session(None, false);
    assert_eq!(heard(&mut session, [&welcome()[..]]), Heard::Ready);
    session.look(Some("s"));
    let words = session.words();
    assert!(words.starts_with(b"Q\0\0") && words.ends_with(b"schemaname <> 's')\0"));
    session
}

fn looked(recovery: &str, counters: &str) -> Vec<u8> {
    let columns = [recovery.as_bytes(), counters.as_bytes()];
    [message(b'T', b"\0\0"), row(&columns), message(b'C', b"SELECT 1\0"), IDLE.to_vec()].concat()
}

fn complaint(code: &str, over: bool) -> Heard {
    Heard::Failed(Complaint { code: code.into(), text: "no C57P03 here".into(), over })
}

/// Answers to a look, and what each is.
fn answers() -> Vec<(Vec<u8>, Heard)> {
    let reading = |reads_only, counters: &str| {
        Heard::Looked(Reading { reads_only, counters: counters.into() })
    };
    vec![
        (looked("f", "17"), reading(false, "17")),
        (looked("t", "17"), reading(true, "17")),
        ([error("ERROR", "42501"), IDLE.to_vec()].concat(), complaint("42501", false)),
        (
            [error("ERROR", "42501"), error("ERROR", "25P02"), IDLE.to_vec()].concat(),
            complaint("42501", false),
        ),
        (error("FATAL", "57P01"), complaint("57P01", true)),
        ([message(b'N', b"x\0"), looked("f", "1")].concat(), reading(false, "1")),
        (IDLE.to_vec(), Heard::Nonsense),
        ([row(&[b"t"]), IDLE.to_vec()].concat(), Heard::Nonsense),
        (b"HTTP/1.1 400".to_vec(), Heard::Nonsense),
        (b"D\xff\xff\xff\xff".to_vec(), Heard::Nonsense),
        (b"D\0\0\0\x03".to_vec(), Heard::Nonsense),
        (b"D\0\0\0\x0a\0\x01\x7f\xff\xff\xff".to_vec(), Heard::Nonsense),
        (message(b'G', b"\0\0\0"), Heard::Nonsense),
    ]
}

#[test]
fn what_is_heard_does_not_depend_on_the_cuts() {
    for (bytes, expected) in answers() {
        for cut in 0..=bytes.len() {
            let (first, second) = bytes.split_at(cut);
            assert_eq!(heard(&mut looking(), [first, second]), expected, "{bytes:?} cut at {cut}");
        }
        assert_eq!(heard(&mut looking(), bytes.chunks(1)), expected, "{bytes:?} in bytes");
    }
}

#[test]
fn an_answer_that_is_not_complete_is_nothing_yet() {
    for (bytes, expected) in answers() {
        if expected == Heard::Nonsense {
            continue;
        }
        for length in 0..bytes.len() {
            assert_eq!(
                heard(&mut looking(), [&bytes[..length]]),
                Heard::More,
                "{bytes:?} {length}"
            );
        }
    }
}

#[test]
fn an_endless_answer_ends_at_the_cap() {
    for endless in [row(&[b"t", b"1"]), message(b'N', b"x\0"), message(b'T', &[0; 60_000])] {
        let mut session = looking();
        let stream = endless.repeat(2 * 1024 * 1024 / endless.len());
        assert_eq!(heard(&mut session, stream.chunks(5000)), Heard::Nonsense);
    }
}

#[test]
fn random_bytes_end_in_the_same_however_they_come_and_nothing_panics() {
    let mut random = Random::new(23);
    let seeds: Vec<Vec<u8>> = answers().into_iter().map(|(bytes, _)| bytes).collect();
    for _ in 0..20_000 {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..1 + random.below(4) {
            let place = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[place] = random.below(256) as u8,
                1 => bytes.truncate(place.max(1)),
                _ => bytes.insert(place, random.below(256) as u8),
            }
        }
        let whole = heard(&mut looking(), [&bytes[..]]);
        assert_eq!(heard(&mut looking(), random.cuts(&bytes)), whole, "{bytes:?}");
    }
}

/// req 1.95
#[test]
fn the_work_is_one_query_in_the_schema() {
    let mut session = looking();
    let _ = heard(&mut session, [&looked("f", "1")[..]]);
    session.work("s", 7);
    let words = String::from_utf8_lossy(&session.words()).into_owned();
    let table = format!("\"s\".giveover_probe_{}_7", std::process::id());
    let query = format!(
        "CREATE TABLE {table} (n integer); INSERT INTO {table} VALUES (1); \
         UPDATE {table} SET n = 2; DROP TABLE {table}\0"
    );
    assert!(words.ends_with(&query), "{words}");
    let done = [message(b'C', b"CREATE TABLE\0"), message(b'C', b"DROP TABLE\0"), IDLE.to_vec()];
    assert_eq!(heard(&mut session, [&done.concat()[..]]), Heard::Worked(None));
}

#[test]
fn a_password_is_only_said_where_nobody_else_hears_it() {
    let clear = message(b'R', &[0, 0, 0, 3]);
    let mut safe = session(Some("hush"), true);
    assert_eq!(heard(&mut safe, [&clear[..]]), Heard::More);
    assert_eq!(&safe.words()[..], b"p\0\0\0\x09hush\0");
    let lack = |mut session: Session, bytes: &[u8]| {
        let heard = heard(&mut session, [bytes]);
        assert!(session.words().is_empty());
        heard
    };
    assert_eq!(lack(session(Some("hush"), false), &clear), Heard::Lack(code::IN_THE_CLEAR));
    assert_eq!(lack(session(None, true), &clear), Heard::Lack(code::NO_PASSWORD));
    let md5 = message(b'R', &[0, 0, 0, 5, 1, 2, 3, 4]);
    let mut hashed = session(Some("hush"), false);
    assert_eq!(heard(&mut hashed, [&md5[..]]), Heard::More);
    assert!(hashed.words().starts_with(b"p\0\0\0\x28md5"));
    assert_eq!(lack(session(None, false), &md5), Heard::Lack(code::NO_PASSWORD));
    let gss = message(b'R', &[0, 0, 0, 7]);
    assert_eq!(lack(session(Some("hush"), true), &gss), Heard::Lack(code::UNKNOWN_PROOF));
}

fn sasl(number: u8, data: &[u8]) -> Vec<u8> {
    message(b'R', &[&[0, 0, 0, number][..], data].concat())
}

/// The client's first message names a nonce, and a hostile server can go on from there.
fn proving() -> (Session, String) {
    let mut session = session(Some("hush"), false);
    let offer = sasl(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    assert_eq!(heard(&mut session, [&offer[..]]), Heard::More);
    let words = String::from_utf8_lossy(&session.words()).into_owned();
    assert!(words.contains("SCRAM-SHA-256\0") && !words.contains("hush"), "{words:?}");
    let nonce = words.rsplit("r=").next().expect("a nonce").to_owned();
    (session, nonce)
}

#[test]
fn a_server_must_prove_itself_and_cannot_have_us_reckon_for_ever() {
    for (rounds, expected) in [
        ("i=4294967295", Heard::Lack(code::TOO_DEAR)),
        ("i=50001", Heard::Lack(code::TOO_DEAR)),
        ("x=1", Heard::Lack(code::TOO_DEAR)),
        ("i=4096", Heard::More),
    ] {
        let (mut session, nonce) = proving();
        let first = sasl(11, format!("r={nonce}more,s=c2FsdA==,{rounds}").as_bytes());
        assert_eq!(heard(&mut session, [&first[..]]), expected, "{rounds}");
        if expected == Heard::More {
            let words = session.words();
            assert!(words.starts_with(b"p") && words.windows(2).any(|two| two == b"p="));
            let mut liar = session;
            let last = sasl(12, b"v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
            assert_eq!(heard(&mut liar, [&last[..]]), Heard::Lack(code::NOT_PROVEN));
        }
    }
    let (mut session, _) = proving();
    assert_eq!(heard(&mut session, [OK]), Heard::Lack(code::NOT_PROVEN), "without a proof");
    let (mut session, _) = proving();
    let other = sasl(11, b"r=another,s=c2FsdA==,i=4096");
    assert_eq!(heard(&mut session, [&other[..]]), Heard::Nonsense, "another's nonce");
    let mut unknown = session_with_offer(b"SCRAM-SHA-1\0\0");
    assert_eq!(unknown.next(), Heard::Lack(code::UNKNOWN_PROOF));
}

fn session_with_offer(offer: &[u8]) -> Session {
    let mut session = session(Some("hush"), false);
    session.take(&sasl(10, offer));
    session
}

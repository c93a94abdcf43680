//! Every dialogue against the same faults: cut anywhere, truncated anywhere, garbage, endless.

use super::talk::TalkDialogue;
use crate::check::outcome::{Outcome, Step};
use crate::check::secret::Secret;
use crate::check::testing::Random;
use crate::config::talk::{BannerPlan, DnsPlan, Greets, Login, PostgresPlan, RpcPlan, Talk, codes};

/// The verdict, all that we said, and how many bytes it took; no verdict yet is `None`.
fn converse<'a>(
    talk: &Talk,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Option<Outcome>, Vec<Vec<u8>>, TalkDialogue) {
    let mut dialogue = TalkDialogue::of(talk).expect("a dialogue");
    let mut said = Vec::new();
    let mut words = Vec::new();
    dialogue.words(talk, &mut words);
    said.push(words.clone());
    for piece in pieces {
        match dialogue.on_bytes(talk, piece) {
            Step::More => {}
            Step::Say => {
                dialogue.words(talk, &mut words);
                said.push(words.clone());
            }
            Step::Done { outcome, .. } => return (Some(outcome), said, dialogue),
            Step::Leave { outcome, words } => {
                said.push(words.to_vec());
                return (Some(outcome), said, dialogue);
            }
        }
    }
    (None, said, dialogue)
}

fn verdict(talk: &Talk, bytes: &[u8]) -> Outcome {
    let (outcome, _, dialogue) = converse(talk, [bytes]);
    outcome.unwrap_or_else(|| dialogue.on_close())
}

fn banner(greets: Greets, expect: &[(u16, u16)], ehlo: Option<&str>) -> Talk {
    Talk::Banner(BannerPlan { greets, expect: expect.to_vec(), ehlo: ehlo.map(Into::into) })
}

fn smtp() -> Talk {
    banner(Greets::Smtp, &[(220, 220)], None)
}

fn ehlo() -> Talk {
    banner(Greets::Smtp, &[(220, 220)], Some("gw-1.example"))
}

fn ftp() -> Talk {
    banner(Greets::Ftp, &[(220, 220)], None)
}

fn nntp() -> Talk {
    banner(Greets::Nntp, &[(200, 201)], None)
}

fn imap() -> Talk {
    Talk::Imap { preauth: false }
}

fn redis() -> Talk {
    Talk::Redis { expect: vec![1], login: None }
}

fn mqtt() -> Talk {
    Talk::Mqtt { client: "".into(), expect: vec![(0, 0)], login: None }
}

fn ldap() -> Talk {
    Talk::Ldap { base: None, expect: vec![(0, 0)], login: None }
}

fn search() -> Talk {
    Talk::Ldap { base: Some("dc=example".into()), expect: vec![(0, 0)], login: None }
}

fn postgres() -> Talk {
    Talk::Postgres(PostgresPlan {
        user: "u".into(),
        database: "d".into(),
        query: "SELECT 1".into(),
        expect: vec![*b"53300"],
    })
}

fn dns() -> Talk {
    Talk::Dns(DnsPlan {
        question: (*b"\x01a\x02bc\0\0\x01\0\x01").into(),
        expect: vec![(0, 0), (3, 3)],
        tcp: true,
    })
}

fn rpc() -> Talk {
    Talk::Rpc(RpcPlan { program: 100_000, version: 2, tcp: true })
}

const OK: Outcome = Outcome::Healthy { shown: 0 };
const NONSENSE: Outcome = Outcome::wrong(0);

const fn shown(code: u16) -> Outcome {
    Outcome::Healthy { shown: code }
}

fn redis_code(word: &str) -> u16 {
    codes::code_of(&codes::REDIS, word.as_bytes())
}

/// Whether PostgreSQL lets us in and answers.
const WELCOME: &[u8] =
    b"R\0\0\0\x08\0\0\0\0S\0\0\0\x0bTZ\0UTC\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I";
const ANSWER: &[u8] = b"T\0\0\0\x06\0\0D\0\0\0\x06\0\0C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

fn pg_error(state: &str) -> Vec<u8> {
    let fields = format!("SFATAL\0VFATAL\0C{state}\0Mno C57P03 here\0\0");
    let mut message = vec![b'E'];
    message.extend((fields.len() as u32 + 4).to_be_bytes());
    message.extend(fields.as_bytes());
    message
}

/// Complete answers: the verdict comes with the last byte, not before and not without it.
fn complete() -> Vec<(Talk, Vec<u8>, Outcome)> {
    let mut all: Vec<(Talk, Vec<u8>, Outcome)> = Vec::new();
    let mut add = |talk: Talk, bytes: &[u8], outcome| all.push((talk, bytes.to_vec(), outcome));
    add(smtp(), b"220 mail.example ESMTP\r\n", shown(220));
    add(smtp(), b"220-mail.example\r\n220-no spam\r\n220 go\r\n", shown(220));
    let id = b"\x67\x6f\x67\x6f";
    let reply = |mark: &[u8], rest: &[u8]| [mark, id, rest].concat();
    let accepted = b"\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let whole = [&accepted[..], b"\0"].concat();
    add(rpc(), &reply(b"\x80\0\0\x18", &whole), OK);
    let unavailable = [&accepted[..], b"\x01"].concat();
    add(rpc(), &reply(b"\x80\0\0\x18", &unavailable), Outcome::wrong(1));
    let refused = b"\0\0\0\x01\0\0\0\x01\0\0\0\x01";
    add(rpc(), &reply(b"\x80\0\0\x14", refused), Outcome::wrong(17));
    let verifier = b"\0\0\0\x01\0\0\0\0\0\0\0\x06\0\0\0\x05abcde\0\0\0\0\0\0\0";
    add(rpc(), &reply(b"\x80\0\0\x20", verifier), OK);
    // In two fragments, the first of which ends in the number of the call.
    let (first, second) = (b"\0\0\0\x02\x67\x6f", b"\x80\0\0\x16\x67\x6f");
    add(rpc(), &[&first[..], second, &whole].concat(), OK);
    add(smtp(), b"554 no service\r\n", Outcome::wrong(554));
    add(smtp(), b"421 busy\r\n", Outcome::wrong(421));
    add(ehlo(), b"220 mail\r\n250-mail\r\n250 SIZE\r\n", shown(250));
    add(ehlo(), b"220 mail\r\n502 what\r\n", Outcome::wrong(502));
    add(ehlo(), b"554 no\r\n", Outcome::wrong(554));
    add(ftp(), b"220 files\r\n", shown(220));
    add(ftp(), b"220-Welcome\r\nanything\r\n 220 x\r\n220 go\r\n", shown(220));
    add(ftp(), b"120 in 5 minutes\r\n", Outcome::wrong(120));
    add(ftp(), b"530 no\r\n", Outcome::wrong(530));
    add(nntp(), b"200 post\r\n", shown(200));
    add(nntp(), b"201 read\r\n", shown(201));
    add(nntp(), b"400 away\r\n", Outcome::wrong(400));
    add(nntp(), b"502 denied\r\n", Outcome::wrong(502));
    add(Talk::Pop3, b"+OK ready <1.2@h>\r\n", OK);
    add(Talk::Pop3, b"+OK\r\n", OK);
    add(Talk::Pop3, b"+OK\n", OK);
    add(Talk::Pop3, b"-ERR busy\r\n", Outcome::wrong(1));
    add(Talk::Pop3, b"+OKAY\r\n", NONSENSE);
    add(imap(), b"* OK [CAPABILITY IMAP4rev1] ready\r\n", OK);
    add(imap(), b"* ok\r\n", OK);
    add(imap(), b"* BYE overloaded\r\n", Outcome::wrong(3));
    add(imap(), b"* PREAUTH hello\r\n", Outcome::wrong(2));
    add(Talk::Imap { preauth: true }, b"* PREAUTH hello\r\n", shown(2));
    add(imap(), b"* LIST\r\n", NONSENSE);
    add(Talk::Telnet, b"\xff\xfd", OK);
    add(Talk::Telnet, b"\xff\xfb\x01\xff\xfd", OK);
    add(
        Talk::Telnet,
        b"hi \xff\xff\xff\xfe\xfd\xff\xfa\xff\xff\xff\xfd\xff\xf0\xff\xf1\xff\xfd",
        OK,
    );
    add(redis(), b"+PONG\r\n", OK);
    add(redis(), b"-NOAUTH Authentication required.\r\n", Outcome::wrong(redis_code("NOAUTH")));
    add(redis(), b"-LOADING Redis is loading\r\n", Outcome::wrong(redis_code("LOADING")));
    add(redis(), b"-PONG\r\n", NONSENSE);
    add(redis(), b"+OK\r\n", NONSENSE);
    let noauth = redis_code("NOAUTH");
    add(Talk::Redis { expect: vec![1, noauth], login: None }, b"-NOAUTH no\r\n", shown(noauth));
    add(mqtt(), b"\x20\x02\x00\x00", OK);
    add(mqtt(), b"\x20\x02\x00\x05", Outcome::wrong(5));
    let lenient = Talk::Mqtt { client: "me".into(), expect: vec![(0, 0), (5, 5)], login: None };
    add(lenient, b"\x20\x02\x01\x05", shown(5));
    let bound = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
    add(ldap(), bound, OK);
    let windows =
        b"\x30\x84\x00\x00\x00\x10\x02\x01\x01\x61\x84\x00\x00\x00\x07\x0a\x01\x00\x04\x00\x04\x00";
    add(ldap(), windows, OK);
    let refused = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x30\x04\x00\x04\x00";
    add(ldap(), refused, Outcome::wrong(48));
    add(Talk::Ldap { base: None, expect: vec![(0, 0), (48, 48)], login: None }, refused, shown(48));
    add(
        Talk::Ldap { base: Some("".into()), expect: vec![(48, 48)], login: None },
        refused,
        shown(48),
    );
    let mut long = b"\x30\x81\x8c\x02\x01\x01\x61\x81\x86\x0a\x01\x34\x04\x00\x04\x7f".to_vec();
    long.extend([b'x'; 127]);
    add(ldap(), &long, Outcome::wrong(52));
    let found = b"\x30\x0f\x02\x01\x02\x64\x0a\x04\x06dc=com\x30\x00\x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x00\x04\x00\x04\x00";
    add(search(), &[&bound[..], &found[..]].concat(), OK);
    let nowhere = b"\x30\x0c\x02\x01\x02\x65\x07\x0a\x01\x20\x04\x00\x04\x00";
    add(search(), &[&bound[..], &nowhere[..]].concat(), Outcome::wrong(32));
    add(ldap(), b"\x30\x0c\x02\x01\x00\x78\x07\x0a\x01\x34\x04\x00\x04\x00", Outcome::wrong(52));
    add(ldap(), b"\x30\x0c\x02\x01\x02\x61\x07\x0a\x01\x00\x04\x00\x04\x00", NONSENSE);
    let answer = |flags: &[u8; 2], question: &[u8], more: &[u8]| {
        let count = u8::from(!question.is_empty());
        let message = [b"go", &flags[..], &[0, count, 0, 0, 0, 0, 0, 0], question, more].concat();
        [&(message.len() as u16).to_be_bytes()[..], &message].concat()
    };
    let question = b"\x01a\x02bc\0\0\x01\0\x01";
    add(dns(), &answer(b"\x81\x80", question, b"answers"), OK);
    add(dns(), &answer(b"\x83\x80", question, b""), OK);
    add(dns(), &answer(b"\x85\x83", b"\x01A\x02bC\0\0\x01\0\x01", b""), shown(3));
    add(dns(), &answer(b"\x81\x82", question, b""), Outcome::wrong(2));
    add(dns(), &answer(b"\x81\x85", b"", b""), Outcome::wrong(5));
    add(postgres(), &[WELCOME, ANSWER].concat(), OK);
    add(postgres(), b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0", OK);
    add(postgres(), b"N\0\0\0\x06x\0R\0\0\0\x08\0\0\0\x03", OK);
    add(postgres(), &pg_error("57P03"), Outcome::wrong(codes::code_of_state(b"57P03")));
    add(postgres(), &pg_error("53300"), shown(codes::code_of_state(b"53300")));
    add(postgres(), &pg_error("12345"), Outcome::wrong(codes::OTHER_STATE));
    let failed = [WELCOME, &pg_error("42601")].concat();
    add(postgres(), &failed, Outcome::wrong(codes::code_of_state(b"42601")));
    all
}

/// What is known to be wrong before it is complete.
fn nonsense() -> Vec<(Talk, Vec<u8>)> {
    let http = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    let ssh = b"SSH-2.0-OpenSSH_9.2\r\n";
    let mut all = Vec::new();
    for talk in every_kind() {
        if talk != Talk::Telnet {
            all.push((talk.clone(), http.to_vec()));
            all.push((talk, ssh.to_vec()));
        }
    }
    let mut add = |talk: Talk, bytes: &[u8]| all.push((talk, bytes.to_vec()));
    add(smtp(), b"220-a\r\n221 b\r\n");
    add(smtp(), b"+OK\r\n");
    add(mqtt(), b"\x20\x03\x00\x00");
    add(mqtt(), b"\x20\x02\x02\x00");
    add(mqtt(), b"\x20\x02\x00\x06");
    add(dns(), b"\0\x0b");
    add(dns(), b"\0\x20gx");
    add(dns(), b"\0\x20go\x01\x80");
    add(dns(), b"\0\x20go\x81\x80\0\x02");
    add(dns(), b"\0\x20go\x81\x80\0\0");
    add(dns(), b"\0\x20go\x81\x80\0\x01\0\0\0\0\0\0\x01b");
    add(dns(), b"\0\x0cgo\x81\x80\0\x01\0\0\0\0\0\0");
    add(ldap(), b"\x30\x00");
    add(ldap(), b"\x30\x80");
    add(ldap(), b"\x30\x84\xff\xff\xff\xff");
    add(ldap(), b"\x30\x03\x02\x01\x01");
    add(postgres(), b"R\0\0\0\x03");
    add(postgres(), b"R\0\0\0\x06\0\0");
    add(postgres(), b"R\xff\xff\xff\xff");
    add(postgres(), b"Z\0\0\0\x05I");
    all
}

fn every_kind() -> [Talk; 13] {
    [
        smtp(),
        ehlo(),
        ftp(),
        nntp(),
        Talk::Pop3,
        imap(),
        Talk::Telnet,
        redis(),
        mqtt(),
        ldap(),
        search(),
        postgres(),
        dns(),
    ]
}

#[test]
fn the_verdict_does_not_depend_on_the_cuts() {
    let nonsense = nonsense().into_iter().map(|(talk, bytes)| (talk, bytes, NONSENSE));
    for (talk, bytes, expected) in complete().into_iter().chain(nonsense) {
        let mut more = bytes.clone();
        more.extend(b"\r\n+rest \xff\xfd");
        for cut in 0..=more.len() {
            let (first, second) = more.split_at(cut);
            let (outcome, ..) = converse(&talk, [first, second]);
            assert_eq!(outcome, Some(expected), "{talk:?}: {bytes:?} cut at {cut}");
        }
        let (outcome, ..) = converse(&talk, more.chunks(1));
        assert_eq!(outcome, Some(expected), "{talk:?}: {bytes:?} in single bytes");
    }
}

#[test]
fn an_answer_that_ends_too_early_is_cut_short_wherever_it_ends() {
    for (talk, bytes, _) in complete() {
        for length in 0..bytes.len() {
            let wrote = talk == Talk::Telnet && bytes[..length].starts_with(b"h");
            let expected = if wrote { NONSENSE } else { Outcome::cut() };
            assert_eq!(verdict(&talk, &bytes[..length]), expected, "{talk:?}: {bytes:?} {length}");
        }
    }
}

#[test]
fn an_endless_answer_ends_at_the_cap() {
    for talk in every_kind() {
        for endless in
            [&b"220-more\r\n"[..], b"* OK", b"+OK", b"+PONG", b"x", b"\xff\xfb\x01", b"\0"]
        {
            let stream = endless.repeat(70_000 / endless.len() + 1);
            assert_eq!(verdict(&talk, &stream), NONSENSE, "{talk:?}: {endless:?}");
        }
    }
    let entries = b"\x30\x0f\x02\x01\x02\x64\x0a\x04\x06dc=com\x30\x00".repeat(5_000);
    let bound = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
    assert_eq!(verdict(&search(), &[&bound[..], &entries].concat()), NONSENSE);
    let notices = b"N\0\0\0\x06x\0".repeat(10_000);
    assert_eq!(verdict(&postgres(), &notices), NONSENSE);
}

#[test]
fn random_bytes_are_judged_the_same_however_they_come() {
    let mut random = Random::new(11);
    let seeds: Vec<(Talk, Vec<u8>)> =
        complete().into_iter().map(|(talk, bytes, _)| (talk, bytes)).collect();
    for _ in 0..20_000 {
        let (talk, bytes) = &seeds[random.below(seeds.len())];
        let mut bytes = bytes.clone();
        for _ in 0..random.below(4) {
            let place = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[place] = random.below(256) as u8,
                1 => bytes.truncate(place.max(1)),
                _ => bytes.insert(place, random.below(256) as u8),
            }
        }
        let whole = verdict(talk, &bytes);
        let (outcome, _, dialogue) = converse(talk, random.cuts(&bytes));
        assert_eq!(outcome.unwrap_or_else(|| dialogue.on_close()), whole, "{talk:?}: {bytes:?}");
    }
}

#[test]
fn we_say_what_the_protocols_have_us_say() {
    let said = |talk: &Talk, bytes: &[u8]| converse(talk, bytes.chunks(1)).1;
    assert_eq!(said(&smtp(), b"220 hi\r\n"), [&b""[..], b"QUIT\r\n"]);
    assert_eq!(said(&smtp(), b"554 no\r\n"), [&b""[..], b"QUIT\r\n"]);
    assert_eq!(said(&smtp(), b"no\r\n"), [b""], "nothing to who speaks something else");
    let extended = said(&ehlo(), b"220 hi\r\n250 go\r\n");
    assert_eq!(extended, [&b""[..], b"EHLO gw-1.example\r\n", b"QUIT\r\n"]);
    assert_eq!(said(&imap(), b"* OK hi\r\n"), [&b""[..], b"a1 LOGOUT\r\n"]);
    assert_eq!(said(&Talk::Pop3, b"+OK hi\r\n"), [&b""[..], b"QUIT\r\n"]);
    assert_eq!(said(&Talk::Telnet, b"\xff\xfd\x01"), [b""], "nothing at all");
    let pinged = said(&redis(), b"+PONG\r\n");
    assert_eq!(pinged, [&b"*1\r\n$4\r\nPING\r\n"[..], b"*1\r\n$4\r\nQUIT\r\n"]);
    let connect = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";
    assert_eq!(said(&mqtt(), b"\x20\x02\0\0"), [&connect[..], b"\xe0\0"]);
    let client = Talk::Mqtt { client: "x".repeat(200).into(), expect: vec![(0, 0)], login: None };
    assert!(said(&client, b"")[0].starts_with(b"\x10\xd4\x01\0\x04MQTT\x04\x02\0\x3c\0\xc8xxx"));
    let bind = b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00";
    let bound = b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
    assert_eq!(said(&ldap(), bound), [&bind[..], b"\x30\x05\x02\x01\x02\x42\x00"]);
    let asked = b"\x30\x34\x02\x01\x02\x63\x2f\x04\x0adc=example\x0a\x01\0\x0a\x01\0\x02\x01\x01\
        \x02\x01\0\x01\x01\xff\x87\x0bobjectClass\x30\x05\x04\x031.1";
    assert_eq!(said(&search(), bound)[1], asked);
    let startup = b"\0\0\0\x35\0\x03\0\0user\0u\0database\0d\0application_name\0giveover\0\0";
    let answered = said(&postgres(), &[WELCOME, ANSWER].concat());
    assert_eq!(answered, [&startup[..], b"Q\0\0\0\x0dSELECT 1\0", b"X\0\0\0\x04"]);
    let query = b"\0\x16go\x01\0\0\x01\0\0\0\0\0\0\x01a\x02bc\0\0\x01\0\x01";
    assert_eq!(said(&dns(), b""), [query]);
    assert_eq!(said(&postgres(), &pg_error("57P03"))[1], b"");
}

fn login(user: &str) -> Option<Box<Login>> {
    Some(Box::new(Login { user: user.into(), password_file: "/p".into() }))
}

/// What is said first by whom has a password.
fn said_with(talk: &Talk) -> Vec<u8> {
    let dialogue = TalkDialogue::of(talk).expect("a dialogue");
    let mut words = Vec::new();
    dialogue.knowing(Some(Secret::of(b"hush"))).words(talk, &mut words);
    words
}

#[test]
fn a_password_is_given_as_the_protocols_have_it() {
    let redis = |user| Talk::Redis { expect: vec![1], login: login(user) };
    let ping = "*1\r\n$4\r\nPING\r\n";
    let auth = format!("*2\r\n$4\r\nAUTH\r\n$4\r\nhush\r\n{ping}");
    assert_eq!(said_with(&redis("")), auth.as_bytes());
    let auth = format!("*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$4\r\nhush\r\n{ping}");
    assert_eq!(said_with(&redis("me")), auth.as_bytes());
    for (bytes, outcome) in [
        (&b"+OK\r\n+PONG\r\n"[..], OK),
        (b"-WRONGPASS no\r\n", Outcome::wrong(redis_code("WRONGPASS"))),
        (b"+OK\r\n+OK\r\n", NONSENSE),
        (b"+OK\r\n", Outcome::cut()),
    ] {
        assert_eq!(verdict(&redis("me"), bytes), outcome, "{bytes:?}");
    }
    let mqtt = Talk::Mqtt { client: "".into(), expect: vec![(0, 0)], login: login("me") };
    assert_eq!(said_with(&mqtt), b"\x10\x16\0\x04MQTT\x04\xc2\0\x3c\0\0\0\x02me\0\x04hush");
    let ldap = Talk::Ldap { base: None, expect: vec![(0, 0)], login: login("cn=me") };
    let bind = b"\x30\x15\x02\x01\x01\x60\x10\x02\x01\x03\x04\x05cn=me\x80\x04hush";
    assert_eq!(said_with(&ldap), bind);
}

/// Each probe that is under way holds one.
#[test]
fn a_dialogue_is_small() {
    assert!(size_of::<TalkDialogue>() <= size_of::<super::HttpDialogue>());
}

//! Conversations: several turns, parting words, and who goes away in the middle.

use super::*;
use crate::config::talk::{BannerPlan, Greets, Talk};

fn smtp(ehlo: bool) -> Kind {
    let ehlo = ehlo.then(|| "gw".into());
    let plan = BannerPlan { greets: Greets::Smtp, expect: vec![(220, 220)], ehlo };
    Kind::Talk(Box::new(Talk::Banner(plan)))
}

/// Reads exactly this.
fn hear(stream: &mut TcpStream, expected: &str) {
    let mut heard = vec![0; expected.len()];
    stream.read_exact(&mut heard).expect("words");
    assert_eq!(String::from_utf8_lossy(&heard), expected);
}

#[test]
fn turns_are_taken_and_the_other_side_closes_first() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, smtp(true));
    turns.start(&plan);
    let mut stream = accept(&listener);
    stream.write_all(b"220 mail\r\n").expect("sent");
    turns.turn(&plan);
    assert_eq!(turns.answered(), []);
    hear(&mut stream, "EHLO gw\r\n");
    stream.write_all(b"250-mail\r\n").expect("sent");
    turns.turn(&plan);
    assert_eq!(turns.answered(), []);
    stream.write_all(b"250 SIZE\r\n").expect("sent");
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    hear(&mut stream, "QUIT\r\n");
    assert!(!turns.is_clean(), "it may close first");
    drop(stream);
    turns.settle(&plan);
}

#[test]
fn who_does_not_close_after_the_parting_words_is_left_after_a_second() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, smtp(false));
    turns.start(&plan);
    let mut stream = accept(&listener);
    stream.write_all(b"220 mail\r\n").expect("sent");
    assert_eq!(turns.run(&plan), ProbeResult::Healthy);
    hear(&mut stream, "QUIT\r\n");
    let before = turns.now;
    turns.expire(&plan);
    assert_eq!(turns.now.since(before), 1_000);
    assert!(turns.answered().is_empty() && turns.is_clean());
}

#[test]
fn who_greets_and_is_gone_has_cut_its_answer_short() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, smtp(true));
    turns.start(&plan);
    let mut stream = accept(&listener);
    stream.write_all(b"220 mail\r\n").expect("sent");
    drop(stream);
    let result = turns.run(&plan);
    let ends = [Errno::NODATA, Errno::CONNRESET, Errno::PIPE];
    let ends = ends.map(|errno| failed(50, Phase::Read, errno));
    assert!(ends.contains(&result), "{result:?}");
    assert!(turns.is_clean());
}

#[test]
fn a_conversation_has_one_deadline_for_all_its_turns() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, smtp(true));
    let started = turns.now;
    turns.start(&plan);
    let mut stream = accept(&listener);
    turns.pass(9_000);
    stream.write_all(b"220 mail\r\n").expect("sent");
    turns.turn(&plan);
    hear(&mut stream, "EHLO gw\r\n");
    turns.expire(&plan);
    assert_eq!(turns.now.since(started), u64::from(TIMEOUT.as_millis()));
    assert_eq!(turns.answer().result, failed(50, Phase::Read, Errno::TIMEDOUT));
    assert!(turns.is_clean());
}

#[test]
fn a_plan_of_another_protocol_voids_what_is_under_way() {
    let (mut turns, listener) = (Loop::new(), listen("127.0.0.1:0"));
    let plan = at(&listener, smtp(false));
    turns.start(&plan);
    let mut stream = accept(&listener);
    stream.write_all(b"220 mail\r\n").expect("sent");
    let other = at(&listener, Kind::Talk(Box::new(Talk::Pop3)));
    assert_eq!(turns.run(&other), ProbeResult::Void);
    assert!(turns.is_clean());
}

//! The bytes of format 1; of 2, which has notes of members besides; and of 3, which has those of groups. If one of these fails, change the code, not the bytes: journals like
//! this lie on people's disks.

use crate::clock::BootId;
use crate::journal::frame::Framer;
use crate::journal::item::{encode_entry, encode_note};
use crate::journal::walk::{Header, Walk};
use crate::journal::{Hold, HostBudget, Item, MemberNote, Note, Process, Run, Stage};
use giveover_core::arbiter::Node;
use giveover_core::monitor::{Event, Ticket};
use giveover_core::record::{Body, Entry};
use giveover_core::time::Instant;

const AT: Instant = Instant::from_millis(300);

#[test]
fn a_note_is_its_tag_its_time_its_variant_and_its_fields() {
    let boot = BootId::parse("0f0e1d2c-3b4a-5968-7786-95a4b3c2d1e0");
    let run = Run { version: "0.1".into(), pid: 7, boot, offset_ms: -3, wall_ms: 5 };
    let hold = Hold { who: "ops".into(), why: "x".into(), until: Some(AT) };
    let drained = MemberNote { out: true, drain: Some(hold.clone()), cut_at: None };
    let member = Note::Member { machine: 1, member: drained };
    let process = Process { pid: 812, start_time: 9, boot: None };
    let stage = |stage| Note::Stage { machine: 1, ticket: Ticket(2), stage };
    let clear =
        Note::Asked { machine: None, verb: "clear".into(), who: "ops".into(), why: "".into() };
    let text = Note::Text { machine: Some(1), event: "died".into(), text: "x".into() };
    let web = Note::Named { machine: 1, name: "web".into() };
    // variant, then fields in order: numbers as varints, signed ones zigzag, texts by length,
    // an option as 0 or 1 and its value
    let frozen: [(Note, &[u8]); 22] = [
        (
            Note::Run(run),
            b"\x00\x030.1\x07\x01\xe0\xa3\x8b\x9e\xcb\xb4\xa5\xc3\xf7\xd0\xe5\xd2\xb4\x87\xcb\
              \x8e\x8e\x1e\x05\x05",
        ),
        (Note::Ended, b"\x01"),
        (Note::Wall { wall_ms: 5 }, b"\x02\x05"),
        (web, b"\x03\x01\x03web"),
        (Note::Gone { machine: 1 }, b"\x04\x01"),
        (Note::Held { machine: 1, hold }, b"\x05\x01\x03ops\x01x\x01\xac\x02"),
        (clear, b"\x06\x00\x05clear\x03ops\x00"),
        (Note::Process { machine: 1, process }, b"\x07\x01\xac\x06\x09\x00"),
        (stage(Stage::Stopping), b"\x08\x01\x02\x00"),
        (stage(Stage::Stopped), b"\x08\x01\x02\x01"),
        (stage(Stage::Starting), b"\x08\x01\x02\x02"),
        (stage(Stage::CommandStarted), b"\x08\x01\x02\x03"),
        (Note::Charged { budget: HostBudget::Actions }, b"\x09\x00"),
        (Note::Charged { budget: HostBudget::Resets }, b"\x09\x01"),
        (Note::GaveOver { machine: 1, from: Node(2) }, b"\x0a\x01\x02"),
        (Note::ForgotGiveovers { machine: 1 }, b"\x0b\x01"),
        (text, b"\x0c\x01\x01\x04died\x01x"),
        (Note::Lost { records: 4 }, b"\x0d\x04"),
        (Note::SetAside { file: "f".into(), why: "w".into() }, b"\x0e\x01f\x01w"),
        (member, b"\x0f\x01\x01\x01\x03ops\x01x\x01\xac\x02\x00"),
        (Note::GroupWaits { machine: 1, waits: true }, b"\x10\x01\x01"),
        (Note::GroupWaits { machine: 1, waits: false }, b"\x10\x01\x00"),
    ];
    for (note, fields) in frozen {
        let mut bytes = vec![0x02, 0xac, 0x02]; // a note, at 300 ms
        bytes.extend_from_slice(fields);
        assert_eq!(encode_note(AT, &note), bytes, "{note:?}");
        assert_eq!(Item::decode(&bytes), Ok(Item::Note { at: AT, note }));
    }
}

/// A generation: its header, and a frame of two records.
const GENERATION: [u8; 59] = [
    0x9d, 0x67, // mark
    0x1e, 0x00, // 30 bytes follow the sum
    0x7a, 0x5b, 0xbe, 0xfb, // CRC-32 of length and payload
    0x01, // format
    b'g', b'i', b'v', b'e', b'o', b'v', b'e', b'r', b' ', //
    b'j', b'o', b'u', b'r', b'n', b'a', b'l', b'\n', //
    0x02, 0x01, 0, 0, 0, 0, 0, 0, // number of the first record behind the snapshot
    0x01, 0, 0, 0, // records in the snapshot
    0x9d, 0x67, // mark
    0x0d, 0x00, // 13 bytes
    0x71, 0x59, 0x5f, 0x8f, // their sum
    0x04, // a record of 4 bytes
    0x02, 0xac, 0x02, 0x01, // a note at 300 ms: ended
    0x07, // a record of 7 bytes
    0x01, // an entry of a machine,
    0x01, // in the core's format 1,
    0xac, 0x02, // at 300 ms,
    0x01, // of machine 1:
    0x01, 0x00, // an event, timeout
];

#[test]
fn a_generation_is_a_header_and_frames_of_records() {
    let entry = Entry { at: AT, machine: 1, body: Body::Event(Event::Timeout) };
    let mut framer = Framer::default();
    Header { version: 1, first: 0x102, snapshot: 1 }.write(&mut framer);
    framer.push(&encode_note(AT, &Note::Ended));
    encode_entry(&entry, |record| framer.push(record));
    framer.seal();
    assert_eq!(framer.bytes(), GENERATION);

    let walk = Walk::begin(&GENERATION).expect("a header");
    let records: Vec<_> = walk.map(|record| record.expect("whole")).collect();
    let items: Vec<_> = records.iter().map(|record| record.item.clone()).collect();
    assert_eq!(items, [Item::Note { at: AT, note: Note::Ended }, Item::Entry(entry)]);
    let places: Vec<_> = records.iter().map(|record| (record.seq, record.in_snapshot)).collect();
    assert_eq!(places, [(0x102, true), (0x102, false)]);
}

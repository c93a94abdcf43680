//! The bytes of every frame of version 1.
//!
//! If one of these fails, the code is wrong: these bytes are never edited.
//!
//! Each is written as it is before COBS: version and kind; the payload, little-endian, with its
//! fields in the order of their declaration unless `core::board::layout` says otherwise; the
//! counter; the tag; the checksum. A kind with 80 in it has counter and tag.

use giveover_core::wire::{BoardEnd, Decoder, HostEnd, MAX_ENCODED};

use crate::wire::cobs;
use crate::wire_frames::{from_board, key, to_board};

const DEVICE: u64 = 0x1112_1314_1516_1718;
const HOST: u64 = 0x0102_0304_0506_0708;
const BOARD: u64 = 0x2122_2324_2526_2728;

/// From a host with the key 00 01 … 0F, one after the other on one connection.
const TO_BOARD: [(&str, &str); 15] = [
    ("hello", "0101 0807060504030201 4725dddb"),
    ("ask", "0182 02 01000000 3cfe51a445a3a6c4 26b93a40"),
    ("feed", "0183 0403020102 02000000 ac3678b700abcaf6 b5790869"),
    ("arm", "0184 03000000 041ef4ce0bd8f35b 9738c7a7"),
    ("disarm", "0185 c0270900 04000000 013bd700e0476d72 5bb27bae"),
    ("grace", "0186 40771b00 05000000 a3c561ab2a62e904 02a84ee5"),
    ("end", "0187 03 06000000 0472564427a8fe57 a31dc6c7"),
    (
        "configure",
        "0188 60ea0000c0270900e0930400fa00000080ee3600030301 07000000 1a7c3e5f2552da48 \
         eabd1265",
    ),
    ("confirm", "0189 08000000 71d744f9a3b5eae6 18c187c3"),
    ("reset", "018a 04020705f701 09000000 d0ecfe0e881be1ed f9854723"),
    ("read log", "018b 04030201 0a000000 26135b6e6671a709 41914c6e"),
    ("flush log", "018c 04030201 0b000000 bb115fc8407d8798 bab7580c"),
    ("clear", "018d 0c000000 bdb75490151a0727 57edfddc"),
    ("pair", "010e 101112131415161718191a1b1c1d1e1f 083771d1"),
    ("shadow", "018f 030807060504030201030d0c0b0a01320705f701 0d000000 1a49015c2068785c 3f00a1f8"),
];

/// From its board, after the challenge that made the connection.
const FROM_BOARD: [(&str, &str); 9] = [
    (
        "challenge",
        "01c1 18171615141312110807060504030201019a3f24232221 02000000 d966293a4ff92a4e \
         13b576a1",
    ),
    (
        "status",
        "01c2 \
         343332310e053d14131211ffffffff3201022423222102000000000005090705f7010d0c0b0a7094 \
         0000ffffffff 03000000 5b24ccdcbd162825 8a13ae19",
    ),
    ("answer", "01c3 0403020103 04000000 cfd0ff1e8f98f5e1 1dcaa2e9"),
    (
        "settings",
        "01c4 60ea0000c0270900e0930400fa00000080ee3600030301 05000000 819bf66272487a8c \
         1334bc97",
    ),
    (
        "counters",
        "01c5 \
         0403020102000000803e00000400000005000000060000000700000008000000090000000a000000 \
         0b0000000c0000000d000000 06000000 381b1ccda763364c 7fe51df8",
    ),
    (
        "about",
        "01c6 72702d7069636f0000000000000401080706050403020101040302011f000002 07000000 \
         036b7dd69d3f71a1 a49c8a67",
    ),
    (
        "log",
        "01c7 040302010807060504030201050d0c0b0a000000000000 08000000 b29074eb236cca54 \
         cd55a10e",
    ),
    ("log end", "01c8 04030201 09000000 8fece050196e54f7 e517941f"),
    ("image", "01c9 3837363534333231 0a000000 8257a21fd93bc2c7 7e1e9227"),
];

#[test]
fn frames_to_the_board_keep_their_bytes() {
    let (mut host, mut board) = ends();
    for ((name, frame), (frozen, hex)) in to_board().into_iter().zip(TO_BOARD) {
        assert_eq!(name, frozen);
        let mut out = [0; MAX_ENCODED];
        let (len, _) = host.seal(&frame, &mut out).expect("it fits");
        assert_eq!(out[..len], cobs(&bytes(hex)), "{name}: {}", spelled(&out[..len]));
        let opened = open(&out[..len], |raw| board.open(&raw));
        assert_eq!(opened.expect("authentic").frame, frame, "{name}");
    }
}

#[test]
fn frames_from_the_board_keep_their_bytes() {
    let (mut host, mut board) = ends();
    let mut out = [0; MAX_ENCODED];
    let (len, _) = host.seal(&giveover_core::wire::ToBoard::Arm, &mut out).expect("it fits");
    open(&out[..len], |raw| board.open(&raw)).expect("authentic");
    for ((name, frame), (frozen, hex)) in from_board().into_iter().zip(FROM_BOARD) {
        assert_eq!(name, frozen);
        let mut out = [0; MAX_ENCODED];
        let len = board.seal(&frame, &mut out).expect("it fits");
        assert_eq!(out[..len], cobs(&bytes(hex)), "{name}: {}", spelled(&out[..len]));
        assert_eq!(open(&out[..len], |raw| host.open(&raw)), Ok(frame), "{name}");
    }
}

#[test]
fn every_kind_is_frozen() {
    assert_eq!(to_board().len(), TO_BOARD.len());
    assert_eq!(from_board().len(), FROM_BOARD.len());
    let kinds = |rows: &[(&str, &str)]| -> Vec<u8> {
        rows.iter().map(|(_, hex)| bytes(hex)[1] & 0x7F).collect()
    };
    assert_eq!(kinds(&TO_BOARD), (0x01..=0x0F).collect::<Vec<_>>());
    assert_eq!(kinds(&FROM_BOARD), (0x41..=0x49).collect::<Vec<_>>());
}

/// The tag, made by another implementation from what the front page says it covers.
#[test]
fn the_tag_covers_nonces_device_direction_frame_and_counter() {
    use std::hash::Hasher;
    for (speaker, rows) in [(0, &TO_BOARD[..]), (1, &FROM_BOARD[..])] {
        for (name, hex) in rows {
            let frame = bytes(hex);
            if frame[1] & 0x80 == 0 {
                continue;
            }
            let (covered, tag) = frame[..frame.len() - 4].split_at(frame.len() - 12);
            let mut sip = siphasher::sip::SipHasher24::new_with_key(key(0).bytes());
            for part in [HOST, BOARD, DEVICE] {
                sip.write(&part.to_le_bytes());
            }
            sip.write(&[speaker]);
            sip.write(covered);
            assert_eq!(sip.finish().to_le_bytes(), tag, "{name}");
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let byte = |two: &[char]| u8::from_str_radix(&two.iter().collect::<String>(), 16);
    digits.chunks(2).map(|two| byte(two).expect("two digits")).collect()
}

/// A frame on the line, before COBS, for whoever adds one.
fn spelled(line: &[u8]) -> String {
    let mut frame = String::new();
    let mut left = line;
    while let Some((code @ 1.., rest)) = left.split_first() {
        let (block, rest) = rest.split_at(usize::from(*code) - 1);
        block.iter().for_each(|byte| frame += &format!("{byte:02x}"));
        frame += if rest == [0] { "" } else { "00" };
        left = rest;
    }
    frame
}

fn open<T>(line: &[u8], mut take: impl FnMut(giveover_core::wire::Raw<'_>) -> T) -> T {
    let mut decoder = Decoder::new();
    let mut taken = None;
    for byte in line {
        taken = decoder.push(*byte).map(|read| take(read.expect("a frame")));
    }
    taken.expect("it ends with a delimiter")
}

fn ends() -> (HostEnd, BoardEnd) {
    let (mut host, mut board) = (HostEnd::new(key(0), HOST), BoardEnd::new(Some(key(0)), DEVICE));
    let mut out = [0; MAX_ENCODED];
    let len = board.answer_hello(HOST, BOARD, &mut out).expect("it fits");
    open(&out[..len], |raw| host.open(&raw)).expect("the key is the same");
    (host, board)
}

//! Frames on the line: what is true is understood, and nothing else changes anything.

use giveover_core::board::{Layout, Note, Verdict};
use giveover_core::bytes::{Put, Take};
use giveover_core::wire::v1::EventBytes;
use giveover_core::wire::{
    BoardEnd, Decoder, FromBoard, Garbage, HostEnd, Key, LinkCounters, MAX_ENCODED, MAX_FRAME,
    Opened, Raw, Refused, Sip, ToBoard,
};

use crate::random::Random;
use crate::wire_frames::{events, from_board, key, notes, to_board};

pub(crate) const DEVICE: u64 = 0x6614_04D3;
pub(crate) const FEED: ToBoard = ToBoard::Feed { answer: 7, verdict: Verdict::Ok };

/// A host and a board with the same key and a connection.
pub(crate) struct Line {
    pub(crate) host: HostEnd,
    pub(crate) board: BoardEnd,
    pub(crate) nonce: u64,
    /// The challenge of the last greeting.
    pub(crate) greeting: u32,
}

impl Line {
    pub(crate) fn new() -> Self {
        let mut line = Self {
            host: HostEnd::new(key(0), 0),
            board: BoardEnd::new(Some(key(0)), DEVICE),
            nonce: 0,
            greeting: 0,
        };
        line.connect();
        line
    }

    pub(crate) fn connect(&mut self) {
        self.nonce += 1;
        self.host = HostEnd::new(key(0), self.nonce);
        let hello = self.hello();
        let challenge = self.greeted(&hello);
        let answer = self.heard(&challenge).expect("the key is the same");
        let FromBoard::Challenge { device: DEVICE, challenge, .. } = answer else {
            panic!("{answer:?}")
        };
        self.greeting = challenge;
    }

    pub(crate) fn hello(&self) -> Vec<u8> {
        let mut out = [0; MAX_ENCODED];
        let len = self.host.hello(&mut out).expect("it fits");
        out[..len].to_vec()
    }

    pub(crate) fn greeted(&mut self, hello: &[u8]) -> Vec<u8> {
        let opened = self.told(hello).expect("a hello needs no tag");
        let ToBoard::Hello { nonce } = opened.frame else { panic!("{opened:?}") };
        let mut out = [0; MAX_ENCODED];
        let len = self.board.answer_hello(nonce, nonce ^ 0xFF00, &mut out).expect("it fits");
        out[..len].to_vec()
    }

    pub(crate) fn host_says(&mut self, frame: &ToBoard) -> Vec<u8> {
        let mut out = [0; MAX_ENCODED];
        let (len, _) = self.host.seal(frame, &mut out).expect("it fits");
        out[..len].to_vec()
    }

    pub(crate) fn board_says(&mut self, frame: &FromBoard) -> Vec<u8> {
        let mut out = [0; MAX_ENCODED];
        let len = self.board.seal(frame, &mut out).expect("it fits");
        out[..len].to_vec()
    }

    pub(crate) fn told(&mut self, bytes: &[u8]) -> Result<Opened, Refused> {
        one(bytes, |raw| self.board.open(&raw.expect("a frame")))
    }

    pub(crate) fn heard(&mut self, bytes: &[u8]) -> Result<FromBoard, Refused> {
        one(bytes, |raw| self.host.open(&raw.expect("a frame")))
    }
}

/// What comes of the one frame in `bytes`.
pub(crate) fn one<T>(bytes: &[u8], take: impl FnOnce(Result<Raw<'_>, Garbage>) -> T) -> T {
    let mut decoder = Decoder::new();
    let (last, before) = bytes.split_last().expect("not empty");
    for byte in before {
        assert_eq!(decoder.push(*byte), None);
    }
    take(decoder.push(*last).expect("the end of a frame"))
}

pub(crate) fn tagged(frame: &ToBoard) -> bool {
    !matches!(frame, ToBoard::Hello { .. } | ToBoard::Pair(_))
}

#[test]
fn every_frame_arrives_as_it_was_sent() {
    let mut line = Line::new();
    for (name, frame) in to_board() {
        let bytes = line.host_says(&frame);
        assert!(bytes.len() <= MAX_ENCODED);
        assert_eq!(bytes.iter().filter(|byte| **byte == 0).count(), 1, "{name}");
        let opened = line.told(&bytes).expect(name);
        assert_eq!(opened.frame, frame, "{name}");
        assert_eq!(opened.counter > 0, tagged(&frame), "{name}");
    }
    for (name, frame) in from_board() {
        let bytes = line.board_says(&frame);
        assert_eq!(line.heard(&bytes), Ok(frame), "{name}");
    }
}

#[test]
fn every_event_and_every_note_has_bytes_of_its_own() {
    let mut seen = Vec::new();
    for event in events() {
        let bytes = EventBytes::new(&event).expect("it is streamed");
        assert_eq!(bytes.event(), Some(event));
        assert!(!seen.contains(&bytes), "{event:?}");
        seen.push(bytes);
    }
    let mut seen = Vec::new();
    for note in notes() {
        let mut bytes = [0; 32];
        let mut out = Put::new(&mut bytes);
        note.put(&mut out);
        let len = out.finish().expect("it fits");
        let read = |bytes: &[u8]| {
            let mut from = Take::new(bytes);
            Note::take(&mut from).and_then(|note| from.end(note))
        };
        assert_eq!(read(&bytes[..len]), Some(note));
        for cut in 0..len {
            assert_eq!(read(&bytes[..cut]), None, "{note:?} cut at {cut}");
        }
        assert!(!seen.contains(&bytes), "{note:?}");
        seen.push(bytes);
    }
}

/// The vectors of the reference implementation: key 00 01 … 0F, input 00 01 … of each length.
#[test]
fn the_tag_is_siphash_2_4() {
    let vectors: [[u8; 8]; 9] = [
        [0x31, 0x0E, 0x0E, 0xDD, 0x47, 0xDB, 0x6F, 0x72],
        [0xFD, 0x67, 0xDC, 0x93, 0xC5, 0x39, 0xF8, 0x74],
        [0x5A, 0x4F, 0xA9, 0xD9, 0x09, 0x80, 0x6C, 0x0D],
        [0x2D, 0x7E, 0xFB, 0xD7, 0x96, 0x66, 0x67, 0x85],
        [0xB7, 0x87, 0x71, 0x27, 0xE0, 0x94, 0x27, 0xCF],
        [0x8D, 0xA6, 0x99, 0xCD, 0x64, 0x55, 0x76, 0x18],
        [0xCE, 0xE3, 0xFE, 0x58, 0x6E, 0x46, 0xC9, 0xCB],
        [0x37, 0xD1, 0x01, 0x8B, 0xF5, 0x00, 0x02, 0xAB],
        [0x62, 0x24, 0x93, 0x9A, 0x79, 0xF5, 0xF5, 0x93],
    ];
    for (len, expected) in vectors.iter().enumerate() {
        let mut sip = Sip::new(&key(0));
        sip.bytes(&(0..len as u8).collect::<Vec<_>>());
        assert_eq!(sip.finish().to_le_bytes(), *expected, "{len} bytes");
    }
    let mut sip = Sip::new(&key(0));
    sip.bytes(&(0..15).collect::<Vec<_>>());
    assert_eq!(sip.finish(), 0xA129_CA61_49BE_45E5, "the example of the paper");
}

/// Against another implementation, over inputs longer than its counter of bytes.
#[test]
fn the_tag_is_that_of_another_implementation() {
    use std::hash::Hasher;
    let mut random = Random::new(5);
    for len in [0, 1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 700] {
        let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
        let mut sip = Sip::new(&key(3));
        sip.bytes(&bytes);
        let mut other = siphasher::sip::SipHasher24::new_with_key(key(3).bytes());
        other.write(&bytes);
        assert_eq!(sip.finish(), other.finish(), "{len} bytes");
    }
}

#[test]
fn a_key_is_never_printed() {
    let told = format!("{:?} {:?}", key(0x41), ToBoard::Pair(key(0x41)));
    assert!(
        !told.contains("ABCD") && !told.contains("65, 66") && !told.contains("41, 42"),
        "{told}"
    );
    let other = key(0x42).id();
    assert_ne!(key(0x41).id(), other);
}

#[test]
fn every_byte_of_a_secret_makes_another_key() {
    let secret: [u8; 32] = std::array::from_fn(|place| place as u8);
    let made = Key::of_secret(&secret);
    for place in 0..32 {
        let mut other = secret;
        other[place] ^= 1;
        assert_ne!(Key::of_secret(&other), made, "byte {place}");
    }
}

#[test]
fn a_frame_cut_anywhere_is_nothing_and_the_next_one_is_read() {
    let mut line = Line::new();
    for (name, frame) in to_board() {
        let whole = line.host_says(&frame);
        for cut in 0..whole.len() - 1 {
            let mut decoder = Decoder::new();
            for byte in &whole[..cut] {
                assert_eq!(decoder.push(*byte), None);
            }
            let ended = decoder.push(0);
            assert!(!matches!(ended, Some(Ok(_))), "{name} cut at {cut}: {ended:?}");
            assert_eq!(ended.is_none(), cut == 0, "{name}");
            let mut last = None;
            for byte in &whole {
                last = decoder.push(*byte).map(|read| read.map(|raw| raw.kind));
            }
            assert!(matches!(last, Some(Ok(_))), "{name} after a cut at {cut}");
        }
    }
}

#[test]
fn two_frames_run_together_cost_both_and_no_third() {
    let mut line = Line::new();
    let (one, two, three) = (line.host_says(&FEED), line.host_says(&FEED), line.host_says(&FEED));
    let run_together = [&one[..one.len() - 1], &two[..], &three[..]].concat();
    let mut decoder = Decoder::new();
    let mut opened = Vec::new();
    for byte in run_together {
        if let Some(Ok(raw)) = decoder.push(byte) {
            opened.push(line.board.open(&raw).expect("authentic").counter);
        }
    }
    assert_eq!(opened, [3]);
    assert_eq!(decoder.garbage(), 1);
}

#[test]
fn what_is_longer_than_any_frame_is_dropped_until_the_delimiter() {
    let mut line = Line::new();
    let good = line.host_says(&FEED);
    let mut decoder = Decoder::new();
    for _ in 0..3 {
        for _ in 0..100_000 {
            assert_eq!(decoder.push(0x55), None);
        }
        assert_eq!(decoder.push(0), Some(Err(Garbage::Oversize)));
        assert_eq!(decoder.push(0), None, "delimiters in a row are nothing");
    }
    assert_eq!(decoder.garbage(), 3);
    let last = good.iter().filter_map(|byte| decoder.push(*byte).map(|read| read.is_ok())).last();
    assert_eq!(last, Some(true));
}

/// COBS as its paper has it, for frames of every content, and as long as they may be.
#[test]
fn any_bytes_come_back_from_a_frame() {
    let mut random = Random::new(1);
    for round in 0..2_000_u32 {
        let len = 1 + random.below(MAX_FRAME as u64 - 5) as usize;
        let zeros = random.below(100);
        let mut frame: Vec<u8> = vec![1];
        frame.extend((0..len).map(|_| if random.percent(zeros) { 0 } else { random.next() as u8 }));
        frame.extend(giveover_core::bytes::crc32(&frame).to_le_bytes());
        let line = cobs(&frame);
        one(&line, |raw| {
            let raw = raw.expect("a frame");
            assert_eq!((raw.kind, raw.body), (frame[1], &frame[2..frame.len() - 4]), "{round}");
        });
    }
}

/// COBS written once more, in the plainest way.
pub(crate) fn cobs(frame: &[u8]) -> Vec<u8> {
    let mut line = Vec::new();
    for block in frame.split(|byte| *byte == 0) {
        assert!(block.len() < 254);
        line.push(block.len() as u8 + 1);
        line.extend(block);
    }
    line.push(0);
    line
}

#[test]
fn another_version_is_told_and_not_guessed_at() {
    for version in [0, 2, 255] {
        let mut frame = vec![version, 0x03, 1, 2, 3];
        frame.extend(giveover_core::bytes::crc32(&frame).to_le_bytes());
        one(&cobs(&frame), |raw| assert_eq!(raw, Err(Garbage::Version(version))));
        frame[2] ^= 1;
        one(&cobs(&frame), |raw| assert_eq!(raw, Err(Garbage::Checksum)));
    }
}

/// How many malformed frames are tried; `GIVEOVER_FRAMES` sets another number for the night.
fn malformed_frames() -> u64 {
    std::env::var("GIVEOVER_FRAMES").ok().and_then(|count| count.parse().ok()).unwrap_or(100_000)
}

/// Malformed in every way: bits flipped, cut, run together, doubled, of another key, recorded,
/// made up. None is taken for one that changes state, and behind each the next true frame is read.
#[test]
fn malformed_frames_change_nothing_and_cost_no_other() {
    let mut random = Random::new(7);
    let mut line = Line::new();
    let mut stranger = Line::new();
    stranger.board = BoardEnd::new(Some(key(0x33)), DEVICE);
    stranger.host = HostEnd::new(key(0x33), 1);
    let hello = stranger.hello();
    let challenge = stranger.greeted(&hello);
    stranger.heard(&challenge).expect("of the same key");
    let frames: Vec<ToBoard> =
        to_board().into_iter().map(|(_, frame)| frame).filter(tagged).collect();
    let recorded: Vec<Vec<u8>> = frames.iter().map(|frame| line.host_says(frame)).collect();
    for bytes in &recorded {
        line.told(bytes).expect("the first time");
    }
    let mut decoder = Decoder::new();
    let (mut taken, total) = (0, malformed_frames());
    for count in 0..total {
        let bytes = malformed(&mut random, &recorded, &frames, &mut stranger, &mut line);
        for byte in bytes.iter().chain(&[0]) {
            if let Some(Ok(raw)) = decoder.push(*byte) {
                if let Ok(opened) = line.board.open(&raw) {
                    assert_eq!(opened.counter, 0, "{count}: {opened:?} from {bytes:02x?}");
                    assert!(opened.frame.goes_untagged());
                }
            }
        }
        if count % 8 == 0 {
            let frame = random.pick(&frames);
            for byte in line.host_says(&frame) {
                if let Some(raw) = decoder.push(byte) {
                    let raw = raw.unwrap_or_else(|why| panic!("{why:?} after {bytes:02x?}"));
                    assert_eq!(line.board.open(&raw).expect("authentic").frame, frame);
                    taken += 1;
                }
            }
        }
    }
    assert_eq!(taken, total.div_ceil(8));
    let LinkCounters { refused, replayed, .. } = line.board.counters();
    assert!(refused > 0 && replayed > 0 && decoder.garbage() > 0);
    println!(
        "{total} malformed frames: {} garbage, {refused} refused, {replayed} replayed",
        decoder.garbage()
    );
}

fn malformed(
    random: &mut Random,
    recorded: &[Vec<u8>],
    frames: &[ToBoard],
    stranger: &mut Line,
    line: &mut Line,
) -> Vec<u8> {
    let old = recorded[random.below(recorded.len() as u64) as usize].clone();
    let frame = random.pick(frames);
    match random.below(7) {
        0 => old,
        1 => stranger.host_says(&frame),
        2 => line.host_says(&frame).split_off(1),
        3 => {
            let sealed = line.host_says(&frame);
            let mut bytes = sealed.clone();
            for _ in 0..=random.below(4) {
                let place = random.below(bytes.len() as u64 - 1) as usize;
                bytes[place] ^= 1 << random.below(8);
            }
            // Bits flipped back and forth leave a true frame, which would be taken.
            if bytes == sealed { old } else { bytes }
        }
        4 => {
            let mut bytes = line.host_says(&frame);
            bytes.truncate(random.below(bytes.len() as u64 - 1) as usize);
            bytes
        }
        5 => (0..random.below(200)).map(|_| random.next() as u8).collect(),
        _ => {
            // A true checksum around bytes that nobody sealed.
            let mut frame = vec![1];
            frame.extend((0..1 + random.below(MAX_FRAME as u64 - 5)).map(|_| random.next() as u8));
            frame.extend(giveover_core::bytes::crc32(&frame).to_le_bytes());
            cobs(&frame)
        }
    }
}

//! The board's durable record: frozen bytes, what is no record, and which of two is gone by.
//!
//! If the frozen bytes fail, the code is wrong: they are never edited.

use giveover_core::board::{
    Board, Durable, DurableError, Newest, Resets, Second, Settings, Start, Why,
};
use giveover_core::bytes::crc32;
use giveover_core::time::Span;

use crate::random::Random;
use crate::script::ms;
use crate::wire_frames::{CAUSE, SETTINGS};

fn full() -> Durable {
    Durable {
        number: 0x0102_0304,
        powered: ms(0x1112_1314_1516_1718),
        armed: true,
        guarding: true,
        held: Some(Why::StopFailed { service: 9, cause: CAUSE }),
        intent: true,
        ever: 0x2122_2324,
        newest: Some(Newest {
            at: ms(0x3132_3334_3536_3738),
            why: Why::Giveover { service: 2, cause: CAUSE },
        }),
        proven: Some(ms(0x4142_4344_4546_4748)),
        resets: Resets::of([ms(0x5152_5354_5556_5758), ms(0x6162)].into_iter()),
        settings: SETTINGS,
    }
}

const FULL: [u8; Durable::BYTES] = [
    0x01, // version
    0x3F, // armed, guarding, held, intent, a newest reset, a proof
    0x02, // resets
    0x00, //
    0x04, 0x03, 0x02, 0x01, // number
    0x24, 0x23, 0x22, 0x21, // resets ever
    0x04, 0x02, 0x07, 0x05, 0xF7, 0x01, // why the newest: giveover of 2, check 7, answer, 503
    0x05, 0x09, 0x07, 0x05, 0xF7, 0x01, // why held: the stop of 9 failed
    0x60, 0xEA, 0x00, 0x00, // timeout
    0xC0, 0x27, 0x09, 0x00, // boot_grace
    0xE0, 0x93, 0x04, 0x00, // link_timeout
    0xFA, 0x00, 0x00, 0x00, // pulse
    0x80, 0xEE, 0x36, 0x00, // retry_interval
    0x03, // retry_count
    0x03, // second: cycle
    0x01, // nowayout
    0x00, //
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, // powered
    0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, // proven
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, // the newest reset
    0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, // resets
    0x62, 0x61, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, //
    0xF1, 0x36, 0x05, 0x1C, // checksum
];

#[test]
fn a_record_keeps_its_bytes() {
    assert_eq!(full().encode(), FULL, "{:02x?}", full().encode());
    assert_eq!(Durable::decode(&FULL), Ok(full()));
}

#[test]
fn a_new_boards_record_is_read_as_written() {
    assert_eq!(Durable::decode(&Durable::NEW.encode()), Ok(Durable::NEW));
}

#[test]
fn nothing_written_is_no_record() {
    for byte in [0x00, 0xFF] {
        assert_eq!(Durable::decode(&[byte; Durable::BYTES]), Err(DurableError::Malformed));
    }
}

#[test]
fn every_bit_that_flips_and_every_torn_write_is_found() {
    for bit in 0..Durable::BYTES * 8 {
        let mut bytes = FULL;
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Durable::decode(&bytes), Err(DurableError::Malformed), "bit {bit}");
    }
    for blank in [0x00, 0xFF] {
        for written in 0..Durable::BYTES {
            let mut bytes = [blank; Durable::BYTES];
            bytes[..written].copy_from_slice(&FULL[..written]);
            assert_eq!(Durable::decode(&bytes), Err(DurableError::Malformed), "{written}");
        }
    }
}

fn sealed(mut bytes: [u8; Durable::BYTES]) -> [u8; Durable::BYTES] {
    let (body, crc) = bytes.split_at_mut(Durable::BYTES - 4);
    crc.copy_from_slice(&crc32(body).to_le_bytes());
    bytes
}

#[test]
fn a_newer_record_is_told_as_such() {
    let mut bytes = FULL;
    bytes[0] = 2;
    assert_eq!(Durable::decode(&sealed(bytes)), Err(DurableError::Newer(2)));
    bytes[0] = 0;
    assert_eq!(Durable::decode(&sealed(bytes)), Err(DurableError::Malformed));
}

#[test]
fn what_no_board_writes_is_no_record() {
    let wrong: [(usize, u8); 4] = [
        (1, 0x7F), // a flag that is none
        (2, 9),    // more resets than there is room for
        (12, 7),   // a reason that is none
        (45, 5),   // a second line that is none
    ];
    for (at, value) in wrong {
        let mut bytes = FULL;
        bytes[at] = value;
        assert_eq!(Durable::decode(&sealed(bytes)), Err(DurableError::Malformed), "byte {at}");
    }
    let record = Durable {
        settings: Settings { timeout: Span::from_millis(10), ..SETTINGS },
        ..Durable::NEW
    };
    assert_eq!(Durable::decode(&record.encode()), Err(DurableError::Malformed), "out of range");
}

#[test]
fn random_bytes_are_no_record_and_harm_nobody() {
    let mut random = Random::new(3);
    for _ in 0..20_000 {
        let mut bytes: [u8; Durable::BYTES] = std::array::from_fn(|_| random.next() as u8);
        assert!(Durable::decode(&bytes).is_err());
        bytes[0] = 1;
        if let Ok(record) = Durable::decode(&sealed(bytes)) {
            assert!(record.resets.count() <= Settings::MOST_RESETS);
            assert!(record.settings.policy().is_ok());
        }
    }
}

#[test]
fn the_higher_count_wins_and_then_the_newer_record() {
    let record = |ever, number, powered| {
        Some(Durable { ever, number, powered: ms(powered), ..Durable::NEW })
    };
    let chosen = |one, other| {
        let settled = Durable::settle(one, other);
        assert_eq!(settled, Durable::settle(other, one), "in either order");
        settled.map(|record| (record.ever, record.number, record.powered.as_millis()))
    };
    assert_eq!(chosen(None, None), None);
    assert_eq!(chosen(record(1, 1, 1), None), Some((1, 1, 1)));
    assert_eq!(chosen(record(1, 9, 5), record(1, 8, 5)), Some((1, 9, 5)));
    assert_eq!(chosen(record(2, 8, 5), record(1, 9, 5)), Some((2, 8, 5)), "the count first");
    assert_eq!(chosen(record(1, 9, 5), record(1, 8, 7)), Some((1, 9, 7)), "time goes on");
    assert_eq!(chosen(record(1, 9, 5), record(1, 9, 7)), Some((1, 9, 7)));
}

#[test]
fn the_time_of_a_board_never_goes_back_behind_its_record() {
    let record = Durable { powered: ms(5_000), ..Durable::NEW };
    let (board, _) = Board::start(Some(record), Start::PowerUp, ms(4_000));
    assert_eq!(board.latest(), ms(5_000));
    let (board, _) = Board::start(Some(record), Start::PowerUp, ms(6_000));
    assert_eq!(board.latest(), ms(6_000));
}

#[test]
fn a_second_line_that_is_cycled_has_a_number_of_its_own() {
    for (number, second) in Second::ALL.iter().enumerate() {
        assert_eq!(usize::from(second.number()), number);
        assert_eq!(Second::of(second.number()), Some(*second));
    }
}

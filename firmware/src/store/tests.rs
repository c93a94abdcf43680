extern crate std;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use super::slot::AROUND;
use super::*;

const PAGE: usize = 128;
const N: usize = 16;
type Record = [u8; N];

/// What a chip keeps when its power is cut, and when that happens.
#[derive(Clone, Debug)]
struct Chip(Rc<Inside>);

#[derive(Debug)]
struct Inside {
    bytes: RefCell<Vec<u8>>,
    /// Steps until the cut: words programmed, and parts of an erase.
    left: Cell<u64>,
    random: Cell<u64>,
    /// Bytes that stay at 0 however often they are erased.
    bad: RefCell<Vec<usize>>,
    /// Reads until it answers no more.
    reads: Cell<u32>,
    /// It says that it has written, and has not.
    drops: Cell<bool>,
}

#[derive(Debug)]
struct Refused;

impl NorFlashError for Refused {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl Chip {
    fn new(pages: usize, filled: u8, seed: u64) -> Self {
        Self(Rc::new(Inside {
            bytes: RefCell::new(vec![filled; pages * PAGE]),
            left: Cell::new(u64::MAX),
            random: Cell::new(seed | 1),
            bad: RefCell::default(),
            reads: Cell::new(u32::MAX),
            drops: Cell::new(false),
        }))
    }

    fn random(&self) -> u64 {
        let mut state = self.0.random.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0.random.set(state);
        state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 24
    }

    /// One step; false at the cut and ever after.
    fn step(&self) -> Power {
        match self.0.left.get() {
            0 => Power::Off,
            1 => {
                self.0.left.set(0);
                Power::Failing
            }
            left => {
                self.0.left.set(left - 1);
                Power::On
            }
        }
    }

    fn plug_in(&self) {
        self.0.left.set(u64::MAX);
    }
}

enum Power {
    On,
    /// It goes in the middle of this step.
    Failing,
    Off,
}

impl ErrorType for Chip {
    type Error = Refused;
}

impl ReadNorFlash for Chip {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Refused> {
        if self.0.reads.get() == 0 {
            return Err(Refused);
        }
        self.0.reads.set(self.0.reads.get() - 1);
        let from = offset as usize;
        bytes.copy_from_slice(&self.0.bytes.borrow()[from..from + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.0.bytes.borrow().len()
    }
}

impl NorFlash for Chip {
    const WRITE_SIZE: usize = 4;
    const ERASE_SIZE: usize = PAGE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Refused> {
        assert!(from as usize % PAGE == 0 && (to - from) as usize == PAGE, "one page at a time");
        // An erase has a middle too: it is cut in one of four parts, and that part is anything.
        for part in (from as usize..to as usize).collect::<Vec<_>>().chunks(PAGE / 4) {
            let power = self.step();
            for at in part {
                let bad = self.0.bad.borrow().contains(at);
                let random = self.random() as u8;
                let byte = &mut self.0.bytes.borrow_mut()[*at];
                match power {
                    Power::On => *byte = if bad { 0 } else { 0xFF },
                    Power::Failing => *byte |= random,
                    Power::Off => return Err(Refused),
                }
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Refused> {
        assert!(offset % 4 == 0 && bytes.len() % 4 == 0, "whole words");
        if self.0.drops.get() {
            return Ok(());
        }
        for (index, word) in bytes.chunks(4).enumerate() {
            let power = self.step();
            for (at, new) in word.iter().enumerate() {
                let spared = self.random() as u8;
                let byte = &mut self.0.bytes.borrow_mut()[offset as usize + index * 4 + at];
                match power {
                    // Programming only clears bits.
                    Power::On => *byte &= new,
                    Power::Failing => *byte &= new | spared,
                    Power::Off => return Err(Refused),
                }
            }
            if matches!(power, Power::Failing) {
                return Err(Refused);
            }
        }
        Ok(())
    }
}

/// RAM that takes every word and keeps none.
struct Sieve;

impl Memory for Sieve {
    fn get(&self, at: usize) -> Option<u32> {
        (at < Retained::<Self, N>::WORDS).then_some(0)
    }
    fn set(&mut self, at: usize, _: u32) -> bool {
        at < Retained::<Self, N>::WORDS
    }
}

/// What says that it has a record, and has not, has none; nor has RAM one of another sequence.
#[test]
fn what_is_not_read_back_was_not_written() {
    let chip = Chip::new(2, 0xFF, 5);
    append(&mut ring(&chip), 1).expect("room");
    chip.0.drops.set(true);
    assert_eq!(append(&mut ring(&chip), 2), Err(StoreError::Flash));
    assert_eq!(newest(&chip), 1);
    let mut sieve = Retained::<_, N>::new(Sieve);
    assert!(!sieve.write(1, &record(1, 0)));
    assert_eq!(sieve.newest(), None);
    let mut ram = Retained::<_, N>::new(Ram::new(0));
    assert!(ram.write(3, &record(1, 0)));
    assert!(ram.read(3, &mut [0; N]) && !ram.read(5, &mut [0; N]));
}

/// Retained RAM that is anything after a power cut, and cut short by a reset.
#[derive(Clone, Debug)]
struct Ram {
    words: Vec<u32>,
    left: u64,
}

impl Ram {
    fn new(filled: u8) -> Self {
        let word = u32::from_le_bytes([filled; 4]);
        Self { words: vec![word; Retained::<Self, N>::WORDS], left: u64::MAX }
    }
}

impl Memory for Ram {
    fn get(&self, at: usize) -> Option<u32> {
        self.words.get(at).copied()
    }
    fn set(&mut self, at: usize, word: u32) -> bool {
        if self.left > 0 {
            self.left -= 1;
            if let Some(place) = self.words.get_mut(at) {
                *place = word;
                return true;
            }
        }
        false
    }
}

/// A record of `pulses`, distinct from all others.
fn record(pulses: u32, other: u32) -> Record {
    let mut record = [0xA5; N];
    record[..4].copy_from_slice(&pulses.to_le_bytes());
    record[4..8].copy_from_slice(&other.to_le_bytes());
    record
}

fn open(ram: Ram, chip: &Chip) -> Store<Ram, Chip, N> {
    Store::open(ram, Some(chip.clone()))
}

/// What was found, in RAM and in flash.
fn found(store: &mut Store<Ram, Chip, N>) -> [Option<(u32, Record)>; 2] {
    let (mut ram, mut flash) = ([0; N], [0; N]);
    let sequences = (store.retained(&mut ram), store.flash(&mut flash));
    [sequences.0.map(|sequence| (sequence, ram)), sequences.1.map(|sequence| (sequence, flash))]
}

fn ring(chip: &Chip) -> Ring<Chip, N> {
    Ring::open(chip.clone())
}

fn append(ring: &mut Ring<Chip, N>, sequence: u32) -> Result<(), StoreError> {
    ring.append(sequence, &record(sequence, 0))
}

/// The newest record of a ring that is opened anew, which must be the one of its sequence.
fn newest(chip: &Chip) -> u32 {
    let mut ring = ring(chip);
    let mut bytes = [0; N];
    let read = ring.read(&mut bytes);
    let newest = ring.newest().unwrap_or(0);
    assert_eq!(read, newest > 0);
    assert!(!read || bytes == record(newest, 0));
    newest
}

#[test]
fn the_newest_record_is_found_again_over_many_laps() {
    for filled in [0, 0xFF, 0x5A] {
        let chip = Chip::new(3, filled, 1);
        assert_eq!(newest(&chip), 0);
        for sequence in 1..100 {
            append(&mut ring(&chip), sequence).expect("room");
            assert_eq!(newest(&chip), sequence);
        }
    }
}

#[test]
fn a_record_of_which_a_word_cannot_be_read_is_none() {
    let chip = Chip::new(2, 0xFF, 1);
    append(&mut ring(&chip), 1).expect("room");
    // It is looked over as a whole first, and then its bytes are taken.
    let words = (N + AROUND + N) / 4;
    for reads in 0..=words {
        let mut ring = ring(&chip);
        chip.0.reads.set(reads as u32);
        let mut bytes = [0; N];
        assert_eq!(ring.read(&mut bytes), reads == words, "after {reads} words");
        chip.0.reads.set(u32::MAX);
    }
}

/// Every word of three laps, and four places within each erase, each with three different torn
/// words (L5).
#[test]
fn a_power_cut_at_any_word_leaves_the_record_before_or_the_new_one() {
    for pages in [2, 3] {
        for seed in 1..=3 {
            let whole = Chip::new(pages, 0, seed);
            let laps = 3 * pages as u32 * (PAGE / 32) as u32;
            whole.0.left.set(1 << 40);
            let mut all = ring(&whole);
            (1..=laps).for_each(|sequence| append(&mut all, sequence).expect("room"));
            let steps = (1 << 40) - whole.0.left.get();
            for cut in 1..=steps {
                let chip = Chip::new(pages, 0, seed * 1000 + cut);
                chip.0.left.set(cut);
                let mut before = ring(&chip);
                let fails = |sequence: &u32| append(&mut before, *sequence).is_err();
                // The very last step may be torn into what it should be.
                let cut_at = (1..=laps).find(fails).unwrap_or(laps);
                chip.plug_in();
                let found = newest(&chip);
                assert!(found == cut_at - 1 || found == cut_at, "{found} after {cut_at}");
                // And the ring goes on from there, through another lap.
                for sequence in found + 1..found + 1 + laps {
                    append(&mut ring(&chip), sequence).expect("room");
                    assert_eq!(newest(&chip), sequence, "after cut {cut}");
                }
            }
        }
    }
}

#[test]
fn cut_again_and_again_at_random_no_count_ever_falls() {
    for seed in 1..=300 {
        let chip = Chip::new(2, 0, seed);
        let mut durable = 0;
        let mut sequence = 0;
        for _ in 0..40 {
            chip.0.left.set(1 + chip.random() % 60);
            let mut ring = ring(&chip);
            sequence = sequence.max(ring.newest().unwrap_or(0));
            assert!(sequence >= durable);
            while append(&mut ring, sequence + 1).is_ok() {
                sequence += 1;
                durable = sequence;
            }
            chip.plug_in();
            let found = newest(&chip);
            assert!(found >= durable, "{found} of {durable}, seed {seed}");
            sequence = found;
        }
    }
}

#[test]
fn a_flash_that_refuses_or_lies_never_costs_the_newest_record() {
    for bad in 0..2 * PAGE {
        let chip = Chip::new(2, 0xFF, 5);
        chip.0.bad.borrow_mut().push(bad);
        chip.0.bytes.borrow_mut()[bad] = 0;
        let mut durable = 0;
        for sequence in 1..40 {
            match append(&mut ring(&chip), sequence) {
                Ok(()) => durable = sequence,
                Err(error) => assert_eq!(error, StoreError::Flash),
            }
            assert_eq!(newest(&chip), durable);
        }
        assert!(durable > 20, "one bad byte stops nothing");
    }
    // All of the second page is bad.
    let chip = Chip::new(2, 0xFF, 5);
    chip.0.bad.borrow_mut().extend(PAGE..2 * PAGE);
    chip.0.bytes.borrow_mut()[PAGE..].fill(0);
    let mut worn = ring(&chip);
    let written = (1..20).take_while(|sequence| append(&mut worn, *sequence).is_ok()).count();
    assert_eq!(written, PAGE / 32);
    for sequence in 20..30 {
        assert_eq!(append(&mut worn, sequence), Err(StoreError::Flash));
        assert_eq!(newest(&chip), PAGE as u32 / 32);
    }
}

#[test]
fn a_flash_too_small_keeps_nothing_and_says_so() {
    // A record that is no whole number of words does not fit any.
    let chip = Chip::new(2, 0xFF, 1);
    let mut odd = Ring::<Chip, 10>::open(chip);
    assert_eq!(odd.append(1, &[0; 10]), Err(StoreError::Flash));
    for pages in [0, 1] {
        let chip = Chip::new(pages, 0xFF, 1);
        assert_eq!(append(&mut ring(&chip), 1), Err(StoreError::Flash));
        assert_eq!(newest(&chip), 0);
    }
}

/// The law is L5.
#[test]
fn any_flipped_bit_of_the_flash_costs_one_record_at_most() {
    let chip = Chip::new(2, 0xFF, 1);
    let mut whole = ring(&chip);
    (1..=6).for_each(|sequence| append(&mut whole, sequence).expect("room"));
    for bit in 0..2 * PAGE * 8 {
        chip.0.bytes.borrow_mut()[bit / 8] ^= 1 << (bit % 8);
        let found = newest(&chip);
        assert!(found == 6 || found == 5, "bit {bit}: {found}");
        chip.0.bytes.borrow_mut()[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn retained_ram_survives_a_reset_at_any_word() {
    for filled in [0, 0xFF, 0x5A] {
        let mut retained = Retained::<_, N>::new(Ram::new(filled));
        assert_eq!(retained.newest(), None);
        assert!(retained.write(1, &record(1, 0)) && retained.write(2, &record(2, 0)));
        let ram = retained.into_memory();
        for cut in 0..=Retained::<Ram, N>::WORDS as u64 {
            let mut ram = ram.clone();
            ram.left = cut;
            let mut retained = Retained::<_, N>::new(ram);
            let found = if retained.write(3, &record(3, 0)) { 3 } else { 2 };
            let retained = Retained::<_, N>::new(retained.into_memory());
            let mut bytes = [0; N];
            assert_eq!(retained.newest(), Some(found));
            assert!(retained.read(found, &mut bytes) && bytes == record(found, 0));
        }
    }
    let mut none = Retained::<_, N>::new(Ram { words: vec![], left: u64::MAX });
    assert!(!none.write(1, &record(1, 0)) && none.newest().is_none());
}

#[test]
fn what_is_written_next_is_newest_in_both_places() {
    let chip = Chip::new(2, 0, 1);
    let mut store = open(Ram::new(0), &chip);
    assert_eq!(found(&mut store), [None, None]);
    store.write(&record(3, 1)).expect("room");
    assert!(store.is_sound());
    let (ram, _) = store.into_parts();
    // Flash goes on without RAM, as after a power cut.
    let mut store = open(Ram::new(0xFF), &chip);
    assert_eq!(found(&mut store), [None, Some((1, record(3, 1)))]);
    assert!(!store.is_sound());
    store.write(&record(4, 2)).expect("room");
    store.write(&record(4, 3)).expect("room");
    // RAM of before is older.
    let mut store = open(ram, &chip);
    assert_eq!(found(&mut store), [Some((1, record(3, 1))), Some((3, record(4, 3)))]);
    store.write(&record(5, 10)).expect("room");
    assert_eq!((store.sequence(), store.room()), (4, (4, 8)));
    let (ram, _) = store.into_parts();
    assert_eq!(found(&mut open(ram, &chip)), [Some((4, record(5, 10))); 2]);
}

#[test]
fn a_board_without_flash_is_content_with_ram_and_one_without_either_says_so() {
    let mut store = Store::<_, Chip, N>::open(Ram::new(0), None);
    assert_eq!(store.write(&record(1, 0)), Ok(()));
    let (ram, _) = store.into_parts();
    let mut store = Store::<_, Chip, N>::open(ram, None);
    assert_eq!(found(&mut store), [Some((1, record(1, 0))), None]);
    let nowhere = Ram { words: vec![], left: u64::MAX };
    let mut store = Store::<_, Chip, N>::open(nowhere, None);
    assert_eq!(store.write(&record(1, 0)), Err(StoreError::Nowhere));
    assert!(!store.is_sound());
}

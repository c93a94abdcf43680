extern crate std;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

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

/// Retained RAM that is anything after a power cut, and cut short by a reset.
#[derive(Clone, Debug)]
struct Ram {
    bytes: Vec<u8>,
    left: u64,
}

impl Ram {
    fn new(filled: u8) -> Self {
        Self { bytes: vec![filled; Retained::<Self, N>::SIZE], left: u64::MAX }
    }
}

impl Memory for Ram {
    fn len(&self) -> usize {
        self.bytes.len()
    }
    fn get(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }
    fn set(&mut self, at: usize, byte: u8) {
        if self.left > 0 {
            self.left -= 1;
            if let Some(place) = self.bytes.get_mut(at) {
                *place = byte;
            }
        }
    }
}

/// A record of `pulses`, distinct from all others.
fn record(pulses: u32, other: u32) -> Record {
    let mut record = [0xA5; N];
    record[..4].copy_from_slice(&pulses.to_le_bytes());
    record[4..8].copy_from_slice(&other.to_le_bytes());
    record
}

fn pulses(record: &Record) -> u32 {
    u32::from_le_bytes(record[..4].try_into().expect("4 bytes"))
}

fn open(ram: Ram, chip: &Chip) -> Store<Ram, Chip, N> {
    Store::open(ram, Some(chip.clone()), pulses)
}

fn ring(chip: &Chip) -> Ring<Chip, N> {
    Ring::open(chip.clone())
}

fn saved(sequence: u32) -> Saved<N> {
    Saved { sequence, bytes: record(sequence, 0) }
}

#[test]
fn the_newest_record_is_found_again_over_many_laps() {
    for filled in [0, 0xFF, 0x5A] {
        let chip = Chip::new(3, filled, 1);
        assert_eq!(ring(&chip).newest(), None);
        for sequence in 1..100 {
            ring(&chip).append(&saved(sequence)).expect("room");
            assert_eq!(ring(&chip).newest(), Some(saved(sequence)));
        }
    }
}

/// Every word of three laps, and four places within each erase, each with three different torn
/// words (L5).
#[test]
fn a_power_cut_at_any_word_leaves_the_record_before_or_the_new_one() {
    for pages in [2, 3] {
        for seed in 1..=3 {
            let whole = Chip::new(pages, 0, seed);
            let (mut steps, laps) = (0, 3 * pages as u32 * (PAGE / 32) as u32);
            whole.0.left.set(1 << 40);
            let mut all = ring(&whole);
            (1..=laps).for_each(|sequence| all.append(&saved(sequence)).expect("room"));
            steps += (1 << 40) - whole.0.left.get();
            for cut in 1..=steps {
                let chip = Chip::new(pages, 0, seed * 1000 + cut);
                chip.0.left.set(cut);
                let mut before = ring(&chip);
                let fails = |sequence: &u32| before.append(&saved(*sequence)).is_err();
                // The very last step may be torn into what it should be.
                let cut_at = (1..=laps).find(fails).unwrap_or(laps);
                chip.plug_in();
                let found = ring(&chip).newest().map_or(0, |saved| saved.sequence);
                assert!(found == cut_at - 1 || found == cut_at, "{found} after {cut_at}");
                // And the ring goes on from there, through another lap.
                for sequence in found + 1..found + 1 + laps {
                    ring(&chip).append(&saved(sequence)).expect("room");
                    assert_eq!(ring(&chip).newest(), Some(saved(sequence)), "after cut {cut}");
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
            sequence = sequence.max(ring.newest().map_or(0, |saved| saved.sequence));
            assert!(sequence >= durable);
            for next in sequence + 1.. {
                sequence = next;
                match ring.append(&saved(next)) {
                    Ok(()) => durable = next,
                    Err(_) => break,
                }
            }
            chip.plug_in();
            let found = self::ring(&chip).newest().map_or(0, |saved| saved.sequence);
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
        let mut newest = None;
        for sequence in 1..40 {
            match ring(&chip).append(&saved(sequence)) {
                Ok(()) => newest = Some(saved(sequence)),
                Err(error) => assert_eq!(error, StoreError::Flash),
            }
            assert_eq!(ring(&chip).newest(), newest);
        }
        assert!(newest.is_some_and(|saved| saved.sequence > 20), "one bad byte stops nothing");
    }
    // All of the second page is bad.
    let chip = Chip::new(2, 0xFF, 5);
    chip.0.bad.borrow_mut().extend(PAGE..2 * PAGE);
    chip.0.bytes.borrow_mut()[PAGE..].fill(0);
    let mut worn = ring(&chip);
    let written = (1..20).take_while(|sequence| worn.append(&saved(*sequence)).is_ok()).count();
    assert_eq!(written, PAGE / 32);
    for sequence in 20..30 {
        assert_eq!(worn.append(&saved(sequence)), Err(StoreError::Flash));
        assert_eq!(ring(&chip).newest(), Some(saved(PAGE as u32 / 32)));
    }
}

#[test]
fn a_flash_too_small_keeps_nothing_and_says_so() {
    for pages in [0, 1] {
        let chip = Chip::new(pages, 0xFF, 1);
        assert_eq!(ring(&chip).append(&saved(1)), Err(StoreError::Flash));
        assert_eq!(ring(&chip).newest(), None);
    }
}

/// The law is L5.
#[test]
fn any_flipped_bit_of_the_flash_costs_one_record_at_most() {
    let chip = Chip::new(2, 0xFF, 1);
    let mut whole = ring(&chip);
    (1..=6).for_each(|sequence| whole.append(&saved(sequence)).expect("room"));
    for bit in 0..2 * PAGE * 8 {
        chip.0.bytes.borrow_mut()[bit / 8] ^= 1 << (bit % 8);
        let found = ring(&chip).newest().map_or(0, |saved| saved.sequence);
        assert!(found == 6 || found == 5, "bit {bit}: {found}");
        chip.0.bytes.borrow_mut()[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn retained_ram_survives_a_reset_at_any_byte() {
    for filled in [0, 0xFF, 0x5A] {
        let mut retained = Retained::<_, N>::new(Ram::new(filled));
        assert_eq!(retained.newest(), None);
        assert!(retained.write(&saved(1)) && retained.write(&saved(2)));
        let ram = retained.into_memory();
        for cut in 0..=Retained::<Ram, N>::SIZE as u64 {
            let mut ram = ram.clone();
            ram.left = cut;
            let mut retained = Retained::<_, N>::new(ram);
            let whole = retained.write(&saved(3));
            let found = Retained::<_, N>::new(retained.into_memory()).newest();
            assert_eq!(found, Some(saved(if whole { 3 } else { 2 })));
        }
    }
    let mut none = Retained::<_, N>::new(Ram { bytes: vec![], left: u64::MAX });
    assert!(!none.write(&saved(1)) && none.newest().is_none());
}

/// The law is L5.
#[test]
fn where_the_places_disagree_the_higher_count_wins() {
    let chip = Chip::new(2, 0, 1);
    let mut store = open(Ram::new(0), &chip);
    assert_eq!(store.best(), None);
    store.write(&record(3, 1)).expect("room");
    let (ram, _) = store.into_parts();
    // Flash goes on without RAM, as after a power cut.
    let mut store = open(Ram::new(0xFF), &chip);
    assert_eq!(store.best(), Some(&record(3, 1)));
    store.write(&record(4, 2)).expect("room");
    // RAM of before is older and lower: flash wins.
    assert_eq!(open(ram, &chip).best(), Some(&record(4, 2)));
    // RAM that has seen a pulse more than flash wins, though its sequence is no higher.
    let mut other = Retained::<_, N>::new(Ram::new(0));
    assert!(other.write(&Saved { sequence: 1, bytes: record(5, 9) }));
    let mut store = open(other.into_memory(), &chip);
    assert_eq!(store.best(), Some(&record(5, 9)));
    // What is written next is newest in both.
    store.write(&record(5, 10)).expect("room");
    assert_eq!(store.best(), Some(&record(5, 10)));
    let (ram, _) = store.into_parts();
    assert_eq!(open(ram, &chip).best(), Some(&record(5, 10)));
    assert_eq!(open(Ram::new(0), &chip).best(), Some(&record(5, 10)));
}

#[test]
fn a_board_without_flash_is_content_with_ram_and_one_without_either_says_so() {
    let mut store = Store::<_, Chip, N>::open(Ram::new(0), None, pulses);
    assert_eq!(store.write(&record(1, 0)), Ok(()));
    let (ram, _) = store.into_parts();
    assert_eq!(Store::<_, Chip, N>::open(ram, None, pulses).best(), Some(&record(1, 0)));
    let nowhere = Ram { bytes: vec![], left: u64::MAX };
    let mut store = Store::<_, Chip, N>::open(nowhere, None, pulses);
    assert_eq!(store.write(&record(1, 0)), Err(StoreError::Nowhere));
}

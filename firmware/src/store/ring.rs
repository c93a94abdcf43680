//! A ring of records over pages of flash, torn-safe.

use embedded_storage::nor_flash::NorFlash;

use super::StoreError;
use super::slot::{self, AROUND};

/// Records in flash, written one behind another; the newest valid one counts.
///
/// A page is erased when the first record is about to go into it, and never the page that holds
/// the newest record: there are at least two. Words are programmed in order, the checksum last,
/// so a record cut short is none. What follows a torn record goes into the next blank place.
///
/// # Source
/// Flash that loses power while it is programmed or erased may hold anything there. So a page is
/// always erased on entry, though it may look blank.
#[derive(Debug)]
pub struct Ring<F, const N: usize> {
    flash: F,
    /// Where the next record goes, if the place is still blank.
    next: Place,
    /// The newest record and its place; that page is never erased.
    newest: Option<(u32, Place)>,
}

/// Page and slot within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    page: u32,
    slot: u32,
}

impl<F: NorFlash, const N: usize> Ring<F, N> {
    const SLOT: u32 = (N + AROUND) as u32;
    const PAGE: u32 = F::ERASE_SIZE as u32;
    const SLOTS: u32 = Self::PAGE / Self::SLOT;
    /// Places that are tried for one record before the flash is given up.
    const TRIES: u32 = 4;

    /// Finds the newest record.
    ///
    /// A flash of less than two pages, or whose pages or words do not fit a record, keeps nothing:
    /// [`Ring::append`] says so.
    pub fn open(flash: F) -> Self {
        let mut ring = Self { flash, next: Place { page: 0, slot: Self::SLOTS }, newest: None };
        // Without any record: behind the last place of the last page, so the first page is next.
        ring.next.page = ring.pages().saturating_sub(1);
        for page in 0..ring.pages() {
            for slot in 0..Self::SLOTS {
                let place = Place { page, slot };
                let found = ring.check(place).map(|sequence| (sequence, place));
                if found.map(|found| found.0) > ring.newest() {
                    ring.newest = found;
                    ring.next = Place { page, slot: slot + 1 };
                }
            }
        }
        ring
    }

    /// The sequence of the newest record.
    #[must_use]
    pub fn newest(&self) -> Option<u32> {
        self.newest.map(|newest| newest.0)
    }

    /// Records in the page that is being written, and how many there is room for in all.
    #[must_use]
    pub fn room(&self) -> (u16, u16) {
        let used = self.newest.map_or(0, |_| self.next.slot.min(Self::SLOTS));
        (used as u16, self.pages().wrapping_mul(Self::SLOTS) as u16)
    }

    /// Reads the newest record.
    #[must_use]
    pub fn read(&mut self, bytes: &mut [u8; N]) -> bool {
        let Some((sequence, place)) = self.newest else { return false };
        if self.check(place) != Some(sequence) {
            return false;
        }
        for (at, to) in (slot::HEAD..).zip(bytes.chunks_exact_mut(4)) {
            let Some(word) = self.word(place, at) else { return false };
            slot::copy(word, to);
        }
        true
    }

    /// Writes a record, whose sequence must be above all before.
    ///
    /// # Errors
    /// The flash refuses, or reads back something else in every place that was tried. The newest
    /// record is still there.
    pub fn append(&mut self, sequence: u32, bytes: &[u8; N]) -> Result<(), StoreError> {
        let fits = N % 4 == 0 && F::WRITE_SIZE <= 4 && 4 % F::WRITE_SIZE.max(1) == 0;
        if !fits || Self::SLOTS == 0 || self.pages() < 2 {
            return Err(StoreError::Flash);
        }
        for _ in 0..Self::TRIES {
            let place = self.blank().ok_or(StoreError::Flash)?;
            self.next = Place { page: place.page, slot: place.slot + 1 };
            let mut at = Self::offset(place);
            let mut words = slot::Words::new(sequence, bytes);
            let written = words.all(|word| {
                let written = self.flash.write(at, &word.to_le_bytes()).is_ok();
                at = at.wrapping_add(4);
                written
            });
            if written && self.check(place) == Some(sequence) {
                self.newest = Some((sequence, place));
                return Ok(());
            }
        }
        Err(StoreError::Flash)
    }

    /// The next blank place; enters and erases the next page where this one has none.
    fn blank(&mut self) -> Option<Place> {
        let Place { page, slot } = self.next;
        if let Some(place) = self.blank_from(page, slot) {
            return Some(place);
        }
        let mut next = self.after(page);
        if self.newest.is_some_and(|newest| newest.1.page == next) {
            next = self.after(next);
        }
        let from = next.wrapping_mul(Self::PAGE);
        // Said before it is done: after an erase that fails nothing may be written there.
        self.next = Place { page: next, slot: Self::SLOTS };
        self.flash.erase(from, from.wrapping_add(Self::PAGE)).ok()?;
        self.blank_from(next, 0)
    }

    fn blank_from(&mut self, page: u32, slot: u32) -> Option<Place> {
        (slot..Self::SLOTS).map(|slot| Place { page, slot }).find(|place| self.is_blank(*place))
    }

    fn is_blank(&mut self, place: Place) -> bool {
        (0..Self::SLOT / 4).all(|at| self.word(place, at as usize) == Some(u32::MAX))
    }

    #[inline(never)]
    fn check(&mut self, place: Place) -> Option<u32> {
        let mut check = slot::Check::new();
        for at in 0..Self::SLOT as usize / 4 {
            check.word(self.word(place, at)?);
        }
        check.sequence()
    }

    #[inline(never)]
    fn word(&mut self, place: Place, at: usize) -> Option<u32> {
        let mut word = [0; 4];
        let at = Self::offset(place).wrapping_add(4 * at as u32);
        self.flash.read(at, &mut word).ok()?;
        Some(u32::from_le_bytes(word))
    }

    fn after(&self, page: u32) -> u32 {
        if page + 1 >= self.pages() { 0 } else { page + 1 }
    }

    fn pages(&self) -> u32 {
        (self.flash.capacity() as u32).checked_div(Self::PAGE).unwrap_or(0)
    }

    const fn offset(place: Place) -> u32 {
        place.page.wrapping_mul(Self::PAGE).wrapping_add(place.slot.wrapping_mul(Self::SLOT))
    }

    #[cfg(test)]
    pub(super) fn into_flash(self) -> F {
        self.flash
    }
}

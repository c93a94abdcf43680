//! A ring of records over pages of flash, torn-safe.

use embedded_storage::nor_flash::NorFlash;

use super::StoreError;
use super::slot::{HEAD, Saved, TAIL};

/// Records in flash, written one behind another; the newest valid one counts.
///
/// A page is erased when the first record is about to go into it, and never the page that holds
/// the newest record: there are at least two. Words are programmed in order, the checksum last, so a
/// record cut short is none. What follows a torn record goes into the next blank place.
///
/// # Source
/// Flash that loses power while it is programmed or erased may hold anything there. So a page is
/// always erased on entry, though it may look blank.
#[derive(Debug)]
pub struct Ring<F, const N: usize> {
    flash: F,
    /// Where the next record goes, if the place is still blank.
    next: Place,
    newest: Option<Saved<N>>,
    /// The page that holds the newest record, which is never erased.
    home: Option<u32>,
}

/// Page and slot within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    page: u32,
    slot: u32,
}

impl<F: NorFlash, const N: usize> Ring<F, N> {
    const SLOT: u32 = (HEAD + N + TAIL) as u32;
    const PAGE: u32 = F::ERASE_SIZE as u32;
    const SLOTS: u32 = Self::PAGE / Self::SLOT;
    /// Places that are tried for one record before the flash is given up.
    const TRIES: u32 = 4;

    /// Finds the newest record.
    ///
    /// A flash of less than two pages, or whose pages or words do not fit a record, keeps nothing:
    /// [`Ring::append`] says so.
    pub fn open(flash: F) -> Self {
        let mut ring =
            Self { flash, next: Place { page: 0, slot: Self::SLOTS }, newest: None, home: None };
        for page in 0..ring.pages() {
            for slot in 0..Self::SLOTS {
                let place = Place { page, slot };
                let newest = ring.newest.map_or(0, |saved| saved.sequence);
                let newer = |saved: &Saved<N>| saved.sequence > newest;
                if let Some(saved) = ring.read(place).filter(newer) {
                    ring.newest = Some(saved);
                    ring.home = Some(page);
                    ring.next = Place { page, slot: slot + 1 };
                }
            }
        }
        if ring.newest.is_none() {
            // As behind the last place of the last page: the first page is next, and erased.
            ring.next = Place { page: ring.pages().saturating_sub(1), slot: Self::SLOTS };
        }
        ring
    }

    /// The newest record.
    pub fn newest(&mut self) -> Option<Saved<N>> {
        self.newest
    }

    /// Writes a record, whose sequence must be above all before.
    ///
    /// # Errors
    /// The flash refuses, or reads back something else in every place that was tried. The newest
    /// record is still there.
    pub fn append(&mut self, saved: &Saved<N>) -> Result<(), StoreError> {
        let fits = N % 4 == 0 && F::WRITE_SIZE <= 4 && 4 % F::WRITE_SIZE.max(1) == 0;
        if !fits || Self::SLOTS == 0 || self.pages() < 2 {
            return Err(StoreError::Flash);
        }
        // Two pages may be entered: the rest of this one, and all of the next.
        for _ in 0..Self::TRIES {
            let place = self.blank().ok_or(StoreError::Flash)?;
            self.next = Place { page: place.page, slot: place.slot + 1 };
            if self.program(place, saved).is_some() && self.read(place).as_ref() == Some(saved) {
                self.newest = Some(*saved);
                self.home = Some(place.page);
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
        if self.home == Some(next) {
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

    fn program(&mut self, place: Place, saved: &Saved<N>) -> Option<()> {
        let at = Self::offset(place);
        let (head, tail) = saved.frame();
        self.flash.write(at, &head).ok()?;
        self.flash.write(at.wrapping_add(HEAD as u32), &saved.bytes).ok()?;
        self.flash.write(at.wrapping_add((HEAD + N) as u32), &tail).ok()
    }

    fn read(&mut self, place: Place) -> Option<Saved<N>> {
        let (head, bytes, tail) = self.raw(place)?;
        Saved::parse(&head, &bytes, &tail)
    }

    fn is_blank(&mut self, place: Place) -> bool {
        self.raw(place).is_some_and(|(head, bytes, tail)| {
            head.iter().chain(&bytes).chain(&tail).all(|byte| *byte == 0xFF)
        })
    }

    fn raw(&mut self, place: Place) -> Option<([u8; HEAD], [u8; N], [u8; TAIL])> {
        let at = Self::offset(place);
        let (mut head, mut bytes, mut tail) = ([0; HEAD], [0; N], [0; TAIL]);
        self.flash.read(at, &mut head).ok()?;
        self.flash.read(at.wrapping_add(HEAD as u32), &mut bytes).ok()?;
        self.flash.read(at.wrapping_add((HEAD + N) as u32), &mut tail).ok()?;
        Some((head, bytes, tail))
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

//! A fixed-capacity ring of plain items, oldest first, that counts what it dropped.

use core::marker::PhantomData;

/// Items in order of arrival, in storage the caller chose.
///
/// The storage is anything that is a slice: `[T; N]` on the board, `Box<[T]>` of exactly the
/// length a policy needs in the daemon, where ten thousand monitors must stay small. When the
/// ring is full the oldest item goes and is counted as *lost*; no item is ever folded into
/// another.
///
/// # Units
/// The capacity is the length of the storage, at most 65,535. Zero keeps nothing.
#[derive(Debug)]
pub struct Ring<T, S> {
    slots: S,
    head: u16,
    len: u16,
    /// Items the last clear forgot and nothing has overwritten yet.
    cleared: u16,
    /// Places between them and the oldest item.
    gap: u16,
    lost: u32,
    item: PhantomData<T>,
}

impl<T, S: Clone> Clone for Ring<T, S> {
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone(), ..*self }
    }

    /// In the storage that is there: whoever looks at a machine after each step copies it often.
    fn clone_from(&mut self, from: &Self) {
        let Self { slots, head, len, cleared, gap, lost, item: _ } = self;
        slots.clone_from(&from.slots);
        (*head, *len, *lost) = (from.head, from.len, from.lost);
        (*cleared, *gap) = (from.cleared, from.gap);
    }
}

impl<T: Copy, S: AsRef<[T]> + AsMut<[T]>> Ring<T, S> {
    /// An empty ring over `slots`; what the slots hold now does not matter.
    pub const fn new(slots: S) -> Self {
        Self { slots, head: 0, len: 0, cleared: 0, gap: 0, lost: 0, item: PhantomData }
    }

    /// How many items fit.
    #[must_use]
    pub fn capacity(&self) -> u16 {
        u16::try_from(self.slots.as_ref().len()).unwrap_or(u16::MAX)
    }

    /// How many items are kept.
    #[must_use]
    pub const fn len(&self) -> u16 {
        self.len
    }

    /// True when nothing is kept.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many items were overwritten since the ring was made.
    #[must_use]
    pub const fn lost(&self) -> u32 {
        self.lost
    }

    /// Adds `item` as the newest. A full ring gives up its oldest, which is returned and counted.
    pub fn push(&mut self, item: T) -> Option<T> {
        let capacity = self.capacity();
        if capacity == 0 {
            self.lost = self.lost.saturating_add(1);
            return Some(item);
        }
        let dropped = if self.len == capacity {
            self.lost = self.lost.saturating_add(1);
            self.pop_oldest()
        } else {
            None
        };
        let at = self.position(self.len);
        if let Some(slot) = self.slots.as_mut().get_mut(at) {
            *slot = item;
            self.len += 1;
        }
        self.cleared = self.cleared.min(capacity.saturating_sub(self.gap).saturating_sub(self.len));
        dropped
    }

    /// Takes the oldest item.
    pub fn pop_oldest(&mut self) -> Option<T> {
        let oldest = self.oldest()?;
        self.head = if self.head + 1 == self.capacity() { 0 } else { self.head + 1 };
        self.len -= 1;
        if self.cleared > 0 {
            self.gap += 1;
        }
        Some(oldest)
    }

    /// Takes all items: as if each oldest had been taken, at once.
    pub fn pop_all(&mut self) {
        self.head = self.position(self.len) as u16;
        if self.cleared > 0 {
            self.gap += self.len;
        }
        self.len = 0;
    }

    /// Takes the newest item.
    pub fn pop_newest(&mut self) -> Option<T> {
        let newest = self.newest()?;
        self.len -= 1;
        Some(newest)
    }

    /// The oldest item.
    #[must_use]
    pub fn oldest(&self) -> Option<T> {
        self.get(0)
    }

    /// The newest item.
    #[must_use]
    pub fn newest(&self) -> Option<T> {
        self.get(self.len.checked_sub(1)?)
    }

    /// The item `index` places after the oldest.
    #[must_use]
    pub fn get(&self, index: u16) -> Option<T> {
        if index >= self.len {
            return None;
        }
        self.slots.as_ref().get(self.position(index)).copied()
    }

    /// All items, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        (0..self.len).filter_map(|index| self.get(index))
    }

    /// Forgets every item. What was lost stays counted, and [`Ring::cleared`] can still tell
    /// what was there until new items take the places. To clear an empty ring changes nothing.
    pub fn clear(&mut self) {
        if self.len > 0 {
            self.head = self.position(self.len) as u16;
            self.cleared = self.len;
            self.gap = 0;
            self.len = 0;
        }
    }

    /// What the last [`Ring::clear`] forgot, oldest first, as far as nothing has overwritten it.
    pub fn cleared(&self) -> impl Iterator<Item = T> + '_ {
        let capacity = usize::from(self.capacity());
        (1..=self.cleared).rev().filter_map(move |back| {
            let before_head = usize::from(self.head) + capacity - usize::from(self.gap + back);
            self.slots.as_ref().get(before_head % capacity).copied()
        })
    }

    /// The same items in other storage; the newest are kept where it is smaller, the rest lost.
    /// What the last clear forgot comes along where there is room.
    pub fn moved_to<D: AsRef<[T]> + AsMut<[T]>>(&self, slots: D) -> Ring<T, D> {
        let mut ring = Ring::new(slots);
        for item in self.cleared() {
            ring.push(item);
        }
        ring.clear();
        ring.lost = self.lost;
        for item in self.iter() {
            ring.push(item);
        }
        ring
    }

    fn position(&self, index: u16) -> usize {
        let capacity = usize::from(self.capacity());
        let at = usize::from(self.head) + usize::from(index);
        if at >= capacity { at - capacity } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled<const N: usize>(items: core::ops::Range<u8>) -> Ring<u8, [u8; N]> {
        let mut ring = Ring::new([0; N]);
        for item in items {
            ring.push(item);
        }
        ring
    }

    #[test]
    fn a_full_ring_gives_up_its_oldest_and_counts_it() {
        let mut ring = filled::<3>(1..4);
        assert_eq!(ring.push(4), Some(1));
        assert!(ring.iter().eq([2, 3, 4]));
        assert_eq!((ring.len(), ring.lost()), (3, 1));
    }

    #[test]
    fn a_ring_without_room_keeps_nothing_and_counts_everything() {
        let mut ring = filled::<0>(0..0);
        assert_eq!(ring.push(7), Some(7));
        assert_eq!(
            (ring.oldest(), ring.newest(), ring.pop_oldest(), ring.lost()),
            (None, None, None, 1)
        );
        ring.clear();
        assert_eq!(ring.cleared().count(), 0);
    }

    #[test]
    fn what_was_cleared_can_be_told_until_new_items_take_the_places() {
        let mut ring = filled::<3>(1..3);
        ring.clear();
        assert!(ring.cleared().eq([1, 2]));
        ring.push(3);
        assert!(ring.cleared().eq([1, 2]), "there was room beside them");
        ring.push(4);
        assert!(ring.cleared().eq([2]), "4 took the place of 1");
        assert!(ring.iter().eq([3, 4]));
    }

    /// An item that came and went is not one of those that were cleared.
    #[test]
    fn what_came_and_went_after_a_clear_was_not_cleared() {
        let mut ring = filled::<3>(1..3);
        ring.clear();
        ring.push(9);
        ring.pop_oldest();
        assert!(ring.cleared().eq([1, 2]));
        ring.push(9);
        ring.pop_newest();
        assert!(ring.cleared().eq([2]), "9 stood where 1 had been");
    }

    #[test]
    fn to_clear_an_empty_ring_changes_nothing() {
        let mut ring = filled::<3>(1..3);
        ring.clear();
        ring.clear();
        assert!(ring.cleared().eq([1, 2]));
    }

    #[test]
    fn a_copy_into_other_storage_is_a_copy() {
        let mut ring = filled::<4>(1..7);
        ring.clear();
        ring.push(9);
        ring.pop_oldest();
        ring.push(8);
        for other in [filled::<4>(0..0), filled::<4>(1..3)] {
            let mut copy = other;
            copy.clone_from(&ring);
            let whole = |ring: &Ring<u8, [u8; 4]>| {
                (ring.slots, ring.head, ring.len, ring.cleared, ring.gap, ring.lost)
            };
            assert_eq!(whole(&copy), whole(&ring));
            assert_eq!(whole(&copy), whole(&ring.clone()));
        }
    }

    #[test]
    fn smaller_storage_keeps_the_newest() {
        let ring = filled::<4>(1..5).moved_to([0; 2]);
        assert!(ring.iter().eq([3, 4]));
        assert_eq!(ring.lost(), 2);
    }

    #[test]
    fn other_storage_still_tells_what_was_cleared() {
        let mut ring = filled::<4>(1..3);
        ring.clear();
        ring.push(3);
        let moved = ring.moved_to([0; 8]);
        assert!(moved.cleared().eq([1, 2]));
        assert!(moved.iter().eq([3]));
        assert_eq!(moved.lost(), 0);
    }
}

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
#[derive(Clone, Debug)]
pub struct Ring<T, S> {
    slots: S,
    head: u16,
    len: u16,
    cleared: u16,
    lost: u32,
    item: PhantomData<T>,
}

impl<T: Copy, S: AsRef<[T]> + AsMut<[T]>> Ring<T, S> {
    /// An empty ring over `slots`; what the slots hold now does not matter.
    pub const fn new(slots: S) -> Self {
        Self { slots, head: 0, len: 0, cleared: 0, lost: 0, item: PhantomData }
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
        dropped
    }

    /// Takes the oldest item.
    pub fn pop_oldest(&mut self) -> Option<T> {
        let oldest = self.oldest()?;
        self.head = if self.head + 1 == self.capacity() { 0 } else { self.head + 1 };
        self.len -= 1;
        Some(oldest)
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
    /// what was there until new items take the places.
    pub fn clear(&mut self) {
        self.head = self.position(self.len) as u16;
        self.cleared = self.len;
        self.len = 0;
    }

    /// What the last [`Ring::clear`] forgot, oldest first, as far as nothing has overwritten it.
    pub fn cleared(&self) -> impl Iterator<Item = T> + '_ {
        let capacity = self.capacity();
        let kept = self.cleared.min(capacity - self.len);
        (0..kept).filter_map(move |back| {
            let before_head =
                usize::from(self.head) + usize::from(capacity) - usize::from(kept - back);
            self.slots.as_ref().get(before_head % usize::from(capacity)).copied()
        })
    }

    /// The same items in other storage; the newest are kept where it is smaller, the rest lost.
    pub fn moved_to<D: AsRef<[T]> + AsMut<[T]>>(&self, slots: D) -> Ring<T, D> {
        let mut ring = Ring::new(slots);
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

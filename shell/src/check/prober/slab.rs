//! Places that are used again, each time for another tenant.

use crate::reactor::{Room, Token};

/// Values by number; a number is given again, together with another generation.
#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    /// The first free place; each free one names the next.
    free: Option<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    state: State<T>,
}

#[derive(Debug)]
enum State<T> {
    Used(T),
    Free(Option<u32>),
}

/// A place and which tenant of it is meant; one for one with a [`Token`] of the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    pub(super) const fn of(token: Token) -> Self {
        Self { index: token.index, generation: token.generation }
    }

    /// The token that comes back from the kernel as this key. It may carry fewer bits of
    /// generation than a number has, so generations are counted in what it carries.
    pub(super) const fn token(self) -> Token {
        Token::new(Room::Probe, self.index, self.generation)
    }

    const fn next(self) -> u32 {
        Token::new(Room::Probe, self.index, self.generation.wrapping_add(1)).generation
    }
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), free: None }
    }

    pub(super) fn insert(&mut self, value: T) -> Key {
        if let Some(index) = self.free {
            let place = &mut self.places[index as usize];
            self.free = match place.state {
                State::Free(next) => next,
                State::Used(_) => None,
            };
            place.state = State::Used(value);
            return Key { index, generation: place.generation };
        }
        self.places.push(Place { generation: 0, state: State::Used(value) });
        Key { index: self.places.len() as u32 - 1, generation: 0 }
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let place = self.places.get_mut(key.index as usize)?;
        match &mut place.state {
            State::Used(value) if place.generation == key.generation => Some(value),
            _ => None,
        }
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        self.get_mut(key)?;
        let place = &mut self.places[key.index as usize];
        place.generation = key.next();
        match std::mem::replace(&mut place.state, State::Free(self.free)) {
            State::Used(value) => {
                self.free = Some(key.index);
                Some(value)
            }
            State::Free(_) => None,
        }
    }

    /// The keys of all tenants.
    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.places.iter().enumerate().filter_map(|(index, place)| match place.state {
            State::Used(_) => Some(Key { index: index as u32, generation: place.generation }),
            State::Free(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_opens_its_own_tenants_place_only() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        assert_eq!(Key::of(first.token()), first);
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(slab.get_mut(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get_mut(second), Some(&mut 'b'));
        assert_eq!(slab.keys().collect::<Vec<_>>(), [second]);
    }

    #[test]
    fn places_are_used_again_for_ever() {
        let mut slab = Slab::new();
        for n in 0..70_000 {
            let key = slab.insert(n);
            assert_eq!(slab.get_mut(Key::of(key.token())), Some(&mut n.clone()));
            slab.remove(key);
        }
        assert_eq!(slab.places.len(), 1);
    }
}

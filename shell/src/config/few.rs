//! A list that mostly has one item: that one needs no allocation, and no room for a length.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One item, or any other number of them on the heap.
#[derive(Clone, Debug)]
pub enum Few<T> {
    /// One.
    One(T),
    /// None, or more.
    Many(Box<[T]>),
}

impl<T> Few<T> {
    /// The items.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(item) => vec![item],
            Self::Many(items) => items.into_vec(),
        }
    }
}

impl<T> Default for Few<T> {
    /// None.
    fn default() -> Self {
        Self::Many(Box::default())
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::One(item) => std::slice::from_ref(item),
            Self::Many(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(item) => std::slice::from_mut(item),
            Self::Many(items) => items,
        }
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(mut items: Vec<T>) -> Self {
        match (items.pop(), items.is_empty()) {
            (Some(item), true) => Self::One(item),
            (last, _) => Self::Many(items.into_iter().chain(last).collect()),
        }
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        match (items.next(), items.next()) {
            (Some(item), None) => Self::One(item),
            (first, second) => Self::Many(first.into_iter().chain(second).chain(items).collect()),
        }
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: PartialEq> PartialEq for Few<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Serialize> Serialize for Few<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_went_in_whatever_the_way() {
        for count in 0..4 {
            let items: Vec<u8> = (0..count).collect();
            let few = Few::from(items.clone());
            assert_eq!(&*few, &*items);
            assert_eq!(matches!(few, Few::One(_)), count == 1);
            assert_eq!(items.iter().copied().collect::<Few<u8>>(), few);
            let bytes = postcard::to_stdvec(&few).expect("bytes");
            assert_eq!(bytes, postcard::to_stdvec(&items).expect("bytes"));
            assert_eq!(postcard::from_bytes::<Few<u8>>(&bytes).as_ref(), Ok(&few));
            assert_eq!(few.into_iter().collect::<Vec<u8>>(), items);
        }
    }

    #[test]
    fn one_takes_no_more_room_than_itself() {
        use crate::config::plan::{CheckPlan, Target};
        assert_eq!(size_of::<Few<Target>>(), size_of::<Target>());
        assert_eq!(size_of::<Few<CheckPlan>>(), size_of::<CheckPlan>());
    }
}

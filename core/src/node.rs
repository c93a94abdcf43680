//! Nodes by their place in the configuration, and sets of them.

/// A node, by its place in the configuration; on a single node the giveover command is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Node(pub u8);

/// A set of nodes, of at most [`Nodes::MOST`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Nodes(u32);

impl Nodes {
    /// So many nodes can be told apart: numbers 0 to 31.
    pub const MOST: u8 = 32;
    /// Nobody.
    pub const NONE: Self = Self(0);

    /// The nodes numbered 0 to `count - 1`; no more than [`Nodes::MOST`].
    #[must_use]
    pub const fn first(count: u8) -> Self {
        if count >= Self::MOST { Self(u32::MAX) } else { Self((1 << count) - 1) }
    }

    /// `node` alone; nobody where its number is too high.
    #[must_use]
    pub const fn only(node: Node) -> Self {
        if node.0 < Self::MOST { Self(1 << node.0) } else { Self::NONE }
    }

    /// These and `node`.
    #[must_use]
    pub const fn with(self, node: Node) -> Self {
        Self(self.0 | Self::only(node).0)
    }

    /// These without `node`.
    #[must_use]
    pub const fn without(self, node: Node) -> Self {
        Self(self.0 & !Self::only(node).0)
    }

    /// Whether `node` is one of them.
    #[must_use]
    pub const fn has(self, node: Node) -> bool {
        self.0 & Self::only(node).0 != 0
    }

    /// Whether all of `others` are among them.
    #[must_use]
    pub const fn covers(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }

    /// How many there are.
    #[must_use]
    pub const fn count(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// As bits, the lowest for node 0: how frames have them.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The nodes of these bits.
    #[must_use]
    pub const fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Each of them, the lowest number first.
    pub fn iter(self) -> impl Iterator<Item = Node> {
        (0..Self::MOST).map(Node).filter(move |node| self.has(*node))
    }
}

impl FromIterator<Node> for Nodes {
    fn from_iter<T: IntoIterator<Item = Node>>(nodes: T) -> Self {
        nodes.into_iter().fold(Self::NONE, Self::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in() {
        let set: Nodes = [Node(0), Node(2), Node(31)].into_iter().collect();
        assert_eq!((set.count(), set.has(Node(2)), set.has(Node(1))), (3, true, false));
        assert_eq!(
            set.without(Node(2)).iter().collect::<heapless::Vec<_, 4>>(),
            [Node(0), Node(31)]
        );
        assert!(set.covers(Nodes::only(Node(31))) && !set.covers(Nodes::first(2)));
        assert_eq!(Nodes::of_bits(set.bits()), set);
        assert!(Nodes::NONE.is_empty());
    }

    #[test]
    fn numbers_too_high_are_nobody() {
        assert_eq!(Nodes::only(Node(32)), Nodes::NONE);
        assert_eq!(Nodes::NONE.with(Node(255)), Nodes::NONE);
        assert_eq!(Nodes::first(200), Nodes::first(32));
        assert_eq!(Nodes::first(0), Nodes::NONE);
    }
}

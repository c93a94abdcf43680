//! The tables of a text while they grow: which keys they have, and what was given before.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use super::source::Place;
use super::tree::{Entry, Node, Table, Value};

/// What the parser cannot see: it knows lines, not tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// A key, or with `header` a whole table, is given twice.
    Twice { first: Place, header: bool },
    /// A key that has a value cannot be a table too.
    NoTable { value: &'static str },
    /// More tables in tables than anything here needs.
    TooDeep,
    /// Written like a number, but none, or past 64 bits.
    NoNumber,
}

/// Tables that can still grow. Each stands behind its parent; the first is the root.
pub(super) struct Tables {
    open: Vec<Open>,
    index: HashMap<u64, u32>,
    hasher: RandomState,
    pub(super) trouble: Vec<(Place, Trouble)>,
}

/// Tables in tables in tables: nothing we know is deeper than seven.
pub(super) const DEEPEST: usize = 12;

/// From how many keys on a table is worth an index.
const INDEXED: usize = 16;

struct Open {
    table: Table,
    /// For each key the open table behind it, [`CLOSED`] for a value.
    open: Vec<u32>,
    made: Made,
    depth: usize,
    parent: Option<Parent>,
}

const CLOSED: u32 = u32::MAX;

/// Where a table will stand.
#[derive(Clone, Copy)]
struct Parent {
    table: u32,
    entry: usize,
    /// Its place in a list of tables.
    item: Option<usize>,
}

/// How a table came to be.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Made {
    ByHeader,
    OnTheWay,
    ByDots,
    Inline,
}

pub(super) struct Key {
    pub(super) name: String,
    pub(super) place: Place,
}

impl Tables {
    /// Only a root, which is empty.
    pub(super) fn new() -> Self {
        let mut tables = Self {
            open: Vec::new(),
            index: HashMap::new(),
            hasher: RandomState::new(),
            trouble: Vec::new(),
        };
        tables.push(Made::ByHeader, 0, None);
        tables
    }

    fn push(&mut self, made: Made, depth: usize, parent: Option<Parent>) -> u32 {
        let (table, open) = (Table::default(), Vec::new());
        self.open.push(Open { table, open, made, depth, parent });
        u32::try_from(self.open.len() - 1).unwrap_or(CLOSED)
    }

    /// A table that stands nowhere.
    pub(super) fn stray(&mut self, made: Made, depth: usize) -> u32 {
        self.push(made, depth.min(DEEPEST), None)
    }

    /// How deep `table` stands.
    pub(super) fn depth(&self, table: u32) -> usize {
        self.open.get(table as usize).map_or(0, |table| table.depth)
    }

    fn find(&self, table: u32, name: &str) -> Option<usize> {
        let entries = &self.open.get(table as usize)?.table.0;
        if entries.len() < INDEXED {
            return entries.iter().position(|entry| entry.key == name);
        }
        let at = *self.index.get(&self.hasher.hash_one((table, name)))? as usize;
        match entries.get(at) {
            Some(entry) if entry.key == name => Some(at),
            // Two keys of one hash, or an index of a table that is no more.
            _ => entries.iter().position(|entry| entry.key == name),
        }
    }

    /// Puts `node` behind a key that `table` has not.
    fn insert(&mut self, table: u32, key: Key, node: Node, open: u32) -> usize {
        let Some(to) = self.open.get_mut(table as usize) else { return 0 };
        let at = to.table.0.len();
        to.table.0.push(Entry { key: key.name, place: key.place, node });
        to.open.push(open);
        if at + 1 >= INDEXED {
            let from = if at + 1 == INDEXED { 0 } else { at };
            for (entry, at) in to.table.0.iter().zip(0_u32..).skip(from) {
                let hash = self.hasher.hash_one((table, entry.key.as_str()));
                self.index.entry(hash).or_insert(at);
            }
        }
        at
    }

    /// Makes a table behind a key that `table` has not.
    fn make(&mut self, table: u32, key: Key, place: Place, made: Made) -> Option<u32> {
        let depth = self.open.get(table as usize)?.depth + 1;
        if depth > DEEPEST {
            self.trouble.push((key.place, Trouble::TooDeep));
            return None;
        }
        let id = u32::try_from(self.open.len()).ok()?;
        let node = Node { place, value: Value::Table(Table::default()) };
        let entry = self.insert(table, key, node, id);
        let parent = Some(Parent { table, entry, item: None });
        self.push(made, depth, parent);
        Some(id)
    }

    /// The table at the end of `path` from `table` on, made on the way where there is none.
    pub(super) fn descend(&mut self, mut table: u32, path: Vec<Key>, made: Made) -> Option<u32> {
        for key in path {
            let place = key.place;
            let Some(at) = self.find(table, &key.name) else {
                table = self.make(table, key, place, made)?;
                continue;
            };
            let open = self.open.get(table as usize)?.open.get(at).copied().unwrap_or(CLOSED);
            let next = self.open.get(open as usize);
            let by_header = next.is_some_and(|next| next.made == Made::ByHeader);
            if next.is_none() {
                let value = self.what(table, at);
                self.trouble.push((place, Trouble::NoTable { value }));
                return None;
            }
            if by_header && made == Made::ByDots {
                self.twice(table, at, place, false);
                return None;
            }
            table = open;
        }
        Some(table)
    }

    fn what(&self, table: u32, at: usize) -> &'static str {
        let entry = self.open.get(table as usize).and_then(|table| table.table.0.get(at));
        entry.map_or("a value", |entry| entry.node.value.what())
    }

    /// Puts a complete value behind `key`, unless `table` has one there.
    pub(super) fn put(&mut self, table: u32, key: Key, node: Node) {
        match self.find(table, &key.name) {
            Some(at) => self.twice(table, at, key.place, false),
            None => {
                self.insert(table, key, node, CLOSED);
            }
        }
    }

    fn twice(&mut self, table: u32, at: usize, place: Place, header: bool) {
        let entry = self.open.get(table as usize).and_then(|table| table.table.0.get(at));
        if let Some(first) = entry.map(|entry| entry.place) {
            self.trouble.push((place, Trouble::Twice { first, header }));
        }
    }

    /// The table `[…key]` behind `parent`; said again is said, and goes on with the first.
    pub(super) fn section_of(&mut self, parent: u32, key: Key, place: Place) -> Option<u32> {
        let Some(at) = self.find(parent, &key.name) else {
            return self.make(parent, key, place, Made::ByHeader);
        };
        let table = self.open.get(parent as usize)?.open.get(at).copied();
        let known = table.and_then(|table| self.open.get_mut(table as usize));
        let in_list = |it: &Open| it.parent.is_some_and(|parent| parent.item.is_some());
        match known.filter(|known| !in_list(known)) {
            Some(known) if known.made == Made::OnTheWay => {
                known.made = Made::ByHeader;
                let entry = self.open.get_mut(parent as usize)?.table.0.get_mut(at)?;
                (entry.place, entry.node.place) = (key.place, place);
                table
            }
            Some(_) => {
                self.twice(parent, at, key.place, true);
                table
            }
            None => {
                self.twice(parent, at, key.place, true);
                None
            }
        }
    }

    /// One more table of the list `[[…key]]` behind `parent`.
    pub(super) fn section_in_list(&mut self, parent: u32, key: Key, place: Place) -> Option<u32> {
        let node = Node { place, value: Value::Table(Table::default()) };
        let id = u32::try_from(self.open.len()).ok()?;
        let depth = self.open.get(parent as usize)?.depth + 2;
        let (entry, item) = match self.find(parent, &key.name) {
            None => {
                let list = Node { place, value: Value::List(vec![node]) };
                (self.insert(parent, key, list, id), 0)
            }
            Some(at) => {
                let to = self.open.get_mut(parent as usize)?;
                let open = to.open.get_mut(at).filter(|open| **open != CLOSED);
                let value = &mut to.table.0.get_mut(at)?.node.value;
                let (Some(open), Value::List(items)) = (open, value) else {
                    self.twice(parent, at, key.place, true);
                    return None;
                };
                items.push(node);
                *open = id;
                (at, items.len() - 1)
            }
        };
        let parent = Some(Parent { table: parent, entry, item: Some(item) });
        self.push(Made::ByHeader, depth, parent);
        Some(id)
    }

    /// Closes `last` and every table after it; returns `last`.
    pub(super) fn close(&mut self, last: u32) -> Table {
        while self.open.len() > last as usize + 1 {
            let Some(Open { table, parent: Some(parent), .. }) = self.open.pop() else {
                continue;
            };
            let to = self.open.get_mut(parent.table as usize);
            let Some(to) = to.and_then(|to| to.table.0.get_mut(parent.entry)) else { continue };
            match (&mut to.node.value, parent.item) {
                (Value::List(items), Some(item)) => {
                    if let Some(item) = items.get_mut(item) {
                        item.value = Value::Table(table);
                    }
                }
                (value, _) => *value = Value::Table(table),
            }
        }
        self.open.pop().map(|last| last.table).unwrap_or_default()
    }
}

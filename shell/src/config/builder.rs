//! From the parser's events to a tree: which table a key belongs to, and whether it was given
//! before.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use toml_parser::decoder::{Encoding, ScalarKind};
use toml_parser::parser::EventReceiver;
use toml_parser::{ErrorSink, Span};

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

/// Builds the tree of one text.
pub(super) struct Builder<'s> {
    source: u32,
    text: toml_parser::Source<'s>,
    /// Tables that can still grow; each stands behind its parent, the first is the root.
    tables: Vec<Open>,
    index: HashMap<u64, u32>,
    hasher: RandomState,
    /// The table of the last header.
    section: u32,
    header: Option<Header>,
    /// The key being read, of a header or a line.
    path: Vec<Key>,
    after_dot: bool,
    frames: Vec<Frame>,
    trouble: Vec<(Place, Trouble)>,
}

/// Tables in tables in tables: nothing we know is deeper than seven.
const DEEPEST: usize = 12;

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
enum Made {
    ByHeader,
    OnTheWay,
    ByDots,
    Inline,
}

struct Header {
    open: Span,
    of_list: bool,
}

struct Key {
    name: String,
    place: Place,
}

/// A value that is not complete.
enum Frame {
    Inline { table: u32, open: usize, path: Vec<Key> },
    List { items: Vec<Node>, open: usize },
    Ignored,
}

impl<'s> Builder<'s> {
    /// A builder for `text`, which has the number `source`.
    pub(super) fn new(text: toml_parser::Source<'s>, source: u32) -> Self {
        let root = Open {
            table: Table::default(),
            open: Vec::new(),
            made: Made::ByHeader,
            depth: 0,
            parent: None,
        };
        Self {
            source,
            text,
            tables: vec![root],
            index: HashMap::new(),
            hasher: RandomState::new(),
            section: 0,
            header: None,
            path: Vec::new(),
            after_dot: false,
            frames: Vec::new(),
            trouble: Vec::new(),
        }
    }

    /// The tree, and what is wrong with it.
    pub(super) fn finish(mut self) -> (Table, Vec<(Place, Trouble)>) {
        self.open_section(None);
        self.close_down_to(0);
        let root = self.tables.pop().map(|root| root.table).unwrap_or_default();
        (root, self.trouble)
    }

    fn place(&self, start: usize, end: usize) -> Place {
        Place::new(self.source, start..end)
    }

    fn find(&self, table: u32, name: &str) -> Option<usize> {
        let entries = &self.tables.get(table as usize)?.table.0;
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
        let Some(to) = self.tables.get_mut(table as usize) else { return 0 };
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
        let depth = self.tables.get(table as usize)?.depth + 1;
        if depth > DEEPEST {
            self.trouble.push((key.place, Trouble::TooDeep));
            return None;
        }
        let id = u32::try_from(self.tables.len()).ok()?;
        let node = Node { place, value: Value::Table(Table::default()) };
        let entry = self.insert(table, key, node, id);
        let parent = Some(Parent { table, entry, item: None });
        self.tables.push(Open { table: Table::default(), open: Vec::new(), made, depth, parent });
        Some(id)
    }

    /// The table at the end of `path` from `table` on, made on the way where there is none.
    fn descend(&mut self, mut table: u32, path: Vec<Key>, made: Made) -> Option<u32> {
        for key in path {
            let place = key.place;
            let Some(at) = self.find(table, &key.name) else {
                table = self.make(table, key, place, made)?;
                continue;
            };
            let open = self.tables.get(table as usize)?.open.get(at).copied().unwrap_or(CLOSED);
            let next = self.tables.get(open as usize);
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
        let entry = self.tables.get(table as usize).and_then(|table| table.table.0.get(at));
        entry.map_or("a value", |entry| entry.node.value.what())
    }

    fn twice(&mut self, table: u32, at: usize, place: Place, header: bool) {
        let entry = self.tables.get(table as usize).and_then(|table| table.table.0.get(at));
        if let Some(first) = entry.map(|entry| entry.place) {
            self.trouble.push((place, Trouble::Twice { first, header }));
        }
    }

    /// Begins the table of the header that was read; `close` is its end.
    fn open_section(&mut self, close: Option<Span>) {
        let Some(Header { open, of_list }) = self.header.take() else { return };
        let mut path = std::mem::take(&mut self.path);
        let Some(last) = path.pop() else { return };
        let end = close.map_or(last.place.span().map_or(open.end(), |it| it.end), |it| it.end());
        let place = self.place(open.start(), end);
        let section = self.descend(0, path, Made::OnTheWay);
        let section = section.and_then(|parent| match of_list {
            true => self.section_in_list(parent, last, place),
            false => self.section_of(parent, last, place),
        });
        // What belongs to no table is read all the same, for what else may be wrong with it.
        self.section = section.unwrap_or_else(|| self.stray());
    }

    fn section_of(&mut self, parent: u32, key: Key, place: Place) -> Option<u32> {
        let Some(at) = self.find(parent, &key.name) else {
            return self.make(parent, key, place, Made::ByHeader);
        };
        let table = self.tables.get(parent as usize)?.open.get(at).copied();
        let known = table.and_then(|table| self.tables.get_mut(table as usize));
        let in_list = |it: &Open| it.parent.is_some_and(|parent| parent.item.is_some());
        match known.filter(|known| !in_list(known)) {
            Some(known) if known.made == Made::OnTheWay => {
                known.made = Made::ByHeader;
                let entry = self.tables.get_mut(parent as usize)?.table.0.get_mut(at)?;
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

    fn section_in_list(&mut self, parent: u32, key: Key, place: Place) -> Option<u32> {
        let node = Node { place, value: Value::Table(Table::default()) };
        let id = u32::try_from(self.tables.len()).ok()?;
        let depth = self.tables.get(parent as usize)?.depth + 2;
        let (entry, item) = match self.find(parent, &key.name) {
            None => {
                let list = Node { place, value: Value::List(vec![node]) };
                (self.insert(parent, key, list, id), 0)
            }
            Some(at) => {
                let to = self.tables.get_mut(parent as usize)?;
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
        let (table, made) = (Table::default(), Made::ByHeader);
        self.tables.push(Open { table, open: Vec::new(), made, depth, parent });
        Some(id)
    }

    /// A table that stands nowhere.
    fn stray(&mut self) -> u32 {
        let (table, made) = (Table::default(), Made::ByHeader);
        self.tables.push(Open { table, open: Vec::new(), made, depth: 1, parent: None });
        u32::try_from(self.tables.len() - 1).unwrap_or(0)
    }

    /// Puts every table after `last` where it stands.
    fn close_down_to(&mut self, last: u32) {
        while self.tables.len() > last as usize + 1 {
            let Some(Open { table, parent: Some(parent), .. }) = self.tables.pop() else {
                continue;
            };
            let to = self.tables.get_mut(parent.table as usize);
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
    }

    /// Takes a complete value.
    fn value(&mut self, node: Node) {
        let (table, path) = match self.frames.last_mut() {
            Some(Frame::List { items, .. }) => return items.push(node),
            Some(Frame::Inline { table, path, .. }) => (*table, std::mem::take(path)),
            Some(Frame::Ignored) => return,
            None => (self.section, std::mem::take(&mut self.path)),
        };
        let mut path = path;
        let Some(key) = path.pop() else { return };
        let Some(table) = self.descend(table, path, Made::ByDots) else { return };
        match self.find(table, &key.name) {
            Some(at) => self.twice(table, at, key.place, false),
            None => {
                self.insert(table, key, node, CLOSED);
            }
        }
    }

    /// The number that was read at `span`, if it is one.
    fn number<T: Default>(&mut self, span: Span, number: Option<T>) -> T {
        if number.is_none() {
            self.trouble.push((self.place(span.start(), span.end()), Trouble::NoNumber));
        }
        number.unwrap_or_default()
    }

    fn depth(&self) -> usize {
        let tables = self.frames.iter().rev().find_map(|frame| match frame {
            Frame::Inline { table, .. } => Some(*table),
            _ => None,
        });
        let table = self.tables.get(tables.unwrap_or(self.section) as usize);
        table.map_or(0, |table| table.depth) + self.frames.len()
    }

    /// Whether there is room for one more value in values.
    fn may_open(&mut self, span: Span) -> bool {
        let ignored = matches!(self.frames.last(), Some(Frame::Ignored));
        if !ignored && self.depth() >= 2 * DEEPEST {
            self.trouble.push((self.place(span.start(), span.end()), Trouble::TooDeep));
        }
        !ignored && self.depth() < 2 * DEEPEST
    }
}

impl EventReceiver for Builder<'_> {
    fn std_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.open_section(None);
        self.path.clear();
        self.header = Some(Header { open: span, of_list: false });
    }

    fn std_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.open_section(Some(span));
    }

    fn array_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.open_section(None);
        self.path.clear();
        self.header = Some(Header { open: span, of_list: true });
    }

    fn array_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.open_section(Some(span));
    }

    fn inline_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        if !self.may_open(span) {
            self.frames.push(Frame::Ignored);
            return false;
        }
        let depth = self.depth() + 1;
        let table = self.stray();
        if let Some(table) = self.tables.get_mut(table as usize) {
            (table.made, table.depth) = (Made::Inline, depth.min(DEEPEST));
        }
        self.frames.push(Frame::Inline { table, open: span.start(), path: Vec::new() });
        true
    }

    fn inline_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        let Some(Frame::Inline { table, open, .. }) = self.frames.pop() else { return };
        self.close_down_to(table);
        let table = self.tables.pop().map(|table| table.table).unwrap_or_default();
        let place = self.place(open, span.end());
        self.value(Node { place, value: Value::Table(table) });
    }

    fn array_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        let may = self.may_open(span);
        self.frames.push(match may {
            true => Frame::List { items: Vec::new(), open: span.start() },
            false => Frame::Ignored,
        });
        may
    }

    fn array_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        let Some(Frame::List { items, open }) = self.frames.pop() else { return };
        let place = self.place(open, span.end());
        self.value(Node { place, value: Value::List(items) });
    }

    fn simple_key(&mut self, span: Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        let mut name = Cow::Borrowed("");
        if let Some(raw) = self.text.get(span) {
            let text = raw.as_str();
            toml_parser::Raw::new_unchecked(text, encoding, span).decode_key(&mut name, error);
        }
        let key = Key { name: name.into_owned(), place: self.place(span.start(), span.end()) };
        let path = match self.frames.last_mut() {
            Some(Frame::Inline { path, .. }) => path,
            _ => &mut self.path,
        };
        if !std::mem::take(&mut self.after_dot) {
            path.clear();
        }
        path.push(key);
    }

    fn key_sep(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.after_dot = true;
    }

    fn scalar(&mut self, span: Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        let Some(raw) = self.text.get(span) else { return };
        let mut decoded = Cow::Borrowed("");
        let raw = toml_parser::Raw::new_unchecked(raw.as_str(), encoding, span);
        let value = match raw.decode_scalar(&mut decoded, error) {
            ScalarKind::String => Value::Text(decoded.into_owned()),
            ScalarKind::Boolean(yes) => Value::Bool(yes),
            ScalarKind::DateTime => Value::Date,
            ScalarKind::Float => {
                // What is infinite is only what says so.
                let fits = |number: &f64| number.is_finite() || decoded.ends_with(['f', 'n']);
                let number = decoded.parse().ok().filter(fits);
                Value::Float(self.number(span, number))
            }
            ScalarKind::Integer(radix) => {
                let number = i64::from_str_radix(&decoded, radix.value());
                Value::Integer(self.number(span, number.ok()))
            }
        };
        let place = self.place(span.start(), span.end());
        self.value(Node { place, value });
    }

    fn newline(&mut self, _: Span, _: &mut dyn ErrorSink) {
        if self.frames.is_empty() {
            self.open_section(None); // a header that was not closed ends with its line
        }
    }
}

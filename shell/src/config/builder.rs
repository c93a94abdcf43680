//! From the parser's events to a tree.

use std::borrow::Cow;

use toml_parser::decoder::{Encoding, ScalarKind};
use toml_parser::parser::EventReceiver;
use toml_parser::{ErrorSink, Span};

use super::source::Place;
use super::tables::{DEEPEST, Key, Made, Tables, Trouble};
use super::tree::{Node, Table, Value};

/// Builds the tree of one text.
pub(super) struct Builder<'s> {
    source: u32,
    text: toml_parser::Source<'s>,
    tables: Tables,
    /// The table of the last header.
    section: u32,
    header: Option<Header>,
    /// The key being read, of a header or a line.
    path: Vec<Key>,
    after_dot: bool,
    frames: Vec<Frame>,
}

struct Header {
    open: Span,
    of_list: bool,
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
        Self {
            source,
            text,
            tables: Tables::new(),
            section: 0,
            header: None,
            path: Vec::new(),
            after_dot: false,
            frames: Vec::new(),
        }
    }

    /// The tree, and what is wrong with it.
    pub(super) fn finish(mut self) -> (Table, Vec<(Place, Trouble)>) {
        self.open_section(None);
        let root = self.tables.close(0);
        (root, self.tables.trouble)
    }

    fn place(&self, start: usize, end: usize) -> Place {
        Place::new(self.source, start..end)
    }

    /// Begins the table of the header that was read; `close` is its end.
    fn open_section(&mut self, close: Option<Span>) {
        let Some(Header { open, of_list }) = self.header.take() else { return };
        let mut path = std::mem::take(&mut self.path);
        let Some(last) = path.pop() else { return };
        let end = close.map_or(last.place.span().map_or(open.end(), |it| it.end), |it| it.end());
        let place = self.place(open.start(), end);
        let section = self.tables.descend(0, path, Made::OnTheWay);
        let section = section.and_then(|parent| match of_list {
            true => self.tables.section_in_list(parent, last, place),
            false => self.tables.section_of(parent, last, place),
        });
        // What belongs to no table is read all the same, for what else may be wrong with it.
        self.section = section.unwrap_or_else(|| self.tables.stray(Made::ByHeader, 1));
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
        if let Some(table) = self.tables.descend(table, path, Made::ByDots) {
            self.tables.put(table, key, node);
        }
    }

    /// The number that was read at `span`, if it is one.
    fn number<T: Default>(&mut self, span: Span, number: Option<T>) -> T {
        if number.is_none() {
            self.tables.trouble.push((self.place(span.start(), span.end()), Trouble::NoNumber));
        }
        number.unwrap_or_default()
    }

    fn depth(&self) -> usize {
        let tables = self.frames.iter().rev().find_map(|frame| match frame {
            Frame::Inline { table, .. } => Some(*table),
            _ => None,
        });
        self.tables.depth(tables.unwrap_or(self.section)) + self.frames.len()
    }

    /// Whether there is room for one more value in values.
    fn may_open(&mut self, span: Span) -> bool {
        let ignored = matches!(self.frames.last(), Some(Frame::Ignored));
        if !ignored && self.depth() >= 2 * DEEPEST {
            self.tables.trouble.push((self.place(span.start(), span.end()), Trouble::TooDeep));
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
        let table = self.tables.stray(Made::Inline, self.depth() + 1);
        self.frames.push(Frame::Inline { table, open: span.start(), path: Vec::new() });
        true
    }

    fn inline_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        let Some(Frame::Inline { table, open, .. }) = self.frames.pop() else { return };
        let table = self.tables.close(table);
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

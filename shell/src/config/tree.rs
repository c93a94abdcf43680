//! A configuration text as a tree that knows where each key and value stands.

use super::source::Place;

/// A value and where it stands. A table made by a header stands at its header, one made by
/// dotted keys at the key.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
}

/// What can stand behind a key.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A text in quotes.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with a point.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A date or a time of day, which nothing here takes.
    Date,
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

impl Value {
    /// What it is, for "a text is wanted, this is …".
    pub(super) const fn what(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::Date => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Keys and their values, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Table(pub(super) Vec<Entry>);

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) node: Node,
}

impl Table {
    /// The entry of `key`. Looks at each: only for tables whose keys are known and few.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }

    /// Takes the entry of `key` out.
    pub(super) fn remove(&mut self, key: &str) -> Option<Entry> {
        let at = self.0.iter().position(|entry| entry.key == key)?;
        Some(self.0.remove(at))
    }

    /// The value at the end of `path`.
    pub(super) fn find(&self, path: &[&str]) -> Option<&Entry> {
        let (first, rest) = path.split_first()?;
        let entry = self.get(first)?;
        match (&entry.node.value, rest) {
            (_, []) => Some(entry),
            (Value::Table(table), _) => table.find(rest),
            _ => None,
        }
    }
}

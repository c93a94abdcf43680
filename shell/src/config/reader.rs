//! Reading one table: its keys, typed, each with its place.

use super::report::Findings;
use super::schema::{self, Key};
use super::source::Place;
use super::tree::{Entry, Node, Table, Value};
use super::words;

/// A value with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) place: Place,
}

/// One table while it is read.
pub(super) struct Reader<'t> {
    table: &'t Table,
    /// Where the table begins: its header, or the key it stands behind.
    pub(super) header: Place,
    /// The table's full name, `service.web.check.page`.
    pub(super) path: String,
}

impl<'t> Reader<'t> {
    /// Begins to read `table`, which may have `keys` and no others.
    pub(super) fn new(
        table: &'t Table,
        header: Place,
        path: String,
        keys: &[&[Key]],
        out: &mut Findings,
    ) -> Self {
        let reader = Self { table, header, path };
        let known = || keys.iter().flat_map(|keys| keys.iter()).map(|key| key.name);
        for entry in &table.0 {
            if !known().any(|name| name == entry.key) {
                reader.unknown(entry, known(), out);
            }
        }
        reader
    }

    fn unknown<'k>(
        &self,
        entry: &Entry,
        known: impl Iterator<Item = &'k str> + Clone,
        out: &mut Findings,
    ) {
        let inside =
            if self.path.is_empty() { String::new() } else { format!(" in {}", self.path) };
        let key = &entry.key;
        let finding = out.error(entry.place, format!("unknown key `{key}`{inside}"));
        if self.path.is_empty() && !entry.node.place.holds(entry.place) {
            finding.of_absence(); // no header: behind one that could not be read it lands here
        }
        let near = words::nearest(key, known.clone());
        let of_kinds = schema::kinds_with(key);
        if let Some(near) = near.or_else(|| schema::meant_by(key, known.clone())) {
            finding.label(format!("did you mean `{near}`?"));
        } else if self.path.contains(".check.") && !of_kinds.is_empty() {
            let kinds = words::and(of_kinds.iter().copied());
            finding.label(format!("only checks of kind {kinds} have it"));
        } else {
            finding.label(format!("keys here are {}", words::and(known)));
        }
    }

    /// The entry of `key`.
    pub(super) fn entry(&self, key: &str) -> Option<&'t Entry> {
        self.table.get(key)
    }

    /// The value of `key`, if it is there and `take` can take it.
    pub(super) fn read<T>(
        &self,
        key: &str,
        take: impl Fn(&str, &'t Node, &mut Findings) -> Option<T>,
        out: &mut Findings,
    ) -> Option<T> {
        take(key, &self.entry(key)?.node, out)
    }

    /// The same with its place.
    pub(super) fn placed<T>(
        &self,
        key: &str,
        take: impl Fn(&str, &'t Node, &mut Findings) -> Option<T>,
        out: &mut Findings,
    ) -> Option<Placed<T>> {
        let node = &self.entry(key)?.node;
        Some(Placed { value: take(key, node, out)?, place: node.place })
    }

    /// The entries of the table behind `key`; none if it is not there or no table.
    pub(super) fn entries(&self, key: &str, out: &mut Findings) -> &'t [Entry] {
        self.read(key, super::values::table, out).map_or(&[], |table| &table.0)
    }

    /// Where the value of `key` stands, or the table if it is not there.
    pub(super) fn place(&self, key: &str) -> Place {
        self.entry(key).map_or(self.header, |entry| entry.node.place)
    }

    /// Whether `key` is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }
}

/// The table's own place, for messages about the whole of it: the header's name if it has a
/// header, else the key.
pub(super) fn header(entry: &Entry) -> Place {
    match entry.node.value {
        Value::Table(_) => entry.node.place,
        _ => entry.place,
    }
}

//! The texts that were read, and what lies where in them.

use std::ops::Range;

/// A piece of one text: what a message points at.
///
/// Ordered by text, then by where the piece begins: sorting messages by place puts them in the
/// order a person reads the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    source: u32,
    start: u32,
    end: u32,
}

impl Place {
    /// The text numbered `source` as a whole, for messages about the file itself.
    pub(super) const fn whole(source: u32) -> Self {
        Self { source, start: 0, end: u32::MAX }
    }

    /// The bytes `span` of the text numbered `source`.
    pub(super) fn new(source: u32, span: Range<usize>) -> Self {
        // Texts are at most `Source::MOST` long, so nothing is cut here.
        let at = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX - 1);
        Self { source, start: at(span.start), end: at(span.end) }
    }

    /// Whether `other` lies in this place.
    pub(super) const fn holds(self, other: Self) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }

    /// The number of the text.
    pub(super) const fn source(self) -> u32 {
        self.source
    }

    /// The first byte and the one past the last; `None` for a whole text.
    pub(super) fn span(self) -> Option<Range<usize>> {
        (self.end != u32::MAX).then_some(self.start as usize..self.end as usize)
    }
}

/// One text and where its lines begin.
#[derive(Clone, Debug, Default)]
pub struct Source {
    name: String,
    short: String,
    text: String,
    lines: Vec<u32>,
}

impl Source {
    /// The longest text that is read, in bytes. Ten thousand services take about one MiB.
    pub(super) const MOST: usize = 32 << 20;

    /// The text of `name`, called `short` where there is little room.
    pub(super) fn new(name: String, short: String, text: String) -> Self {
        let begins = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0)
            .chain(begins.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)))
            .collect();
        Self { name, short, text, lines }
    }

    /// The name it was asked for by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name relative to the main file's directory.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.short
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The line that holds byte `offset`, counted from zero.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.lines.partition_point(|begin| *begin as usize <= offset).saturating_sub(1)
    }

    /// Line `line` (from zero) without its end, and where it begins.
    pub(super) fn line(&self, line: usize) -> (usize, &str) {
        let begin = self.lines.get(line).map_or(self.text.len(), |begin| *begin as usize);
        let end = self.lines.get(line + 1).map_or(self.text.len(), |next| *next as usize);
        let text = self.text.get(begin..end).unwrap_or_default();
        (begin, text.trim_end_matches(['\n', '\r']))
    }
}

/// Every text of one configuration, the main file first.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a text and returns its number.
    pub(super) fn add(&mut self, source: Source) -> u32 {
        self.0.push(source);
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    /// The text `place` lies in.
    #[must_use]
    pub fn of(&self, place: Place) -> Option<&Source> {
        self.0.get(place.source as usize)
    }

    /// All of them, in the order they were read.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }

    /// Line and column of `place`, both from one; columns count characters. `None` where the
    /// place is a whole text.
    #[must_use]
    pub fn position(&self, place: Place) -> Option<(usize, usize)> {
        let source = self.of(place)?;
        let start = place.span()?.start.min(source.text.len());
        let line = source.line_of(start);
        let (begin, _) = source.line(line);
        let before = source.text.get(begin..start).unwrap_or_default();
        let mark = usize::from(begin == 0 && before.starts_with('\u{feff}'));
        Some((line + 1, before.chars().count() - mark + 1))
    }

    /// `place` in words: `conf.d/a.toml:4:1`.
    #[must_use]
    pub fn words(&self, place: Place) -> String {
        let name = self.of(place).map_or("?", Source::short);
        match self.position(place) {
            Some((line, column)) => format!("{name}:{line}:{column}"),
            None => name.to_owned(),
        }
    }
}

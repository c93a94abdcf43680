//! A source line with carets under the piece a message is about.

use std::fmt;

use super::source::{Place, Sources};

/// The line of a place and how to mark the place in it.
pub(super) struct Snippet {
    line: usize,
    text: String,
    pad: String,
    carets: String,
}

impl Snippet {
    /// The line `place` begins on, or `None` for a place that is a whole text.
    pub(super) fn of(sources: &Sources, place: Place) -> Option<Self> {
        let source = sources.of(place)?;
        let span = place.span()?;
        let line = source.line_of(span.start.min(source.text().len()));
        let (begin, text) = source.line(line);
        let start = span.start.saturating_sub(begin).min(text.len());
        let end = span.end.saturating_sub(begin).clamp(start, text.len());
        let (from, shown) = window(text, start, end)?;
        let (start, end) = (start - from, (end - from).min(shown.len()));
        let pad = shown.get(..start)?.chars().flat_map(blank).collect();
        let marked: usize = shown.get(start..end)?.chars().map(width).sum();
        Some(Self { line: line + 1, text: harmless(shown), pad, carets: "^".repeat(marked.max(1)) })
    }

    /// As wide as the line's number, for lines below it.
    pub(super) fn gutter(&self) -> usize {
        self.line.to_string().len()
    }

    /// The line, then the carets with `label` behind them.
    pub(super) fn write(&self, label: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gutter = self.gutter();
        writeln!(f, "  {} | {}", self.line, self.text)?;
        let marked = format!("{}{} {label}", self.pad, self.carets);
        writeln!(f, "  {:gutter$} | {}", "", marked.trim_end())
    }
}

/// What a terminal would obey is not shown to it: a file may hold anything.
pub(super) fn harmless(text: &str) -> String {
    let harmless = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(harmless).collect()
}

/// The part of `line` worth showing around the bytes `start..end`, and where it begins. Lines
/// of usual length are shown whole.
fn window(line: &str, start: usize, end: usize) -> Option<(usize, &str)> {
    const BEFORE: usize = 80;
    const AFTER: usize = 160;
    if line.len() <= BEFORE + AFTER {
        return Some((0, line));
    }
    let edge = |at: usize| (0..=at).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    let from = edge(start.saturating_sub(BEFORE));
    let to = edge((from + BEFORE + AFTER).max(end.min(start + AFTER)).min(line.len()));
    Some((from, line.get(from..to)?))
}

/// White space as wide as `c`, so that the carets stand under their piece.
fn blank(c: char) -> impl Iterator<Item = char> {
    let (with, times) = if c == '\t' { ('\t', 1) } else { (' ', width(c)) };
    std::iter::repeat_n(with, times)
}

/// How many columns `c` takes on a terminal: East Asian and emoji two, marks that combine none.
fn width(c: char) -> usize {
    match c {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1f64f}'
        | '\u{1f680}'..='\u{1f6ff}'
        | '\u{1f900}'..='\u{1f9ff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

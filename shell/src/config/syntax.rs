//! From a text to its tree, with every syntax error of the text in plain words.

use std::io;
use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

use super::report::Findings;
use super::source::{Place, Source, Sources};
use super::tree::{self, Table};

/// Parses the text numbered `number`, as far as it can be: what follows an error is still read.
///
/// # Errors
/// No thread could be made to parse it on. Nothing was read.
pub(super) fn parse(sources: &Sources, number: u32, out: &mut Findings) -> io::Result<Table> {
    let whole = Place::whole(number);
    let Some(source) = sources.of(whole) else { return Ok(Table::default()) };
    // A text may nest as deep as 80 tables of 80 dotted keys, and the parser's tree is dropped
    // one call per level. That is more stack than a thread has by default.
    std::thread::scope(|scope| {
        let parse = || parse_here(sources, source, number);
        let thread =
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, parse)?.join();
        match thread {
            Ok((table, findings)) => {
                out.append(findings);
                Ok(table)
            }
            Err(_) => {
                out.error(whole, "cannot be read: the parser gave up on it").of_syntax();
                Ok(Table::default())
            }
        }
    })
}

/// Mapped, not used: only the pages a text really needs become memory.
const STACK: usize = 64 << 20;

fn parse_here(sources: &Sources, source: &Source, number: u32) -> (Table, Findings) {
    let mut out = Findings::default();
    let text = source.text();
    let (table, errors) = DeTable::parse_recoverable(text);
    let errors = apart(source, errors);
    for Said { span, until, error } in &errors {
        explain(sources, text, Place::new(number, span.clone()), *until, error, &mut out);
    }
    let mut semantic = Findings::default();
    let tree = tree::grow(number, table.get_ref(), &mut semantic);
    out.append(semantic);
    (tree, out)
}

/// One error of the parser.
struct Said {
    span: Range<usize>,
    /// Where the text it spoils ends.
    until: usize,
    error: Error,
}

/// One error a line, in order, without those that only follow from a list left open.
fn apart(source: &Source, errors: Vec<Error>) -> Vec<Said> {
    let text = source.text();
    let mut all: Vec<Said> = errors
        .into_iter()
        .map(|error| (error.span().unwrap_or(text.len()..text.len()), error))
        .filter(|(span, _)| text.get(span.clone()).is_some())
        .map(|(span, error)| Said { until: span.end, span, error })
        .collect();
    all.sort_by_key(|said| said.span.start);
    let mut kept: Vec<Said> = Vec::with_capacity(all.len());
    let ends: Vec<usize> = all
        .iter()
        .filter(|said| said.error.message().starts_with("unclosed array"))
        .map(|said| said.span.end)
        .collect();
    for mut said in all {
        if kept.last().is_some_and(|last| last.until > said.span.start) {
            continue;
        }
        if said.error.message().starts_with(NO_COMMA) {
            let (before, behind) = text.split_at_checked(said.span.start).unwrap_or((text, ""));
            let end = ends.iter().copied().find(|end| *end >= said.span.start);
            if let Some(end) = end.filter(|_| begins_anew(behind)) {
                said.until = end + 1;
            }
            // The parser is by then at what comes next, often lines below.
            let before = before.trim_end().len();
            said.span = before..before;
        }
        let line = source.line_of(said.span.start);
        if kept.last().map(|last| source.line_of(last.span.start)) != Some(line) {
            kept.push(said);
        }
    }
    kept
}

/// Whether `text` begins with a key or a header: then a list before it was left open, and
/// everything up to its supposed end is taken for items.
fn begins_anew(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default().trim();
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_-.\"' ".contains(c);
    let (key, _) = line.split_once('=').unwrap_or_default();
    let header = line.starts_with('[') && line.ends_with(']') && !line.contains(',');
    header || (!key.is_empty() && key.chars().all(is_key))
}

const NO_COMMA: &str = "missing comma between array elements";

/// How many keys given twice are looked up; each costs a parse of what stands before.
const MOST_TWINS: usize = 32;

fn explain(
    sources: &Sources,
    text: &str,
    place: Place,
    until: usize,
    error: &Error,
    out: &mut Findings,
) {
    let span = place.span().unwrap_or_default();
    let piece = text.get(span.clone()).unwrap_or_default();
    if error.message() == "duplicate key" {
        let twin = if out.count() < MOST_TWINS { twin(text, &span) } else { None };
        let what = header(text, &span).unwrap_or_else(|| format!("key `{}`", unquoted(piece)));
        let finding = out.error(place, format!("{what} is given twice"));
        if let Some(first) = twin {
            let first = sources.words(Place::new(place.source(), first));
            finding.label(format!("first given at {first}"));
        }
        return;
    }
    out.error(place, plain(error.message(), piece)).of_syntax_until(until);
}

/// The parser's words made ours; its own where we have none.
fn plain(said: &str, piece: &str) -> String {
    let known = PLAIN.iter().find(|(start, _)| said.starts_with(start));
    if let Some((_, words)) = known {
        return (*words).to_owned();
    }
    let is_value = said.starts_with("invalid ") || said.starts_with("string values must");
    if is_value && !piece.is_empty() && !piece.contains(['"', '\'', '\n']) {
        return format!("`{piece}` is no value; a text needs quotes: \"{piece}\"");
    }
    if let Some(rest) = said.strip_prefix("cannot extend value of type ") {
        let what = rest.trim_end_matches(" with a dotted key");
        let what = match what {
            "string" => "a text",
            "integer" | "float" => "a number",
            "boolean" => "true or false",
            "array" => "a list",
            other => other,
        };
        return format!("`{piece}` is {what} already, it cannot be a table too");
    }
    said.to_owned()
}

const PLAIN: [(&str, &str); 18] = [
    ("invalid basic string", "this text is not closed, or has a character it cannot hold"),
    ("invalid literal string", "this text is not closed, or has a character it cannot hold"),
    ("invalid unquoted key", "a key is of A-Z a-z 0-9 _ -; any other stands in quotes"),
    ("key with no value", "a key needs a value: KEY = VALUE"),
    ("missing value", "a value is missing here"),
    ("invalid key-value pair", "a line is KEY = VALUE or [TABLE]"),
    ("unquoted keys cannot be empty", "a key is missing here"),
    ("extra comma in array", "a comma too many in a list"),
    ("extra comma in inline table", "a comma too many in a table"),
    (NO_COMMA, "the list goes on without a comma, or is not closed with `]`"),
    ("missing comma between key-value pairs", "a comma is missing between two keys of a table"),
    ("unclosed array", "the list is not closed: `]` is missing"),
    ("unclosed table", "the table's name is not closed: `]` is missing"),
    ("unclosed inline table", "the table is not closed: `}` is missing"),
    ("unexpected content", "nothing may follow here on this line"),
    ("unexpected key or value", "nothing may follow here on this line"),
    ("recursion limit", "nested too deep; nothing here goes as far down"),
    ("cannot recurse further", "nested too deep; nothing here goes as far down"),
];

/// Where the key at `span` was given first.
///
/// The parser names only the second place. A key nobody else uses put in its stead makes it
/// parse, and what stands beside that key under the old name is the first.
fn twin(text: &str, span: &Range<usize>) -> Option<Range<usize>> {
    const MARK: &str = "the same again";
    let key = unquoted(text.get(span.clone())?);
    let before = text.get(..span.start)?;
    let after = text.get(span.end..)?;
    let line = after.find('\n').map_or(after, |end| after.get(..end).unwrap_or_default());
    let marked = format!("{before}\"{MARK}\"{line}");
    let (table, _) = DeTable::parse_recoverable(&marked);
    beside(table.get_ref(), MARK, &key)
}

fn beside(table: &DeTable<'_>, mark: &str, key: &str) -> Option<Range<usize>> {
    if table.contains_key(mark) {
        return table.get_key_value(key).map(|(first, _)| first.span());
    }
    table.values().find_map(|value| beside_in(value.get_ref(), mark, key))
}

fn beside_in(value: &DeValue<'_>, mark: &str, key: &str) -> Option<Range<usize>> {
    match value {
        DeValue::Table(table) => beside(table, mark, key),
        DeValue::Array(list) => list.iter().find_map(|item| beside_in(item.get_ref(), mark, key)),
        _ => None,
    }
}

/// `[service.web]`, if the key at `span` ends a table's header.
fn header(text: &str, span: &Range<usize>) -> Option<String> {
    let before = text.get(..span.end)?;
    let line = before.rsplit('\n').next()?.trim_start();
    let closed = text.get(span.end..)?.trim_start_matches([' ', '\t']).starts_with(']');
    let path = line.strip_prefix('[')?.trim_start_matches('[');
    closed.then(|| format!("[{}]", path.trim()))
}

fn unquoted(key: &str) -> String {
    key.trim_matches(['"', '\'']).to_owned()
}

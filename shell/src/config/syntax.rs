//! From a text to its tree, with every syntax error of the text in plain words.

use std::ops::Range;

use toml_parser::parser::{ValidateWhitespace, parse_document};
use toml_parser::{ParseError, Span};

use super::builder::Builder;
use super::report::Findings;
use super::source::{Place, Source, Sources};
use super::tables::Trouble;
use super::tree::Table;

/// Parses the text numbered `number`, as far as it can be: what follows an error is still read.
///
/// The parser is that of the `toml` crate, one floor below its tables: those keep neither the
/// first place of a key given twice nor the rest of a file behind a key without a value, and
/// need ten times the text's memory while they are made.
pub(super) fn parse(sources: &Sources, number: u32, out: &mut Findings) -> Table {
    let Some(source) = sources.of(Place::whole(number)) else { return Table::default() };
    let text = toml_parser::Source::new(source.text());
    let mut builder = Builder::new(text, number);
    let mut errors: Vec<ParseError> = Vec::new();
    let tokens = text.lex().into_vec();
    let mut receiver = ValidateWhitespace::new(&mut builder, text);
    parse_document(&tokens, &mut receiver, &mut errors);
    drop(tokens);
    let (tree, trouble) = builder.finish();
    for said in apart(source, errors) {
        let piece = source.text().get(said.span.clone()).unwrap_or_default();
        let place = Place::new(number, said.span.clone());
        out.error(place, plain(&said.message, piece)).of_syntax_until(said.until);
    }
    for (place, trouble) in trouble {
        explain(sources, source.text(), place, &trouble, out);
    }
    tree
}

/// One error of the parser.
struct Said {
    span: Range<usize>,
    /// Where the text it spoils ends.
    until: usize,
    message: String,
    /// What it is part of: for a list its bracket.
    context: Option<Span>,
}

/// One error a line, in order, without those that only follow from a list left open.
fn apart(source: &Source, errors: Vec<ParseError>) -> Vec<Said> {
    let text = source.text();
    let end = text.len();
    let mut all: Vec<Said> = errors
        .into_iter()
        .map(|error| {
            let span = error.unexpected().map_or(end..end, |span| span.start()..span.end());
            let message = error.description().to_owned();
            Said { until: span.end, span, message, context: error.context() }
        })
        .filter(|said| text.get(said.span.clone()).is_some())
        .collect();
    all.sort_by_key(|said| said.span.start);
    let open = all.iter().filter(|said| said.message == "unclosed array");
    let open: Vec<(Option<Span>, usize)> = open.map(|said| (said.context, said.span.end)).collect();
    let mut kept: Vec<Said> = Vec::with_capacity(all.len());
    for mut said in all {
        if kept.last().is_some_and(|last| last.until > said.span.start) {
            continue;
        }
        if said.message.starts_with(NO_COMMA) {
            let same = open.iter().find(|(context, _)| *context == said.context);
            if let Some((_, end)) = same {
                // The list was left open here: what follows is taken for its items.
                said.until = end + 1;
            }
            // The parser is by then at what comes next, often lines below.
            let before = text.get(..said.span.start).unwrap_or_default().trim_end().len();
            said.span = before..before;
        }
        let line = source.line_of(said.span.start);
        if kept.last().map(|last| source.line_of(last.span.start)) != Some(line) {
            kept.push(said);
        }
    }
    kept
}

const NO_COMMA: &str = "missing comma between array elements";

fn explain(sources: &Sources, text: &str, place: Place, trouble: &Trouble, out: &mut Findings) {
    let span = place.span().unwrap_or_default();
    let piece = text.get(span.clone()).unwrap_or_default().trim_matches(['"', '\'']);
    match trouble {
        Trouble::Twice { first, header } => {
            let table = if *header { table_name(text, &span) } else { None };
            let what = table.unwrap_or_else(|| format!("key `{piece}`"));
            let finding = out.error(place, format!("{what} is given twice"));
            finding.label(format!("first given at {}", sources.words(*first)));
        }
        Trouble::NoTable { value } => {
            let message = format!("`{piece}` is {value} already, it cannot be a table too");
            out.error(place, message);
        }
        Trouble::NoNumber => {
            out.error(place, format!("`{piece}` is no number of 64 bits")).of_syntax();
        }
        Trouble::TooDeep => {
            out.error(place, "nested too deep; nothing here goes as far down").of_syntax();
        }
    }
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
    said.to_owned()
}

const PLAIN: [(&str, &str); 17] = [
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
    ("unclosed array table", "the table's name is not closed: `]]` is missing"),
    ("unclosed array", "the list is not closed: `]` is missing"),
    ("unclosed table", "the table's name is not closed: `]` is missing"),
    ("unclosed inline table", "the table is not closed: `}` is missing"),
    ("unexpected content", "nothing may follow here on this line"),
    ("unexpected key or value", "nothing may follow here on this line"),
];

/// `[service.web]`, if the key at `span` ends a table's header.
fn table_name(text: &str, span: &Range<usize>) -> Option<String> {
    let line = text.get(..span.end)?.rsplit('\n').next()?.trim_start();
    let path = line.strip_prefix('[')?.trim_start_matches('[');
    Some(format!("[{}]", path.trim()))
}

//! From a value of the tree to a value of the plan; what does not fit is said, with its place.

use std::ops::RangeInclusive;

use giveover_core::time::Span;
use giveover_core::weight::Weight;

use super::quantity::{self, NoQuantity};
use super::report::Findings;
use super::tree::{Node, Table, Value};
use super::words::{self, BadDollar};

/// Any text.
pub(super) fn text<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => wrong(key, "a text in quotes", node, out),
    }
}

/// A text that can be a word of a command, a path or a name for the system: not empty, no NUL.
pub(super) fn word<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t str> {
    let word = text(key, node, out)?;
    if word.is_empty() {
        out.error(node.place, format!("{key}: must not be empty"));
        return None;
    }
    no_nul(key, word, node, out)
}

fn no_nul<'t>(key: &str, word: &'t str, node: &Node, out: &mut Findings) -> Option<&'t str> {
    if word.contains('\0') {
        out.error(
            node.place,
            format!("{key}: holds a NUL character, which no program can be given"),
        );
        return None;
    }
    Some(word)
}

/// An absolute path.
pub(super) fn path<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t str> {
    let path = word(key, node, out)?;
    if !path.starts_with('/') {
        out.error(node.place, format!("{key}: must be an absolute path"));
        return None;
    }
    Some(path)
}

/// The file of a secret: an absolute path, or a bare name under `$CREDENTIALS_DIRECTORY`.
pub(super) fn secret_file<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t str> {
    let name = word(key, node, out)?;
    if name.starts_with('/') || words::is_name(name) && !name.starts_with('.') {
        return Some(name);
    }
    let message = format!("{key}: must be an absolute path, or the bare name of a credential");
    out.error(node.place, message);
    None
}

/// A name, as services and checks have.
pub(super) fn name<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t str> {
    let name = text(key, node, out)?;
    if !words::is_name(name) {
        let finding = out.error(node.place, format!("{key}: `{name}` is no name"));
        finding.label("names are 1 to 64 of A-Z a-z 0-9 _ - . @ :");
        return None;
    }
    Some(name)
}

/// `true` or `false`.
pub(super) fn boolean(key: &str, node: &Node, out: &mut Findings) -> Option<bool> {
    match node.value {
        Value::Bool(yes) => Some(yes),
        _ => wrong(key, "true or false", node, out),
    }
}

/// A whole number within `range`.
pub(super) fn number<T: TryFrom<i64>>(
    range: RangeInclusive<i64>,
) -> impl Fn(&str, &Node, &mut Findings) -> Option<T> {
    move |key, node, out| match node.value {
        Value::Integer(number) if range.contains(&number) => T::try_from(number).ok(),
        Value::Integer(_) => {
            let (least, most) = (range.start(), range.end());
            out.error(node.place, format!("{key}: must be {least} to {most}"));
            None
        }
        _ => wrong(key, "a whole number", node, out),
    }
}

/// A weight.
pub(super) fn weight(key: &str, node: &Node, out: &mut Findings) -> Option<Weight> {
    let value = number::<u8>(1..=100)(key, node, out)?;
    Weight::new(value)
}

/// A length of time; zero is one.
pub(super) fn span(key: &str, node: &Node, out: &mut Findings) -> Option<Span> {
    let text = quantity_text(key, "a duration", "s", "ms", node, out)?;
    let result = quantity::duration(text);
    quantity_or_error(key, text, result, &DURATION, node, out)
}

/// A length of time in milliseconds, also one too long for a [`Span`].
pub(super) fn long_span(key: &str, node: &Node, out: &mut Findings) -> Option<u64> {
    let text = quantity_text(key, "a duration", "s", "ms", node, out)?;
    let result = quantity::milliseconds(text);
    quantity_or_error(key, text, result, &DURATION, node, out)
}

/// A length of time that is not zero.
pub(super) fn positive_span(key: &str, node: &Node, out: &mut Findings) -> Option<Span> {
    let span = span(key, node, out)?;
    if span.is_zero() {
        out.error(node.place, format!("{key}: must not be zero"));
        return None;
    }
    Some(span)
}

/// A size in bytes within `range`.
pub(super) fn size(
    range: RangeInclusive<u32>,
) -> impl Fn(&str, &Node, &mut Findings) -> Option<u32> {
    move |key, node, out| {
        let text = quantity_text(key, "a size", "B", "B", node, out)?;
        let size = quantity_or_error(key, text, quantity::size(text), &SIZE, node, out)?;
        if range.contains(&size) {
            return Some(size);
        }
        let message = format!("{key}: must be {} to {} bytes", range.start(), range.end());
        out.error(node.place, message);
        None
    }
}

/// A share in percent, from 1 on.
pub(super) fn share(key: &str, node: &Node, out: &mut Findings) -> Option<u8> {
    let text = quantity_text(key, "a share", "%", "%", node, out)?;
    let share = quantity_or_error(key, text, quantity::share(text), &SHARE, node, out)?;
    if share == 0 {
        out.error(node.place, format!("{key}: must not be zero"));
        return None;
    }
    Some(share)
}

/// The text of a quantity; a bare number is answered with the likely spelling.
fn quantity_text<'t>(
    key: &str,
    what: &str,
    unit: &str,
    small: &str,
    node: &'t Node,
    out: &mut Findings,
) -> Option<&'t str> {
    let likely = match &node.value {
        Value::Text(text) => return Some(text),
        Value::Integer(number) if *number >= 0 => format!("{number}{unit}"),
        Value::Float(number) if *number > 0.0 && *number < 1e6 && unit != small => {
            format!("{}{small}", (number * 1000.0).round())
        }
        _ => return wrong(key, &format!("{what} in quotes"), node, out),
    };
    out.error(node.place, format!("{key}: {what} needs a unit: \"{likely}\""));
    None
}

/// The words for one sort of quantity.
struct Words {
    what: &'static str,
    unit: &'static str,
    units: &'static str,
    example: &'static str,
    most: &'static str,
}

const DURATION: Words = Words {
    what: "a duration",
    unit: "s",
    units: "ms, s, m, h and d",
    example: "\"30s\", \"1h30m\" or \"250ms\"",
    most: "49 days",
};
const SIZE: Words = Words {
    what: "a size",
    unit: "B",
    units: "B, KiB, MiB and GiB",
    example: "\"64KiB\" or \"1MiB\"",
    most: "4 GiB",
};
const SHARE: Words =
    Words { what: "a share", unit: "%", units: "%", example: "\"50%\"", most: "100 %" };

fn quantity_or_error<T>(
    key: &str,
    text: &str,
    result: Result<T, NoQuantity>,
    words: &Words,
    node: &Node,
    out: &mut Findings,
) -> Option<T> {
    let message = match result {
        Ok(value) => return Some(value),
        Err(NoQuantity::NoUnit(number)) if number == text => {
            format!("{key}: {} needs a unit: \"{text}{}\"", words.what, words.unit)
        }
        Err(NoQuantity::NoUnit(number)) => {
            format!("{key}: \"{text}\": {number} needs a unit too; {} are", words.units)
        }
        Err(NoQuantity::Unit(unit)) => {
            format!("{key}: `{unit}` is no unit here; {} are", words.units)
        }
        Err(NoQuantity::Order) => {
            format!("{key}: \"{text}\": the longer unit comes first, each once, as in \"1h30m\"")
        }
        Err(NoQuantity::TooMuch) => format!("{key}: more than {}, the most there is", words.most),
        Err(NoQuantity::Form) => {
            format!("{key}: \"{text}\" is not {}; write {}", words.what, words.example)
        }
    };
    out.error(node.place, message);
    None
}

/// A list; `each` takes its items. All items are looked at, also behind a wrong one.
pub(super) fn list<'t, T>(
    key: &str,
    node: &'t Node,
    out: &mut Findings,
    each: impl Fn(&str, &'t Node, &mut Findings) -> Option<T>,
) -> Option<Vec<T>> {
    let Value::List(items) = &node.value else { return wrong(key, "a list", node, out) };
    let taken: Vec<Option<T>> = items.iter().map(|item| each(key, item, out)).collect();
    taken.into_iter().collect()
}

/// A list, or one item where the list would have only that.
pub(super) fn one_or_more<'t, T>(
    key: &str,
    node: &'t Node,
    out: &mut Findings,
    each: impl Fn(&str, &'t Node, &mut Findings) -> Option<T>,
) -> Option<Vec<T>> {
    match &node.value {
        Value::List(_) => list(key, node, out, each),
        _ => each(key, node, out).map(|one| vec![one]),
    }
}

/// The words of a command: program and arguments, no shell.
pub(super) fn argv(key: &str, node: &Node, out: &mut Findings) -> Option<Vec<String>> {
    if let Value::Text(line) = &node.value {
        let words: Vec<String> = line.split_whitespace().map(|word| format!("{word:?}")).collect();
        let message = format!("{key}: a list of words is wanted, no shell reads this");
        out.error(node.place, message).label(format!("[{}]", words.join(", ")));
        return None;
    }
    let words = list(key, node, out, argument)?;
    match words.first().map(String::is_empty) {
        Some(false) => Some(words),
        Some(true) => {
            out.error(node.place, format!("{key}: the program's name is empty"));
            None
        }
        None => {
            out.error(node.place, format!("{key}: needs at least a program"));
            None
        }
    }
}

fn argument(key: &str, node: &Node, out: &mut Findings) -> Option<String> {
    let word = no_nul(key, text(key, node, out)?, node, out)?;
    let message = match words::check_dollars(word) {
        Ok(()) => return Some(word.to_owned()),
        Err(BadDollar::Unknown(name)) => format!("{key}: `${name}` is not known"),
        Err(BadDollar::Bare) => format!("{key}: a dollar that is meant is written `$$`"),
    };
    let label = match words::check_dollars(word) {
        Err(BadDollar::Unknown(name)) => match words::nearest(name, words::VARIABLES) {
            Some(near) => format!("did you mean `${near}`? a dollar that is meant is written `$$`"),
            None => format!("known are ${}", words::VARIABLES.join(" $")),
        },
        _ => String::new(),
    };
    out.error(node.place, message).label(label);
    None
}

/// A table.
pub(super) fn table<'t>(key: &str, node: &'t Node, out: &mut Findings) -> Option<&'t Table> {
    match &node.value {
        Value::Table(table) => Some(table),
        _ => wrong(key, "a table", node, out),
    }
}

/// One of `words`; the answer is its place among them.
pub(super) fn one_of(
    words: &'static [&'static str],
) -> impl Fn(&str, &Node, &mut Findings) -> Option<usize> {
    move |key, node, out| {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let all = words::or(quoted.iter().map(String::as_str));
        let Value::Text(said) = &node.value else { return wrong(key, &all, node, out) };
        let found = words.iter().position(|word| word == said);
        if found.is_none() {
            let finding = out.error(node.place, format!("{key}: must be {all}"));
            if let Some(near) = words::nearest(said, words.iter().copied()) {
                finding.label(format!("did you mean `{near}`?"));
            }
        }
        found
    }
}

/// Says that `node` is not what `key` takes.
pub(super) fn wrong<T>(key: &str, wanted: &str, node: &Node, out: &mut Findings) -> Option<T> {
    let is = node.value.what();
    out.error(node.place, format!("{key}: {wanted} is wanted, this is {is}"));
    None
}

//! Names, the nearest of several words, and `$NAME` inside the words of a command.

use std::borrow::Cow;

/// The longest name, in characters.
pub const LONGEST_NAME: usize = 64;

/// Whether `name` can name a service, a check or a policy: 1 to 64 of `A–Z a–z 0–9 _ - . @ :`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.@:".contains(c);
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(allowed)
}

/// The one of `known` that `word` was most likely meant to be, if any is near.
#[must_use]
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let wanted = plain(word);
    let limit = (wanted.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `a, b and c`.
#[must_use]
pub fn and<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    joined(words, "and")
}

/// `a, b or c`.
#[must_use]
pub fn or<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    joined(words, "or")
}

fn joined<'w>(words: impl IntoIterator<Item = &'w str>, last: &str) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((end, [])) => (*end).to_owned(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}

/// `line` in lines of at most 100 columns, those after the first set in by `indent`; each ends in
/// a line feed.
#[must_use]
pub fn wrapped(line: &str, indent: &str) -> String {
    const WIDEST: usize = 100;
    let mut text = String::new();
    let mut column = 0;
    for (place, word) in line.split(' ').enumerate() {
        let width = word.chars().count();
        let first = place == 0;
        if !first && column + 1 + width > WIDEST {
            text.push('\n');
            text.push_str(indent);
            column = indent.chars().count();
        } else if !first {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
    text
}

/// The names that are replaced inside words of commands, and stand in their environment with
/// `GIVEOVER_` before them.
pub const VARIABLES: [&str; 9] =
    ["SERVICE", "CHECK", "NODE", "MEMBER", "FROM", "TO", "ADDRESS", "REASON", "TOKEN"];

/// A dollar that means nothing. Nothing was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadDollar<'w> {
    /// `$NAME` of a name that is not among [`VARIABLES`].
    Unknown(&'w str),
    /// A dollar with no name behind it; one that is meant is written `$$`.
    Bare,
}

/// A piece of a word.
enum Part<'w> {
    Text(&'w str),
    Dollar,
    Variable(&'w str),
}

/// Checks the dollars of one word of a command.
///
/// # Errors
/// The first dollar that means nothing.
pub fn check_dollars(word: &str) -> Result<(), BadDollar<'_>> {
    parts(word, |_| ())
}

/// `word` with every `$NAME` replaced by what `value` has for it, `$$` by a dollar. A name that
/// `value` does not have is replaced by nothing, one that means nothing is left as it is.
pub fn expand<'w>(word: &'w str, value: impl Fn(&str) -> Option<String>) -> Cow<'w, str> {
    if !word.contains('$') {
        return Cow::Borrowed(word);
    }
    let mut expanded = String::with_capacity(word.len());
    let all_known = parts(word, |part| match part {
        Part::Text(text) => expanded.push_str(text),
        Part::Dollar => expanded.push('$'),
        Part::Variable(name) => expanded.push_str(&value(name).unwrap_or_default()),
    });
    if all_known.is_ok() { Cow::Owned(expanded) } else { Cow::Borrowed(word) }
}

fn parts<'w>(word: &'w str, mut each: impl FnMut(Part<'w>)) -> Result<(), BadDollar<'w>> {
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once('$') {
        each(Part::Text(before));
        if let Some(after) = behind.strip_prefix('$') {
            each(Part::Dollar);
            rest = after;
            continue;
        }
        let end =
            behind.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(behind.len());
        let (name, after) = behind.split_at_checked(end).unwrap_or((behind, ""));
        match name {
            "" => return Err(BadDollar::Bare),
            name if VARIABLES.contains(&name) => each(Part::Variable(name)),
            name => return Err(BadDollar::Unknown(name)),
        }
        rest = after;
    }
    each(Part::Text(rest));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_1_to_64_of_few_characters() {
        for name in ["a", "web", "postgresql@15-main.service", "A_b-c.d:9", &"x".repeat(64)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a b", "a/b", "ü", "a\n", "$a", &"x".repeat(65)] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["expect", "retry_count", "retry_interval", "url"];
        assert_eq!(nearest("expcet", known), Some("expect"));
        assert_eq!(nearest("Retry-Count", known), Some("retry_count"));
        assert_eq!(nearest("retry_intervall", known), Some("retry_interval"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn variables_are_replaced_inside_words() {
        let value = |name: &str| (name != "TO").then(|| name.to_lowercase());
        assert_eq!(expand("/run/$SERVICE.pid", value), "/run/service.pid");
        assert_eq!(expand("$FROM-$TO/$REASON", value), "from-/reason");
        assert_eq!(expand("5$$ or $$SERVICE", value), "5$ or $SERVICE");
        assert_eq!(expand("daemon off;", value), "daemon off;");
        assert_eq!(expand("ü$CHECK€", value), "ücheck€");
    }

    #[test]
    fn a_dollar_that_means_nothing_is_refused() {
        assert_eq!(check_dollars("a$$b$NODE"), Ok(()));
        assert_eq!(check_dollars("$HOME/x"), Err(BadDollar::Unknown("HOME")));
        assert_eq!(check_dollars("$SERVICE_log"), Err(BadDollar::Unknown("SERVICE_log")));
        for word in ["$", "a$ b", "${SERVICE}", "$(id)", "$€"] {
            assert_eq!(check_dollars(word), Err(BadDollar::Bare), "{word}");
        }
    }

    #[test]
    fn long_lines_are_wrapped_between_words() {
        assert_eq!(wrapped("a b", "  "), "a b\n");
        let long = format!("{} {} c", "a".repeat(60), "b".repeat(60));
        let (a, b) = ("a".repeat(60), "b".repeat(60));
        assert_eq!(wrapped(&long, "  "), format!("{a}\n  {b} c\n"));
        assert_eq!(wrapped(&"x".repeat(120), "  "), format!("{}\n", "x".repeat(120)));
    }

    #[test]
    fn lists_of_words_read_as_english() {
        assert_eq!(and([]), "");
        assert_eq!(and(["a"]), "a");
        assert_eq!(or(["a", "b", "c"]), "a, b or c");
    }
}

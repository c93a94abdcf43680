//! `$SERVICE`, `$CHECK` and the like inside the words of a command.

use std::fmt;

/// What may be named in a command, and stands in its environment as `GIVEOVER_…`.
///
/// What is not known where a command runs is empty in its words and absent from its
/// environment. Whether a name makes sense at some place of the configuration is for whoever
/// reads that: [`names`] lists what a word uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Values<'a> {
    /// `$SERVICE`: the service's name.
    pub service: Option<&'a str>,
    /// `$CHECK`: the check's name.
    pub check: Option<&'a str>,
    /// `$NODE`: this node, or the one that is asked about.
    pub node: Option<&'a str>,
    /// `$MEMBER`: the member of a pool.
    pub member: Option<&'a str>,
    /// `$FROM`: the node that gives over.
    pub from: Option<&'a str>,
    /// `$TO`: the node that takes over.
    pub to: Option<&'a str>,
    /// `$ADDRESS`: the target.
    pub address: Option<&'a str>,
    /// `$REASON`: why, in words.
    pub reason: Option<&'a str>,
    /// `$TOKEN`: the term in which a group is held, a number that grows with each holder.
    pub token: Option<&'a str>,
}

/// The names a word may use.
pub const NAMES: [&str; 9] =
    ["SERVICE", "CHECK", "NODE", "MEMBER", "FROM", "TO", "ADDRESS", "REASON", "TOKEN"];

impl<'a> Values<'a> {
    /// Name and value of all that is known.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &'a str)> {
        let values = [
            self.service,
            self.check,
            self.node,
            self.member,
            self.from,
            self.to,
            self.address,
            self.reason,
            self.token,
        ];
        NAMES.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)))
    }

    fn of(&self, name: &str) -> &'a str {
        self.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// The variables of a command's environment.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        self.iter().map(|(name, value)| (format!("GIVEOVER_{name}"), value.to_owned())).collect()
    }
}

/// A word that cannot be read. Nothing was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadWord {
    /// `$NAME` with a name that is none of [`NAMES`].
    Unknown(String),
    /// A dollar before something that is no name.
    Bare,
}

impl fmt::Display for BadWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "no such name: ${name}; write $$ for a dollar"),
            Self::Bare => f.write_str("a dollar without a name; write $$ for a dollar"),
        }
    }
}

impl std::error::Error for BadWord {}

/// A part of a word.
enum Piece<'a> {
    Text(&'a str),
    Name(&'static str),
}

/// `word` with every `$NAME` and `${NAME}` replaced by its value, and `$$` by a dollar.
///
/// # Errors
/// See [`BadWord`].
pub fn expand(word: &str, values: &Values<'_>) -> Result<String, BadWord> {
    let mut out = String::with_capacity(word.len());
    pieces(word, |piece| match piece {
        Piece::Text(text) => out.push_str(text),
        Piece::Name(name) => out.push_str(values.of(name)),
    })?;
    Ok(out)
}

/// All words of a command, expanded.
///
/// # Errors
/// The first word that is none; see [`BadWord`].
pub fn expand_all<W: AsRef<str>>(words: &[W], values: &Values<'_>) -> Result<Vec<String>, BadWord> {
    words.iter().map(|word| expand(word.as_ref(), values)).collect()
}

/// The names `word` uses, in order, for whoever knows which of them exist at its place.
///
/// # Errors
/// See [`BadWord`].
pub fn names(word: &str) -> Result<Vec<&'static str>, BadWord> {
    let mut names = Vec::new();
    pieces(word, |piece| {
        if let Piece::Name(name) = piece {
            names.push(name);
        }
    })?;
    Ok(names)
}

fn pieces<'a>(word: &'a str, mut each: impl FnMut(Piece<'a>)) -> Result<(), BadWord> {
    let mut rest = word;
    while let Some(dollar) = rest.find('$') {
        each(Piece::Text(&rest[..dollar]));
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            each(Piece::Text("$"));
            rest = after;
            continue;
        }
        let (name, after) = split_name(rest)?;
        let known = NAMES.into_iter().find(|known| *known == name);
        each(Piece::Name(known.ok_or_else(|| BadWord::Unknown(name.to_owned()))?));
        rest = after;
    }
    each(Piece::Text(rest));
    Ok(())
}

/// The name at the start of `rest`, with or without braces, and what follows it.
fn split_name(rest: &str) -> Result<(&str, &str), BadWord> {
    let (name, after) = match rest.strip_prefix('{') {
        Some(inner) => inner.split_once('}').ok_or(BadWord::Bare)?,
        None => {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            rest.split_at(end.unwrap_or(rest.len()))
        }
    };
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if named { Ok((name, after)) } else { Err(BadWord::Bare) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: Values<'static> = Values {
        service: Some("web"),
        check: Some("page"),
        node: None,
        member: None,
        from: None,
        to: None,
        address: Some("[::1]:80"),
        reason: None,
        token: None,
    };

    #[test]
    fn names_are_replaced_inside_words() {
        for (word, expanded) in [
            ("", ""),
            ("plain", "plain"),
            ("$SERVICE", "web"),
            ("http://$ADDRESS/x?c=$CHECK", "http://[::1]:80/x?c=page"),
            ("${SERVICE}_log", "web_log"),
            ("$$SERVICE", "$SERVICE"),
            ("$$$SERVICE$$", "$web$"),
            ("über-$SERVICE-ü", "über-web-ü"),
            ("to=$TO.", "to=."),
        ] {
            assert_eq!(expand(word, &WEB).as_deref(), Ok(expanded), "{word}");
        }
    }

    #[test]
    fn another_dollar_is_an_error() {
        assert_eq!(expand("$SERVICE_x", &WEB), Err(BadWord::Unknown("SERVICE_x".into())));
        assert_eq!(expand("$service", &WEB), Err(BadWord::Unknown("service".into())));
        for word in ["$", "a$", "$1", "$(id)", "${SERVICE", "${}", "$é"] {
            assert_eq!(expand(word, &WEB), Err(BadWord::Bare), "{word}");
        }
    }

    #[test]
    fn the_same_values_stand_in_the_environment() {
        let variables = WEB.environment();
        assert_eq!(
            variables,
            [
                ("GIVEOVER_SERVICE".to_owned(), "web".to_owned()),
                ("GIVEOVER_CHECK".to_owned(), "page".to_owned()),
                ("GIVEOVER_ADDRESS".to_owned(), "[::1]:80".to_owned()),
            ]
        );
    }

    #[test]
    fn a_reader_can_ask_what_a_word_uses() {
        assert_eq!(names("$TO and $$ and ${FROM}"), Ok(vec!["TO", "FROM"]));
    }
}

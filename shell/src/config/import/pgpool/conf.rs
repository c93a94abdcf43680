//! A pgpool.conf as it is written: a name and a value on each line.

use super::super::super::report::Findings;
use super::super::super::source::Place;

/// One line that sets something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// In small letters: pgpool-II's later versions do not tell them apart.
    pub(super) name: String,
    /// Without its quotes.
    pub(super) value: String,
    /// Of name and value.
    pub(super) place: Place,
}

/// What a file sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Conf(Vec<Setting>);

impl Conf {
    /// Reads `text`, the text numbered `source`; what is no setting is reported.
    pub(super) fn read(text: &str, source: u32, out: &mut Findings) -> Self {
        let mut settings = Vec::new();
        let mut begin = 0;
        for line in text.split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let bare = line.trim();
            let place = Place::new(source, begin + indent..begin + indent + bare.len());
            match setting(bare) {
                Line::Nothing => {}
                Line::Setting(name, value) => settings.push(Setting { name, value, place }),
                Line::Wrong(why) => {
                    out.error(place, why).label("NAME = 'VALUE'");
                }
            }
            begin += line.len();
        }
        Self(settings)
    }

    /// What `name` is set to: the last line that sets it counts.
    pub(super) fn find(&self, name: &str) -> Option<&Setting> {
        self.0.iter().rev().find(|setting| setting.name == name)
    }

    /// The names that are set, each once, in the order of the file.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for setting in &self.0 {
            if !names.contains(&setting.name.as_str()) {
                names.push(&setting.name);
            }
        }
        names
    }
}

/// What a line is.
enum Line {
    Nothing,
    Setting(String, String),
    Wrong(&'static str),
}

fn setting(line: &str) -> Line {
    if line.is_empty() || line.starts_with('#') {
        return Line::Nothing;
    }
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c)));
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    if name.is_empty() {
        return Line::Wrong("a line sets a parameter");
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let (value, behind) = match rest.strip_prefix('\'') {
        Some(quoted) => match unquoted(quoted) {
            Some(parts) => parts,
            None => return Line::Wrong("the quote is not closed on this line"),
        },
        None => {
            let end = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
            let (value, behind) = rest.split_at(end);
            (value.to_owned(), behind)
        }
    };
    let behind = behind.trim_start();
    if !behind.is_empty() && !behind.starts_with('#') {
        return Line::Wrong("something stands behind the value");
    }
    Line::Setting(name.to_ascii_lowercase(), value)
}

/// The text up to the closing quote, and what stands behind it. Two quotes, or one behind a
/// backslash, are one that is meant.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => value.push(letters.next()?.1),
            '\'' if letters.next_if(|(_, next)| *next == '\'').is_some() => value.push('\''),
            '\'' => return Some((value, text.get(at + 1..).unwrap_or_default())),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<(String, String)>, usize) {
        let mut out = Findings::default();
        let conf = Conf::read(text, 0, &mut out);
        let pairs = conf.0.into_iter().map(|setting| (setting.name, setting.value));
        (pairs.collect(), out.count())
    }

    fn one(line: &str) -> Option<(String, String)> {
        let (pairs, wrong) = read(line);
        (wrong == 0).then_some(())?;
        pairs.into_iter().next()
    }

    #[test]
    fn a_line_is_a_name_and_a_value_with_or_without_quotes() {
        let pair = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(one("wd_port = 9000   # a port"), pair("wd_port", "9000"));
        assert_eq!(one("wd_port 9000"), pair("wd_port", "9000"));
        assert_eq!(one("delegate_IP='10.0.0.1'"), pair("delegate_ip", "10.0.0.1"));
        assert_eq!(one("  q = 'SELECT ''a'' # b'#c"), pair("q", "SELECT 'a' # b"));
        assert_eq!(one(r"q = 'it\'s'"), pair("q", "it's"));
        assert_eq!(one("trusted_servers = ''"), pair("trusted_servers", ""));
        assert_eq!(one("empty ="), pair("empty", ""));
        assert_eq!(one("# wd_port = 9000"), None);
        assert_eq!(read("\n \r\n#x\n").1, 0);
    }

    #[test]
    fn what_is_no_setting_is_reported_and_the_rest_read() {
        let (pairs, wrong) = read("a = 'open\n= 3\nb = 1 2\nc = 4\r\n\0\u{fffd}\n");
        assert_eq!(pairs, [("c".to_owned(), "4".to_owned())]);
        assert_eq!(wrong, 4);
    }

    #[test]
    fn the_last_line_counts() {
        let mut out = Findings::default();
        let conf = Conf::read("a = 1\nb = 2\na = 3\n", 0, &mut out);
        assert_eq!(conf.find("a").map(|setting| setting.value.as_str()), Some("3"));
        assert_eq!(conf.names(), ["a", "b"]);
    }
}

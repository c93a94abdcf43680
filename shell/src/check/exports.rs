//! The paths that a file of exports names: `/etc/exports`, or `dfstab` with its `share` commands.
//!
//! # Source
//! exports(5), dfstab(4), share_nfs(1M).

/// A line that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Which, counted from one.
    pub line: usize,
    /// Why.
    pub why: &'static str,
}

/// No list is longer.
const MOST: usize = 10_000;

/// The paths that `text` names, each once, in their order.
///
/// # Errors
/// The first line that names none.
pub fn paths(text: &str) -> Result<Vec<String>, Wrong> {
    let mut paths: Vec<String> = Vec::new();
    for (line, text) in whole_lines(text) {
        let wrong = |why| Wrong { line, why };
        let mut words = words(&text).ok_or_else(|| wrong("a quote is not closed"))?.into_iter();
        let path = match words.next().as_deref() {
            None => continue,
            Some("share") => shared(words).ok_or_else(|| wrong("`share` names no path"))?,
            Some(first) if first.starts_with('/') => first.to_owned(),
            Some(_) => return Err(wrong("no absolute path stands first")),
        };
        if paths.len() >= MOST {
            return Err(wrong("there are too many paths"));
        }
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Lines with those that are continued as one, and the number of the first of them.
fn whole_lines(text: &str) -> Vec<(usize, String)> {
    let mut whole: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (place, line) in text.lines().enumerate() {
        let (line, more) = match line.strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line, false),
        };
        match whole.last_mut().filter(|_| goes_on) {
            Some((_, before)) => {
                before.push(' ');
                before.push_str(line);
            }
            None => whole.push((place + 1, line.to_owned())),
        }
        goes_on = more;
    }
    whole
}

/// Words between blanks; quotes hold some together, `\040` is a blank, a `#` begins a remark.
/// `None`: a quote is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut rest = line.chars();
    while let Some(sign) = rest.next() {
        match (sign, quote) {
            (sign, Some(end)) if sign == end => quote = None,
            ('"' | '\'', None) => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (sign, None) if sign.is_whitespace() => words.extend(word.take()),
            ('\\', _) => {
                let (sign, behind) = escaped(rest.as_str());
                word.get_or_insert_default().push(sign);
                rest = behind.chars();
            }
            (sign, _) => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// What stands behind a backslash: three octal digits are a character, anything else is itself.
fn escaped(rest: &str) -> (char, &str) {
    let octal =
        rest.get(..3).filter(|digits| digits.bytes().all(|digit| matches!(digit, b'0'..=b'7')));
    match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
        Some(byte) => (char::from(byte), rest.get(3..).unwrap_or_default()),
        None => ('\\', rest),
    }
}

/// The path of a `share` command: what begins with a slash and is no value of an option.
fn shared(mut words: impl Iterator<Item = String>) -> Option<String> {
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-F" | "-o" | "-d") {
            words.next();
        } else if word.starts_with('/') {
            return Some(word);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    // req 1.88
    #[test]
    fn both_sorts_of_files_name_their_paths() {
        let exports = "# shares\n\n/srv/nfs *(rw,sync) 10.0.0.0/8(ro)\n\"/srv/a b\" host\n\
                       /srv/c\\040d \\\n  -ro host\n/srv/nfs other\n";
        assert_eq!(
            paths(exports),
            Ok(vec!["/srv/nfs".into(), "/srv/a b".into(), "/srv/c d".into()])
        );
        let dfstab = "# place share(1M) commands here\nshare -F nfs -o rw=a:b,root=/x -d \"home dirs\" \
                      /export/home\nshare /export/pub public\n";
        assert_eq!(paths(dfstab), Ok(vec!["/export/home".into(), "/export/pub".into()]));
        assert_eq!(paths(""), Ok(vec![]));
    }

    #[test]
    fn what_names_no_path_is_told_with_its_line() {
        for (text, line, why) in [
            ("/a\nb c", 2, "no absolute path stands first"),
            ("\n\nshare -F nfs", 3, "`share` names no path"),
            ("/a \"b", 1, "a quote is not closed"),
            ("/a \\\nx\nshare", 3, "`share` names no path"),
        ] {
            assert_eq!(paths(text), Err(Wrong { line, why }), "{text:?}");
        }
    }
}

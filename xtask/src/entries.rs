//! The little TOML that our own lists use: tables in an array, with string values.
//!
//! ```toml
//! [[lack]]
//! name = "netem"
//! reason = "one line"
//! ```
//!
//! Anything else is refused with its line: a typing slip must not drop an entry unseen.

/// One `[[kind]]` table.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Where it begins, from 1.
    pub(crate) line: usize,
    values: Vec<(String, String)>,
}

impl Entry {
    /// The value of a key.
    ///
    /// # Errors
    /// The key is missing; the text says so, with the line of the entry.
    pub(crate) fn value(&self, key: &str) -> Result<&str, String> {
        let found = self.values.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).ok_or(format!("line {}: no `{key}`", self.line))
    }
}

/// All entries of the one kind that the file holds.
///
/// # Errors
/// A line that is neither blank, a comment, `[[kind]]` nor `key = "text"`.
pub(crate) fn parse(text: &str, kind: &str) -> Result<Vec<Entry>, String> {
    let header = format!("[[{kind}]]");
    let mut entries: Vec<Entry> = Vec::new();
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if content == header {
            entries.push(Entry { line, values: Vec::new() });
            continue;
        }
        let pair = content
            .split_once('=')
            .and_then(|(key, value)| Some((key.trim().to_string(), string(value.trim())?)));
        match (entries.last_mut(), pair) {
            (Some(entry), Some(pair)) => entry.values.push(pair),
            _ => return Err(format!("line {line}: neither {header} nor key = \"text\"")),
        }
    }
    Ok(entries)
}

/// A basic string, nothing behind it but a comment.
fn string(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('"')?.chars();
    let mut value = String::new();
    loop {
        match rest.next()? {
            '"' => break,
            '\\' => match rest.next()? {
                letter @ ('"' | '\\') => value.push(letter),
                _ => return None,
            },
            letter => value.push(letter),
        }
    }
    let behind = rest.as_str().trim_start();
    (behind.is_empty() || behind.starts_with('#')).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_with_their_values() {
        let text = "# a list\n[[lack]]\nname = \"netem\" # why\nreason = \"say \\\"no\\\"\"\n";
        let entries = parse(text, "lack").unwrap();
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].value("name"), Ok("netem"));
        assert_eq!(entries[0].value("reason"), Ok("say \"no\""));
        assert_eq!(entries[0].value("row"), Err("line 2: no `row`".to_string()));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_line() {
        for (text, line) in [
            ("name = \"before any entry\"", "line 1"),
            ("[[lack]]\nname = netem", "line 2"),
            ("[[lack]]\n\n[[lak]]", "line 3"),
            ("[[lack]]\nname = \"open", "line 2"),
        ] {
            assert!(parse(text, "lack").unwrap_err().starts_with(line), "{text}");
        }
    }
}

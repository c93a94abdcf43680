//! Where tests say which requirement they show: `// req 1.18 1.19, 1.22: purged on success`.

use super::row::{self, Number};
use crate::source::Line;

/// One number in one comment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// As written; a number that cannot be read is an error later, not silence.
    pub(crate) written: String,
    pub(crate) number: Option<Number>,
    pub(crate) line: usize,
    /// Whether it stands in test code. Elsewhere it shows nothing.
    pub(crate) test: bool,
}

/// All mentions of a file. The numbers end at the first word that is none.
pub(crate) fn mentions(lines: &[Line]) -> Vec<Mention> {
    let mut found = Vec::new();
    for (line, content) in (1..).zip(lines) {
        let Some(comment) = &content.comment else { continue };
        let Some(list) = comment.trim_start_matches(['/', '!', ' ']).strip_prefix("req ") else {
            continue;
        };
        let words = list.split([' ', ',']).filter(|word| !word.is_empty());
        for word in words.take_while(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
            let written = word.trim_end_matches(['.', ':', ';']).to_string();
            let number = row::number(&written);
            found.push(Mention { written, number, line, test: content.test });
            if word.ends_with(':') {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    fn written(text: &str) -> Vec<String> {
        let found = mentions(&source::lines("tests/tests/a.rs", text));
        found.into_iter().map(|mention| mention.written).collect()
    }

    #[test]
    fn several_numbers_stand_in_one_comment() {
        assert_eq!(written("// req 1.18 1.19, 1.22"), ["1.18", "1.19", "1.22"]);
        assert_eq!(written("a(); // req 0.1: 2 of them, and 3"), ["0.1"]);
        assert_eq!(written("/// req 0.1, 0.2."), ["0.1", "0.2"]);
    }

    #[test]
    fn other_comments_and_strings_mention_nothing() {
        assert_eq!(written("// req is short\n// see req 1.2\nlet a = \"// req 1.3\";"), [""; 0]);
    }

    #[test]
    fn what_looks_like_a_number_and_is_none_is_kept() {
        let found = mentions(&source::lines("core/src/a.rs", "// req 1.18-1.20"));
        assert_eq!((found[0].number, found[0].test), (None, false));
        assert_eq!(found[0].written, "1.18-1.20");
    }
}

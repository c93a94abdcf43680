//! A Rust source file, line by line: what is code, what is comment, and what is test.
//!
//! Enough of Rust's lexical rules that a path in a comment or a comment in a string is not taken
//! for the real thing; no more.

use std::path::Path;

/// One line of a file.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Code, with the contents of strings and comments left out.
    pub(crate) code: String,
    /// The text of a `//` comment, without its slashes.
    pub(crate) comment: Option<String>,
    /// Whether it is part of a test.
    pub(crate) test: bool,
}

/// The lines of a file; the first has number 1.
pub(crate) fn lines(path: &str, text: &str) -> Vec<Line> {
    let mut lines = split(text);
    mark_tests(&mut lines);
    if is_test_file(path) {
        lines.iter_mut().for_each(|line| line.test = true);
    }
    lines
}

/// Whether everything in the file is test code: a folder `tests` or `it`, or a file `tests.rs`.
fn is_test_file(path: &str) -> bool {
    let path = Path::new(path);
    path.ends_with("tests.rs")
        || path
            .components()
            .any(|part| ["tests", "it"].map(|n| n.as_ref()).contains(&part.as_os_str()))
}

/// Where the reader of characters stands.
enum In {
    Code,
    Line,
    Block(usize),
    Text,
    Raw(usize),
}

fn split(text: &str) -> Vec<Line> {
    let letters: Vec<char> = text.chars().collect();
    let mut lines = vec![Line::default()];
    let mut state = In::Code;
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let rest = &letters[at + 1..];
        let next = rest.first().copied().unwrap_or('\0');
        at += 1;
        if letter == '\n' {
            if matches!(state, In::Line) {
                state = In::Code;
            }
            lines.push(Line::default());
            continue;
        }
        let Some(line) = lines.last_mut() else { break };
        state = match state {
            In::Code => match (letter, next) {
                ('/', '/') => {
                    at += 1;
                    line.comment = Some(String::new());
                    In::Line
                }
                ('/', '*') => {
                    at += 1;
                    In::Block(1)
                }
                ('"', _) => opened(line),
                ('\'', _) => {
                    at += character(rest);
                    line.code.push(letter);
                    In::Code
                }
                _ => {
                    line.code.push(letter);
                    In::Code
                }
            },
            In::Line => {
                line.comment.get_or_insert_default().push(letter);
                In::Line
            }
            In::Block(depth) => match (letter, next) {
                ('/', '*') => {
                    at += 1;
                    In::Block(depth + 1)
                }
                ('*', '/') => {
                    at += 1;
                    if depth == 1 { In::Code } else { In::Block(depth - 1) }
                }
                _ => In::Block(depth),
            },
            In::Text => match (letter, next) {
                // A backslash at the end of a line leaves the line break to be seen.
                ('\\', after) => {
                    at += usize::from(after != '\n');
                    In::Text
                }
                ('"', _) => {
                    line.code.push('"');
                    In::Code
                }
                _ => In::Text,
            },
            In::Raw(hashes) => {
                if letter == '"' && rest.iter().take_while(|&&c| c == '#').count() >= hashes {
                    at += hashes;
                    line.code.push('"');
                    In::Code
                } else {
                    In::Raw(hashes)
                }
            }
        };
    }
    lines
}

/// A quote begins a string; an `r` with its hashes before it makes that a raw one.
fn opened(line: &mut Line) -> In {
    let before = line.code.trim_end_matches('#');
    let hashes = line.code.len() - before.len();
    let prefix = before.strip_suffix('r').map(|rest| rest.strip_suffix(['b', 'c']).unwrap_or(rest));
    let raw = prefix.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    line.code.push('"');
    if raw { In::Raw(hashes) } else { In::Text }
}

/// How far a character literal reaches behind its first quote; 0 for a lifetime.
fn character(rest: &[char]) -> usize {
    match rest {
        ['\\', _, more @ ..] => 3 + more.iter().take_while(|&&c| c != '\'').count(),
        [_, '\'', ..] => 2,
        _ => 0,
    }
}

/// Marks the item behind each `#[cfg(test)]`, and the whole file behind `#![cfg(test)]`.
fn mark_tests(lines: &mut [Line]) {
    let mut at = 0;
    while at < lines.len() {
        let code = lines[at].code.trim();
        let whole = code.starts_with("#![cfg(test");
        if !whole && !code.starts_with("#[cfg(test") && !code.starts_with("#[cfg(all(test") {
            at += 1;
            continue;
        }
        let end = if whole { lines.len() } else { item_end(lines, at) };
        lines[at..end].iter_mut().for_each(|line| line.test = true);
        at = end;
    }
}

/// The line behind an item whose attributes begin at `start`.
fn item_end(lines: &[Line], start: usize) -> usize {
    let mut depth = 0_i32;
    for (number, line) in lines.iter().enumerate().skip(start) {
        for letter in line.code.chars() {
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' => depth -= 1,
                '}' => {
                    depth -= 1;
                    if depth <= 0 {
                        return number + 1;
                    }
                }
                ';' if depth == 0 => return number + 1,
                _ => {}
            }
        }
    }
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        split(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_and_comments_are_no_code() {
        assert_eq!(code("let a = \"crate::x\"; // crate::y"), ["let a = \"\"; "]);
        assert_eq!(code("a /* crate::x /* deep */\n still */ b"), ["a ", " b"]);
        assert_eq!(code("r#\"a \" // b\n\"# c"), ["r#\"", "\" c"]);
        assert_eq!(code("\"over \\\n lines\" c"), ["\"", "\" c"]);
    }

    #[test]
    fn characters_and_lifetimes_open_no_string() {
        assert_eq!(code("'\"' x '\\'' y &'a z b'/'/ w"), ["' x ' y &'a z b'/ w"]);
    }

    #[test]
    fn a_comment_in_a_string_is_no_comment() {
        let lines = split("let a = \"// req 1.1\";\nlet b; // req 1.2\n/// req 1.3");
        let comments: Vec<_> = lines.iter().map(|line| line.comment.as_deref()).collect();
        assert_eq!(comments, [None, Some(" req 1.2"), Some("/ req 1.3")]);
    }

    fn tested(path: &str, text: &str) -> Vec<bool> {
        lines(path, text).iter().map(|line| line.test).collect()
    }

    #[test]
    fn only_the_item_behind_cfg_test_is_test() {
        let text = "a();\n#[cfg(test)]\nuse b::{c, d};\nfn e() {}\n#[cfg(test)]\n#[x]\nmod t {\n f {}\n}\ng();";
        let (n, y) = (false, true);
        assert_eq!(tested("core/src/a.rs", text), [n, y, y, n, y, y, y, y, y, n]);
        assert_eq!(tested("core/src/a.rs", "#[cfg(not(test))]\na();"), [n, n]);
        assert_eq!(tested("core/src/a.rs", "//! x\n#![cfg(test)]\na();"), [n, y, y]);
    }

    #[test]
    fn test_folders_and_test_files_are_test_throughout() {
        for path in ["tests/tests/a.rs", "core/tests/it/laws.rs", "core/src/monitor/tests.rs"] {
            assert_eq!(tested(path, "a();"), [true], "{path}");
        }
        assert_eq!(tested("xtask/src/test.rs", "a();"), [false]);
    }
}

//! `log`: whether what was added to a log since the last look has a line that matches.
//!
//! A room of its own, for whoever reads logs: [`scanner`] makes lines of bytes and knows no file,
//! [`patterns`] says which of them count, and [`follow`] reads a file from where it was left,
//! across rotation. [`main`] puts them together in a process of our own that can be killed.

pub mod follow;
pub mod patterns;
pub mod scanner;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use self::follow::{Limits, Place};
use self::patterns::Patterns;
use crate::config::look::CANNOT_LOOK;

/// So much of a line is shown.
const SHOWN: usize = 160;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// So many lines match.
    pub lines: u64,
    /// The first of them.
    pub first: String,
}

/// What the words of a look say.
struct Asked<'a> {
    place: &'a str,
    peek: bool,
    path: &'a Path,
    limits: Limits,
    patterns: Patterns,
}

/// Looks through the log that `arguments` say, as [`crate::config::look::log_argv`] has them behind the verb: exits 0 if
/// no line matches, 1 if one does, 75 if that cannot be told. Prints what it found.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = arguments.collect();
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let Some(asked) = words.as_deref().and_then(asked) else { return ExitCode::from(2) };
    match look(&asked) {
        Ok(Found { lines: 0, .. }) => ExitCode::SUCCESS,
        Ok(found) => {
            println!("{}", said(&found));
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("{error}");
            ExitCode::from(CANNOT_LOOK)
        }
    }
}

fn asked<'a>(words: &[&'a str]) -> Option<Asked<'a>> {
    let [place, peek, path, longest, cap, count, ref patterns @ ..] = *words else { return None };
    let (wanted, ignored) = patterns.split_at_checked(count.parse().ok()?)?;
    Some(Asked {
        place,
        peek: !peek.is_empty(),
        path: Path::new(path),
        limits: Limits { longest: longest.parse().ok()?, cap: cap.parse().ok()? },
        patterns: Patterns::new(wanted, ignored).ok()?,
    })
}

fn look(asked: &Asked<'_>) -> io::Result<Found> {
    let mut found = Found::default();
    let mut each = |line: &str| {
        if asked.patterns.matches(line) {
            if found.lines == 0 {
                found.first = line.to_owned();
            }
            found.lines += 1;
        }
    };
    if asked.place.is_empty() {
        follow::tail(asked.path, asked.limits, &mut each)?;
        return Ok(found);
    }
    let kept = Path::new(asked.place);
    let before = Place::read(kept);
    let after = follow::read(asked.path, before.as_ref(), asked.limits, &mut each)?;
    if !asked.peek && before.as_ref() != Some(&after) {
        after.write(kept)?;
    }
    Ok(found)
}

fn said(found: &Found) -> String {
    let mut first: String = found.first.chars().take(SHOWN).collect();
    if first.len() < found.first.len() {
        first.push('…');
    }
    match found.lines {
        1 => first,
        lines => format!("{first} (and {} more)", lines - 1),
    }
}

#[cfg(test)]
mod tests;

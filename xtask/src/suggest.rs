//! "Did you mean": the nearest of the words that would have been right.

use std::process::ExitCode;

/// Says what was wrong with a word of the command line; the exit status of a usage error.
pub(crate) fn usage<'a>(
    kind: &str,
    word: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> ExitCode {
    let list: Vec<&str> = known.clone().collect();
    let hint = nearest(word, known).map_or_else(String::new, |w| format!(" Did you mean `{w}`?"));
    eprintln!("xtask: unknown {kind} `{word}`.{hint} There are: {}.", list.join(", "));
    ExitCode::from(2)
}

fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, best) = known.map(|other| (distance(word, other), other)).min()?;
    (distance <= best.len().max(2) / 2).then_some(best)
}

/// Edits (insert, delete, replace a letter) that lead from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_verb() {
        let verbs = ["test", "requirements", "size", "bench"];
        assert_eq!(nearest("tset", verbs.into_iter()), Some("test"));
        assert_eq!(nearest("requirement", verbs.into_iter()), Some("requirements"));
        assert_eq!(nearest("siez", verbs.into_iter()), Some("size"));
    }

    #[test]
    fn a_word_like_none_finds_none() {
        assert_eq!(nearest("deploy", ["test", "size"].into_iter()), None);
    }
}

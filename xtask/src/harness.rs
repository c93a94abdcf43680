//! What `cargo test -- --show-output` prints, read line by line as it comes.
//!
//! The output of tests that passed is needed for their `skipped:` lines and for their rows of the
//! matrix of checks, and is otherwise noise, so it is read and not repeated.

use crate::lacks::Skip;

/// What a test puts before its rows of the matrix of checks.
const ROW: &str = "row: ";

/// What has been read so far.
#[derive(Debug, Default)]
pub(crate) struct Harness {
    /// Tests that passed, over all binaries.
    pub(crate) passed: u64,
    /// Tests that failed, by name.
    pub(crate) failed: Vec<String>,
    /// Tests that said they were skipped, and those the source ignores.
    pub(crate) skips: Vec<Skip>,
    /// Rows of the matrix of checks: kind, server, situation, verdict, time.
    pub(crate) rows: Vec<String>,
    muted: bool,
}

impl Harness {
    /// Reads one line; whether it is worth repeating.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let line = line.trim_end();
        if let Some(skip) = Skip::parse(line) {
            self.skip(skip);
            return true;
        }
        if let Some(row) = line.strip_prefix(ROW) {
            self.rows.push(row.to_string());
            return false;
        }
        if line == "successes:" {
            self.muted = true;
        } else if line == "failures:" || line.starts_with("test result: ") {
            self.muted = false;
        }
        if self.muted {
            return false;
        }
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += counted(counts, "passed").unwrap_or(0);
        } else if let Some((name, result)) = outcome(line) {
            if result == "FAILED" {
                self.failed.push(name.to_string());
            } else if let Some(why) = result.strip_prefix("ignored") {
                let why = why.trim_start_matches([',', ' ']);
                let why = if why.is_empty() { "marked #[ignore]" } else { why };
                self.skip(Skip { name: name.to_string(), why: why.to_string() });
            }
        }
        true
    }

    fn skip(&mut self, skip: Skip) {
        if !self.skips.contains(&skip) {
            self.skips.push(skip);
        }
    }
}

/// `test NAME ... RESULT`
fn outcome(line: &str) -> Option<(&str, &str)> {
    let (name, result) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    Some((name.strip_suffix(" - should panic").unwrap_or(name), result))
}

/// The number before a word, as in `ok. 12 passed; 0 failed`.
fn counted(text: &str, word: &str) -> Option<u64> {
    let (before, _) = text.split_once(&format!(" {word}"))?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "\
running 4 tests
test a ... ok
test b ... FAILED
test c ... ignored, netem
test d - should panic ... ok

successes:

---- a stdout ----
noise
row: tcp  redis  frozen  50 read no answer in 0.5s  501 ms
skipped: a: systemd: not running here
skipped: a: systemd: not running here

successes:
    a

failures:

---- b stdout ----
the reason

failures:
    b

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn results_are_counted_and_skips_gathered_once() {
        let mut harness = Harness::default();
        for line in RUN.lines() {
            harness.line(line);
        }
        assert_eq!((harness.passed, harness.failed), (2, vec!["b".to_string()]));
        let skips: Vec<_> = harness.skips.iter().map(|s| (&*s.name, &*s.why)).collect();
        assert_eq!(skips, [("c", "netem"), ("a", "systemd: not running here")]);
        assert_eq!(harness.rows, ["tcp  redis  frozen  50 read no answer in 0.5s  501 ms"]);
    }

    #[test]
    fn what_a_passing_test_printed_is_not_repeated_and_what_a_failing_one_printed_is() {
        let mut harness = Harness::default();
        let repeated: Vec<&str> = RUN.lines().filter(|line| harness.line(line)).collect();
        assert!(!repeated.contains(&"noise"));
        assert!(repeated.contains(&"the reason"));
        assert!(repeated.contains(&"skipped: a: systemd: not running here"));
        assert!(repeated.last().unwrap().starts_with("test result: FAILED"));
    }
}

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use super::follow::{self, Limits, Place};
use super::patterns::Patterns;
use super::scanner::Scanner;
use super::*;

const LIMITS: Limits = Limits { longest: 40, cap: 10_000 };

fn lines(longest: usize, pieces: &[&[u8]]) -> Vec<String> {
    let mut scanner = Scanner::new(longest, false);
    let mut lines = Vec::new();
    for piece in pieces {
        scanner.feed(piece, &mut |line| lines.push(line.to_owned()));
    }
    scanner.end(&mut |line| lines.push(line.to_owned()));
    lines
}

#[test]
fn lines_are_the_same_however_the_bytes_are_cut() {
    let text = b"one\ntwo\r\n\na line that is longer than it may be\n\xffx\nlast";
    let whole = lines(10, &[text]);
    assert_eq!(whole, ["one", "two", "", "a line tha", "\u{fffd}x", "last"]);
    for cut in 0..=text.len() {
        let (first, second) = text.split_at(cut);
        assert_eq!(lines(10, &[first, second]), whole, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = text.chunks(1).collect();
    assert_eq!(lines(10, &bytes), whole);
    let mut scanner = Scanner::new(10, true);
    scanner.feed(b"rest\nnew", &mut |_| panic!("no line is complete"));
    assert_eq!((scanner.pending(), scanner.is_skipping()), (3, false));
}

#[test]
fn no_line_makes_a_scanner_keep_more_than_its_longest() {
    let mut scanner = Scanner::new(16, false);
    let mut count = 0;
    for _ in 0..1000 {
        scanner.feed(&[b'x'; 1000], &mut |line| {
            assert_eq!(line.len(), 16);
            count += 1;
        });
        assert!(scanner.pending() <= 16);
    }
    assert_eq!(count, 1);
}

#[test]
fn a_line_counts_if_it_is_wanted_and_not_ignored() {
    let patterns = Patterns::new(&["ERROR", "^PANIC"], &["harmless"]).expect("patterns");
    assert!(patterns.matches("an ERROR"));
    assert!(!patterns.matches("a harmless ERROR") && !patterns.matches("error"));
    assert_eq!(patterns.first("PANIC: ERROR"), Some(0), "the first in their order");
    assert_eq!(patterns.first("PANIC"), Some(1));
    assert_eq!((patterns.first("x"), patterns.first("harmless PANIC ERROR")), (None, None));
    assert!(Patterns::new(&["("], &[]).is_err());
}

/// A log in a directory of its own, read again and again.
struct Bench {
    dir: tempfile::TempDir,
    place: Option<Place>,
    limits: Limits,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory"), place: None, limits: LIMITS }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn add(&self, text: &str) {
        let mut file = File::options().create(true).append(true).open(self.path("log"));
        file.as_mut().expect("a log").write_all(text.as_bytes()).expect("written");
    }

    /// What is new.
    fn look(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut each = |line: &str| lines.push(line.to_owned());
        let place = follow::read(&self.path("log"), self.place.as_ref(), self.limits, &mut each);
        let place = place.expect("a log");
        // As another process would find it.
        let kept = self.path("kept/place");
        place.write(&kept).expect("kept");
        assert_eq!(Place::read(&kept), Some(place.clone()));
        self.place = Some(place);
        lines
    }
}

#[test]
fn it_begins_at_the_end_and_goes_on_line_by_line() {
    let mut bench = Bench::new();
    bench.add("old\nhalf");
    assert_eq!(bench.look(), [""; 0]);
    bench.add(" a line\nnew\nbeg");
    assert_eq!(bench.look(), ["new"], "the end of an old line is old");
    assert_eq!(bench.look(), [""; 0]);
    bench.add("un\n");
    assert_eq!(bench.look(), ["begun"]);
    bench.add(&"x".repeat(100));
    assert_eq!(bench.look(), ["x".repeat(40)], "what is too long is not waited for");
    bench.add(&format!("{}\nshort\n", "x".repeat(100)));
    assert_eq!(bench.look(), ["short"], "and is told once");
}

#[test]
fn a_log_that_was_renamed_is_read_to_its_end_and_the_new_one_from_its_beginning() {
    let mut bench = Bench::new();
    bench.add("old\n");
    bench.look();
    bench.add("before\nno end");
    fs::rename(bench.path("log"), bench.path("log.1")).expect("renamed");
    assert_eq!(bench.look(), ["before"], "nobody has begun another yet");
    bench.add("after\n");
    assert_eq!(bench.look(), ["no end", "after"]);
    fs::rename(bench.path("log"), bench.path("log-20261130")).expect("renamed");
    bench.add("third\n");
    assert_eq!(bench.look(), ["third"]);
    fs::remove_file(bench.path("log")).expect("gone");
    fs::write(bench.path("log"), "fourth\n").expect("a log");
    assert_eq!(bench.look(), ["fourth"], "what it had is gone");
}

#[test]
fn a_log_that_was_copied_and_cut_short_is_read_in_both() {
    let mut bench = Bench::new();
    bench.add("old\nolder\n");
    bench.look();
    bench.add("before\n");
    fs::write(bench.path("log.2"), "another\nlog\nthat is longer\n").expect("an old one");
    fs::copy(bench.path("log"), bench.path("log.1")).expect("copied");
    File::options()
        .write(true)
        .open(bench.path("log"))
        .and_then(|log| log.set_len(0))
        .expect("cut");
    bench.add("after\n");
    assert_eq!(bench.look(), ["before", "after"]);
    // Cut short and grown past the place before anybody looked.
    fs::write(bench.path("log"), "quite another\nand more of it\n").expect("a log");
    assert_eq!(bench.look(), ["quite another", "and more of it"]);
    fs::write(bench.path("log"), "").expect("a log");
    assert_eq!(bench.look(), [""; 0]);
}

#[test]
fn a_log_that_was_written_anew_with_all_it_held_is_not_read_again() {
    let mut bench = Bench::new();
    bench.add("old\nolder\n");
    bench.look();
    fs::write(bench.path("fresh"), "old\nolder\nnew\n").expect("another");
    fs::rename(bench.path("fresh"), bench.path("log")).expect("in its place");
    assert_eq!(bench.look(), ["new"]);
    // Each of these logs begins alike: the one that was renamed is read to its end.
    bench.add("last\n");
    fs::rename(bench.path("log"), bench.path("log.1")).expect("renamed");
    bench.add("old\nolder\nnew\nfirst\n");
    assert_eq!(bench.look(), ["last", "old", "older", "new", "first"]);
}

#[test]
fn what_the_cap_leaves_is_read_the_next_time() {
    let mut bench = Bench::new();
    bench.add("old\n");
    bench.look();
    bench.limits = Limits { longest: 9, cap: 10 };
    let all: Vec<String> = (0..20).map(|number| format!("line {number:02}")).collect();
    bench.add(&(all.join("\n") + "\n"));
    fs::rename(bench.path("log"), bench.path("log.1")).expect("renamed");
    bench.add("new\n");
    let mut seen = Vec::new();
    for _ in 0..30 {
        seen.extend(bench.look());
    }
    assert_eq!(seen[..20], all);
    assert_eq!(seen[20..], ["new"]);
}

#[test]
fn what_is_no_log_is_an_error_and_no_place_is_a_first_look() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut none = |_: &str| panic!("no line");
    assert!(follow::read(dir.path(), None, LIMITS, &mut none).is_err());
    assert!(follow::read(&dir.path().join("log"), None, LIMITS, &mut none).is_err());
    let path = dir.path().join("place");
    for text in ["", "2 1 1 1 0 0", "1 2 3", "1 a b c d e", "1 1 1 1 1 99999999999"] {
        fs::write(&path, text).expect("a file");
        assert_eq!(Place::read(&path), None, "{text}");
    }
}

#[test]
fn the_words_of_a_look_are_read_as_they_are_made() {
    use crate::config::look::{LogWanted, PEEK_WORD, PLACE_WORD, log_argv};
    let dir = tempfile::tempdir().expect("a directory");
    let (log, place) = (dir.path().join("log"), dir.path().join("places/web,log"));
    let path = log.to_str().expect("UTF-8");
    let (patterns, ignore) = (vec!["ERROR"], vec!["none$$"]);
    let mut argv = log_argv(&LogWanted { path, patterns, ignore, longest: 99, cap: 5000 });
    argv[PLACE_WORD] = place.display().to_string();
    let look = |argv: &[String]| {
        let words: Vec<&str> = argv.iter().skip(2).map(String::as_str).collect();
        super::look(&asked(&words).expect("a question"))
    };
    assert!(look(&argv).is_err(), "no log yet");
    fs::write(&log, "ERROR: old\n").expect("a log");
    assert_eq!(look(&argv).expect("a look").lines, 0);
    fs::write(&log, "ERROR: old\nERROR: new\nERROR\nfine\n").expect("a log");
    argv[PEEK_WORD] = "peek".to_owned();
    for _ in 0..2 {
        let found = look(&argv).expect("a look");
        assert_eq!((found.lines, said(&found)), (2, "ERROR: new (and 1 more)".to_owned()));
    }
    argv[PEEK_WORD].clear();
    assert_eq!(look(&argv).expect("a look").lines, 2);
    assert_eq!(look(&argv).expect("a look").lines, 0);
    argv[PLACE_WORD].clear();
    assert_eq!(look(&argv).expect("a look").lines, 3, "the end of it, by whoever asks once");
}

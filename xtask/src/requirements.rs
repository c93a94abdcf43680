//! `cargo xtask requirements`: what of the source documents is shown by a test, and what is open.

mod mention;
mod row;

use std::collections::BTreeMap;
use std::process::ExitCode;

use self::row::{Number, Row};
use crate::suggest;
use crate::workspace::{self, MEMBERS, show};

const ROWS: &str = "tests/requirements.md";
const DECLARED: &str = "tests/requirements.toml";

const HELP: &str = "\
cargo xtask requirements [--open]

Lists the rows of tests/requirements.md: those a test shows (`// req N.M`), those declared
different in tests/requirements.toml, those that ask nothing, and those still open.
  --open   the open rows only

Exits 1 if a comment or a declaration names a row that does not exist.
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let open_only = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--open"] => true,
        ["-h" | "--help"] => {
            show(HELP);
            return ExitCode::SUCCESS;
        }
        [first, ..] => return suggest::usage("option", first, ["--open"].into_iter()),
    };
    let survey = match Survey::take() {
        Ok(survey) => survey,
        Err(error) => {
            eprintln!("xtask: {error}");
            return ExitCode::FAILURE;
        }
    };
    let text = if open_only { survey.list(State::Open) } else { survey.text() };
    show(&text);
    survey.errors.iter().for_each(|error| eprintln!("xtask: {error}"));
    if survey.errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where a row stands. A row that is declared different may be shown too: the test then shows
/// what we do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Shown,
    Different,
    Context,
    Open,
}

const STATES: [(State, &str); 4] = [
    (State::Shown, "shown"),
    (State::Different, "different"),
    (State::Context, "context"),
    (State::Open, "open"),
];

/// The rows with what was found about them.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    documents: Vec<(u8, String)>,
    rows: Vec<Row>,
    different: BTreeMap<Number, String>,
    /// The first place that shows a row.
    shown: BTreeMap<Number, String>,
    /// Comments that name no row, or stand where nothing is tested.
    pub(crate) errors: Vec<String>,
}

impl Survey {
    /// Reads the documents and all sources.
    ///
    /// # Errors
    /// A file cannot be read, or a declaration names no row.
    pub(crate) fn take() -> Result<Survey, String> {
        let text = workspace::read(ROWS)?;
        let mut survey = Survey {
            documents: row::documents(&text),
            rows: row::rows(&text),
            ..Survey::default()
        };
        let declared = row::different(&workspace::read(DECLARED)?, &survey.rows);
        survey.different.extend(declared.map_err(|error| format!("{DECLARED}: {error}"))?);
        for path in MEMBERS.iter().flat_map(|member| workspace::rust_files(member)) {
            let path = workspace::relative(&path);
            survey.scan(&path, &workspace::read(&path)?);
        }
        Ok(survey)
    }

    fn scan(&mut self, path: &str, text: &str) {
        for mention in mention::mentions(&crate::source::lines(path, text)) {
            let place = format!("{path}:{}", mention.line);
            let known = |number: &Number| self.rows.iter().any(|row| row.number == *number);
            match mention.number.filter(known) {
                None => self.errors.push(format!("{place}: there is no row {}", mention.written)),
                Some(_) if !mention.test => {
                    let written = mention.written;
                    self.errors.push(format!("{place}: {written} is named outside test code"));
                }
                Some(number) => {
                    self.shown.entry(number).or_insert(place);
                }
            }
        }
    }

    fn state(&self, row: &Row) -> State {
        if self.different.contains_key(&row.number) {
            State::Different
        } else if self.shown.contains_key(&row.number) {
            State::Shown
        } else if row.context {
            State::Context
        } else {
            State::Open
        }
    }

    fn count(&self, state: State, document: Option<u8>) -> usize {
        let rows = self.rows.iter().filter(|row| document.is_none_or(|d| row.number.0 == d));
        rows.filter(|row| self.state(row) == state).count()
    }

    /// One line of counts, for the summary of the test run.
    pub(crate) fn counts(&self) -> String {
        let counts = STATES.map(|(state, name)| format!("{} {name}", self.count(state, None)));
        counts.join(", ")
    }

    fn text(&self) -> String {
        let mut text = format!("{:<36}{:>6}", "DOCUMENT", "ROWS");
        text += &STATES.map(|(_, name)| format!("{:>11}", name.to_uppercase())).concat();
        text.push('\n');
        let documents =
            self.documents.iter().map(|(number, title)| (Some(*number), title.as_str()));
        for (number, title) in documents.chain([(None, "all")]) {
            let counts = STATES.map(|(state, _)| self.count(state, number));
            text += &format!("{title:<36}{:>6}", counts.iter().sum::<usize>());
            text += &counts.map(|count| format!("{count:>11}")).concat();
            text.push('\n');
        }
        for (state, name) in STATES {
            text += &format!("\n{}\n{}", name.to_uppercase(), self.list(state));
        }
        text
    }

    fn list(&self, state: State) -> String {
        let mut text = String::new();
        for row in self.rows.iter().filter(|row| self.state(row) == state) {
            let (document, number) = row.number;
            text += &format!("  {:<6} {}\n", format!("{document}.{number}"), row.text);
            for more in [self.different.get(&row.number), self.shown.get(&row.number)] {
                text += &more.map_or_else(String::new, |more| format!("         {more}\n"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survey() -> Survey {
        let text = "## 0. zero\n| 0.1 | a |\n| 0.2 | b *(context, asks nothing)* |\n| 0.3 | c |\n";
        let rows = row::rows(text);
        Survey { documents: row::documents(text), rows, ..Survey::default() }
    }

    #[test]
    fn a_test_shows_its_row_and_the_first_place_is_kept() {
        let mut survey = survey();
        survey.scan("core/tests/it/a.rs", "\n// req 0.1\n");
        survey.scan("core/tests/it/b.rs", "// req 0.1\n");
        assert_eq!(survey.counts(), "1 shown, 0 different, 1 context, 1 open");
        assert!(survey.list(State::Shown).contains("core/tests/it/a.rs:2"));
        assert!(survey.list(State::Open).contains("0.3"));
        assert!(survey.errors.is_empty());
    }

    #[test]
    fn a_row_that_is_different_stays_so_when_a_test_shows_what_we_do_instead() {
        let mut survey = survey();
        survey.different.insert((0, 3), "R1".to_string());
        survey.scan("core/tests/it/a.rs", "// req 0.3\n");
        assert_eq!(survey.counts(), "0 shown, 1 different, 1 context, 1 open");
        assert!(survey.list(State::Different).contains("core/tests/it/a.rs:1"));
    }

    #[test]
    fn a_row_that_does_not_exist_and_a_mention_outside_tests_are_errors() {
        let mut survey = survey();
        survey.scan("core/tests/it/a.rs", "// req 0.4\n");
        survey.scan("core/src/a.rs", "// req 0.1\n");
        assert_eq!(
            survey.errors,
            [
                "core/tests/it/a.rs:1: there is no row 0.4",
                "core/src/a.rs:1: 0.1 is named outside test code",
            ]
        );
    }

    #[test]
    fn the_workspace_has_all_its_rows() {
        let survey = Survey::take().unwrap();
        assert_eq!(survey.rows.len(), 356);
        assert_eq!(survey.errors, [""; 0]);
    }
}

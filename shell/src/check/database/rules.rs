//! Which row of the table of errors is met: the first that matches.

use regex_lite::Regex;

use crate::config::database::{On, Row, State};

/// The rows, ready to be compared with.
pub(super) struct Rules(Vec<Option<Regex>>);

impl Rules {
    /// Of these rows, which are handed to every question again.
    pub(super) fn new(rows: &[Row]) -> Self {
        let pattern = |row: &Row| match &row.on {
            // One that is none was refused with its configuration.
            On::Log(pattern) => Regex::new(pattern).ok(),
            On::Error(_) | On::Timeout(_) => None,
        };
        Self(rows.iter().map(pattern).collect())
    }

    /// The row that a line of the log meets.
    pub(super) fn line(&self, line: &[u8]) -> Option<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.iter().position(|row| row.as_ref().is_some_and(|row| row.is_match(&text)))
    }
}

/// The row that the error `code` meets while the connection is in `state`.
pub(super) fn error(rows: &[Row], state: State, code: &str) -> Option<usize> {
    position(rows, state, |on| match on {
        // The class of an SQLSTATE is its first two signs.
        On::Error(known) => **known == *code || code.len() == 5 && code.get(..2) == Some(known),
        _ => false,
    })
}

/// The row that so many time-outs in a row meet.
pub(super) fn timeouts(rows: &[Row], state: State, count: u32) -> Option<usize> {
    position(rows, state, |on| *on == On::Timeout(count))
}

fn position(rows: &[Row], state: State, meets: impl Fn(&On) -> bool) -> Option<usize> {
    let fits = |row: &Row| row.state == State::Any || row.state == state;
    rows.iter().position(|row| fits(row) && meets(&row.on))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::database::{Action, NewState};

    fn row(on: On, state: State) -> Row {
        let (action, new_state) = (Action::Nothing, NewState::Same);
        Row { on, state, action, new_state, message: None, run: None }
    }

    fn of_error(code: &str) -> Row {
        row(On::Error(code.into()), State::Any)
    }

    fn of_log(pattern: &str) -> Row {
        row(On::Log(pattern.into()), State::Any)
    }

    #[test]
    fn the_first_row_that_matches_wins() {
        let rows = [of_error("53"), of_error("53100"), of_error("57P01")];
        let met = |code| error(&rows, State::Online, code);
        assert_eq!((met("53100"), met("57P01"), met("57P02")), (Some(0), Some(2), None));
        let rows = [of_error("53100"), of_error("53"), of_error("28")];
        let met = |code| error(&rows, State::Online, code);
        assert_eq!((met("53100"), met("53200"), met("28000")), (Some(0), Some(1), Some(2)));
        // Oracle's numbers have no classes, and no beginnings.
        assert_eq!((met("28"), met("280"), met("2")), (Some(2), None, None));
    }

    /// The source's example of a table in the wrong order: ORA-65 has to stand before ORA-6.
    #[test]
    fn a_line_of_the_log_takes_the_first_pattern_that_is_found_in_it() {
        let rules = Rules::new(&[of_log("ORA-6"), of_error("1"), of_log("ORA-65"), of_log("^x$")]);
        assert_eq!(rules.line(b"ORA-65123: x"), Some(0));
        assert_eq!(rules.line(b"x"), Some(3));
        assert_eq!(rules.line(b"\xffx"), None);
        let rules = Rules::new(&[of_log("ORA-65"), of_log("ORA-6")]);
        assert_eq!((rules.line(b"ORA-65123"), rules.line(b"ORA-6")), (Some(0), Some(1)));
    }

    #[test]
    fn the_state_of_the_connection_is_a_condition() {
        let connecting = row(On::Error("18".into()), State::Connecting);
        let rows = [connecting, row(On::Timeout(3), State::Any)];
        assert_eq!(error(&rows, State::Connecting, "18"), Some(0));
        assert_eq!(error(&rows, State::Online, "18"), None);
        assert_eq!(timeouts(&rows, State::Online, 3), Some(1));
        assert_eq!(timeouts(&rows, State::Online, 2), None);
    }
}

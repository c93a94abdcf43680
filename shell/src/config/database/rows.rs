//! `[[service.NAME.error]]`: the table of errors.

use regex_lite::Regex;

use super::super::report::Findings;
use super::super::schema::Key;
use super::super::source::Place;
use super::super::tree::{Node, Value};
use super::super::{reader::Reader, values};
use super::{Action, NewState, On, Row, Speaks, State};

/// Most rows of a service, those of its preset among them.
///
/// # Source
/// The custom action file of Sun Cluster's Oracle monitor has as many.
const MOST_ROWS: usize = 1024;

/// The rows of a service, each with the place of what it matches.
#[derive(Clone, Debug, Default)]
pub(in crate::config) struct Rows(Vec<(Row, Place)>);

impl Rows {
    /// Reads the rows of a service.
    pub(in crate::config) fn read(reader: &Reader<'_>, out: &mut Findings) -> Self {
        let Some(entry) = reader.entry("error") else { return Self::default() };
        let path = format!("{}.error", reader.path);
        let Value::List(nodes) = &entry.node.value else {
            let message = format!("{path}: rows are wanted");
            out.error(entry.place, message).label(format!("write [[{path}]]"));
            return Self::default();
        };
        if let Some(one_more) = nodes.get(MOST_ROWS) {
            let message = format!("{path}: {} rows are too many", nodes.len());
            out.error(one_more.place, message).label(format!("at most {MOST_ROWS} in one service"));
            return Self::default();
        }
        Self(nodes.iter().filter_map(|node| row(node, &path, out)).collect())
    }

    /// Whether there are none.
    pub(in crate::config) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rows, for a database that is spoken with like this.
    pub(super) fn fit(&self, speaks: &Speaks, out: &mut Findings) -> Option<Vec<Row>> {
        let fits = |(row, place): &(Row, Place), out: &mut Findings| {
            let On::Error(code) = &row.on else { return Some(row.clone()) };
            let (on, remedy) = match speaks {
                Speaks::Oracle(_) => (number(code), "the number of an ORA error, as in 28"),
                Speaks::Postgres(_) => {
                    (state(code), "an SQLSTATE, as in \"53100\", or its class \"53\"")
                }
            };
            let Some(on) = on else {
                out.error(*place, format!("match: `{code}` is no error here")).label(remedy);
                return None;
            };
            Some(Row { on: On::Error(on), ..row.clone() })
        };
        let rows: Vec<Option<Row>> = self.0.iter().map(|row| fits(row, out)).collect();
        rows.into_iter().collect()
    }
}

/// An SQLSTATE or its class.
fn state(text: &str) -> Option<Box<str>> {
    let right = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    (matches!(text.len(), 2 | 5) && text.bytes().all(right)).then(|| text.into())
}

/// The number of an ORA error, without leading zeros.
fn number(text: &str) -> Option<Box<str>> {
    let digits = text.strip_prefix("ORA-").unwrap_or(text);
    let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u32>());
    number?.ok().map(|number| number.to_string().into())
}

fn row(node: &Node, path: &str, out: &mut Findings) -> Option<(Row, Place)> {
    let table = values::table("error", node, out)?;
    let keys: &[&[Key]] = &[super::ROW];
    let reader = Reader::new(table, node.place, path.to_owned(), keys, out);
    let on = reader.read("on", values::one_of(&["error", "log", "timeout"]), out);
    let state = reader.read("state", state_of, out).unwrap_or(State::Any);
    let action = reader.read("action", action_of, out).unwrap_or(Action::Nothing);
    let new_state = reader.read("new_state", new_state_of, out).unwrap_or(NewState::Same);
    let message = reader.read("message", values::word, out).map(Into::into);
    let run = reader.read("run", values::argv, out);
    let Some(entry) = reader.entry("match") else {
        out.error(reader.header, format!("{path}: what it matches is not said"));
        return None;
    };
    if reader.has("on") && on.is_none() {
        return None;
    }
    let on = match on {
        Some(1) => log_pattern(&entry.node, out)?,
        Some(2) => ordinal(&entry.node, out)?,
        _ => error_code(&entry.node, out)?,
    };
    if matches!(on, On::Log(_)) && reader.has("state") {
        let message = "state: a line of the log has nothing to do with our connection";
        out.error(reader.place("state"), message).label("leave it out");
    }
    let row = Row { on, state, action, new_state, message, run };
    Some((row, entry.node.place))
}

fn error_code(node: &Node, out: &mut Findings) -> Option<On> {
    let code = match &node.value {
        Value::Integer(number @ 0..=99_999) => number.to_string().into(),
        _ => values::word("match", node, out)?.into(),
    };
    Some(On::Error(code))
}

fn log_pattern(node: &Node, out: &mut Findings) -> Option<On> {
    let pattern = values::word("match", node, out)?;
    match Regex::new(pattern) {
        Ok(_) => Some(On::Log(pattern.into())),
        Err(error) => {
            let message = format!("match: no regular expression: {error}");
            out.error(node.place, message)
                .label("a bracket or dot that is meant has a \\ before it");
            None
        }
    }
}

fn ordinal(node: &Node, out: &mut Findings) -> Option<On> {
    let number = match &node.value {
        Value::Text(text) => text.parse::<i64>().ok(),
        Value::Integer(number) => Some(*number),
        _ => None,
    };
    match number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0) {
        Some(number) => Some(On::Timeout(number)),
        None => {
            let message =
                "match: with on = \"timeout\" the number of time-outs in a row, from 1 on";
            out.error(node.place, message);
            None
        }
    }
}

/// The documents' letters are as good as the words.
fn state_of(key: &str, node: &Node, out: &mut Findings) -> Option<State> {
    let words = &["any", "connecting", "online", "disconnecting", "*", "co", "on", "di"];
    let place = values::one_of(words)(key, node, out)?;
    let states = [State::Any, State::Connecting, State::Online, State::Disconnecting];
    states.get(place % states.len()).copied()
}

fn new_state_of(key: &str, node: &Node, out: &mut Findings) -> Option<NewState> {
    let words = &["same", "disconnecting", "connecting", "*", "di", "co"];
    let place = values::one_of(words)(key, node, out)?;
    let states = [NewState::Same, NewState::Disconnecting, NewState::Connecting];
    states.get(place % states.len()).copied()
}

fn action_of(key: &str, node: &Node, out: &mut Findings) -> Option<Action> {
    let words = &["switch", "restart", "stop", "none"];
    let place = values::one_of(words)(key, node, out)?;
    [Action::Switch, Action::Restart, Action::Stop, Action::Nothing].get(place).copied()
}

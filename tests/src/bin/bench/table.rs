//! The table: one row a figure, a column a program, and what was to be reached.

use crate::peer::Program;
use crate::stats::{median, spread};
use crate::why::Why;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One program's values of one figure.
#[derive(Clone, Debug)]
pub(crate) enum Series {
    /// By round; a round that failed is missing. And what else the reader should know.
    Measured { rounds: Vec<Option<f64>>, note: String },
    /// Not at all, and why.
    Missing(Why),
}

/// Every program's values of one figure.
pub(crate) type Columns = BTreeMap<Program, Series>;

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Micros,
    Millis,
    Nanos,
    EachSecond,
    Bytes,
    Mib,
    /// A share of what is due, of an interval, of another value.
    Share,
}

impl Unit {
    fn write(self, value: f64) -> String {
        match self {
            Unit::Micros | Unit::Millis | Unit::Nanos if value >= 1000.0 => thousands(value),
            Unit::Micros | Unit::Nanos => format!("{value:.1}"),
            Unit::Millis | Unit::Mib => format!("{value:.2}"),
            Unit::EachSecond if value < 100.0 => format!("{value:.1}"),
            Unit::EachSecond | Unit::Bytes => thousands(value),
            Unit::Share => format!("{value:.4}"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Unit::Micros => " µs",
            Unit::Millis => " ms",
            Unit::Nanos => " ns",
            Unit::EachSecond => "/s",
            Unit::Bytes => " B",
            Unit::Mib => " MiB",
            Unit::Share => "",
        }
    }
}

/// What our value is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    /// Itself.
    Value,
    /// Its ratio to this program's, paired within the round.
    Versus(Program),
}

/// Where it has to lie.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// One thing to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) of: Of,
    pub(crate) bound: Bound,
}

/// One line of the table.
pub(crate) struct Row {
    pub(crate) figure: String,
    pub(crate) unit: Unit,
    pub(crate) columns: Columns,
    pub(crate) must: Vec<Goal>,
    pub(crate) aim: Vec<Goal>,
}

/// `at_most(1.25, Of::Versus(Program::Bare))`, read as it stands.
pub(crate) fn at_most(limit: f64, of: Of) -> Goal {
    Goal { of, bound: Bound::AtMost(limit) }
}

/// The same from below.
pub(crate) fn at_least(limit: f64, of: Of) -> Goal {
    Goal { of, bound: Bound::AtLeast(limit) }
}

impl Row {
    /// Our values, or their ratios to another's, of the rounds in which both were measured.
    fn values(&self, of: Of) -> Vec<f64> {
        let rounds = |program| match self.columns.get(&program) {
            Some(Series::Measured { rounds, .. }) => rounds.as_slice(),
            _ => &[],
        };
        let ours = rounds(Program::Ours).iter();
        match of {
            Of::Value => ours.copied().flatten().collect(),
            Of::Versus(other) => {
                let pairs = ours.zip(rounds(other)).filter_map(|(a, b)| (*a).zip(*b));
                pairs.filter(|(_, b)| *b != 0.0).map(|(a, b)| a / b).collect()
            }
        }
    }

    fn reached(&self, goal: &Goal) -> Option<bool> {
        let value = median(&self.values(goal.of))?;
        Some(match goal.bound {
            Bound::AtMost(limit) => value <= limit,
            Bound::AtLeast(limit) => value >= limit,
        })
    }

    fn all_reached(&self, goals: &[Goal]) -> Option<bool> {
        let each: Option<Vec<bool>> = goals.iter().map(|goal| self.reached(goal)).collect();
        each.map(|each| each.into_iter().all(|reached| reached))
    }

    /// `aim`, `must` or `missed`; nothing where a part was not measured.
    fn verdict(&self) -> &'static str {
        match (self.all_reached(&self.must), self.all_reached(&self.aim)) {
            _ if self.must.is_empty() => "–",
            (None, _) => "not measured",
            (Some(false), _) => "**missed**",
            (Some(true), Some(true)) => "aim",
            (Some(true), _) => "must",
        }
    }

    fn ratios(&self) -> String {
        let mut others: Vec<Program> = Vec::new();
        for goal in self.must.iter().chain(&self.aim) {
            if let Of::Versus(other) = goal.of {
                if !others.contains(&other) {
                    others.push(other);
                }
            }
        }
        let ratio = |other: &Program| {
            let values = self.values(Of::Versus(*other));
            let (middle, (low, high)) = median(&values).zip(spread(&values))?;
            Some(format!("{middle:.2} × {} ({low:.2}–{high:.2})", other.name()))
        };
        let ratios: Vec<String> = others.iter().filter_map(ratio).collect();
        if ratios.is_empty() { "–".to_owned() } else { ratios.join(", ") }
    }

    fn goals(&self, goals: &[Goal]) -> String {
        let goal = |goal: &Goal| {
            let (sign, limit) = match goal.bound {
                Bound::AtMost(limit) => ("≤", limit),
                Bound::AtLeast(limit) => ("≥", limit),
            };
            match goal.of {
                Of::Value => format!("{sign} {limit}{}", self.unit.name()),
                Of::Versus(other) => format!("{sign} {limit} × {}", other.name()),
            }
        };
        let goals: Vec<String> = goals.iter().map(goal).collect();
        if goals.is_empty() { "–".to_owned() } else { goals.join(", ") }
    }

    fn cell(&self, program: Program) -> String {
        let (rounds, note) = match self.columns.get(&program) {
            None => return "not asked".to_owned(),
            Some(Series::Missing(why)) => return why.to_string().replace('|', "/"),
            Some(Series::Measured { rounds, note }) => (rounds, note),
        };
        let values: Vec<f64> = rounds.iter().copied().flatten().collect();
        let Some((middle, (low, high))) = median(&values).zip(spread(&values)) else {
            return "no round succeeded".to_owned();
        };
        let mut text = self.unit.write(middle);
        if values.len() > 1 {
            let _ = write!(text, " ({}–{})", self.unit.write(low), self.unit.write(high));
        }
        text.push_str(self.unit.name());
        if values.len() < rounds.len() {
            let _ = write!(text, ", {} of {} rounds", values.len(), rounds.len());
        }
        if !note.is_empty() {
            let _ = write!(text, "; {note}");
        }
        text
    }
}

/// The whole table, in Markdown.
pub(crate) fn render(rows: &[Row]) -> String {
    let names: Vec<&str> = Program::ALL.iter().map(|program| program.name()).collect();
    let mut text =
        format!("| figure | {} | ratio, paired | must | aim | verdict |\n", names.join(" | "));
    text.push_str(&"|---".repeat(names.len() + 5));
    text.push_str("|\n");
    for row in rows {
        let cells: Vec<String> = Program::ALL.iter().map(|program| row.cell(*program)).collect();
        let (must, aim) = (row.goals(&row.must), row.goals(&row.aim));
        let (figure, ratios, verdict) = (&row.figure, row.ratios(), row.verdict());
        let cells = cells.join(" | ");
        let _ = writeln!(text, "| {figure} | {cells} | {ratios} | {must} | {aim} | {verdict} |");
    }
    text
}

/// A whole number, its thousands apart: `12,345`.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: &[f64], bare: &[f64]) -> Row {
        let series = |values: &[f64]| Series::Measured {
            rounds: values.iter().copied().map(Some).collect(),
            note: String::new(),
        };
        Row {
            figure: "f".to_owned(),
            unit: Unit::Micros,
            columns: [(Program::Ours, series(ours)), (Program::Bare, series(bare))].into(),
            must: vec![at_most(1.25, Of::Versus(Program::Bare))],
            aim: vec![at_most(1.1, Of::Versus(Program::Bare))],
        }
    }

    #[test]
    fn ratios_are_paired_within_the_round() {
        let row = row(&[10.0, 40.0, 30.0], &[10.0, 20.0, 30.0]);
        assert_eq!(row.values(Of::Versus(Program::Bare)), [1.0, 2.0, 1.0]);
        assert_eq!(row.verdict(), "aim");
    }

    #[test]
    fn a_verdict_is_the_best_that_was_reached() {
        assert_eq!(row(&[12.0], &[10.0]).verdict(), "must");
        assert_eq!(row(&[13.0], &[10.0]).verdict(), "**missed**");
        assert_eq!(row(&[], &[10.0]).verdict(), "not measured");
    }

    #[test]
    fn what_could_not_be_measured_says_why() {
        let mut row = row(&[12.0], &[10.0]);
        row.columns.insert(Program::Monit, Series::Missing(Why::new("not installed")));
        assert_eq!(row.cell(Program::Monit), "not installed");
        assert_eq!(row.cell(Program::Haproxy), "not asked");
        assert_eq!(row.cell(Program::Ours), "12.0 µs");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(thousands(47_500.4), "47,500");
        assert_eq!(thousands(-999.0), "-999");
    }
}

//! What is wrong with a configuration, all of it, each message with its place.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::{Value, json};

use super::snippet::{Snippet, harmless};
use super::source::{Place, Source, Sources};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The configuration is refused.
    Error,
    /// It is possible, but hardly meant.
    Warning,
}

impl Level {
    /// The level's word on screens.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One message about one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The warning's name, for `giveover help NAME` and `allow`.
    pub name: Option<&'static str>,
    /// What it is about.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// Stands behind the carets: the likely remedy. May be empty.
    pub label: String,
    /// Further lines, each a remedy.
    pub notes: Vec<String>,
    pub(super) nature: Nature,
}

/// How a message relates to text that could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// Not at all.
    Plain,
    /// It is about such text, which ends at this byte.
    Syntax(usize),
    /// Something is missing or unknown, which such text elsewhere may explain.
    OfAbsence,
}

impl Finding {
    /// Puts `label` behind the carets.
    pub(super) fn label(&mut self, label: impl Into<String>) -> &mut Self {
        self.label = label.into();
        self
    }

    /// Adds a line below.
    pub(super) fn note(&mut self, note: impl Into<String>) -> &mut Self {
        self.notes.push(note.into());
        self
    }

    /// Marks it as explained by a syntax error, should there be one.
    pub(super) fn of_absence(&mut self) -> &mut Self {
        self.nature = Nature::OfAbsence;
        self
    }

    /// Marks it as a syntax error.
    pub(super) fn of_syntax(&mut self) -> &mut Self {
        self.of_syntax_until(0)
    }

    /// Marks it as a syntax error that spoils the text up to byte `until`.
    pub(super) fn of_syntax_until(&mut self, until: usize) -> &mut Self {
        self.nature = Nature::Syntax(until);
        self
    }
}

/// Messages as they are found, in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    /// Adds an error about `place`.
    pub(super) fn error(&mut self, place: Place, message: impl Into<String>) -> &mut Finding {
        self.push(Level::Error, None, place, message.into())
    }

    /// Adds the warning `name` about `place`.
    pub(super) fn warning(
        &mut self,
        name: &'static str,
        place: Place,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.push(Level::Warning, Some(name), place, message.into())
    }

    fn push(
        &mut self,
        level: Level,
        name: Option<&'static str>,
        place: Place,
        message: String,
    ) -> &mut Finding {
        self.0.push(Finding {
            level,
            name,
            place,
            message,
            label: String::new(),
            notes: Vec::new(),
            nature: Nature::Plain,
        });
        let last = self.0.len() - 1;
        &mut self.0[last] // pushed just now
    }

    /// How much was found.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Takes out what only follows from text that could not be parsed: a value on the same line
    /// is half read, and what is missing may be what was not understood.
    pub(super) fn forgive(&mut self, sources: &Sources) {
        let line = |place| sources.position(place).map_or(0, |(line, _)| line);
        let syntax = self.0.iter().filter_map(|finding| broken(finding, &line));
        let broken: HashSet<(u32, usize)> =
            syntax.flat_map(|(source, lines)| lines.map(move |line| (source, line))).collect();
        let spoilt = |place: Place| broken.contains(&(place.source(), line(place)));
        self.0.retain(|finding| match finding.nature {
            Nature::Syntax(_) => true,
            Nature::OfAbsence => broken.is_empty(),
            Nature::Plain => broken.is_empty() || !spoilt(finding.place),
        });
    }

    /// Errors and warnings apart, as reports about `sources`.
    pub(super) fn into_reports(self, sources: &Arc<Sources>) -> (Report, Report) {
        let (errors, warnings) =
            self.0.into_iter().partition(|finding| finding.level == Level::Error);
        (Report::new(sources, errors), Report::new(sources, warnings))
    }
}

/// The lines a syntax error spoils.
fn broken(
    finding: &Finding,
    line: &impl Fn(Place) -> usize,
) -> Option<(u32, RangeInclusive<usize>)> {
    let Nature::Syntax(until) = finding.nature else { return None };
    let source = finding.place.source();
    let first = line(finding.place);
    let last = line(Place::new(source, until..until));
    Some((source, first..=last.max(first)))
}

/// Messages in the order of the files, with the texts they are about.
///
/// Displayed as INTERFACES has it: `FILE:LINE:COLUMN: error: …`, the line, carets under the key or
/// value, the likely remedy. Every block ends in a line feed; [`Report::summary`] is the line
/// for the end.
#[derive(Clone, Debug)]
pub struct Report {
    sources: Arc<Sources>,
    findings: Vec<Finding>,
}

impl Report {
    /// `findings` about `sources`, sorted, each once.
    pub(super) fn new(sources: &Arc<Sources>, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| finding.place);
        let mut seen = HashSet::new();
        findings.retain(|finding| seen.insert((finding.place, finding.message.clone())));
        Self { sources: Arc::clone(sources), findings }
    }

    /// A report of nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self { sources: Arc::default(), findings: Vec::new() }
    }

    /// The messages.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The texts they are about.
    #[must_use]
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The same, to make another report about them.
    pub(super) const fn shared_sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// `2 errors`, `1 warning`, `1 error, 2 warnings`; empty if there is nothing to say.
    #[must_use]
    pub fn summary(&self) -> String {
        let count = |level| self.findings.iter().filter(|finding| finding.level == level).count();
        [Level::Error, Level::Warning]
            .into_iter()
            .filter(|level| count(*level) > 0)
            .map(|level| many(count(level), level.word()))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The first message in one line, for a log.
    #[must_use]
    pub fn first(&self) -> Option<String> {
        let finding = self.findings.first()?;
        Some(format!("{}: {}", self.sources.words(finding.place), finding.message))
    }

    /// Puts the messages of `other`, which is about the same texts, among these.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let findings = self.findings.iter().chain(&other.findings).cloned().collect();
        Self::new(&self.sources, findings)
    }

    /// One object for each message.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.findings.iter().map(|finding| self.finding_json(finding)).collect()
    }

    fn finding_json(&self, finding: &Finding) -> Value {
        let position = self.sources.position(finding.place);
        json!({
            "level": finding.level.word(),
            "name": finding.name,
            "file": self.sources.of(finding.place).map(Source::name),
            "line": position.map(|(line, _)| line),
            "column": position.map(|(_, column)| column),
            "message": finding.message,
            "hint": finding.label,
            "notes": finding.notes,
        })
    }

    fn write(&self, finding: &Finding, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{name}:")?;
        if let Some((line, column)) = self.sources.position(finding.place) {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}: ", finding.level.word())?;
        if let Some(name) = finding.name {
            write!(f, "{name}: ")?;
        }
        writeln!(f, "{}", harmless(&finding.message))?;
        let snippet = Snippet::of(&self.sources, finding.place);
        let gutter = snippet.as_ref().map_or(0, Snippet::gutter);
        match &snippet {
            Some(snippet) => snippet.write(&harmless(&finding.label), f)?,
            None if finding.label.is_empty() => {}
            None => writeln!(f, "  = {}", harmless(&finding.label))?,
        }
        let mut notes = finding.notes.iter().map(|note| harmless(note));
        notes.try_for_each(|note| writeln!(f, "  {:gutter$} = {note}", ""))
    }

    /// The same with the files' short names, for a screen that has already named them.
    #[must_use]
    pub fn short(&self) -> impl fmt::Display + '_ {
        Short(self)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.iter().try_for_each(|finding| {
            let name = self.sources.of(finding.place).map_or("?", Source::name);
            self.write(finding, name, f)
        })
    }
}

impl std::error::Error for Report {}

struct Short<'a>(&'a Report);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.findings.iter().try_for_each(|finding| {
            let name = self.0.sources.of(finding.place).map_or("?", Source::short);
            self.0.write(finding, name, f)
        })
    }
}

/// `1 service`, `2 services`.
#[must_use]
pub fn many(count: usize, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}

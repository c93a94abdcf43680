//! The steps of a run, their results and times, and the closing line.

use std::time::{Duration, Instant};

use crate::lacks::{self, Lacks, Skip};
use crate::step::Step;

/// Everything a run has come to.
#[derive(Debug)]
pub(crate) struct Summary {
    lacks: Lacks,
    /// A skip that is not on the list of lacks is a failure.
    strict: bool,
    total: usize,
    steps: Vec<(Step, Duration)>,
}

impl Summary {
    pub(crate) fn new(lacks: Lacks, strict: bool, total: usize) -> Summary {
        Summary { lacks, strict, total, steps: Vec::new() }
    }

    /// Runs a step and keeps what it came to.
    pub(crate) fn step(&mut self, name: &'static str, body: impl FnOnce(&mut Step)) {
        println!("\n==> {}/{} {name}", self.steps.len() + 1, self.total);
        let begun = Instant::now();
        let mut step = Step::new(name);
        body(&mut step);
        self.judge_skips(&mut step);
        let time = begun.elapsed();
        println!("<== {name}: {}, {}", result(&step), seconds(time));
        self.steps.push((step, time));
    }

    fn judge_skips(&self, step: &mut Step) {
        for skip in step.skips.clone().iter().filter(|_| self.strict) {
            if !self.lacks.allow(skip) {
                let Skip { name, why } = skip;
                let list = lacks::FILE;
                step.fail(format!("{name} was skipped, and {list} has no such reason: {why}"));
            }
        }
    }

    /// Whether any step failed.
    pub(crate) fn failed(&self) -> bool {
        self.steps.iter().any(|(step, _)| !step.failures.is_empty())
    }

    /// The table, what failed, what was skipped, and the closing line.
    pub(crate) fn text(&self) -> String {
        let width = self.steps.iter().map(|(step, _)| step.name.len()).max().unwrap_or(0).max(4);
        let mut text = format!("\n{:<width$}  {:>8}  RESULT\n", "STEP", "TIME");
        for (step, time) in &self.steps {
            text += &format!("{:<width$}  {:>8}  {}\n", step.name, seconds(*time), result(step));
        }
        let total = self.steps.iter().map(|(_, time)| *time).sum();
        text += &format!("{:<width$}  {:>8}\n", "", seconds(total));
        for (step, _) in self.steps.iter().filter(|(step, _)| !step.failures.is_empty()) {
            text += &format!("\nFAILED {} (alone: cargo xtask test {})\n", step.name, step.name);
            text += &step.failures.iter().map(|why| format!("    {why}\n")).collect::<String>();
        }
        text += &self.skips();
        let count =
            |wanted: fn(&Step) -> bool| self.steps.iter().filter(|(s, _)| wanted(s)).count();
        let failed = count(|step| !step.failures.is_empty());
        let skipped = count(|step| step.failures.is_empty() && step.skipped);
        let passed = self.steps.len() - failed - skipped;
        text + &format!("\n{passed} passed, {failed} failed, {skipped} skipped\n")
    }

    fn skips(&self) -> String {
        let skips: Vec<_> = self.steps.iter().flat_map(|(step, _)| &step.skips).collect();
        let mut text = String::new();
        if !skips.is_empty() {
            text += "\nskipped\n";
            text +=
                &skips.iter().map(|s| format!("    {}: {}\n", s.name, s.why)).collect::<String>();
        }
        text += &format!("\nCI lacks, and may skip for ({})\n", lacks::FILE);
        let lacks = self.lacks.iter().map(|(name, why)| format!("    {name}: {why}\n"));
        text + &lacks.collect::<String>()
    }
}

fn result(step: &Step) -> String {
    let note = step.note.as_ref().map_or_else(String::new, |note| format!(", {note}"));
    let skips = step.skips.len();
    match (step.failures.is_empty(), step.skipped) {
        (false, _) => format!("FAILED{note}"),
        (true, true) => format!("skipped: {}", step.skips[0].why),
        (true, false) if skips > 0 => format!("ok{note}, {skips} skipped"),
        (true, false) => format!("ok{note}"),
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(strict: bool) -> Summary {
        let mut summary = Summary::new(Lacks::default(), strict, 4);
        summary.step("format", |_| {});
        summary.step("host-tests", |step| step.fail("test a_late_answer_is_nothing".to_string()));
        summary.step("real-servers", |step| step.skip("nginx is missing"));
        summary.step("docs", |step| {
            step.skips.push(Skip { name: "one".to_string(), why: "another day".to_string() });
        });
        summary
    }

    #[test]
    fn the_closing_line_counts_steps_and_stands_alone() {
        let text = run(false).text();
        assert_eq!(text.lines().last(), Some("2 passed, 1 failed, 1 skipped"));
        assert!(text.contains("    test a_late_answer_is_nothing\n"));
        assert!(text.contains("ok, 1 skipped"));
    }

    #[test]
    fn in_ci_a_skip_for_a_reason_of_its_own_fails() {
        let text = run(true).text();
        assert_eq!(text.lines().last(), Some("1 passed, 3 failed, 0 skipped"));
        assert!(text.contains("real-servers was skipped"));
    }

    #[test]
    fn a_failure_is_not_forgotten_by_later_steps() {
        let summary = run(false);
        assert!(summary.failed());
        assert_eq!(summary.steps.len(), 4);
    }
}

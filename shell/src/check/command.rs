//! `command`: a program whose exit status says how the service is.

use std::collections::VecDeque;
use std::sync::Arc;

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use nix::errno::Errno;
use rustc_hash::FxHashMap;

use crate::check::{Answer, ProbeId};
use crate::config::dollar::Values;
use crate::config::look::Looks;
use crate::config::plan::{CommandPlan, ExitMeaning, ExitTable, Weights};
use crate::reactor::{
    BadProgram, End, Environment, Exit, Keep, Order, Program, Reactor, Room, Run, Runner, Stuck,
    Token,
};

/// A command check, ready to run: made once for each target, run in every cycle.
#[derive(Clone, Debug)]
pub struct Command {
    program: Program,
    keep: Keep,
    meaning: Arc<Meaning>,
}

/// What the end of a command means.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meaning {
    exit: ExitTable,
    /// What it weighs when it cannot be run; `None`: it cannot be measured.
    missing: Option<Weight>,
    /// What a failure weighs where the table does not say.
    weight: Weight,
    /// One that is still there has not only kept us from asking again: it has failed.
    hangs: bool,
    /// It only reads what a service has written: that the file does not answer says nothing of who
    /// wrote it.
    reads: bool,
}

impl Command {
    /// A check of kind `command`, asking about what `values` say.
    ///
    /// # Errors
    /// See [`BadProgram`].
    pub fn new(
        plan: &CommandPlan,
        weights: &Weights,
        values: &Values<'_>,
        environment: &Environment,
    ) -> Result<Self, BadProgram> {
        let meaning = Meaning {
            exit: plan.exit.clone(),
            missing: plan.missing,
            weight: weights.exit,
            hangs: matches!(plan.looks, Looks::Path | Looks::List),
            reads: plan.looks == Looks::Log,
        };
        let program = Program::expanded(&plan.argv, values, environment)?;
        Ok(Self { program, keep: Keep::Line, meaning: Arc::new(meaning) })
    }

    /// The last part of an `xfnts` probe: `fsinfo -server HOST:PORT`. Whatever goes wrong with
    /// it weighs 50, and what it prints is thrown away.
    ///
    /// # Errors
    /// See [`BadProgram`].
    pub fn fsinfo(
        fsinfo: &str,
        server: &str,
        values: &Values<'_>,
        environment: &Environment,
    ) -> Result<Self, BadProgram> {
        let half = Weight::HALF;
        let meaning = Meaning {
            exit: ExitTable::Plain,
            missing: Some(half),
            weight: half,
            hangs: false,
            reads: false,
        };
        // The words are fixed: what looks like a name in them is none.
        let environment = environment.with(&values.environment())?;
        let program = Program::new(&[fsinfo, "-server", server], &environment)?;
        Ok(Self { program, keep: Keep::Nothing, meaning: Arc::new(meaning) })
    }

    /// The command as it stands in messages.
    #[must_use]
    pub fn words(&self) -> String {
        let words = self.program.argv().iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Meaning {
    fn result(&self, check: u8, end: End) -> ProbeResult {
        let cause = |code| Cause::of_check(check, Phase::Exit, code);
        match end {
            End::Exit(Some(Exit::Status(status))) => self.status(status, cause(status.into())),
            End::Exit(Some(exit @ Exit::Signal(_))) => {
                ProbeResult::Failed(self.weight, cause(exit.code()))
            }
            End::Exit(None) => ProbeResult::CannotMeasure(cause(Cause::UNKNOWN)),
            End::TimedOut if self.reads => ProbeResult::CannotMeasure(cause(Cause::TIMED_OUT)),
            End::TimedOut => ProbeResult::Failed(self.weight, cause(Cause::TIMED_OUT)),
            End::NotRun(error @ crate::reactor::SpawnError::CannotRun(_)) => match self.missing {
                Some(weight) => ProbeResult::Failed(weight, cause(error.code())),
                None => ProbeResult::CannotMeasure(cause(error.code())),
            },
            End::NotRun(error) => ProbeResult::CannotMeasure(cause(error.code())),
            End::Cancelled => ProbeResult::Void,
        }
    }

    /// What it means that the last run is still there.
    fn still_there(&self, check: u8) -> ProbeResult {
        if self.hangs {
            return self.result(check, End::TimedOut);
        }
        let busy = Cause::ERRNO + Errno::EBUSY as u16;
        ProbeResult::CannotMeasure(Cause::of_check(check, Phase::Exit, busy))
    }

    fn status(&self, status: u8, cause: Cause) -> ProbeResult {
        let fails = |weight| ProbeResult::Failed(weight, cause);
        let usual = if status == 0 { ProbeResult::Healthy } else { fails(self.weight) };
        match &self.exit {
            ExitTable::Plain => usual,
            ExitTable::Weight => match (status, Weight::new(status)) {
                (0, _) => ProbeResult::Healthy,
                (_, Some(weight)) => fails(weight),
                (IMMEDIATE, None) => ProbeResult::Immediate(cause),
                (_, None) => fails(Weight::COMPLETE),
            },
            ExitTable::Plugin => match status {
                0 => ProbeResult::Healthy,
                1 => fails(Weight::HALF),
                2 => fails(Weight::COMPLETE),
                _ => ProbeResult::CannotMeasure(cause),
            },
            ExitTable::Listed(rows) => {
                match rows.iter().find(|(listed, _)| *listed == status).map(|(_, meaning)| meaning)
                {
                    None => usual,
                    Some(ExitMeaning::Healthy) => ProbeResult::Healthy,
                    Some(ExitMeaning::Weighs(weight)) => fails(*weight),
                    Some(ExitMeaning::Immediate) => ProbeResult::Immediate(cause),
                    Some(ExitMeaning::Unmeasured) => ProbeResult::CannotMeasure(cause),
                }
            }
        }
    }
}

/// `SCDS_PROBE_IMMEDIATE_FAILOVER`.
const IMMEDIATE: u8 = 201;

/// An answer, and what the command had to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The answer.
    pub answer: Answer,
    /// The first line of the command's output.
    pub line: Option<String>,
}

/// Runs command checks. Every probe that is started is answered exactly once.
///
/// Of each check and target one instance at most is ever there. While one that could not be
/// killed is left, the check cannot be measured.
pub struct Commands {
    runner: Runner<Probe>,
    /// The last run of each check and target.
    last: FxHashMap<Place, Run>,
    answers: VecDeque<Told>,
}

type Place = (u32, u8, u8);

#[derive(Clone)]
struct Probe {
    id: ProbeId,
    meaning: Arc<Meaning>,
}

impl Default for Commands {
    fn default() -> Self {
        Self::new()
    }
}

impl Commands {
    /// None running.
    #[must_use]
    pub fn new() -> Self {
        Self {
            runner: Runner::new(Room::Command),
            last: FxHashMap::default(),
            answers: VecDeque::new(),
        }
    }

    /// Begins a probe, which is answered within `timeout`.
    pub fn start(
        &mut self,
        reactor: &mut Reactor,
        id: ProbeId,
        command: &mut Command,
        timeout: Span,
        now: Instant,
    ) {
        let place = (id.service, id.check, id.target);
        if self.last.get(&place).is_some_and(|run| self.runner.is_there(*run)) {
            let result = command.meaning.still_there(id.check);
            let answer = Answer { id, result, elapsed_ms: 0, shown: 0 };
            self.answers.push_back(Told { answer, line: None });
            return;
        }
        let probe = Probe { id, meaning: Arc::clone(&command.meaning) };
        let until = now.after(timeout);
        let order =
            Order { program: &mut command.program, until, keep: command.keep, leave: false };
        match self.runner.start(reactor, probe, order, now) {
            Some(run) => self.last.insert(place, run),
            None => self.last.remove(&place),
        };
        self.collect(now);
    }

    /// A source of [`Room::Command`] is ready.
    pub fn ready(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        self.runner.ready(reactor, token, now);
        self.collect(now);
    }

    /// A timer of [`Room::Command`] is due.
    pub fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        self.runner.due(reactor, token, now);
        self.collect(now);
    }

    /// The next answer.
    pub fn answer(&mut self) -> Option<Told> {
        self.answers.pop_front()
    }

    /// Ends every probe under way. Each is answered: void.
    pub fn void(&mut self, reactor: &mut Reactor, now: Instant) {
        self.runner.cancel_all(reactor, now);
        self.collect(now);
    }

    /// The next probe whose processes cannot be ended, said once for each: to be said aloud.
    pub fn stuck(&mut self) -> Option<Stuck<ProbeId>> {
        let Stuck { key, pid, refused } = self.runner.stuck()?;
        Some(Stuck { key: key.id, pid, refused })
    }

    /// True if no process of any probe is there.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.runner.is_idle()
    }

    fn collect(&mut self, now: Instant) {
        while let Some(done) = self.runner.done() {
            let Probe { id, ref meaning } = done.key;
            let result = meaning.result(id.check, done.end);
            let elapsed_ms = u32::try_from(now.since(done.began)).unwrap_or(u32::MAX);
            let answer = Answer { id, result, elapsed_ms, shown: 0 };
            self.answers.push_back(Told { answer, line: done.line() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reactor::SpawnError;

    fn meaning(exit: ExitTable, missing: Option<Weight>) -> Meaning {
        Meaning { exit, missing, weight: Weight::clamped(70), hangs: false, reads: false }
    }

    /// 0 healthy, 201 immediate, -1 cannot be measured, -2 void, else the weight.
    fn number(result: ProbeResult) -> i32 {
        match result {
            ProbeResult::Healthy => 0,
            ProbeResult::Failed(weight, _) => weight.value().into(),
            ProbeResult::Immediate(_) => 201,
            ProbeResult::CannotMeasure(_) => -1,
            ProbeResult::Void => -2,
        }
    }

    #[test]
    fn every_convention_reads_its_statuses() {
        let listed = ExitTable::Listed(vec![
            (0, ExitMeaning::Weighs(Weight::LEAST)),
            (1, ExitMeaning::Healthy),
            (50, ExitMeaning::Weighs(Weight::HALF)),
            (75, ExitMeaning::Unmeasured),
            (99, ExitMeaning::Immediate),
        ]);
        for (exit, expected) in [
            (ExitTable::Plain, [0, 70, 70, 70, 70, 70, 70, 70]),
            (ExitTable::Weight, [0, 1, 2, 50, 75, 99, 201, 100]),
            (ExitTable::Plugin, [0, 50, 100, -1, -1, -1, -1, -1]),
            (listed, [1, 0, 70, 50, -1, 201, 70, 70]),
        ] {
            let meaning = meaning(exit.clone(), None);
            let statuses = [0, 1, 2, 50, 75, 99, 201, 255];
            let got = statuses.map(|s| number(meaning.result(3, End::Exit(Some(Exit::Status(s))))));
            assert_eq!(got, expected, "{exit:?}");
        }
    }

    #[test]
    fn what_is_still_there_keeps_a_command_from_being_asked_and_fails_a_path() {
        let command = meaning(ExitTable::Plain, None);
        assert_eq!(number(command.still_there(0)), -1);
        let path = Meaning { hangs: true, ..command.clone() };
        assert_eq!(number(path.still_there(0)), 70);
        let log = Meaning { reads: true, ..command };
        assert_eq!(number(log.result(0, End::TimedOut)), -1, "who wrote it may be well");
    }

    #[test]
    fn what_is_no_exit_is_told_apart() {
        let plain = meaning(ExitTable::Plugin, None);
        let preset = meaning(ExitTable::Plugin, Some(Weight::HALF));
        for (end, without, with) in [
            (End::Exit(Some(Exit::Signal(9))), 70, 70),
            (End::Exit(None), -1, -1),
            (End::TimedOut, 70, 70),
            (End::NotRun(SpawnError::CannotRun(Errno::ENOENT)), -1, 50),
            (End::NotRun(SpawnError::Lack(Errno::EMFILE)), -1, -1),
            (End::Cancelled, -2, -2),
        ] {
            assert_eq!(number(plain.result(0, end)), without, "{end:?}");
            assert_eq!(number(preset.result(0, end)), with, "{end:?}");
        }
        let late = ProbeResult::Failed(
            Weight::clamped(70),
            Cause::of_check(4, Phase::Exit, Cause::TIMED_OUT),
        );
        assert_eq!(plain.result(4, End::TimedOut), late);
    }
}

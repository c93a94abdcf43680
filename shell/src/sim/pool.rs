//! Scenarios of pools, played against the same machine the daemon has.

use std::fmt::Write as _;

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::ladder::{Checks, Combine, Ladder, Round, Step};
use giveover_core::pool::{Action, Drain, Event, Face, NoneLeft, Pool, Setup, Start, Ticket, Why};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use serde_json::{Map, Value, json};

use super::render::{input, time};
use super::timeline::PoolLane;
use crate::config::scenario::pool::{Finds, Found, PoolInput, PoolScenario, PoolStep};

/// A scenario of a pool and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolPlayed {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: Vec<PoolTold>,
    /// As it is drawn.
    pub lane: PoolLane,
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolTold {
    /// When it was.
    pub at: Instant,
    /// The line of the file it begins on.
    pub line: usize,
    /// What happened, as it is written.
    pub input: Value,
    /// What was done since the step before, and when.
    pub done: Vec<(Instant, String)>,
    /// What is so after it: keys of `expect` with their values.
    pub so: Vec<(&'static str, Value)>,
    /// Whether anything was expected of it.
    pub expected: bool,
    /// What came out otherwise: key, expected, came.
    pub differences: Vec<(&'static str, Value, Value)>,
}

/// Trusted servers are asked this often.
const TRUSTED: Span = Span::from_secs(10);
/// Between two steps no more happens, so that a file cannot make us play for ever.
const MOST: u32 = 1_000_000;
/// Nor is more written down of it.
const MOST_DONE: usize = 10_000;

const CAUSE: Cause = Cause::of_check(0, Phase::Connect, 111);

/// Plays a scenario from its first step to its last.
#[must_use]
pub(super) fn play(scenario: &PoolScenario) -> PoolPlayed {
    let name = scenario.name.clone();
    let Some(mut player) = Player::new(scenario) else {
        // it was found possible when it was read
        return PoolPlayed { name, steps: Vec::new(), lane: PoolLane::default() };
    };
    let steps = scenario.steps.iter().map(|step| player.step(step)).collect();
    PoolPlayed { name, steps, lane: player.lane }
}

/// A cycle under way.
struct Cycle {
    ticket: Ticket,
    round: Round,
    /// Answers on their way: when, of which check, what.
    coming: Vec<(Instant, u8, ProbeResult)>,
}

struct Player<'s> {
    scenario: &'s PoolScenario,
    rungs: Vec<u8>,
    pool: Pool,
    finds: Vec<Vec<Finds>>,
    link: bool,
    trusted: bool,
    ask_trusted_at: Instant,
    cycles: Vec<Option<Cycle>>,
    not_evaluated: Vec<Vec<usize>>,
    done: Vec<(Instant, String)>,
    cut: Vec<usize>,
    lane: PoolLane,
}

impl<'s> Player<'s> {
    fn new(scenario: &'s PoolScenario) -> Option<Self> {
        let begin = Instant::default();
        let count = scenario.members.len();
        let mut player = Self {
            scenario,
            rungs: (0..scenario.ladder.len().min(32)).map(|rung| rung as u8).collect(),
            pool: Pool::new(scenario.settings, &scenario.setups, begin).ok()?,
            finds: vec![vec![Finds::OK; scenario.ladder.len()]; count],
            link: true,
            trusted: true,
            ask_trusted_at: begin,
            cycles: (0..count).map(|_| None).collect(),
            not_evaluated: vec![Vec::new(); count],
            done: Vec::new(),
            cut: Vec::new(),
            lane: PoolLane::new(
                &scenario.name,
                scenario.settings.min_members,
                scenario.members.iter().map(|name| name.as_str().into()),
            ),
        };
        player.feed(Event::Begin, begin);
        player.done.clear(); // every face, once
        Some(player)
    }

    fn step(&mut self, step: &PoolStep) -> PoolTold {
        let mut happened = 0;
        while let Some(due) = self.due().filter(|due| *due <= step.at) {
            self.happen(due);
            happened += 1;
            if happened == MOST {
                break;
            }
        }
        self.take(&step.input, step.at);
        let so = self.so();
        let wrong = step.expect.iter().filter_map(|(key, wanted)| {
            let came = so.iter().find(|(known, _)| known == key).map(|(_, it)| it.clone());
            let came = came.unwrap_or_default();
            (!agrees(wanted, &came)).then(|| (*key, wanted.clone(), came))
        });
        let differences = wrong.collect();
        self.cut.clear();
        PoolTold {
            at: step.at,
            line: step.line,
            input: step.written.clone(),
            done: std::mem::take(&mut self.done),
            so,
            expected: !step.expect.is_empty(),
            differences,
        }
    }

    /// When something happens next.
    fn due(&self) -> Option<Instant> {
        let coming =
            self.cycles.iter().flatten().flat_map(|it| it.coming.iter().map(|(at, ..)| *at));
        let trusted = self.scenario.settings.trusted.then_some(self.ask_trusted_at);
        self.pool.poll_timeout().into_iter().chain(coming).chain(trusted).min()
    }

    fn happen(&mut self, now: Instant) {
        if self.scenario.settings.trusted && self.ask_trusted_at <= now {
            self.ask_trusted_at = now.after(TRUSTED);
            self.feed(Event::Trusted { answering: self.trusted && self.link }, now);
        }
        for member in 0..self.cycles.len() {
            let Some(cycle) = self.cycles.get_mut(member).and_then(Option::as_mut) else {
                continue;
            };
            let place = cycle.coming.iter().position(|(at, ..)| *at <= now);
            let Some(place) = place else { continue };
            let (_, check, result) = cycle.coming.remove(place);
            let ladder = ladder(&self.rungs);
            let step = cycle.round.answer(&ladder, check, result);
            self.follow(member, step, now);
        }
        if self.pool.poll_timeout().is_some_and(|due| due <= now) {
            self.feed(Event::Timeout, now);
        }
    }

    fn take(&mut self, input: &PoolInput, now: Instant) {
        match input {
            PoolInput::Tick => {}
            PoolInput::Check(all) => {
                for (member, check, finds) in all {
                    let known = self.finds.get_mut(*member).and_then(|it| it.get_mut(*check));
                    if let Some(known) = known {
                        *known = *finds;
                    }
                }
            }
            PoolInput::Agent(all) => {
                for (member, load, failed) in all {
                    let member = *member as u8;
                    self.feed(Event::Agent { member, load: *load, failed: *failed }, now);
                }
            }
            PoolInput::Deaf => self.feed(Event::Deaf, now),
            PoolInput::Elsewhere(all) => {
                for (member, failed) in all {
                    if self.scenario.whole_server {
                        let member = *member as u8;
                        self.feed(Event::Elsewhere { member, failed: *failed }, now);
                    }
                }
            }
            PoolInput::Trusted(answer) => self.trusted = *answer,
            PoolInput::Link(up) => self.link = *up,
            PoolInput::Drain { member, length, cut_after } => {
                let until = length.map(|length| now.after(length));
                let cut_at = cut_after.map(|after| now.after(after));
                self.feed(Event::Drain { member: *member as u8, until, cut_at }, now);
            }
            PoolInput::Enable(member) => self.feed(Event::Enable { member: *member as u8 }, now),
            PoolInput::Restart => self.restart(now),
        }
    }

    /// The monitor is begun again with what it knew.
    fn restart(&mut self, now: Instant) {
        let setup = |member: &giveover_core::pool::Member| Setup {
            backup: member.is_backup(),
            start: match member.is_unfit() || member.is_down_by_agent() {
                true => Start::Out,
                false => Start::In,
            },
            drain: member.drained().map(|drain| Drain { has_cut: false, ..drain }),
            elsewhere: member.is_down_elsewhere(),
        };
        let setups: Vec<Setup> = self.pool.members().iter().map(setup).collect();
        let Ok(pool) = Pool::new(self.scenario.settings, &setups, now) else { return };
        self.pool = pool;
        self.cycles.iter_mut().for_each(|cycle| *cycle = None);
        let before = self.done.len();
        self.feed(Event::Begin, now);
        self.done.truncate(before);
    }

    fn feed(&mut self, event: Event, now: Instant) {
        for action in self.pool.handle(event, now) {
            self.lane.saw(&action, now);
            match action {
                Action::Probe { member, ticket } => self.begin_cycle(member.into(), ticket, now),
                Action::Face { member, face } => {
                    let why = why_word(face).map(|why| format!(": {why}")).unwrap_or_default();
                    self.say(now, &format!("{} {}{why}", self.name(member), face.word()));
                }
                Action::Cut { member } => {
                    self.cut.push(member.into());
                    self.say(now, &format!("cut {}", self.name(member)));
                }
                Action::DrainEnded { member } => {
                    self.say(now, &format!("{} drain ended", self.name(member)));
                }
                Action::Fallback(why) => self.say(now, &format!("fallback {}", fallback_word(why))),
                Action::Frozen(why) => {
                    self.say(now, if why.is_some() { "frozen" } else { "thawed" })
                }
                Action::AskTrusted => {
                    self.say(now, "asks trusted servers");
                    self.ask_trusted_at = now;
                }
                _ => {}
            }
        }
    }

    fn name(&self, member: u8) -> String {
        self.scenario.members.get(usize::from(member)).cloned().unwrap_or_default()
    }

    fn say(&mut self, now: Instant, text: &str) {
        if self.done.len() < MOST_DONE {
            self.done.push((now, text.to_owned()));
        }
    }

    fn begin_cycle(&mut self, member: usize, ticket: Ticket, now: Instant) {
        let due = Checks::first(self.rungs.len() as u8);
        let (round, step) = Round::begin(&ladder(&self.rungs), due);
        if let Some(cycle) = self.cycles.get_mut(member) {
            *cycle = Some(Cycle { ticket, round, coming: Vec::new() });
        }
        self.follow(member, step, now);
    }

    fn follow(&mut self, member: usize, step: Step, now: Instant) {
        for check in step.begin.iter() {
            let finds = self.finds.get(member).and_then(|it| it.get(usize::from(check)));
            let Finds { what, after } = finds.copied().unwrap_or(Finds::OK);
            let failed = ProbeResult::Failed(Weight::COMPLETE, CAUSE);
            let result = match what {
                _ if !self.link => failed,
                Found::Ok => ProbeResult::Healthy,
                Found::Fails => failed,
                Found::Immediate => ProbeResult::Immediate(CAUSE),
                Found::Unmeasured => ProbeResult::CannotMeasure(CAUSE),
                Found::Void => ProbeResult::Void,
            };
            if let Some(Some(cycle)) = self.cycles.get_mut(member) {
                cycle.coming.push((now.after(after), check, result));
            }
        }
        if let Some(verdict) = step.verdict {
            let Some(cycle) = self.cycles.get_mut(member).and_then(Option::take) else { return };
            let ladder = ladder(&self.rungs);
            let passed =
                self.rungs.iter().filter(|rung| cycle.round.not_evaluated(&ladder, **rung));
            let passed: Vec<usize> = passed.map(|rung| usize::from(*rung)).collect();
            if let Some(known) = self.not_evaluated.get_mut(member) {
                *known = passed;
            }
            let event =
                Event::Probed { member: member as u8, ticket: cycle.ticket, result: verdict };
            self.feed(event, now);
        }
    }

    /// What is so now.
    fn so(&self) -> Vec<(&'static str, Value)> {
        let members = || self.scenario.members.iter().zip(self.pool.members());
        let with = |word: &str| -> Value {
            let names = members().filter(|(_, it)| it.face().word() == word);
            names.map(|(name, _)| json!(name)).collect()
        };
        let each = |value: &dyn Fn(usize, &giveover_core::pool::Member) -> Option<Value>| -> Value {
            let all = members().enumerate();
            let all = all.filter_map(|(at, (name, it))| Some((name.clone(), value(at, it)?)));
            Value::Object(all.collect::<Map<String, Value>>())
        };
        let kept = members().filter(|(_, it)| it.is_kept()).map(|(name, _)| json!(name));
        let cut = self.cut.iter().filter_map(|at| self.scenario.members.get(*at));
        let rungs = |at: usize| -> Value {
            let passed = self.not_evaluated.get(at).into_iter().flatten();
            passed.filter_map(|rung| self.scenario.ladder.get(*rung)).map(|it| json!(it)).collect()
        };
        vec![
            ("in", with("in")),
            ("out", with("out")),
            ("standby", with("standby")),
            ("busy", with("busy")),
            ("drained", with("drained")),
            ("kept", kept.collect()),
            ("cut", cut.map(|name| json!(name)).collect()),
            ("fallback", json!(fallback_word(self.pool.none_left()))),
            ("frozen", json!(self.pool.frozen().is_some())),
            ("health", each(&|_, it| Some(json!(it.health(self.pool.settings()))))),
            ("why", each(&|_, it| why_word(it.face()).map(|why| json!(why)))),
            ("not_evaluated", each(&|at, _| Some(rungs(at)))),
            ("late", each(&|_, it| Some(json!(it.late())))),
        ]
    }
}

/// What is expected of some members is expected of these alone.
fn agrees(wanted: &Value, came: &Value) -> bool {
    match (wanted, came) {
        (Value::Object(wanted), Value::Object(came)) => {
            wanted.iter().all(|(name, value)| came.get(name) == Some(value))
        }
        _ => wanted == came,
    }
}

fn ladder(rungs: &[u8]) -> Ladder<'_> {
    Ladder { rungs, beside: Checks::NONE, observed: Checks::NONE, combine: Combine::Heaviest }
}

fn why_word(face: Face) -> Option<&'static str> {
    match face {
        Face::Out(Why::Checks(_)) => Some("checks"),
        Face::Out(Why::WorkUnit) => Some("work_unit"),
        Face::Out(Why::Silent) => Some("silent"),
        Face::Out(Why::Elsewhere) => Some("elsewhere"),
        Face::Out(Why::Returning) => Some("returning"),
        Face::In { .. } | Face::Standby | Face::Busy | Face::Drained => None,
    }
}

const fn fallback_word(why: Option<NoneLeft>) -> &'static str {
    match why {
        None => "none",
        Some(NoneLeft::NobodyIn) => "nobody_in",
        Some(NoneLeft::AllBusy) => "all_busy",
    }
}

/// A scenario step by step, what differs under its step.
pub(super) fn text(played: &PoolPlayed, name: &str, text: &mut String) {
    let _ = writeln!(text, "{}", played.name); // a String takes everything
    let inputs: Vec<String> = played.steps.iter().map(|told| input(&told.input)).collect();
    let width = inputs.iter().map(|input| input.chars().count()).max().unwrap_or(0).clamp(10, 40);
    for (told, input) in played.steps.iter().zip(&inputs) {
        for (at, done) in told.done.iter().filter(|(at, _)| *at != told.at) {
            let _ = writeln!(text, "{:>9}  {:width$}  {done}", time(*at), "(due)");
        }
        let now: Vec<&str> =
            told.done.iter().filter(|(at, _)| *at == told.at).map(|(_, it)| it.as_str()).collect();
        let line = format!("{:>9}  {input:width$}  {}", time(told.at), now.join(", "));
        let _ = writeln!(text, "{}", line.trim_end());
        for (key, expected, came) in &told.differences {
            let place = format!("{name}:{}: ", told.line);
            let _ = writeln!(text, "{place}- {key} = {expected}");
            let _ = writeln!(text, "{:indent$}+ {key} = {came}", "", indent = place.len());
        }
    }
}

/// One object for each step.
pub(super) fn objects(played: &PoolPlayed) -> impl Iterator<Item = Value> + '_ {
    played.steps.iter().map(|told| {
        let done: Vec<&String> = told.done.iter().map(|(_, done)| done).collect();
        let mut object = json!({
            "pool_scenario": played.name,
            "at_ms": told.at.as_millis(),
            "input": told.input,
            "actions": done,
        });
        for (key, value) in &told.so {
            object[*key] = value.clone();
        }
        object
    })
}

//! The pools' vectors, played by a second player: it knows the file's form and the machine, and
//! nothing of the simulator.

use std::collections::BTreeMap;

use giveover_core::failure::ProbeResult;
use giveover_core::ladder::{Checks, Combine, Ladder, Round, Step};
use giveover_core::pool::{
    Action, Busy, Drain, Event, Face, Fall, NoneLeft, Pool, Settings, Setup, Start, Ticket, Why,
};
use giveover_core::time::{Instant, Span};
use toml::{Table, Value};

use crate::pool::{BAD, BLIND, CAUSE, OK, ms};

// req 3.9 3.12
#[test]
fn every_timeline_of_pool_toml_comes_out_as_written() {
    let file: Table = include_str!("../../../tests/vectors/pool.toml").parse().expect("a file");
    let scenarios = file["pool_scenario"].as_array().expect("scenarios");
    assert!(scenarios.len() >= 24, "all of them were read");
    for scenario in scenarios {
        Player::new(scenario.as_table().expect("a scenario")).play();
    }
}

/// What a check finds, and how long that takes.
type Finds = (ProbeResult, u64);

/// A cycle under way, and the answers that are still to come.
type Cycle = (Ticket, Round, Vec<(Instant, u8, ProbeResult)>);

struct Player<'t> {
    scenario: &'t Table,
    names: Vec<&'t str>,
    rungs: Vec<&'t str>,
    places: Vec<u8>,
    settings: Settings,
    pool: Pool,
    finds: BTreeMap<(usize, usize), Finds>,
    cycles: BTreeMap<usize, Cycle>,
    passed: BTreeMap<usize, Vec<usize>>,
    link: bool,
    ask_at: Instant,
    cut: Vec<usize>,
}

fn words<'t>(table: &'t Table, key: &str) -> Vec<&'t str> {
    let list = table.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn span(text: &str) -> u64 {
    let end = text.find(|c: char| !c.is_ascii_digit()).expect("a unit");
    let number: u64 = text[..end].parse().expect("a number");
    number
        * match &text[end..] {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            other => panic!("{other}"),
        }
}

fn settings(table: &Table) -> Settings {
    let nothing = Table::new();
    let pool = table.get("pool").and_then(Value::as_table).unwrap_or(&nothing);
    let known = [
        "interval",
        "rise",
        "fall",
        "min_members",
        "heartbeat",
        "busy",
        "none_left",
        "cut",
        "trusted",
        "any_service_fails",
        "agent_required",
    ];
    assert!(pool.keys().all(|key| known.contains(&key.as_str())), "{pool}");
    let yes = |key: &str| pool.get(key).and_then(Value::as_bool).unwrap_or(false);
    let time = |key: &str| pool.get(key).and_then(Value::as_str).map(span);
    let share = |table: &Table, key: &str| -> u8 {
        let text = table[key].as_str().expect("a share");
        text.trim_end_matches('%').parse().expect("a number")
    };
    let fall = match pool.get("fall") {
        None => Settings::DEFAULT.fall,
        Some(Value::Table(fall)) => Fall {
            count: fall["count"].as_integer().expect("a number") as u8,
            of: fall["of"].as_integer().expect("a number") as u8,
        },
        Some(number) => Fall::in_a_row(number.as_integer().expect("a number") as u8),
    };
    let number = |key: &str| pool.get(key).and_then(Value::as_integer).map(|it| it as u8);
    let busy = pool.get("busy").and_then(Value::as_table);
    Settings {
        interval: Span::from_millis(time("interval").unwrap_or(2000) as u32),
        rise: number("rise").unwrap_or(2),
        fall,
        min_members: number("min_members").unwrap_or(0),
        busy: busy.map(|it| Busy { from: share(it, "from"), until: share(it, "until") }),
        silence: time("heartbeat").map(|ms| Span::from_millis(((ms + 10_000) * 3) as u32)),
        agent_required: yes("agent_required"),
        fallback: yes("none_left"),
        cut: yes("cut"),
        trusted: yes("trusted"),
    }
}

impl<'t> Player<'t> {
    fn new(scenario: &'t Table) -> Self {
        let names = words(scenario, "members");
        let mut rungs = words(scenario, "ladder");
        if rungs.is_empty() {
            rungs.push("check");
        }
        let backups = words(scenario, "backup");
        let setup = |name: &&str| Setup {
            backup: backups.contains(name),
            start: Start::In,
            ..Setup::default()
        };
        let setups: Vec<Setup> = names.iter().map(setup).collect();
        let settings = settings(scenario);
        let pool = Pool::new(settings, &setups, ms(0)).expect("a possible pool");
        let places = (0..rungs.len() as u8).collect();
        let mut player = Self {
            scenario,
            names,
            rungs,
            places,
            settings,
            pool,
            finds: BTreeMap::new(),
            cycles: BTreeMap::new(),
            passed: BTreeMap::new(),
            link: true,
            ask_at: ms(0),
            cut: Vec::new(),
        };
        player.feed(Event::Begin, ms(0));
        player
    }

    fn place(&self, name: &str) -> usize {
        self.names.iter().position(|known| *known == name).expect("a member")
    }

    fn play(mut self) {
        for step in self.scenario["step"].as_array().expect("steps") {
            let step = step.as_table().expect("a step");
            let at = ms(span(step["at"].as_str().expect("a time")));
            while let Some(due) = self.due().filter(|due| *due <= at) {
                self.happen(due);
            }
            for (key, value) in
                step.iter().filter(|(key, _)| !["at", "expect"].contains(&key.as_str()))
            {
                self.take(key, value, at);
            }
            if let Some(expect) = step.get("expect").and_then(Value::as_table) {
                for (key, wanted) in expect {
                    self.check(key, wanted, at);
                }
            }
            self.cut.clear();
        }
    }

    fn due(&self) -> Option<Instant> {
        let coming = self.cycles.values().flat_map(|(_, _, coming)| coming.iter().map(|it| it.0));
        let ask = self.settings.trusted.then_some(self.ask_at);
        coming.chain(self.pool.poll_timeout()).chain(ask).min()
    }

    fn happen(&mut self, now: Instant) {
        if self.settings.trusted && self.ask_at <= now {
            self.ask_at = now.after(Span::from_secs(10));
            self.feed(Event::Trusted { answering: self.link }, now);
        }
        for member in 0..self.names.len() {
            let Some((_, round, coming)) = self.cycles.get_mut(&member) else { continue };
            let Some(place) = coming.iter().position(|(at, ..)| *at <= now) else { continue };
            let (_, check, result) = coming.remove(place);
            let step = round.answer(&ladder(&self.places), check, result);
            self.follow(member, step, now);
        }
        if self.pool.poll_timeout().is_some_and(|due| due <= now) {
            self.feed(Event::Timeout, now);
        }
    }

    fn feed(&mut self, event: Event, now: Instant) {
        for action in self.pool.handle(event, now) {
            match action {
                Action::Probe { member, ticket } => {
                    let due = Checks::first(self.places.len() as u8);
                    let (round, step) = Round::begin(&ladder(&self.places), due);
                    self.cycles.insert(member.into(), (ticket, round, Vec::new()));
                    self.follow(member.into(), step, now);
                }
                Action::Cut { member } => self.cut.push(member.into()),
                Action::AskTrusted => self.ask_at = now,
                _ => {}
            }
        }
    }

    fn follow(&mut self, member: usize, step: Step, now: Instant) {
        for check in step.begin.iter() {
            let (found, after) =
                self.finds.get(&(member, check.into())).copied().unwrap_or((OK, 0));
            let found = if self.link { found } else { BAD };
            let cycle = self.cycles.get_mut(&member).expect("under way");
            cycle.2.push((now.after(Span::from_millis(after as u32)), check, found));
        }
        let Some(result) = step.verdict else { return };
        let (ticket, round, _) = self.cycles.remove(&member).expect("under way");
        let passed = |rung: &usize| round.not_evaluated(&ladder(&self.places), *rung as u8);
        self.passed.insert(member, (0..self.rungs.len()).filter(passed).collect());
        self.feed(Event::Probed { member: member as u8, ticket, result }, now);
    }

    fn take(&mut self, key: &str, value: &Value, now: Instant) {
        match (key, value) {
            ("tick", _) => {}
            ("check", Value::String(text)) => {
                for member in 0..self.names.len() {
                    self.set(member, None, text);
                }
            }
            ("check", Value::Table(members)) => {
                for (name, value) in members {
                    let member = self.place(name);
                    match value {
                        Value::String(text) => self.set(member, None, text),
                        checks => {
                            for (rung, text) in checks.as_table().expect("checks") {
                                self.set(member, Some(rung), text.as_str().expect("a word"));
                            }
                        }
                    }
                }
            }
            ("agent", Value::Table(members)) => {
                for (name, report) in members {
                    let member = self.place(name) as u8;
                    let load = report.get("load").and_then(Value::as_integer).map(|it| it as u8);
                    let failed = report.get("failed").and_then(Value::as_bool).unwrap_or(false);
                    self.feed(Event::Agent { member, load, failed }, now);
                }
            }
            ("elsewhere", Value::Table(members)) => {
                let whole = self.scenario["pool"].get("any_service_fails");
                for (name, word) in members {
                    let (member, failed) = (self.place(name) as u8, word.as_str() == Some("fails"));
                    if whole.and_then(Value::as_str) == Some("member") {
                        self.feed(Event::Elsewhere { member, failed }, now);
                    }
                }
            }
            ("deaf", _) => self.feed(Event::Deaf, now),
            ("trusted", _) => panic!("our own way out stands for them"),
            ("link", word) => self.link = word.as_str() == Some("up"),
            ("drain", Value::Table(drain)) => {
                let member = self.place(drain["member"].as_str().expect("a member")) as u8;
                let after = |key: &str| {
                    let length = drain.get(key).and_then(Value::as_str).map(span);
                    length.map(|length| now.after(Span::from_millis(length as u32)))
                };
                let (until, cut_at) = (after("for"), after("cut_after"));
                self.feed(Event::Drain { member, until, cut_at }, now);
            }
            ("enable", name) => {
                let member = self.place(name.as_str().expect("a member")) as u8;
                self.feed(Event::Enable { member }, now);
            }
            ("restart", _) => {
                let known = |member: &giveover_core::pool::Member| Setup {
                    backup: member.is_backup(),
                    start: match member.is_unfit() || member.is_down_by_agent() {
                        true => Start::Out,
                        false => Start::In,
                    },
                    drain: member.drained().map(|it| Drain { has_cut: false, ..it }),
                    elsewhere: member.is_down_elsewhere(),
                };
                let setups: Vec<Setup> = self.pool.members().iter().map(known).collect();
                self.pool = Pool::new(self.settings, &setups, now).expect("possible");
                self.cycles.clear();
                self.feed(Event::Begin, now);
            }
            other => panic!("no such input: {other:?}"),
        }
    }

    fn set(&mut self, member: usize, rung: Option<&str>, text: &str) {
        let (word, after) = text.split_once(" after ").unwrap_or((text, "0s"));
        let result = match word {
            "ok" => OK,
            "fails" => BAD,
            "immediate" => ProbeResult::Immediate(CAUSE),
            "unmeasured" => BLIND,
            "void" => ProbeResult::Void,
            other => panic!("{other}"),
        };
        for (place, name) in self.rungs.iter().enumerate() {
            if rung.is_none_or(|rung| rung == *name) {
                self.finds.insert((member, place), (result, span(after)));
            }
        }
    }

    #[track_caller]
    fn check(&self, key: &str, wanted: &Value, at: Instant) {
        let members = || self.names.iter().zip(self.pool.members()).enumerate();
        let list = |word: &str| -> Vec<&str> {
            members()
                .filter(|(_, (_, it))| it.face().word() == word)
                .map(|(_, (name, _))| *name)
                .collect()
        };
        let names = || -> Vec<&str> {
            wanted.as_array().expect("a list").iter().filter_map(Value::as_str).collect()
        };
        let of = |name: &str| &self.pool.members()[self.place(name)];
        let what = format!("{}: {key} at {at:?}", self.scenario["name"]);
        match key {
            "in" | "out" | "standby" | "busy" | "drained" => {
                assert_eq!(list(key), names(), "{what}")
            }
            "kept" => {
                let kept: Vec<&str> = members()
                    .filter(|(_, (_, it))| it.is_kept())
                    .map(|(_, (name, _))| *name)
                    .collect();
                assert_eq!(kept, names(), "{what}");
            }
            "cut" => {
                let cut: Vec<&str> = self.cut.iter().map(|at| self.names[*at]).collect();
                assert_eq!(cut, names(), "{what}");
            }
            "fallback" => {
                let word = match self.pool.none_left() {
                    None => "none",
                    Some(NoneLeft::NobodyIn) => "nobody_in",
                    Some(NoneLeft::AllBusy) => "all_busy",
                };
                assert_eq!(Some(word), wanted.as_str(), "{what}");
            }
            "frozen" => assert_eq!(Some(self.pool.frozen().is_some()), wanted.as_bool(), "{what}"),
            _ => {
                for (name, value) in wanted.as_table().expect("members") {
                    match key {
                        "health" => {
                            let health = i64::from(of(name).health(&self.settings));
                            assert_eq!(Some(health), value.as_integer(), "{what}");
                        }
                        "late" => {
                            assert_eq!(
                                Some(i64::from(of(name).late())),
                                value.as_integer(),
                                "{what}"
                            );
                        }
                        "why" => {
                            let word = match of(name).face() {
                                Face::Out(Why::Checks(_)) => "checks",
                                Face::Out(Why::WorkUnit) => "work_unit",
                                Face::Out(Why::Silent) => "silent",
                                Face::Out(Why::Elsewhere) => "elsewhere",
                                Face::Out(Why::Returning) => "returning",
                                _ => "not out",
                            };
                            assert_eq!(Some(word), value.as_str(), "{what}");
                        }
                        "not_evaluated" => {
                            let passed = self.passed.get(&self.place(name)).into_iter().flatten();
                            let passed: Vec<&str> = passed.map(|rung| self.rungs[*rung]).collect();
                            let wanted = value.as_array().expect("a list").iter();
                            let wanted: Vec<&str> = wanted.filter_map(Value::as_str).collect();
                            assert_eq!(passed, wanted, "{what}");
                        }
                        other => panic!("no such expectation: {other}"),
                    }
                }
            }
        }
    }
}

fn ladder(places: &[u8]) -> Ladder<'_> {
    Ladder {
        rungs: places,
        beside: Checks::NONE,
        observed: Checks::NONE,
        combine: Combine::Heaviest,
    }
}

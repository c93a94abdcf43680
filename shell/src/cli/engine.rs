//! Where verbs meet the engines that live in other rooms.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use giveover_core::failure::Phase;
use giveover_core::time::Span;

use super::check::{CheckOptions, Checked};
use super::exit::{Exit, Stop};
use super::probe::ProbeRequest;
use super::run::RunOptions;
use crate::board;
use crate::check::agent::beat::Key;
use crate::check::agent::ears::At;
use crate::check::agent::once as agent;
use crate::check::once::{self, Once};
use crate::check::outcome::Outcome;
use crate::check::{TraceStep, secret, state};
use crate::clock::Clock;
use crate::cluster::keys::Keys;
use crate::config::agent::AgentPlan;
use crate::config::plan::{CheckPlan, Kind};
use crate::config::scenario::{self, Form};
use crate::config::state::StatePlan;
use crate::config::world::World;
use crate::config::{self, Level, here};
use crate::report::check;
use crate::report::found::check_doc;
use crate::report::probe::{ProbeDoc, StepDoc};
use crate::sim::replay;
use crate::sim::timeline::Timeline;
use crate::sim::world::Options;
use crate::{daemon, key, service, sim};

/// `run`, started with `words`: returns one of its exit statuses.
pub(super) fn run(options: RunOptions, words: &[OsString]) -> Exit {
    // What our starter left open is nobody's here, and would go on to every child.
    crate::reactor::close_inherited();
    if options.demo {
        return Exit(daemon::demo::run(options.paint, options.journal));
    }
    let options = daemon::Options {
        file: Some(options.file),
        observe: options.observe,
        leave: options.leave,
        journal: options.journal,
        state: options.state,
        socket: options.socket,
        debug: options.debug,
        paint: options.paint,
        until_given_over: false,
        witness: options.witness,
    };
    Exit(daemon::run_anew(&options, words))
}

/// `check`: reads files only, or with `here` also asks this machine.
pub(super) fn check(options: &CheckOptions) -> Checked {
    match config::load(&options.file) {
        Err(errors) => Checked {
            screen: String::new(),
            findings: format!("{errors}{}", errors.summary()),
            json: check::refused_json(&errors),
            errors: errors.findings().len(),
            warnings: 0,
        },
        Ok(mut loaded) => {
            let found = if options.here {
                let seen = here::look(&mut loaded, here::ask_systemctl);
                let board = here::look_at_board(&loaded, board::seen);
                let pings = here::look_at_pings(&loaded, crate::check::may_ping);
                let why_not = |name: &str| secret::read(name).err().map(secret::NoSecret::words);
                let secrets = here::look_at_secrets(&loaded, why_not);
                let keys = here::look_at_keys(&loaded, |name| key::of_name(name).err());
                let cluster = here::look_at_cluster(&loaded, |name| Keys::of_name(name).err());
                let pools = here::look_at_pools(&loaded);
                let groups = here::look_at_groups(&loaded);
                let machine = [&seen, &board, &pings, &secrets, &keys, &cluster, &pools, &groups];
                machine.into_iter().fold(loaded.warnings.clone(), |found, more| found.with(more))
            } else {
                loaded.warnings.clone()
            };
            let errors = found.findings().iter().filter(|found| found.level == Level::Error);
            let errors = errors.count();
            Checked {
                screen: check::text(&loaded, &found),
                findings: String::new(),
                json: check::to_json(&loaded, &found),
                errors,
                warnings: found.findings().len() - errors,
            }
        }
    }
}

/// What the daemon runs of itself.
pub(super) fn internal(arguments: &[OsString]) -> Result<Exit, Stop> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    match words.as_slice() {
        ["demo-service", port, starts] => {
            let port = port.parse().map_err(|_| Stop::usage("a port"))?;
            let ended = daemon::demo::service::main(port, Path::new(starts));
            Ok(if ended.is_ok() { Exit::DONE } else { Exit::NO })
        }
        ["demo-takeover"] => Ok(Exit::DONE),
        ["webhook"] => {
            let told = |name| std::env::var(name).unwrap_or_default();
            let (url, body) = (told(daemon::webhook::URL), told(daemon::webhook::BODY));
            let posted = daemon::webhook::post(&url, &body);
            posted.map(|()| Exit::DONE).map_err(|why| Stop::Said(Exit::NO, why))
        }
        _ => Err(Stop::usage("`internal` is not for people")),
    }
}

/// `probe URL`: one check that no configuration names, once.
pub(super) fn probe_once(request: &ProbeRequest) -> Result<ProbeDoc, Stop> {
    let check = check_of(request)?;
    let clock = Clock::new(0);
    let found = match &check.kind {
        Kind::Command(command) => once::run_once(&check, command, 0, || clock.now()),
        Kind::State(plan) => Ok(look_once(&check, plan, &clock)),
        Kind::Agent(plan) => hear_once(&check, plan, &clock),
        Kind::Process => return Err(Stop::usage("a process is a service's; or give its `name`")),
        _ => once::probe_once(&check, 0, 0, || clock.now()),
    };
    let found = found.map_err(|error| Stop::Said(Exit::UNMEASURED, error.to_string()))?;
    let once::Ended::Answered { result, shown } = found.end else {
        return Err(Stop::usage("an xfnts probe is more than a URL: give it a service"));
    };
    let at = clock.wall(clock.now());
    let steps = found.steps.into_iter().map(|step| StepDoc {
        phase: step.phase.word().to_owned(),
        text: step.text,
        ms: u32::try_from(step.took_ms).unwrap_or(u32::MAX),
    });
    Ok(ProbeDoc {
        check: check_doc(&check, Some(result), shown, found.elapsed_ms, at),
        timeout_ms: request.timeout_ms,
        steps: steps.collect(),
    })
}

/// `probe systemd://UNIT`
fn look_once(check: &CheckPlan, plan: &StatePlan, clock: &Clock) -> Once {
    let began = clock.now();
    let found = service::look_once(&plan.unit, || clock.now());
    let elapsed_ms = u32::try_from(clock.now().since(began)).unwrap_or(u32::MAX);
    let text = match &found {
        Ok(unit) => unit.words.clone(),
        Err(words) => words.clone(),
    };
    let state = found.as_ref().ok().map(|unit| (unit.loaded, unit.active.as_str()));
    let outcome = state::judge(plan, state);
    let step = TraceStep { phase: Phase::Answer, text, took_ms: u64::from(elapsed_ms) };
    Once { steps: vec![step], end: answered(outcome, check), elapsed_ms }
}

/// `probe agent://ADDRESS:PORT/NAME`: waits for a heartbeat.
fn hear_once(check: &CheckPlan, plan: &AgentPlan, clock: &Clock) -> io::Result<Once> {
    let at = At::of(plan, check).ok_or_else(|| io::Error::other("it has no address"))?;
    let key = match plan.key.as_deref() {
        None => None,
        Some(name) => {
            let secret = key_within(name, check.timeout).map_err(io::Error::other)?;
            Some(Key::new(&secret))
        }
    };
    let began = clock.now();
    let wall = |at| clock.wall_ms(at);
    let heard = agent::hear_once(plan, &at, key.as_ref(), check.timeout, || clock.now(), wall)?;
    let (outcome, steps) = heard;
    let elapsed_ms = u32::try_from(clock.now().since(began)).unwrap_or(u32::MAX);
    Ok(Once { steps, end: answered(outcome, check), elapsed_ms })
}

/// The key called `name`, unless it takes too long: it may lie where nothing answers.
fn key_within(name: &Path, timeout: Span) -> Result<[u8; 32], String> {
    let (tell, hear) = std::sync::mpsc::channel();
    let path = name.to_owned();
    let reader = move || {
        let _ = tell.send(key::of_name(&path)); // nobody waits any more
    };
    let thread = std::thread::Builder::new().name("key".to_owned()).spawn(reader);
    thread.map_err(|error| format!("{} {error}", name.display()))?;
    let silent = |_| Err(format!("{} does not answer", name.display()));
    hear.recv_timeout(timeout.as_duration()).unwrap_or_else(silent)
}

fn answered(outcome: Outcome, check: &CheckPlan) -> once::Ended {
    once::Ended::Answered { result: outcome.weigh(0, &check.weights), shown: outcome.shown() }
}

/// The check that a URL stands for, read by the same rules as a configuration's.
fn check_of(request: &ProbeRequest) -> Result<CheckPlan, Stop> {
    let url = toml::Value::String(request.url.clone());
    let ms = request.timeout_ms;
    let mut text = format!(
        "[policy.default]\nprobe_timeout = \"{ms}ms\"\n[service.probe]\ncheck.probe.url = {url}\n"
    );
    for set in &request.set {
        text += &format!("check.probe.{}\n", set.trim());
    }
    let loaded = config::load_str("URL", &text).map_err(|errors| {
        let first = errors.findings().first();
        Stop::usage(first.map_or_else(String::new, said))
    })?;
    let service = loaded.plan.services.into_iter().next();
    let check = service.and_then(|service| service.checks.into_iter().next());
    let asks = |check: &CheckPlan| !check.targets.is_empty() || !check.asks_addresses();
    let check = check.filter(asks);
    check.ok_or_else(|| Stop::usage(format!("{} names no address to probe", request.url)))
}

/// What is wrong with a target, and the remedy.
fn said(found: &config::Finding) -> String {
    match &*found.label {
        "" => found.message.clone(),
        label => format!("{}; {label}", found.message),
    }
}

/// A journal that was replayed.
pub(super) struct Replayed {
    /// What came of it, for people.
    pub(super) text: String,
    /// The same for `--json`.
    pub(super) json: serde_json::Value,
    /// As it is drawn.
    pub(super) timeline: Timeline,
    /// A sentence for each difference.
    pub(super) sentences: Vec<String>,
    /// Whether what is decided now is what was decided then.
    pub(super) agrees: bool,
}

/// `replay`: with the recorded policy, and with that of `other` beside it.
pub(super) fn replay(journal: &Path, other: Option<&Path>) -> Result<Replayed, Stop> {
    let source = replay::read(journal).map_err(|error| Stop::refused(error.to_string()))?;
    let other = other.map(|file| replay::with(&source, file)).transpose();
    let other = other.map_err(|why| Stop::refused(why.trim_end()))?;
    Ok(Replayed {
        text: replay::text(&source, other.as_ref()),
        json: replay::json(&source, other.as_ref()),
        timeline: source.timeline(other.as_ref()),
        agrees: source.agrees(),
        sentences: other.map(|other| other.sentences).unwrap_or_default(),
    })
}

/// How scenario files are to be played.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted {
    /// JSON, an object a line.
    pub(super) json: bool,
    /// Another seed than the file's.
    pub(super) seed: Option<u64>,
    /// So many times.
    pub(super) runs: Option<u64>,
    /// Look at every invariant.
    pub(super) watch: bool,
}

/// A scenario file that was played, or refused.
#[derive(Default)]
pub(super) struct Simulated {
    /// What came of it, in the form that was wanted.
    pub(super) text: String,
    /// What is wrong with the file; empty if nothing is.
    pub(super) refused: String,
    /// As it is drawn.
    pub(super) timeline: Option<Timeline>,
    /// What is not as it should be, for a page.
    pub(super) sentences: Vec<String>,
    /// Its exit status.
    pub(super) exit: u8,
}

/// `simulate`: plays a file in either form. `tell` hears how many of how many runs are done.
pub(super) fn simulate(file: &Path, wanted: Wanted, tell: &mut dyn FnMut(u64, u64)) -> Simulated {
    let name = file.display().to_string();
    match sim::peer::run_file(file) {
        Err(errors) => return refused(&errors),
        Ok(Some(outcome)) => {
            return Simulated {
                text: match wanted.json {
                    true => sim::peer::json_lines(&outcome),
                    false => sim::peer::text(&outcome, &name),
                },
                exit: u8::from(outcome.differing() > 0),
                ..Simulated::default()
            };
        }
        Ok(None) => {}
    }
    match scenario::load_form(file) {
        Err(errors) => refused(&errors),
        Ok(Form::Small(_)) if wanted.runs.is_some() || wanted.seed.is_some() => Simulated {
            refused: format!(
                "giveover: {name}: [[scenario]]s are scripts: --seed and --runs have nothing to \
                 draw\n"
            ),
            exit: Exit::USAGE.0,
            ..Simulated::default()
        },
        Ok(Form::Small(scenarios)) => match scenario::pool::load(file) {
            Err(errors) => refused(&errors),
            Ok(pools) => {
                let outcome = sim::Outcome::of(&scenarios, &pools);
                Simulated {
                    text: match wanted.json {
                        true => sim::json_lines(&outcome),
                        false => sim::text(&outcome, &name),
                    },
                    timeline: Some(outcome.timeline(&name)),
                    exit: sim::exit_status(&Ok(outcome)),
                    ..Simulated::default()
                }
            }
        },
        Ok(Form::Large(world)) => match wanted.runs {
            Some(runs) => many(&world, &name, runs, wanted, tell),
            None => one(&world, &name, wanted),
        },
    }
}

fn refused(errors: &config::Report) -> Simulated {
    Simulated {
        refused: format!("{errors}{}", errors.summary()),
        exit: Exit::REFUSED.0,
        ..Simulated::default()
    }
}

fn one(world: &World, name: &str, wanted: Wanted) -> Simulated {
    let options = Options { seed: wanted.seed, record: true, watch: wanted.watch };
    let mut outcome = sim::world::play(world, options);
    let text = match wanted.json {
        true => sim::world::json_lines(&outcome),
        false => sim::world::text(&outcome, name),
    };
    Simulated {
        text,
        exit: sim::world::exit_status(&outcome),
        sentences: outcome.broken_claims.iter().map(|(.., why)| why.clone()).collect(),
        timeline: outcome.timeline.take(),
        refused: String::new(),
    }
}

fn many(
    world: &World,
    name: &str,
    runs: u64,
    wanted: Wanted,
    tell: &mut dyn FnMut(u64, u64),
) -> Simulated {
    let seed = wanted.seed.unwrap_or(world.seed);
    let many = sim::world::many(world, seed, runs, |done| tell(done, runs));
    Simulated {
        text: match wanted.json {
            true => super::json::line(&sim::world::many_json(&many)),
            false => sim::world::many_text(&many, name),
        },
        exit: u8::from(many.wrong() > 0),
        ..Simulated::default()
    }
}

//! Where verbs meet the engines that live in other rooms.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::check::{CheckOptions, Checked};
use super::exit::{Exit, Stop};
use super::probe::ProbeRequest;
use super::run::RunOptions;
use crate::board;
use crate::check::once;
use crate::clock::Clock;
use crate::config::plan::CheckPlan;
use crate::config::{self, Level, here};
use crate::report::check;
use crate::report::found::check_doc;
use crate::report::probe::{ProbeDoc, StepDoc};
use crate::{daemon, sim};

/// `run`, started with `words`: returns one of its exit statuses.
pub(super) fn run(options: RunOptions, words: &[OsString]) -> Exit {
    // What our starter left open is nobody's here, and would go on to every child.
    crate::reactor::close_inherited();
    if options.demo {
        return Exit(daemon::demo::run(options.paint));
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
                let board = here::look_at_board(&loaded, |plan| board::seen(&plan.port, &plan.key));
                let pings = here::look_at_pings(&loaded, crate::check::may_ping);
                let pools = here::look_at_pools(&loaded);
                loaded.warnings.with(&seen).with(&board).with(&pings).with(&pools)
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
        _ => Err(Stop::usage("`internal` is not for people")),
    }
}

/// `probe URL`: one check that no configuration names, once.
pub(super) fn probe_once(request: &ProbeRequest) -> Result<ProbeDoc, Stop> {
    let check = check_of(request)?;
    let clock = Clock::new(0);
    let found = once::probe_once(&check, 0, 0, || clock.now());
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

/// The check that a URL stands for, read by the same rules as a configuration's.
fn check_of(request: &ProbeRequest) -> Result<CheckPlan, Stop> {
    let url = toml::Value::String(request.url.clone());
    let ms = request.timeout_ms;
    let text = format!(
        "[policy.default]\nprobe_timeout = \"{ms}ms\"\n[service.probe]\ncheck.probe.url = {url}\n"
    );
    let loaded = config::load_str("URL", &text).map_err(|errors| {
        let first = errors.findings().first();
        Stop::usage(first.map_or_else(String::new, said))
    })?;
    let service = loaded.plan.services.into_iter().next();
    let check = service.and_then(|service| service.checks.into_iter().next());
    let check = check.filter(|check| !check.targets.is_empty());
    check.ok_or_else(|| Stop::usage(format!("{} names no address to probe", request.url)))
}

/// What is wrong with a target, and the remedy.
fn said(found: &config::Finding) -> String {
    match &*found.label {
        "" => found.message.clone(),
        label => format!("{}; {label}", found.message),
    }
}

/// `simulate`: runs every file, and exits with the worst of their statuses.
pub(super) fn simulate(
    files: &[PathBuf],
    json: bool,
    print: &mut dyn FnMut(&str) -> Result<(), Stop>,
    tell: &mut Vec<String>,
) -> Result<Exit, Stop> {
    let mut worst = 0;
    for file in files {
        let outcome = sim::run_file(file);
        worst = worst.max(sim::exit_status(&outcome));
        match &outcome {
            Ok(outcome) if json => print(&sim::json_lines(outcome))?,
            Ok(outcome) => print(&sim::text(outcome, &file.display().to_string()))?,
            Err(errors) => tell.push(format!("{errors}{}", errors.summary())),
        }
    }
    Ok(Exit(worst))
}

//! Where verbs meet the engines that live in other rooms.

use std::ffi::OsString;
use std::path::Path;

use super::check::{CheckOptions, Checked};
use super::exit::{Exit, Stop};
use super::probe::ProbeRequest;
use super::run::RunOptions;
use crate::config::{self, Level, here};
use crate::daemon;
use crate::report::check;
use crate::report::paint::Paint;
use crate::report::probe::ProbeDoc;
use std::io;
use std::path::PathBuf;

/// `run`: returns one of its exit statuses.
pub(super) fn run(options: RunOptions) -> Exit {
    if options.demo {
        return Exit(daemon::demo::run(options.paint));
    }
    Exit(daemon::run(&daemon::Options {
        file: Some(options.file),
        observe: options.observe,
        leave: options.leave,
        journal: options.journal,
        state: options.state,
        socket: options.socket,
        debug: options.debug,
        paint: options.paint,
        until_given_over: false,
    }))
}

/// `check`: reads files only, or with `here` also asks this machine.
pub(super) fn check(options: &CheckOptions) -> Checked {
    match config::load(&options.file) {
        Err(errors) => Checked {
            screen: String::new(),
            findings: errors.to_string(),
            json: check::refused_json(&errors),
            errors: errors.findings().len(),
            warnings: 0,
        },
        Ok(mut loaded) => {
            let found = if options.here {
                let seen = here::look(&mut loaded, here::ask_systemctl);
                loaded.warnings.with(&seen)
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

pub(super) fn simulate(
    _files: &[PathBuf],
    _json: bool,
    _paint: Paint,
    _print: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<Exit, Stop> {
    Err(Stop::Said(Exit::BUG, "pending".into()))
}

pub(super) fn probe_once(_request: &ProbeRequest) -> Result<ProbeDoc, Stop> {
    Err(Stop::Said(Exit::BUG, "pending".into()))
}

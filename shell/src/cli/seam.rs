//! SEAM: where verbs meet the engines that live in other rooms. Every function here is to be
//! connected to what its comment names, and this file to vanish.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use super::check::{CheckOptions, Checked};
use super::exit::{Exit, Stop};
use super::probe::ProbeRequest;
use super::run::RunOptions;
use crate::report::paint::Paint;
use crate::report::probe::ProbeDoc;

fn not_connected(what: &str) -> Stop {
    Stop::Said(Exit::BUG, format!("{what}: not connected"))
}

/// `crate::daemon::run(options)`: returns one of `run`'s exit statuses.
pub(super) fn run(options: RunOptions) -> Result<Exit, Stop> {
    let _ = options;
    Err(not_connected("run"))
}

/// `crate::config::load(&options.file)`, then with `here` `crate::config::here::look`; the screen
/// is `crate::report::check::screen(&plan, warnings)`.
pub(super) fn check(options: &CheckOptions) -> Result<Checked, Stop> {
    let _ = options;
    Err(not_connected("check"))
}

/// `crate::config::preset::text`.
pub(super) fn preset(name: &str) -> Option<&'static str> {
    let _ = name;
    None
}

/// `crate::config::preset::list`.
pub(super) fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::empty()
}

/// `crate::config::warning::explain`.
pub(super) fn warning(name: &str) -> Option<String> {
    let _ = name;
    None
}

/// `crate::config::warning::names`.
pub(super) fn warnings() -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// `crate::sim::run`: prints through `print`, exits 1 where an expectation differs, 3 for a file
/// that cannot be read.
pub(super) fn simulate(
    files: &[PathBuf],
    json: bool,
    paint: Paint,
    print: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<Exit, Stop> {
    let _ = (files, json, paint, print);
    Err(not_connected("simulate"))
}

/// `crate::check::probe_once`: parses the URL, probes, and tells each step.
pub(super) fn probe_once(request: &ProbeRequest) -> Result<ProbeDoc, Stop> {
    let _ = request;
    Err(not_connected("probe"))
}

/// What the daemon runs of itself: `giveover internal NAME …` (the demonstration's service).
pub(super) fn internal(arguments: &[OsString]) -> Result<Exit, Stop> {
    let _ = arguments;
    Err(not_connected("internal"))
}

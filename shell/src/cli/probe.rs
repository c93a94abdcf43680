//! `giveover probe`

use std::time::Duration;

use clap::Args;

use super::exit::{Exit, Stop};
use super::session::{self, Session};
use super::{duration, engine, json, place};
use crate::report::model::CheckDoc;
use crate::report::probe;

/// The time a probe is given unless told otherwise.
const TIMEOUT_MS: u64 = 3000;
/// The checks of a service have their own time-outs; all of them fit in this.
const SERVICE_LIMIT: Duration = Duration::from_secs(120);

/// Probe once: a URL, an address, or the configured checks of a service
#[derive(Debug, Args)]
#[command(after_help = "`probe http://127.0.0.1/`, `probe tcp 127.0.0.1:80`, `probe web`, `probe \
                  web/page`, or of a pool's member `probe pool/a` and `probe pool/a/page`, or a group's of a \
                  node `probe front/gw-b`; `probe log:///var/log/app.log --set 'pattern = \"PANIC\"'`. The \
                  daemon runs a service's checks, counting nothing. Exits 0 healthy, 1 partial, 2 \
                  complete failure, 3 cannot measure and every error of its own: the codes of \
                  monitoring plugins.")]
pub(super) struct Probe {
    /// A URL, a kind, SERVICE[/CHECK], POOL/MEMBER[/CHECK] or GROUP/NODE[/CHECK]
    #[arg(value_name = "URL|KIND|SERVICE")]
    target: String,
    /// The address to ask, after a kind
    #[arg(value_name = "ADDRESS")]
    address: Option<String>,
    /// A key of the check and its value, as in a configuration; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// How long it may take [3s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<u64>,
    /// Show each step
    #[arg(short, long)]
    verbose: bool,
}

/// A probe of something that no configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeRequest {
    /// The target as in a configuration's check: `http://127.0.0.1/`, `tcp://127.0.0.1:80`.
    pub url: String,
    /// Its total deadline.
    pub timeout_ms: u64,
    /// Keys of the check with their values, as in a configuration.
    pub set: Vec<String>,
}

pub(super) fn run(verb: &Probe, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let timeout_ms = verb.timeout.unwrap_or(TIMEOUT_MS);
    match &verb.address {
        Some(address) if address.contains("://") || verb.target.contains("://") => {
            Err(Stop::usage("a URL says everything: give one, or a kind and an address"))
        }
        Some(address) => {
            let url = format!("{}://{address}", verb.target);
            of_url(&ProbeRequest { url, timeout_ms, set: verb.set.clone() }, verb, session)
        }
        None if verb.target.contains("://") => {
            let url = verb.target.clone();
            of_url(&ProbeRequest { url, timeout_ms, set: verb.set.clone() }, verb, session)
        }
        None => of_service(verb, session),
    }
}

fn of_url(request: &ProbeRequest, verb: &Probe, session: &mut Session<'_>) -> Result<Exit, Stop> {
    if request.timeout_ms == 0 {
        return Err(Stop::usage("--timeout: a probe needs some time"));
    }
    let found = engine::probe_once(request)?;
    let text = if session.json {
        json::line(&found)
    } else if verb.verbose {
        probe::steps(&found)
    } else {
        probe::line(&found) + "\n"
    };
    session.print(&text)?;
    Ok(Exit(probe::exit_status(&[found.check])))
}

fn of_service(verb: &Probe, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let (service, check) = match verb.target.split_once('/') {
        Some((service, check)) if place::is_name(service) => (service, Some(check)),
        _ => (verb.target.as_str(), None),
    };
    place::service(service)?;
    if !verb.set.is_empty() {
        return Err(Stop::usage("--set: the checks of a service are as configured"));
    }
    if verb.timeout.is_some() {
        return Err(Stop::usage("--timeout: the checks of a service have their own"));
    }
    let mut target = format!("/probe/{}", session::encoded(service));
    if let Some(check) = check {
        target += &format!("/{}", session::encoded(check));
    }
    let answer = session.control.get(&target, SERVICE_LIMIT);
    let bytes = answer.map_err(|error| session.control.stop(&error))?;
    let checks: Vec<CheckDoc> = session.read(&bytes)?;
    let text = if session.json { json::line(&checks) } else { probe::of_service(&checks) };
    session.print(&text)?;
    Ok(Exit(probe::exit_status(&checks)))
}

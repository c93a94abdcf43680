//! `giveover agent`

use std::path::{Path, PathBuf};

use clap::Args;
use giveover_core::time::Span;

use super::duration;
use super::exit::{Exit, Stop};
use super::session::Session;
use crate::check::agent::beat::Key;
use crate::check::agent::sender::{self, Load, Sending, To};
use crate::config::agent::{MOST_UNITS, PORT};
use crate::config::words::is_name;
use crate::key;

/// Send heartbeats to a monitor, with this host's load and the state of work units
#[derive(Debug, Args)]
#[command(
    after_help = "A monitor hears them in a check of kind agent: `giveover help agent`. A command is \
                  its words between blanks; no shell reads them. Each is run once in an interval, in \
                  which it must end; 0 is well. One that fails, or is well again, is told at once."
)]
pub(super) struct Agent {
    /// Where to: udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH
    #[arg(value_name = "TO")]
    to: String,
    /// The agent's name, as the check has it
    #[arg(long, value_name = "NAME")]
    name: String,
    /// How often; as the check has it [6s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    interval: Option<u64>,
    /// The file with the key they are signed with: 64 hexadecimal digits
    #[arg(long, value_name = "PATH")]
    key: Option<PathBuf>,
    /// A command that prints the load, instead of the first figure of /proc/loadavg; `none`: none
    #[arg(long, value_name = "COMMAND")]
    load: Option<String>,
    /// A work unit, and the command that looks at it; may be repeated
    #[arg(long = "unit", value_name = "NAME=COMMAND")]
    units: Vec<String>,
}

pub(super) fn run(verb: &Agent, session: &mut Session<'_>) -> Result<Exit, Stop> {
    if !is_name(&verb.name) {
        return Err(Stop::usage(format!("--name: `{}` is no name of an agent", verb.name)));
    }
    let interval = verb.interval.unwrap_or(6000);
    let interval = u32::try_from(interval).ok().filter(|ms| *ms > 0);
    let interval =
        interval.ok_or_else(|| Stop::usage("--interval: more than nothing, up to 49d"))?;
    let units = verb.units.iter().map(|text| unit(text)).collect::<Result<Vec<_>, _>>()?;
    if units.len() > MOST_UNITS {
        return Err(Stop::usage(format!("--unit: at most {MOST_UNITS} work units")));
    }
    let sending = Sending {
        to: to(&verb.to)?,
        name: verb.name.clone(),
        interval: Span::from_millis(interval),
        key: verb.key.as_deref().map(read_key).transpose()?,
        load: match verb.load.as_deref() {
            None => Load::Average,
            Some("none") => Load::None,
            Some(text) => Load::Command(command("--load", text)?),
        },
        units,
    };
    let ended = sender::run(&sending, &mut |text| session.complain(text));
    ended.map_err(|error| Stop::usage(error.to_string()))?;
    Ok(Exit::DONE)
}

fn to(text: &str) -> Result<To, Stop> {
    let usage =
        || Stop::usage(format!("`{text}`: write udp://HOST:PORT, tcp://HOST:PORT or unix:///PATH"));
    let (kind, rest) = text.split_once("://").ok_or_else(usage)?;
    if kind == "unix" && rest.starts_with('/') {
        return Ok(To::Unix(rest.into()));
    }
    if rest.is_empty() || rest.contains(['/', '@', '?']) {
        return Err(usage());
    }
    // What ends in a bracket is an address of IPv6 alone.
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let host = if has_port { rest.to_owned() } else { format!("{rest}:{PORT}") };
    match kind {
        "udp" => Ok(To::Udp(host)),
        "tcp" => Ok(To::Tcp(host)),
        _ => Err(usage()),
    }
}

fn unit(text: &str) -> Result<(String, Vec<String>), Stop> {
    match text.split_once('=') {
        Some((name, words)) if is_name(name) => Ok((name.to_owned(), command("--unit", words)?)),
        _ => Err(Stop::usage(format!("--unit: `{text}` is no NAME=COMMAND"))),
    }
}

fn command(option: &str, text: &str) -> Result<Vec<String>, Stop> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if words.is_empty() {
        return Err(Stop::usage(format!("{option}: the command is missing")));
    }
    Ok(words)
}

fn read_key(path: &Path) -> Result<Key, Stop> {
    let secret = key::read_secret(path);
    let said = |error: key::KeyError| format!("{} {}", path.display(), error.of_others());
    let secret = secret.map_err(|error| Stop::Said(Exit::REFUSED, said(error)))?;
    Ok(Key::new(&secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_heartbeats_go_is_a_url() {
        let of = |text| to(text).ok();
        assert_eq!(of("udp://10.0.0.1"), Some(To::Udp("10.0.0.1:9708".into())));
        assert_eq!(of("tcp://mon:99"), Some(To::Tcp("mon:99".into())));
        assert_eq!(of("udp://[::1]"), Some(To::Udp("[::1]:9708".into())));
        assert_eq!(of("udp://[::1]:5"), Some(To::Udp("[::1]:5".into())));
        assert_eq!(of("unix:///run/a.sock"), Some(To::Unix("/run/a.sock".into())));
        for wrong in ["", "10.0.0.1", "udp://", "http://h", "unix://run", "udp://h/x", "udp://u@h"]
        {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_work_unit_has_a_name_and_a_command() {
        let words = vec!["/bin/true".to_owned(), "-x".to_owned()];
        assert_eq!(unit("db=/bin/true  -x").ok(), Some(("db".to_owned(), words)));
        for wrong in ["db", "db=", "=x", "d b=x", ""] {
            assert!(unit(wrong).is_err(), "{wrong}");
        }
    }
}

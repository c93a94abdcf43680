//! A pgpool.conf's watchdog section, turned into our configuration.
//!
//! Every parameter that the source document has is translated, or named with the reason why not.
//! What pgpool-II's watchdog refuses is refused here as well.
//!
//! # Source
//! "pgpool-II 3.2: Watchdog", sections 3 and 5; defaults are those it states.

mod conf;
mod interface;
mod parameters;
#[cfg(test)]
mod tests;
mod watchdog;
mod write;

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Serialize;

use self::conf::Conf;
use self::parameters::{Becomes, PARAMETERS};
use self::watchdog::Watchdog;
use super::super::report::{Findings, Report};
use super::super::source::{Source, Sources};

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Our configuration, with a line at its end for each parameter that was left out.
    pub text: String,
    /// What each parameter became.
    pub parameters: Vec<Became>,
}

/// What one parameter became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Became {
    /// Its name, as the document writes it.
    pub name: String,
    /// What it is set to.
    pub value: String,
    /// The file does not set it.
    pub default: bool,
    /// The key of ours that it became; `None` where it became nothing.
    pub key: Option<String>,
    /// Why it became nothing.
    pub why: Option<String>,
}

/// Reads `text`, a pgpool.conf called `name` in messages. `hostname` is what the command of that
/// name prints on this machine.
///
/// # Errors
/// Everything that is wrong with the section, in the order of the file.
pub fn import(name: &str, text: &str, hostname: &str) -> Result<Imported, Report> {
    let mut out = Findings::default();
    let mut sources = Sources::default();
    let number = sources.add(Source::new(name.to_owned(), name.to_owned(), text.to_owned()));
    let conf = Conf::read(text, number, &mut out);
    let watchdog = watchdog::read(&conf, hostname, &mut out);
    let (errors, _) = out.into_reports(&Arc::new(sources));
    let Some(watchdog) = watchdog.filter(|_| errors.is_empty()) else { return Err(errors) };
    let parameters = became(&conf, &watchdog);
    let mut text = write::configuration(&watchdog, name);
    left_out(&parameters, others(&conf), &mut text);
    Ok(Imported { text, parameters })
}

/// Every parameter of the document, and every other of the watchdog that the file sets.
fn became(conf: &Conf, watchdog: &Watchdog) -> Vec<Became> {
    let mut all = Vec::new();
    let native =
        watchdog.on && interface::told(&watchdog.up, &watchdog.down, &watchdog.arping).is_some();
    for parameter in PARAMETERS {
        let numbers = watchdog.others.iter().map(|other| Some(other.number));
        let numbers: Vec<Option<u32>> =
            if parameter.numbered { numbers.collect() } else { vec![None] };
        for number in numbers {
            let number = number.map(|number| number.to_string()).unwrap_or_default();
            let name = format!("{}{number}", parameter.name);
            let set = conf.find(&name.to_ascii_lowercase());
            let (key, why) = match parameter.becomes {
                _ if !watchdog.on && !SINGLE.contains(&parameter.name) => (None, Some(OFF)),
                Becomes::Nothing(why) => (None, Some(why)),
                Becomes::Key(_) if has_other_port(parameter.name, &number, watchdog) => {
                    (None, Some(OTHER_PORT))
                }
                Becomes::Key(key) => (Some(key), None),
                Becomes::Command(_) if native && NATIVE.contains(&parameter.name) => {
                    (None, Some(NO_PROGRAM))
                }
                Becomes::Command(key) if native => (Some(key), None),
                Becomes::Command(_) => (Some(of_command(parameter.name)), None),
            };
            all.push(Became {
                value: set.map_or(parameter.default, |set| &set.value).to_owned(),
                default: set.is_none(),
                key: key.map(|key| key.replace("NAME", &node_of(&number, watchdog))),
                why: why.map(str::to_owned),
                name,
            });
        }
    }
    let of_later = conf.names().into_iter().filter(|name| parameters::find(name).is_none());
    all.extend(of_later.filter_map(|name| {
        let why = parameters::of_later(name)?;
        Some(Became {
            value: conf.find(name).map(|set| set.value.clone()).unwrap_or_default(),
            default: false,
            key: None,
            why: Some(why.to_owned()),
            name: name.to_owned(),
        })
    }));
    all
}

/// What also a single node has.
const SINGLE: [&str; 5] =
    ["use_watchdog", "port", "wd_lifecheck_query", "wd_interval", "log_statement"];
const OFF: &str = "has no meaning while use_watchdog is off";

/// What has no meaning where no program is run for the address.
const NATIVE: [&str; 3] = ["ifconfig_path", "arping_path", "arping_cmd"];
const NO_PROGRAM: &str = "no program is run: giveover sets the address and announces it by itself";

const OTHER_PORT: &str = "a group's check asks every node at one port: that of `port` here";

/// Whether it is the port of another node's pgpool-II and differs from this one's.
fn has_other_port(name: &str, number: &str, watchdog: &Watchdog) -> bool {
    let number = number.parse().ok();
    let other = watchdog.others.iter().find(|other| Some(other.number) == number);
    name == "other_pgpool_port" && other.is_some_and(|it| it.pgpool_port != watchdog.pgpool_port)
}

fn of_command(name: &str) -> &'static str {
    match name {
        "if_up_cmd" => "group.pgpool.up",
        "if_down_cmd" => "group.pgpool.down",
        "ifconfig_path" => "group.pgpool.up, .down",
        _ => "group.pgpool.announce",
    }
}

fn node_of(number: &str, watchdog: &Watchdog) -> String {
    let number = number.parse().ok();
    let other = watchdog.others.iter().find(|other| Some(other.number) == number);
    other.map_or(&watchdog.hostname, |other| &other.hostname).clone()
}

/// How many parameters are none of the watchdog's.
fn others(conf: &Conf) -> usize {
    let is = |name: &&str| parameters::find(name).is_none() && parameters::of_later(name).is_none();
    conf.names().into_iter().filter(is).count()
}

/// The end of the text: what was left out, each with its reason.
fn left_out(parameters: &[Became], others: usize, text: &mut String) {
    let lines = parameters.iter().filter_map(|became| {
        let why = became.why.as_ref()?;
        let usual = if became.default { " (default)" } else { "" };
        // A control character would end the comment.
        let value = became.value.replace(char::is_control, "?");
        Some(format!("#   {} = '{value}'{usual}: {why}\n", became.name))
    });
    let lines: String = lines.collect();
    let _ = write!(text, "\n# Not taken over:\n{lines}"); // a string takes everything
    if others > 0 {
        let are = if others == 1 { "parameter is" } else { "parameters are" };
        let _ = writeln!(text, "#   {others} other {are} pgpool-II's own and none of its watchdog");
    }
}

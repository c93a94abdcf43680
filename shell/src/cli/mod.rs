//! The command line: one file per verb.
//!
//! A verb takes its arguments and a session, prints through the session's console, and
//! returns an exit status or why it stopped. What a verb shows is rendered in
//! [`crate::report`]; what a daemon knows is asked through [`control`].

mod act;
mod agent;
mod args;
mod board;
mod check;
mod completions;
pub mod console;
pub mod control;
mod debug;
pub mod duration;
mod engine;
mod events;
pub mod exit;
mod explain;
mod giveover;
mod help;
mod history;
mod hold;
mod import;
mod json;
mod key;
mod man;
mod monitor;
mod node;
mod notify;
mod other;
mod picture;
pub mod place;
mod pool;
mod preset;
mod probe;
mod reload;
mod replay;
mod run;
mod schema;
mod session;
mod simulate;
mod status;
mod tune;
mod wait;
mod watch;
mod witness;

#[cfg(test)]
mod docs;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

pub use args::Colour;
use args::{Cli, Verb};
use console::Console;
use exit::{Exit, Stop};
use session::Session;

use crate::check::{log, oracle, path, presence};
use crate::cluster::address::process as address;
use crate::config::look;
use crate::daemon;
use crate::service::exec;

pub use check::{CheckOptions, Checked};
pub use probe::ProbeRequest;
pub use run::RunOptions;

/// The whole command: reads this process's arguments and runs the verb they name.
#[must_use]
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // A service on its way to its own program: nothing of ours belongs before it.
    if arguments.get(1).is_some_and(|verb| verb == exec::VERB) {
        return exec::main(arguments.into_iter().skip(2));
    }
    if arguments.get(1).is_some_and(|verb| verb == address::VERB) {
        return address::main();
    }
    if let Some(look) = arguments.get(1).and_then(|verb| look_of(verb)) {
        return look(&mut arguments.into_iter().skip(2));
    }
    if arguments.get(1).is_some_and(|verb| verb == look::LISTENER_VERB) {
        return oracle::ask_listener(arguments.into_iter().skip(2));
    }
    if arguments.get(1).is_some_and(|verb| verb == look::RUN_AS) {
        return oracle::run_as(arguments.into_iter().skip(2));
    }
    // `run` that has read its configuration: nothing of ours is wanted for that any more.
    if let Some(descriptor) = daemon::prepare::is_prepared(&arguments) {
        return daemon::prepare::resume(descriptor).into();
    }
    run_with(&arguments, &mut Console::of_process()).into()
}

/// What looks at something of this host, under the verb that we run ourselves by.
type Look = fn(&mut dyn Iterator<Item = OsString>) -> ExitCode;

fn look_of(verb: &OsStr) -> Option<Look> {
    Some(match verb.to_str()? {
        look::VERB => |words| path::main(words),
        look::LIST_VERB => |words| path::main_of_list(words),
        look::PROCESS_VERB => |words| presence::main(words),
        look::LOG_VERB => |words| log::main(words),
        _ => return None,
    })
}

/// Runs the verb that `arguments` name; the first is our own name.
pub fn run_with(arguments: &[OsString], console: &mut Console) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return refused(&error, arguments, console),
    };
    let own_errors = own_errors(&cli.verb);
    let mut session = Session::new(&cli.common, console);
    match dispatch(cli.verb, &mut session) {
        Ok(exit) => exit,
        Err(Stop::Closed) => Exit::DONE,
        Err(Stop::Said(exit, text)) => {
            session.complain(&text);
            own_errors.unwrap_or(exit)
        }
    }
}

/// A probe's own errors share one status: that of a monitoring plugin which cannot tell.
fn own_errors(verb: &Verb) -> Option<Exit> {
    matches!(verb, Verb::Probe(_)).then_some(Exit::UNMEASURED)
}

fn dispatch(verb: Verb, session: &mut Session<'_>) -> Result<Exit, Stop> {
    match verb {
        Verb::Run(verb) => run::run(verb, session),
        Verb::Check(verb) => check::run(verb, session),
        Verb::Import(verb) => import::run(&verb, session),
        Verb::Preset(verb) => preset::run(&verb, session),
        Verb::Simulate(verb) => simulate::run(&verb, session),
        Verb::Replay(verb) => replay::run(&verb, session),
        Verb::Tune(verb) => tune::run(&verb, session),
        Verb::Probe(verb) => probe::run(&verb, session),
        Verb::Status(verb) => status::run(&verb, session),
        Verb::Explain(verb) => explain::run(&verb, session),
        Verb::History(verb) => history::run(&verb, session),
        Verb::Events(verb) => events::run(&verb, session),
        Verb::Wait(verb) => wait::run(&verb, session),
        Verb::Start(verb) => act::start(verb, session),
        Verb::Stop(targets) => act::run("stop", targets, session),
        Verb::Restart(targets) => act::run("restart", targets, session),
        Verb::Release(targets) => act::run("release", targets, session),
        Verb::Clear(targets) => act::run("clear", targets, session),
        Verb::Hold(verb) => hold::run(verb, session),
        Verb::Giveover(verb) => giveover::run(verb, session),
        Verb::Monitor(verb) => monitor::run(verb, session),
        Verb::Notify(verb) => notify::run(&verb, session),
        Verb::Agent(verb) => agent::run(&verb, session),
        Verb::Board(verb) => board::run(verb, session),
        Verb::Pool(verb) => pool::run(verb, session),
        Verb::Node(verb) => node::run(verb, session),
        Verb::Witness(verb) => witness::run(verb, session),
        Verb::Key(verb) => key::run(&verb, session),
        Verb::Reload(verb) => reload::run(&verb, session),
        Verb::Debug(verb) => debug::run(&verb, session),
        Verb::Help(verb) => help::run(&verb, session),
        Verb::Completions(verb) => completions::run(&verb, session),
        Verb::Man(verb) => man::run(&verb, session),
        Verb::Schema => schema::run(session),
        Verb::Internal(verb) => engine::internal(&verb.arguments),
        Verb::Other(words) => other::run(&words),
    }
}

/// What clap refused, or was asked to print instead.
fn refused(error: &clap::Error, arguments: &[OsString], console: &mut Console) -> Exit {
    let text = error.render();
    let asked_for = !error.use_stderr();
    let colour = !console.surroundings.colourless
        && if asked_for { console.terminal } else { console.error_terminal };
    let text = if colour { text.ansi().to_string() } else { text.to_string() };
    if asked_for {
        let _ = console.print(&text); // whoever asked has gone
        return Exit::DONE;
    }
    console.tell(&text);
    if first_word(arguments).is_some_and(|word| word == "probe") {
        Exit::UNMEASURED
    } else {
        Exit::USAGE
    }
}

/// The verb of a command line that clap could not read.
fn first_word(arguments: &[OsString]) -> Option<&str> {
    let mut words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        match word {
            "--socket" | "--color" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

/// The command line as clap has it, for help, completions and manual pages.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

//! What this binary is when it runs as a child of itself: `bench child ROLE …`.
//!
//! A role answers one question a line on standard input with numbers on standard output, its
//! first line says it is ready, and the end of its standard input ends it.

mod agents;
mod beat;
mod control;
mod pinned;
mod prober;
mod spawner;
mod speaker;
mod supervisor;
mod target;

use crate::why::Why;
use std::ffi::OsString;
use std::process::ExitCode;

/// The word after the program's name that makes it a role.
pub(crate) const CHILD: &str = "child";

/// What a beat writes into the events socket: `NAME PID MOMENT`, the moment in ns.
pub(crate) use beat::read as read_beat;

/// Runs one role to its end.
pub(crate) fn main(args: Vec<OsString>) -> ExitCode {
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("bench child: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[OsString]) -> Result<(), Why> {
    if args.first().is_some_and(|role| role == "pinned") {
        return pinned::run(&args[1..]);
    }
    let words: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
    if words.len() != args.len() {
        return Err(Why::new("an argument is not UTF-8"));
    }
    match words.as_slice() {
        ["beat", socket, name] => beat::service(socket, name),
        ["mark", socket, name] => beat::mark(socket, name),
        ["target", listeners, holes] => target::run(number(listeners)?, number(holes)?),
        ["agents", count] => agents::run(number(count)?),
        ["speaker", kind] => speaker::run(kind),
        ["prober", kind, list, interval, tick] => {
            prober::run(kind, list, number(interval)?, number(tick)?)
        }
        ["spawner", commands, interval, ballast] => {
            spawner::run(number(commands)?, number(interval)?, number(ballast)?)
        }
        ["supervisor", program, socket, services] => {
            supervisor::run(program, socket, number(services)?)
        }
        _ => Err(Why::new(format!("no such role: {words:?}"))),
    }
}

fn number<N: std::str::FromStr>(word: &str) -> Result<N, Why> {
    word.parse().map_err(|_| Why::new(format!("not a number: {word:?}")))
}

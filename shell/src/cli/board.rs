//! `giveover board`

mod test;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::duration;
use super::exit::{Exit, Stop};
use super::json;
use super::session::Session;
use crate::board::key::{self, KeyError};
use crate::board::pair::{self, Paired};
use crate::report::board as screens;
use crate::report::model::{BoardDoc, BoardEntryDoc, Command};

/// Ask and tell the board that resets this host
#[derive(Debug, Args)]
pub(super) struct Board {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say how it stands
    Status {
        /// Exit 1 unless it is armed
        #[arg(long)]
        exit_code: bool,
    },
    /// Look at everything that can be seen without touching the line; exit 1 if not all is well
    Test(test::Test),
    /// Give it the key; one that has another takes it only with its jumper set at power-up
    Pair(Pair),
    /// This boot is good: resets before it may be forgotten
    Confirm,
    /// Leave this host alone for a time, at most 15 minutes in an hour; then it arms itself again
    Disarm {
        /// How long: 30s, 10m
        #[arg(long = "for", value_name = "DURATION", value_parser = some_time)]
        length: u64,
    },
    /// Guard this host again
    Arm,
    /// Give the boot under way, or the next one, so much time: at most an hour
    Grace {
        /// How long
        #[arg(value_name = "DURATION", value_parser = some_time)]
        length: u64,
    },
    /// Forget its resets, and let go of a line that is held
    Clear,
    /// Show its own log
    Log,
    /// Announce a planned end, for hooks of the system such as those before a suspend
    #[command(hide = true)]
    End {
        /// stop, poweroff, suspend or reboot
        end: String,
    },
}

#[derive(Debug, Args)]
struct Pair {
    /// Without a daemon, on this port
    #[arg(long, value_name = "PATH", requires = "key")]
    port: Option<PathBuf>,
    /// The key's file; it is made if it is not there
    #[arg(long, value_name = "PATH", requires = "port")]
    key: Option<PathBuf>,
}

fn some_time(text: &str) -> Result<u64, String> {
    match duration::parse(text)? {
        0 => Err(String::from("no time at all")),
        ms => Ok(ms),
    }
}

pub(super) fn run(verb: Board, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let command = |action: &str, for_ms: Option<u64>| Command {
        verb: "board".into(),
        action: Some(action.into()),
        for_ms,
        ..Command::default()
    };
    match verb.action {
        Action::Status { exit_code } => status(exit_code, session),
        Action::Test(verb) => test::run(&verb, session),
        Action::Pair(Pair { port: Some(port), key: Some(key) }) => {
            pair_directly(&port, &key, session)
        }
        Action::Pair(_) => session.command(&command("pair", None)),
        Action::Confirm => session.command(&command("confirm", None)),
        Action::Disarm { length } => session.command(&command("disarm", Some(length))),
        Action::Arm => session.command(&command("arm", None)),
        Action::Grace { length } => session.command(&command("grace", Some(length))),
        Action::Clear => session.command(&command("clear", None)),
        Action::Log => log(session),
        Action::End { end } => session.command(&Command { to: Some(end), ..command("end", None) }),
    }
}

fn board(session: &Session<'_>) -> Result<BoardDoc, Stop> {
    let missing = || Stop::no_such("no board is configured: [board] has port and key");
    session.status()?.board.ok_or_else(missing)
}

fn status(exit_code: bool, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let doc = board(session)?;
    let text = if session.json { json::line(&doc) } else { screens::screen(&doc, session.paint) };
    session.print(&text)?;
    Ok(if exit_code && !doc.armed { Exit::NO } else { Exit::DONE })
}

fn log(session: &mut Session<'_>) -> Result<Exit, Stop> {
    let bytes = session.ask("/board/log")?;
    let entries: Vec<BoardEntryDoc> = session.read(&bytes)?;
    let text = if session.json { json::line(&entries) } else { screens::log(&entries) };
    session.print(&text)?;
    Ok(Exit::DONE)
}

/// On a port that no daemon has.
fn pair_directly(
    port: &std::path::Path,
    path: &std::path::Path,
    session: &mut Session<'_>,
) -> Result<Exit, Stop> {
    let refused = |error: KeyError| Stop::refused(format!("{} {error}", path.display()));
    // A key that was made stays, whatever comes of it: who knows whether the board has taken it?
    let key = match key::read(path) {
        Err(KeyError::Absent) => key::make(path).map_err(refused)?,
        read => read.map_err(refused)?,
    };
    let ended = pair::directly(port, key);
    let taken = matches!(ended, Ok(Paired::Taken { .. } | Paired::Already { .. }));
    let said = match ended {
        Ok(paired) => paired.told(key.id()),
        Err(why) => return Err(Stop::Said(Exit::NO, why)),
    };
    let text = if session.json {
        json::line(
            &serde_json::json!({ "paired": taken, "key": key.id().to_string(), "text": said }),
        )
    } else {
        format!("{said}\n")
    };
    session.print(&text)?;
    Ok(if taken { Exit::DONE } else { Exit::NO })
}

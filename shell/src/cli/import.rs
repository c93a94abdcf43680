//! `giveover import`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::exit::{Exit, Stop};
use super::json;
use super::session::Session;
use crate::config::import::pgpool;

/// Turn another program's configuration into ours
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(super) struct Import {
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// Print what a pgpool.conf's watchdog section (pgpool-II 3.2) comes to
    #[command(
        after_help = "Every parameter of the watchdog is translated, or named at the end with the \
                      reason why not; those that the file does not set have their defaults. Exits 3 \
                      with every error if pgpool-II's watchdog would not start with it."
    )]
    Pgpool {
        /// The pgpool.conf of one node
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

pub(super) fn run(verb: &Import, session: &mut Session<'_>) -> Result<Exit, Stop> {
    match &verb.from {
        From::Pgpool { file } => of_pgpool(file, session),
    }
}

fn of_pgpool(file: &Path, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Stop::refused(format!("cannot read {name}: {error}")))?;
    let host = rustix::system::uname();
    let hostname = host.nodename().to_string_lossy();
    let imported = pgpool::import(&name, &text, &hostname).map_err(|errors| {
        Stop::refused(format!("{name} is refused\n{errors}").trim_end().to_owned())
    })?;
    if session.json {
        session.print(&json::line(&imported))?;
    } else {
        session.print(&imported.text)?;
    }
    Ok(Exit::DONE)
}

//! `giveover key`

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::exit::{Exit, Stop};
use super::json;
use super::session::Session;
use crate::key::{self, KeyError};

/// Make keys that hosts share
#[derive(Debug, Args)]
pub(super) struct Key {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a new key: 32 random bytes in a file that only its owner may read
    New {
        /// The file; one that is there is left as it is
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
}

pub(super) fn run(verb: &Key, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let Action::New { path } = &verb.action;
    let refused = |error: KeyError| Stop::refused(format!("{} {error}", path.display()));
    key::make_secret(path).map_err(refused)?;
    if session.json {
        let made = serde_json::json!({ "made": path });
        session.print(&json::line(&made))?;
    } else {
        session.print(&format!("made {}; copy it to who shares it\n", path.display()))?;
    }
    Ok(Exit::DONE)
}

//! `giveover schema`

use super::exit::{Exit, Stop};
use super::json;
use super::session::Session;
use crate::config::schema;

/// A JSON Schema of the configuration, for editors that know TOML.
pub(super) fn run(session: &mut Session<'_>) -> Result<Exit, Stop> {
    session.print(&json::line(&schema::json()))?;
    Ok(Exit::DONE)
}

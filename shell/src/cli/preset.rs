//! `giveover preset`

use clap::Args;

use super::exit::{Exit, Stop};
use super::session::Session;
use super::{json, place};
use crate::config::preset;

/// Say what a preset stands for
#[derive(Debug, Args)]
#[command(
    after_help = "A name prints the table that `preset = \"NAME\"` puts under a service; none lists \
                  them."
)]
pub(super) struct Preset {
    /// The preset
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(super) fn run(verb: &Preset, session: &mut Session<'_>) -> Result<Exit, Stop> {
    match &verb.name {
        Some(name) => one(name, session),
        None => all(session),
    }
}

fn one(name: &str, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let Some(text) = preset::text(name) else {
        let near = place::nearest(name, preset::list().map(|(name, _)| name));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(Stop::usage(format!("no preset `{name}`{hint}")));
    };
    if session.json {
        let preset = serde_json::json!({ "name": name, "text": text });
        session.print(&json::line(&preset))?;
    } else {
        session.print(text)?;
    }
    Ok(Exit::DONE)
}

fn all(session: &mut Session<'_>) -> Result<Exit, Stop> {
    let presets: Vec<(&str, &str)> = preset::list().collect();
    if session.json {
        let list: Vec<serde_json::Value> = presets
            .iter()
            .map(|(name, purpose)| serde_json::json!({ "name": name, "purpose": purpose }))
            .collect();
        session.print(&json::line(&list))?;
        return Ok(Exit::DONE);
    }
    let width = presets.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, purpose): &(&str, &str)| match session.console.terminal {
        true => format!("{name:<width$}  {purpose}\n"),
        false => format!("{name}\t{purpose}\n"),
    };
    let text: String = presets.iter().map(line).collect();
    session.print(&text)?;
    Ok(Exit::DONE)
}

//! A recorded day once more: with the policy it was recorded with, which must decide the same to the
//! bit, or with another one, to see what that would have done.

mod board_log;
mod compare;
mod other;
mod recording;
mod render;

pub use self::board_log::BoardLog;
pub use self::compare::{Row, not_ok, rows, sentences};
pub use self::other::under;
pub use self::recording::{Differs, NoRecording, Recorded, Recording};
pub use self::render::{json, text};

use std::path::Path;

use giveover_core::board::Settings;
use giveover_core::policy::Policy;

use super::timeline::{Timeline, Track};
use crate::config;

/// What was recorded.
#[derive(Clone, Debug)]
pub enum Source {
    /// By a daemon.
    Journal(Box<Recording>),
    /// By a board.
    Board(BoardLog),
}

/// Reads the journal of a daemon or the log of a board at `path`.
///
/// # Errors
/// It is neither, or cannot be read to its end; what is wrong and what to do about it.
pub fn read(path: &Path) -> Result<Source, NoRecording> {
    let name = path.display().to_string();
    // a journal is not text; a log of a board is, and short
    if let Some(text) = short_text(path) {
        if let Some(log) = board_log::parse(&name, &text) {
            let log = log.map_err(|why| NoRecording { name, why })?;
            return Ok(Source::Board(log));
        }
    }
    Recording::read(path).map(|recording| Source::Journal(Box::new(recording)))
}

fn short_text(path: &Path) -> Option<String> {
    const MOST: u64 = 16 << 20;
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > MOST {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

/// Another policy for what was recorded.
#[derive(Clone, Debug)]
pub struct Other {
    /// The file it comes from.
    pub name: String,
    /// The services that the file says something about.
    pub services: Vec<Pair>,
    /// Services that it does not name: they stay as they were recorded.
    pub left: Vec<String>,
    /// Of a board: its settings.
    pub board: Option<Settings>,
    /// A sentence for each difference.
    pub sentences: Vec<String>,
}

/// A recorded service and what another policy would have done with it.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its place in the recording.
    pub place: usize,
    /// The other policy.
    pub policy: Policy,
    /// What it would have done.
    pub track: Track,
}

/// Plays `source` under the configuration in `file`. One with services gives each of the same name
/// its policy; one without any gives all of them `[policy.default]`.
///
/// # Errors
/// What is wrong with the file, or that it says nothing about what was recorded.
pub fn with(source: &Source, file: &Path) -> Result<Other, String> {
    let loaded = config::load(file).map_err(|errors| format!("{errors}{}", errors.summary()))?;
    let name = file.display().to_string();
    match source {
        Source::Journal(recording) => with_policies(recording, &loaded, name),
        Source::Board(log) => {
            let board = loaded.plan.board.as_ref().map(|board| board.settings);
            let Some(settings) = board else {
                return Err(format!(
                    "{name}: there is no [board] in it, and this is a board's log"
                ));
            };
            let sentences = log.sentences(&settings);
            let (services, left) = (Vec::new(), Vec::new());
            Ok(Other { name, services, left, board, sentences })
        }
    }
}

fn with_policies(
    recording: &Recording,
    loaded: &config::Loaded,
    name: String,
) -> Result<Other, String> {
    let mut other =
        Other { name, services: Vec::new(), left: Vec::new(), board: None, sentences: Vec::new() };
    for (place, recorded) in recording.services.iter().enumerate() {
        let policy = match policy_of(recorded, loaded) {
            Ok(Some(policy)) => policy,
            Ok(None) => {
                other.left.push(recorded.name.to_string());
                continue;
            }
            Err(why) => return Err(format!("{}: for {}: {why}", other.name, recorded.name)),
        };
        let track = under(recorded, policy, recording.end);
        other.sentences.extend(sentences(
            &recorded.track,
            &track,
            recording.end,
            &recording.calendar,
        ));
        other.services.push(Pair { place, policy, track });
    }
    if other.services.is_empty() {
        let names: Vec<&str> = recording.services.iter().map(|service| &*service.name).collect();
        return Err(format!(
            "{}: names none of the recorded services ({}); a file with only [policy.default] is \
             for all of them",
            other.name,
            names.join(", ")
        ));
    }
    Ok(other)
}

fn policy_of(recorded: &Recorded, loaded: &config::Loaded) -> Result<Option<Policy>, String> {
    let services = &loaded.plan.services;
    if let Some(service) = services.iter().find(|service| service.name == recorded.name) {
        return Ok(Some(*service.policy));
    }
    if !services.is_empty() {
        return Ok(None);
    }
    let scope = *recorded.start.policy().scope();
    match Policy::new(loaded.default_limits, scope) {
        Ok((policy, _)) => Ok(Some(policy)),
        Err(error) => Err(error.to_string()),
    }
}

impl Source {
    /// What was recorded as it is drawn; beside it what another policy would have done.
    #[must_use]
    pub fn timeline(&self, other: Option<&Other>) -> Timeline {
        match self {
            Self::Board(log) => log.timeline(other.and_then(|other| other.board.as_ref())),
            Self::Journal(recording) => {
                let mut timeline = recording.timeline();
                let Some(other) = other else { return timeline };
                timeline.title = format!("{}, and under {}", recording.name, other.name);
                let recorded = std::mem::take(&mut timeline.tracks);
                for (place, track) in recorded.into_iter().enumerate() {
                    let name = track.name.clone();
                    timeline
                        .tracks
                        .push(Track { name: format!("{name}, recorded").into(), ..track });
                    let pair = other.services.iter().find(|pair| pair.place == place);
                    timeline.tracks.extend(pair.map(|pair| Track {
                        name: format!("{name}, {}", other.name).into(),
                        ..pair.track.clone()
                    }));
                }
                timeline
            }
        }
    }

    /// Whether what is decided now is what was decided then.
    #[must_use]
    pub fn agrees(&self) -> bool {
        match self {
            Self::Journal(recording) => recording.differences.is_empty(),
            Self::Board(log) => log.contradictions().is_empty(),
        }
    }
}

#[cfg(test)]
mod tests;

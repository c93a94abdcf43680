//! The simulator: scenarios played in virtual time, against the same monitor the daemon has.
//!
//! In this version the small form ([`crate::config::scenario`]): one service, its methods and
//! the other side answer at once and as the scenario says.

pub mod chart;
pub mod peer;
mod play;
mod pool;
mod render;
pub mod replay;
pub mod timeline;
pub mod told;
pub mod tune;
pub mod world;

pub use self::play::{Difference, Played, Told, play};
pub use self::pool::{PoolPlayed, PoolTold};
pub use self::render::{exit_status, json_lines, text};

use std::path::Path;

use self::timeline::{Timeline, Track};

use crate::config::Report;
use crate::config::scenario::pool::PoolScenario;
use crate::config::scenario::{self, Scenario};

/// What became of a file's scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Each of them, in the order of the file.
    pub played: Vec<Played>,
    /// Those of pools, in the order of the file.
    pub pools: Vec<PoolPlayed>,
}

impl Outcome {
    /// Plays them, one after the other.
    #[must_use]
    pub fn of(scenarios: &[Scenario], pools: &[PoolScenario]) -> Self {
        Self {
            played: scenarios.iter().map(play).collect(),
            pools: pools.iter().map(pool::play).collect(),
        }
    }

    /// How many steps there were.
    #[must_use]
    pub fn steps(&self) -> usize {
        let pools = self.pools.iter().map(|played| played.steps.len()).sum::<usize>();
        pools + self.played.iter().map(|played| played.steps.len()).sum::<usize>()
    }

    /// How many of them something was expected of.
    #[must_use]
    pub fn expected(&self) -> usize {
        let pools = self.all_of_pools().filter(|told| told.expected).count();
        pools + self.all().filter(|told| told.expected).count()
    }

    /// How many came out otherwise than expected.
    #[must_use]
    pub fn differing(&self) -> usize {
        let pools = self.all_of_pools().filter(|told| !told.differences.is_empty()).count();
        pools + self.all().filter(|told| !told.differences.is_empty()).count()
    }

    fn all_of_pools(&self) -> impl Iterator<Item = &PoolTold> {
        self.pools.iter().flat_map(|played| &played.steps)
    }

    /// All of them on one sheet, a track each.
    #[must_use]
    pub fn timeline(&self, title: &str) -> Timeline {
        let tracks = self.played.iter().map(|played| {
            let name = played.name.as_str().into();
            Track { name, ..played.track.clone() }
        });
        let ends = self.pools.iter().filter_map(|played| played.steps.last().map(|told| told.at));
        let ends = ends.chain(self.played.iter().map(|played| played.end));
        Timeline {
            title: title.to_owned(),
            end: ends.max().unwrap_or_default(),
            tracks: tracks.collect(),
            pools: self.pools.iter().map(|played| played.lane.clone()).collect(),
            ..Timeline::default()
        }
    }

    fn all(&self) -> impl Iterator<Item = &Told> {
        self.played.iter().flat_map(|played| &played.steps)
    }
}

/// Plays every scenario of `text`, called `name` in messages.
///
/// # Errors
/// Everything that is wrong with the file; nothing was played.
pub fn run_text(text: &str, name: &str) -> Result<Outcome, Report> {
    let pools = scenario::pool::load_str(name, text);
    Ok(Outcome::of(&scenario::load_str(name, text)?, &pools?))
}

/// Plays every scenario of the file at `path`.
///
/// # Errors
/// As [`run_text`]; also that it cannot be read.
pub fn run_file(path: &Path) -> Result<Outcome, Report> {
    let pools = scenario::pool::load(path);
    Ok(Outcome::of(&scenario::load(path)?, &pools?))
}

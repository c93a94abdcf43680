//! `--svg`, `--html`, and the small picture in a terminal.

use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{Exit, Stop};
use super::session::Session;
use crate::report::table::WIDTH;
use crate::sim::chart;
use crate::sim::timeline::Timeline;

/// Where to draw.
#[derive(Debug, Args)]
pub(super) struct Pictures {
    /// Draw the timeline into this file
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    /// Draw it as a page that needs nothing else
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

impl Pictures {
    /// Draws what is wanted; on a terminal also the small picture.
    pub(super) fn draw(
        &self,
        timeline: &Timeline,
        sentences: &[String],
        session: &mut Session<'_>,
    ) -> Result<(), Stop> {
        if let Some(path) = &self.svg {
            write(path, &chart::svg(timeline))?;
        }
        if let Some(path) = &self.html {
            write(path, &chart::html(timeline, sentences))?;
        }
        small(timeline, session)
    }
}

/// The small picture, where people are looking.
pub(super) fn small(timeline: &Timeline, session: &mut Session<'_>) -> Result<(), Stop> {
    if !session.for_people() || timeline.is_empty() {
        return Ok(());
    }
    let width = session.console.width().unwrap_or(80).min(WIDTH);
    let picture = chart::blocks(timeline, width, session.paint);
    session.print(&format!("\n{picture}"))
}

fn write(path: &Path, text: &str) -> Result<(), Stop> {
    std::fs::write(path, text)
        .map_err(|error| Stop::Said(Exit::NO, format!("cannot write {}: {error}", path.display())))
}

//! `giveover simulate`

use std::path::PathBuf;

use clap::Args;

use super::engine::{self, Wanted};
use super::exit::{Exit, Stop};
use super::json;
use super::picture::Pictures;
use super::session::Session;
use crate::sim::world::EXAMPLES;

/// Run scenarios in virtual time and compare with what they expect
#[derive(Debug, Args)]
#[command(
    after_help = "Prints what happened, and exits 1 with a diff where an `expect` or an `[assert]` \
                  differs. A file of [[scenario]]s is one service step by step; any other is a whole \
                  host: services, faults scripted or drawn from rates, a board. The same seed and \
                  version play the same on any machine. --runs plays it with so many seeds from \
                  --seed on and prints percentiles and the worst seed. With --json an object a line."
)]
pub(super) struct Simulate {
    /// Scenario files
    #[arg(value_name = "FILE", required_unless_present = "example")]
    files: Vec<PathBuf>,
    /// Print a ready scenario; without a name, list them
    #[arg(
        long,
        value_name = "NAME",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["files", "runs", "seed", "svg", "html"]
    )]
    example: Option<String>,
    /// Play it so many times
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    runs: Option<u64>,
    /// What chance is drawn from, instead of the file's own
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Look at every invariant after every step
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    pictures: Pictures,
}

pub(super) fn run(verb: &Simulate, session: &mut Session<'_>) -> Result<Exit, Stop> {
    if let Some(name) = &verb.example {
        return example(name, session);
    }
    let mut worst = 0;
    for file in &verb.files {
        let wanted =
            Wanted { json: session.json, seed: verb.seed, runs: verb.runs, watch: verb.watch };
        let mut shown = 0;
        let progress = session.console.error_terminal && !session.json;
        let console = &mut session.console;
        let played = engine::simulate(file, wanted, &mut |done, all| {
            let percent = done * 100 / all;
            if progress && (percent > shown || done == all) {
                shown = percent;
                let filled = "#".repeat(percent as usize / 4);
                console.show_progress(&format!("[{filled:25}] {done} of {all} runs"), done == all);
            }
        });
        worst = worst.max(played.exit);
        session.print(&played.text)?;
        if !played.refused.is_empty() {
            session.console.tell(&played.refused);
        }
        if let Some(timeline) = &played.timeline {
            verb.pictures.draw(timeline, &played.sentences, session)?;
        }
    }
    Ok(Exit(worst))
}

/// Prints the example called `name`, or what there is.
fn example(name: &str, session: &mut Session<'_>) -> Result<Exit, Stop> {
    if let Some(example) = EXAMPLES.iter().find(|example| example.name == name) {
        let text = match session.json {
            true => json::line(&serde_json::json!({ "name": name, "text": example.text })),
            false => example.text.to_owned(),
        };
        session.print(&text)?;
        return Ok(Exit::DONE);
    }
    if !name.is_empty() {
        let near = super::place::nearest(name, EXAMPLES.iter().map(|example| example.name));
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(Stop::usage(format!("no example is called `{name}`{hint}")));
    }
    let lines = EXAMPLES.iter().map(|example| match session.json {
        true => json::line(&serde_json::json!({ "name": example.name, "about": example.about })),
        false => format!("{:14}{}\n", example.name, example.about),
    });
    let text: String = lines.collect();
    session.print(&text)?;
    Ok(Exit::DONE)
}

//! `giveover pool`

use clap::{Args, Subcommand};

use super::duration;
use super::exit::{Exit, Stop};
use super::json;
use super::place;
use super::session::Session;
use crate::report::model::{Command, PoolDoc};
use crate::report::pool as screens;
use crate::report::status::taken;

/// Look at pools, and take members out of distribution
#[derive(Debug, Args)]
pub(super) struct Pool {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show members, how their checks are, and who is told
    List {
        /// Only these
        #[arg(value_name = "POOL")]
        pools: Vec<String>,
    },
    /// No new work for a member; ends by itself, and it rejoins once its checks have passed
    Drain(Drain),
    /// End a drain; the member rejoins once its checks have passed
    Enable(Member),
    /// Say what a member's agent has to say
    Report(Report),
}

#[derive(Debug, Args)]
struct Member {
    /// Its pool
    pool: String,
    /// The member
    member: String,
}

#[derive(Debug, Args)]
struct Drain {
    #[command(flatten)]
    member: Member,
    /// How long: 10m, 1h; or `ever`
    #[arg(long = "for", value_name = "DURATION", value_parser = length, default_value = "1h")]
    length: u64,
    /// Cut the connections that are left after this; without it, when the drain is over. Needs
    /// cut = true
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    cut_after: Option<u64>,
    /// Why, for whoever looks at it next
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Each report says everything: without --failed no work unit has failed. With \
                  `heartbeat` in the pool, reports that stop exclude the member."
)]
struct Report {
    #[command(flatten)]
    member: Member,
    /// How much it has to do, in percent
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    load: Option<u8>,
    /// A work unit has failed: it is excluded at once
    #[arg(long)]
    failed: bool,
}

/// Only the largest number means for ever, and it has to be spelled out.
fn length(text: &str) -> Result<u64, String> {
    match text {
        "ever" => Ok(u64::MAX),
        _ => match duration::parse(text)? {
            0 => Err(String::from("a drain of no length drains nothing")),
            ms => Ok(ms),
        },
    }
}

pub(super) fn run(verb: Pool, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let command = |action: &str, member: Member| Command {
        verb: "pool".into(),
        action: Some(action.into()),
        services: vec![member.pool, member.member],
        ..Command::default()
    };
    match verb.action {
        Action::List { pools } => list(&pools, session),
        Action::Drain(Drain { member, length, cut_after, reason }) => session.command(&Command {
            for_ms: Some(length),
            cut_after_ms: cut_after,
            reason,
            ..command("drain", member)
        }),
        Action::Enable(member) => session.command(&command("enable", member)),
        Action::Report(Report { member, load, failed }) => {
            session.command(&Command { load, failed, ..command("report", member) })
        }
    }
}

fn list(names: &[String], session: &mut Session<'_>) -> Result<Exit, Stop> {
    let doc = session.status()?;
    let mut pools: Vec<PoolDoc> = Vec::new();
    for name in names {
        let found = doc.pools.iter().find(|pool| pool.name == *name);
        let missing = || {
            let near = place::nearest(name, doc.pools.iter().map(|pool| pool.name.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Stop::no_such(format!("no pool `{name}`{hint}"))
        };
        pools.push(found.ok_or_else(missing)?.clone());
    }
    if names.is_empty() {
        pools.clone_from(&doc.pools);
    }
    let text = if session.json {
        json::line(&pools)
    } else if session.console.terminal {
        screens::screen(&pools, taken(&doc), session.paint)
    } else {
        screens::plain(&pools, taken(&doc))
    };
    session.print(&text)?;
    Ok(Exit::DONE)
}

//! `giveover node`

use clap::{Args, Subcommand};

use super::exit::{Exit, Stop};
use super::json;
use super::place;
use super::session::Session;
use crate::report::model::{Command, GroupDoc};
use crate::report::node as screens;

/// Look at the nodes, and move what moves between them
#[derive(Debug, Args)]
pub(super) struct Node {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show who is active, who is heard, and why somebody is not
    Status {
        /// Only these groups
        #[arg(value_name = "GROUP")]
        groups: Vec<String>,
    },
    /// Give a group over to another node, in good order
    Switch(Switch),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Said on the active node: stopped and proven stopped here, then started there. With \
                  --force said on the node that is to be active: nobody is asked, so be sure that \
                  the other is off."
)]
struct Switch {
    /// The group, where there are several
    #[arg(value_name = "GROUP")]
    group: Option<String>,
    /// The node that is to take it
    #[arg(long, value_name = "NODE")]
    to: Option<String>,
    /// Make it active on this node by your word alone
    #[arg(long)]
    force: bool,
}

pub(super) fn run(verb: Node, session: &mut Session<'_>) -> Result<Exit, Stop> {
    match verb.action {
        Action::Status { groups } => status(&groups, session),
        Action::Switch(Switch { group, to, force }) => session.command(&Command {
            verb: "node".into(),
            action: Some("switch".into()),
            services: group.into_iter().collect(),
            to,
            force,
            ..Command::default()
        }),
    }
}

fn status(names: &[String], session: &mut Session<'_>) -> Result<Exit, Stop> {
    let doc = session.status()?;
    if doc.groups.is_empty() {
        return Err(Stop::no_such("there is no [group.NAME] in the configuration".to_owned()));
    }
    let mut groups: Vec<GroupDoc> = Vec::new();
    for name in names {
        let found = doc.groups.iter().find(|group| group.name == *name);
        let missing = || {
            let near = place::nearest(name, doc.groups.iter().map(|group| group.name.as_str()));
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Stop::no_such(format!("no group `{name}`{hint}"))
        };
        groups.push(found.ok_or_else(missing)?.clone());
    }
    if names.is_empty() {
        groups.clone_from(&doc.groups);
    }
    let text = if session.json {
        json::line(&groups)
    } else if session.console.terminal {
        screens::screen(&groups, session.paint)
    } else {
        screens::plain(&groups)
    };
    session.print(&text)?;
    Ok(Exit::DONE)
}

//! `giveover node`

use clap::{Args, Subcommand};

use super::duration;
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
    /// Members of the group's pool take part again, on every node
    Attach(Members),
    /// Members of the group's pool take part no more, on every node
    Detach(Members),
    /// Make a member of the group's pool the primary, on every node
    Promote(Members),
    /// Refuse new connections to the group's service on every node, for a while
    Recover(Recover),
}

#[derive(Debug, Args)]
#[command(
    after_help = "The active numbers it, and every node carries it out once; who is away does when \
                  it comes back."
)]
struct Members {
    /// The members
    #[arg(value_name = "MEMBER", required = true)]
    members: Vec<String>,
    /// The group, where there are several
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Established connections go on. Either every node that is heard refuses new ones, \
                  or none does, which is said and exits 1. It ends with --end on the same node, or \
                  by itself."
)]
struct Recover {
    /// The group, where there are several
    #[arg(value_name = "GROUP")]
    group: Option<String>,
    /// It ends by itself after this
    #[arg(
        long = "for",
        value_name = "DURATION",
        value_parser = duration::parse,
        default_value = "10m"
    )]
    length: u64,
    /// It is over
    #[arg(long)]
    end: bool,
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
    let shared = |action: &str, Members { members, group }: Members| Command {
        verb: "node".into(),
        action: Some(action.into()),
        services: members,
        group,
        ..Command::default()
    };
    match verb.action {
        Action::Attach(members) => session.command(&shared("attach", members)),
        Action::Detach(members) => session.command(&shared("detach", members)),
        Action::Promote(members) => session.command(&shared("promote", members)),
        Action::Recover(Recover { group, length, end }) => session.command(&Command {
            verb: "node".into(),
            action: Some(if end { "recovered" } else { "recover" }.into()),
            for_ms: Some(length),
            group,
            ..Command::default()
        }),
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

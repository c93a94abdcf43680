//! What the source document's watchdog would say of the same, for `events --legacy`. Node 0 is the
//! one that speaks; witnesses, which it does not know, are left out.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use giveover_core::node::Node;
use giveover_core::peer::{Look, Mismatch, Role};

use super::boot_now;
use crate::cluster::pair::Why;
use crate::config::plan::ClusterPlan;
use crate::daemon::{Daemon, exit};
use crate::message::{Event, watchdog};

/// The document's number of a node that is down.
const DOWN: u8 = 4;

/// What it says of a node that does not begin, by our exit status.
const fn refusal(status: u8) -> &'static [&'static str] {
    match status {
        exit::NO_PRIVILEGE => &[watchdog::NO_PRIVILEGE],
        exit::NO_TRUSTED => &watchdog::NO_TRUSTED_SERVER,
        exit::ADDRESS_IN_USE => &watchdog::ADDRESS_EXISTS,
        exit::REFUSED_BY_PEER => &watchdog::REFUSED,
        _ => &[],
    }
}

impl Daemon {
    /// This node does not take part, or no more.
    pub(in crate::daemon) fn tell_legacy_refusal(&mut self, status: u8) {
        for line in refusal(status) {
            self.say_host(Event::WatchdogError, (*line).to_owned());
        }
    }

    /// A node begins to take part.
    pub(super) fn tell_legacy_start(&mut self) {
        let commands = self.cluster.as_deref().is_some_and(|it| uses_setuid(&it.plan));
        if commands && self.acts_for_groups() {
            self.say_host(Event::Watchdog, watchdog::SETUID_COMMANDS.to_owned());
        }
        self.say_host(Event::Watchdog, watchdog::STARTED.to_owned());
    }

    /// It was told to stop.
    pub(in crate::daemon) fn tell_legacy_stop(&mut self) {
        if self.cluster.is_some() {
            self.say_host(Event::Watchdog, watchdog::STOP_REQUESTED.to_owned());
            self.say_host(Event::Watchdog, watchdog::process(std::process::id()));
        }
    }

    /// A connection to `node` came to nothing: once, until it is heard.
    pub(super) fn tell_legacy_connection(&mut self, node: Node, why: Option<Why>) {
        let Some(cluster) = &mut self.cluster else { return };
        if why == Some(Why::Refused) && !cluster.refusing.has(node) && !cluster.heard.has(node) {
            cluster.refusing = cluster.refusing.with(node);
            self.say_host(Event::Watchdog, watchdog::CONNECT_REFUSED.to_owned());
        }
    }

    /// `node` is heard: from the first of them on nodes are watched.
    pub(super) fn tell_legacy_heard(&mut self, node: Node) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.refusing = cluster.refusing.without(node);
        let witness = cluster.plan.members.witnesses;
        if witness.has(node) || witness.has(cluster.me) {
            return;
        }
        if !std::mem::replace(&mut cluster.watching, true) {
            self.say_host(Event::Watchdog, watchdog::LIFE_CHECK_STARTED.to_owned());
        }
    }

    /// Another node's configuration is not ours.
    pub(super) fn tell_legacy_mismatch(&mut self, why: Mismatch) {
        if why == Mismatch::Addresses {
            self.say_host(Event::WatchdogError, watchdog::MISMATCH.to_owned());
        }
    }

    /// One look: each node as it was before it, and what the look made of it.
    pub(super) fn tell_life_check(&mut self, group: usize, look: &Look) {
        let now = boot_now();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let (me, most) = (cluster.me, cluster.plan.limits.life);
        let (wait, witnesses) = (cluster.plan.limits.wait, cluster.plan.members.witnesses);
        let Some(state) = cluster.groups.get_mut(group).filter(|_| !witnesses.has(me)) else {
            return;
        };
        let mut nodes = Vec::new();
        let order = std::iter::once(me).chain(
            (0..u8::try_from(cluster.plan.nodes.len()).unwrap_or(u8::MAX))
                .map(Node)
                .filter(|node| *node != me && !witnesses.has(*node)),
        );
        for node in order {
            let Some(plan) = cluster.plan.nodes.get(usize::from(node.0)) else { continue };
            let Some(left) = state.lives.get_mut(usize::from(node.0)) else { continue };
            let (status, life, passed) = match state.machine.member(node) {
                _ if node == me => {
                    let role = state.machine.role();
                    let well = look.own.unwrap_or(role != Role::Down);
                    (role.number(), state.machine.life(), Some(well))
                }
                // Who was never seen is not asked yet.
                None => (Role::Init.number(), most, None),
                Some(member) if member.heard().is_none() => (Role::Init.number(), most, None),
                Some(member) => {
                    let failed = look.failed.has(node) || !member.lives(now, wait);
                    let life = (*left).min(member.life());
                    let status = if life == 0 { DOWN } else { member.role().number() };
                    (status, life, Some(!failed))
                }
            };
            match passed {
                Some(true) => *left = most,
                Some(false) => *left = left.saturating_sub(1),
                None => {}
            }
            let port = plan.port.unwrap_or(cluster.plan.port);
            nodes.push(watchdog::Node { host: plan.host.to_string(), port, status, life, passed });
        }
        for (event, text) in watchdog::life_check(&nodes, most) {
            self.say_host(event, text);
        }
    }
}

/// Whether a command for an address runs with rights of its own.
fn uses_setuid(plan: &ClusterPlan) -> bool {
    let commands = plan.groups.iter().filter_map(|group| group.commands.as_ref());
    commands.flat_map(|it| [Some(&it.up), Some(&it.down), it.announce.as_ref()]).flatten().any(
        |argv| {
            let program = argv.first().and_then(|name| found(name));
            let about = program.and_then(|path| std::fs::metadata(path).ok());
            about.is_some_and(|it| it.uid() == 0 && it.permissions().mode() & 0o4000 != 0)
        },
    )
}

/// Where a program is, as it would be run.
fn found(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(Path::new(name))).find(|it| it.is_file())
}

//! Commands of groups: `on_active`, `on_standby`, and what cuts a peer's power.

use giveover_core::node::Node;
use giveover_core::peer::{Event, Ticket};
use giveover_core::time::Span;
use nix::errno::Errno;

use super::boot_now;
use super::recovery::What;
use crate::board::link::Failed;
use crate::cluster::carrier::Hook;
use crate::config::dollar::Values;
use crate::config::plan::Fence;
use crate::daemon::Daemon;
use crate::message;
use crate::reactor::{Done, End, Exit, Keep, Order, Program, Ready, SpawnError, Token};

/// What a supply still feeds once it is cut is dead after this.
const DEAD_AFTER: Span = Span::from_secs(2);

/// A command that runs for a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Running {
    /// One of its own: one at a time.
    Hook(usize, Hook),
    Fence(usize, Ticket, Node),
    /// One for what it shares.
    Shared(usize, What),
}

impl Daemon {
    pub(in crate::daemon) fn group_command_ready(&mut self, ready: Ready) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        cluster.runner.ready(&mut self.reactor, ready.token, now);
        self.take_group_commands();
    }

    pub(in crate::daemon) fn group_command_due(&mut self, token: Token) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        cluster.runner.due(&mut self.reactor, token, now);
        self.take_group_commands();
    }

    /// Runs a command of the group; its end comes to the carrier.
    pub(super) fn begin_hook(&mut self, group: usize, hook: Hook) {
        let argv =
            self.cluster.as_deref().and_then(|it| it.plan.groups.get(group)).and_then(|plan| {
                match hook {
                    Hook::OnActive => plan.on_active.clone(),
                    Hook::OnStandby => plan.on_standby.clone(),
                }
            });
        let argv = argv.unwrap_or_default();
        self.run_for_group(Running::Hook(group, hook), &argv, None);
    }

    /// The end of what runs for the group is wanted no more.
    pub(super) fn cancel_hooks(&mut self, group: usize) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        if let Some(run) = cluster.groups.get_mut(group).and_then(|state| state.hook.take()) {
            cluster.runner.cancel(&mut self.reactor, run, now);
        }
    }

    /// Cuts a peer's power: exit 0 is the acknowledgement, and nothing else is.
    pub(super) fn begin_fence(&mut self, group: usize, ticket: Ticket, node: Node) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let fence = cluster.plan.fence.clone();
        let text = format!("{} is silent: its power is being cut", cluster.name(node));
        self.say_host(message::Event::Nodes, text);
        match fence {
            Some(Fence::Command(argv)) => {
                self.run_for_group(Running::Fence(group, ticket, node), &argv, Some(node));
            }
            Some(Fence::Board) => self.fence_by_board(group, ticket, node),
            None => self.tell_group(group, Event::Fenced { ticket, ok: false }), // refused by the file
        }
    }

    /// The board has its second line on, or will not. What it is wired to needs a moment to be dead.
    pub(in crate::daemon) fn board_fenced(
        &mut self,
        group: usize,
        ticket: Ticket,
        node: Node,
        result: Result<(), Failed>,
    ) {
        let Some(cluster) = &mut self.cluster else { return };
        let name = cluster.name(node);
        if let Err(failed) = result {
            self.say_host(message::Event::Nodes, format!("fence of {name}: {failed}"));
            return self.tell_group(group, Event::Fenced { ticket, ok: false });
        }
        cluster.fenced.push((boot_now().after(DEAD_AFTER), group, ticket));
        let text = format!("the power of {name} is cut, as the board acknowledges");
        self.say_host(message::Event::Nodes, text);
    }

    /// Those that the board has fenced are dead by now.
    pub(super) fn look_after_fenced(&mut self) {
        let now = boot_now();
        let Some(cluster) = &mut self.cluster else { return };
        let fenced = std::mem::take(&mut cluster.fenced);
        let (dead, rest): (Vec<_>, Vec<_>) = fenced.into_iter().partition(|(at, ..)| *at <= now);
        cluster.fenced = rest;
        for (_, group, ticket) in dead {
            self.tell_group(group, Event::Fenced { ticket, ok: true });
        }
    }

    fn run_for_group(&mut self, running: Running, argv: &[String], about: Option<Node>) {
        let now = self.now;
        let until = now.after(self.plan.giveover.timeout);
        let me = self.plan.host.node.clone();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let to = about.map(|node| cluster.name(node));
        let at = about.and_then(|node| cluster.plan.nodes.get(usize::from(node.0)));
        let at = at.map(|plan| plan.host.to_string());
        // What it guards may refuse whoever comes with a lower one.
        let token = match running {
            Running::Hook(group, Hook::OnActive) => {
                cluster.groups.get(group).map(|state| state.machine.term().to_string())
            }
            Running::Hook(_, Hook::OnStandby) | Running::Fence(..) | Running::Shared(..) => None,
        };
        let values = Values {
            node: Some(&me),
            to: to.as_deref(),
            address: at.as_deref(),
            token: token.as_deref(),
            ..Values::default()
        };
        let environment = self.reactor.children.environment().clone();
        let Ok(mut program) = Program::expanded(argv, &values, &environment) else {
            let end = End::NotRun(SpawnError::CannotRun(Errno::EINVAL));
            return self.group_command_done(&Done {
                key: running,
                end,
                began: now,
                output: Vec::new(),
            });
        };
        let order = Order { program: &mut program, until, keep: Keep::Line, leave: true };
        let run = cluster.runner.start(&mut self.reactor, running, order, now);
        if let Running::Hook(group, ..) = running {
            if let Some(state) = cluster.groups.get_mut(group) {
                state.hook = run;
            }
        }
        self.take_group_commands();
    }

    pub(super) fn take_group_commands(&mut self) {
        while let Some(done) = self.cluster.as_mut().and_then(|cluster| cluster.runner.done()) {
            self.group_command_done(&done);
        }
    }

    fn group_command_done(&mut self, done: &Done<Running>) {
        if done.end == End::Cancelled {
            return;
        }
        let ok = done.end == End::Exit(Some(Exit::Status(0)));
        let how = match done.end {
            End::Exit(Some(exit)) => exit.to_string(),
            End::Exit(None) => "nobody knows how it ended".to_owned(),
            End::TimedOut => "not done within giveover.timeout".to_owned(),
            End::NotRun(error) => format!("could not be run: {error}"),
            End::Cancelled => String::new(),
        };
        let how = done.line().map_or(how.clone(), |line| format!("{how}: {line}"));
        match done.key {
            Running::Hook(group, hook) => {
                let Some(cluster) = &mut self.cluster else { return };
                let name = cluster.plan.groups.get(group).map_or("", |plan| plan.name.as_str());
                let word = match hook {
                    Hook::OnActive => "on_active",
                    Hook::OnStandby => "on_standby",
                };
                let text = format!("{name}: {word}: {how}");
                let Some(state) = cluster.groups.get_mut(group) else { return };
                state.hook = None;
                let orders = state.carrier.ran(hook, ok);
                if !ok {
                    self.say_host(message::Event::Nodes, text);
                }
                self.follow_orders(group, orders);
            }
            Running::Fence(group, ticket, node) => {
                let name = self.cluster.as_deref().map_or(String::new(), |it| it.name(node));
                if ok {
                    let text = format!("the power of {name} is cut, as its fence acknowledges");
                    self.say_host(message::Event::Nodes, text);
                } else {
                    self.say_host(message::Event::Nodes, format!("fence of {name}: {how}"));
                }
                self.tell_group(group, Event::Fenced { ticket, ok });
            }
            Running::Shared(group, what) => self.shared_command_done(group, what, ok, &how),
        }
    }
}

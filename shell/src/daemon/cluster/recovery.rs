//! Recovery of a group: new connections to its service are refused on every node for a while.

use std::collections::BTreeSet;

use giveover_core::node::Nodes;
use giveover_core::peer;
use giveover_core::share::{Answer, Event, Lasting, Number, Ticket};
use giveover_core::time::Span;

use super::boot_now;
use super::run::Running;
use crate::cluster::store::Left;
use crate::config::dollar::Values;
use crate::config::plan::RecoveryPlan;
use crate::daemon::Daemon;
use crate::daemon::control::ClientId;
use crate::message::{self, span};
use crate::reactor::{Keep, Order, Program, Run};
use crate::report::model::Reply;

/// What runs for what a group shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// New connections are being refused.
    Block(Ticket),
    /// They are being taken again.
    Unblock,
    /// A member is being made the primary, as this command asked for.
    Promote(Number),
}

/// nftables' own table of a group: its name has no character that would end it.
fn table(group: usize, name: &str) -> String {
    let safe = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    format!("giveover_{group}_{}", name.chars().map(safe).collect::<String>())
}

/// Takes `table` away, if it is there.
fn without(table: &str) -> String {
    format!("add table inet {table}\ndelete table inet {table}\n")
}

/// New connections to `ports` are reset, and established ones go on. The kernel forgets it after
/// `left_ms` by itself, should nobody be there to end it.
fn refusing(table: &str, ports: &BTreeSet<u16>, left_ms: u64) -> String {
    let seconds = left_ms.div_ceil(1000).max(1);
    let elements: Vec<String> =
        ports.iter().map(|port| format!("{port} timeout {seconds}s")).collect();
    format!(
        "{}table inet {table} {{\n\
         set ports {{ type inet_service; flags timeout; elements = {{ {} }}; }}\n\
         chain input {{\n\
         type filter hook input priority -150; policy accept;\n\
         tcp flags & (fin | syn | rst | ack) == syn tcp dport @ports reject with tcp reset\n\
         }}\n}}\n",
        without(table),
        elements.join(", ")
    )
}

impl Daemon {
    /// A person begins a recovery of `group`.
    pub(super) fn begin_recovery(&mut self, client: ClientId, group: usize, lasts: Span) {
        let heard = self.heard_nodes();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let witnesses = cluster.plan.members.witnesses;
        let serve: Nodes = cluster.others().iter().filter(|node| !witnesses.has(*node)).collect();
        let among: Nodes = serve.iter().filter(|node| heard.has(*node)).collect();
        let Some(state) = cluster.groups.get_mut(group) else { return };
        if let Some((by, until)) = state.shared.machine.recovery() {
            let left = span::compact(until.since(boot_now()));
            let text = format!("{} has begun one; it ends by itself in {left}", cluster.name(by));
            return self.reply(client, &Reply { exit: 1, lines: vec![text] });
        }
        state.shared.begins = Some(client);
        self.tell_shared(group, Event::Recover { lasts, among });
    }

    /// A person ends the recovery of `group`.
    pub(super) fn end_recovery(&mut self, client: ClientId, group: usize) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let Some(state) = cluster.groups.get(group) else { return };
        let (exit, text) = match state.shared.machine.recovery() {
            None => (0, "there is none".to_owned()),
            Some((by, _)) if by == cluster.me => {
                self.tell_shared(group, Event::Recovered);
                (0, "ended: every node takes connections again".to_owned())
            }
            Some((by, _)) => (1, format!("{} has begun it: end it there", cluster.name(by))),
        };
        self.reply(client, &Reply { exit, lines: vec![text] });
    }

    /// What came of a start.
    pub(super) fn recovery_answer(&mut self, group: usize, answer: Answer) {
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let name = cluster.plan.groups.get(group).map_or(String::new(), |it| it.name.clone());
        let witnesses = cluster.plan.members.witnesses;
        let silent: Vec<String> = cluster
            .others()
            .iter()
            .filter(|node| !witnesses.has(*node) && !cluster.heard.has(*node))
            .map(|node| cluster.name(node))
            .collect();
        let me = cluster.me;
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let until = state.shared.machine.recovery().map(|(_, until)| until);
        let client = state.shared.begins.take();
        let (exit, mut lines) = match answer {
            Answer::Recovering => {
                let left = until.map_or(0, |until| until.since(boot_now()));
                let text = format!(
                    "{name}: no node takes new connections; this ends by itself in {}",
                    span::compact(left)
                );
                (0, vec![text])
            }
            Answer::RefusedBy(node) if node == me => {
                (1, vec![format!("{name}: this node cannot refuse new connections")])
            }
            Answer::RefusedBy(node) => {
                let node = cluster.name(node);
                let text =
                    format!("{name}: {node} cannot refuse new connections, or does for another");
                (1, vec![text])
            }
            _ => (1, vec![format!("{name}: not every node has answered; all take connections")]),
        };
        if exit == 0 && !silent.is_empty() {
            let text = format!("not heard, so it may take some: {}", silent.join(", "));
            lines.push(text);
        }
        self.say_host(message::Event::Recovery, lines.join("; "));
        if let Some(client) = client {
            self.reply(client, &Reply { exit, lines });
        }
    }

    /// Refuses new connections here; answered once.
    pub(super) fn block(&mut self, group: usize, ticket: Ticket) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let Some(plan) = cluster.plan.groups.get(group) else { return };
        if !self.acts_for_groups() {
            // It takes no connections, or nothing is acted on.
            return self.blocked(group, ticket, true);
        }
        let until = cluster.groups.get(group).and_then(|it| it.shared.machine.recovery());
        let argv = match &plan.recovery {
            None => {
                let text =
                    format!("{}: it has no `recovery`: connections go on being taken", plan.name);
                self.say_host(message::Event::Nodes, text);
                return self.blocked(group, ticket, false);
            }
            Some(RecoveryPlan::Commands { block, .. }) => block.clone(),
            Some(RecoveryPlan::Ports(ports)) => {
                let left = until.map_or(0, |(_, until)| until.since(boot_now()));
                let script = refusing(&table(group, &plan.name), ports, left);
                vec!["nft".to_owned(), script]
            }
        };
        self.run_shared(group, What::Block(ticket), &argv, None);
    }

    /// Takes connections again.
    pub(super) fn unblock(&mut self, group: usize) {
        self.tell_group(group, peer::Event::Recovery(false));
        if !self.acts_for_groups() {
            return;
        }
        let Some(argv) = self.unblocking(group) else { return };
        let name = self.group_name(group);
        let text = format!("{name}: recovery is over, new connections are taken again");
        self.say_host(message::Event::Recovery, text);
        self.run_shared(group, What::Unblock, &argv, None);
    }

    fn unblocking(&self, group: usize) -> Option<Vec<String>> {
        let plan = self.cluster.as_deref()?.plan.groups.get(group)?;
        Some(match plan.recovery.as_ref()? {
            RecoveryPlan::Commands { unblock, .. } => unblock.clone(),
            RecoveryPlan::Ports(_) => {
                vec!["nft".to_owned(), without(&table(group, &plan.name))]
            }
        })
    }

    /// Keeps a recovery for the next life of the daemon, or that there is none.
    pub(super) fn keep_recovery(&mut self, group: usize, lasting: Option<Lasting>) {
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let Some(plan) = cluster.plan.groups.get(group) else { return };
        if let Err(error) = cluster.store.keep_recovery(&plan.name, cluster.boot, lasting) {
            let text =
                format!("{}: a recovery cannot be kept for a next start: {error}", plan.name);
            self.say_host(message::Event::Nodes, text);
        }
    }

    /// What an earlier life of the daemon refused goes on being refused, if its time is not over;
    /// else it is ended.
    pub(super) fn take_up_recovery(&mut self, group: usize) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let Some(plan) = cluster.plan.groups.get(group) else { return };
        let (name, me) = (plan.name.clone(), cluster.me);
        match cluster.store.recovery(&name, cluster.boot) {
            Some(Left::Lasts(lasting)) => {
                let by = cluster.name(lasting.by);
                let left = span::compact(lasting.until.since(boot_now()));
                let text = format!(
                    "{name}: the recovery that {by} began goes on after this start; it ends by itself \
                     in {left}"
                );
                self.say_host(message::Event::Recovery, text);
                return self.tell_shared(group, Event::Resumed(lasting));
            }
            Some(Left::Lost(by)) => {
                if by == me {
                    let text = format!(
                        "{name}: the recovery that this node began was CUT SHORT by a reboot: all \
                         that hear it take connections again"
                    );
                    self.say_host(message::Event::Nodes, text);
                }
                self.keep_recovery(group, None);
            }
            None => {}
        }
        if let Some(argv) = self.unblocking(group).filter(|_| self.acts_for_groups()) {
            self.run_shared(group, What::Unblock, &argv, None);
        }
    }

    pub(super) fn run_shared(
        &mut self,
        group: usize,
        what: What,
        argv: &[String],
        member: Option<&str>,
    ) {
        let now = self.now;
        let until = now.after(self.plan.giveover.timeout);
        let me = self.plan.host.node.clone();
        let name = self.group_name(group);
        let pool = self.shared_pool_of(group);
        let at = member.and_then(|member| self.authority_of(pool.as_deref()?, member));
        let values = Values {
            node: Some(&me),
            service: pool.as_deref().or(Some(&name)),
            member,
            address: at.as_deref(),
            ..Values::default()
        };
        let environment = self.reactor.children.environment().clone();
        let program = Program::expanded(argv, &values, &environment);
        // Refusing and taking again follow each other: what is newer ends what still runs.
        self.cancel_shared(group, what);
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let Ok(mut program) = program else {
            return self.shared_command_done(group, what, false, "it cannot be run");
        };
        let order = Order { program: &mut program, until, keep: Keep::Line, leave: true };
        let key = Running::Shared(group, what);
        let run: Option<Run> = cluster.runner.start(&mut self.reactor, key, order, now);
        let promotes = matches!(what, What::Promote(_));
        if let Some(state) = cluster.groups.get_mut(group).filter(|_| !promotes) {
            state.shared.run = run;
        }
        self.take_group_commands();
    }

    fn cancel_shared(&mut self, group: usize, what: What) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        if matches!(what, What::Promote(_)) {
            return;
        }
        if let Some(run) = cluster.groups.get_mut(group).and_then(|it| it.shared.run.take()) {
            cluster.runner.cancel(&mut self.reactor, run, now);
        }
    }

    /// What was run for what a group shares has ended.
    pub(super) fn shared_command_done(&mut self, group: usize, what: What, ok: bool, how: &str) {
        let name = self.group_name(group);
        if let What::Promote(number) = what {
            self.promotion_done(group, number, ok, how);
        } else {
            let state = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group));
            if let Some(state) = state {
                state.shared.run = None;
            }
        }
        let word = match what {
            What::Block(_) => "refusing new connections",
            What::Unblock => "taking connections again",
            What::Promote(_) => "promote",
        };
        if !ok {
            self.say_host(message::Event::Nodes, format!("{name}: {word}: {how}"));
        }
        if let What::Block(ticket) = what {
            if ok {
                let text = format!("{name}: new connections are refused here for a recovery");
                self.say_host(message::Event::Recovery, text);
            }
            self.blocked(group, ticket, ok);
        }
    }

    fn shared_pool_of(&self, group: usize) -> Option<String> {
        let plan = self.cluster.as_deref()?.plan.groups.get(group)?;
        plan.pool.as_ref().map(|pool| pool.name.clone())
    }

    /// `HOST:PORT` of a pool's member.
    pub(super) fn authority_of(&self, pool: &str, member: &str) -> Option<String> {
        let plan = self.plan.pools.iter().find(|it| *it.name == *pool)?;
        Some(plan.members.get(plan.find(member)?)?.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_refuses_new_connections_for_a_time() {
        let table = table(1, "front@home");
        assert_eq!(table, "giveover_1_front_home");
        let script = refusing(&table, &[5432, 80].into_iter().collect(), 1_500);
        assert!(script.starts_with(&without(&table)), "{script}");
        for part in ["elements = { 80 timeout 2s, 5432 timeout 2s }", "reject with tcp reset"] {
            assert!(script.contains(part), "no `{part}` in {script}");
        }
        assert!(refusing(&table, &[80].into_iter().collect(), 0).contains("80 timeout 1s"));
    }
}

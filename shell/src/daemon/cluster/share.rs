//! What the nodes of a group share: event → `handle` → keep → carry out, as for its role.

use giveover_core::node::{Node, Nodes};
use giveover_core::peer;
use giveover_core::share::{
    Action, Answer, Command, Durable, Event, Kind, Pool, Share, Ticket, To,
};
use giveover_core::time::{Instant, Span};
use giveover_core::wire::peer::Frame;

use super::boot_now;
use crate::cluster::promotion::Promotion;
use crate::config::plan::SharedPool;
use crate::daemon::Daemon;
use crate::daemon::control::ClientId;
use crate::message;
use crate::reactor::Run;
use crate::report::model::Reply;

/// So many commands are remembered for nodes that missed them; who missed more is told what all of
/// them came to.
const LOG: usize = 32;

/// Who asked for a command that another node numbers is told that nothing came of it after this.
const PATIENCE: Span = Span::from_secs(30);

/// A record that could not be kept is asked for again after this.
const AGAIN: Span = Span::from_secs(5);

/// What a group shares, here.
pub(super) struct Shared {
    pub(super) machine: Share<LOG>,
    /// Who is active, as the machine was told.
    active: Option<(Node, u64)>,
    /// What the machine has just answered.
    answer: Option<Answer>,
    /// Who waits until a command is applied here.
    waits: Vec<Wait>,
    /// Who waits until every node refuses new connections.
    pub(super) begins: Option<ClientId>,
    /// What refuses new connections, or takes them again, is running.
    pub(super) run: Option<Run>,
}

struct Wait {
    client: ClientId,
    kind: Kind,
    members: Nodes,
    until: Instant,
}

impl Shared {
    pub(super) const fn new(me: Node, others: Nodes, durable: Durable, now: Instant) -> Self {
        Self {
            machine: Share::new(me, others, durable, now),
            active: None,
            answer: None,
            waits: Vec::new(),
            begins: None,
            run: None,
        }
    }
}

/// The word of a command.
pub(super) const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Attach => "attached",
        Kind::Detach => "detached",
        Kind::Promote => "promoted",
    }
}

impl Daemon {
    /// Tells what is shared in a group what happened, once it has been told all that was before.
    pub(super) fn tell_shared(&mut self, group: usize, event: Event) {
        let Some(cluster) = &mut self.cluster else { return };
        cluster.share_queue.push_back((group, event));
        if std::mem::replace(&mut cluster.sharing, true) {
            return;
        }
        while let Some((group, event)) =
            self.cluster.as_mut().and_then(|cluster| cluster.share_queue.pop_front())
        {
            self.feed_shared(group, event);
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.sharing = false;
        }
    }

    fn feed_shared(&mut self, group: usize, event: Event) {
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        let before = *state.shared.machine.pool();
        let actions = state.shared.machine.handle(event, boot_now());
        for action in actions.as_slice() {
            if let Action::Store(durable) = *action {
                let owed = self.owed(group, &before, &durable, actions.as_slice());
                if !self.keep_shared(group, durable, owed) {
                    // What follows the record in the list is not done.
                    return self.forget_what_was_not_kept(group);
                }
                continue;
            }
            match *action {
                Action::Send { to, message } => {
                    let to = match to {
                        To::All => peer::To::All,
                        To::One(node) => peer::To::One(node),
                    };
                    self.send(to, &Frame::Shared { group: group as u8, message });
                }
                Action::Apply(command) => self.apply_shared(group, &command),
                Action::Adopt(pool) => self.adopt_shared(group, &before, &pool),
                Action::Keep(lasting) => self.keep_recovery(group, lasting),
                Action::Block { ticket } => self.block(group, ticket),
                Action::Unblock => self.unblock(group),
                Action::Answer(answer) => self.shared_answer(group, answer),
                // Kept before; and what a later core adds is nothing here.
                Action::Store(_) | _ => {}
            }
        }
    }

    fn keep_shared(&mut self, group: usize, durable: Durable, owed: Option<Promotion>) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        let Some(plan) = cluster.plan.groups.get(group) else { return false };
        match cluster.store.keep_shared(&plan.name, durable, owed) {
            Ok(()) => true,
            Err(error) => {
                let text = format!("{}: a command cannot be kept: {error}", plan.name);
                self.say_host(message::Event::Nodes, text);
                false
            }
        }
    }

    /// As if it had never been heard: the others have it, and send it again.
    fn forget_what_was_not_kept(&mut self, group: usize) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(plan) = cluster.plan.groups.get(group) else { return };
        let durable = cluster.store.shared(&plan.name);
        let (me, others) = (cluster.me, cluster.others());
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let lasting = state.shared.machine.lasting();
        // Its time begins later, so that a full disk is not asked at each frame.
        state.shared.machine = Share::new(me, others, durable, boot_now().after(AGAIN));
        state.shared.active = None;
        self.tell_shared_who_is_active(group);
        if let Some(lasting) = lasting {
            self.tell_shared(group, Event::Resumed(lasting));
        }
    }

    /// Who numbers commands has changed, perhaps.
    pub(super) fn tell_shared_who_is_active(&mut self, group: usize) {
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        let term = state.machine.term();
        let active = state.machine.active().map(|node| (node, term));
        if std::mem::replace(&mut state.shared.active, active) != active {
            let node = active.map(|(node, _)| node);
            self.tell_shared(group, Event::Active { node, term });
        }
    }

    /// What is due of what is shared.
    pub(super) fn look_after_shared(&mut self) {
        let now = boot_now();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let mut due = Vec::new();
        let mut late = Vec::new();
        for (group, state) in cluster.groups.iter_mut().enumerate() {
            if state.shared.machine.poll_timeout().is_some_and(|at| at <= now) {
                due.push(group);
            }
            let waits = std::mem::take(&mut state.shared.waits);
            let (over, rest): (Vec<Wait>, Vec<Wait>) =
                waits.into_iter().partition(|wait| wait.until <= now);
            state.shared.waits = rest;
            late.extend(over.into_iter().map(|wait| wait.client));
        }
        for group in due {
            self.tell_shared(group, Event::Timeout);
        }
        for client in late {
            let text =
                "passed on, and not heard of since; `giveover node status` shows what came of it";
            self.reply(client, &Reply { exit: 1, lines: vec![text.to_owned()] });
        }
    }

    /// The daemon has begun, and its pools: they are as was shared before.
    pub(in crate::daemon) fn begin_sharing(&mut self) {
        let count = self.cluster.as_deref().map_or(0, |cluster| cluster.groups.len());
        for group in 0..count {
            let Some(cluster) = self.cluster.as_deref() else { return };
            let Some(state) = cluster.groups.get(group) else { return };
            let pool = *state.shared.machine.pool();
            self.settle_members(group, &pool);
            self.take_up_promotion(group);
            self.take_up_recovery(group);
        }
    }

    /// Somebody on this node wants a command.
    pub(super) fn ask_shared(
        &mut self,
        client: ClientId,
        group: usize,
        kind: Kind,
        members: Nodes,
    ) {
        let until = boot_now().after(PATIENCE);
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        state.shared.answer = None;
        state.shared.waits.push(Wait { client, kind, members, until });
        self.tell_shared(group, Event::Asked { kind, members });
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        let text = match state.shared.answer.take() {
            // Whoever waits is answered when it is applied here.
            Some(Answer::Done | Answer::PassedOn(_)) => return,
            Some(Answer::NobodyActive) => "nobody is active who could number it: ask again later",
            _ => "it could not be kept, and was not done",
        };
        state.shared.waits.retain(|wait| wait.client != client);
        self.reply(client, &Reply { exit: 1, lines: vec![text.to_owned()] });
    }

    fn shared_answer(&mut self, group: usize, answer: Answer) {
        match answer {
            Answer::Done | Answer::PassedOn(_) | Answer::NobodyActive => {
                let state = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group));
                if let Some(state) = state {
                    state.shared.answer = Some(answer);
                }
            }
            Answer::Recovering | Answer::RefusedBy(_) | Answer::TimedOut => {
                self.recovery_answer(group, answer);
            }
        }
    }

    pub(super) fn shared_plan(&self, group: usize) -> Option<SharedPool> {
        self.cluster.as_deref()?.plan.groups.get(group)?.pool.clone()
    }

    /// Carries a command out here: its record is kept.
    fn apply_shared(&mut self, group: usize, command: &Command) {
        let Some(plan) = self.shared_plan(group) else { return };
        let named: Vec<&str> = command
            .members
            .iter()
            .filter_map(|it| plan.members.get(usize::from(it.0)))
            .map(String::as_str)
            .collect();
        let number = command.number;
        let text = format!(
            "{}: {} {}, command {}.{}",
            plan.name,
            named.join(", "),
            word(command.kind),
            number.term,
            number.n
        );
        self.say_host(message::Event::Shared, text.clone());
        match command.kind {
            Kind::Attach => {
                named.iter().for_each(|member| self.attach_member(&plan.name, member));
            }
            Kind::Detach => {
                let by = format!("command {}.{}", number.term, number.n);
                named.iter().for_each(|member| self.detach_member(&plan.name, member, &by));
            }
            Kind::Promote => self.promote(group),
        }
        let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) else {
            return;
        };
        let waits = &mut state.shared.waits;
        let found = waits
            .iter()
            .position(|it| it.kind == command.kind && it.members == command.members)
            .map(|place| waits.remove(place));
        if let Some(wait) = found {
            self.reply(wait.client, &Reply { exit: 0, lines: vec![text] });
        }
    }

    /// Makes everything as was decided while this node was away.
    fn adopt_shared(&mut self, group: usize, before: &Pool, pool: &Pool) {
        let Some(plan) = self.shared_plan(group) else { return };
        let text = format!("{}: taken over as the others have it", plan.name);
        self.say_host(message::Event::Shared, text);
        self.settle_members(group, pool);
        if pool.primary.is_some() && pool.primary != before.primary {
            self.promote(group);
        }
    }

    /// Members are in or out as `pool` says; what a person drained on this node alone stays so.
    fn settle_members(&mut self, group: usize, pool: &Pool) {
        let Some(plan) = self.shared_plan(group) else { return };
        for (member, place) in plan.members.iter().zip(0..Nodes::MOST) {
            let detached = self.is_detached(&plan.name, member);
            match (pool.detached.has(Node(place)), detached) {
                (true, false) => self.detach_member(&plan.name, member, "the other nodes"),
                (false, true) => self.attach_member(&plan.name, member),
                (true, true) | (false, false) => {}
            }
        }
    }

    /// Whether this node serves and acts: no witness, and not observing.
    pub(super) fn acts_for_groups(&self) -> bool {
        let Some(cluster) = self.cluster.as_deref() else { return false };
        let me = cluster.plan.nodes.get(usize::from(cluster.me.0));
        !self.plan.host.observe && !me.is_some_and(|me| me.witness)
    }

    /// Refusing new connections has begun, or could not; the machine is told once.
    pub(super) fn blocked(&mut self, group: usize, ticket: Ticket, ok: bool) {
        if ok {
            self.tell_group(group, peer::Event::Recovery(true));
        }
        self.tell_shared(group, Event::Blocked { ticket, ok });
    }
}

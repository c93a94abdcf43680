//! Event → `handle` → carry out, for the machine of a group.

use giveover_core::node::Node;
use giveover_core::peer::{Action, Event, Mismatch, Note, Quorum, Role, To};
use giveover_core::wire::peer::Frame;

use super::boot_now;
use crate::cluster::carrier::Order;
use crate::cluster::steps::Step;
use crate::daemon::{Daemon, exit};
use crate::message;

impl Daemon {
    /// Feeds one event, and carries out what it leads to, in order.
    pub(super) fn feed_group(&mut self, group: usize, event: Event) {
        if let Event::Looked { look, .. } = &event {
            self.tell_life_check(group, look);
        }
        let Some(cluster) = &mut self.cluster else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let actions = state.machine.handle(event, boot_now());
        for action in &actions {
            if let Action::Store(durable) = action {
                if !self.keep_durable(group, *durable) {
                    // What follows the record in the list is not done.
                    self.tell_group(group, Event::StoreFailed);
                    break;
                }
                continue;
            }
            self.carry_out_of_group(group, *action);
        }
        self.tell_who_is_active(group);
        self.tell_shared_who_is_active(group);
    }

    fn keep_durable(&mut self, group: usize, durable: giveover_core::peer::Durable) -> bool {
        let Some(cluster) = &mut self.cluster else { return false };
        let Some(plan) = cluster.plan.groups.get(group) else { return false };
        match cluster.store.keep(&plan.name, durable) {
            Ok(()) => true,
            Err(error) => {
                let text = format!("{}: a vote cannot be kept: {error}", plan.name);
                self.say_host(message::Event::Nodes, text);
                false
            }
        }
    }

    fn carry_out_of_group(&mut self, group: usize, action: Action) {
        match action {
            Action::Send { to, message } => {
                self.send(to, &Frame::Message { group: group as u8, message })
            }
            Action::Role { role, term } => self.tell_role(group, role, term),
            Action::Take { ticket, until } => self.carrier(group, |it| it.take(ticket, until)),
            Action::Renew { until } => self.carrier(group, |it| it.renew(until)),
            Action::Release { ticket, how } => self.carrier(group, |it| it.release(ticket, how)),
            Action::Announce => self.address_step(group, Step::Announce),
            Action::Fence { ticket, node } => self.begin_fence(group, ticket, node),
            Action::Look { ticket } => self.begin_group_look(group, ticket),
            Action::Quit { by, why } => self.quit(group, by, why),
            Action::Gone => {
                if let Some(state) = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group)) {
                    state.gone = true;
                    #[cfg(feature = "etcd")]
                    state.claims.iter_mut().for_each(super::etcd::Claims::end);
                }
                self.go_on_stopping();
            }
            Action::Note(note) => self.tell_note(group, note),
            #[cfg(feature = "etcd")]
            Action::Claim { ticket } => {
                self.tell_claim(group, giveover_core::claim::Event::Wanted { by: ticket.0 });
            }
            #[cfg(feature = "etcd")]
            Action::LetGo { to } => {
                self.tell_claim(group, giveover_core::claim::Event::LetGo { to });
            }
            // Kept before; and what a later core adds is nothing here.
            Action::Store(_) | _ => {}
        }
    }

    fn carrier(
        &mut self,
        group: usize,
        wanted: impl FnOnce(&mut crate::cluster::carrier::Carrier) -> Vec<Order>,
    ) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let orders = wanted(&mut state.carrier);
        self.follow_orders(group, orders);
    }

    /// Carries out what the carrier of a group orders.
    pub(super) fn follow_orders(&mut self, group: usize, orders: Vec<Order>) {
        for order in orders {
            match order {
                Order::Run(hook) => self.begin_hook(group, hook),
                Order::Cancel => self.cancel_hooks(group),
                Order::Address(step) => self.address_step(group, step),
                Order::Stop { at_once } => self.stop_group(group, at_once),
                Order::Start => self.start_group(group),
                Order::Tell(event) => {
                    if let Event::Released { ok, .. } = event {
                        self.group_released(group, ok);
                    }
                    self.tell_group(group, event);
                }
            }
        }
    }

    /// P12: everybody that was heard refuses this node.
    fn quit(&mut self, group: usize, by: Node, why: Mismatch) {
        let Some(cluster) = &mut self.cluster else { return };
        let name = cluster.plan.groups.get(group).map_or("", |plan| plan.name.as_str());
        let text = match why {
            Mismatch::SameNode => {
                format!("giveover: another node says that it is {}", cluster.name(by))
            }
            Mismatch::Addresses => format!(
                "giveover: {} refuses this node: the services or addresses of group.{name} differ",
                cluster.name(by)
            ),
            Mismatch::Members => format!(
                "giveover: {} refuses this node: nodes, or who decides, differ",
                cluster.name(by)
            ),
            Mismatch::Thresholds => format!(
                "giveover: {} refuses this node: times or counts of [cluster] differ",
                cluster.name(by)
            ),
        };
        cluster.refused = Some((exit::REFUSED_BY_PEER, text.clone()));
        for state in &mut cluster.groups {
            state.gone = true;
            #[cfg(feature = "etcd")]
            state.claims.iter_mut().for_each(super::etcd::Claims::end);
        }
        self.say_host(
            message::Event::PeerRefused,
            text.trim_start_matches("giveover: ").to_owned(),
        );
        self.tell_legacy_refusal(exit::REFUSED_BY_PEER);
        self.end("a peer refuses this node");
    }

    fn tell_role(&mut self, group: usize, role: Role, term: u64) {
        let now = self.now;
        let Some(cluster) = &mut self.cluster else { return };
        let Some(plan) = cluster.plan.groups.get(group) else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        state.since = now;
        let text = match role {
            Role::Active => {
                let (votes, needed) = (state.machine.votes(), state.machine.rules().votes_needed());
                let of = cluster.plan.members.count;
                match state.machine.grant() {
                    // A store has no votes to count.
                    Some(_) if cluster.plan.etcd.is_none() => {
                        format!("{}: active, term {term}, {votes} of {of} votes", plan.name)
                    }
                    None if votes < needed => {
                        format!("{}: active by force, term {term}", plan.name)
                    }
                    Some(_) | None => format!("{}: active, term {term}", plan.name),
                }
            }
            Role::Init | Role::Standby | Role::Down => {
                format!("{}: {role}, term {term}", plan.name)
            }
        };
        self.say_host(message::Event::Role, text);
        if role == Role::Active {
            self.say_host(message::Event::Watchdog, message::watchdog::ESCALATED.to_owned());
        }
    }

    /// Who is active has changed: those who need what moves may be acted on, or no more.
    fn tell_who_is_active(&mut self, group: usize) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let active = state.machine.active();
        if std::mem::replace(&mut state.told, active) == active {
            return;
        }
        let me = cluster.me;
        state.settled |= active.is_some_and(|node| node != me);
        let services = state.services.clone();
        for service in services {
            self.settle_needs(service);
        }
    }

    fn tell_note(&mut self, group: usize, note: Note) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let plan = cluster.plan.groups.get(group);
        let of = plan.map_or("", |plan| plan.name.as_str());
        let name = |node| cluster.name(node);
        let mut mismatch = None;
        let (event, text) = match note {
            Note::Slept => (
                message::Event::Nodes,
                format!("{of}: we did not run for a while: votes and leases are void"),
            ),
            Note::Silent(node) => {
                (message::Event::Peer, format!("{of}: {} is active no more: silent", name(node)))
            }
            Note::Mismatched(node, why) => {
                mismatch = Some(why);
                (message::Event::PeerRefused, format!("{of}: {}: {why}", name(node)))
            }
            Note::TwoActives(node) => {
                (message::Event::Nodes, format!("{of}: {} is active too", name(node)))
            }
            // Each attempt may be refused: the next says more.
            Note::VoteRefused(..) | Note::Heard(_) => return,
            Note::FenceFailed(node) => (
                message::Event::Nodes,
                format!(
                    "{of}: the fence of {} was not acknowledged; nobody takes over",
                    name(node)
                ),
            ),
            Note::GrantLost if cluster.plan.members.quorum == Quorum::Etcd => (
                message::Event::Nodes,
                format!("{of}: etcd renews the lease no more: it is let go here before that ends"),
            ),
            Note::GrantLost => {
                (message::Event::Nodes, format!("{of}: too few nodes answer: it is let go here"))
            }
            Note::Ousted => (
                message::Event::Nodes,
                format!("{of}: etcd has this node as the holder no more: it is let go here"),
            ),
            Note::TermBack(term) => (
                message::Event::Nodes,
                format!(
                    "{of}: etcd's revision is below term {term}, which was known before: it was \
                     emptied or restored, and fencing tokens must not go back; another \
                     cluster.etcd.prefix does not help, a higher revision does"
                ),
            ),
            Note::Unheld => {
                (message::Event::Nodes, format!("{of}: it could not be brought up here"))
            }
            Note::NotStopped => (
                message::Event::Nodes,
                format!("{of}: what runs here is not proven stopped: it stays here"),
            ),
            Note::NotActive => {
                (message::Event::Peer, format!("{of}: not active here, nothing to give over"))
            }
            Note::NotStored => (message::Event::Nodes, format!("{of}: a vote was not kept")),
        };
        self.say_host(event, text);
        if let Some(why) = mismatch {
            self.tell_legacy_mismatch(why);
        }
    }

    /// Sends `frame`, heartbeats and their answers as datagrams, everything else on the
    /// connection where there is one.
    pub(super) fn send(&mut self, to: To, frame: &Frame) {
        let Some(cluster) = self.cluster.as_deref() else { return };
        let all = 0..u8::try_from(cluster.pairs.len()).unwrap_or(u8::MAX);
        match to {
            To::All => all.map(Node).for_each(|node| self.send_one(node, frame)),
            To::One(node) => self.send_one(node, frame),
        }
    }
}

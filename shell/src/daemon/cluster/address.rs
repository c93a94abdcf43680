//! Where a group's steps go, and what came of them comes back.

use giveover_core::peer::Taken;

use super::{Lacking, boot_now};
use crate::cluster::address::holder::{Holder, News};
use crate::cluster::address::rights;
use crate::cluster::steps::{Done, Held, Step};
use crate::config::plan::{ClusterPlan, GroupPlan};
use crate::daemon::{Daemon, exit};
use crate::message::{self, watchdog};
use crate::reactor::{Ready, Room, Token};

/// Who holds the addresses of the group at `place`, if it has any.
pub(super) fn holder(place: usize, plan: &GroupPlan) -> Option<Holder> {
    if plan.addresses.is_empty() {
        return None;
    }
    let held = Held {
        addresses: plan.addresses.clone(),
        interface: plan.interface.clone(),
        label: plan.label.clone(),
        commands: plan.commands.clone(),
    };
    let token = Token::new(Room::Address, u32::try_from(place).unwrap_or(u32::MAX), 0);
    // The program we are, also if another has taken its place since.
    Some(Holder::new("/proc/self/exe", held, token))
}

/// Whether this process may do what addresses need, where there are any.
pub(super) fn may_hold(plan: &ClusterPlan) -> Result<(), Lacking> {
    if plan.groups.iter().all(|group| group.addresses.is_empty()) {
        return Ok(());
    }
    let said = |why| format!("giveover: {why}\n{}", watchdog::NO_PRIVILEGE);
    rights::look().map_err(|why| Lacking(exit::NO_PRIVILEGE, said(why)))
}

impl Daemon {
    /// Carries one step out for the addresses of `group`. Every step that has an answer is answered
    /// once by [`Daemon::address_done`], at once or later.
    pub(super) fn address_step(&mut self, group: usize, step: Step) {
        let Some(cluster) = &mut self.cluster else { return };
        let state = cluster.groups.get_mut(group);
        if let Some(holder) = state.and_then(|state| state.holder.as_mut()) {
            holder.step(&mut self.reactor, step, boot_now());
            return self.take_address_news(group);
        }
        // There is nothing to hold, and nothing to let go.
        match step {
            Step::Take { .. } => self.address_done(group, Done::Taken(Taken::Up)),
            Step::Drop { .. } => self.address_done(group, Done::Dropped { ok: true }),
            Step::Renew { .. } | Step::Announce => {}
        }
    }

    /// The holder of a group's addresses says something, has room, or has ended.
    pub(in crate::daemon) fn address_ready(&mut self, ready: Ready) {
        let group = ready.token.index as usize;
        let Some(cluster) = &mut self.cluster else { return };
        let state = cluster.groups.get_mut(group);
        if let Some(holder) = state.and_then(|state| state.holder.as_mut()) {
            holder.ready(&mut self.reactor);
        }
        self.take_address_news(group);
    }

    /// A holder that says nothing for long is ended.
    pub(super) fn look_after_holders(&mut self) {
        let now = boot_now();
        let Some(cluster) = &mut self.cluster else { return };
        let count = cluster.groups.len();
        for holder in cluster.groups.iter_mut().filter_map(|group| group.holder.as_mut()) {
            holder.look_after(&mut self.reactor, now);
        }
        (0..count).for_each(|group| self.take_address_news(group));
    }

    fn take_address_news(&mut self, group: usize) {
        while let Some(news) = self.next_address_news(group) {
            match news {
                News::Said(text) => {
                    let text = format!("{}: {text}", self.group_name(group));
                    self.say_host(message::Event::Address, text);
                }
                News::Done(done) => {
                    self.tell_address(group, done);
                    self.address_done(group, done);
                }
            }
        }
    }

    fn next_address_news(&mut self, group: usize) -> Option<News> {
        self.cluster.as_mut()?.groups.get_mut(group)?.holder.as_mut()?.news()
    }

    pub(super) fn group_name(&self, group: usize) -> String {
        let plan = self.cluster.as_deref().and_then(|cluster| cluster.plan.groups.get(group));
        plan.map_or_else(String::new, |plan| plan.name.clone())
    }

    /// People are told when addresses come and go, and not that nothing was there to go.
    fn tell_address(&mut self, group: usize, done: Done) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(plan) = cluster.plan.groups.get(group) else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let up = done == Done::Taken(Taken::Up);
        let was = std::mem::replace(&mut state.address_up, up);
        let addresses: Vec<String> =
            plan.addresses.iter().map(|(it, prefix)| format!("{it}/{prefix}")).collect();
        let all = addresses.join(" ");
        let what = match done {
            Done::Taken(Taken::Up) if was => return,
            Done::Taken(Taken::Up) => "up",
            Done::Taken(Taken::Duplicate) => "not taken: somebody else has it",
            Done::Taken(Taken::Failed) => "not taken",
            Done::Dropped { ok: true } if was => "down",
            Done::Dropped { ok: true } => return,
            Done::Dropped { ok: false } => "not proven gone",
            Done::Lost => "lost",
        };
        let text = format!("{}: {all} {what}", plan.name);
        self.say_host(message::Event::Address, text);
        match done {
            Done::Taken(Taken::Up) => {
                self.say_host(message::Event::Watchdog, watchdog::HOLDS_ADDRESS.to_owned());
            }
            Done::Dropped { ok: true } => {
                self.say_host(message::Event::Watchdog, watchdog::ADDRESS_DOWN.to_owned());
            }
            Done::Taken(_) | Done::Dropped { .. } | Done::Lost => {}
        }
    }

    /// What came of a step.
    pub(super) fn address_done(&mut self, group: usize, done: Done) {
        let Some(cluster) = &mut self.cluster else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let orders = state.carrier.address(done);
        self.follow_orders(group, orders);
    }
}

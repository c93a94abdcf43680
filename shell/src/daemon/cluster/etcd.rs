//! `quorum = "etcd"`: the claims of groups, fed from the store, the clock and the groups' machines.

use std::net::SocketAddr;

use giveover_core::claim::{Action, Claim, Event as Told};
use giveover_core::peer::{Event, Ticket};
use giveover_core::time::{Instant, Span};

use super::boot_now;
use crate::check::resolve::Known;
use crate::cluster::etcd::client::{Etcd, News};
use crate::config::plan::{ClusterPlan, Host};
use crate::daemon::Daemon;
use crate::message;
use crate::reactor::Ready;
use crate::report::model::EtcdDoc;

/// Who ends waits so long for the store to be told that a group was let go; else its lease lapses.
const LAST_WORD: Span = Span::from_secs(3);
/// Of a store that has not answered for so long people are told.
const SILENT: Span = Span::from_secs(2);

/// What one group has to do with the store.
pub(super) struct Claims {
    pub(super) machine: Claim,
    /// Since when the store has not answered, and whether people were told.
    silent: Option<(Instant, bool)>,
    /// The group has said its last: what there is of it in the store is waited for until then.
    over_at: Option<Instant>,
}

impl Claims {
    pub(super) fn new(plan: &ClusterPlan, now: Instant) -> Option<Self> {
        let limits = plan.etcd.as_ref()?.limits(&plan.limits);
        Some(Self { machine: Claim::new(limits, now), silent: Some((now, false)), over_at: None })
    }

    /// Nothing of it is in the store any more, or that is not waited for any longer.
    pub(super) fn is_over(&self) -> bool {
        self.machine.is_idle() || self.over_at.is_some_and(|at| at <= boot_now())
    }

    /// The group has said its last.
    pub(super) fn end(&mut self) {
        self.over_at = Some(boot_now().after(LAST_WORD));
    }

    /// Nothing is waited for.
    pub(super) fn end_now(&mut self) {
        self.over_at = Some(boot_now());
    }
}

impl Daemon {
    /// Tells the claim of a group what happened, and carries out what it leads to.
    pub(super) fn tell_claim(&mut self, group: usize, event: Told) {
        let now = boot_now();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let Some(claims) = cluster.groups.get_mut(group).and_then(|it| it.claims.as_mut()) else {
            return;
        };
        let actions = claims.machine.handle(event, now);
        for action in &actions {
            let event = match *action {
                Action::Ask { ticket, request, until } => {
                    if let Some(etcd) = self.cluster.as_mut().and_then(|it| it.etcd.as_mut()) {
                        etcd.ask(&self.reactor, group, (ticket, request), until, now);
                    }
                    continue;
                }
                Action::Vacancy { vacant, to } => Event::Vacancy { vacant, to },
                Action::Won { by, term, since } => Event::Won { ticket: Ticket(by), term, since },
                Action::NotWon { by } => Event::NotWon { ticket: Ticket(by) },
                Action::Kept { term, since } => Event::Kept { term, since },
                Action::Lost { term } => Event::Ousted { term },
            };
            self.tell_group(group, event);
        }
        self.tell_silence(group);
    }

    /// Says once when the store stops answering for a group, and when it answers again.
    fn tell_silence(&mut self, group: usize) {
        let now = boot_now();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let Some(claims) = cluster.groups.get_mut(group).and_then(|it| it.claims.as_mut()) else {
            return;
        };
        let text = match (claims.machine.is_answered(), claims.silent) {
            (true, None) => return,
            (true, Some((_, told))) => {
                claims.silent = None;
                if !told {
                    return;
                }
                "etcd answers again"
            }
            (false, None) => return claims.silent = Some((now, false)),
            (false, Some((since, false))) if since.after(SILENT) <= now => {
                claims.silent = Some((since, true));
                "etcd does not answer: nobody can become active here, and who is will be none any \
                 more before its lease ends"
            }
            (false, Some(_)) => return,
        };
        let name = cluster.plan.groups.get(group).map_or("", |plan| plan.name.as_str());
        let why = cluster.etcd.as_ref().map(Etcd::endpoints).unwrap_or_default();
        let why: Vec<String> = why
            .iter()
            .filter_map(|it| it.why.as_ref().map(|why| format!("{}: {why}", it.url)))
            .collect();
        let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
        let text = format!("{name}: {text}{why}");
        self.say_host(message::Event::Nodes, text);
    }

    /// A source of [`crate::reactor::Room::Etcd`] is ready.
    pub(in crate::daemon) fn etcd_ready(&mut self, ready: Ready) {
        let now = boot_now();
        let Some(etcd) = self.cluster.as_mut().and_then(|it| it.etcd.as_mut()) else { return };
        etcd.ready(&self.reactor, ready, now);
        self.take_etcd_news();
    }

    /// Time has passed: what is late has no answer, and claims whose time it is are told.
    pub(super) fn look_after_etcd(&mut self) {
        let now = boot_now();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let Some(etcd) = cluster.etcd.as_mut() else { return };
        etcd.due(&self.reactor, now);
        self.take_etcd_news();
        let count = self.cluster.as_deref().map_or(0, |cluster| cluster.groups.len());
        for group in 0..count {
            let claims =
                self.cluster.as_deref().and_then(|it| it.groups.get(group)?.claims.as_ref());
            let due = claims.and_then(|claims| claims.machine.poll_timeout());
            if due.is_some_and(|at| at <= now) {
                self.tell_claim(group, Told::Timeout);
            }
        }
        self.take_etcd_news();
    }

    fn take_etcd_news(&mut self) {
        let next = |daemon: &mut Self| daemon.cluster.as_mut()?.etcd.as_mut()?.news();
        while let Some(news) = next(self) {
            match news {
                News::Answered(group, ticket, answer) => {
                    self.tell_claim(group, Told::Answered { ticket, answer });
                }
                News::Changed(group) => self.tell_claim(group, Told::Changed),
            }
        }
    }

    /// Where the members are: as it is written, or what their names say now.
    pub(super) fn look_up_etcd(&mut self) {
        let now = self.now;
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let (Some(etcd), Some(plan)) = (cluster.etcd.as_mut(), &cluster.plan.etcd) else { return };
        for (place, endpoint) in plan.endpoints.iter().enumerate() {
            let address = match &endpoint.host {
                Host::Address(address) => Some(*address),
                Host::Name(name) => match cluster.resolver.look_up(&self.reactor, name, now) {
                    Known::Addresses(found) | Known::Soon(Some(found)) => found.first().copied(),
                    Known::Soon(None) => continue,
                    Known::Nothing(_) => None,
                },
                Host::Socket(_) => None,
            };
            etcd.place(place, address.map(|address| SocketAddr::new(address, endpoint.port)));
        }
    }

    /// The members, for screens and JSON.
    pub(super) fn etcd_docs(&self) -> Vec<EtcdDoc> {
        let now = boot_now();
        let Some(etcd) = self.cluster.as_deref().and_then(|it| it.etcd.as_ref()) else {
            return Vec::new();
        };
        let doc = |(place, endpoint): (usize, &crate::cluster::etcd::client::Endpoint)| EtcdDoc {
            url: endpoint.url.clone(),
            asked: place == etcd.current(),
            answers: endpoint.answered.is_some() && endpoint.why.is_none(),
            answered_ms: endpoint.answered.map(|(at, _)| now.since(at)),
            took_ms: endpoint.answered.map(|(_, took)| took),
            why: endpoint.why.clone(),
        };
        etcd.endpoints().iter().enumerate().map(doc).collect()
    }
}

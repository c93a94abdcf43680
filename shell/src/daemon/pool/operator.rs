//! What people ask of pools.

use giveover_core::pool::{Event, Face};
use giveover_core::time::{Instant, Span};

use crate::daemon::Daemon;
use crate::daemon::control::ClientId;
use crate::daemon::watch::HeldBy;
use crate::journal::Note;
use crate::report::model::{Command, Reply};

/// A drain without `--for` ends after this.
const DRAIN: Span = Span::from_secs(3600);

/// Why a member is drained that every node has detached: by this it is known again after a start.
const DETACHED: &str = "detached on every node";

impl Daemon {
    /// `giveover pool drain|enable|report`
    pub(in crate::daemon) fn command_pool(
        &mut self,
        client: ClientId,
        who: &str,
        command: &Command,
    ) {
        let names: Vec<&str> = command.services.iter().map(String::as_str).collect();
        let [pool_name, member_name] = names[..] else {
            return self.refuse(client, 400, "a pool and a member have to be named");
        };
        let Some(pool) = self.plan.pools.iter().position(|it| *it.name == *pool_name) else {
            return self.refuse(client, 404, &format!("no pool is named {pool_name}"));
        };
        let member = self.plan.pools.get(pool).and_then(|it| it.find(member_name));
        let Some(member) = member else {
            let why = format!("pool {pool_name} has no member {member_name}");
            return self.refuse(client, 404, &why);
        };
        let done = match command.action.as_deref() {
            Some("drain" | "enable") if self.is_detached(pool_name, member_name) => {
                Err(format!("{DETACHED}: `giveover node attach {member_name}` ends that"))
            }
            Some("drain") => self.drain(pool, member, who, command),
            Some("enable") => self.enable(pool, member, who),
            Some("report") => Ok(self.report_member(pool, member, command)),
            _ => Err("pool knows drain, enable and report".to_owned()),
        };
        let name = self.pool_name(pool, Some(member));
        let (exit, text) = match done {
            Ok(text) => (0, text),
            Err(text) => (1, text),
        };
        let mut lines = vec![format!("{name}: {text}")];
        let none = self.pools.list.get(pool).is_some_and(|it| it.machine.none_left().is_some());
        if none && exit == 0 {
            lines.push(format!("{pool_name}: no member takes work now"));
        }
        self.reply(client, &Reply { exit, lines });
    }

    fn drain(
        &mut self,
        pool: usize,
        member: usize,
        who: &str,
        command: &Command,
    ) -> Result<String, String> {
        let now = self.now;
        let after = |ms: u64| Instant::from_millis(now.as_millis().saturating_add(ms));
        let until = match command.for_ms {
            Some(u64::MAX) => None,
            Some(ms) => Some(after(ms)),
            None => Some(now.after(DRAIN)),
        };
        let cut_at = command.cut_after_ms.map(after);
        let cuts = self.plan.pools.get(pool).is_some_and(|plan| plan.settings.cut);
        if cut_at.is_some() && !cuts {
            return Err("its connections are never cut: the pool has no cut = true".to_owned());
        }
        if cut_at.is_some_and(|at| until.is_some_and(|until| at > until)) {
            return Err("connections would be cut after the drain is over".to_owned());
        }
        let why = command.reason.clone();
        let held = HeldBy { who: who.to_owned(), why, since: now, until };
        self.note_asked_of_pool(pool, member, "pool drain", who);
        self.say_drained(pool, member, &held);
        let text = match held.until {
            Some(until) => format!("drained by {who} until {}", self.time_of_day(until)),
            None => format!("drained by {who} for ever"),
        };
        if let Some(state) = self.member_state_mut(pool, member) {
            state.drained = Some(held);
        }
        self.feed_pool(pool, Event::Drain { member: member as u8, until, cut_at });
        Ok(text)
    }

    fn enable(&mut self, pool: usize, member: usize, who: &str) -> Result<String, String> {
        let state = self.pools.list.get(pool).and_then(|it| it.machine.members().get(member));
        if state.is_some_and(|it| it.drained().is_none()) {
            return Ok("it is not drained".to_owned());
        }
        self.note_asked_of_pool(pool, member, "pool enable", who);
        if let Some(state) = self.member_state_mut(pool, member) {
            state.drained = None;
        }
        self.say_drain_ended(pool, member, Some(who));
        self.feed_pool(pool, Event::Enable { member: member as u8 });
        Ok("in again once its checks have passed".to_owned())
    }

    /// Takes a member out of distribution as every node does, until it is attached again.
    pub(in crate::daemon) fn detach_member(&mut self, pool: &str, member: &str, by: &str) {
        let Some((pool, member)) = self.member_named(pool, member) else { return };
        let why = Some(DETACHED.to_owned());
        let held = HeldBy { who: by.to_owned(), why, since: self.now, until: None };
        self.say_drained(pool, member, &held);
        if let Some(state) = self.member_state_mut(pool, member) {
            state.drained = Some(held);
        }
        self.feed_pool(pool, Event::Drain { member: member as u8, until: None, cut_at: None });
    }

    /// Ends that; a drain of a person on this node ends with it.
    pub(in crate::daemon) fn attach_member(&mut self, pool: &str, member: &str) {
        let Some((pool, member)) = self.member_named(pool, member) else { return };
        let state = self.pools.list.get(pool).and_then(|it| it.machine.members().get(member));
        if state.is_none_or(|it| it.drained().is_none()) {
            return;
        }
        if let Some(state) = self.member_state_mut(pool, member) {
            state.drained = None;
        }
        self.say_drain_ended(pool, member, None);
        self.feed_pool(pool, Event::Enable { member: member as u8 });
    }

    /// Whether it is out because every node took it out.
    pub(in crate::daemon) fn is_detached(&self, pool: &str, member: &str) -> bool {
        let found = self.member_named(pool, member);
        let state = found.and_then(|(pool, member)| {
            self.pools.list.get(pool).and_then(|it| it.members.get(member))
        });
        let held = state.and_then(|state| state.drained.as_ref());
        held.is_some_and(|held| held.why.as_deref() == Some(DETACHED))
    }

    fn member_named(&self, pool: &str, member: &str) -> Option<(usize, usize)> {
        let place = self.plan.pools.iter().position(|it| *it.name == *pool)?;
        Some((place, self.plan.pools.get(place)?.find(member)?))
    }

    /// Whether a member takes no part now, for whatever reason.
    pub(in crate::daemon) fn takes_no_part(&self, pool: &str, member: &str) -> bool {
        let Some((pool, member)) = self.member_named(pool, member) else { return false };
        let state = self.pools.list.get(pool).and_then(|it| it.machine.members().get(member));
        state.is_some_and(|it| matches!(it.face(), Face::Out(_) | Face::Drained))
    }

    /// What an agent on the member has to say, by whatever way it comes.
    fn report_member(&mut self, pool: usize, member: usize, command: &Command) -> String {
        let event =
            Event::Agent { member: member as u8, load: command.load, failed: command.failed };
        self.feed_pool(pool, event);
        "heard".to_owned()
    }

    /// Who wanted it stands in the journal.
    fn note_asked_of_pool(&mut self, pool: usize, member: usize, verb: &str, who: &str) {
        let now = self.now;
        let machine = self.member_state_mut(pool, member).map(|it| it.number);
        let (verb, who) = (verb.into(), who.into());
        self.journal.note(now, Note::Asked { machine, verb, who, why: "".into() });
    }
}

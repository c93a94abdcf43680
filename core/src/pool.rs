//! Interchangeable members behind a balancer: who gets new work, and what happens when nobody can.
//!
//! A member is *in* while every layer agrees: its checks, its agent, the other services of its
//! server, and the people who run it. Each layer by itself can take it out. What is told outwards
//! is a [`Face`]; how a balancer hears of it is the driver's affair.
//!
//! | layer | takes it out | brings it back |
//! |---|---|---|
//! | checks | `fall` failed cycles (in a row, or of the last few); an *immediate* one at once | `rise` healthy cycles in a row |
//! | agent | a failed work unit at once; silence | the next report that says otherwise |
//! | other services | told by [`Event::Elsewhere`] | the same |
//! | a person | [`Event::Drain`] | its end or [`Event::Enable`], and then `rise` healthy cycles |
//!
//! Above the layers stand three rules. *Blind*: when nothing can be measured, or no trusted server
//! answers, checks and silence move nobody, and evidence begins anew afterwards. The *floor*: at
//! least `min_members` stay in, however their checks look; a person's drain is not bound by it.
//! *None left*: when nobody is in, or all are busy, the fallback acts.

mod event;
mod faces;
mod member;
mod settings;

pub use event::{Action, Actions, Blind, Event, Face, NoneLeft, Ticket, Why};
pub use member::{Drain, Member, Setup, Start};
pub use settings::{Busy, Fall, Settings, SettingsError};

use crate::defect;
use crate::failure::{Cause, ProbeResult};
use crate::time::{Instant, Span};

/// How long an exclusion of everybody waits for a trusted server's answer. A driver always
/// answers sooner; should it not, the checks are believed.
const PATIENCE: Span = Span::from_secs(15);

/// The machine of one pool.
///
/// # Source
/// Traffic Director's fault monitoring; the counts are HAProxy's `rise` and `fall`.
#[derive(Clone, Debug)]
pub struct Pool {
    settings: Settings,
    members: heapless::Vec<Member, { Pool::MOST as usize }>,
    begun: bool,
    /// Since when no member's last cycle was healthy.
    dark_since: Option<Instant>,
    /// Everybody would fall, and a trusted server has been asked whether it is us: until when
    /// the answer is waited for.
    doubt_until: Option<Instant>,
    /// What trusted servers last said, and when.
    trusted: Option<(Instant, bool)>,
    frozen: Option<Blind>,
    none_left: Option<NoneLeft>,
    latest: Instant,
    clock_went_back: u32,
}

impl Pool {
    /// How many members a pool may have.
    pub const MOST: u8 = 64;

    /// A pool that has not begun.
    ///
    /// # Errors
    /// The settings can never work, or there are no members or too many. Nothing is made.
    pub fn new(settings: Settings, setups: &[Setup], now: Instant) -> Result<Self, SettingsError> {
        settings.check(setups.len())?;
        let mut members = heapless::Vec::new();
        for setup in setups {
            let member = Member::new(setup, now);
            members.push(member).map_err(|_| SettingsError::Members { most: Self::MOST })?;
        }
        Ok(Self {
            settings,
            members,
            begun: false,
            dark_since: None,
            doubt_until: None,
            trusted: None,
            frozen: None,
            none_left: None,
            latest: now,
            clock_went_back: 0,
        })
    }

    /// Takes in what happened, and says what follows.
    #[must_use]
    pub fn handle(&mut self, event: Event, now: Instant) -> Actions {
        let mut actions = Actions::default();
        if now < self.latest {
            self.clock_went_back = self.clock_went_back.saturating_add(1);
        }
        let now = now.max(self.latest);
        self.latest = now;
        match event {
            Event::Begin => return self.begin(now, actions),
            _ if !self.begun => return actions, // nobody has been told of anybody yet
            Event::Timeout => {
                if self.poll_timeout().is_none_or(|due| now < due) {
                    return actions;
                }
                self.time_has_come(now, &mut actions);
            }
            Event::Probed { member, ticket, result } => {
                if !self.probed(member, ticket, result, now) {
                    return actions;
                }
            }
            Event::Agent { member, load, failed } => {
                let busy = self.settings.busy;
                let Some(member) = self.member_mut(member) else { return actions };
                member.hear_agent(load, failed, busy, now);
            }
            Event::Deaf => self.members.iter_mut().for_each(|it| it.forgive_silence(now)),
            Event::Elsewhere { member, failed } => {
                let Some(member) = self.member_mut(member) else { return actions };
                member.elsewhere = failed;
            }
            Event::Trusted { answering } => {
                if !self.settings.trusted {
                    return actions;
                }
                self.trusted = Some((now, answering));
            }
            Event::Drain { member, until, cut_at } => {
                let Some(member) = self.member_mut(member) else { return actions };
                member.drain(until.map(|until| until.max(now)), cut_at);
            }
            Event::Enable { member } => {
                let Some(member) = self.member_mut(member) else { return actions };
                if member.drain.is_none() {
                    return actions;
                }
                member.return_to_work();
            }
        }
        self.settle(now, &mut actions);
        actions
    }

    /// When the pool wants to be woken at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if !self.begun {
            return None;
        }
        let members = self.members.iter().filter_map(|member| {
            let silence = if self.frozen.is_some() { None } else { self.falls_silent(member) };
            [member.deadline(), silence].into_iter().flatten().min()
        });
        members.chain(self.doubt_until).min()
    }

    /// The settings.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The members, in their order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Why membership stands still, if it does.
    #[must_use]
    pub const fn frozen(&self) -> Option<Blind> {
        self.frozen
    }

    /// Why the fallback acts, if it does.
    #[must_use]
    pub const fn none_left(&self) -> Option<NoneLeft> {
        self.none_left
    }

    /// The latest instant told.
    #[must_use]
    pub const fn latest(&self) -> Instant {
        self.latest
    }

    /// How often time went back.
    #[must_use]
    pub const fn clock_went_back(&self) -> u32 {
        self.clock_went_back
    }

    fn member_mut(&mut self, place: u8) -> Option<&mut Member> {
        self.members.get_mut(usize::from(place))
    }

    /// The members' first cycles are spread over an interval, and every face is told.
    fn begin(&mut self, now: Instant, mut actions: Actions) -> Actions {
        if self.begun {
            return actions;
        }
        self.begun = true;
        let count = self.members.len().max(1) as u64;
        let interval = u64::from(self.settings.interval.as_millis());
        for (place, member) in self.members.iter_mut().enumerate() {
            let offset = u32::try_from(interval * place as u64 / count).unwrap_or(0);
            member.begin(now, now.after(Span::from_millis(offset)));
        }
        self.show(true, now, &mut actions);
        actions
    }

    fn time_has_come(&mut self, now: Instant, actions: &mut Actions) {
        let silent_since = |member: &Member, pool: &Self| {
            pool.frozen.is_none() && pool.falls_silent(member).is_some_and(|at| at <= now)
        };
        for place in 0..self.members.len() {
            let silent = self.members.get(place).is_some_and(|member| silent_since(member, self));
            let Some(member) = self.members.get_mut(place) else { continue };
            if silent {
                member.fall_silent();
            }
            let place = place as u8;
            if let Some(ticket) = member.begin_cycle(now) {
                actions.push(Action::Probe { member: place, ticket });
            }
            let cuts = member.cut_is_due(now);
            let ended = member.drain_has_ended(now);
            if self.settings.cut && (cuts || ended == Some(false)) {
                actions.push(Action::Cut { member: place });
            }
            if ended.is_some() {
                member.return_to_work();
                actions.push(Action::DrainEnded { member: place });
            }
        }
        if self.doubt_until.is_some_and(|until| until <= now) {
            // Nobody answered us. The checks are all there is.
            self.doubt_until = None;
            self.let_fall(now);
        }
    }

    /// False if it was an answer that nobody waits for.
    fn probed(&mut self, place: u8, ticket: Ticket, result: ProbeResult, now: Instant) -> bool {
        let (settings, frozen) = (self.settings, self.frozen.is_some());
        let Some(member) = self.member_mut(place) else { return false };
        if !member.end_cycle(ticket, settings.interval, now) {
            return false;
        }
        member.take(result, &settings, frozen);
        let healthy = |member: &Member| member.is_healthy();
        let dark = !self.watched().any(healthy) && self.watched().any(Member::has_been_seen);
        self.dark_since = if dark { self.dark_since.or(Some(now)) } else { None };
        true
    }

    /// The members whose checks count: those nobody has drained.
    fn watched(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.drain.is_none())
    }

    /// When the silence of this member's agent excludes it.
    fn falls_silent(&self, member: &Member) -> Option<Instant> {
        let silence = self.settings.silence?;
        let heard = member.heard_agent(self.settings.agent_required)?;
        Some(heard.after(silence))
    }

    /// After any event: are we blind, who falls, and what is told.
    fn settle(&mut self, now: Instant, actions: &mut Actions) {
        let blind = self.blind();
        if blind.is_some() != self.frozen.is_some() {
            // Whichever way it goes: what was seen up to here is no ground to move anybody.
            self.doubt_until = None;
            for member in &mut self.members {
                member.begin_anew();
                member.forgive_silence(now);
            }
        }
        if blind != self.frozen {
            self.frozen = blind;
            actions.push(Action::Frozen(blind));
        }
        if self.frozen.is_none() && self.members.iter().any(|member| member.falling) {
            if self.is_doubtful() {
                if self.doubt_until.is_none() {
                    self.doubt_until = Some(now.after(PATIENCE));
                    actions.push(Action::AskTrusted);
                }
            } else {
                self.doubt_until = None;
                self.let_fall(now);
            }
        } else {
            self.doubt_until = None;
        }
        self.show(false, now, actions);
    }

    /// Why checks prove nothing now, if so.
    fn blind(&self) -> Option<Blind> {
        if self.trusted.is_some_and(|(_, answering)| !answering) && !defect::is(32) {
            return Some(Blind::NoTrusted);
        }
        let unmeasured = self.watched().all(Member::is_unmeasured);
        (unmeasured && self.watched().next().is_some()).then_some(Blind::NothingMeasured)
    }

    /// Everybody fails at once, and no trusted server has been heard since that began: it may be
    /// ourselves.
    fn is_doubtful(&self) -> bool {
        let Some(dark_since) = self.dark_since else { return false };
        let heard = self.trusted.is_some_and(|(at, _)| at >= dark_since);
        // A single member that fails says nothing of us.
        self.settings.trusted && !heard && self.watched().count() > 1
    }

    fn let_fall(&mut self, now: Instant) {
        for member in &mut self.members {
            if member.falling {
                member.fall(now);
            }
        }
    }

    /// Tells every face that has changed, or all of them.
    fn show(&mut self, all: bool, now: Instant, actions: &mut Actions) {
        let (faces, none_left) = faces::compose(&self.settings, &mut self.members);
        for (place, (member, face)) in self.members.iter_mut().zip(&faces).enumerate() {
            let place = place as u8;
            let before = core::mem::replace(&mut member.face, *face);
            if before != *face || all {
                actions.push(Action::Face { member: place, face: *face });
            }
            if before.is_out() != face.is_out() || all {
                member.since = now;
            }
            let excluded = face.is_out() && !before.is_out() && before != Face::Drained;
            if self.settings.cut && excluded && !all {
                actions.push(Action::Cut { member: place });
            }
        }
        if self.none_left != none_left || all && none_left.is_some() {
            self.none_left = none_left;
            actions.push(Action::Fallback(none_left));
        }
    }
}

/// The cause in a result that has one.
pub(crate) const fn cause_of(result: &ProbeResult) -> Option<Cause> {
    match result {
        ProbeResult::Failed(_, cause)
        | ProbeResult::Immediate(cause)
        | ProbeResult::CannotMeasure(cause) => Some(*cause),
        ProbeResult::Healthy | ProbeResult::Void => None,
    }
}

//! What every way of running a service has in common.

use std::collections::VecDeque;

use giveover_core::time::{Instant, Span};

use super::show::Show;
use super::strays::Strays;
use super::{Adoption, Event, Host, Identity};
use crate::config::plan::{Run, ServicePlan};
use crate::reactor::{BadProgram, Done, Environment, Reactor, Runner, Token};

/// Runs one service. Every call returns at once.
pub(super) trait Keeper {
    /// Finds out what is there, and says so.
    fn begin(&mut self, context: &mut Context<'_>);
    fn adopt(&mut self, identity: &Identity, context: &mut Context<'_>) -> Adoption;
    fn start(&mut self, context: &mut Context<'_>);
    fn stop(&mut self, context: &mut Context<'_>);
    /// The stop under way has no more than `limit_ms` left. A unit's is systemd's.
    fn hurry(&mut self, _limit_ms: u64, _: &mut Context<'_>) {}
    /// A source of it is ready, or its timer is due. It looks for itself what has changed.
    fn wake(&mut self, context: &mut Context<'_>);
    /// A command it had started is over.
    fn done(&mut self, done: Done<Method>, context: &mut Context<'_>);
    /// The unit about which systemd is to be asked now.
    fn asks(&self) -> Option<&str> {
        None
    }
    /// It is being asked.
    fn asked(&mut self) {}
    /// What systemd said, or why it could not be asked.
    fn shown(&mut self, _: Result<Show, String>, _: &mut Context<'_>) {}
    /// Whether it can take over what `run` says.
    fn runs(&self, run: &Run) -> bool;
    /// Its main process.
    fn pid(&self) -> Option<u32>;
    /// Whether it runs; `None` if that is not known.
    fn is_running(&self) -> Option<bool>;
    fn identity(&self) -> Option<Identity>;
    /// The plan has changed, the service has not: what runs goes on as it was started.
    fn replan(
        &mut self,
        plan: &ServicePlan,
        host: &Host,
        environment: &Environment,
    ) -> Result<(), BadProgram>;
    /// Units: their own limits for a start and a stop, as far as systemd has said them.
    fn time_outs(&self) -> (Option<Span>, Option<Span>) {
        (None, None)
    }
    /// Watches nothing any more. The service runs on.
    fn leave(&mut self, context: &mut Context<'_>);
}

/// A command of a service: whose, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Method {
    pub(super) slot: u32,
    pub(super) purpose: Purpose,
}

/// What a command of a service is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The stop method of a process.
    Stop,
    /// `systemctl reset-failed`.
    Reset,
    /// `systemctl start`.
    Start,
    /// `systemctl stop`.
    StopUnit,
    /// `systemctl show`, of several units.
    Show,
}

/// What a keeper works with while it is called.
pub(super) struct Context<'a> {
    pub(super) reactor: &'a mut Reactor,
    pub(super) methods: &'a mut Runner<Method>,
    pub(super) host: &'a Host,
    pub(super) events: &'a mut VecDeque<(u32, Event)>,
    pub(super) strays: &'a mut Strays,
    pub(super) service: u32,
    pub(super) slot: u32,
    /// Names its sources and its timer.
    pub(super) token: Token,
    pub(super) now: Instant,
}

impl Context<'_> {
    pub(super) fn say(&mut self, event: Event) {
        self.events.push_back((self.service, event));
    }

    /// The instant `ms` milliseconds from now.
    pub(super) fn after(&self, ms: u64) -> Instant {
        self.now.after(Span::from_millis(u32::try_from(ms).unwrap_or(u32::MAX)))
    }
}

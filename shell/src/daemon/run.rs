//! Errands of services: `validate`, `giveover.may`, `giveover.command`. Each is a command with a
//! deadline, and at most one is under way for a service.

use std::collections::HashMap;

use giveover_core::failure::{Cause, Phase};
use giveover_core::time::Instant;
use nix::errno::Errno;

use super::Daemon;
use crate::config::dollar::Values;
use crate::reactor::{
    Done, End, Keep, Order, Program, Reactor, Ready, Room, Run, Runner, SpawnError, Token,
};

/// What is run for a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// `validate`, before a planned stop.
    Validate,
    /// `giveover.may`.
    May,
    /// `giveover.command`.
    Command,
    /// `reboot`, when a stop failed under `hard`.
    Reboot,
    /// `run` of a row of errors, in the background.
    Row,
}

/// The errands under way.
pub(super) struct Errands {
    runner: Runner<(usize, Errand)>,
    under_way: HashMap<usize, Run>,
}

impl Errands {
    pub(super) fn new() -> Self {
        Self { runner: Runner::new(Room::Errand), under_way: HashMap::new() }
    }

    /// The daemon ends: so does all it runs.
    pub(super) fn end_all(&mut self, reactor: &mut Reactor, now: Instant) {
        self.runner.cancel_all(reactor, now);
    }
}

impl Daemon {
    /// Runs `argv` for `service`; its end comes to [`Daemon::errand_done`].
    pub(super) fn begin_errand(&mut self, service: usize, errand: Errand, argv: &[String]) {
        let now = self.now;
        let limits = self.plan.services[service].policy.limits();
        let timeout = match errand {
            Errand::Validate => limits.start_timeout,
            Errand::May | Errand::Command | Errand::Reboot | Errand::Row => {
                self.plan.giveover.timeout
            }
        };
        let plan = &self.plan.services[service];
        let values = Values {
            service: Some(&plan.name),
            node: Some(&self.plan.host.node),
            ..Values::default()
        };
        let environment = self.reactor.children.environment();
        let Ok(mut program) = Program::expanded(argv, &values, environment) else {
            let end = End::NotRun(SpawnError::CannotRun(Errno::EINVAL));
            self.errand_done(service, errand, end);
            return;
        };
        let order = Order {
            program: &mut program,
            until: now.after(timeout),
            keep: Keep::Line,
            // What hands a service over may leave something running that is meant to stay.
            leave: matches!(errand, Errand::Command | Errand::Row),
        };
        let run = self.errands.runner.start(&mut self.reactor, (service, errand), order, now);
        if let Some(run) = run.filter(|_| errand != Errand::Row) {
            self.errands.under_way.insert(service, run);
        }
        self.take_errands();
    }

    /// Ends the errand of a service, whose answer is no longer wanted.
    pub(super) fn cancel_errand(&mut self, service: usize) {
        let now = self.now;
        if let Some(run) = self.errands.under_way.remove(&service) {
            self.errands.runner.cancel(&mut self.reactor, run, now);
        }
    }

    pub(super) fn errand_ready(&mut self, ready: Ready) {
        let now = self.now;
        self.errands.runner.ready(&mut self.reactor, ready.token, now);
        self.take_errands();
    }

    pub(super) fn errand_due(&mut self, token: Token) {
        let now = self.now;
        self.errands.runner.due(&mut self.reactor, token, now);
        self.take_errands();
    }

    fn take_errands(&mut self) {
        while let Some(done) = self.errands.runner.done() {
            let Done { key: (service, errand), end, .. } = done;
            if matches!(end, End::Cancelled) {
                continue;
            }
            if errand != Errand::Row {
                self.errands.under_way.remove(&service);
            }
            self.errand_done(service, errand, end);
        }
    }

    fn errand_done(&mut self, service: usize, errand: Errand, end: End) {
        match errand {
            Errand::Validate => self.validated(service, cause_of(end, Phase::Start)),
            Errand::May => self.may_answered(service, end),
            Errand::Command => self.command_ended(service, end),
            Errand::Row => self.row_ran(service, end),
            Errand::Reboot => {} // it ends with us, or it was refused and the stop is tried again
        }
    }
}

/// Why a command did not end well; `None` if it did.
fn cause_of(end: End, phase: Phase) -> Option<Cause> {
    let code = match end {
        End::Exit(Some(exit)) if exit.code() == 0 => return None,
        End::Exit(Some(exit)) => exit.code(),
        End::Exit(None) => Cause::UNKNOWN,
        End::TimedOut => Cause::TIMED_OUT,
        End::NotRun(error) => error.code(),
        End::Cancelled => return None,
    };
    Some(Cause::new(phase, code))
}

impl Daemon {
    /// Runs `validate`, if there is one.
    pub(super) fn begin_validate(&mut self, service: usize) {
        if let Some(argv) = self.plan.services[service].validate.clone() {
            self.begin_errand(service, Errand::Validate, &argv);
        }
    }
}

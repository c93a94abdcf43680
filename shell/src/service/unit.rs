//! A service that is a unit of systemd: asked for through `systemctl`, looked at by asking.
//!
//! systemd starts, stops and kills; here it is only asked, and what others do with the unit is
//! told from what we did. A death is heard at once by a pidfd on the main process, everything
//! else by asking every few seconds, all units with one command.

use giveover_core::failure::Cause;
use giveover_core::time::{Instant, Span};

use super::keeper::{Context, Keeper, Method, Purpose};
use super::show::{Condition, Show};
use super::systemctl::{INFINITE, MARGIN, QUESTION, Spec};
use super::{Adoption, Event, Host, Identity, Trouble};
use crate::config::plan::{Run, ServicePlan};
use crate::reactor::{
    self, BadProgram, Child, Done, End, Environment, Exit, Keep, Member, Order, Timer,
};

/// The keeper of a service that is a unit of systemd.
pub(super) struct Unit {
    spec: Spec,
    /// What was true when it was last at rest.
    seen: Option<Show>,
    /// Its main process, for its end.
    main: Option<Child>,
    work: Work,
    /// It was asked what is there, and that was not answered yet.
    finding: bool,
    /// systemd is to be asked now.
    wants: bool,
    /// systemd could not be asked, and that was said.
    deaf: bool,
    /// How long until it is asked about again while it is changing, in milliseconds.
    pause: u64,
    timer: Option<Timer>,
    run: Option<reactor::Run>,
}

/// What we want of systemd.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Work {
    /// Nothing.
    Rest,
    /// To forget that the unit had failed, so that it can be started.
    Reset,
    /// To start it.
    Start,
    /// To say how it is after that.
    Started { until: Instant },
    /// To stop it.
    Stop,
    /// To say how it is after that; with what the job had to say if it failed.
    Stopped { until: Instant, failed: Option<(u16, String)> },
}

/// How long until a unit that is changing is asked about again, at first and at most, in
/// milliseconds.
const SOON: u64 = 100;
const LATER: u64 = 2000;

impl Unit {
    /// The keeper of `name`, of which nothing is known yet.
    ///
    /// # Errors
    /// Its name cannot be an argument.
    pub(super) fn new(
        plan: &ServicePlan,
        name: &str,
        host: &Host,
        environment: &Environment,
    ) -> Result<Self, BadProgram> {
        Ok(Self {
            spec: Spec::new(plan, name, host, environment)?,
            seen: None,
            main: None,
            work: Work::Rest,
            finding: false,
            wants: false,
            deaf: false,
            pause: SOON,
            timer: None,
            run: None,
        })
    }

    fn arm(&mut self, context: &mut Context<'_>, at: Instant) {
        self.disarm(context);
        self.timer = Some(context.reactor.timers.arm(context.token, at));
    }

    fn disarm(&mut self, context: &mut Context<'_>) {
        if let Some(timer) = self.timer.take() {
            context.reactor.timers.disarm(timer);
        }
    }

    /// Asks systemd to do something, instead of what it was asked before.
    fn ask(&mut self, context: &mut Context<'_>, work: Work) {
        if let Some(run) = self.run.take() {
            context.methods.cancel(context.reactor, run, context.now);
        }
        let own = |own: fn(&Show) -> Option<Span>| self.seen.as_ref().and_then(own);
        let with_margin = |written: Option<Span>, own: Option<Span>| {
            let ms = written.or(own.filter(|own| !own.is_zero())).unwrap_or(INFINITE).as_millis();
            Span::from_millis(ms.saturating_add(MARGIN))
        };
        let start_timeout = with_margin(self.spec.start_timeout, own(|show| show.start_timeout));
        let stop_timeout = with_margin(self.spec.stop_timeout, own(|show| show.stop_timeout));
        let (program, purpose, timeout) = match work {
            Work::Reset => (&mut self.spec.reset, Purpose::Reset, QUESTION),
            Work::Start => (&mut self.spec.start, Purpose::Start, start_timeout),
            Work::Stop => (&mut self.spec.stop, Purpose::StopUnit, stop_timeout),
            Work::Rest | Work::Started { .. } | Work::Stopped { .. } => {
                self.work = work;
                self.wants = true;
                return;
            }
        };
        self.work = work;
        let until = context.now.after(timeout);
        let order = Order { program, until, keep: Keep::Line, leave: true };
        let key = Method { slot: context.slot, purpose };
        self.run = context.methods.start(context.reactor, key, order, context.now);
    }

    /// systemd has said how the unit is.
    fn take(&mut self, context: &mut Context<'_>, show: Show) {
        self.deaf = false;
        let condition = self.hold_main(context, &show);
        match std::mem::replace(&mut self.work, Work::Rest) {
            Work::Rest if condition == Condition::Changing => self.soon(context),
            Work::Rest => {
                self.compare(context, &show, condition);
                self.rest(context, show);
            }
            Work::Started { until } => {
                if condition == Condition::Changing && context.now < until {
                    self.work = Work::Started { until };
                    self.soon(context);
                    return;
                }
                context.say(Event::Started { pid: show.pid, identity: None });
                if matches!(condition, Condition::Down | Condition::Failed) {
                    context.say(Event::Died { pid: show.pid, exit: show.exit() });
                }
                self.rest(context, show);
            }
            Work::Stopped { until, failed } => {
                if condition == Condition::Changing && context.now < until {
                    self.work = Work::Stopped { until, failed };
                    self.soon(context);
                    return;
                }
                context.say(stop_outcome(&show, condition, failed));
                self.rest(context, show);
            }
            // The job that is under way will tell.
            work @ (Work::Reset | Work::Start | Work::Stop) => self.work = work,
        }
    }

    /// What the unit has done that we did not ask for.
    fn compare(&mut self, context: &mut Context<'_>, show: &Show, condition: Condition) {
        if std::mem::take(&mut self.finding) {
            context.say(Event::Found {
                running: condition == Condition::Up,
                enabled: show.is_enabled(),
                pid: show.pid,
            });
            return;
        }
        let Some(before) = &self.seen else { return };
        let was_up = before.condition() == Condition::Up;
        let pid = show.pid;
        let event = match condition {
            Condition::Up if show.restarts > before.restarts => {
                Event::HealedBySystemd { pid, restarts: show.restarts }
            }
            Condition::Up if was_up && !show.is_another_run(before) => return,
            Condition::Up => Event::StartedByOther { pid },
            Condition::Down if was_up && show.was_stopped() => Event::StoppedByOther,
            Condition::Down | Condition::Failed if was_up => {
                Event::Died { pid: before.pid, exit: show.exit() }
            }
            Condition::Down | Condition::Failed | Condition::Changing => return,
        };
        context.say(event);
    }

    /// Holds the main process; says how the unit is in the light of that.
    fn hold_main(&mut self, context: &mut Context<'_>, show: &Show) -> Condition {
        let same = self.main.as_ref().map(Child::pid) == show.pid;
        if same && self.main.as_ref().is_none_or(Child::is_running) {
            return show.condition();
        }
        self.let_go(context);
        let Some(pid) = show.pid else { return show.condition() };
        let Some(member) = Member::of(pid) else {
            // It has ended, and systemd does not know it yet.
            return match show.condition() {
                Condition::Up => Condition::Changing,
                other => other,
            };
        };
        // Without it the next question tells.
        if let Ok(main) = Child::hold_stranger(member.pid, member.start) {
            if main.watch(context.reactor, context.token).is_ok() {
                self.main = Some(main);
            }
        }
        show.condition()
    }

    fn let_go(&mut self, context: &mut Context<'_>) {
        if let Some(main) = self.main.take() {
            main.unwatch(context.reactor);
        }
    }

    fn soon(&mut self, context: &mut Context<'_>) {
        let at = context.after(self.pause);
        self.pause = (self.pause * 2).min(LATER);
        self.arm(context, at);
    }

    fn rest(&mut self, context: &mut Context<'_>, show: Show) {
        self.seen = Some(show);
        self.pause = SOON;
        let at = context.now.after(context.host.poll);
        self.arm(context, at);
    }
}

/// What a stop has come to.
fn stop_outcome(show: &Show, condition: Condition, failed: Option<(u16, String)>) -> Event {
    if matches!(condition, Condition::Down | Condition::Failed) {
        return Event::Stopped;
    }
    let still = format!("still {}", show.words());
    let (code, words) = match failed {
        Some((code, said)) => (code, format!("{said}; {still}")),
        None => (Cause::TIMED_OUT, still),
    };
    Event::StopFailed(Trouble::stop(code, words))
}

/// Code and words of a job that was not done.
fn failure(verb: &str, done: &Done<Method>) -> (u16, String) {
    let (code, how) = match done.end {
        End::Exit(Some(exit)) => (exit.code(), exit.to_string()),
        End::Exit(None) => (Cause::UNKNOWN, "nobody knows how it ended".to_owned()),
        End::TimedOut => (Cause::TIMED_OUT, "not done in time".to_owned()),
        End::NotRun(error) => (error.code(), error.to_string()),
        End::Cancelled => (Cause::UNKNOWN, "cancelled".to_owned()),
    };
    match done.line() {
        Some(line) => (code, format!("systemctl {verb}: {line}")),
        None => (code, format!("systemctl {verb}: {how}")),
    }
}

impl Keeper for Unit {
    fn begin(&mut self, _: &mut Context<'_>) {
        self.finding = true;
        self.wants = true;
    }

    fn adopt(&mut self, _: &Identity, _: &mut Context<'_>) -> Adoption {
        Adoption::NotOurs
    }

    fn start(&mut self, context: &mut Context<'_>) {
        self.ask(context, Work::Reset);
    }

    fn stop(&mut self, context: &mut Context<'_>) {
        if !matches!(self.work, Work::Stop | Work::Stopped { .. }) {
            self.ask(context, Work::Stop);
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        if self.main.as_ref().is_some_and(|main| !main.is_running()) {
            self.let_go(context);
        }
        self.wants = true;
    }

    fn done(&mut self, done: Done<Method>, context: &mut Context<'_>) {
        if done.end == End::Cancelled {
            // Something else is wanted by now.
            return;
        }
        let well = done.end == End::Exit(Some(Exit::Status(0)));
        let until = context.now.after(QUESTION);
        match (&self.work, done.key.purpose) {
            // There may have been nothing to forget.
            (Work::Reset, Purpose::Reset) => self.ask(context, Work::Start),
            (Work::Start, Purpose::Start) if well => self.ask(context, Work::Started { until }),
            (Work::Start, Purpose::Start) => {
                let (code, words) = failure("start", &done);
                context.say(Event::StartFailed(Trouble::start(code, words)));
                self.ask(context, Work::Rest);
            }
            (Work::Stop, Purpose::StopUnit) => {
                let failed = (!well).then(|| failure("stop", &done));
                self.ask(context, Work::Stopped { until, failed });
            }
            _ => {}
        }
    }

    fn asks(&self) -> Option<&str> {
        self.wants.then_some(self.spec.name.as_str())
    }

    fn asked(&mut self) {
        self.wants = false;
    }

    fn shown(&mut self, show: Result<Show, String>, context: &mut Context<'_>) {
        match show {
            Ok(show) => self.take(context, show),
            Err(words) => {
                if !self.deaf {
                    context.say(Event::CannotAsk(words.clone()));
                }
                self.deaf = true;
                match std::mem::replace(&mut self.work, Work::Rest) {
                    Work::Started { until } if context.now >= until => {
                        context.say(Event::StartFailed(Trouble::start(Cause::UNKNOWN, words)));
                    }
                    Work::Stopped { until, .. } if context.now >= until => {
                        context.say(Event::StopFailed(Trouble::stop(Cause::UNKNOWN, words)));
                    }
                    work => self.work = work,
                }
                let pause = if self.work == Work::Rest { context.host.poll } else { RETRY };
                let at = context.now.after(pause);
                self.arm(context, at);
            }
        }
    }

    fn runs(&self, run: &Run) -> bool {
        matches!(run, Run::Unit(name) if *name == self.spec.name)
    }

    fn pid(&self) -> Option<u32> {
        self.seen.as_ref()?.pid
    }

    fn is_running(&self) -> Option<bool> {
        Some(self.seen.as_ref()?.condition() == Condition::Up)
    }

    fn identity(&self) -> Option<Identity> {
        None
    }

    fn time_outs(&self) -> (Option<Span>, Option<Span>) {
        self.seen.as_ref().map_or((None, None), |show| (show.start_timeout, show.stop_timeout))
    }

    fn replan(
        &mut self,
        plan: &ServicePlan,
        host: &Host,
        environment: &Environment,
    ) -> Result<(), BadProgram> {
        self.spec = Spec::new(plan, &self.spec.name, host, environment)?;
        Ok(())
    }

    fn leave(&mut self, context: &mut Context<'_>) {
        self.disarm(context);
        self.let_go(context);
        if let Some(run) = self.run.take() {
            context.methods.cancel(context.reactor, run, context.now);
        }
    }
}

/// How long until systemd is asked again while something waits for its answer.
const RETRY: Span = Span::from_millis(500);

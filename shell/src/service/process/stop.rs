//! The end of a process of ours: asked, then killed, then proven.

use giveover_core::failure::Cause;
use giveover_core::time::Instant;
use rustix::process::Signal;

use super::super::keeper::{Context, Method, Purpose};
use super::super::{Event, Trouble};
use super::spec::Stop;
use super::{Process, State, let_go};
use crate::reactor::{Child, Done, End, Exit, Keep, Look, Member, Order, Run};

/// What a stop is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It was asked for.
    Rest,
    /// A start was asked for, and something of the old instance was left.
    Start,
}

/// A stop under way, or one that has failed.
///
/// # Source
/// Sun Cluster's `scds_pmf_stop`: the method has 80 % of the time, what is left is killed and
/// has another 15 % to go, the rest is ours.
pub(super) struct Stopping {
    /// One of its processes, the main one while that lives.
    held: Option<Child>,
    /// The stop command, while it runs.
    command: Option<Run>,
    kill_at: Instant,
    fail_at: Instant,
    /// What outlived the main process has been asked too.
    asked: bool,
    killed: bool,
    failed: bool,
    /// How long until it is looked again, in milliseconds.
    wait: u64,
    /// What the stop command had to say, if it failed.
    said: Option<String>,
    then: Then,
}

impl Stopping {
    fn new(context: &Context<'_>, timeout_ms: u64, held: Option<Child>, then: Then) -> Self {
        Self {
            held,
            command: None,
            kill_at: context.after(timeout_ms * 80 / 100),
            fail_at: context.after(timeout_ms * 95 / 100),
            asked: false,
            killed: false,
            failed: false,
            wait: FIRST_WAIT,
            said: None,
            then,
        }
    }

    /// With no more than `limit_ms` left.
    pub(super) fn hurried(self, limit_ms: u64, context: &Context<'_>) -> Self {
        let kill_at = self.kill_at.min(context.after(limit_ms * 80 / 100));
        let fail_at = self.fail_at.min(context.after(limit_ms * 95 / 100));
        Self { kill_at, fail_at, ..self }
    }

    /// The process that is held.
    pub(super) fn pid(&self) -> Option<u32> {
        self.held.as_ref().map(Child::pid)
    }

    /// Lets go of all of it.
    pub(super) fn leave(self, context: &mut Context<'_>) {
        if let Some(command) = self.command {
            context.methods.cancel(context.reactor, command, context.now);
        }
        if let Some(held) = self.held {
            let_go(context.reactor, held);
        }
    }
}

/// How long between looks once all has been killed, in milliseconds.
const FIRST_WAIT: u64 = 10;
const LAST_WAIT: u64 = 500;

impl Process {
    /// Asks what runs to stop; `held` is its main process, if it has one.
    pub(super) fn begin_stop(
        &mut self,
        context: &mut Context<'_>,
        held: Option<Child>,
        then: Then,
    ) {
        let timeout_ms = u64::from(self.spec.stop_timeout.as_millis());
        let mut stopping = Stopping::new(context, timeout_ms, held, then);
        let tree = self.tree.as_ref();
        let there = tree.map(|tree| tree.members(&context.reactor.children)).unwrap_or_default();
        if there.is_empty() && stopping.held.is_none() {
            return self.is_stopped(context, &stopping);
        }
        if let Some(tree) = &mut self.tree {
            // Whoever is there now is known from here on, whatever it does to hide.
            there.iter().for_each(|member| tree.root(member.pid));
        }
        match (&stopping.held, &mut self.spec.stop) {
            (Some(main), Stop::Signal(signal)) => {
                // A refusal shows when it does not go.
                let _ = main.signal(*signal);
            }
            (Some(_), Stop::Command(program)) => {
                let until = stopping.kill_at;
                let order = Order { program, until, keep: Keep::Line, leave: true };
                let key = Method { slot: context.slot, purpose: Purpose::Stop };
                stopping.command = context.methods.start(context.reactor, key, order, context.now);
            }
            (None, _) => {}
        }
        self.pursue(context, stopping);
    }

    /// A stop is asked for while one is under way, or after one has failed.
    pub(super) fn stop_again(&mut self, context: &mut Context<'_>, stopping: Stopping) {
        if stopping.failed {
            self.begin_stop(context, stopping.held, Then::Rest);
        } else {
            // Nothing is to be started any more, if that was what it was for.
            self.state = State::Stopping(Stopping { then: Then::Rest, ..stopping });
        }
    }

    /// The stop command is over.
    pub(super) fn stop_method_done(
        &mut self,
        context: &mut Context<'_>,
        mut stopping: Stopping,
        done: &Done<Method>,
    ) {
        stopping.command = None;
        if done.end != End::Exit(Some(Exit::Status(0))) {
            stopping.said = Some(failure(done));
            // It did not do its work, so the usual signal has what is left of the time.
            if let Some(main) = &stopping.held {
                let _ = main.signal(Signal::TERM);
            }
        }
        self.pursue(context, stopping);
    }

    /// Looks how far it is, and does what is due.
    pub(super) fn pursue(&mut self, context: &mut Context<'_>, mut stopping: Stopping) {
        let left = self.left(context, &mut stopping);
        if left.is_empty() && stopping.held.is_none() && stopping.command.is_none() {
            self.is_stopped(context, &stopping);
            return;
        }
        if stopping.held.is_none() {
            self.hold_one(context, &mut stopping, &left);
        }
        if context.now >= stopping.kill_at && !stopping.failed {
            if let Some(tree) = &self.tree {
                tree.kill(&context.reactor.children);
            }
            stopping.killed = true;
        }
        if context.now >= stopping.fail_at && !stopping.failed {
            stopping.failed = true;
            self.disarm(context);
            context.say(failed(&stopping, &left));
        }
        self.arm_next(context, &mut stopping);
        self.state = State::Stopping(stopping);
    }

    /// What is left of it. A main process that has ended is reaped only after that was asked:
    /// until then no other can have its number or its session's.
    fn left(&self, context: &mut Context<'_>, stopping: &mut Stopping) -> Vec<Member> {
        let children = &context.reactor.children;
        let tree = self.tree.as_ref();
        let left = tree.map(|tree| tree.members(children)).unwrap_or_default();
        let gone = |held: &Child| children.look(held) != Look::Running;
        if stopping.held.as_ref().is_some_and(gone) {
            if let Some(held) = stopping.held.take() {
                let_go(context.reactor, held);
            }
        }
        left
    }

    /// The main process is gone and others are left: they are asked too, once, and one of them
    /// is held so that its end is heard.
    fn hold_one(&self, context: &mut Context<'_>, stopping: &mut Stopping, left: &[Member]) {
        let Some(member) = left.first() else { return };
        if let (Some(tree), false) = (&self.tree, stopping.asked) {
            let signal = match &self.spec.stop {
                Stop::Signal(signal) => *signal,
                Stop::Command(_) => Signal::TERM,
            };
            tree.signal(&context.reactor.children, signal);
            stopping.asked = true;
        }
        let reactor = &mut *context.reactor;
        if let Ok(held) = reactor.children.adopt(member.pid, member.start) {
            match held.watch(reactor, context.token) {
                Ok(()) => stopping.held = Some(held),
                Err(_) => {
                    let_go(reactor, held);
                }
            }
        }
    }

    fn is_stopped(&mut self, context: &mut Context<'_>, stopping: &Stopping) {
        self.disarm(context);
        self.tree = None;
        self.state = State::Down;
        match (stopping.failed, stopping.then) {
            // It has been answered; the next one finds nothing to do.
            (true, _) => {}
            (false, Then::Rest) => context.say(Event::Stopped),
            (false, Then::Start) => self.begin_start(context),
        }
    }

    fn arm_next(&mut self, context: &mut Context<'_>, stopping: &mut Stopping) {
        if stopping.failed {
            return;
        }
        // Without one to hear of we have to look.
        let deaf = stopping.held.is_none() && stopping.command.is_none();
        let mut at = if stopping.killed { stopping.fail_at } else { stopping.kill_at };
        if stopping.killed || deaf {
            at = at.min(context.after(stopping.wait));
            stopping.wait = (stopping.wait * 2).min(LAST_WAIT);
        }
        self.arm(context, at);
    }
}

fn failure(done: &Done<Method>) -> String {
    let how = match done.end {
        End::Exit(Some(exit)) => exit.to_string(),
        End::Exit(None) => "nobody knows how it ended".to_owned(),
        End::TimedOut => "not done within 80 % of stop_timeout".to_owned(),
        End::NotRun(error) => error.to_string(),
        End::Cancelled => "cancelled".to_owned(),
    };
    match done.line() {
        Some(line) => format!("the stop command: {how}: {line}"),
        None => format!("the stop command: {how}"),
    }
}

/// What is said when something is left at the end.
fn failed(stopping: &Stopping, left: &[Member]) -> Event {
    let who: Vec<String> = left.iter().take(5).map(|member| member.pid.to_string()).collect();
    let mut words = format!("still there after KILL: pid {}", who.join(", "));
    if let Some(said) = &stopping.said {
        words = format!("{said}; {words}");
    }
    match stopping.then {
        Then::Rest => Event::StopFailed(Trouble::stop(Cause::TIMED_OUT, words)),
        Then::Start => Event::StartFailed(Trouble::start(Cause::TIMED_OUT, words)),
    }
}

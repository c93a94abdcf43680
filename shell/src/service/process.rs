//! A service that is a process of ours: started, held, heard when it ends.

mod stop;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use giveover_core::time::{Instant, Span};
use mio::Interest;
use mio::unix::SourceFd;
use nix::errno::Errno;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;

use super::exec::{self, Failure};
use super::output::Output;
use super::strays::STATE;
use super::{Adoption, Context, Event, Host, Identity, Keeper, Method, Trouble};
use crate::config::dollar::{Values, expand_all};
use crate::config::plan::{ProcessPlan, Run, ServicePlan, StopMethod};
use crate::reactor::{
    BadProgram, Cgroup, Child, Done, Environment, Exit, Instance, Look, Member, Program, Reactor,
    SpawnError, Stdio, Timer, Tree, procfs,
};
use giveover_core::failure::Cause;
use stop::Stopping;

/// The keeper of a service that is a process of ours.
pub(super) struct Process {
    spec: Spec,
    state: State,
    /// What is known of the processes of the last start, until they are proven gone.
    tree: Option<Tree>,
    timer: Option<Timer>,
}

/// How it is started and stopped, made ready.
struct Spec {
    name: Box<str>,
    program: Program,
    /// The program is a copy of ours that sets itself up and becomes the service.
    helped: bool,
    cgroup: Option<Cgroup>,
    forks: bool,
    stop: Stop,
    start_timeout: Span,
    stop_timeout: Span,
}

enum Stop {
    Signal(Signal),
    Command(Program),
}

enum State {
    /// Nothing of it runs, except what the tree may still hold.
    Down,
    /// A start waits for what we lack.
    Lacking { until: Instant },
    /// The copy of ours has not become the service yet.
    SettingUp { child: Child, reason: OwnedFd, until: Instant },
    /// The command that starts it has not ended yet.
    Forking { child: Child, until: Instant },
    /// It runs.
    Up { main: Child },
    /// It runs, and we lack what it takes to hold it.
    Unheld,
    /// It is being stopped, or could not be.
    Stopping(Stopping),
}

impl Spec {
    fn new(
        plan: &ServicePlan,
        process: &ProcessPlan,
        host: &Host,
        environment: &Environment,
    ) -> Result<Self, BadProgram> {
        let values =
            Values { service: Some(&plan.name), node: Some(&host.node), ..Values::default() };
        let environment = environment.with(&values.environment())?.with(&process.env)?;
        // Only what becomes the service is to be taken for it.
        let marked = environment.with(&[(STATE, host.state.as_str())])?;
        let argv = expand_all(&process.start, &values)?;
        let cgroup = host.cgroups.as_ref().and_then(|groups| groups.group(&plan.name).ok());
        let helped = process.user.is_some()
            || process.group.is_some()
            || process.dir.is_some()
            || cgroup.is_some();
        // Not even a copy of ours may take nothing for a program.
        let plain = Program::new(&argv, &marked)?;
        let program = if helped {
            let words = exec::words(&host.helper, process, cgroup.as_ref(), &argv);
            Program::new(&words, &marked)?
        } else {
            plain
        };
        let stop = match &process.stop {
            StopMethod::Signal(number) => {
                Stop::Signal(Signal::from_named_raw(*number).unwrap_or(Signal::TERM))
            }
            StopMethod::Command(argv) => {
                Stop::Command(Program::new(&expand_all(argv, &values)?, &environment)?)
            }
        };
        let limits = plan.policy.limits();
        Ok(Self {
            name: plan.name.clone(),
            program,
            helped,
            cgroup,
            forks: process.forks,
            stop,
            start_timeout: limits.start_timeout,
            stop_timeout: limits.stop_timeout,
        })
    }
}

impl Process {
    /// The keeper of `plan`, which runs nothing yet.
    ///
    /// # Errors
    /// A command of it cannot be made.
    pub(super) fn new(
        plan: &ServicePlan,
        process: &ProcessPlan,
        host: &Host,
        environment: &Environment,
    ) -> Result<Self, BadProgram> {
        let spec = Spec::new(plan, process, host, environment)?;
        Ok(Self { spec, state: State::Down, tree: None, timer: None })
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

    /// Tries to start it, once.
    fn attempt(&mut self, context: &mut Context<'_>, until: Instant) {
        let instance = context.reactor.children.instance();
        match self.spawn(context, instance) {
            Ok((child, reason)) => {
                let mut tree = Tree::new(instance).within(self.spec.cgroup.clone());
                tree.root(child.pid());
                self.tree = Some(tree);
                self.arm(context, until);
                match reason {
                    Some(reason) => self.state = State::SettingUp { child, reason, until },
                    None => self.is_set_up(context, child, until),
                }
            }
            Err(SpawnError::Lack(_)) if context.now < until => {
                self.state = State::Lacking { until };
                let again = context.after(LACK_AGAIN).min(until);
                self.arm(context, again);
            }
            Err(error) => {
                let name = self.spec.program.name().to_string_lossy().into_owned();
                let words = format!("cannot run {name}: {error}");
                self.fail(context, None, Trouble::start(error.code(), words));
            }
        }
    }

    /// Makes the process, watched; with the pipe on which a copy of ours says what went wrong.
    fn spawn(
        &mut self,
        context: &mut Context<'_>,
        instance: Instance,
    ) -> Result<(Child, Option<OwnedFd>), SpawnError> {
        let output = Output::of(&self.spec.name, context.host.journal.as_deref());
        let pipe = if self.spec.helped { Some(reason_pipe().map_err(lack)?) } else { None };
        let input = pipe.as_ref().map(|(_, writer)| writer.as_fd());
        let stdio = Stdio { input, output: Some(output.as_fd()) };
        let reactor = &mut *context.reactor;
        let child = reactor.children.spawn(&mut self.spec.program, instance, stdio)?;
        let reason = pipe.map(|(reader, _)| reader);
        let watched = child.watch(reactor, context.token).and_then(|()| match &reason {
            Some(reason) => {
                let number = reason.as_raw_fd();
                reactor.add(&mut SourceFd(&number), context.token, Interest::READABLE)
            }
            None => Ok(()),
        });
        match watched {
            Ok(()) => Ok((child, reason)),
            Err(error) => {
                let _ = child.signal(Signal::KILL);
                let_go(reactor, child);
                Err(lack(error))
            }
        }
    }

    /// A copy of ours sets itself up, has become the service, or could not.
    fn set_up(&mut self, context: &mut Context<'_>, child: Child, reason: OwnedFd, until: Instant) {
        let mut text = [0; 1024];
        let length = match rustix::io::read(&reason, &mut text) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) if context.now < until => {
                self.state = State::SettingUp { child, reason, until };
                return;
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => None,
            Ok(length) => Some(length),
            Err(_) => Some(0),
        };
        context.reactor.remove(&mut SourceFd(&reason.as_raw_fd()));
        let said = length.and_then(|length| Failure::read(text.get(..length)?));
        match (length, said) {
            (None, _) => self.fail(context, Some(child), too_late()),
            (Some(_), Some(Failure { errno, words })) => {
                let code = if errno == 0 { exec::FAILED.into() } else { Cause::ERRNO + errno };
                self.fail(context, Some(child), Trouble::start(code, words));
            }
            (Some(_), None) => {
                if let Some(tree) = &mut self.tree {
                    // From now on it runs another program.
                    tree.root(child.pid());
                }
                self.is_set_up(context, child, until);
                // Its end may have been heard before this.
                self.wake(context);
            }
        }
    }

    /// The program that was written runs.
    fn is_set_up(&mut self, context: &mut Context<'_>, child: Child, until: Instant) {
        if self.spec.forks {
            self.state = State::Forking { child, until };
        } else {
            self.has_started(context, child);
        }
    }

    fn has_started(&mut self, context: &mut Context<'_>, main: Child) {
        self.disarm(context);
        self.state = State::Up { main };
        context.say(Event::Started { pid: self.pid(), identity: self.identity() });
    }

    /// The command that starts it runs, or has ended: what it left is the service.
    fn forked(&mut self, context: &mut Context<'_>, child: Child, until: Instant) {
        let children = &context.reactor.children;
        if children.look(&child) == Look::Running {
            if context.now < until {
                self.state = State::Forking { child, until };
            } else {
                self.fail(context, Some(child), too_late());
            }
            return;
        }
        // While it is not reaped nothing else can have its number, or its session's.
        let start = procfs::stat(child.pid()).map_or(0, |stat| stat.start);
        let left = self.tree.as_ref().map(|tree| tree.left_since(children, start));
        for member in left.unwrap_or_default() {
            self.tree.iter_mut().for_each(|tree| tree.root(member.pid));
        }
        let exit = let_go(context.reactor, child);
        if exit != Some(Exit::Status(0)) {
            let code = exit.map_or(Cause::UNKNOWN, Exit::code);
            let how = exit.map_or_else(|| "nobody knows how it ended".into(), |e| e.to_string());
            self.fail(context, None, Trouble::start(code, format!("the start command: {how}")));
            return;
        }
        match self.next_main(context) {
            Next::Main(main) => self.has_started(context, main),
            Next::Lack => {
                self.unheld(context);
                context.say(Event::Started { pid: None, identity: None });
            }
            Next::Nobody => {
                context.say(Event::Started { pid: None, identity: None });
                self.has_died(context, None, None);
            }
        }
    }

    /// A start has failed. Nothing of it is to run on.
    fn fail(&mut self, context: &mut Context<'_>, child: Option<Child>, trouble: Trouble) {
        if let Some(tree) = &self.tree {
            tree.kill(&context.reactor.children);
        }
        if let Some(child) = child {
            let_go(context.reactor, child);
        }
        self.disarm(context);
        self.state = State::Down;
        context.say(Event::StartFailed(trouble));
    }

    /// Looks whether it still runs.
    fn look(&mut self, context: &mut Context<'_>, main: Child) {
        if context.reactor.children.look(&main) == Look::Running {
            self.state = State::Up { main };
            return;
        }
        // What forks may live on without the one we held. Looked for before that is reaped.
        let next = if self.spec.forks { self.next_main(context) } else { Next::Nobody };
        let pid = main.pid();
        let exit = let_go(context.reactor, main);
        match next {
            Next::Main(main) => self.state = State::Up { main },
            Next::Lack => self.unheld(context),
            Next::Nobody => self.has_died(context, Some(pid), exit),
        }
    }

    fn has_died(&mut self, context: &mut Context<'_>, pid: Option<u32>, exit: Option<Exit>) {
        self.disarm(context);
        self.state = State::Down;
        context.say(Event::Died { pid, exit });
    }

    fn unheld(&mut self, context: &mut Context<'_>) {
        self.state = State::Unheld;
        let again = context.after(LACK_AGAIN);
        self.arm(context, again);
    }

    fn hold_again(&mut self, context: &mut Context<'_>) {
        match self.next_main(context) {
            Next::Main(main) => {
                self.disarm(context);
                self.state = State::Up { main };
            }
            Next::Lack => self.unheld(context),
            Next::Nobody => self.has_died(context, None, None),
        }
    }

    /// Holds one of the processes that are left, the oldest of those nobody else of them made.
    fn next_main(&mut self, context: &mut Context<'_>) -> Next {
        let Some(tree) = &mut self.tree else { return Next::Nobody };
        let reactor = &mut *context.reactor;
        for _ in 0..TRIES {
            let members = tree.members(&reactor.children);
            let Some(chosen) = main_of(&members) else { return Next::Nobody };
            match reactor.children.adopt(chosen.pid, chosen.start) {
                Ok(main) => {
                    if main.watch(reactor, context.token).is_err() {
                        let_go(reactor, main);
                        return Next::Lack;
                    }
                    tree.root(main.pid());
                    return Next::Main(main);
                }
                // It went while we looked.
                Err(Errno::ESRCH) => {}
                Err(_) => return Next::Lack,
            }
        }
        Next::Lack
    }
}

/// What a service goes on with.
enum Next {
    Main(Child),
    /// Something is left, and we cannot hold it now.
    Lack,
    Nobody,
}

/// How often a process may vanish under our hands before we look again later.
const TRIES: u32 = 16;
/// How long it is waited for what we lack, in milliseconds.
const LACK_AGAIN: u64 = 100;

fn main_of(members: &[Member]) -> Option<Member> {
    let made = |member: &Member| {
        let parent = procfs::stat(member.pid).map(|stat| stat.parent);
        members.iter().any(|other| Some(other.pid) == parent)
    };
    members.iter().find(|member| !made(member)).or(members.first()).copied()
}

fn too_late() -> Trouble {
    Trouble::start(Cause::TIMED_OUT, "not started within start_timeout")
}

fn reason_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

fn lack(error: io::Error) -> SpawnError {
    SpawnError::Lack(error.raw_os_error().map_or(Errno::ENOMEM, Errno::from_raw))
}

/// Watches a process no more, and reaps it if it is ours and dead.
fn let_go(reactor: &mut Reactor, child: Child) -> Option<Exit> {
    child.unwatch(reactor);
    match reactor.children.reap(child) {
        Look::Gone(exit) => exit,
        Look::Running => None,
    }
}

impl Keeper for Process {
    fn begin(&mut self, context: &mut Context<'_>) {
        if matches!(self.state, State::Down) {
            for identity in context.strays.take(&self.spec.name, context.now) {
                if self.adopt(&identity, context) != Adoption::Gone {
                    break;
                }
            }
        }
        let running = self.is_running() == Some(true);
        context.say(Event::Found { running, enabled: false, pid: self.pid() });
    }

    fn adopt(&mut self, identity: &Identity, context: &mut Context<'_>) -> Adoption {
        if let Some(pid) = self.pid() {
            return Adoption::Adopted { pid };
        }
        if !identity.is_of_this_boot() {
            return Adoption::Gone;
        }
        let tree = Tree::new(identity.instance).within(self.spec.cgroup.clone()).anywhere();
        self.tree = Some(tree);
        let held = match context.reactor.children.adopt(identity.pid, identity.start) {
            Ok(main) => match main.watch(context.reactor, context.token) {
                Ok(()) => Next::Main(main),
                Err(_) => {
                    let_go(context.reactor, main);
                    Next::Lack
                }
            },
            Err(Errno::ESRCH) if self.spec.forks => self.next_main(context),
            Err(Errno::ESRCH) => Next::Nobody,
            Err(_) => Next::Lack,
        };
        match held {
            Next::Main(main) => {
                let pid = main.pid();
                self.tree.iter_mut().for_each(|tree| tree.root(pid));
                self.state = State::Up { main };
                Adoption::Adopted { pid }
            }
            Next::Nobody => Adoption::Gone,
            Next::Lack => Adoption::Lack,
        }
    }

    fn start(&mut self, context: &mut Context<'_>) {
        let busy = Cause::ERRNO + Errno::EBUSY as u16;
        match &self.state {
            State::Up { .. } | State::Unheld => {
                context.say(Event::Started { pid: self.pid(), identity: self.identity() });
            }
            State::Lacking { .. } | State::SettingUp { .. } | State::Forking { .. } => {}
            State::Stopping(_) => {
                let words = "it is still being stopped";
                context.say(Event::StartFailed(Trouble::start(busy, words)));
            }
            State::Down => {
                let left = self.tree.as_ref().map(|tree| tree.members(&context.reactor.children));
                if let Some(member) = left.as_ref().and_then(|left| left.first()) {
                    let words = format!("pid {} of the old instance is not gone", member.pid);
                    context.say(Event::StartFailed(Trouble::start(busy, words)));
                    return;
                }
                self.tree = None;
                let until = context.now.after(self.spec.start_timeout);
                self.attempt(context, until);
            }
        }
    }

    fn stop(&mut self, context: &mut Context<'_>) {
        match std::mem::replace(&mut self.state, State::Down) {
            State::Down | State::Lacking { .. } | State::Unheld => self.begin_stop(context, None),
            State::SettingUp { child, reason, .. } => {
                context.reactor.remove(&mut SourceFd(&reason.as_raw_fd()));
                self.begin_stop(context, Some(child));
            }
            State::Forking { child, .. } | State::Up { main: child } => {
                self.begin_stop(context, Some(child));
            }
            State::Stopping(stopping) => self.stop_again(context, stopping),
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        match std::mem::replace(&mut self.state, State::Down) {
            State::Down => {}
            State::Lacking { until } => self.attempt(context, until),
            State::SettingUp { child, reason, until } => {
                self.set_up(context, child, reason, until);
            }
            State::Forking { child, until } => self.forked(context, child, until),
            State::Up { main } => self.look(context, main),
            State::Unheld => self.hold_again(context),
            State::Stopping(stopping) => self.pursue(context, stopping),
        }
    }

    fn done(&mut self, done: Done<Method>, context: &mut Context<'_>) {
        match std::mem::replace(&mut self.state, State::Down) {
            State::Stopping(stopping) => self.stop_method_done(context, stopping, &done),
            // The stop it was for is over.
            other => self.state = other,
        }
    }

    fn runs(&self, run: &Run) -> bool {
        matches!(run, Run::Process(_))
    }

    fn pid(&self) -> Option<u32> {
        match &self.state {
            State::Up { main } => Some(main.pid()),
            State::SettingUp { child, .. } => Some(child.pid()),
            State::Stopping(stopping) => stopping.pid(),
            State::Down | State::Lacking { .. } | State::Forking { .. } | State::Unheld => None,
        }
    }

    fn is_running(&self) -> Option<bool> {
        Some(match &self.state {
            State::Up { .. } | State::Unheld => true,
            State::Stopping(stopping) => stopping.pid().is_some(),
            State::Down
            | State::Lacking { .. }
            | State::SettingUp { .. }
            | State::Forking { .. } => false,
        })
    }

    fn identity(&self) -> Option<Identity> {
        let State::Up { main } = &self.state else { return None };
        Identity::of(main.pid(), self.tree.as_ref()?.instance()?)
    }

    fn replan(
        &mut self,
        plan: &ServicePlan,
        host: &Host,
        environment: &Environment,
    ) -> Result<(), BadProgram> {
        if let Run::Process(process) = &plan.run {
            self.spec = Spec::new(plan, process, host, environment)?;
        }
        Ok(())
    }

    fn leave(&mut self, context: &mut Context<'_>) {
        self.disarm(context);
        match std::mem::replace(&mut self.state, State::Down) {
            State::Down | State::Lacking { .. } | State::Unheld => {}
            State::SettingUp { child, reason, .. } => {
                context.reactor.remove(&mut SourceFd(&reason.as_raw_fd()));
                let_go(context.reactor, child);
            }
            State::Forking { child, .. } | State::Up { main: child } => {
                let_go(context.reactor, child);
            }
            State::Stopping(stopping) => stopping.leave(context),
        }
    }
}

//! A service that is a process of ours: started, held, heard when it ends.

mod spec;
mod start;
mod stop;

use std::os::fd::{AsRawFd, OwnedFd};

use giveover_core::failure::Cause;
use giveover_core::time::Instant;
use mio::unix::SourceFd;
use nix::errno::Errno;

use super::keeper::{Context, Keeper, Method};
use super::{Adoption, Event, Host, Identity, Trouble};
use crate::config::plan::{ProcessPlan, Run, ServicePlan};
use crate::reactor::{
    BadProgram, Child, Done, Environment, Exit, Look, Member, Reactor, Timer, Tree, procfs,
};
use spec::Spec;
use stop::{Stopping, Then};

/// The keeper of a service that is a process of ours.
pub(super) struct Process {
    spec: Spec,
    state: State,
    /// What is known of the processes of the last start, until they are proven gone.
    tree: Option<Tree>,
    timer: Option<Timer>,
    /// It has been looked for what an earlier monitor may have left.
    met: bool,
}

enum State {
    /// Nothing of it runs, except what the tree may still hold.
    Down,
    /// A start waits for what we lack.
    Lacking { until: Instant },
    /// The copy of ours has not become the service yet.
    SettingUp { child: Child, reason: OwnedFd, until: Instant },
    /// The command that starts it has not ended yet; or it has, and so often it was looked in vain
    /// for what it left.
    Forking { child: Child, until: Instant, looks: u32 },
    /// It runs.
    Up { main: Child },
    /// It runs, and we lack what it takes to hold it.
    Unheld,
    /// It is being stopped, or could not be.
    Stopping(Stopping),
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
        Ok(Self { spec, state: State::Down, tree: None, timer: None, met: false })
    }

    /// Before anything is done with it for the first time: takes up what an earlier monitor
    /// began and had no time to write down. So a start never makes a second one beside it, and
    /// a stop ends it.
    fn meet(&mut self, context: &mut Context<'_>) {
        if std::mem::replace(&mut self.met, true) || !matches!(self.state, State::Down) {
            return;
        }
        for identity in context.strays.take(&self.spec.name, context.now) {
            let leads = procfs::stat(identity.pid).is_some_and(|s| s.session == identity.pid);
            if matches!(self.state, State::Down) && (leads || self.spec.forks) {
                self.adopt(&identity, context);
                continue;
            }
            // Its main process is gone, or is another: this one goes with the rest.
            let cgroup = &self.spec.cgroup;
            let tree = self.tree.get_or_insert_with(|| {
                Tree::new(identity.instance).within(cgroup.clone()).anywhere()
            });
            tree.root(identity.pid);
        }
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

    /// What outlived its main process while nobody watched, and wrote over the mark in its
    /// environment: it is in the session that was made for the service, and runs its program. A
    /// number and an age alone would not do: the number may have been another's since.
    fn heirs(&self, identity: &Identity) -> Vec<u32> {
        let Some(program) = self.spec.served() else { return Vec::new() };
        let is_one = |pid: &u32| {
            let stat = procfs::stat(*pid).filter(|stat| !stat.is_dead());
            stat.is_some_and(|stat| stat.session == identity.pid && stat.start >= identity.start)
                && procfs::mark(*pid) == procfs::Mark::Overwritten
                && procfs::program(*pid) == Some(program)
        };
        procfs::all().into_iter().filter(is_one).collect()
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
        self.meet(context);
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
        let left = self.tree.take().map(|tree| tree.members(&context.reactor.children));
        let mut tree = Tree::new(identity.instance).within(self.spec.cgroup.clone()).anywhere();
        left.into_iter().flatten().for_each(|member| tree.root(member.pid));
        self.tree = Some(tree);
        let held = match context.reactor.children.adopt(identity.pid, identity.start) {
            Ok(main) => match main.watch(context.reactor, context.token) {
                Ok(()) => Next::Main(main),
                Err(_) => {
                    let_go(context.reactor, main);
                    Next::Lack
                }
            },
            Err(Errno::ESRCH) => {
                let heirs = self.heirs(identity);
                self.tree.iter_mut().for_each(|tree| heirs.iter().for_each(|pid| tree.root(*pid)));
                if self.spec.forks { self.next_main(context) } else { Next::Nobody }
            }
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
        self.meet(context);
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
                let gone = |tree: &Tree| tree.is_gone(&context.reactor.children);
                if !self.tree.as_ref().is_none_or(gone) {
                    self.begin_stop(context, None, Then::Start);
                    return;
                }
                self.begin_start(context);
            }
        }
    }

    fn stop(&mut self, context: &mut Context<'_>) {
        self.meet(context);
        match std::mem::replace(&mut self.state, State::Down) {
            State::Down | State::Lacking { .. } | State::Unheld => {
                self.begin_stop(context, None, Then::Rest);
            }
            State::SettingUp { child, reason, .. } => {
                context.reactor.remove(&mut SourceFd(&reason.as_raw_fd()));
                self.begin_stop(context, Some(child), Then::Rest);
            }
            State::Forking { child, .. } | State::Up { main: child } => {
                self.begin_stop(context, Some(child), Then::Rest);
            }
            State::Stopping(stopping) => self.stop_again(context, stopping),
        }
    }

    fn hurry(&mut self, limit_ms: u64, context: &mut Context<'_>) {
        match std::mem::replace(&mut self.state, State::Down) {
            State::Stopping(stopping) => {
                let stopping = stopping.hurried(limit_ms, context);
                self.pursue(context, stopping);
            }
            other => self.state = other,
        }
    }

    fn wake(&mut self, context: &mut Context<'_>) {
        match std::mem::replace(&mut self.state, State::Down) {
            State::Down => {}
            State::Lacking { until } => self.attempt(context, until),
            State::SettingUp { child, reason, until } => {
                self.set_up(context, child, reason, until);
            }
            State::Forking { child, until, looks } => self.forked(context, child, until, looks),
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

//! The beginning of a process of ours: made, set up, and, where it forks, found.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use giveover_core::failure::Cause;
use giveover_core::time::Instant;
use mio::Interest;
use mio::unix::SourceFd;
use nix::errno::Errno;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;

use super::super::exec::{self, Failure};
use super::super::keeper::{Context, Keeper};
use super::super::output::Output;
use super::super::{Event, Trouble};
use super::{LACK_AGAIN, Next, Process, State, let_go};
use crate::reactor::{Child, Exit, Instance, Look, SpawnError, Stdio, Tree, procfs};

impl Process {
    /// Starts it; nothing of the old instance is left.
    pub(super) fn begin_start(&mut self, context: &mut Context<'_>) {
        self.tree = None;
        let until = context.now.after(self.spec.start_timeout);
        self.attempt(context, until);
    }

    /// Tries to start it, once.
    pub(super) fn attempt(&mut self, context: &mut Context<'_>, until: Instant) {
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
    pub(super) fn set_up(
        &mut self,
        context: &mut Context<'_>,
        child: Child,
        reason: OwnedFd,
        until: Instant,
    ) {
        let mut text = [0; 4096];
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
            self.state = State::Forking { child, until, looks: 0 };
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
    pub(super) fn forked(
        &mut self,
        context: &mut Context<'_>,
        child: Child,
        until: Instant,
        looks: u32,
    ) {
        let children = &context.reactor.children;
        if children.look(&child) == Look::Running {
            if context.now < until {
                self.state = State::Forking { child, until, looks };
            } else {
                self.fail(context, Some(child), too_late());
            }
            return;
        }
        // While it is not reaped nothing else can have its number, or its session's.
        let start = procfs::stat(child.pid()).map_or(0, |stat| stat.start);
        let tree = self.tree.as_ref();
        let left = tree.map(|tree| tree.left_since(children, start)).unwrap_or_default();
        let untold = || tree.is_some_and(|tree| tree.may_have_left(children, start));
        if left.is_empty() && looks < LOOKS && untold() {
            let again = context.after(LOOK_AGAIN);
            self.arm(context, again);
            self.state = State::Forking { child, until, looks: looks + 1 };
            return;
        }
        for member in left {
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
}

/// How often, and after how many milliseconds, it is looked again for what a start command left
/// while that may just be becoming another program.
const LOOKS: u32 = 50;
const LOOK_AGAIN: u64 = 20;

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

//! Commands with a deadline: run, listened to, and ended with all they started.

use std::collections::VecDeque;

use giveover_core::time::{Instant, Span};
use nix::errno::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use super::leftovers::Leftovers;
use super::pipe::{Drained, Pipe};
use super::{
    Child, Done, End, Instance, Keep, Look, Order, Reactor, Room, SpawnError, Stdio, Stuck, Timer,
    Token, Tree,
};

/// One run, for asking about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    slot: u32,
    generation: u32,
}

/// Runs commands for one room of the reactor. `K` says whose a run is.
///
/// Every run that was started is [`Done`] exactly once. A run is over when its program ends,
/// whoever may still hold its output; what the program started ends with it.
pub struct Runner<K> {
    room: Room,
    slots: Vec<Slot<K>>,
    free: Vec<u32>,
    done: VecDeque<Done<K>>,
    stuck: VecDeque<Stuck<K>>,
    buffer: Vec<u8>,
    leftovers: Leftovers<K>,
}

struct Slot<K> {
    generation: u32,
    tenant: Option<Tenant<K>>,
}

struct Tenant<K> {
    key: K,
    child: Child,
    instance: Instance,
    pipe: Option<Pipe>,
    keep: Keep,
    kept: Vec<u8>,
    began: Instant,
    timer: Timer,
    leave: bool,
    /// When the program must have ended.
    until: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Neither ended nor answered.
    Running,
    /// Killed and answered; only waits to be reaped.
    Killed { since: Instant, complained: bool },
}

/// How much is read at once. Nothing is set aside for it before there is something to read: most
/// daemons never run a program of some room.
const BUFFER: usize = 64 << 10;

/// How long a run goes on before it is listened to. What ends before is read at its end; what says
/// more than a pipe holds, 64 KiB, waits that long.
const LISTEN: Span = Span::from_millis(50);

/// The parts of a slot that wake it.
const PROCESS: u32 = 0;
const OUTPUT: u32 = 1;
/// The place of the timer that looks for leftovers; slots begin at 1.
const LEFTOVERS: u32 = 0;

impl<K: Clone> Runner<K> {
    /// No runs. Tokens are of `room`, which no other runner may use.
    #[must_use]
    pub fn new(room: Room) -> Self {
        Self {
            room,
            slots: vec![Slot { generation: 0, tenant: None }],
            free: Vec::new(),
            done: VecDeque::new(),
            stuck: VecDeque::new(),
            buffer: Vec::new(),
            leftovers: Leftovers::new(Token::new(room, LEFTOVERS, 0)),
        }
    }

    /// Begins a run. One that cannot be begun is done at once.
    pub fn start(
        &mut self,
        reactor: &mut Reactor,
        key: K,
        order: Order<'_>,
        now: Instant,
    ) -> Option<Run> {
        let slot = self.vacant();
        match self.begin(reactor, slot, key.clone(), order, now) {
            Ok(()) => Some(Run { slot, generation: self.slots[slot as usize].generation }),
            Err(error) => {
                self.free.push(slot);
                let end = End::NotRun(error);
                self.done.push_back(Done { key, end, began: now, output: Vec::new() });
                None
            }
        }
    }

    /// Whether a process of this run is still there. True for a while after a run timed out;
    /// for ever if it cannot be killed.
    #[must_use]
    pub fn is_there(&self, run: Run) -> bool {
        let slot = self.slots.get(run.slot as usize);
        slot.is_some_and(|slot| slot.generation == run.generation && slot.tenant.is_some())
    }

    /// Ends a run with all it started. It is done, as [`End::Cancelled`].
    pub fn cancel(&mut self, reactor: &mut Reactor, run: Run, now: Instant) {
        if self.is_there(run) {
            self.end(reactor, run.slot, End::Cancelled, now);
        }
    }

    /// Ends every run.
    pub fn cancel_all(&mut self, reactor: &mut Reactor, now: Instant) {
        for slot in 1..self.slots.len() as u32 {
            self.end(reactor, slot, End::Cancelled, now);
        }
    }

    /// A source of this room is ready.
    pub fn ready(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        let Some(slot) = self.tenanted(token) else { return };
        if token.index % 2 == OUTPUT {
            self.drain(reactor, slot, now);
        } else {
            // A pidfd is readable when its process has ended, and not before.
            self.finish(reactor, slot, now);
        }
    }

    /// A timer of this room is due.
    pub fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        if token.index == LEFTOVERS {
            self.stuck.extend(self.leftovers.look(reactor, now));
            return;
        }
        let Some(slot) = self.tenanted(token) else { return };
        if token.index % 2 == OUTPUT {
            self.drain(reactor, slot, now);
            return;
        }
        // An exit that came before the deadline counts, though we see it after.
        if !self.look(reactor, slot, now) && !self.listen(reactor, slot, now) {
            self.end(reactor, slot, End::TimedOut, now);
        }
    }

    /// Begins to read what a run says that is not over at once. False if its time is over.
    fn listen(&mut self, reactor: &mut Reactor, slot: u32, now: Instant) -> bool {
        let (process, output) = (self.token(slot, PROCESS), self.token(slot, OUTPUT));
        let Some(tenant) = &mut self.slots[slot as usize].tenant else { return true };
        if now >= tenant.until || tenant.state != State::Running {
            return false;
        }
        let watched = tenant.pipe.as_mut().map_or(Ok(()), |pipe| pipe.watch(reactor, output));
        // Without the means it is tried again: what says more than the pipe holds has to wait.
        let until =
            if watched.is_ok() { tenant.until } else { now.after(LISTEN).min(tenant.until) };
        tenant.timer = reactor.timers.arm(process, until);
        true
    }

    /// The next run that is over.
    pub fn done(&mut self) -> Option<Done<K>> {
        self.done.pop_front()
    }

    /// The next run that cannot be ended. Said once for each.
    pub fn stuck(&mut self) -> Option<Stuck<K>> {
        self.stuck.pop_front()
    }

    /// True if no process of any run is there.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.free.len() + 1 == self.slots.len() && self.leftovers.is_empty()
    }

    fn token(&self, slot: u32, part: u32) -> Token {
        Token::new(self.room, slot * 2 + part, self.slots[slot as usize].generation)
    }

    /// The slot a token means, if its tenant is still the one.
    fn tenanted(&self, token: Token) -> Option<u32> {
        let number = token.index / 2;
        let slot = self.slots.get(number as usize)?;
        let same = self.token(number, token.index % 2) == token;
        (slot.tenant.is_some() && same).then_some(number)
    }

    fn vacant(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, tenant: None });
            self.slots.len() as u32 - 1
        })
    }

    fn begin(
        &mut self,
        reactor: &mut Reactor,
        slot: u32,
        key: K,
        order: Order<'_>,
        now: Instant,
    ) -> Result<(), SpawnError> {
        let pipe = if order.keep == Keep::Nothing { None } else { Some(Pipe::new()?) };
        let instance = reactor.children.instance();
        let output = pipe.as_ref().and_then(Pipe::writer);
        let stdio = Stdio { input: None, output };
        let child = reactor.children.spawn(order.program, instance, stdio)?;
        if let Err(error) = child.watch(reactor, self.token(slot, PROCESS)) {
            child.unwatch(reactor);
            let _ = child.signal(Signal::KILL);
            reactor.children.reap(child);
            let errno = error.raw_os_error().map_or(Errno::ENOMEM, Errno::from_raw);
            return Err(SpawnError::Lack(errno));
        }
        let until = if pipe.is_some() { order.until.min(now.after(LISTEN)) } else { order.until };
        let timer = reactor.timers.arm(self.token(slot, PROCESS), until);
        self.slots[slot as usize].tenant = Some(Tenant {
            key,
            child,
            instance,
            pipe,
            keep: order.keep,
            kept: Vec::new(),
            began: now,
            timer,
            leave: order.leave,
            until: order.until,
            state: State::Running,
        });
        Ok(())
    }

    /// Ends the run if its program has ended. False if it has not.
    fn look(&mut self, reactor: &mut Reactor, slot: u32, now: Instant) -> bool {
        let Some(tenant) = &self.slots[slot as usize].tenant else { return true };
        if reactor.children.look(&tenant.child) == Look::Running {
            return false;
        }
        self.finish(reactor, slot, now);
        true
    }

    /// The program has ended and is not yet reaped: its number, and its group's, are its own.
    fn finish(&mut self, reactor: &mut Reactor, slot: u32, now: Instant) {
        let Some(tenant) = &self.slots[slot as usize].tenant else { return };
        let killed = tenant.state != State::Running;
        let clean = killed || !tenant.leave;
        if clean {
            kill_group(tenant.child.pid());
        }
        let last = self.hang_up(reactor, slot);
        let place = &mut self.slots[slot as usize];
        let Some(tenant) = place.tenant.take() else { return };
        place.generation += 1;
        self.free.push(slot);
        reactor.timers.disarm(tenant.timer);
        tenant.child.unwatch(reactor);
        let exit = match reactor.children.reap(tenant.child) {
            Look::Gone(exit) => exit,
            Look::Running => None,
        };
        if clean {
            let held = matches!(last, Some(Drained::Empty | Drained::More));
            self.leftovers.ended(reactor, tenant.instance, tenant.key.clone(), held, now);
        }
        if !killed {
            let (key, began, output) = (tenant.key, tenant.began, tenant.kept);
            self.done.push_back(Done { key, end: End::Exit(exit), began, output });
        }
    }

    /// Reads what is left in the pipe and closes it. Says whether anyone else still holds it.
    fn hang_up(&mut self, reactor: &Reactor, slot: u32) -> Option<Drained> {
        let tenant = self.slots[slot as usize].tenant.as_mut()?;
        let pipe = tenant.pipe.take()?;
        self.buffer.resize(BUFFER, 0);
        Some(pipe.close(reactor, &mut self.buffer, tenant.keep.bytes(), &mut tenant.kept))
    }

    /// Reads what has come, and lets others have their turn before what comes faster than that.
    fn drain(&mut self, reactor: &mut Reactor, slot: u32, now: Instant) {
        let token = self.token(slot, OUTPUT);
        let Some(tenant) = &mut self.slots[slot as usize].tenant else { return };
        let Some(pipe) = &tenant.pipe else { return };
        self.buffer.resize(BUFFER, 0);
        let drained = pipe.read(&mut self.buffer, tenant.keep.bytes(), &mut tenant.kept);
        if drained == Drained::More {
            // Not every kernel tells again of what was there before.
            reactor.timers.arm(token, now.after(Span::from_millis(1)));
        }
    }

    /// Kills a run, once more if need be, and answers for it the first time.
    fn end(&mut self, reactor: &mut Reactor, slot: u32, end: End, now: Instant) {
        let Some(tenant) = &self.slots[slot as usize].tenant else { return };
        let mut tree = Tree::new(tenant.instance);
        tree.root(tenant.child.pid());
        let refused = tree.kill(&reactor.children).refused;
        let first = tenant.state == State::Running;
        if first {
            self.hang_up(reactor, slot);
        }
        let token = self.token(slot, PROCESS);
        let Some(tenant) = &mut self.slots[slot as usize].tenant else { return };
        let (key, began, pid) = (tenant.key.clone(), tenant.began, tenant.child.pid());
        let since = match tenant.state {
            State::Running => {
                let output = std::mem::take(&mut tenant.kept);
                self.done.push_back(Done { key, end, began, output });
                tenant.state = State::Killed { since: now, complained: false };
                now
            }
            State::Killed { since, complained: false } if now.since(since) >= STUCK_AFTER => {
                self.stuck.push_back(Stuck { key, pid, refused });
                tenant.state = State::Killed { since, complained: true };
                since
            }
            State::Killed { since, .. } => since,
        };
        // It is reaped when its end is heard; until then it is killed again, ever more rarely.
        let wait = now.since(since).clamp(KILL_FIRST, KILL_LAST) as u32;
        reactor.timers.disarm(tenant.timer);
        tenant.timer = reactor.timers.arm(token, now.after(Span::from_millis(wait)));
    }
}

/// How long after a kill the next is tried, in milliseconds.
const KILL_FIRST: u64 = 20;
const KILL_LAST: u64 = 1000;
/// How long a killed run may take to go, in milliseconds, before somebody is told.
const STUCK_AFTER: u64 = 2000;

/// Kills what is in the group of a child that has ended but is not yet reaped.
fn kill_group(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Only the dead leader is left, most of the time.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

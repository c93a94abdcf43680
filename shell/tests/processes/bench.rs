//! A loop to run things in, and looks at what they leave.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant as Clock};

use giveover::reactor::{Member, Program, Reactor, Ready, Token, procfs};
use giveover_core::time::{Instant, Span};

/// Whatever the loop wakes.
pub(crate) trait Rooms {
    fn ready(&mut self, reactor: &mut Reactor, token: Token, now: Instant);
    fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant);
}

pub(crate) struct Bench {
    pub(crate) reactor: Reactor,
    began: Clock,
    ready: Vec<Ready>,
    _alone: MutexGuard<'static, ()>,
}

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(20);

impl Bench {
    pub(crate) fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let reactor = Reactor::new().expect("a reactor");
        reactor.children.become_subreaper().expect("a subreaper");
        Self { reactor, began: Clock::now(), ready: Vec::new(), _alone: alone }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::from_millis(1_000_000 + self.began.elapsed().as_millis() as u64)
    }

    pub(crate) fn after(&self, ms: u32) -> Instant {
        self.now().after(Span::from_millis(ms))
    }

    /// One turn of the loop, at most 5 ms long.
    pub(crate) fn turn(&mut self, rooms: &mut impl Rooms) {
        let mut ready = std::mem::take(&mut self.ready);
        self.reactor.wait(Some(Duration::from_millis(5)), &mut ready).expect("a wait");
        let now = self.now();
        for ready in &ready {
            rooms.ready(&mut self.reactor, ready.token, now);
        }
        self.ready = ready;
        while let Some(token) = self.reactor.timers.pop_due(now) {
            rooms.due(&mut self.reactor, token, now);
        }
        let _ = self.reactor.children.reap_orphans();
    }

    /// Turns until `done` says what it was waited for.
    pub(crate) fn until<R: Rooms, T>(
        &mut self,
        rooms: &mut R,
        mut done: impl FnMut(&mut R, &mut Reactor) -> Option<T>,
    ) -> T {
        let patience = Clock::now() + PATIENCE;
        loop {
            if let Some(result) = done(rooms, &mut self.reactor) {
                return result;
            }
            assert!(Clock::now() < patience, "it never happened; children: {}", family());
            self.turn(rooms);
        }
    }

    /// Turns until we have no children at all, dead or alive.
    pub(crate) fn until_childless(&mut self, rooms: &mut impl Rooms) {
        self.until(rooms, |_, _| procfs::children(std::process::id()).is_empty().then_some(()));
        assert_eq!(self.reactor.children.owned(), 0, "nobody is waited for");
    }

    pub(crate) fn program(&self, words: &[&str]) -> Program {
        Program::new(words, self.reactor.children.environment()).expect("a program")
    }
}

/// Our descriptors.
pub(crate) fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("a list").count()
}

fn numbers() -> Vec<u32> {
    let list = fs::read_dir("/proc/self/fd").expect("a list").flatten();
    list.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Those of our descriptors that children get.
pub(crate) fn shared_descriptors() -> Vec<u32> {
    let closes = |fd: &u32| {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        flags.is_none_or(|flags| flags & 0o2_000_000 != 0)
    };
    numbers().into_iter().filter(|fd| !closes(fd)).collect()
}

/// The limit under which `spare` more descriptors can be had.
pub(crate) fn limit_that_leaves(spare: u32) -> u64 {
    let mut used = numbers();
    // The list that counts them is one itself, and gone by now.
    used.retain(|fd| fs::metadata(format!("/proc/self/fd/{fd}")).is_ok());
    let free = (0..).filter(|fd| !used.contains(fd));
    free.take(spare as usize + 1).last().map_or(0, u64::from)
}

/// Resident memory in KiB.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("a line");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

/// Processes below us whose command line is exactly this. We are the subreaper: there is none
/// of ours elsewhere, and others may run the same tests.
pub(crate) fn running(words: &[&str]) -> Vec<u32> {
    let wanted: Vec<u8> = words.iter().flat_map(|w| w.bytes().chain([0])).collect();
    let is = |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|l| l == wanted);
    let mut all = procfs::children(std::process::id());
    let mut seen = 0;
    while let Some(pid) = all.get(seen).copied() {
        all.extend(procfs::children(pid));
        seen += 1;
    }
    all.into_iter().filter(is).collect()
}

impl Drop for Bench {
    /// A test that has failed leaves nothing for the next one to stumble over.
    fn drop(&mut self) {
        for _ in 0..100 {
            for pid in procfs::children(std::process::id()) {
                if let Some(member) = Member::of(pid) {
                    let _ = member.signal(rustix::process::Signal::KILL);
                }
            }
            if procfs::children(std::process::id()).is_empty() {
                return;
            }
            let _ = self.reactor.children.reap_orphans();
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn family() -> String {
    let children = procfs::children(std::process::id());
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    children.into_iter().map(|pid| format!("{pid} {} ", name(pid).trim())).collect()
}

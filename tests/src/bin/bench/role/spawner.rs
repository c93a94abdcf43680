//! `spawner COMMANDS INTERVAL BALLAST`: the bare loop of command checks.
//!
//! `posix_spawn` of `/bin/true` with a session of its own, a pidfd in the epoll set, one wait.
//! The ballast is memory the process holds, to show that its size makes no difference: `fork`
//! would copy the page tables of all of it.

use super::control::{self, Asked, CONTROL};
use crate::clock::{epoll_timeout, now_ns};
use crate::why::{While, Why};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use std::ffi::{CStr, CString};
use std::hint::black_box;

/// As the daemon's probes: rounded down to a tick, so that starts come in clumps.
const TICK_NS: u64 = 20_000_000;

/// glibc's flag, which `nix` does not name: the child is the leader of a new session.
const POSIX_SPAWN_SETSID: i32 = 0x80;

/// A program that is started again and again.
pub(super) struct Spawn {
    argv: Vec<CString>,
    actions: PosixSpawnFileActions,
    attributes: PosixSpawnAttr,
}

impl Spawn {
    pub(super) fn new(argv: &[&str]) -> Result<Spawn, Why> {
        let word = |word: &&str| CString::new(*word).map_err(|_| Why::new("a NUL in an argument"));
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(PosixSpawnFlags::from_bits_retain(POSIX_SPAWN_SETSID))?;
        Ok(Spawn {
            argv: argv.iter().map(word).collect::<Result<_, _>>()?,
            actions: PosixSpawnFileActions::init()?,
            attributes,
        })
    }

    /// Starts it once and puts its pidfd into `epoll`.
    pub(super) fn start(&self, epoll: &OwnedFd, token: u64) -> Result<OwnedFd, Why> {
        let program: &CStr = &self.argv[0];
        let environment: [&CStr; 0] = [];
        let pid = posix_spawn(program, &self.actions, &self.attributes, &self.argv, &environment)
            .while_doing("posix_spawn")?;
        let pid = Pid::from_raw(pid.as_raw()).ok_or_else(|| Why::new("no pid"))?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).while_doing("pidfd_open")?;
        epoll::add(epoll, &pidfd, EventData::new_u64(token), EventFlags::IN)?;
        Ok(pidfd)
    }

    /// Reaps a child whose pidfd is readable. It leaves the epoll set before it is closed: a
    /// child being spawned right now still holds a copy, and the set would keep reporting it.
    pub(super) fn reap(epoll: &OwnedFd, pidfd: OwnedFd) -> Result<(), Why> {
        waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED).while_doing("waitid")?;
        epoll::delete(epoll, &pidfd)?;
        Ok(())
    }
}

/// Answers with the commands that have ended.
pub(super) fn run(commands: u64, interval_ms: u64, ballast_mib: usize) -> Result<(), Why> {
    let ballast = vec![1u8; ballast_mib << 20];
    black_box(&ballast);
    let spawn = Spawn::new(&["/bin/true"])?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    control::listen(&epoll)?;
    control::answer(&[commands])?;
    let mut running: Vec<Option<OwnedFd>> = (0..commands).map(|_| None).collect();
    let mut events: Vec<Event> = Vec::with_capacity(64);
    let (begin, interval_ns) = (now_ns(), interval_ms * 1_000_000);
    let (mut started, mut ended) = (0u64, 0u64);
    loop {
        let now = now_ns();
        let due = |n: u64| begin + n * interval_ns / commands / TICK_NS * TICK_NS;
        while due(started) <= now {
            let index = started % commands;
            started += 1;
            if running[index as usize].is_none() {
                running[index as usize] = Some(spawn.start(&epoll, index)?);
            }
        }
        events.clear();
        let timeout = epoll_timeout(due(started).saturating_sub(now));
        match epoll::wait(&epoll, spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            match event.data.u64() {
                CONTROL => match control::asked() {
                    Asked::Count => control::answer(&[ended, 0])?,
                    Asked::End => return Ok(()),
                },
                index => {
                    if let Some(pidfd) = running[index as usize].take() {
                        Spawn::reap(&epoll, pidfd)?;
                        ended += 1;
                    }
                }
            }
        }
    }
}

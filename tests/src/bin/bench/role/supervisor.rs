//! `supervisor PROGRAM SOCKET SERVICES`: the bare supervisor: dead, so start it again.

use super::control::{self, Asked, CONTROL};
use super::spawner::Spawn;
use crate::why::Why;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

/// Keeps `services` copies of the beat alive, each under a name of its own.
pub(super) fn run(program: &str, socket: &str, services: usize) -> Result<(), Why> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    control::listen(&epoll)?;
    let mut kept = Vec::with_capacity(services);
    for index in 0..services {
        let name = crate::load::service_name(index);
        let spawn = Spawn::new(&[program, super::CHILD, "beat", socket, &name])?;
        let pidfd = spawn.start(&epoll, index as u64)?;
        kept.push((spawn, pidfd));
    }
    control::answer(&[services as u64])?;
    let outcome = keep(&epoll, &mut kept);
    for (_, pidfd) in kept {
        let _ = pidfd_send_signal(&pidfd, Signal::KILL);
    }
    outcome
}

fn keep(epoll: &OwnedFd, kept: &mut [(Spawn, OwnedFd)]) -> Result<(), Why> {
    let mut events: Vec<Event> = Vec::with_capacity(64);
    loop {
        events.clear();
        match epoll::wait(epoll, spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            match event.data.u64() {
                CONTROL => match control::asked() {
                    Asked::Count => control::answer(&[kept.len() as u64, 0])?,
                    Asked::End => return Ok(()),
                },
                index => {
                    let (spawn, pidfd) = &mut kept[index as usize];
                    let next = spawn.start(epoll, index)?;
                    Spawn::reap(epoll, std::mem::replace(pidfd, next))?;
                }
            }
        }
    }
}

//! The children a process has started, counted by the kernel.
//!
//! The process connector tells of every fork on the machine and who made it; the alternative,
//! `processes` in `/proc/stat`, counts everybody's. The connector may ask for rights: without
//! them the alternative is used, and a machine that does nothing else makes no difference.

use crate::why::{While, Why};
use rustix::fd::OwnedFd;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
    sockopt::set_socket_recv_buffer_size_force,
};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// From `linux/cn_proc.h` and `linux/connector.h`.
const CN_IDX_PROC: u32 = 1;
const CN_VAL_PROC: u32 = 1;
const PROC_CN_MCAST_LISTEN: u32 = 1;
const PROC_EVENT_FORK: u32 = 1;
const NLMSG_DONE: u16 = 3;
const NETLINK_HEADER: usize = 16;
const CONNECTOR_HEADER: usize = 20;

/// A count that goes on until it is dropped.
pub(crate) enum Forks {
    /// Of one parent.
    Parent(Arc<Watch>),
    /// Of everybody: the count at the beginning is in the difference.
    Everybody,
}

/// What the thread that listens shares with the reader.
#[derive(Default)]
pub(crate) struct Watch {
    forks: AtomicU64,
    lost: AtomicBool,
}

impl Forks {
    pub(super) fn watch(parent: i32) -> Result<Forks, Why> {
        let Ok(socket) = listen() else { return Ok(Forks::Everybody) };
        let watch = Arc::new(Watch::default());
        let shared = Arc::downgrade(&watch);
        thread::spawn(move || {
            let mut message = [0; 4096];
            loop {
                let got = recv(&socket, &mut message[..], RecvFlags::empty());
                // Ends at the first event after the reader is gone.
                let Some(watch) = shared.upgrade() else { return };
                match got {
                    Ok((_, length)) if forked_by(&message[..length]) == Some(parent) => {
                        watch.forks.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(_) => {}
                    Err(_) => watch.lost.store(true, Ordering::Relaxed),
                }
            }
        });
        Ok(Forks::Parent(watch))
    }

    pub(super) fn count(&self) -> Result<u64, Why> {
        match self {
            Forks::Parent(watch) => {
                // What the kernel has told but our thread has not read yet.
                thread::sleep(Duration::from_millis(1));
                if watch.lost.load(Ordering::Relaxed) {
                    return Err(Why::new("the kernel's fork events came faster than we read"));
                }
                Ok(watch.forks.load(Ordering::Relaxed))
            }
            Forks::Everybody => {
                let stat = fs::read_to_string("/proc/stat")?;
                let line = stat.lines().find_map(|line| line.strip_prefix("processes "));
                line.and_then(|number| number.trim().parse().ok())
                    .ok_or_else(|| Why::new("/proc/stat does not count processes"))
            }
        }
    }
}

fn listen() -> Result<OwnedFd, Why> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::CONNECTOR))?;
    // Best effort: without the right to, the kernel's default must do.
    let _ = set_socket_recv_buffer_size_force(&socket, 8 << 20);
    bind(&socket, &SocketAddrNetlink::new(0, CN_IDX_PROC)).while_doing("bind")?;
    let mut message = Vec::new();
    let length = NETLINK_HEADER + CONNECTOR_HEADER + 4;
    // The kernel's header: length, type, flags, sequence, sender.
    message.extend((length as u32).to_ne_bytes());
    message.extend(NLMSG_DONE.to_ne_bytes());
    message.extend([0; 2 + 4 + 4]);
    // The connector's: whom it is for, sequence and acknowledgement, length, flags.
    message.extend(CN_IDX_PROC.to_ne_bytes());
    message.extend(CN_VAL_PROC.to_ne_bytes());
    message.extend([0; 4 + 4]);
    message.extend(4u16.to_ne_bytes());
    message.extend([0; 2]);
    message.extend(PROC_CN_MCAST_LISTEN.to_ne_bytes());
    send(&socket, &message, SendFlags::empty())?;
    Ok(socket)
}

/// The parent of the process whose birth this message tells of; a new thread is not one.
fn forked_by(message: &[u8]) -> Option<i32> {
    let event = message.get(NETLINK_HEADER + CONNECTOR_HEADER..)?;
    let word = |index: usize| {
        let bytes = event.get(index * 4..index * 4 + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    // What, cpu, timestamp (two words), then the thread and process of parent and child.
    if word(0)? != PROC_EVENT_FORK {
        return None;
    }
    let (parent, child_thread, child) = (word(5)?, word(6)?, word(7)?);
    (child_thread == child).then_some(parent as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_of_ours_is_counted() {
        let forks = Forks::watch(std::process::id() as i32).expect("a watch");
        let before = forks.count().expect("a count");
        let status = std::process::Command::new("/bin/true").status().expect("/bin/true");
        assert!(status.success());
        assert!(forks.count().expect("a count") > before);
    }
}

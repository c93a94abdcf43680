//! The children a process has started, counted by the kernel.
//!
//! The process connector tells of every fork on the machine and who made it; the alternative,
//! `processes` in `/proc/stat`, counts everybody's. The connector may ask for rights: without
//! them the alternative is used, and a machine that does nothing else makes no difference.

use crate::measure::netlink::Message;
use crate::why::{While, Why};
use rustix::fd::OwnedFd;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
    sockopt::set_socket_recv_buffer_size_force,
};
use std::cell::RefCell;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
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

/// The kernel's fork events, heard for one parent at a time.
pub(crate) struct ForkEvents {
    /// Ours until the first who wants to listen; then the thread's.
    socket: RefCell<Option<OwnedFd>>,
    heard: Arc<Heard>,
}

/// What the thread that listens shares with the reader.
#[derive(Default)]
struct Heard {
    listening: AtomicBool,
    parent: AtomicI32,
    forks: AtomicU64,
    lost: AtomicBool,
}

/// A count under way.
pub(crate) struct Forks(Arc<Heard>);

impl ForkEvents {
    /// Opens the connector. It exists in the machine's first network namespace only, so this
    /// comes before we leave it; listening comes later, or the kernel would queue all meanwhile.
    pub(crate) fn open() -> ForkEvents {
        let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::CONNECTOR));
        ForkEvents { socket: RefCell::new(socket.ok()), heard: Arc::default() }
    }

    /// Begins to count the children of `parent`.
    pub(crate) fn watch(&self, parent: i32) -> Forks {
        if let Some(socket) = self.socket.take() {
            if listen(&socket).is_ok() {
                self.heard.listening.store(true, Ordering::Relaxed);
                let heard = Arc::clone(&self.heard);
                thread::spawn(move || hear(&socket, &heard));
            }
        }
        self.heard.parent.store(parent, Ordering::Relaxed);
        self.heard.lost.store(false, Ordering::Relaxed);
        Forks(Arc::clone(&self.heard))
    }
}

impl Forks {
    /// The count so far; only its growth means anything.
    pub(super) fn count(&self) -> Result<u64, Why> {
        if !self.0.listening.load(Ordering::Relaxed) {
            let stat = fs::read_to_string("/proc/stat")?;
            let line = stat.lines().find_map(|line| line.strip_prefix("processes "));
            return line
                .and_then(|number| number.trim().parse().ok())
                .ok_or_else(|| Why::new("/proc/stat does not count processes"));
        }
        // What the kernel has told but our thread has not read yet.
        thread::sleep(Duration::from_millis(1));
        if self.0.lost.load(Ordering::Relaxed) {
            return Err(Why::new("the kernel's fork events came faster than we read"));
        }
        Ok(self.0.forks.load(Ordering::Relaxed))
    }
}

fn hear(socket: &OwnedFd, heard: &Heard) {
    let mut message = [0; 4096];
    loop {
        match recv(socket, &mut message[..], RecvFlags::empty()) {
            Ok((_, length)) => {
                if forked_by(&message[..length]) == Some(heard.parent.load(Ordering::Relaxed)) {
                    heard.forks.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(_) => heard.lost.store(true, Ordering::Relaxed),
        }
    }
}

fn listen(socket: &OwnedFd) -> Result<(), Why> {
    // Best effort: without the right to, the kernel's default must do.
    let _ = set_socket_recv_buffer_size_force(socket, 8 << 20);
    bind(socket, &SocketAddrNetlink::new(0, CN_IDX_PROC)).while_doing("bind")?;
    let mut message = Message::new(NLMSG_DONE, 0);
    message.word(CN_IDX_PROC).word(CN_VAL_PROC);
    // Sequence, acknowledgement; length of what follows, flags.
    message.word(0).word(0).half(4).half(0);
    message.word(PROC_CN_MCAST_LISTEN);
    send(socket, &message.bytes(), SendFlags::empty())?;
    Ok(())
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
        let forks = ForkEvents::open().watch(std::process::id() as i32);
        let before = forks.count().expect("a count");
        let status = std::process::Command::new("/bin/true").status().expect("/bin/true");
        assert!(status.success());
        assert!(forks.count().expect("a count") > before);
    }
}

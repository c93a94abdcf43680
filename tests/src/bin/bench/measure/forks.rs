//! The children a process has started, counted by the kernel.
//!
//! The process connector tells of every fork on the machine and who made it; the alternative,
//! `processes` in `/proc/stat`, counts everybody's. The connector may ask for rights: without
//! them the alternative is used, and a machine that does nothing else makes no difference.
//!
//! What the kernel tells is fetched every few milliseconds, not waited for: who sleeps on the
//! socket is woken by each fork, exec and exit of what is measured, and that one pays for it.

use crate::measure::netlink::Message;
use crate::why::{While, Why};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
    sockopt::set_socket_recv_buffer_size_force,
};
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// How often what the kernel has told is fetched: it holds some thousand events for us.
const FETCH: Duration = Duration::from_millis(20);

/// The kernel's fork events, heard for one parent at a time.
pub(crate) struct ForkEvents {
    heard: Arc<Mutex<Heard>>,
}

/// What the thread that fetches shares with the reader.
#[derive(Default)]
struct Heard {
    socket: Option<OwnedFd>,
    listening: bool,
    parent: i32,
    forks: u64,
    lost: bool,
}

/// A count under way.
pub(crate) struct Forks(Arc<Mutex<Heard>>);

impl ForkEvents {
    /// Opens the connector. It exists in the machine's first network namespace only, so this
    /// comes before we leave it; listening comes later, or the kernel would queue all meanwhile.
    pub(crate) fn open() -> ForkEvents {
        let (family, kind) = (AddressFamily::NETLINK, SocketType::DGRAM);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::CONNECTOR));
        ForkEvents {
            heard: Arc::new(Mutex::new(Heard { socket: socket.ok(), ..Heard::default() })),
        }
    }

    /// Begins to count the children of `parent`.
    pub(crate) fn watch(&self, parent: i32) -> Forks {
        let mut heard = lock(&self.heard);
        if !heard.listening && heard.socket.as_ref().is_some_and(|socket| listen(socket).is_ok()) {
            heard.listening = true;
            let shared = Arc::clone(&self.heard);
            thread::spawn(move || {
                loop {
                    thread::sleep(FETCH);
                    lock(&shared).fetch();
                }
            });
        }
        heard.fetch();
        heard.parent = parent;
        heard.lost = false;
        Forks(Arc::clone(&self.heard))
    }
}

impl Forks {
    /// The count so far; only its growth means anything.
    pub(super) fn count(&self) -> Result<u64, Why> {
        let mut heard = lock(&self.0);
        if !heard.listening {
            let stat = fs::read_to_string("/proc/stat")?;
            let line = stat.lines().find_map(|line| line.strip_prefix("processes "));
            return line
                .and_then(|number| number.trim().parse().ok())
                .ok_or_else(|| Why::new("/proc/stat does not count processes"));
        }
        heard.fetch();
        if heard.lost {
            return Err(Why::new("the kernel's fork events came faster than we read"));
        }
        Ok(heard.forks)
    }
}

impl Heard {
    /// Counts what the kernel has told by now.
    fn fetch(&mut self) {
        let Some(socket) = self.socket.as_ref().filter(|_| self.listening) else { return };
        let mut message = [0; 4096];
        loop {
            match recv(socket, &mut message[..], RecvFlags::DONTWAIT) {
                Ok((_, length)) => {
                    self.forks += u64::from(forked_by(&message[..length]) == Some(self.parent));
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.lost = true;
                    return;
                }
            }
        }
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
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

//! A network of our own: a loopback device that nobody else on the machine uses.
//!
//! The kernel counts connections for each network namespace, and ports are taken in each. On a
//! machine where anything else uses loopback, in the shared one its connections would count as
//! the checks of whoever is being measured.

use super::netlink::Message;
use crate::why::{While, Why};
use nix::sched::{CloneFlags, unshare};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

/// From `linux/rtnetlink.h`, `linux/netlink.h` and `linux/if.h`.
const RTM_NEWLINK: u16 = 16;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const IFF_UP: u32 = 1;

/// The loopback device is the first of every namespace.
const LOOPBACK: u32 = 1;

/// Moves this thread, and all that it starts from here on, into a network of their own. Only
/// root may; others measure in the shared one.
pub(crate) fn leave_the_shared_one() -> Result<(), Why> {
    unshare(CloneFlags::CLONE_NEWNET).while_doing("a network of our own")?;
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    // No protocol is protocol 0, and that is `NETLINK_ROUTE`.
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    let mut message = Message::new(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
    // Family and type of the device are not asked for; then its flags and which of them to set.
    message.word(0).word(LOOPBACK).word(IFF_UP).word(IFF_UP);
    send(&socket, &message.bytes(), SendFlags::empty())?;
    let mut answer = [0; 1024];
    let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    match answer.get(16..20).filter(|_| length >= 20) {
        Some([0, 0, 0, 0]) => Ok(()),
        _ => Err(Why::new("the loopback device of our network does not come up")),
    }
}

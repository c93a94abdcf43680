//! `agents COUNT`: so many agents, each of which sends a heartbeat a second to one port.

use super::control::{self, Asked, CONTROL};
use super::target::bind_below;
use crate::clock::{epoll_timeout, now_ns};
use crate::load::service_name;
use crate::why::Why;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrV4, SocketFlags, SocketType, getsockname, sendto,
    socket_with,
};
use std::net::Ipv4Addr;
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND_NS: u64 = 1_000_000_000;

/// Prints the port they send to, then answers each question with heartbeats and moment. Nobody
/// hears at that port yet.
pub(super) fn run(count: usize) -> Result<(), Why> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    control::listen(&epoll)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let taken = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    bind_below(&taken)?;
    let port = SocketAddrV4::try_from(getsockname(&taken)?)?.port();
    drop(taken);
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    control::answer(&[u64::from(port)])?;
    let names: Vec<String> = (0..count).map(service_name).collect();
    let (begin, mut sent, mut arrived) = (now_ns(), 0_u64, 0_u64);
    let due = |n: u64| begin + n * SECOND_NS / count.max(1) as u64;
    let mut events: Vec<Event> = Vec::with_capacity(4);
    loop {
        while due(sent) <= now_ns() {
            let name = &names[(sent % count.max(1) as u64) as usize];
            let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let beat = format!(
                "giveover-agent/1 {name} {} load=0.42 unit=db:0 unit=queue:0\n",
                at.as_millis()
            );
            sent += 1;
            arrived += u64::from(sendto(&socket, beat.as_bytes(), SendFlags::empty(), &to).is_ok());
        }
        events.clear();
        let timeout = epoll_timeout(due(sent).saturating_sub(now_ns()));
        match epoll::wait(&epoll, spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if events.iter().any(|event| event.data.u64() == CONTROL) {
            match control::asked() {
                Asked::Count => control::answer(&[arrived, now_ns()])?,
                Asked::End => return Ok(()),
            }
        }
    }
}

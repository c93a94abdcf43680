//! The servers that are probed, as the bench sees them.

use crate::bed::Bed;
use crate::child::Child;
use crate::load::addresses;
use crate::role::CHILD;
use crate::why::{While, Why};
use std::net::{Ipv4Addr, SocketAddrV4};

/// Several, so that not all handshakes meet on one listener.
const LISTENERS: usize = 8;

/// The target process, on its own core.
pub(crate) struct Target {
    child: Child,
    ports: Vec<u16>,
    hole: u16,
}

impl Target {
    pub(crate) fn start(bed: &Bed) -> Result<Target, Why> {
        let mut command = bed.beside(bed.exe.as_os_str());
        command.args([CHILD, "target", &LISTENERS.to_string(), "1"]);
        let log = bed.room("target")?.join("log");
        let (child, ports) = Child::start_role(command, &log).while_doing("the target")?;
        let mut ports: Vec<u16> = ports.into_iter().map(|port| port as u16).collect();
        let hole = ports.pop().ok_or_else(|| Why::new("the target told no ports"))?;
        Ok(Target { child, ports, hole })
    }

    /// A server of this kind instead, on one port.
    pub(crate) fn speaking(bed: &Bed, kind: &str) -> Result<Target, Why> {
        Self::playing(bed, &["speaker", kind])
    }

    /// So many agents that send heartbeats to one port, at which nobody hears yet.
    pub(crate) fn agents(bed: &Bed, count: usize) -> Result<Target, Why> {
        Self::playing(bed, &["agents", &count.to_string()])
    }

    fn playing(bed: &Bed, role: &[&str]) -> Result<Target, Why> {
        let mut command = bed.beside(bed.exe.as_os_str());
        command.arg(CHILD).args(role);
        let log = bed.room("speaker")?.join("log");
        let (child, port) = Child::start_role(command, &log).while_doing("the speaker")?;
        Ok(Target { child, ports: port.into_iter().map(|port| port as u16).collect(), hole: 0 })
    }

    /// `count` addresses that answer.
    pub(crate) fn addresses(&self, count: usize) -> Vec<SocketAddrV4> {
        addresses(count, &self.ports)
    }

    /// The address that everything on this machine talks from.
    pub(crate) fn localhost(&self) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.ports.first().copied().unwrap_or_default())
    }

    /// `count` addresses whose connections are dropped without a word.
    pub(crate) fn holes(&self, count: usize) -> Vec<SocketAddrV4> {
        let address = |index: usize| {
            let ip = Ipv4Addr::new(127, 2, (index / 250) as u8, (index % 250 + 1) as u8);
            SocketAddrV4::new(ip, self.hole)
        };
        (0..count).map(address).collect()
    }

    /// HTTP requests answered so far, and when that was counted.
    pub(crate) fn requests(&mut self) -> Result<(u64, u64), Why> {
        match self.child.ask("count")?[..] {
            [requests, at_ns] => Ok((requests, at_ns)),
            _ => Err(Why::new("the target's answer is not two numbers")),
        }
    }
}

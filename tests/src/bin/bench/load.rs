//! What a program is asked to do: the same for all of them, written in each one's own words by
//! its file under `peer`.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;

/// One way to look at a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Connect, no more.
    Tcp,
    /// Connect, ask for `/`, expect 200.
    Http,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Tcp => "TCP",
            Kind::Http => "HTTP",
        }
    }
}

/// How often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    /// Each target once a second.
    EachSecond,
    /// As often as one core allows.
    Saturated,
}

/// The work of one figure.
#[derive(Clone, Debug)]
pub(crate) enum Load {
    /// Check every target.
    Probes { kind: Kind, pace: Pace, targets: Vec<SocketAddrV4> },
    /// Run `/bin/true` this many times a second, by a process that holds so much memory.
    Commands { count: usize, ballast_mib: usize },
    /// One target, once an hour.
    Idle { target: SocketAddrV4 },
    /// Check every target once a second, and tell the events socket when one has failed.
    Watch { targets: Vec<SocketAddrV4>, events: PathBuf },
    /// One check of some kind, once a second for each target; `ADDRESS` in it stands for that, `HOST` and
    /// `PORT` for its parts, `NAME` for the service's name. Programs are looked for in `path` first.
    Checks { check: String, targets: Vec<SocketAddrV4>, path: Option<PathBuf> },
    /// Keep so many beats alive; they tell the events socket when they reach `main`.
    Keep { services: usize, events: PathBuf },
}

impl Load {
    /// Checks a second if the program keeps up; `None` when nothing paces it.
    pub(crate) fn due_each_second(&self) -> Option<usize> {
        match self {
            Load::Probes { pace: Pace::Saturated, .. } => None,
            Load::Probes { targets, .. }
            | Load::Watch { targets, .. }
            | Load::Checks { targets, .. } => Some(targets.len()),
            Load::Commands { count, .. } => Some(*count),
            Load::Idle { .. } | Load::Keep { .. } => Some(0),
        }
    }
}

/// The name of the n-th service in everybody's configuration.
pub(crate) fn service_name(index: usize) -> String {
    format!("t{index:05}")
}

/// `count` addresses 127.1.x.y, dealt out to the listeners' ports in turn.
pub(crate) fn addresses(count: usize, ports: &[u16]) -> Vec<SocketAddrV4> {
    let address = |index: usize| {
        let ip = Ipv4Addr::new(127, 1, (index / 250) as u8, (index % 250 + 1) as u8);
        SocketAddrV4::new(ip, ports[index % ports.len()])
    };
    (0..count).map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_addresses_are_loopback_and_all_different() {
        let mut all = addresses(10_000, &[80, 81]);
        assert!(all.iter().all(|address| address.ip().is_loopback()));
        assert_eq!(all[0].to_string(), "127.1.0.1:80");
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 10_000);
    }
}

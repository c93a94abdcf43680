//! Tells the supervisor that started us how we are: `Type=notify` and `WatchdogSec=`.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use giveover_core::time::Span;

/// The supervisor's socket, if it has one for us.
pub(super) struct Supervisor {
    socket: Option<(UnixDatagram, SocketAddr)>,
    watchdog: Option<Span>,
}

impl Supervisor {
    /// As the environment says.
    pub(super) fn from_env() -> Self {
        let address = std::env::var_os("NOTIFY_SOCKET").and_then(|path| address(&path));
        let socket = address.and_then(|address| {
            let socket = UnixDatagram::unbound().ok()?;
            socket.set_nonblocking(true).ok()?;
            Some((socket, address))
        });
        let for_us =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        let period = std::env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        let watchdog = period.filter(|_| for_us).map(Duration::from_micros);
        // Half of the period, as the manual advises, so that one late turn is not a death.
        let watchdog = watchdog.and_then(|period| Span::from_duration(period / 2));
        Self { socket, watchdog }
    }

    /// How often [`Supervisor::alive`] is wanted.
    pub(super) fn watchdog(&self) -> Option<Span> {
        self.watchdog.filter(|span| !span.is_zero() && self.socket.is_some())
    }

    pub(super) fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={status}"));
    }

    pub(super) fn alive(&self, status: &str) {
        self.send(&format!("WATCHDOG=1\nSTATUS={status}"));
    }

    pub(super) fn reloading(&self, monotonic_us: u64) {
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={monotonic_us}"));
    }

    pub(super) fn stopping(&self) {
        self.send("STOPPING=1");
    }

    /// A supervisor that does not listen is no reason to stop watching.
    fn send(&self, text: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(text.as_bytes(), address);
        }
    }
}

fn address(path: &OsStr) -> Option<SocketAddr> {
    match path.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(path).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_supervisor_hears_that_we_are_ready() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("notify");
        let listener = UnixDatagram::bind(&path).expect("a socket");
        let socket = UnixDatagram::unbound().expect("a socket");
        let supervisor = Supervisor {
            socket: address(path.as_os_str()).map(|address| (socket, address)),
            watchdog: None,
        };
        supervisor.ready("2 services");
        let mut text = [0; 64];
        let count = listener.recv(&mut text).expect("a datagram");
        assert_eq!(&text[..count], b"READY=1\nSTATUS=2 services");
    }
}

//! Connecting to a name that has several addresses.
//!
//! The addresses are tried in order, a quarter of a second apart, or at once when one fails;
//! the first connection wins and the others are given up (RFC 8305). All of it is one probe
//! with one deadline: an address family that leads nowhere costs 250 ms, not the verdict.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use giveover_core::time::Span;
use rustix::io::Errno;

use super::datagram::{Others, by_datagram, looks_up};
use super::names::name_of;
use super::slab::Key;
use super::talk::{connect_failed, interest};
use super::{Prober, Slot, Stage, Turn};
use crate::check::dialogue;
use crate::check::outcome::is_our_lack;
use crate::check::socket::{Close, Progress, Socket};
use crate::config::plan::CheckPlan;
use crate::reactor::{Reactor, Ready};

/// How long an address may take before the next one is tried beside it.
const STAGGER: Span = Span::from_millis(250);

/// The state of a race.
pub(super) struct Race {
    addresses: Arc<[IpAddr]>,
    /// The next address to try.
    next: usize,
    /// The first attempt that is under way; each names the next.
    first: Option<Key>,
    /// The error that says most, of those that came.
    telling: Option<Errno>,
}

/// One connection of a race.
pub(super) struct Attempt {
    socket: Socket,
    probe: Key,
    next: Option<Key>,
}

impl Prober {
    /// Connects to one of `addresses`.
    pub(super) fn race(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        key: Key,
        addresses: Arc<[IpAddr]>,
    ) {
        let Some(probe) = self.probe_mut(key) else { return };
        if by_datagram(&plan.kind).is_some() || looks_up(plan, probe.id.target) {
            return self.ask(turn, plan, key, Others::Of(addresses, 0));
        }
        if let [only] = *addresses {
            let port = port_of(plan, probe.id.target);
            return self.connect(turn, plan, key, SocketAddr::new(only, port));
        }
        probe.stage = Stage::Racing(Race { addresses, next: 0, first: None, telling: None });
        self.next_attempt(turn, plan, key);
    }

    /// Tries the next address; if there is none left, waits for those under way, or fails.
    pub(super) fn next_attempt(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        while let Some(address) = self.next_address(plan, key) {
            let first = dialogue::first(&plan.kind, &mut self.request);
            let attempt = match Socket::connect(address, first) {
                Ok((socket, Progress::Made)) if !self.is_nobody(&socket, address.port()) => {
                    return self.won(turn, plan, key, socket);
                }
                Ok((_, Progress::Made)) => Err(Errno::CONNREFUSED),
                Ok((socket, Progress::Pending)) => self.await_attempt(turn, plan, key, socket),
                Err(errno) => Err(errno),
            };
            match attempt {
                Ok(()) => break,
                Err(errno) => self.note_error(key, errno),
            }
        }
        let Some(probe) = self.probe_mut(key) else { return };
        let until = probe.connect_until(plan);
        let Stage::Racing(race) = &probe.stage else { return };
        match race.telling {
            Some(errno) if race.first.is_none() => {
                self.finish(turn, key, connect_failed(plan, errno), Close::Reset);
            }
            _ if race.next < race.addresses.len() => {
                self.wait(turn, key, until.min(turn.now.after(STAGGER)));
            }
            _ => self.wait(turn, key, until),
        }
    }

    /// A connection of a race is made or refused.
    pub(super) fn attempt_ready(&mut self, turn: &mut Turn<'_>, key: Key, ready: Ready) {
        let Some(Slot::Attempt(attempt)) = self.slots.get_mut(key) else { return };
        let parent = attempt.probe;
        let errno = if ready.closed { attempt.socket.error() } else { None };
        let Some(probe) = self.probe_mut(parent) else { return };
        let Some(plan) = turn.checks.check(probe.id) else { return self.void(turn, parent) };
        if turn.now >= probe.connect_until(plan) {
            return self.late(turn, parent);
        }
        if errno.is_none() && !ready.writable {
            return;
        }
        let port = port_of(plan, probe.id.target);
        let Some(socket) = self.leave_race(parent, key) else { return };
        let errno = errno.or_else(|| self.is_nobody(&socket, port).then_some(Errno::CONNREFUSED));
        let Some(errno) = errno else { return self.won(turn, plan, parent, socket) };
        socket.close(turn.reactor, Close::Reset);
        self.note_error(parent, errno);
        self.next_attempt(turn, plan, parent);
    }

    /// Closes all attempts of a race that is over.
    pub(super) fn call_off(&mut self, reactor: &Reactor, race: Race) {
        let mut next = race.first;
        while let Some(key) = next {
            let Some(Slot::Attempt(attempt)) = self.slots.remove(key) else { return };
            next = attempt.next;
            attempt.socket.close(reactor, Close::Reset);
        }
    }

    /// The race has a winner; from here on it is a probe like any other.
    fn won(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key, socket: Socket) {
        let address = socket.peer();
        let Some(probe) = self.probe_mut(key) else { return };
        probe.socket = Some(socket);
        let id = probe.id;
        if let Stage::Racing(race) = std::mem::replace(&mut probe.stage, Stage::Connecting) {
            self.call_off(turn.reactor, race);
        }
        if let (Some(name), Some(address)) = (name_of(plan, id), address) {
            self.resolver.choose(name, address.ip());
        }
        if self.is_watched(key) && !self.watch(turn, key, interest(plan)) {
            return;
        }
        self.connected(turn, plan, key);
    }

    fn next_address(&mut self, plan: &CheckPlan, key: Key) -> Option<SocketAddr> {
        let probe = self.probe_mut(key)?;
        let port = port_of(plan, probe.id.target);
        let Stage::Racing(race) = &mut probe.stage else { return None };
        let ip = *race.addresses.get(race.next)?;
        race.next += 1;
        Some(SocketAddr::new(ip, port))
    }

    fn await_attempt(
        &mut self,
        turn: &Turn<'_>,
        plan: &CheckPlan,
        key: Key,
        socket: Socket,
    ) -> Result<(), Errno> {
        let Some(Stage::Racing(race)) = self.probe_mut(key).map(|probe| &mut probe.stage) else {
            return Err(Errno::CANCELED);
        };
        let next = race.first;
        let attempt = self.slots.insert(Slot::Attempt(Attempt { socket, probe: key, next }));
        if let Some(Slot::Attempt(Attempt { socket, .. })) = self.slots.get_mut(attempt) {
            if let Err(errno) = socket.watch(turn.reactor, attempt.token(), interest(plan)) {
                self.slots.remove(attempt);
                return Err(errno);
            }
        }
        if let Some(Stage::Racing(race)) = self.probe_mut(key).map(|probe| &mut probe.stage) {
            race.first = Some(attempt);
        }
        Ok(())
    }

    /// Takes an attempt out of its race.
    fn leave_race(&mut self, probe: Key, key: Key) -> Option<Socket> {
        let Some(Slot::Attempt(Attempt { socket, next, .. })) = self.slots.remove(key) else {
            return None;
        };
        let Stage::Racing(race) = &mut self.probe_mut(probe)?.stage else { return Some(socket) };
        if race.first == Some(key) {
            race.first = next;
            return Some(socket);
        }
        let mut before = race.first;
        while let Some(Slot::Attempt(attempt)) = self.slots.get_mut(before?) {
            if attempt.next == Some(key) {
                attempt.next = next;
                break;
            }
            before = attempt.next;
        }
        Some(socket)
    }

    fn note_error(&mut self, key: Key, errno: Errno) {
        if let Some(Stage::Racing(race)) = self.probe_mut(key).map(|probe| &mut probe.stage) {
            if race.telling.is_none_or(|before| tells(errno) > tells(before)) {
                race.telling = Some(errno);
            }
        }
    }
}

/// The target's port.
pub(super) fn port_of(plan: &CheckPlan, target: u8) -> u16 {
    plan.targets.get(usize::from(target)).map_or(0, |target| target.port)
}

/// How much an address's error says of the service. A family this host has not says nothing if
/// the other was tried; a lack of ours says that not all was tried, so nothing can be judged.
fn tells(errno: Errno) -> u8 {
    match errno {
        Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL => 0,
        Errno::NETUNREACH | Errno::HOSTUNREACH => 1,
        _ if is_our_lack(errno) => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_we_lack_never_hides_what_the_other_said() {
        let order = [Errno::AFNOSUPPORT, Errno::NETUNREACH, Errno::CONNREFUSED, Errno::MFILE];
        assert!(order.windows(2).all(|pair| tells(pair[0]) < tells(pair[1])));
    }
}

//! Pings by the one raw socket that all of a version of the protocol share.
//!
//! The kernel hands every raw socket every message there is: a socket for each of a thousand pings
//! would be handed the answers of a thousand. So there is one, kept once it was made, and an answer
//! belongs to whose identifier it carries. Without the right to raw sockets each ping has one of the
//! kernel's own for pinging, which is handed its own answers alone.

use std::collections::HashMap;
use std::net::IpAddr;

use giveover_core::failure::Phase;
use mio::Interest;
use rustix::io::Errno;

use super::slab::Key;
use super::{BUFFER, Prober, Slot, Stage, Turn};
use crate::check::dialogue::echo::{self, Family};
use crate::check::outcome::{Outcome, code};
use crate::check::socket::{Close, Socket};
use crate::check::trace::said;
use crate::config::plan::CheckPlan;
use crate::reactor::Reactor;

/// So many messages before others have their turn: whoever floods us with pings is heard too.
const MOST_AT_ONCE: usize = 256;
/// So often a free identifier is looked for.
const DRAWS: usize = 64;

/// A raw socket, and the probes that wait for something to come on it, by their identifiers.
pub(super) struct Pinger {
    socket: Socket,
    family: Family,
    asked: HashMap<u16, Key>,
}

impl Prober {
    /// Has the probe ask `address` by the socket that pings share, under an identifier of its own.
    /// False: that is not permitted.
    pub(super) fn share_ping(
        &mut self,
        turn: &mut Turn<'_>,
        key: Key,
        address: IpAddr,
    ) -> Result<bool, Errno> {
        self.leave_pinger(turn.reactor, key);
        let family = Family::of(address);
        let Some(place) = self.pinger(family)? else { return Ok(false) };
        let id = self.free_identifier(place).ok_or(Errno::AGAIN)?;
        let Self { slots, .. } = self;
        let Some(Slot::Pinger(pinger)) = slots.get_mut(place) else { return Err(Errno::IO) };
        if !pinger.socket.is_watched() {
            pinger.socket.watch(turn.reactor, place.token(), Interest::READABLE)?;
        }
        pinger.asked.insert(id, key);
        let Some(Slot::Probe(probe)) = slots.get_mut(key) else { return Err(Errno::IO) };
        let Stage::Asking(asking) = &mut probe.stage else { return Err(Errno::IO) };
        asking.echo.id = id;
        asking.echo.sent = 0;
        asking.family = family;
        asking.address = Some(address);
        asking.shares = true;
        Ok(true)
    }

    /// An identifier that nobody is asked under.
    fn free_identifier(&mut self, place: Key) -> Option<u16> {
        for _ in 0..DRAWS {
            let id = self.draw();
            let Some(Slot::Pinger(pinger)) = self.slots.get_mut(place) else { return None };
            if !pinger.asked.contains_key(&id) {
                return Some(id);
            }
        }
        None
    }

    /// The place of the shared socket, made if it is not there. `None`: it is not permitted.
    fn pinger(&mut self, family: Family) -> Result<Option<Key>, Errno> {
        if let Some(place) = self.pingers[family as usize] {
            return Ok(Some(place));
        }
        let Some(socket) = Socket::shared_echo(family == Family::V6)? else { return Ok(None) };
        let asked = HashMap::new();
        let place = self.slots.insert(Slot::Pinger(Pinger { socket, family, asked }));
        self.pingers[family as usize] = Some(place);
        Ok(Some(place))
    }

    /// The probe waits for nothing more on the shared socket. If nobody does, the loop need not hear
    /// of it.
    pub(super) fn leave_pinger(&mut self, reactor: &Reactor, key: Key) {
        let Some(Slot::Probe(probe)) = self.slots.get_mut(key) else { return };
        let Stage::Asking(asking) = &mut probe.stage else { return };
        if std::mem::take(&mut asking.shares) {
            let (family, id) = (asking.family, asking.echo.id);
            self.forget_ping(reactor, family, id);
        }
    }

    /// Nobody waits under this identifier any more.
    pub(super) fn forget_ping(&mut self, reactor: &Reactor, family: Family, id: u16) {
        let Some(place) = self.pingers[family as usize] else { return };
        let Some(Slot::Pinger(pinger)) = self.slots.get_mut(place) else { return };
        pinger.asked.remove(&id);
        if pinger.asked.is_empty() {
            pinger.socket.unwatch(reactor);
        }
    }

    /// Sends one more request by the shared socket.
    pub(super) fn send_ping(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        for again in [false, true] {
            let Self { slots, request, pingers, .. } = self;
            let Some(Slot::Probe(probe)) = slots.get_mut(key) else { return };
            let Stage::Asking(asking) = &mut probe.stage else { return };
            let (Some(address), true) = (asking.address, asking.shares) else { return };
            let (family, id) = (asking.family, asking.echo.id);
            if !again {
                asking.echo.ask(family, request);
            }
            let Some(place) = pingers[family as usize] else { return };
            let Some(Slot::Pinger(pinger)) = slots.get_mut(place) else { return };
            match pinger.socket.send_to(request, address) {
                Ok(_) | Err(Errno::INTR) => {
                    if let Some(trace) = &mut self.trace {
                        trace.said(said(&plan.kind, &self.request), turn.now);
                    }
                    let next = self.next_ping(turn, plan, key);
                    return next.map_or((), |next| self.wait(turn, key, next));
                }
                // It may be of others, and be told only once; or of an earlier request.
                Err(_) if !again => {
                    self.hear_reports(turn, family);
                    let Some(Slot::Probe(probe)) = self.slots.get_mut(key) else { return };
                    let same = matches!(&probe.stage, Stage::Asking(asking)
                        if asking.shares && asking.family == family && asking.echo.id == id);
                    if !same {
                        return; // it was of ours, and another address is asked
                    }
                    if let Stage::Asking(asking) = &mut probe.stage {
                        let number = asking.echo.sent.saturating_sub(1);
                        asking.echo.sent = number;
                        asking.echo.ask(family, &mut self.request);
                    }
                }
                // Nobody heard it: whatever the kernel says now, it says of us.
                Err(errno) => {
                    let outcome = Outcome::Lacking { phase: Phase::Connect, code: code(errno) };
                    return self.ask_next(turn, plan, key, outcome);
                }
            }
        }
    }

    /// Something came on a shared socket: answers, what is meant for others, or reports.
    pub(super) fn pings_ready(&mut self, turn: &mut Turn<'_>, place: Key) {
        for _ in 0..MOST_AT_ONCE {
            self.buffer.resize(BUFFER, 0);
            let Self { slots, buffer, .. } = self;
            let Some(Slot::Pinger(pinger)) = slots.get_mut(place) else { return };
            let family = pinger.family;
            let (length, from) = match pinger.socket.receive_from(buffer) {
                Ok(heard) => heard,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return self.hear_reports(turn, family),
                Err(_) => {
                    self.hear_reports(turn, family);
                    continue;
                }
            };
            let bytes = buffer.get(..length).unwrap_or_default();
            let key = echo::answered(family, bytes).and_then(|id| pinger.asked.get(&id).copied());
            let Some(key) = key else { continue };
            let Some(Slot::Probe(probe)) = slots.get_mut(key) else { continue };
            let (id, deadline) = (probe.id, probe.deadline);
            let Stage::Asking(asking) = &probe.stage else { continue };
            if from != asking.address || !asking.echo.is_answered_by(family, bytes) {
                continue;
            }
            let Some(plan) = turn.checks.check(id) else {
                self.void(turn, key);
                continue;
            };
            if let Some(trace) = &mut self.trace {
                trace.heard(&plan.kind, bytes);
            }
            let outcome = match turn.now >= deadline {
                true => Outcome::late(Phase::Silence),
                false => Outcome::Healthy { shown: 0 },
            };
            self.finish(turn, key, outcome, Close::Orderly);
        }
        // The edge would not come again: it is asked for.
        if let Some(Slot::Pinger(pinger)) = self.slots.get_mut(place) {
            let _ = pinger.socket.watch(turn.reactor, place.token(), Interest::READABLE);
        }
    }

    /// Takes the reports there are that requests did not arrive; those of others are passed over.
    pub(super) fn hear_reports(&mut self, turn: &mut Turn<'_>, family: Family) {
        let Some(place) = self.pingers[family as usize] else { return };
        for _ in 0..MOST_AT_ONCE {
            self.buffer.resize(BUFFER, 0);
            let Self { slots, buffer, .. } = self;
            let Some(Slot::Pinger(pinger)) = slots.get_mut(place) else { return };
            let Some((errno, quoted)) = pinger.socket.report(buffer) else { return };
            let key = echo::quoted(family, quoted).and_then(|id| pinger.asked.get(&id).copied());
            let quoted = quoted.to_vec();
            let Some(key) = key else { continue };
            let Some(Slot::Probe(probe)) = slots.get_mut(key) else { continue };
            let (id, deadline) = (probe.id, probe.deadline);
            let Stage::Asking(asking) = &probe.stage else { continue };
            if !asking.echo.is_quoted_in(family, &quoted) {
                continue;
            }
            let outcome = Outcome::failed(Phase::Connect, errno);
            match turn.checks.check(id) {
                None => self.void(turn, key),
                Some(_) if turn.now >= deadline => self.finish(turn, key, outcome, Close::Orderly),
                Some(plan) => self.ask_next(turn, plan, key, outcome),
            }
        }
    }
}

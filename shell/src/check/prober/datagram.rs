//! Probes by datagram: asked again and again until something comes, or the time is up.
//!
//! The socket is connected, so the kernel takes datagrams from nobody else, and asks for extended
//! errors: without them an unreachable host and a neighbour that answers no ARP stay unheard.
//! Who reports that a port is closed does so about once a second, whoever asks; so one silence
//! is no proof of health, and a probe that would take silence for it sends several datagrams.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use giveover_core::failure::Phase;
use giveover_core::time::{Instant, Span};
use mio::Interest;
use rustix::io::Errno;

use super::race::port_of;
use super::slab::Key;
use super::{BUFFER, Prober, Slot, Stage, Turn};
use crate::check::dialogue::echo::{Echo, Family};
use crate::check::dialogue::{dns, rpc};
use crate::check::needle::Search;
use crate::check::outcome::{Outcome, code, is_our_lack};
use crate::check::socket::{Close, Socket};
use crate::check::trace::said;
use crate::config::plan::{CheckPlan, Kind};
use crate::config::talk::{Talk, codes};

/// How long silence has to last, if there is that much time, to be taken for health: that a
/// neighbour answers no ARP is known after 3.06 s.
const SILENCE: Span = Span::from_secs(4);
/// Between datagrams into a silence that may be healthy: closed ports are reported once a second.
const APART: Span = Span::from_millis(1100);
/// How often a query is sent in all.
const TRIES: u32 = 3;

/// What was asked by datagram.
pub(super) struct Asking {
    /// The number of the query, and what else a ping is known by.
    pub(super) echo: Echo,
    pub(super) family: Family,
    /// Something came, but no answer to it.
    strange: bool,
    /// rpcbind is asked for the port of a program first, if it is.
    looks_up: bool,
    /// The address that is asked now.
    pub(super) address: Option<IpAddr>,
    /// A ping, by the socket that all share.
    pub(super) shares: bool,
    /// The addresses that are left to ask, the next one first.
    others: Others,
}

/// Addresses that are left.
pub(super) enum Others {
    /// One, or none any more.
    Only(Option<IpAddr>),
    /// Those of a name, behind the first so many.
    Of(Arc<[IpAddr]>, usize),
}

/// Whether the port of a program has to be asked for before it is called.
pub(super) fn looks_up(plan: &CheckPlan, target: u8) -> bool {
    let is_rpc = matches!(&plan.kind, Kind::Talk(talk) if matches!(**talk, Talk::Rpc(_)));
    is_rpc && port_of(plan, target) == 0
}

/// What a check in datagrams says, and one that first asks for a port.
fn talk_of(kind: &Kind) -> Option<&Talk> {
    match kind {
        Kind::Talk(talk) => Some(talk),
        _ => None,
    }
}

/// What this kind of check says in datagrams, if it does.
pub(super) fn by_datagram(kind: &Kind) -> Option<&Talk> {
    match kind {
        Kind::Talk(talk) if talk.is_datagram() => Some(talk),
        _ => None,
    }
}

impl Prober {
    /// Asks by datagram: the first of these, and the next where one cannot be reached, or
    /// where an answer is wanted and does not come.
    pub(super) fn ask(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key, others: Others) {
        let echo = Echo { id: self.draw(), token: self.draw_long(), sent: 0 };
        let Some(probe) = self.probe_mut(key) else { return };
        let looks_up = looks_up(plan, probe.id.target);
        let (family, address) = (Family::V4, None);
        let (strange, shares) = (false, false);
        probe.stage =
            Stage::Asking(Asking { echo, family, strange, looks_up, address, shares, others });
        self.ask_next(turn, plan, key, Outcome::failed(Phase::Resolve, Errno::NOENT));
    }

    /// Asks the next address there is; if none is left, `otherwise` is how it ended.
    pub(super) fn ask_next(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        key: Key,
        mut otherwise: Outcome,
    ) {
        loop {
            let Some(probe) = self.probe_mut(key) else { return };
            let port = port_of(plan, probe.id.target);
            let Stage::Asking(asking) = &mut probe.stage else { return };
            // Each address has an rpcbind of its own.
            asking.looks_up = port == 0 && matches!(talk_of(&plan.kind), Some(Talk::Rpc(_)));
            let port = if asking.looks_up { rpc::RPCBIND_PORT } else { port };
            let Some(address) = asking.others.next() else {
                return self.finish(turn, key, otherwise, Close::Orderly);
            };
            let is_ping = matches!(by_datagram(&plan.kind), Some(Talk::Ping));
            let shared = if is_ping { self.share_ping(turn, key, address) } else { Ok(false) };
            let opened = match (shared, is_ping) {
                (Ok(true), _) => {
                    self.note(turn, Phase::Connect, || address.to_string());
                    return self.send_ping(turn, plan, key);
                }
                (Err(errno), _) => Err(errno),
                (Ok(false), true) => Socket::echo(address),
                (Ok(false), false) => {
                    Socket::datagram(SocketAddr::new(address, port)).map(|socket| (socket, None))
                }
            };
            match opened {
                Ok((socket, id)) => {
                    let Some(probe) = self.probe_mut(key) else { return };
                    let Stage::Asking(asking) = &mut probe.stage else { return };
                    asking.echo.sent = 0;
                    asking.family = Family::of(address);
                    asking.address = Some(address);
                    asking.echo.id = id.unwrap_or(asking.echo.id);
                    if let Some(before) = probe.socket.replace(socket) {
                        before.close(turn.reactor, Close::Orderly);
                    }
                    self.note(turn, Phase::Connect, || match is_ping {
                        true => address.to_string(),
                        false => SocketAddr::new(address, port).to_string(),
                    });
                    if self.watch(turn, key, Interest::READABLE) {
                        self.send_datagram(turn, plan, key);
                    }
                    return;
                }
                // Nothing was sent yet: whatever the kernel says now, it says of us. What was
                // heard of another address says more.
                Err(errno)
                    if !matches!(otherwise, Outcome::Failed { phase: Phase::Connect, .. }) =>
                {
                    otherwise = Outcome::Lacking { phase: Phase::Connect, code: code(errno) };
                }
                Err(_) => {}
            }
        }
    }

    /// rpcbind has said at which port the program is: on to that.
    fn call_at(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key, port: u16) {
        let Some(probe) = self.probe_mut(key) else { return };
        let Stage::Asking(asking) = &mut probe.stage else { return };
        asking.looks_up = false;
        asking.strange = false;
        let Some(address) = asking.address else { return };
        let address = SocketAddr::new(address, port);
        if let Some(before) = probe.socket.take() {
            before.close(turn.reactor, Close::Orderly);
        }
        self.note(turn, Phase::Resolve, || format!("rpcbind: port {port}"));
        if by_datagram(&plan.kind).is_none() {
            if let Some(probe) = self.probe_mut(key) {
                probe.stage = Stage::Connecting;
            }
            return self.connect_to(turn, plan, key, address);
        }
        match Socket::datagram(address) {
            Ok(socket) => {
                if let Some(probe) = self.probe_mut(key) {
                    probe.socket = Some(socket);
                }
                self.note(turn, Phase::Connect, || address.to_string());
                if self.watch(turn, key, Interest::READABLE) {
                    self.send_datagram(turn, plan, key);
                }
            }
            Err(errno) => {
                let outcome = Outcome::Lacking { phase: Phase::Connect, code: code(errno) };
                self.finish(turn, key, outcome, Close::Orderly);
            }
        }
    }

    /// Something came for a probe by datagram.
    pub(super) fn datagram_ready(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(talk) = talk_of(&plan.kind) else { return self.void(turn, key) };
        loop {
            let Self { slots, buffer, trace, .. } = self;
            let Some(Slot::Probe(probe)) = slots.get_mut(key) else { return };
            if turn.now >= silent_until(plan, talk, probe.started, probe.deadline) {
                return self.silent(turn, plan, key);
            }
            let (Stage::Asking(asking), Some(socket)) = (&mut probe.stage, &probe.socket) else {
                return;
            };
            buffer.resize(BUFFER, 0);
            let bytes = match socket.receive(buffer) {
                Ok(length) => &buffer[..length],
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) if matches!(talk, Talk::Ping) => match asking.reported(socket, buffer) {
                    Some(errno) => {
                        let outcome = Outcome::failed(Phase::Connect, errno);
                        return self.ask_next(turn, plan, key, outcome);
                    }
                    None => continue,
                },
                // Somebody on the way, or the host itself, says that nobody is there.
                Err(errno) => {
                    let outcome = asking.unreachable(errno);
                    return self.ask_next(turn, plan, key, outcome);
                }
            };
            if let (Talk::Rpc(wanted), true) = (talk, asking.looks_up) {
                let v6 = asking.family == Family::V6;
                let lookup = |code| Outcome::Failed { phase: Phase::Resolve, code };
                let outcome = match rpc::looked_up(wanted, asking.echo.id, v6, bytes) {
                    None => {
                        asking.strange = true;
                        continue;
                    }
                    Some(Ok(0)) => {
                        Outcome::Failed { phase: Phase::Connect, code: codes::NOT_REGISTERED }
                    }
                    Some(Ok(port)) => return self.call_at(turn, plan, key, port),
                    Some(Err(_)) => lookup(codes::LOOKUP_DENIED),
                };
                return self.finish(turn, key, outcome, Close::Orderly);
            }
            if let Some(trace) = trace {
                trace.heard(&plan.kind, bytes);
            }
            match judge(talk, asking, bytes) {
                Some(outcome) => return self.finish(turn, key, outcome, Close::Orderly),
                // Of others a host hears much, and some of it is meant for others here.
                None => asking.strange = !matches!(talk, Talk::Ping),
            }
        }
    }

    /// Nothing came up to the limit: once more, or the time is up.
    pub(super) fn silent(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(talk) = talk_of(&plan.kind) else { return self.void(turn, key) };
        self.buffer.resize(BUFFER, 0);
        let Self { slots, buffer, .. } = self;
        let Some(Slot::Probe(probe)) = slots.get_mut(key) else { return };
        let Stage::Asking(asking) = &probe.stage else { return };
        if asking.shares {
            return self.silent_ping(turn, plan, key);
        }
        if turn.now < silent_until(plan, talk, probe.started, probe.deadline) {
            return match talk.needs_no_answer() || asking.others.is_empty() {
                true => self.send_datagram(turn, plan, key),
                false => {
                    let outcome = asking.unanswered();
                    self.ask_next(turn, plan, key, outcome)
                }
            };
        }
        // A report may have come while we slept past the limit.
        let report = probe.socket.as_ref().and_then(|socket| match talk {
            Talk::Ping => asking.reported(socket, buffer),
            _ => socket.error(),
        });
        let outcome = match asking.strange {
            _ if report.is_some() => asking.unreachable(report.unwrap_or(Errno::IO)),
            _ if talk.needs_no_answer() => Outcome::Healthy { shown: 0 },
            true if !asking.looks_up => Outcome::wrong(0),
            _ => asking.unanswered(),
        };
        self.finish(turn, key, outcome, Close::Orderly);
    }

    /// The same of a ping by the shared socket.
    fn silent_ping(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        let deadline = probe.deadline;
        let Stage::Asking(asking) = &probe.stage else { return };
        let (family, id, last) = (asking.family, asking.echo.id, asking.others.is_empty());
        if turn.now < deadline {
            return match last {
                true => self.send_ping(turn, plan, key),
                false => self.ask_next(turn, plan, key, Outcome::late(Phase::Silence)),
            };
        }
        // A report may have come while we slept past the limit.
        self.hear_reports(turn, family);
        let Some(probe) = self.probe_mut(key) else { return };
        if matches!(&probe.stage, Stage::Asking(asking) if asking.echo.id == id) {
            self.finish(turn, key, Outcome::late(Phase::Silence), Close::Orderly);
        }
    }

    /// When a ping is sent once more, or its time is up.
    pub(super) fn next_ping(
        &mut self,
        turn: &Turn<'_>,
        plan: &CheckPlan,
        key: Key,
    ) -> Option<Instant> {
        let talk = talk_of(&plan.kind)?;
        let deadline = self.probe_mut(key)?.deadline;
        Some(turn.now.after(apart(plan, talk)).min(deadline))
    }

    fn send_datagram(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Self { slots, request, buffer, trace, .. } = self;
        let Some(Slot::Probe(probe)) = slots.get_mut(key) else { return };
        let (Stage::Asking(asking), Some(socket)) = (&mut probe.stage, &probe.socket) else {
            return;
        };
        let Some(talk) = talk_of(&plan.kind) else { return self.void(turn, key) };
        request.clear();
        match talk {
            Talk::Dns(plan) => dns::query(plan, asking.echo.id, request),
            Talk::Rpc(plan) if asking.looks_up => {
                rpc::lookup(plan, asking.echo.id, asking.family == Family::V6, request);
            }
            Talk::Rpc(plan) => rpc::call(plan, asking.echo.id, request),
            Talk::Udp { send, .. } => request.extend_from_slice(send),
            Talk::Ping => {
                asking.echo.ask(asking.family, request);
            }
            _ => {}
        }
        let until = silent_until(plan, talk, probe.started, probe.deadline);
        let next = turn.now.after(apart(plan, talk)).min(until);
        let mut sent = socket.send(request);
        if sent.is_err() && matches!(talk, Talk::Ping) {
            buffer.resize(BUFFER, 0);
            if let Some(errno) = asking.reported(socket, buffer) {
                return self.ask_next(turn, plan, key, Outcome::failed(Phase::Connect, errno));
            }
            // It was of others; what is said now is of this request, and nobody heard it yet.
            sent = socket.send(request);
            if let Err(errno) = sent {
                let outcome = Outcome::Lacking { phase: Phase::Send, code: code(errno) };
                return self.finish(turn, key, outcome, Close::Orderly);
            }
        }
        match sent {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) if is_our_lack(errno) => {
                let outcome = Outcome::Lacking { phase: Phase::Send, code: code(errno) };
                return self.finish(turn, key, outcome, Close::Orderly);
            }
            // The answer to an earlier datagram.
            Err(errno) => {
                let outcome = asking.unreachable(errno);
                return self.ask_next(turn, plan, key, outcome);
            }
        }
        if let Some(trace) = trace {
            trace.said(said(&plan.kind, request), turn.now);
        }
        self.wait(turn, key, next);
    }
}

impl Asking {
    /// What a report means that nobody is there: of rpcbind it says nothing of the program.
    fn unreachable(&self, errno: Errno) -> Outcome {
        match self.looks_up {
            true => Outcome::Failed { phase: Phase::Resolve, code: codes::LOOKUP_REFUSED },
            false => Outcome::failed(Phase::Connect, errno),
        }
    }

    /// What it means that nothing came that is an answer.
    fn unanswered(&self) -> Outcome {
        let code = if self.strange { codes::LOOKUP_STRANGE } else { codes::LOOKUP_SILENT };
        match self.looks_up {
            true => Outcome::Failed { phase: Phase::Resolve, code },
            false => Outcome::late(Phase::Silence),
        }
    }

    /// What the reports there are say of our requests; those of others are passed over.
    fn reported(&self, socket: &Socket, buffer: &mut [u8]) -> Option<Errno> {
        while let Some((errno, quoted)) = socket.report(buffer) {
            if self.echo.is_quoted_in(self.family, quoted) {
                return Some(errno);
            }
        }
        None
    }
}

impl Others {
    fn next(&mut self) -> Option<IpAddr> {
        match self {
            Self::Only(address) => address.take(),
            Self::Of(addresses, asked) => {
                *asked += 1;
                addresses.get(*asked - 1).copied()
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Only(address) => address.is_none(),
            Self::Of(addresses, asked) => *asked >= addresses.len(),
        }
    }
}

/// When silence is a verdict.
fn silent_until(plan: &CheckPlan, talk: &Talk, started: Instant, deadline: Instant) -> Instant {
    let whole = started.after(plan.timeout.min(SILENCE));
    if talk.needs_no_answer() { whole.min(deadline) } else { deadline }
}

/// How long to wait before the next datagram.
fn apart(plan: &CheckPlan, talk: &Talk) -> Span {
    if talk.needs_no_answer() {
        return APART;
    }
    Span::from_millis(plan.timeout.as_millis().div_ceil(TRIES).max(1))
}

/// What a datagram is worth; nothing if it answers something else.
fn judge(talk: &Talk, asking: &Asking, bytes: &[u8]) -> Option<Outcome> {
    match talk {
        Talk::Dns(plan) => {
            let code = dns::answered(plan, asking.echo.id, bytes)?;
            let right = plan.expect.iter().any(|(first, last)| (*first..=*last).contains(&code));
            Some(if right { Outcome::Healthy { shown: code } } else { Outcome::wrong(code) })
        }
        Talk::Rpc(_) => Some(match rpc::answered(asking.echo.id, bytes)? {
            0 => Outcome::Healthy { shown: 0 },
            code => Outcome::wrong(code),
        }),
        Talk::Udp { expect: Some(expect), .. } => {
            let found = Search::default().over(expect, bytes);
            Some(if found { Outcome::Healthy { shown: 0 } } else { Outcome::wrong(0) })
        }
        Talk::Ping => {
            let ours = asking.echo.is_answered_by(asking.family, bytes);
            ours.then_some(Outcome::Healthy { shown: 0 })
        }
        _ => Some(Outcome::Healthy { shown: 0 }),
    }
}

//! A probe's own connection: made, used, closed.

use std::net::SocketAddr;

use giveover_core::failure::Phase;
use giveover_core::time::Instant;
use mio::Interest;
use rustix::io::Errno;

use super::datagram::{Others, by_datagram, looks_up};
use super::race::port_of;
use super::slab::Key;
use super::{BUFFER, Prober, Slot, Stage, Turn};
use crate::check::dialogue::{self, Dialogue};
use crate::check::outcome::{Outcome, Step, code, is_our_lack};
use crate::check::secret::Secret;
use crate::check::socket::{Close, Progress, Socket};
use crate::check::tls::{self, Session};
use crate::check::trace::{Trace, said};
use crate::check::xfnts;
use crate::config::plan::{CheckPlan, Kind};
use crate::config::tls::TlsPlan;
use crate::message::tls as codes;
use crate::reactor::Ready;

/// More than this after our goodbye is not read.
const AFTER_GOODBYE: usize = 64 * 1024;

impl Prober {
    /// Connects to the only address there is.
    pub(super) fn connect(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        key: Key,
        address: SocketAddr,
    ) {
        let Some(probe) = self.probe_mut(key) else { return };
        if by_datagram(&plan.kind).is_some() || looks_up(plan, probe.id.target) {
            return self.ask(turn, plan, key, Others::Only(Some(address.ip())));
        }
        self.connect_to(turn, plan, key, address);
    }

    /// The same, whatever is still to be asked for before.
    pub(super) fn connect_to(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        key: Key,
        address: SocketAddr,
    ) {
        let first = dialogue::first(&plan.kind, &mut self.request);
        let begun = Socket::connect(address, first);
        self.begun(turn, plan, key, begun, address.port());
    }

    /// Connects to a UNIX socket of this host.
    pub(super) fn connect_here(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        key: Key,
        path: &str,
    ) {
        if by_datagram(&plan.kind).is_some() {
            return self.void(turn, key);
        }
        // What is not there has refused us, as a port without a listener has.
        let begun = Socket::connect_to_file(path).map_err(|errno| match errno {
            Errno::NOENT => Errno::CONNREFUSED,
            other => other,
        });
        self.begun(turn, plan, key, begun, 0);
    }

    fn begun(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        key: Key,
        begun: Result<(Socket, Progress), Errno>,
        port: u16,
    ) {
        let (socket, progress) = match begun {
            Ok(begun) => begun,
            Err(errno) => {
                return self.finish(turn, key, connect_failed(plan, errno), Close::Reset);
            }
        };
        let made = progress != Progress::Pending;
        let nobody = made && self.is_nobody(&socket, port);
        let Some(probe) = self.probe_mut(key) else { return };
        probe.socket = Some(socket);
        let until = probe.connect_until(plan);
        match progress {
            Progress::Made if nobody => self.refused(turn, plan, key, Errno::CONNREFUSED),
            Progress::Made => self.connected(turn, plan, key),
            Progress::Pending => {
                if self.watch(turn, key, interest(plan)) {
                    self.wait(turn, key, until);
                }
            }
        }
    }

    /// The probe's own socket is ready.
    pub(super) fn probe_ready(&mut self, turn: &mut Turn<'_>, key: Key, ready: Ready) {
        let Some(probe) = self.probe_mut(key) else { return };
        let (id, limit) = (probe.id, probe.limit);
        let ended = ready.read_closed || ready.closed;
        if matches!(probe.stage, Stage::Farewell) {
            if ended {
                self.discard(turn.reactor, key, Close::Reset);
            }
            return;
        }
        let Some(plan) = turn.checks.check(id) else { return self.void(turn, key) };
        if matches!(probe.stage, Stage::Asking(_)) {
            return self.datagram_ready(turn, plan, key);
        }
        let connecting = matches!(probe.stage, Stage::Connecting);
        let sending = matches!(probe.stage, Stage::Sending(..));
        match connecting {
            true if turn.now >= limit && ready.writable && !ready.closed => {
                return self.made_too_late(turn, plan, key);
            }
            _ if turn.now >= limit => return self.late(turn, key),
            true => self.connect_ready(turn, plan, key, ready),
            false if ready.writable => self.send(turn, plan, key),
            false => {}
        }
        // What came while we could not send was not read: it will not be told of again.
        if ready.readable || ended || sending {
            self.receive(turn, plan, key, ended);
        }
    }

    /// The connection is made: on to what this kind of check wants of it.
    pub(super) fn connected(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        self.note_peer(turn, key);
        let secret = match self.files.secret(&plan.kind) {
            Ok(secret) => secret,
            Err(outcome) => return self.finish(turn, key, outcome, Close::Reset),
        };
        if let Kind::Tls(tls) = &plan.kind {
            return self.begin_tls(turn, plan, tls, secret, key);
        }
        let Some(probe) = self.probe_mut(key) else { return };
        match (Dialogue::knowing(&plan.kind, secret), &plan.kind) {
            (Some(dialogue), _) => {
                probe.stage = Stage::Sending(dialogue, 0);
                self.send(turn, plan, key);
            }
            (None, Kind::Xfnts { .. }) => self.say_goodbye(turn, key),
            (None, Kind::Tcp { .. }) => {
                self.finish(turn, key, Outcome::Healthy { shown: 0 }, Close::Reset);
            }
            (None, _) => self.void(turn, key),
        }
    }

    /// True if the connection is one with itself. Only asked where it can be.
    pub(super) fn is_nobody(&self, socket: &Socket, port: u16) -> bool {
        self.own_ports.contains(&port) && socket.is_its_own_peer(port)
    }

    /// True if the loop watches the probe's socket.
    pub(super) fn is_watched(&mut self, key: Key) -> bool {
        let socket = self.probe_mut(key).and_then(|probe| probe.socket.as_ref());
        socket.is_some_and(Socket::is_watched)
    }

    /// Has the loop watch the probe's socket. If it cannot, the probe is answered and false
    /// returned.
    pub(super) fn watch(&mut self, turn: &mut Turn<'_>, key: Key, interest: Interest) -> bool {
        let Some(probe) = self.probe_mut(key) else { return false };
        let Some(socket) = &mut probe.socket else { return false };
        match socket.watch(turn.reactor, key.token(), interest) {
            Ok(()) => true,
            Err(errno) => {
                let outcome = Outcome::Lacking { phase: Phase::Connect, code: code(errno) };
                self.finish(turn, key, outcome, Close::Reset);
                false
            }
        }
    }

    fn connect_ready(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key, ready: Ready) {
        let Some(Slot::Probe(probe)) = self.slots.get_mut(key) else { return };
        let port = port_of(plan, probe.id.target);
        let Some(socket) = &probe.socket else { return };
        // What is writable and nothing else is connected; only an error has to be asked for.
        let errno = if ready.closed { socket.error() } else { None };
        if errno.is_none() && !ready.writable {
            return;
        }
        let nobody = self.own_ports.contains(&port) && socket.is_its_own_peer(port);
        match errno.or(nobody.then_some(Errno::CONNREFUSED)) {
            Some(errno) => self.refused(turn, plan, key, errno),
            None => self.connected(turn, plan, key),
        }
    }

    /// The network said no.
    fn refused(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key, errno: Errno) {
        self.finish(turn, key, broken(plan, errno), Close::Reset);
    }

    /// Sends what is left of the request.
    fn send(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Self { slots, request, trace, .. } = self;
        let Some(Slot::Probe(probe)) = slots.get_mut(key) else { return };
        let (Stage::Sending(dialogue, sent), Some(socket)) = (&mut probe.stage, &mut probe.socket)
        else {
            return;
        };
        let bytes = dialogue.words(&plan.kind, request);
        let has_heard = dialogue.has_heard();
        let handshake = dialogue.phase();
        while let Some(rest @ [_, ..]) = bytes.get(*sent..) {
            match socket.send(rest) {
                Ok(length) => *sent += length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    return self.await_more(turn, key, Interest::READABLE | Interest::WRITABLE);
                }
                Err(errno) => {
                    let phase = if has_heard { Phase::Read } else { Phase::Send };
                    let phase = handshake.unwrap_or(phase);
                    return self.finish(turn, key, Outcome::failed(phase, errno), Close::Reset);
                }
            }
        }
        if let (Some(trace), false) = (trace, bytes.is_empty() || is_inside(&plan.kind)) {
            trace.said(said(&plan.kind, bytes), turn.now);
        }
        if !dialogue::expects_answer(&plan.kind) {
            return self.finish(turn, key, Outcome::Healthy { shown: 0 }, Close::Orderly);
        }
        if let Stage::Sending(dialogue, _) = std::mem::replace(&mut probe.stage, Stage::Connecting)
        {
            probe.stage = Stage::Reading(dialogue);
        }
        self.await_more(turn, key, Interest::READABLE);
    }

    /// Begins what is said in TLS, or on the way to it.
    fn begin_tls(
        &mut self,
        turn: &mut Turn<'_>,
        plan: &CheckPlan,
        tls: &TlsPlan,
        secret: Option<Secret>,
        key: Key,
    ) {
        let notes = self.trace.is_some();
        let Some(Slot::Probe(probe)) = self.slots.get_mut(key) else { return };
        let target = plan.targets.get(usize::from(probe.id.target));
        let name = target.and_then(|target| tls::name_of(tls.name.as_deref(), target));
        let session = match name {
            Some(name) => self
                .files
                .trusted
                .config(&tls.trust)
                .and_then(|config| Session::begin(tls, config, name, notes)),
            None => Err(Outcome::Lacking { phase: Phase::Tls, code: codes::NO_NAME }),
        };
        match session {
            Ok(session) => {
                let mut session = session.knowing(secret);
                if let Some(trace) = &mut self.trace {
                    trace.inside(&plan.kind, session.notes(), turn.now);
                }
                probe.stage = Stage::Sending(Dialogue::Tls(Box::new(session)), 0);
                self.send(turn, plan, key);
            }
            Err(outcome) => self.finish(turn, key, outcome, Close::Reset),
        }
    }

    /// Waits for the socket, up to the deadline.
    fn await_more(&mut self, turn: &mut Turn<'_>, key: Key, interest: Interest) {
        // One that is watched already is watched for both.
        if !self.is_watched(key) && !self.watch(turn, key, interest) {
            return;
        }
        let Some(deadline) = self.probe_mut(key).map(|probe| probe.deadline) else { return };
        self.wait(turn, key, deadline);
    }

    /// Reads what has come. A short read has emptied the socket, so without the end in sight
    /// (`ended`) there is no need to be told so.
    fn receive(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key, ended: bool) {
        loop {
            let Self { slots, buffer, trace, .. } = self;
            let Some(Slot::Probe(probe)) = slots.get_mut(key) else { return };
            let Some(socket) = &probe.socket else { return };
            if !matches!(probe.stage, Stage::Reading(_) | Stage::Closing(0..AFTER_GOODBYE)) {
                return;
            }
            buffer.resize(BUFFER, 0);
            let full = buffer.len();
            let bytes = match socket.receive(buffer) {
                Ok(0) => return self.heard_end(turn, plan, key),
                Ok(length) => &buffer[..length],
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(errno) => {
                    let outcome = Outcome::failed(probe.stage.phase(), errno);
                    return self.finish(turn, key, outcome, Close::Reset);
                }
            };
            if let Some(trace) = trace.as_mut().filter(|_| !is_inside(&plan.kind)) {
                trace.heard(&plan.kind, bytes);
            }
            let short = bytes.len() < full;
            let now = turn.now;
            match &mut probe.stage {
                Stage::Closing(read) => *read += bytes.len(),
                Stage::Reading(dialogue) => match heard(dialogue, plan, bytes, trace, now) {
                    Step::More => {}
                    Step::Say => self.reply(turn, plan, key),
                    Step::Done { outcome, whole } => {
                        self.part(turn, plan, key, &[]);
                        return self.conclude(turn, key, outcome, whole || ended);
                    }
                    Step::Leave { outcome, words } => {
                        self.part(turn, plan, key, words);
                        return self.conclude_politely(turn, key, outcome, ended);
                    }
                },
                _ => return,
            }
            if short && !ended {
                return;
            }
        }
    }

    /// It is our turn again.
    fn reply(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        probe.stage = match std::mem::replace(&mut probe.stage, Stage::Connecting) {
            Stage::Reading(dialogue) => Stage::Sending(dialogue, 0),
            other => other,
        };
        self.send(turn, plan, key);
    }

    /// Says parting words. Whether they arrive is not waited for: the verdict stands.
    fn part(&mut self, turn: &Turn<'_>, plan: &CheckPlan, key: Key, words: &[u8]) {
        let Self { slots, request, trace, .. } = self;
        let Some(Slot::Probe(probe)) = slots.get_mut(key) else { return };
        // In TLS the words are in the session, and an alert if it failed.
        let words = match &probe.stage {
            Stage::Reading(dialogue @ Dialogue::Tls(_)) => dialogue.words(&plan.kind, request),
            _ => words,
        };
        let Some(socket) = probe.socket.as_ref().filter(|_| !words.is_empty()) else { return };
        if socket.send(words).is_ok() {
            if let Some(trace) = trace.as_mut().filter(|_| !is_inside(&plan.kind)) {
                trace.said(said(&plan.kind, words), turn.now);
            }
        }
    }

    /// The other side has closed.
    fn heard_end(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        match &probe.stage {
            Stage::Reading(dialogue) => {
                let outcome = dialogue.on_close(&plan.kind);
                self.finish(turn, key, outcome, Close::Reset);
            }
            Stage::Closing(_) => self.hand_over(turn, key),
            _ => {}
        }
    }

    /// The polite disconnect: we say that we are done and wait for the other side to close.
    fn say_goodbye(&mut self, turn: &mut Turn<'_>, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        let Some(socket) = &probe.socket else { return };
        let limit = xfnts::disconnect_until(turn.now, probe.deadline);
        if let Err(errno) = socket.say_goodbye() {
            return self.finish(turn, key, Outcome::failed(Phase::Close, errno), Close::Reset);
        }
        probe.stage = Stage::Closing(0);
        if self.is_watched(key) || self.watch(turn, key, Interest::READABLE) {
            self.wait(turn, key, limit);
        }
    }

    fn note_peer(&mut self, turn: &Turn<'_>, key: Key) {
        if self.trace.is_none() {
            return;
        }
        let peer = self.probe_mut(key).and_then(|probe| probe.socket.as_ref()?.peer());
        let words = || peer.map_or_else(|| "a socket of this host".to_owned(), |it| it.to_string());
        self.note(turn, Phase::Connect, words);
    }
}

/// What the dialogue makes of `bytes`; what it says and hears inside TLS goes to the trace.
fn heard(
    dialogue: &mut Dialogue,
    plan: &CheckPlan,
    bytes: &[u8],
    trace: &mut Option<Trace>,
    now: Instant,
) -> Step {
    let step = dialogue.on_bytes(&plan.kind, bytes);
    if let (Dialogue::Tls(session), Some(trace)) = (dialogue, trace) {
        trace.inside(&plan.kind, session.notes(), now);
    }
    step
}

/// Whether what is on the wire is not what is said.
const fn is_inside(kind: &Kind) -> bool {
    matches!(kind, Kind::Tls(_))
}

/// What has to be heard of a connection in the making, and after.
pub(super) fn interest(plan: &CheckPlan) -> Interest {
    match plan.kind {
        Kind::Tcp { send: None, expect: None } => Interest::WRITABLE,
        _ => Interest::READABLE | Interest::WRITABLE,
    }
}

/// What `errno` from `socket` or `connect` means: our own lack, or the network's answer.
pub(super) fn connect_failed(plan: &CheckPlan, errno: Errno) -> Outcome {
    if is_our_lack(errno) {
        Outcome::Lacking { phase: Phase::Connect, code: code(errno) }
    } else {
        broken(plan, errno)
    }
}

/// What the network's answer means. A reset comes only after the connection was made (before,
/// it is a refusal): where nothing more was wanted of it, it is the disconnect that failed.
fn broken(plan: &CheckPlan, errno: Errno) -> Outcome {
    let phase = match errno {
        Errno::CONNRESET | Errno::PIPE if is_inside(&plan.kind) => Phase::Send,
        Errno::CONNRESET | Errno::PIPE if Dialogue::of(&plan.kind).is_some() => Phase::Send,
        Errno::CONNRESET | Errno::PIPE => Phase::Close,
        _ => Phase::Connect,
    };
    Outcome::failed(phase, errno)
}

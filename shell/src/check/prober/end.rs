//! How probes end: on time, too late, or not at all.

use giveover_core::failure::Phase;
use giveover_core::time::{Instant, Span};

use super::slab::Key;
use super::{Probe, Prober, Slot, Stage, Turn};
use crate::check::outcome::Outcome;
use crate::check::socket::Close;
use crate::check::{Answer, Handover, xfnts};
use crate::config::plan::{CheckPlan, Kind, Weights};
use crate::reactor::Reactor;

/// How long the other side may take to close after a complete answer.
const FAREWELL: Span = Span::from_secs(1);

impl Prober {
    /// The stage's time is up.
    pub(super) fn limit_reached(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        match probe.stage {
            Stage::Asking(_) => self.silent(turn, plan, key),
            Stage::Files => self.files_known(turn, plan, key),
            Stage::Resolving if turn.now < probe.deadline => self.use_kept(turn, plan, key),
            Stage::Racing(_) if turn.now < probe.connect_until(plan) => {
                self.next_attempt(turn, plan, key);
            }
            _ => self.late(turn, key),
        }
    }

    /// The probe's time is up.
    pub(super) fn late(&mut self, turn: &mut Turn<'_>, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        let phase = probe.stage.phase();
        self.finish(turn, key, Outcome::late(phase), Close::Reset);
    }

    /// The connection was made, but too late. An `xfnts` probe disconnects all the same.
    pub(super) fn made_too_late(&mut self, turn: &mut Turn<'_>, plan: &CheckPlan, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        let limit = xfnts::disconnect_until(turn.now, probe.deadline);
        let goodbye = match (&plan.kind, &probe.socket) {
            (Kind::Xfnts { .. }, Some(socket)) => socket.say_goodbye().is_ok(),
            _ => false,
        };
        if !goodbye {
            return self.late(turn, key);
        }
        self.answer(turn, key, Outcome::late(Phase::Connect));
        self.take_leave(turn, key, limit);
    }

    /// The dialogue has come to its verdict. If the other side has said all it had to (`whole`),
    /// nothing of the connection need be left, and nobody waits for stray packets (TIME_WAIT).
    /// In the middle of it we hang up.
    pub(super) fn conclude(
        &mut self,
        turn: &mut Turn<'_>,
        key: Key,
        outcome: Outcome,
        whole: bool,
    ) {
        let how = if whole { Close::Reset } else { Close::Orderly };
        self.finish(turn, key, outcome, how);
    }

    /// The verdict stands and parting words are said. They must be heard before the connection
    /// goes, so the other side may close first.
    pub(super) fn conclude_politely(
        &mut self,
        turn: &mut Turn<'_>,
        key: Key,
        outcome: Outcome,
        ended: bool,
    ) {
        if ended {
            return self.finish(turn, key, outcome, Close::Reset);
        }
        self.answer(turn, key, outcome);
        self.take_leave(turn, key, turn.now.after(FAREWELL));
    }

    /// Answers a probe and lets go of it.
    pub(super) fn finish(&mut self, turn: &mut Turn<'_>, key: Key, outcome: Outcome, how: Close) {
        self.answer(turn, key, outcome);
        self.discard(turn.reactor, key, how);
    }

    /// Lets go of a probe that we cannot judge.
    pub(super) fn void(&mut self, turn: &mut Turn<'_>, key: Key) {
        self.finish(turn, key, Outcome::Void, Close::Reset);
    }

    /// Gives the probe's one answer. One that is only taking leave has had it.
    pub(super) fn answer(&mut self, turn: &Turn<'_>, key: Key, outcome: Outcome) {
        let Some(probe) = self.probe_mut(key) else { return };
        if matches!(probe.stage, Stage::Farewell) {
            return;
        }
        let (id, elapsed_ms) = (probe.id, turn.now.since(probe.started));
        let result = match turn.checks.check(id) {
            Some(plan) => outcome.weigh(id.check, &plan.weights),
            None => Outcome::Void.weigh(id.check, &Weights::DEFAULT),
        };
        let elapsed_ms = u32::try_from(elapsed_ms).unwrap_or(u32::MAX);
        self.answers.push(Answer { id, result, elapsed_ms, shown: outcome.shown() });
        self.in_flight -= 1;
    }

    /// The socket part went well, the rest is a command's.
    pub(super) fn hand_over(&mut self, turn: &mut Turn<'_>, key: Key) {
        let Some(probe) = self.probe_mut(key) else { return };
        let Probe { id, started, deadline, .. } = *probe;
        self.handovers.push(Handover { id, started, deadline });
        self.in_flight -= 1;
        self.discard(turn.reactor, key, Close::Orderly);
    }

    /// Keeps an answered probe's socket until the other side closes, or until `limit`.
    fn take_leave(&mut self, turn: &mut Turn<'_>, key: Key, limit: Instant) {
        if let Some(probe) = self.probe_mut(key) {
            probe.stage = Stage::Farewell;
        }
        self.wait(turn, key, limit);
    }

    /// Lets go of all a probe holds.
    pub(super) fn discard(&mut self, reactor: &mut Reactor, key: Key, how: Close) {
        let Some(Slot::Probe(probe)) = self.slots.remove(key) else { return };
        if let Some(timer) = probe.timer {
            reactor.timers.disarm(timer);
        }
        if let Some(socket) = probe.socket {
            socket.close(reactor, how);
        }
        match probe.stage {
            Stage::Asking(asking) if asking.shares => {
                self.forget_ping(reactor, asking.family, asking.echo.id);
            }
            Stage::Racing(race) => self.call_off(reactor, race),
            Stage::Resolving => self.waiting.retain(|waiting| *waiting != key),
            Stage::Files => self.reading.retain(|waiting| *waiting != key),
            _ => {}
        }
    }
}

impl Stage {
    /// The phase that a failure in this stage belongs to.
    pub(super) fn phase(&self) -> Phase {
        match self {
            Self::Resolving => Phase::Resolve,
            Self::Files | Self::Connecting | Self::Racing(_) => Phase::Connect,
            Self::Sending(dialogue, _) => dialogue.phase().unwrap_or(Phase::Send),
            Self::Reading(dialogue) => dialogue.phase().unwrap_or(Phase::Read),
            Self::Asking(_) => Phase::Silence,
            Self::Closing(_) | Self::Farewell => Phase::Close,
        }
    }
}

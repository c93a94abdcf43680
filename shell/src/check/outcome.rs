//! How a probe ended, before it is weighed.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::weight::Weight;
use rustix::io::Errno;

use crate::config::plan::Weights;
use crate::message::tls;

/// How a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All that was asked for was there.
    Healthy {
        /// Worth showing: an HTTP status; zero if there is nothing.
        shown: u16,
    },
    /// It got as far as `phase`.
    Failed {
        /// How far.
        phase: Phase,
        /// What was seen there, as [`Cause::code`] has it.
        code: u16,
    },
    /// We could not even try.
    Lacking {
        /// What for.
        phase: Phase,
        /// What the kernel said.
        code: u16,
    },
    /// We did not run, or the plan is no longer the one the probe was begun with.
    Void,
}

/// What a dialogue wants after some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes.
    More,
    /// To say something before it listens on.
    Say,
    /// Nothing: this is how it ended.
    Done {
        /// How.
        outcome: Outcome,
        /// The other side has said all it had to say, so the connection can be reset; in the middle
        /// of its answer we hang up.
        whole: bool,
    },
    /// To take its leave: the verdict is reached, the other side has said all it had to, and
    /// is told so.
    Leave {
        /// How it ended.
        outcome: Outcome,
        /// Said if there is room for it; not waited for.
        words: &'static [u8],
    },
}

impl Outcome {
    /// A failure that a deadline brought.
    pub(crate) const fn late(phase: Phase) -> Self {
        Self::failed(phase, Errno::TIMEDOUT)
    }

    /// A failure the kernel reported.
    pub(crate) const fn failed(phase: Phase, errno: Errno) -> Self {
        Self::Failed { phase, code: code(errno) }
    }

    /// The other side closed the connection before its answer was complete.
    ///
    /// There is no errno for an orderly end that comes too early; ENODATA is what we say.
    pub(crate) const fn cut() -> Self {
        Self::failed(Phase::Read, Errno::NODATA)
    }

    /// A complete answer, but not the right one; `code` is the protocol's status, zero if the
    /// answer made no sense.
    pub(crate) const fn wrong(code: u16) -> Self {
        Self::Failed { phase: Phase::Answer, code }
    }

    /// What the core is told about the check numbered `check`.
    #[must_use]
    pub fn weigh(self, check: u8, weights: &Weights) -> ProbeResult {
        match self {
            Self::Healthy { .. } => ProbeResult::Healthy,
            Self::Void => ProbeResult::Void,
            Self::Lacking { phase, code } => {
                let cause = Cause::of_check(check, phase, code);
                let weight = weights.lacking.map(|weight| ProbeResult::Failed(weight, cause));
                weight.unwrap_or(ProbeResult::CannotMeasure(cause))
            }
            Self::Failed { phase, code } => {
                let cause = Cause::of_check(check, phase, code);
                match weight(weights, phase, code) {
                    Some(weight) => ProbeResult::Failed(weight, cause),
                    None => ProbeResult::CannotMeasure(cause),
                }
            }
        }
    }

    /// What is worth showing of it.
    #[must_use]
    pub const fn shown(self) -> u16 {
        match self {
            Self::Healthy { shown } => shown,
            _ => 0,
        }
    }
}

/// What a failure in `phase` weighs; `None`: it cannot be measured.
fn weight(weights: &Weights, phase: Phase, code: u16) -> Option<Weight> {
    if weights.late.is_some() && code == self::code(Errno::TIMEDOUT) && phase != Phase::Resolve {
        return weights.late;
    }
    match phase {
        Phase::Tls if tls::is_soon(code) => Some(weights.expiry),
        Phase::Tls => Some(weights.tls),
        Phase::Resolve => weights.resolve,
        Phase::Send => Some(weights.send),
        Phase::Read => Some(weights.read),
        Phase::Answer => Some(weights.answer),
        Phase::Close => Some(weights.close),
        Phase::Exit => Some(weights.exit),
        // Silence where there is no connection is as bad as none. The rest never comes from a
        // check.
        Phase::Connect
        | Phase::Silence
        | Phase::Died
        | Phase::Start
        | Phase::Stop
        | Phase::Reported => Some(weights.connect),
    }
}

/// An errno as causes carry it.
pub(crate) const fn code(errno: Errno) -> u16 {
    errno.raw_os_error() as u16
}

/// True if `errno`, from `socket` or `connect`, says something about us and nothing about the
/// service: no descriptor, no memory, no free port, no such address family, no permission, or
/// an address that cannot be connected to.
pub(crate) fn is_our_lack(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::MFILE
            | Errno::NFILE
            | Errno::NOMEM
            | Errno::NOBUFS
            | Errno::ADDRNOTAVAIL
            | Errno::ADDRINUSE
            | Errno::AFNOSUPPORT
            | Errno::PROTONOSUPPORT
            | Errno::ACCESS
            | Errno::PERM
            | Errno::INVAL
            | Errno::AGAIN
            | Errno::NOSPC
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: u8 = 3;

    fn weighed(outcome: Outcome) -> ProbeResult {
        outcome.weigh(CHECK, &Weights::DEFAULT)
    }

    #[test]
    fn failures_weigh_what_their_phase_weighs() {
        // req 0.29, 0.30, 1.23, 1.25
        for (phase, value) in
            [(Phase::Connect, 100), (Phase::Send, 100), (Phase::Read, 50), (Phase::Close, 50)]
        {
            let cause = Cause::of_check(CHECK, phase, code(Errno::TIMEDOUT));
            let weight = Weight::new(value).expect("a weight");
            assert_eq!(weighed(Outcome::late(phase)), ProbeResult::Failed(weight, cause));
        }
        let cause = Cause::of_check(CHECK, Phase::Answer, 404);
        assert_eq!(weighed(Outcome::wrong(404)), ProbeResult::Failed(Weight::HALF, cause));
    }

    #[test]
    fn a_name_that_does_not_resolve_cannot_be_measured_unless_it_has_a_weight() {
        let cause = Cause::of_check(CHECK, Phase::Resolve, code(Errno::NOENT));
        let outcome = Outcome::failed(Phase::Resolve, Errno::NOENT);
        assert_eq!(weighed(outcome), ProbeResult::CannotMeasure(cause));
        let weights = Weights { resolve: Some(Weight::HALF), ..Weights::DEFAULT };
        assert_eq!(outcome.weigh(CHECK, &weights), ProbeResult::Failed(Weight::HALF, cause));
    }

    #[test]
    fn our_own_lack_is_never_the_services_failure() {
        for errno in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::NOBUFS,
            Errno::ADDRNOTAVAIL,
            Errno::ACCESS,
            Errno::AFNOSUPPORT,
        ] {
            assert!(is_our_lack(errno), "{errno:?}");
        }
        for errno in [
            Errno::CONNREFUSED,
            Errno::HOSTUNREACH,
            Errno::NETUNREACH,
            Errno::TIMEDOUT,
            Errno::CONNRESET,
        ] {
            assert!(!is_our_lack(errno), "{errno:?}");
        }
    }
}

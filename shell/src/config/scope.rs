//! What a service's checks can find at all: the ground the limits are judged on.

use giveover_core::failure::Phase;
use giveover_core::policy::{Destination, Scope};
use giveover_core::weight::Weight;

use super::database::Action;
use super::plan::{
    CheckPlan, Combine, ExitMeaning, ExitTable, GoesTo, Host, Kind, Run, ServicePlan,
};

impl CheckPlan {
    /// The phases this check can fail in and what each weighs. A command that names its own
    /// weights can name the least.
    #[must_use]
    pub fn emits(&self) -> Vec<(Phase, Weight)> {
        let weights = &self.weights;
        let named = self.targets.iter().any(|target| matches!(target.host, Host::Name(_)));
        let mut emits = Vec::new();
        emits.extend(
            [weights.late, weights.lacking].into_iter().flatten().map(|it| (Phase::Read, it)),
        );
        if let Some(weight) = weights.resolve.filter(|_| named) {
            emits.push((Phase::Resolve, weight));
        }
        match &self.kind {
            Kind::Tcp { send, expect } => {
                emits.push((Phase::Connect, weights.connect));
                emits.extend(send.as_ref().map(|_| (Phase::Send, weights.send)));
                if expect.is_some() {
                    emits.extend([(Phase::Read, weights.read), (Phase::Answer, weights.answer)]);
                }
                emits.push((Phase::Close, weights.close));
            }
            Kind::Http(_) | Kind::Talk(_) => emits.extend([
                (Phase::Connect, weights.connect),
                (Phase::Send, weights.send),
                (Phase::Read, weights.read),
                (Phase::Answer, weights.answer),
            ]),
            // A certificate that is soon to expire is not among them: it is a warning, and no
            // ground to judge limits on.
            Kind::Tls(plan) => {
                emits.extend([(Phase::Connect, weights.connect), (Phase::Tls, weights.tls)]);
                if plan.inner.is_some() {
                    emits.extend([
                        (Phase::Send, weights.send),
                        (Phase::Read, weights.read),
                        (Phase::Answer, weights.answer),
                    ]);
                }
            }
            Kind::Hello(_) => {
                emits.extend([(Phase::Connect, weights.connect), (Phase::Tls, weights.tls)]);
            }
            Kind::Command(command) => {
                let exits = exits(&command.exit, weights.exit);
                emits.extend(exits.into_iter().map(|weight| (Phase::Exit, weight)));
                emits.extend(command.missing.map(|weight| (Phase::Exit, weight)));
            }
            Kind::Process => emits.push((Phase::Died, Weight::COMPLETE)),
            Kind::Agent(_) => {
                emits.extend([(Phase::Silence, weights.connect), (Phase::Answer, weights.answer)])
            }
            Kind::State(_) => emits.push((Phase::Answer, weights.answer)),
            Kind::Remote(_) => emits.extend([
                (Phase::Connect, weights.connect),
                (Phase::Send, weights.send),
                (Phase::Read, weights.read),
                (Phase::Answer, weights.answer),
            ]),
            // Rows of errors, and the second time-out, can make a complete failure besides.
            Kind::Database(_) => emits.extend([
                (Phase::Connect, weights.connect),
                (Phase::Read, weights.read),
                (Phase::Answer, weights.answer),
            ]),
            Kind::Xfnts { .. } => emits.extend([
                (Phase::Connect, weights.connect),
                (Phase::Close, weights.close),
                (Phase::Read, weights.read),
                (Phase::Exit, weights.exit),
            ]),
        }
        emits
    }

    /// Whether it can find what skips the restart.
    #[must_use]
    pub fn can_be_immediate(&self) -> bool {
        let command = match &self.kind {
            Kind::Command(command) => command,
            Kind::Database(plan) => {
                return plan.rows.iter().any(|row| row.action == Action::Switch);
            }
            _ => return false,
        };
        match &command.exit {
            ExitTable::Weight => true,
            ExitTable::Plain | ExitTable::Plugin => false,
            ExitTable::Listed(listed) => {
                listed.iter().any(|(_, meaning)| *meaning == ExitMeaning::Immediate)
            }
        }
    }

    /// The least a failure of this check weighs.
    #[must_use]
    pub fn smallest(&self) -> Weight {
        self.emits().into_iter().map(|(_, weight)| weight).min().unwrap_or(Weight::COMPLETE)
    }

    /// The most one probe of it weighs.
    #[must_use]
    pub fn heaviest(&self) -> Weight {
        self.emits().into_iter().map(|(_, weight)| weight).max().unwrap_or(Weight::COMPLETE)
    }
}

/// The weights a command's exit can have; where none is listed, what `otherwise` weighs.
fn exits(table: &ExitTable, otherwise: Weight) -> Vec<Weight> {
    match table {
        ExitTable::Plain => vec![otherwise],
        ExitTable::Weight => vec![Weight::LEAST, Weight::COMPLETE],
        ExitTable::Plugin => vec![Weight::HALF, Weight::COMPLETE],
        ExitTable::Listed(listed) => listed
            .iter()
            .filter_map(|(_, meaning)| match meaning {
                ExitMeaning::Weighs(weight) => Some(*weight),
                // Without a destination it is a complete failure (R6).
                ExitMeaning::Immediate => Some(Weight::COMPLETE),
                ExitMeaning::Healthy | ExitMeaning::Unmeasured => None,
            })
            .chain([otherwise])
            .collect(),
    }
}

/// The scope of a service that is all there but for its policy.
pub(super) fn of(
    run: &Run,
    checks: &[CheckPlan],
    ladder: &[u8],
    combine: Combine,
    goes_to: GoesTo,
) -> Scope {
    let counted = || checks.iter().filter(|check| !check.observe);
    Scope {
        smallest: counted().map(CheckPlan::smallest).min().unwrap_or(Weight::COMPLETE),
        heaviest: heaviest(checks, ladder, combine),
        deaths: !matches!(run, Run::Watched),
        destination: match goes_to {
            GoesTo::Command | GoesTo::Node => Destination::Elsewhere,
            GoesTo::Board => Destination::Board,
            GoesTo::Nobody => Destination::Nobody,
        },
    }
}

/// The heaviest verdict one cycle can have; `None` without a check that counts.
fn heaviest(checks: &[CheckPlan], ladder: &[u8], combine: Combine) -> Option<Weight> {
    let on_ladder = |at: usize| ladder.iter().any(|rung| usize::from(*rung) == at);
    let weight = |check: &CheckPlan| u16::from(check.heaviest().value());
    let counted = || checks.iter().enumerate().filter(|(_, check)| !check.observe);
    let most = match combine {
        Combine::Heaviest => counted().map(|(_, check)| weight(check)).max()?,
        Combine::Sum => {
            // A rung is tried only while the one below is healthy: one of them fails at a time.
            let rungs = counted().filter(|(at, _)| on_ladder(*at)).map(|(_, check)| weight(check));
            let beside = counted().filter(|(at, _)| !on_ladder(*at));
            let beside: Vec<u16> = beside.map(|(_, check)| weight(check)).collect();
            let rung = rungs.max();
            if rung.is_none() && beside.is_empty() {
                return None;
            }
            beside.iter().fold(rung.unwrap_or(0), |sum, weight| sum.saturating_add(*weight))
        }
    };
    Some(Weight::clamped(most))
}

impl ServicePlan {
    /// The checks that count.
    pub fn counted(&self) -> impl Iterator<Item = &CheckPlan> {
        self.checks.iter().filter(|check| !check.observe)
    }
}

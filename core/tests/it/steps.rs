//! Random events for a monitor: mostly what a driver does, some of what it must never do.
//!
//! A step names what happens in words that fit any state ("the probe under way finds this"), so
//! that a walk still makes sense when steps are left out of it.

use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{
    Action, Actions, Event, GiveoverOutcome, Holder, RestartOutcome, Status, Ticket, Waiting,
};
use giveover_core::policy::{Delays, Destination, FailoverMode, Limits, Policy, Scope};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

use crate::random::Random;
use crate::script::{CAUSE, PLAIN, Roomy};

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The driver's clock moves on, and nothing is told.
    Wait(u64),
    /// It moves back.
    Back(u64),
    /// It moves on to what is due, and the timer goes off.
    Due,
    /// What is under way is answered; where nothing is, this answers what was asked long ago.
    Probed(ProbeResult),
    Restarted(RestartOutcome),
    Answered(GiveoverOutcome),
    /// An answer to a ticket this far from the last one.
    Wrong(WrongAnswer, u32),
    /// Anything that needs no ticket.
    Event(Event),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum WrongAnswer {
    Probed(ProbeResult),
    Restarted(RestartOutcome),
    Answered(GiveoverOutcome),
}

/// The driver's clock, the last ticket it saw, and the process that it alone can see.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    pub(crate) now_ms: u64,
    pub(crate) alive: bool,
    last_ticket: u32,
}

impl Driver {
    /// Its clock says `now_ms`, and nothing runs.
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { now_ms, alive: false, last_ticket: 0 }
    }

    /// Notes what `event` means for the process, and the tickets it led to.
    pub(crate) fn saw(&mut self, event: Event, before: &Roomy, actions: &Actions) {
        self.alive = lives(self.alive, event, before);
        for action in actions {
            if let Action::Probe { ticket }
            | Action::Restart { ticket, .. }
            | Action::Giveover { ticket, .. } = action
            {
                self.last_ticket = ticket.0;
            }
        }
    }

    /// What `step` tells `monitor`; `None` where only time moved.
    pub(crate) fn event(&mut self, step: Step, monitor: &Roomy) -> Option<Event> {
        let ticket = |under_way: Option<Ticket>| under_way.unwrap_or(Ticket(0));
        Some(match step {
            Step::Wait(ms) => {
                self.now_ms += ms;
                return None;
            }
            Step::Back(ms) => {
                self.now_ms = self.now_ms.saturating_sub(ms);
                return None;
            }
            Step::Due => {
                let due = monitor.poll_timeout().map_or(0, Instant::as_millis);
                self.now_ms = self.now_ms.max(due);
                Event::Timeout
            }
            Step::Probed(result) => {
                Event::Probed { ticket: ticket(monitor.probe_under_way()), result }
            }
            Step::Restarted(outcome) => {
                let under_way = monitor.restart_under_way().map(|(ticket, _)| ticket);
                Event::RestartDone { ticket: ticket(under_way), outcome }
            }
            Step::Answered(outcome) => {
                Event::GiveoverDone { ticket: ticket(monitor.giveover_under_way()), outcome }
            }
            Step::Wrong(answer, back) => {
                let ticket = Ticket(self.last_ticket.wrapping_sub(back));
                match answer {
                    WrongAnswer::Probed(result) => Event::Probed { ticket, result },
                    WrongAnswer::Restarted(outcome) => Event::RestartDone { ticket, outcome },
                    WrongAnswer::Answered(outcome) => Event::GiveoverDone { ticket, outcome },
                }
            }
            Step::Event(event) => event,
        })
    }
}

/// Whether the process lives after `event`, if it did or did not before.
pub(crate) fn lives(alive: bool, event: Event, before: &Roomy) -> bool {
    let restart = before.restart_under_way().map(|(ticket, _)| ticket);
    match event {
        Event::Begin { .. } | Event::Healed => true,
        Event::Died { .. } | Event::Stopped => false,
        Event::RestartDone { ticket, outcome } if restart == Some(ticket) => match outcome {
            RestartOutcome::Started => true,
            RestartOutcome::StartFailed(_) => false,
            RestartOutcome::StopFailed(_) | RestartOutcome::Invalid(_) => alive,
        },
        Event::GiveoverDone { ticket, outcome } if before.giveover_under_way() == Some(ticket) => {
            let stopped = matches!(
                outcome,
                GiveoverOutcome::Aborted { stopped: true, .. } | GiveoverOutcome::Unproven
            );
            alive && !stopped
        }
        _ => alive,
    }
}

/// What a driver does, with an operator who does whatever comes to mind.
pub(crate) fn plausible(random: &mut Random, monitor: &Roomy, driver: &Driver) -> Step {
    let ended = matches!(monitor.waiting_for(), Waiting::Ended(_) | Waiting::GivenOver);
    match random.below(100) {
        0..=54 => answer(random, monitor),
        55..=69 => Step::Due,
        70..=74 => Step::Wait(wait(random)),
        75..=80 if driver.alive => Step::Event(Event::Died { cause: Cause::new(Phase::Died, 1) }),
        81..=84 => Step::Event(Event::Hold(random.pick(&Holder::ALL))),
        85..=93 => Step::Event(Event::Release(random.pick(&Holder::ALL))),
        94 => Step::Event(Event::SetPolicy(policy(random))),
        95 => Step::Event(random.pick(&[Event::Restart, Event::Giveover, Event::Clear])),
        96 => Step::Event(random.pick(&[Event::Stopped, Event::End])),
        97 if !ended => Step::Event(Event::Healed),
        _ if ended => Step::Event(Event::Begin {
            first: Span::from_millis(random.pick(&[0, 1, 500, 30_000])),
            started: random.percent(50),
        }),
        _ => Step::Due,
    }
}

/// What a driver does, and what it must never do.
pub(crate) fn draw(random: &mut Random, monitor: &Roomy, _: &Driver) -> Step {
    match random.below(100) {
        0..=39 => answer(random, monitor),
        40..=59 => Step::Due,
        60..=68 => Step::Wait(wait(random)),
        69..=74 => Step::Event(Event::Died { cause: Cause::new(Phase::Died, 1) }),
        75..=78 => Step::Wrong(wrong(random), random.pick(&[0, 1, 2, 7, u32::MAX])),
        79..=83 => Step::Event(Event::Hold(random.pick(&Holder::ALL))),
        84..=90 => Step::Event(Event::Release(random.pick(&Holder::ALL))),
        91 => Step::Event(Event::Timeout),
        92 => Step::Event(Event::ProbeNow),
        93 => Step::Back(wait(random)),
        94 => Step::Event(Event::SetPolicy(policy(random))),
        95 => Step::Event(random.pick(&[Event::Restart, Event::Giveover, Event::Clear])),
        96 => Step::Event(random.pick(&[Event::Stopped, Event::End, Event::Healed])),
        _ => Step::Event(Event::Begin {
            first: Span::from_millis(random.pick(&[0, 1, 500, 30_000])),
            started: random.percent(50),
        }),
    }
}

/// What is under way is answered, or else what is due comes.
fn answer(random: &mut Random, monitor: &Roomy) -> Step {
    if monitor.restart_under_way().is_some() {
        Step::Restarted(restarted(random))
    } else if monitor.giveover_under_way().is_some() && random.percent(70) {
        // What has been stopped for a giveover is stopped.
        match (answered(random), monitor.status()) {
            (GiveoverOutcome::Aborted { cause, .. }, Status::Offline) => {
                Step::Answered(GiveoverOutcome::Aborted { stopped: true, cause })
            }
            (outcome, _) => Step::Answered(outcome),
        }
    } else if monitor.probe_under_way().is_some() {
        Step::Probed(probed(random))
    } else {
        Step::Due
    }
}

fn wrong(random: &mut Random) -> WrongAnswer {
    match random.below(3) {
        0 => WrongAnswer::Probed(probed(random)),
        1 => WrongAnswer::Restarted(restarted(random)),
        _ => WrongAnswer::Answered(answered(random)),
    }
}

/// Times that matter to limits like these, and any others.
fn wait(random: &mut Random) -> u64 {
    let near = random.pick(&[0, 1, 2, 500, 999, 1_000, 5_000, 9_999, 10_000, 30_000, 60_000]);
    match random.below(4) {
        0 => random.below(1_000),
        1 => random.below(400_000),
        _ => near,
    }
}

pub(crate) fn probed(random: &mut Random) -> ProbeResult {
    match random.below(10) {
        0..=2 => ProbeResult::Healthy,
        3..=4 => ProbeResult::Failed(Weight::COMPLETE, CAUSE),
        5..=7 => ProbeResult::Failed(weight(random), CAUSE),
        8 => random.pick(&[ProbeResult::Immediate(CAUSE), ProbeResult::CannotMeasure(CAUSE)]),
        _ => random.pick(&[ProbeResult::Void, ProbeResult::CannotMeasure(CAUSE)]),
    }
}

pub(crate) fn weight(random: &mut Random) -> Weight {
    Weight::new(random.pick(&[1, 10, 33, 34, 50, 50, 66, 99])).expect("a weight")
}

pub(crate) fn restarted(random: &mut Random) -> RestartOutcome {
    let cause = Cause::new(Phase::Start, 1);
    match random.below(10) {
        0..=5 => RestartOutcome::Started,
        6..=7 => RestartOutcome::StartFailed(cause),
        8 => RestartOutcome::StopFailed(cause),
        _ => RestartOutcome::Invalid(cause),
    }
}

pub(crate) fn answered(random: &mut Random) -> GiveoverOutcome {
    let cause = Cause::new(Phase::Stop, 1);
    match random.below(10) {
        0..=2 => GiveoverOutcome::Granted,
        3..=5 => GiveoverOutcome::Denied,
        6..=7 => GiveoverOutcome::NotNow,
        8 => GiveoverOutcome::Aborted { stopped: random.percent(50), cause },
        _ => GiveoverOutcome::Unproven,
    }
}

/// Limits from small menus, so that their edges meet.
pub(crate) fn policy(random: &mut Random) -> Policy {
    let waits: [&[u32]; 5] = [&[0], &[0, 5_000], &[20_000], &[0, 300, 2_000, 60_000], &[7_000, 0]];
    let waits: Vec<Span> = random.pick(&waits).iter().map(|ms| Span::from_millis(*ms)).collect();
    let limits = Limits {
        thorough_probe_interval: Span::from_millis(random.pick(&[200, 1_000, 5_000, 30_000])),
        retry_count: random.pick(&[None, Some(0), Some(1), Some(2), Some(3), Some(7)]),
        retry_interval: Span::from_millis(random.pick(&[1, 12_000, 60_000, 300_000, 3_600_000])),
        start_grace: Span::from_millis(random.pick(&[0, 0, 700, 20_000])),
        restart_delay: Delays::new(&waits).expect("few"),
        failover_mode: random.pick(&FailoverMode::ALL),
        ..PLAIN
    };
    let scope = Scope {
        smallest: Weight::LEAST,
        heaviest: Some(Weight::COMPLETE),
        deaths: true,
        destination: random.pick(&[
            Destination::Elsewhere,
            Destination::Elsewhere,
            Destination::Board,
            Destination::Nobody,
        ]),
    };
    Policy::new(limits, scope).expect("deaths reach everything").0
}

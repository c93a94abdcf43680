//! Looks (P2, P3): trusted servers, and the group's own checks, asked of this node and, with
//! `run = "all"`, of every other one that may be active.

use giveover_core::arbiter::Answer as Arbitrated;
use giveover_core::failure::ProbeResult;
use giveover_core::ladder::{Checks, Combine, Ladder, Round, Step};
use giveover_core::monitor::Status;
use giveover_core::node::{Node, Nodes};
use giveover_core::peer::{Event, Look, Ticket};
use giveover_core::time::Instant;

use crate::check::{Answer, Checks as _, ProbeId};
use crate::config::plan::{CheckPlan, GroupPlan};
use crate::daemon::Daemon;
use crate::daemon::ask::answers_of;
use crate::daemon::once::ONCE;
use crate::daemon::watch::CheckState;
use crate::daemon::work::Work;
use crate::message;
use crate::report::found;
use crate::report::model::CheckDoc;

/// A group's checks: what they found last, and what is under way.
pub(super) struct Looking {
    /// The look that waits for them.
    ticket: Option<Ticket>,
    /// Counts looks; answers to an earlier one are late.
    cycle: u32,
    /// By the node's number.
    nodes: Vec<Asked>,
    /// Where services run on the active only: how many looks in a row found that they are not well.
    pub(super) failed: u8,
}

/// One node, as it is asked.
struct Asked {
    checks: Vec<CheckState>,
    round: Option<Round>,
    /// What this look comes to; `None` where it was not asked, or has yet to answer.
    verdict: Option<ProbeResult>,
    /// People were told that its checks fail.
    told: bool,
}

impl Looking {
    pub(super) fn new(plan: &GroupPlan, now: Instant) -> Self {
        let asked = |checks: &[CheckPlan]| Asked {
            checks: checks.iter().map(|_| CheckState::new(now)).collect(),
            round: None,
            verdict: None,
            told: false,
        };
        let nodes = plan.checks.iter().map(|checks| asked(checks)).collect();
        Self { ticket: None, cycle: 0, nodes, failed: 0 }
    }

    fn is_over(&self) -> bool {
        self.nodes.iter().all(|asked| asked.round.is_none())
    }
}

/// Side by side: they are few, and each says something else.
fn ladder(checks: &[CheckPlan]) -> Ladder<'static> {
    let count = checks.len().min(usize::from(Checks::MOST)) as u8;
    let mut observed = Checks::NONE;
    for (place, check) in (0..Checks::MOST).zip(checks) {
        if check.observe {
            observed = observed.with(place);
        }
    }
    Ladder { rungs: &[], beside: Checks::first(count), observed, combine: Combine::Heaviest }
}

/// A look passes or fails, whatever a failure weighs: an answer that never comes is half of one
/// to a monitor, and a node that gives none is not well.
const fn passed(verdict: ProbeResult) -> Option<bool> {
    match verdict {
        ProbeResult::Healthy => Some(true),
        ProbeResult::Failed(..) | ProbeResult::Immediate(_) => Some(false),
        ProbeResult::CannotMeasure(_) | ProbeResult::Void => None,
    }
}

impl Daemon {
    /// `Action::Look`: answered once, when every check has been.
    pub(super) fn begin_group_look(&mut self, group: usize, ticket: Ticket) {
        let now = self.now;
        let own = self.asks_itself(group);
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let me = usize::from(cluster.me.0);
        let Some(plan) = cluster.plan.groups.get(group) else { return };
        let Some(state) = cluster.groups.get_mut(group) else { return };
        let look = &mut state.look;
        look.ticket = Some(ticket);
        look.cycle = look.cycle.wrapping_add(1) & !ONCE;
        if !own {
            look.failed = 0;
        }
        let mut begun = Vec::new();
        for (place, (asked, checks)) in look.nodes.iter_mut().zip(&plan.checks).enumerate() {
            let wanted = if place == me { own } else { plan.everywhere };
            (asked.round, asked.verdict) = (None, None);
            if !wanted || checks.is_empty() {
                continue;
            }
            let (round, step) = Round::begin(&ladder(checks), due(checks, &asked.checks, now));
            asked.round = Some(round);
            begun.push((Node(place as u8), step));
        }
        for (node, step) in begun {
            self.follow_look(group, node, step);
        }
        self.end_group_look(group);
    }

    /// Services that run on the active only can be asked where they are up, and by nobody else.
    fn asks_itself(&self, group: usize) -> bool {
        let Some(cluster) = self.cluster.as_deref() else { return false };
        let everywhere = cluster.plan.groups.get(group).is_some_and(|plan| plan.everywhere);
        let Some(state) = cluster.groups.get(group) else { return false };
        let is_up = |service: &usize| {
            let status = self.watches.get(*service).map(|watch| watch.monitor.status());
            self.work(*service) == Work::Idle && status.is_some_and(|it| it != Status::Offline)
        };
        let moving = state.stopping.is_some() || state.giving.is_some();
        everywhere || state.carrier.is_up() && !moving && state.services.iter().all(is_up)
    }

    fn follow_look(&mut self, group: usize, node: Node, step: Step) {
        for place in step.begin.iter() {
            self.begin_group_check(group, node, place);
        }
        if let Some(asked) = self.asked_mut(group, node).filter(|_| step.verdict.is_some()) {
            (asked.round, asked.verdict) = (None, step.verdict);
        }
    }

    fn asked_mut(&mut self, group: usize, node: Node) -> Option<&mut Asked> {
        let state = self.cluster.as_deref_mut()?.groups.get_mut(group)?;
        state.look.nodes.get_mut(usize::from(node.0))
    }

    fn begin_group_check(&mut self, group: usize, node: Node, place: u8) {
        let service = ProbeId::of_group(group, node);
        let cycle = self.cluster.as_deref().and_then(|it| it.groups.get(group));
        let Some(cycle) = cycle.map(|state| state.look.cycle) else { return };
        let id = ProbeId { service, check: place, target: 0, cycle };
        let Some(check) = self.plan.check(id) else { return };
        let answers = answers_of(check);
        if let Some(known) =
            self.asked_mut(group, node).and_then(|it| it.checks.get_mut(usize::from(place)))
        {
            known.begin(answers);
        }
        self.ask(id);
    }

    /// Takes the answer of one of these checks. One to an earlier look is late, and nothing.
    pub(in crate::daemon) fn take_of_group(&mut self, answer: &Answer) {
        let now = self.now;
        let Some((group, node)) = ProbeId::group(answer.id.service) else { return };
        if answer.id.cycle & ONCE != 0 {
            return self.take_once(answer.clone());
        }
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let plan = cluster.plan.groups.get(group);
        let Some(checks) = plan.and_then(|plan| plan.checks.get(usize::from(node.0))) else {
            return;
        };
        let Some(look) = cluster.groups.get_mut(group).map(|state| &mut state.look) else { return };
        let current = look.cycle == answer.id.cycle;
        let asked = look.nodes.get_mut(usize::from(node.0)).filter(|_| current);
        let Some(Asked { checks: known, round: Some(round), .. }) = asked else { return };
        let place = answer.id.check;
        let Some(known) = known.get_mut(usize::from(place)) else { return };
        let Some(result) = known.hear(answer, now) else { return };
        let step = round.answer(&ladder(checks), place, result);
        self.follow_look(group, node, step);
        self.end_group_look(group);
    }

    /// We did not run, or there is another plan: what is under way proves nothing either way.
    pub(in crate::daemon) fn void_group_looks(&mut self) {
        let count = self.cluster.as_deref().map_or(0, |cluster| cluster.groups.len());
        for group in 0..count {
            let state = self.cluster.as_mut().and_then(|it| it.groups.get_mut(group));
            for asked in state.into_iter().flat_map(|state| &mut state.look.nodes) {
                if asked.round.take().is_some() {
                    asked.verdict = Some(ProbeResult::Void);
                }
            }
            self.end_group_look(group);
        }
    }

    /// Tells the machine what the look found, once all of it is there.
    fn end_group_look(&mut self, group: usize) {
        let (answering, total) = self.trusted();
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let me = cluster.me;
        let everywhere = cluster.plan.groups.get(group).is_some_and(|plan| plan.everywhere);
        let Some(state) = cluster.groups.get_mut(group) else { return };
        if !state.look.is_over() {
            return;
        }
        let Some(ticket) = state.look.ticket.take() else { return };
        let found = |asked: &Asked| asked.verdict.and_then(passed);
        let of = |wanted: bool| -> Nodes {
            let nodes = state.look.nodes.iter().zip(0..).map(|(asked, node)| (Node(node), asked));
            let found = nodes.filter(|(node, asked)| *node != me && found(asked) == Some(wanted));
            found.map(|(node, _)| node).collect()
        };
        let own = state.look.nodes.get(usize::from(me.0)).and_then(found);
        let look = Look {
            own: own.filter(|_| everywhere),
            trusted: (total > 0).then_some(answering > 0),
            passed: of(true),
            failed: of(false),
        };
        self.tell_checks(group);
        self.tell_group(group, Event::Looked { ticket, look });
        if !everywhere {
            self.judge_own_checks(group, own);
        }
    }

    /// People are told when a node's checks begin to fail, and when they pass again.
    fn tell_checks(&mut self, group: usize) {
        let name = self.group_name(group);
        let count = self.cluster.as_deref().map_or(0, |cluster| cluster.plan.nodes.len());
        for node in (0..count).map(|node| Node(node as u8)) {
            let of = self.cluster.as_deref().map_or(String::new(), |it| it.name(node));
            let why = self.failing_checks(group, node);
            let Some(asked) = self.asked_mut(group, node) else { continue };
            let Some(passed) = asked.verdict.and_then(passed) else { continue };
            let fails = !passed;
            if std::mem::replace(&mut asked.told, fails) == fails {
                continue;
            }
            let (event, text) = match passed {
                true => (message::Event::Peer, format!("{name}: its checks of {of} pass again")),
                false => (message::Event::Nodes, format!("{name}: its checks of {of} fail: {why}")),
            };
            self.say_host(event, text);
        }
    }

    /// What failed of a node, in words; empty where nothing did.
    pub(super) fn failing_checks(&self, group: usize, node: Node) -> String {
        let docs = self.group_check_docs(group, node);
        let words = docs.iter().filter(|doc| doc.fails());
        words.map(|doc| format!("{} {}", doc.name, doc.cause)).collect::<Vec<_>>().join(", ")
    }

    /// What the checks of a node found last.
    pub(super) fn group_check_docs(&self, group: usize, node: Node) -> Vec<CheckDoc> {
        let Some(cluster) = self.cluster.as_deref() else { return Vec::new() };
        let plan = cluster.plan.groups.get(group).and_then(|it| it.checks.get(usize::from(node.0)));
        let state = cluster.groups.get(group);
        let asked = state.and_then(|state| state.look.nodes.get(usize::from(node.0)));
        let (Some(checks), Some(asked)) = (plan, asked) else { return Vec::new() };
        let doc = |(check, known): (&CheckPlan, &CheckState)| self.group_check_doc(check, known);
        checks.iter().zip(&asked.checks).map(doc).collect()
    }

    /// One of these checks, as it was found.
    pub(in crate::daemon) fn group_check_doc(
        &self,
        check: &CheckPlan,
        known: &CheckState,
    ) -> CheckDoc {
        let at = known.result.map(|_| self.clock.wall(known.at)).unwrap_or_default();
        found::check_doc(check, known.result, known.shown, known.ms, at)
    }

    /// Where services run on the active only, `life` looks in a row that fail give the group over, if
    /// anybody can take it; nothing here would be better by being down.
    fn judge_own_checks(&mut self, group: usize, own: Option<bool>) {
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        let life = cluster.plan.limits.life;
        let Some(state) = cluster.groups.get_mut(group) else { return };
        state.look.failed = match own {
            Some(true) => 0,
            Some(false) => state.look.failed.saturating_add(1),
            None => state.look.failed,
        };
        if state.look.failed < life {
            return;
        }
        state.look.failed = 0;
        match self.ask_arbiter(group, None, false, None) {
            Arbitrated::Granted(to) => {
                self.give_group(group, to, "its own checks fail here");
            }
            answer @ (Arbitrated::Denied(_) | Arbitrated::NotNow) => {
                let why = self.denied_words(&answer);
                let text =
                    format!("{}: its checks fail, and it stays: {why}", self.group_name(group));
                self.say_host(message::Event::Nodes, text);
            }
        }
    }
}

/// The checks to be asked.
fn due(plans: &[CheckPlan], known: &[CheckState], now: Instant) -> Checks {
    let mut due = Checks::NONE;
    for (place, (check, state)) in (0..Checks::MOST).zip(plans.iter().zip(known)) {
        if state.is_due(check, now) {
            due = due.with(place);
        }
    }
    due
}

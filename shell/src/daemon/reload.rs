//! Another configuration while running: what keeps its name keeps its histories.

use std::sync::Arc;

use giveover_core::monitor::{Event, Holder};
use giveover_core::policy::Policy;

use super::start::{add_trusted, observe, shared};
use super::work::Work;
use super::{Daemon, watch::Watch};
use crate::check::files::Files;
use crate::check::instance;
use crate::config::dollar::{Values, expand_all};
use crate::config::plan::{Plan, Run, ServicePlan};
use crate::config::{self, Loaded};
use crate::machine;
use crate::message::{self, host};
use crate::report::model::Reply;

impl Daemon {
    /// Reads the configuration again. A bad one changes nothing.
    pub(super) fn reload(&mut self, dry_run: bool, who: &str) -> Reply {
        let mut plan = match config::load(&self.plan.file) {
            Ok(Loaded { plan, .. }) => self.with_time_outs(plan),
            Err(report) => return self.refuse_reload(&report, dry_run),
        };
        if self.observe_asked || plan.host.observe {
            observe(&mut plan); // what is compared is what will be in force
        }
        let changes = config::diff::diff(&self.shown_plan(), &plan);
        let mut lines: Vec<String> = changes.sentences();
        lines.extend(self.renamed(&plan).into_iter().filter_map(|(old, new)| {
            let (pid, name) = (self.pid(old)?, &self.plan.services[old].name);
            Some(format!("{}: goes on with pid {pid} of {name}", plan.services[new].name))
        }));
        lines.extend(self.left_running(&plan));
        lines.extend(self.left_as_told(&plan));
        if dry_run {
            let exit = u8::from(!lines.is_empty());
            let lines = if lines.is_empty() { vec!["nothing would change".into()] } else { lines };
            return Reply { exit, lines };
        }
        if plan.cluster != self.plan.cluster {
            let text = "[cluster], [node.NAME] and [group.NAME] are read at a start only: restart, \
                        one node after the other";
            return Reply { exit: 1, lines: vec![text.into()] };
        }
        if self.pending_work() {
            let text = "a start, stop or giveover is under way; ask again when it is done";
            return Reply { exit: 1, lines: vec![text.into()] };
        }
        self.supervisor.reloading(crate::clock::Reading::take().monotonic_ms * 1000);
        self.exchange(plan);
        self.supervisor.ready(&self.one_line());
        let text = host::reloaded(&lines);
        self.say_host(message::Event::Reloaded, format!("{text} (by {who})"));
        let lines = if lines.is_empty() { vec!["nothing has changed".into()] } else { lines };
        Reply { exit: 0, lines }
    }

    /// `plan`, with the time-outs of units that are known already.
    fn with_time_outs(&self, mut plan: Plan) -> Plan {
        for service in &mut plan.services {
            if !matches!(service.run, Run::Unit(_)) {
                continue;
            }
            let Some(known) = self.find(&service.name) else { continue };
            if self.plan.services[known].run == service.run {
                let (start, stop) = self.services.time_outs(known as u32);
                let _ = service.take_time_outs(start, stop); // as at the start
            }
        }
        plan
    }

    fn refuse_reload(&mut self, report: &config::Report, dry_run: bool) -> Reply {
        let first = report.first().unwrap_or_default();
        if !dry_run {
            let text = host::refused(report.findings().len() as u32, &first);
            self.say_host(message::Event::Refused, text);
        }
        Reply { exit: 3, lines: report.to_string().lines().map(str::to_owned).collect() }
    }

    /// Processes of ours, by place, that `plan` does not have any more.
    fn taken_out(&self, plan: &Plan) -> Vec<usize> {
        let is_gone = |service: &usize| {
            let old = &self.plan.services[*service];
            matches!(old.run, Run::Process(_))
                && !plan.services.iter().any(|kept| kept.name == old.name)
        };
        (0..self.shown()).filter(is_gone).collect()
    }

    /// Services that go on under another name, old place and new: the same is started in the same
    /// way. A second one beside it would find its port in use.
    fn renamed(&self, plan: &Plan) -> Vec<(usize, usize)> {
        let gone = self.taken_out(plan);
        let is_fresh = |new: &usize| {
            let name = &plan.services[*new].name;
            !self.plan.services.iter().any(|old| old.name == *name)
        };
        let fresh: Vec<usize> = (0..plan.services.len()).filter(is_fresh).collect();
        let alike = |old: usize, new: usize| alike(&self.plan.services[old], &plan.services[new]);
        let only = |places: &[usize], fits: &dyn Fn(usize) -> bool| {
            let mut fitting = places.iter().copied().filter(|place| fits(*place));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let pair = |old: &usize| {
            let new = only(&fresh, &|new| alike(*old, new))?;
            only(&gone, &|other| alike(other, new)).map(|old| (old, new))
        };
        gone.iter().filter_map(pair).collect()
    }

    /// What `plan` no longer has and that runs: it is not ours to stop any more, and who takes a
    /// service out of the file must know.
    fn left_running(&self, plan: &Plan) -> Vec<String> {
        let renamed = self.renamed(plan);
        let left = |service: &usize| !renamed.iter().any(|(old, _)| old == service);
        self.taken_out(plan)
            .into_iter()
            .filter(left)
            .filter_map(|service| {
                let pid = self.pid(service)?;
                let name = &self.plan.services[service].name;
                Some(format!("{name}: pid {pid} is left running and nobody watches it"))
            })
            .collect()
    }

    fn shown_plan(&self) -> Plan {
        let mut plan = self.plan.clone();
        for service in &mut plan.services {
            service.checks_mut().iter_mut().for_each(instance::restore);
        }
        if plan.services.len() > self.shown() {
            if let Some(trusted) = plan.services.pop() {
                plan.host.trusted = trusted.checks.into_vec();
            }
        }
        plan
    }

    /// SIGHUP: nobody hears a refusal, so what cannot be done yet is done as soon as it can be.
    pub(super) fn reload_by_signal(&mut self) {
        self.reload_waits = self.pending_work();
        if self.reload_waits {
            self.say_host(message::Event::ReloadWaits, host::RELOAD_WAITS.to_owned());
        } else {
            let _ = self.reload(false, "SIGHUP"); // the log has it
        }
    }

    /// The reload that waited, once nothing is under way.
    pub(super) fn reload_that_waited(&mut self) {
        if self.reload_waits && !self.ending && !self.pending_work() {
            self.reload_waits = false;
            let _ = self.reload(false, "SIGHUP"); // the log has it
        }
    }

    /// Whether something counts on the services' places: what is done to them, who waits for it,
    /// and commands that hand them over.
    fn pending_work(&self) -> bool {
        let under_way =
            |service| self.work(service) != Work::Idle || self.handover(service).is_some();
        self.is_board_asked()
            || self.is_group_moving()
            || !self.pending.is_empty()
            || (0..self.shown()).any(under_way)
    }

    /// Puts `plan` in the place of the old one. Monitors go along by name.
    fn exchange(&mut self, plan: Plan) {
        let now = self.now;
        let renamed = self.renamed(&plan);
        let mut plan = shared(plan);
        self.files = Files::of(&plan);
        self.prober.void_all(&mut self.reactor, now);
        self.prober.need(&self.reactor, self.files.again());
        self.commands.void(&mut self.reactor, now);
        self.void_looks();
        self.void_instances();
        self.programs.clear();
        if let Some(databases) = &mut self.databases {
            databases.void_all(&mut self.reactor, now);
            databases.need(&self.reactor, self.files.again());
            databases.keep(&mut self.reactor, &plan);
        }
        self.seen.clear();
        self.void_group_looks();
        self.take_answers();
        self.restore_instances();
        self.rounds.clear(); // by places that are not theirs any more
        let old = std::mem::take(&mut self.plan.services);
        let mut old: Vec<Option<(ServicePlan, Watch)>> =
            old.into_iter().zip(std::mem::take(&mut self.watches)).map(Some).collect();
        let places: Vec<Option<usize>> = plan
            .services
            .iter()
            .map(|service| {
                old.iter()
                    .position(|kept| kept.as_ref().is_some_and(|(p, _)| p.name == service.name))
            })
            .collect();
        self.shown = plan.services.len();
        self.has_needs = plan.services.iter().any(|service| !service.needs.is_empty());
        add_trusted(&mut plan);
        let mut processes = places.clone();
        renamed.into_iter().for_each(|(old, new)| processes[new] = Some(old));
        self.rearrange_processes(&processes);
        let moved = |old| places.iter().position(|place| *place == Some(old));
        let arbiters = std::mem::take(&mut self.arbiters).into_iter();
        self.arbiters = arbiters.filter_map(|(old, it)| Some((moved(old)?, it))).collect();
        self.end_pool_errands();
        let before = std::mem::replace(&mut self.plan, plan);
        self.reload_hooks(&before.notify);
        self.begin_web();
        let mut fresh = Vec::new();
        for service in 0..self.plan.services.len() {
            let kept = places.get(service).copied().flatten().and_then(|place| old[place].take());
            match kept {
                Some((before, watch)) => self.keep_watch(service, &before, watch),
                None => {
                    self.add_watch(service, None);
                    fresh.push(service);
                }
            }
        }
        for (_, gone) in old.into_iter().flatten() {
            self.journal.forget(now, gone.machine);
        }
        self.add_services();
        self.place_groups();
        self.begin_agents();
        for service in fresh {
            if service < self.shown() {
                self.bring_up(service);
            } else {
                self.begin_trusted();
            }
        }
        self.exchange_pools(&before);
        self.reload_board();
        self.rights = super::rights::Rights::new(&self.plan.control).0;
        for service in 0..self.shown() {
            self.settle_need(service);
            self.arm(service);
        }
        self.journal.flush(now);
    }

    fn keep_watch(&mut self, service: usize, before: &ServicePlan, old: Watch) {
        let plan = &self.plan.services[service];
        let policy = plan.policy.clone();
        let changed = *old.monitor.policy() != *policy;
        let mut watch = old.carried_over(before, plan, self.now);
        watch.armed = None;
        self.watches.push(watch);
        if changed {
            self.set_policy(service, policy);
        } else {
            self.watches[service].monitor.hold_policy(policy);
        }
        if self.watches[service].monitor.held_by(Holder::LocalFault) && !self.host.local_fault {
            self.feed(service, Event::Release(Holder::LocalFault));
        }
    }

    /// R19: other limits; the histories stay.
    pub(super) fn set_policy(&mut self, service: usize, policy: Arc<Policy>) {
        let event = Event::SetPolicy(*policy);
        machine::make_room(&mut self.watches[service].monitor, &event);
        self.feed(service, event);
        self.watches[service].monitor.hold_policy(policy);
    }
}

/// Whether two services are the same process but for the name.
fn alike(old: &ServicePlan, new: &ServicePlan) -> bool {
    let argv = |service: &ServicePlan| match &service.run {
        Run::Process(process) => {
            let values = Values { service: Some(&service.name), ..Values::default() };
            expand_all(&process.start, &values).ok()
        }
        Run::Watched | Run::Unit(_) => None,
    };
    old.run == new.run && argv(old).is_some() && argv(old) == argv(new)
}

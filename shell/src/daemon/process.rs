//! The processes and units behind the services: the one place that touches them.

use giveover_core::failure::{Cause, Phase};
use giveover_core::monitor::Event as Fed;

use super::Daemon;
use super::watch::Starter;
use super::work::Work;
use crate::clock::BootId;
use crate::config::plan::Run;
use crate::journal::{self, Note};
use crate::message::{self, words};
use crate::reactor::procfs::{self, Mark};
use crate::reactor::{Instance, Ready, Token};
use crate::service::{Adoption, Event, Identity, death};

/// Where a service got to, or went by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    Started,
    StartFailed(Cause),
    Stopped,
    StopFailed(Cause),
    Died(Cause),
    StoppedByOther,
    StartedByOther,
    Healed,
}

impl Daemon {
    /// Hands the services that something runs over to whoever runs them.
    pub(super) fn add_services(&mut self) {
        let now = self.now;
        for service in 0..self.shown() {
            let plan = &self.plan.services[service];
            let added = self.services.add(&mut self.reactor, service as u32, plan, now);
            if let Err(bad) = added {
                // Its start fails, and says why, as one that cannot be executed would.
                let text = words::start_failed(&bad.to_string(), "it cannot be run");
                self.say(service, message::Event::StartFailed, text);
            }
        }
    }

    pub(super) fn start_process(&mut self, service: usize) {
        let now = self.now;
        self.services.start(&mut self.reactor, service as u32, now);
        self.take_moved();
    }

    pub(super) fn stop_process(&mut self, service: usize) {
        let now = self.now;
        self.services.stop(&mut self.reactor, service as u32, now);
        self.take_moved();
    }

    pub(super) fn service_ready(&mut self, ready: Ready) {
        let now = self.now;
        self.services.ready(&mut self.reactor, ready.token, now);
        self.take_moved();
    }

    pub(super) fn service_due(&mut self, token: Token) {
        let now = self.now;
        self.services.due(&mut self.reactor, token, now);
        self.take_moved();
    }

    /// Takes what the services have to tell. What that leads to may make them tell more.
    fn take_moved(&mut self) {
        while let Some((service, event)) = self.services.event() {
            let service = service as usize;
            match event {
                Event::Started { pid, .. } => {
                    self.remember_pid(service, pid);
                    self.service_moved(service, Moved::Started);
                }
                Event::StartFailed(trouble) => {
                    self.watches[service].more().trouble = Some(trouble.words);
                    self.service_moved(service, Moved::StartFailed(trouble.cause));
                }
                Event::Stopped => self.service_moved(service, Moved::Stopped),
                Event::StopFailed(trouble) => {
                    self.watches[service].more().trouble = Some(trouble.words);
                    self.service_moved(service, Moved::StopFailed(trouble.cause));
                }
                Event::Died { pid, exit } => {
                    self.remember_pid(service, pid);
                    self.service_moved(service, Moved::Died(death(exit)));
                }
                Event::Found { running, enabled, pid } => {
                    self.remember_pid(service, pid);
                    self.take_time_outs(service);
                    self.unit_found(service, running, enabled);
                }
                Event::StoppedByOther => self.service_moved(service, Moved::StoppedByOther),
                Event::StartedByOther { pid } => {
                    self.remember_pid(service, pid);
                    self.service_moved(service, Moved::StartedByOther);
                }
                Event::HealedBySystemd { pid, .. } => {
                    self.remember_pid(service, pid);
                    self.service_moved(service, Moved::Healed);
                }
                Event::CannotAsk(why) => {
                    let text = words::unmeasured("systemd", &why, None);
                    self.say(service, message::Event::Unmeasured, text);
                }
            }
        }
    }

    /// The unit's own time-outs take the place of those that nobody has written. Where they make
    /// the limits impossible those stay; `check --here` says so.
    fn take_time_outs(&mut self, service: usize) {
        let (start, stop) = self.services.time_outs(service as u32);
        let plan = &mut self.plan.services[service];
        let before = plan.policy.clone();
        if plan.take_time_outs(start, stop).is_ok() && plan.policy != before {
            let policy = plan.policy.clone();
            self.set_policy(service, policy);
        }
    }

    fn remember_pid(&mut self, service: usize, pid: Option<u32>) {
        if pid.is_some() {
            self.watches[service].more().last_pid = pid;
        }
    }

    /// At our own start: a unit that runs is taken as it is, one that is enabled is started, any
    /// other is left offline.
    fn unit_found(&mut self, service: usize, running: bool, enabled: bool) {
        if self.work(service) != Work::Idle {
            return;
        }
        if running {
            self.adopted(service);
        } else if enabled && !self.plan.host.observe {
            self.start(service, super::work::Why::First);
        } else {
            self.feed(service, Fed::Stopped);
        }
    }

    /// Asks how a unit is; [`Event::Found`] comes later.
    pub(super) fn find_unit(&mut self, service: usize) {
        let now = self.now;
        self.services.begin(&mut self.reactor, service as u32, now);
        self.take_moved();
    }

    /// Takes up a process that an earlier daemon started. False if it is gone.
    pub(super) fn adopt_process(&mut self, service: usize, process: &journal::Process) -> bool {
        if process.boot != BootId::read() {
            return false;
        }
        let Some(boot) = procfs::boot_id() else { return false };
        let instance = match procfs::mark(process.pid) {
            Mark::Instance(instance) => instance,
            // Its environment was overwritten; the process and what descends from it will do.
            Mark::None | Mark::Bare | Mark::Overwritten => {
                Instance { monitor: 0, since: 0, number: 0 }
            }
        };
        let identity = Identity { boot, pid: process.pid, start: process.start_time, instance };
        let now = self.now;
        match self.services.adopt(&mut self.reactor, service as u32, &identity, now) {
            Adoption::Adopted { pid } => {
                self.remember_pid(service, Some(pid));
                true
            }
            Adoption::Gone | Adoption::Lack | Adoption::NotOurs => false,
        }
    }

    /// Services have other places now: `places[new]` is the old one.
    pub(super) fn rearrange_processes(&mut self, places: &[Option<usize>]) {
        let now = self.now;
        let number = |old: u32| {
            let place = places.iter().position(|place| *place == Some(old as usize))?;
            u32::try_from(place).ok()
        };
        self.services.renumber(&mut self.reactor, now, number);
    }

    pub(super) fn note_started(&mut self, service: usize, by: Starter) {
        let now = self.now;
        self.watches[service].more().started = Some((now, by));
        self.agents_started(service, now);
        if let Some(identity) = self.services.identity(service as u32) {
            let machine = self.watches[service].machine;
            let process = journal::Process {
                pid: identity.pid,
                start_time: identity.start,
                boot: BootId::read(),
            };
            self.journal.note(now, Note::Process { machine, process });
            self.journal.flush(now);
        }
    }

    pub(super) fn note_gone(&mut self, service: usize) {
        self.watches[service].more().started = None;
    }

    pub(super) fn pid(&self, service: usize) -> Option<u32> {
        self.services.pid(service as u32)
    }

    pub(super) fn last_pid(&self, service: usize) -> Option<u32> {
        self.watches[service].more_ref()?.last_pid
    }

    /// That the process of a service went, if it is gone though it should run.
    pub(super) fn gone(&self, service: usize) -> Option<Cause> {
        let idle = self.work(service) == Work::Idle;
        let gone = match self.plan.services[service].run {
            Run::Watched => false,
            Run::Process(_) | Run::Unit(_) => {
                self.services.is_running(service as u32) == Some(false)
            }
        };
        // A monitor that had ended was not told how.
        (idle && gone).then(|| Cause::new(Phase::Died, Cause::UNKNOWN))
    }
}

//! A bench with one service, and what the tests of services start there.

use std::path::Path;

use giveover::config::plan::{
    Combine, GoesTo, LeftToUnit, ProcessPlan, Run, ServicePlan, StopMethod, Terms,
};
use giveover::reactor::{Member, Reactor, Token};
use giveover::service::{Event, Host, Services};
use giveover_core::policy::{Limits, Policy, Scope};
use giveover_core::time::{Instant, Span};
use nix::libc;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::bench::{Bench, Rooms};

impl Rooms for Services {
    fn ready(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        Services::ready(self, reactor, token, now);
    }

    fn due(&mut self, reactor: &mut Reactor, token: Token, now: Instant) {
        Services::due(self, reactor, token, now);
    }
}

/// A bench with one service, number 3.
pub(crate) struct Site {
    pub(crate) bench: Bench,
    pub(crate) services: Services,
    pub(crate) directory: TempDir,
}

pub(crate) const WEB: u32 = 3;

pub(crate) fn host(directory: &Path) -> Host {
    Host {
        helper: env!("CARGO_BIN_EXE_giveover").to_owned(),
        journal: None,
        cgroups: None,
        systemctl: vec!["/nowhere/systemctl".to_owned()],
        poll: Span::from_millis(50),
        node: "here".to_owned(),
        state: directory.display().to_string(),
    }
}

pub(crate) fn plan(run: Run, stop_timeout: u32) -> ServicePlan {
    let limits = Limits {
        start_timeout: Span::from_millis(3000),
        stop_timeout: Span::from_millis(stop_timeout),
        ..Limits::DEFAULT
    };
    let terms = Terms {
        preset: None,
        run,
        validate: None,
        ladder: Vec::new(),
        combine: Combine::Heaviest,
        needs: Vec::new(),
        policy: Policy::new(limits, Scope::USUAL).expect("a policy").0.into(),
        giveover: GoesTo::Nobody,
        network: false,
        stops_when_spent: false,
        left_to_unit: LeftToUnit::default(),
        sources: [].into(),
    };
    ServicePlan { name: "web".into(), checks: [].into_iter().collect(), terms: terms.into() }
}

pub(crate) fn process(start: &[&str]) -> ProcessPlan {
    ProcessPlan {
        start: start.iter().map(|word| (*word).to_owned()).collect(),
        forks: false,
        stop: StopMethod::Signal(libc::SIGTERM),
        user: None,
        group: None,
        dir: None,
        env: Vec::new(),
    }
}

pub(crate) fn script(text: &str) -> ProcessPlan {
    process(&["sh", "-c", text])
}

impl Site {
    pub(crate) fn new(run: Run, stop_timeout: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let host = host(directory.path());
        Self::on(host, directory, run, stop_timeout)
    }

    pub(crate) fn on(host: Host, directory: TempDir, run: Run, stop_timeout: u32) -> Self {
        let mut bench = Bench::new();
        let mut services = Services::new(host);
        let now = bench.now();
        services.add(&mut bench.reactor, WEB, &plan(run, stop_timeout), now).expect("a service");
        Self { bench, services, directory }
    }

    pub(crate) fn of(process: ProcessPlan) -> Self {
        Self::new(Run::Process(Box::new(process)), 5000)
    }

    /// Other services over the same state.
    pub(crate) fn other(site: &Self, process: ProcessPlan) -> Services {
        let mut services = Services::new(host(site.directory.path()));
        let plan = plan(Run::Process(Box::new(process)), 5000);
        let mut reactor = Reactor::new().expect("a reactor");
        services.add(&mut reactor, WEB, &plan, site.bench.now()).expect("a service");
        services
    }

    pub(crate) fn event(&mut self) -> Event {
        self.bench.until(&mut self.services, |services, _| {
            services.event().map(|(service, event)| {
                assert_eq!(service, WEB);
                event
            })
        })
    }

    pub(crate) fn start(&mut self) -> Event {
        let now = self.bench.now();
        self.services.start(&mut self.bench.reactor, WEB, now);
        self.event()
    }

    pub(crate) fn stop(&mut self) -> Event {
        let now = self.bench.now();
        self.services.stop(&mut self.bench.reactor, WEB, now);
        self.event()
    }

    /// Starts it and says its main process.
    pub(crate) fn run(&mut self) -> u32 {
        match self.start() {
            Event::Started { pid: Some(pid), identity: Some(identity) } => {
                assert_eq!(identity.pid, pid);
                assert_eq!(self.services.pid(WEB), Some(pid));
                pid
            }
            other => panic!("{other:?}"),
        }
    }

    /// Waits until a file of ours is there.
    pub(crate) fn until_file(&mut self, name: &str) {
        let path = self.directory.path().join(name);
        self.bench.until(&mut self.services, |_, _| path.exists().then_some(()));
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    pub(crate) fn quiet(&mut self) {
        assert_eq!(self.services.event(), None);
        self.bench.until_childless(&mut self.services);
        assert_eq!(self.services.event(), None);
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    Member::of(pid).expect("a process").signal(signal).expect("a signal");
}

//! From the command line to a running loop, and from the loop to an exit status.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use giveover_core::ladder::Combine;
use giveover_core::policy::{FailoverMode, Limits, Policy, Scope};
use giveover_core::time::Span;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::cluster::Lacking;
use super::control::Control;
use super::events::Events;
use super::host::HostState;
use super::rights::Rights;
use super::sdnotify::Supervisor;
use super::watch::Watch;
use super::{DAEMON_BOARD, DAEMON_SIGNALS, Daemon};
use crate::check::Prober;
use crate::check::command::Commands;
use crate::check::files::Files;
use crate::clock::{self, BootId, Clock, Reading};
use crate::config::pack;
use crate::config::plan::{GoesTo, LeftToUnit, Plan, Run, ServicePlan, Terms};
use crate::journal::{self, Journal, Note, OpenError, Place, Recovered};
use crate::machine;
use crate::message::{self, Debug, host};
use crate::reactor::{Reactor, Room, Signals, Token};
use crate::report::log::Log;
use crate::report::paint::Paint;
use crate::service::notify::Notify;
use crate::service::{Host, Services};

/// What `giveover run` was told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Options {
    /// The configuration; `/etc/giveover/giveover.toml` if unset.
    pub file: Option<PathBuf>,
    /// Decide, record and show, but act on nothing.
    pub observe: bool,
    /// Leave services running when the daemon ends.
    pub leave: bool,
    /// The journal's file, in place of the one in the state directory.
    pub journal: Option<PathBuf>,
    /// The directory under which each configuration file has its own.
    pub state: Option<PathBuf>,
    /// The control socket.
    pub socket: PathBuf,
    /// How much debugging output is written.
    pub debug: Debug,
    /// Colour on standard error.
    pub paint: Paint,
    /// End once nothing is under watch any more: for the demo.
    pub until_given_over: bool,
    /// It is a member that only votes.
    pub witness: bool,
}

/// A required board is armed within this, or we do not start.
const BOARD_PATIENCE: Span = Span::from_secs(15);

/// Trusted servers have this long for their first answer.
const TRUSTED_PATIENCE: Span = Span::from_secs(15);

/// The configuration of the system.
pub const SYSTEM_FILE: &str = "/etc/giveover/giveover.toml";

/// Exit statuses of `run`.
pub mod exit {
    /// Told to stop.
    pub const STOPPED: u8 = 0;
    /// The configuration was refused.
    pub const CONFIGURATION: u8 = 3;
    /// No right to change addresses.
    pub const NO_PRIVILEGE: u8 = 10;
    /// No trusted server answers, and there are other nodes.
    pub const NO_TRUSTED: u8 = 11;
    /// Somebody has the address that is to be held, and nobody is active.
    pub const ADDRESS_IN_USE: u8 = 12;
    /// A peer refuses this node.
    pub const REFUSED_BY_PEER: u8 = 13;
    /// The port that nodes hear each other on is taken.
    pub const PORT_IN_USE: u8 = 14;
    /// Another daemon runs already.
    pub const RUNNING: u8 = 15;
    /// The state directory cannot be used.
    pub const STATE: u8 = 16;
    /// A board is required, and it is not armed.
    pub const NOT_ARMED: u8 = 17;
    /// A bug of ours.
    pub const BUG: u8 = 70;
}

/// Why the daemon could not begin: exit status and what to tell.
struct Refusal(u8, String);

/// Watches over the services of `plan`: returns the exit status.
#[must_use]
pub(super) fn watch(options: &Options, plan: Plan) -> u8 {
    match Daemon::prepare(options, plan) {
        Ok(mut daemon) => {
            if let Err(Lacking(status, text)) = daemon.join(options) {
                return daemon.without(status, &text);
            }
            let ended = match daemon.await_board() {
                Ok(true) => {
                    daemon.begin();
                    daemon.run_loop()
                }
                Ok(false) if daemon.ending => Ok(()),
                Ok(false) => return daemon.without_board(),
                Err(error) => Err(error),
            };
            daemon.finish(ended)
        }
        Err(Refusal(status, text)) => {
            // A closed standard error changes nothing about the exit status.
            let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
            status
        }
    }
}

impl Daemon {
    fn prepare(options: &Options, mut plan: Plan) -> Result<Self, Refusal> {
        let (journal, recovered) = open_journal(options, &plan)?;
        let state = journal.place().dir().display().to_string();
        let boot = BootId::read();
        let previous = recovered.ledger.previous();
        let offset = clock::carry_on(previous.as_ref(), boot, Reading::take().monotonic_ms);
        let mut clock = Clock::new(offset);
        clock.remember(recovered.ledger.anchors());
        let now = clock.now();
        let reactor = Reactor::new().map_err(bug)?;
        let _ = reactor.children.become_subreaper(); // orphans are then only not found again
        let signals =
            Signals::new(&reactor, Token::new(Room::Daemon, DAEMON_SIGNALS, 0)).map_err(bug)?;
        let control = bind(&reactor, &options.socket)?;
        let path = options.socket.with_file_name("notify.sock");
        let notify = Notify::new(&reactor, Token::new(Room::Notify, 0, 0), &path, 0o660).ok();
        let (rights, unknown) = Rights::new(&plan.control);
        let shown = plan.services.len();
        add_trusted(&mut plan);
        let mut daemon = Self {
            began: now,
            now,
            clock,
            reactor,
            journal,
            log: Log::choose(options.paint, options.debug),
            events: Events::default(),
            control,
            signals,
            notify,
            board: None,
            cluster: None,
            wanted_to: None,
            web: None,
            hooks: super::hooks::Hooks::new(),
            rights,
            has_needs: plan.services.iter().any(|service| !service.needs.is_empty()),
            shown,
            host: HostState::new(&plan.host),
            watches: Vec::new(),
            rounds: FxHashMap::default(),
            services: Services::new(Host::detect(&plan.host.node, &state)),
            arbiters: HashMap::new(),
            reload_waits: false,
            prober: Prober::new(),
            files: Files::of(&plan),
            commands: Commands::new(),
            databases: None,
            instances: FxHashMap::default(),
            programs: FxHashMap::default(),
            errands: super::run::Errands::new(),
            pending: Vec::new(),
            pools: super::pool::Pools::new(),
            reloads: 0,
            once: Vec::new(),
            once_made: 0,
            agents: super::agents::Agents::default(),
            looks: HashMap::new(),
            looks_made: 0,
            seen: HashMap::new(),
            restarts_read: Vec::new(),
            incidents_read: super::incident::Retold::default(),
            statuses_read: HashMap::new(),
            reported: None,
            ending: false,
            leave: options.leave,
            to_stop: Vec::new(),
            ready: Vec::new(),
            answers: Vec::new(),
            supervisor: Supervisor::from_env(),
            journal_failing: None,
            journal_armed: None,
            same_boot: previous
                .is_some_and(|previous| previous.boot.is_some() && previous.boot == boot),
            until_given_over: options.until_given_over,
            observe_asked: options.observe,
            plan,
        };
        daemon.prober.need(&daemon.reactor, daemon.files.again());
        daemon.take_over(recovered, boot);
        for name in unknown {
            let text = format!("[control] command names {name}, whom this host does not know");
            daemon.say_host(message::Event::Forbidden, text);
        }
        Ok(daemon)
    }

    /// Puts the machines together again, and notes that a run begins.
    fn take_over(&mut self, mut recovered: Recovered, boot: Option<BootId>) {
        let now = self.now;
        self.journal.note(
            now,
            Note::Run(journal::Run {
                version: env!("CARGO_PKG_VERSION").into(),
                pid: std::process::id(),
                boot,
                offset_ms: self.clock.offset_ms(),
                wall_ms: self.clock.wall_ms(now),
            }),
        );
        self.read_back_events();
        for at in recovered.ledger.charges(journal::HostBudget::Actions) {
            self.host.budget.charge(at);
        }
        let services = self.plan.services.len();
        self.watches.reserve_exact(services);
        self.journal.reserve(services);
        self.reactor.timers.reserve(services);
        for service in 0..services {
            let known = recovered.machines.remove(&*self.plan.services[service].name);
            if let (Some(known), true) = (&known, recovered.report.lost_history()) {
                self.host.doubted.insert(known.number);
            }
            self.add_watch(service, known);
        }
        for (_, gone) in recovered.machines {
            self.journal.forget(now, gone.number);
        }
        self.make_pools();
        self.add_services();
        self.tell_recovery(&recovered.report);
        self.restore_notes(&recovered.ledger);
        self.journal.flush(now);
    }

    /// One service under watch: with the monitor the journal had, or with a new one.
    pub(super) fn add_watch(&mut self, service: usize, known: Option<journal::Machine>) {
        let now = self.now;
        let plan = &self.plan.services[service];
        let (number, monitor) = match known {
            Some(known) => (known.number, known.monitor),
            None => {
                let number = self.journal.name(now, &plan.name);
                let monitor = machine::boxed(plan.policy.clone(), now);
                self.journal.made(now, number, &monitor);
                (number, monitor)
            }
        };
        let mut watch = Watch::new(plan, monitor, now);
        watch.machine = number;
        if let Some(noted) = self.journal.ledger().service(number) {
            self.plan.services[service].name = noted.name.clone(); // one for both
        }
        let plan = &self.plan.services[service];
        let policy = plan.policy.clone();
        let changed = *watch.monitor.policy() != *policy;
        self.watches.push(watch);
        if changed {
            self.set_policy(service, policy);
        } else {
            self.watches[service].monitor.hold_policy(policy);
        }
    }

    /// The daemon has come up: services are adopted or started, monitors begin.
    fn begin(&mut self) {
        let (services, file) = (self.shown() as u32, self.plan.file.display().to_string());
        let version = env!("CARGO_PKG_VERSION");
        let text = host::daemon_started(version, services, &file, self.plan.host.observe);
        self.say_host(message::Event::DaemonStarted, text);
        self.begin_web();
        if self.board.is_none() {
            self.begin_board();
        }
        self.begin_agents();
        for service in self.start_order() {
            if self.group_of(service).is_some() {
                self.bring_up_member(service);
            } else {
                self.bring_up(service);
            }
        }
        if self.plan.services.len() > self.shown() && self.cluster.is_none() {
            self.begin_trusted();
        }
        self.begin_cluster();
        for service in 0..self.shown() {
            self.settle_need(service);
        }
        self.begin_pools();
        self.begin_sharing();
        self.look_after_journal(); // the first wait may be a long one
        self.feed_supervisor();
        self.supervisor.ready(&self.one_line());
    }

    /// `board.required`: nothing is started before the board is armed. False if it will not be.
    fn await_board(&mut self) -> std::io::Result<bool> {
        let required = self.plan.board.as_deref().is_some_and(|board| board.required);
        if !required || self.plan.host.observe {
            return Ok(true);
        }
        self.begin_board();
        let until = self.now.after(BOARD_PATIENCE);
        self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_BOARD, 0), until);
        while !self.is_board_ready() {
            if self.ending || self.now >= until {
                return Ok(false);
            }
            self.turn()?;
        }
        Ok(true)
    }

    /// Takes up the nodes, if there are any: nothing is started before it is known that this one
    /// may take part.
    fn join(&mut self, options: &Options) -> Result<(), Lacking> {
        self.open_cluster(options.witness)?;
        self.place_groups();
        if self.cluster.is_none() || self.plan.services.len() <= self.shown() {
            return Ok(());
        }
        self.begin_trusted();
        let until = self.now.after(TRUSTED_PATIENCE);
        self.reactor.timers.arm(Token::new(Room::Daemon, DAEMON_BOARD, 0), until);
        let bug = |error| Lacking(exit::BUG, format!("giveover: the loop cannot wait: {error}"));
        while self.is_asking_trusted() && !self.ending && self.now < until {
            self.turn().map_err(bug)?;
        }
        match self.lacks_trusted() {
            Some(lacking) if !options.witness => Err(lacking),
            _ => Ok(()),
        }
    }

    /// Whether the first question to trusted servers is under way.
    fn is_asking_trusted(&self) -> bool {
        let watch = self.watches.get(self.shown());
        watch.is_some_and(|watch| watch.checks.iter().any(|check| check.result.is_none()))
    }

    fn without(mut self, status: u8, text: &str) -> u8 {
        self.tell_legacy_refusal(status);
        let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
        self.finish(Ok(()));
        status
    }

    fn without_board(self) -> u8 {
        let why = self.why_not_armed();
        let _ = writeln!(std::io::stderr(), "giveover: a board is required and not armed: {why}");
        self.finish(Ok(()));
        exit::NOT_ARMED
    }

    /// Services in an order in which each comes after those it needs.
    pub(super) fn start_order(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.shown());
        let mut seen = vec![false; self.shown()];
        for service in 0..self.shown() {
            self.visit(service, &mut seen, &mut order);
        }
        order
    }

    fn visit(&self, service: usize, seen: &mut [bool], order: &mut Vec<usize>) {
        if seen.get(service).copied().unwrap_or(true) {
            return;
        }
        seen[service] = true;
        for need in &self.plan.services[service].needs {
            self.visit(*need as usize, seen, order);
        }
        order.push(service);
    }

    /// After the loop: what is left to write, and the exit status.
    fn finish(mut self, ended: std::io::Result<()>) -> u8 {
        self.supervisor.stopping();
        self.control.close();
        self.end_agents();
        self.end_web();
        let now = self.now;
        self.commands.void(&mut self.reactor, now);
        self.errands.end_all(&mut self.reactor, now);
        if let Some(databases) = &mut self.databases {
            databases.end(&mut self.reactor);
        }
        self.end_pool_errands();
        let refused = self.end_cluster();
        let status = match ended {
            Ok(()) => match refused {
                Some((status, why)) => {
                    let _ = writeln!(std::io::stderr(), "{why}");
                    status
                }
                None => exit::STOPPED,
            },
            Err(error) => {
                let _ = writeln!(std::io::stderr(), "giveover: the loop cannot wait: {error}");
                exit::BUG
            }
        };
        if let Err(error) = self.journal.end(now) {
            let _ =
                writeln!(std::io::stderr(), "giveover: the journal could not be written: {error}");
        }
        status
    }
}

/// The same plan with what its services have in common only once.
pub(super) fn shared(plan: Plan) -> Plan {
    pack::pack(&plan).as_deref().and_then(pack::unpack).unwrap_or(plan)
}

/// `--observe`: every service is `log_only`, and what would be a process of ours is somebody
/// else's, which a second one would disturb.
pub(super) fn observe(plan: &mut Plan) {
    plan.host.observe = true;
    for service in &mut plan.services {
        if matches!(service.run, Run::Process(_)) {
            service.terms_mut().run = Run::Watched;
        }
        let limits = Limits { failover_mode: FailoverMode::LogOnly, ..*service.policy.limits() };
        if let Ok((policy, _)) = Policy::new(limits, *service.policy.scope()) {
            service.terms_mut().policy = policy.into();
        }
    }
}

fn open_journal(options: &Options, plan: &Plan) -> Result<(Journal, Recovered), Refusal> {
    let place = match (&options.journal, &options.state) {
        (Some(file), _) => Place::of_file(file).ok_or_else(|| {
            Refusal(exit::STATE, format!("{} cannot be a journal's file", file.display()))
        })?,
        (None, Some(base)) => Place::in_dir(journal::state_dir(&plan.file, base)),
        (None, None) => {
            let system = nix::unistd::Uid::effective().is_root();
            let base =
                journal::base_dir(system, |name| std::env::var_os(name)).ok_or_else(|| {
                    let text =
                        "no state directory: set STATE_DIRECTORY or HOME, or give --state DIR";
                    Refusal(exit::STATE, text.to_owned())
                })?;
            Place::in_dir(journal::state_dir(&plan.file, &base))
        }
    };
    Journal::open(place, journal::Options::DEFAULT).map_err(|error| match error {
        OpenError::Running { .. } => Refusal(exit::RUNNING, format!("giveover: {error}")),
        OpenError::Unusable { .. } => Refusal(exit::STATE, format!("giveover: {error}")),
    })
}

/// A child of a daemon that was killed holds its socket too, for the moment until it has become its
/// own program: so often it is waited for.
const OTHERS_GO: u32 = 20;
const A_MOMENT: std::time::Duration = std::time::Duration::from_millis(50);

fn bind(reactor: &Reactor, path: &Path) -> Result<Control, Refusal> {
    if let Some(dir) = path.parent() {
        let _ = std::fs::create_dir_all(dir); // the bind says what is wrong
    }
    let answers = |bound: &std::io::Result<Control>| {
        bound.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AddrInUse)
    };
    let mut bound = Control::bind(reactor, path);
    for _ in 0..OTHERS_GO {
        if !answers(&bound) {
            break;
        }
        std::thread::sleep(A_MOMENT);
        bound = Control::bind(reactor, path);
    }
    bound.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => Refusal(
            exit::RUNNING,
            format!("giveover: already running: another daemon answers at {}", path.display()),
        ),
        _ => Refusal(
            exit::STATE,
            format!("giveover: the control socket {} cannot be made: {error}", path.display()),
        ),
    })
}

fn bug(error: std::io::Error) -> Refusal {
    Refusal(exit::BUG, format!("giveover: the kernel refused what every process has: {error}"))
}

/// The trusted servers are the checks of one more service, behind those that are shown.
pub(super) fn add_trusted(plan: &mut Plan) {
    if plan.host.trusted.is_empty() {
        return;
    }
    let limits = Limits {
        thorough_probe_interval: Span::from_secs(10),
        failover_mode: FailoverMode::LogOnly,
        ..Limits::DEFAULT
    };
    let Ok((policy, _)) = Policy::new(limits, Scope { deaths: false, ..Scope::USUAL }) else {
        return;
    };
    let terms = Terms {
        preset: None,
        run: Run::Watched,
        validate: None,
        ladder: Vec::new(),
        combine: Combine::Heaviest,
        needs: Vec::new(),
        policy: policy.into(),
        giveover: GoesTo::Nobody,
        network: true,
        stops_when_spent: false,
        left_to_unit: LeftToUnit::default(),
        sources: [].into(),
    };
    let checks = std::mem::take(&mut plan.host.trusted).into();
    plan.services.push(ServicePlan { name: "(trusted)".into(), checks, terms: terms.into() });
}

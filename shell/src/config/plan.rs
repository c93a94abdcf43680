//! The configuration once it has been read, checked and found possible: ready to run.
//!
//! Ten thousand services must stay small, and most of them say the same about different targets.
//! So a service and a check are a name or targets of their own, and [`Terms`] or [`Question`]
//! behind a pointer, which read as if they were its own; [`super::pack`] makes equal ones one.

use std::net::{IpAddr, SocketAddr};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use giveover_core::board::Settings;
pub use giveover_core::ladder::Combine;
use giveover_core::policy::Policy;
use giveover_core::time::Span;
use giveover_core::weight::Weight;
use serde::{Deserialize, Serialize};

use super::agent::AgentPlan;
pub use super::cluster::{ClusterPlan, Fence, GroupPlan, NodePlan, RecoveryPlan, SharedPool};
use super::database::DatabasePlan;
use super::few::Few;
use super::instance::Instance;
use super::look::Looks;
pub use super::pool::{FallbackPlan, HaproxyPlan, Instead, MemberPlan, NftPlan, PoolPlan};
use super::remote::RemotePlan;
use super::state::StatePlan;
use super::talk::Talk;
use super::tls::{HelloPlan, TlsPlan};

/// Everything a daemon needs to know, from one file and those it includes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The file that was given, as an absolute path.
    pub file: PathBuf,
    /// The files it included, in the order they were read.
    pub included: Vec<PathBuf>,
    /// The host as a whole.
    pub host: HostPlan,
    /// How a giveover on a single node is carried out.
    pub giveover: GiveoverPlan,
    /// Who besides root and the daemon's own user may command: users, and groups as `@group`.
    pub control: Vec<String>,
    /// The hardware that resets this host, if there is any.
    pub board: Option<Box<BoardPlan>>,
    /// Where people and programs may look, if anywhere.
    pub watch: Option<Listen>,
    /// Who is told what happens.
    pub notify: Vec<NotifyPlan>,
    /// The nodes and what moves between them, if there are several.
    pub cluster: Option<Box<ClusterPlan>>,
    /// The services in file order. A service's place here is its number everywhere.
    pub services: Vec<ServicePlan>,
    /// The pools in file order.
    pub pools: Vec<PoolPlan>,
}

impl Plan {
    /// All checks there are: of services, of members of pools, of groups, and of trusted hosts.
    pub fn checks(&self) -> impl Iterator<Item = &CheckPlan> {
        let of_services = self.services.iter().flat_map(|service| service.checks.iter());
        let members = self.pools.iter().flat_map(|pool| pool.members.iter());
        let of_members = members.flat_map(|member| member.checks.iter());
        let groups = self.cluster.iter().flat_map(|cluster| &cluster.groups);
        let of_groups = groups.flat_map(|group| group.checks.iter().flat_map(|it| it.iter()));
        of_services.chain(of_members).chain(of_groups).chain(&self.host.trusted)
    }
}

/// `[host]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostPlan {
    /// The host's name on screens.
    pub node: String,
    /// Hosts whose answers prove that our own network works.
    #[serde(skip)] // packed with the other checks
    pub trusted: Vec<CheckPlan>,
    /// Decide, record and show, but act on nothing.
    pub observe: bool,
    /// At most `count` restarts and giveovers each `per`.
    pub actions: ActionBudget,
    /// When many failures at once mean ourselves (R16).
    pub local_fault: LocalFault,
}

/// `host.actions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionBudget {
    /// How many.
    pub count: u16,
    /// In which window.
    pub per: Span,
}

/// `host.local_fault`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalFault {
    /// Percent of the services.
    pub share: u8,
    /// But no fewer than this.
    pub least: u16,
    /// How old a failing cycle may be.
    pub within: Span,
}

/// `[giveover]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GiveoverPlan {
    /// Asked before anything is stopped: exit 0 yes, 75 not now, anything else no.
    pub may: Option<Vec<String>>,
    /// Hands the service over once it is proven stopped.
    pub command: Option<Vec<String>>,
    /// Limit of either.
    pub timeout: Span,
}

/// `[watch] listen`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Listen {
    /// An address of this host itself.
    Address(SocketAddr),
    /// A socket in the file system.
    Path(PathBuf),
}

/// `[notify.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotifyPlan {
    /// Its name.
    pub name: Box<str>,
    /// How a notice is delivered.
    pub way: Way,
    /// Of what; all edges if empty.
    pub on: Vec<Edge>,
    /// While an incident lasts its notice is given again this often.
    pub repeat: Option<Span>,
}

/// How a notice is delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// A command.
    Command(Vec<String>),
    /// A POST request to this URL.
    Webhook(Box<str>),
}

/// An edge, by its place in [`super::EDGES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge(pub u8);

impl Edge {
    /// Its word in the catalogue of events.
    #[must_use]
    pub fn word(self) -> &'static str {
        super::EDGES.get(usize::from(self.0)).copied().unwrap_or("?")
    }
}

/// `[board]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardPlan {
    /// What hardware it is.
    pub kind: BoardKind,
    /// Its serial port, or the kernel's name of it.
    pub port: PathBuf,
    /// What it is told; hardware of other kinds than ours knows only some of it.
    pub settings: Settings,
    /// Once its services have been ok for so long, a boot is confirmed (L6).
    pub confirm_after: Span,
    /// Without an armed board the daemon does not start.
    pub required: bool,
    /// The board shadows the monitors of the services that give over to it (L10).
    pub shadow: bool,
}

/// `board.kind`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoardKind {
    /// A board with our firmware.
    Giveover {
        /// The key's file, or the bare name of a credential.
        key: PathBuf,
    },
    /// A watchdog of the kernel's.
    Linux {
        /// How long before the end the kernel warns itself.
        pretimeout: Option<Span>,
    },
    /// A USB stick of one byte a command.
    Stick,
}

impl BoardKind {
    /// Its word in the file.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Giveover { .. } => "giveover",
            Self::Linux { .. } => "linux",
            Self::Stick => "stick",
        }
    }

    /// Whether both are one piece of hardware, if they are at one port.
    #[must_use]
    pub fn same_hardware(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Linux { .. }, Self::Linux { .. }) => true,
            (one, other) => one == other,
        }
    }
}

/// `[service.NAME]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicePlan {
    /// The service's name.
    pub name: Arc<str>,
    /// The checks in file order. A check's place here is its number in causes.
    pub checks: Few<CheckPlan>,
    /// The rest; what it has in common with others it shares with them.
    pub terms: Arc<Terms>,
}

impl ServicePlan {
    /// The checks, to change what they ask.
    pub fn checks_mut(&mut self) -> &mut [CheckPlan] {
        &mut self.checks
    }

    /// The rest, to change it: from now on it is the service's own.
    pub fn terms_mut(&mut self) -> &mut Terms {
        Arc::make_mut(&mut self.terms)
    }
}

impl Deref for ServicePlan {
    type Target = Terms;

    fn deref(&self) -> &Terms {
        &self.terms
    }
}

/// What a service is besides its name and its checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The preset it was made from.
    pub preset: Option<Box<str>>,
    /// What runs it.
    pub run: Run,
    /// Checked before a planned stop; not 0 leaves the service as it is.
    pub validate: Option<Vec<String>>,
    /// Checks (by place) tried in this order, each only when the one before is healthy.
    pub ladder: Vec<u8>,
    /// How the checks of one cycle make one verdict.
    pub combine: Combine,
    /// Services (by place) that must be ok before this one is acted on.
    pub needs: Vec<u32>,
    /// The limits, found possible.
    pub policy: Arc<Policy>,
    /// Where a giveover goes.
    pub giveover: GoesTo,
    /// Our own way out: the local-fault rule never holds it.
    pub network: bool,
    /// Once its budget is spent its monitor ends, and it runs on unwatched.
    pub stops_when_spent: bool,
    /// Units: the limits that the file leaves to the unit itself.
    pub left_to_unit: LeftToUnit,
    /// Where each limit came from, for `check`: key, source ("built in", "policy slow"). Shared
    /// by all services where they are the same; not part of what is serialised.
    #[serde(skip)]
    pub sources: Arc<[(&'static str, String)]>,
}

/// Limits of a unit that the configuration does not set: the unit's own hold, as soon as systemd
/// has said them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftToUnit {
    /// `start_timeout`
    pub start_timeout: bool,
    /// `stop_timeout`
    pub stop_timeout: bool,
}

/// `giveover = …` of a service (R22).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GoesTo {
    /// `giveover.command`.
    Command,
    /// The board: this host is reset.
    Board,
    /// Nobody.
    Nobody,
    /// Another node, with the whole of its group.
    Node,
}

/// What runs a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Run {
    /// Nobody we know: it is only watched.
    Watched,
    /// A unit of systemd.
    Unit(String),
    /// A process of ours.
    Process(Box<ProcessPlan>),
}

/// How a process of ours is started and stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessPlan {
    /// The service itself, in the foreground; or with `forks` what starts it.
    pub start: Vec<String>,
    /// `start` must exit 0; what it leaves behind is the service.
    pub forks: bool,
    /// How to stop it.
    pub stop: StopMethod,
    /// The user it runs as.
    pub user: Option<String>,
    /// The group it runs as; the user's own if unset.
    pub group: Option<String>,
    /// Its working directory.
    pub dir: Option<PathBuf>,
    /// Added to our environment.
    pub env: Vec<(String, String)>,
}

/// `stop = …`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopMethod {
    /// A signal to the main process, by number; SIGTERM unless written.
    Signal(i32),
    /// A command.
    Command(Vec<String>),
}

/// `check.NAME`.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckPlan {
    /// Whom: every one of these must answer; the heaviest failure is the check's. Empty for
    /// kinds without an address; empty too where [`CheckPlan::asks_addresses`] but none is
    /// configured ("no network resource"): such a check cannot be measured.
    pub targets: Targets,
    /// What it asks them; shared with the checks of others that ask the same.
    pub question: Arc<Question>,
}

/// Whom a check asks: mostly one.
pub type Targets = Few<Target>;

impl CheckPlan {
    /// What it asks, to change it: from now on it is the check's own.
    pub fn question_mut(&mut self) -> &mut Question {
        Arc::make_mut(&mut self.question)
    }
}

impl Deref for CheckPlan {
    type Target = Question;

    fn deref(&self) -> &Question {
        &self.question
    }
}

/// What a check is besides its targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The check's name.
    pub name: Box<str>,
    /// What is asked and what is expected.
    pub kind: Kind,
    /// The total deadline of one probe of one target.
    pub timeout: Span,
    /// What failures weigh.
    pub weights: Weights,
    /// Probed only this often; in every cycle while it fails.
    pub every: Option<Span>,
    /// Probed and shown, counts nothing.
    pub observe: bool,
    /// Its server, if that says itself how it is to be asked.
    pub instance: Option<Box<Instance>>,
}

impl Question {
    /// The word of its kind, as it was written.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match &self.instance {
            Some(instance) => instance.form.word(),
            None => self.kind.word(),
        }
    }
}

/// An address to probe.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    /// Where.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// A name or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Host {
    /// An address.
    Address(IpAddr),
    /// A name, resolved off the loop.
    Name(Box<str>),
    /// A UNIX socket of this host, by its path; it has no port.
    Socket(Box<str>),
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Socket(path) => f.write_str(path),
        }
    }
}

/// What a check asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// Connect, optionally a dialogue, disconnect.
    Tcp {
        /// Sent once connected.
        send: Option<Box<[u8]>>,
        /// Must appear in what is read.
        expect: Option<Box<[u8]>>,
    },
    /// One HTTP/1.1 request on a connection of its own.
    Http(Box<HttpPlan>),
    /// A command; its exit status says how it went.
    Command(Box<CommandPlan>),
    /// The service's process is there. Its exit is heard at once besides.
    Process,
    /// The sample of the source document: connect within 95 % of the time, disconnect within
    /// the rest, then `fsinfo -server HOST:PORT` in what remains.
    Xfnts {
        /// The `fsinfo` program.
        fsinfo: Box<str>,
    },
    /// A protocol of which a few bytes tell.
    Talk(Box<Talk>),
    /// One of the others in TLS.
    Tls(Box<TlsPlan>),
    /// A TLS hello that is answered by one.
    Hello(Box<HelloPlan>),
    /// A monitor of a database, which keeps its connection.
    Database(Box<DatabasePlan>),
    /// Heartbeats that an agent sends by itself.
    Agent(Box<AgentPlan>),
    /// Another daemon's view of one of its services.
    Remote(Box<RemotePlan>),
    /// What systemd says of a unit.
    State(Box<StatePlan>),
}

impl Kind {
    /// The kind's word, as in `kind = "tcp"`.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Tcp { .. } => "tcp",
            Self::Http(plan) if plan.by_document => "apache",
            Self::Http(_) => "http",
            Self::Command(plan) => plan.looks.word(),
            Self::Process => "process",
            Self::Xfnts { .. } => "xfnts",
            Self::Talk(talk) => talk.word(),
            Self::Tls(plan) => plan.word(),
            Self::Hello(_) => "tls",
            Self::Database(plan) => plan.word(),
            Self::Agent(_) => "agent",
            Self::Remote(_) => "remote",
            Self::State(_) => "systemd",
        }
    }

    /// Whether another host, or what runs on it, can be asked so: by connections, datagrams or a
    /// command, one at a time.
    #[must_use]
    pub const fn asks_others(&self) -> bool {
        match self {
            Self::Tcp { .. }
            | Self::Http(_)
            | Self::Command(_)
            | Self::Talk(_)
            | Self::Tls(_)
            | Self::Hello(_)
            | Self::Remote(_) => true,
            Self::Process
            | Self::Xfnts { .. }
            | Self::Database(_)
            | Self::Agent(_)
            | Self::State(_) => false,
        }
    }

    /// What is spoken: in TLS where that is around it.
    #[must_use]
    pub fn spoken(&self) -> &Self {
        match self {
            Self::Tls(plan) => plan.inner.as_ref().unwrap_or(self),
            other => other,
        }
    }

    /// The file of the password it gives, if it gives one.
    #[must_use]
    pub fn password_file(&self) -> Option<&str> {
        match self.spoken() {
            Self::Talk(talk) => talk.login().map(|login| &*login.password_file),
            Self::Database(plan) => plan.password_file(),
            _ => None,
        }
    }
}

/// What an `http` check sends and expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpPlan {
    /// As the source documents' web monitors ask and report: HEAD by HTTP/1.0, in their words.
    pub by_document: bool,
    /// `GET` or `HEAD`.
    pub method: Method,
    /// The path with its query, never empty.
    pub path: Box<str>,
    /// The Host field.
    pub host: Box<str>,
    /// Ranges of statuses that are right, both ends included.
    pub expect: Vec<(u16, u16)>,
    /// Must appear in the body.
    pub body: Option<Box<[u8]>>,
    /// At most this much of an answer is read; what is longer is cut there and judged.
    pub cap: u32,
}

/// Request methods of `http` checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// With a body in the answer.
    Get,
    /// The head only.
    Head,
}

/// What a `command` check runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPlan {
    /// What it is ourselves that looks at, if it is.
    pub looks: Looks,
    /// Program and arguments; no shell.
    pub argv: Vec<String>,
    /// What its exit status means.
    pub exit: ExitTable,
    /// What it weighs when the program is missing; unset: it cannot be measured.
    pub missing: Option<Weight>,
}

/// `exit = …`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitTable {
    /// 0 is healthy, anything else the weight of phase `exit`.
    Plain,
    /// Sun's: 0 healthy, 1–100 the weight, 201 immediate, anything else 100.
    Weight,
    /// Of monitoring plugins: 0 healthy, 1 is 50, 2 is 100, anything else cannot be measured.
    Plugin,
    /// As listed; 0 is healthy unless listed, anything else the weight of phase `exit`.
    Listed(Vec<(u8, ExitMeaning)>),
}

/// What one exit status means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitMeaning {
    /// Healthy.
    Healthy,
    /// A failure of this weight.
    Weighs(Weight),
    /// Skips the restart.
    Immediate,
    /// Could not be measured.
    Unmeasured,
}

/// What a failure weighs by the phase it happens in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// Looking up the name; `None`: cannot be measured.
    pub resolve: Option<Weight>,
    /// Connecting.
    pub connect: Weight,
    /// The TLS handshake.
    pub tls: Weight,
    /// A certificate that is valid for less time than was asked for.
    pub expiry: Weight,
    /// Sending.
    pub send: Weight,
    /// Reading: late or cut.
    pub read: Weight,
    /// A complete but wrong answer.
    pub answer: Weight,
    /// Closing.
    pub close: Weight,
    /// A command's exit.
    pub exit: Weight,
    /// Being late, in whatever phase; `None`: as the phase.
    pub late: Option<Weight>,
    /// Our own lack; `None`: it cannot be measured.
    pub lacking: Option<Weight>,
}

impl Weights {
    /// The defaults of every kind.
    pub const DEFAULT: Self = Self {
        resolve: None,
        connect: Weight::COMPLETE,
        tls: Weight::COMPLETE,
        expiry: Weight::LEAST,
        send: Weight::COMPLETE,
        read: Weight::HALF,
        answer: Weight::HALF,
        close: Weight::HALF,
        exit: Weight::COMPLETE,
        late: None,
        lacking: None,
    };
}

//! Scenario files in their large form: a host with its services, nodes that decide who is active, what
//! goes wrong with them and when, and what must hold all the same.
//!
//! | table | |
//! |---|---|
//! | the file itself | `name`, `length` (how long is played), `seed` (1) |
//! | `[host]` | `actions` and `local_fault` as in a configuration, `trusted` (how many servers), `boot_takes` |
//! | `[giveover]` | `answer` as in the small form, `takes` |
//! | `[service.NAME]` | `policy`, `giveover`, `needs`, `network`, `local`, `probe_takes`, `start_takes`, `stop_takes`, `leaks` |
//! | `[board]` | as in a configuration, without `port` and `key` |
//! | `[node.NAME]` | `starts`, `drift`, `priority`; the first one is the host |
//! | `[cluster]` | `quorum`, `witnesses`, and times as in the small form |
//! | `[group.NAME]` | `services`: those that run where the nodes are active, and move with that |
//! | `[pool.NAME]` | `members`, `backup`, and what decides as in a configuration |
//! | `[link]` | between any two nodes: `delay`, `loss`, `burst`, `burst_lasts`, `duplicate`, `reorder`, `reorder_by` |
//! | `[[fault]]` | `at` or `every` (drawn, with this mean), one of [`FAULTS`], `for`, and what should follow |
//! | `[[expect]]` | what should be so `at` some time |
//! | `[assert]` | what must hold of the whole: `every`, `host`, `group`, or the name of a service or pool |
//!
//! Times that vary are a list of two: `["1s", "5s"]`; each is drawn anew.

use std::sync::Arc;

use giveover_core::board::{Settings, State};
use giveover_core::monitor::Status;
use giveover_core::node::Nodes;
use giveover_core::peer::Role;
use giveover_core::policy::Policy;
use giveover_core::time::Span;
use giveover_core::weight::Weight;

use super::plan::{ActionBudget, GoesTo, LocalFault};
use super::scenario::{Reply, Script};
use super::schema::{Key, key};

mod assert;
mod cluster;
mod pool;
mod read;
#[cfg(test)]
mod tests;

pub use self::assert::{Assert, Claim, Measure, Of, Relation, Whose};
pub(crate) use self::cluster::node_number;
pub use self::cluster::{Group, Link, NodePlan};
pub use self::pool::{PoolExpect, PoolPlan};
pub(super) use self::read::read;

/// A world to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// What people call it.
    pub name: String,
    /// How long is played, in milliseconds.
    pub length: u64,
    /// What chance is drawn from.
    pub seed: u64,
    /// Restarts and giveovers of all services.
    pub actions: ActionBudget,
    /// When many failures at once mean ourselves.
    pub local_fault: LocalFault,
    /// How many trusted servers there are.
    pub trusted: u16,
    /// How long the host takes to boot.
    pub boot_takes: Range,
    /// How requests for giveover are answered.
    pub answer: Script<Reply>,
    /// And how long that takes.
    pub answer_takes: Range,
    /// The services, in the order of the file.
    pub services: Vec<Service>,
    /// The board.
    pub board: Option<Board>,
    /// Nodes, of which the host is the first.
    pub group: Option<Group>,
    /// Pools, in the order of the file.
    pub pools: Vec<PoolPlan>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// What should be so at some time, in order of time.
    pub expects: Vec<Expect>,
    /// What must hold of the whole.
    pub asserts: Vec<Assert>,
}

/// Milliseconds from one to another, both of them possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub least: u32,
    /// The most.
    pub most: u32,
}

/// One service.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// Its name.
    pub name: Arc<str>,
    /// Its limits, found possible.
    pub policy: Policy,
    /// Where a giveover goes.
    pub giveover: GoesTo,
    /// Services, by place, that must be ok before it is acted on.
    pub needs: Vec<usize>,
    /// It is our way out: the local-fault rule never holds it.
    pub network: bool,
    /// Its checks never leave this host: nor does it here, and a cut network hides it from nobody.
    pub local: bool,
    /// How long a healthy probe takes.
    pub probe_takes: Range,
    /// How long a start takes.
    pub start_takes: Range,
    /// How long a stop takes.
    pub stop_takes: Range,
    /// It gets worse with time until it is restarted.
    pub leaks: Option<Leak>,
}

/// A service that gets worse until it is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// So long after each start.
    pub after: Range,
    /// What its probes weigh from then on.
    pub weight: Weight,
}

/// The board, and how the daemon uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// What it is told.
    pub settings: Settings,
    /// A boot is confirmed once all has been ok for so long.
    pub confirm_after: Span,
}

/// When something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Once, then.
    At(u64),
    /// Again and again, with this mean between, by chance.
    Every(u64),
}

/// Something that goes wrong, or that a person does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub when: When,
    /// What.
    pub what: What,
    /// How long it lasts; else until something ends it.
    pub lasts: Option<Range>,
    /// The line it begins on.
    pub line: usize,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// With the service of this place.
    Service(usize, Does),
    /// With the whole host.
    Host(HostDoes),
    /// With the daemon alone.
    Daemon(DaemonDoes),
    /// The host's network is cut.
    NetworkCut,
    /// Trusted servers do not answer.
    TrustedSilent,
    /// With the board.
    Board(BoardDoes),
    /// With the disk the journal is on.
    Disk(DiskDoes),
    /// With the clock the monitor goes by.
    Clock(ClockDoes),
    /// With the node of this place.
    Node(usize, NodeDoes),
    /// With the way from one node to another.
    Link(usize, usize, LinkDoes),
    /// With the member of this place, of the pool of that.
    Member(usize, usize, MemberDoes),
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$line:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$line])* $variant,)* }

        impl $name {
            /// The words, in order.
            pub const WORDS: &[&str] = &[$($word,)*];
            /// All of them, in the same order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its word.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
}

words! {
    /// What a service can do, or a person with it.
    Verb {
        /// Its process ends.
        Die "die",
        /// It answers nobody any more: probes run into their deadline, 50.
        Hang "hang",
        /// It takes no connection: 100.
        Refuse "refuse",
        /// It answers late or wrongly: `weight`, 50 unless written.
        Slow "slow",
        /// A probe finds what skips the restart.
        Immediate "immediate",
        /// Its checks cannot run.
        Unmeasured "unmeasured",
        /// Its starts fail.
        FailStart "fail_start",
        /// Its stops fail.
        FailStop "fail_stop",
        /// Validation refuses planned restarts.
        Invalid "invalid",
        /// A person holds it.
        Hold "hold",
        /// A person lets go.
        Release "release",
        /// A person forgets its failures and restarts.
        Clear "clear",
        /// A person restarts it.
        Restart "restart",
        /// A person gives it over.
        Giveover "giveover",
    }
}

/// What a service does, and how much it weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Does {
    /// What.
    pub verb: Verb,
    /// For [`Verb::Slow`].
    pub weight: Weight,
}

words! {
    /// What a host can do.
    HostDoes {
        /// Nothing runs any more, until it is reset.
        Hang "hang",
        /// It boots, announced or not.
        Reboot "reboot",
        /// Its power goes, the board's too, and comes back.
        PowerCut "power_cut",
    }
}

words! {
    /// What can happen to the daemon.
    DaemonDoes {
        /// It is killed, and started again a second later unless `for` says otherwise.
        Crash "crash",
        /// It does not run, as under a stop signal.
        Pause "pause",
    }
}

words! {
    /// What can happen to the board.
    BoardDoes {
        /// The board alone is reset: its retained memory stays.
        Reset "reset",
        /// Its store takes no records.
        StoreFails "store_fails",
        /// The port to it is gone.
        LinkLost "link_lost",
        /// Its jumper is set.
        Jumper "jumper",
        /// A person forgets its resets.
        Clear "clear",
        /// Its power, and the host's, goes while it next writes a record, and is back 2 s later.
        Torn "torn",
    }
}

words! {
    /// What can happen to the disk.
    DiskDoes {
        /// The last write before a crash is cut short.
        Torn "torn",
        /// What is written meanwhile is lost if the power or the host goes.
        Lost "lost",
        /// Nothing can be written.
        Full "full",
    }
}

words! {
    /// What a node can do, or a person with it.
    NodeDoes {
        /// Its daemon is killed, and started again a second later unless `for` says otherwise.
        Crash "crash",
        /// Its daemon does not run, as under a stop signal.
        Pause "pause",
        /// Its power goes, and comes back after 30 s unless `for` says otherwise.
        PowerOff "power_off",
        /// It is stopped in an orderly way, and started again after as long.
        Stop "stop",
        /// Its own checks fail.
        Fails "fails",
        /// It reaches no trusted server.
        Unreachable "unreachable",
        /// Somebody else answers for the address where it is.
        Foreign "foreign",
        /// Somebody removes the address there.
        AddressLost "address_lost",
        /// It gives the group over, if it is active.
        Giveover "giveover",
        /// No frame reaches it or leaves it.
        Cut "cut",
    }
}

words! {
    /// What can happen to the way between two nodes.
    LinkDoes {
        /// Frames are lost both ways.
        Cut "cut",
        /// Frames from the first to the second are lost.
        CutOneWay "cut_one_way",
    }
}

words! {
    /// What a member of a pool can do, or a person with it.
    MemberDoes {
        /// Its checks fail, as everything else that is wanted of it.
        Fails "fails",
        /// Its checks find what counts at once.
        Immediate "immediate",
        /// Its checks cannot run.
        Unmeasured "unmeasured",
        /// Its checks take longer than the interval.
        Slow "slow",
        /// Its agent says nothing.
        Silent "silent",
        /// Its agent says that a work unit has failed.
        WorkUnit "work_unit",
        /// Its agent says that it is full.
        Busy "busy",
        /// Another service of its server has failed.
        Elsewhere "elsewhere",
        /// A person drains it, for as long as the fault lasts, or until somebody enables it.
        Drain "drain",
        /// A person ends that.
        Enable "enable",
    }
}

words! {
    /// What can happen to a clock.
    ClockTurn {
        /// The wall clock is set: shown, and nothing follows from it.
        Step "step",
        /// The monotonic clock goes wrong by `by` in a million, forwards or back.
        Drift "drift",
    }
}

/// What a clock does, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockDoes {
    /// What.
    pub turn: ClockTurn,
    /// Milliseconds of a step; millionths of a drift.
    pub by: i64,
}

/// What should be so at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// When.
    pub at: u64,
    /// The service of this place.
    pub service: Option<usize>,
    /// Its status.
    pub status: Option<Status>,
    /// Its live sum.
    pub failure_sum: Option<u16>,
    /// Its live restarts.
    pub restarts: Option<u16>,
    /// What it has done since the beginning, or since the last line that asked.
    pub actions: Option<Vec<&'static str>>,
    /// How the board stands.
    pub board: Option<State>,
    /// How often the board has reset the host.
    pub resets: Option<u32>,
    /// The node that a service is looked at on, if it runs on several.
    pub node: Option<usize>,
    /// A node and its role; no role is a node that does not run.
    pub role: Option<(usize, Option<Role>)>,
    /// Who holds the address.
    pub holders: Option<Nodes>,
    /// On which nodes the service runs.
    pub runs: Option<Nodes>,
    /// How a pool stands.
    pub pool: Option<PoolExpect>,
    /// The line it begins on.
    pub line: usize,
}

/// What one service's monitor can have done, as `expect` and `--json` call it.
pub const ACTIONS: &[&str] = super::scenario::ACTIONS;

/// The keys of the file.
pub const FILE: &[Key] = &[
    key("name", "text", "the file's name", "what people call it"),
    key("length", "duration", "", "how long is played"),
    key("seed", "a number", "1", "what chance is drawn from; --seed goes before"),
    key("host", "table", "", "the host as a whole"),
    key("giveover", "table", "", "how requests for giveover are answered"),
    key("service", "tables", "", "what is watched"),
    key("board", "table", "", "the hardware that resets this host"),
    key("node", "tables", "", "who could be active; the first one is this host"),
    key("cluster", "table", "", "how nodes decide between them"),
    key("link", "table", "", "what is between any two nodes"),
    key("group", "table", "", "services that run where the nodes are active"),
    key("pool", "tables", "", "members behind a balancer"),
    key("fault", "tables", "", "what goes wrong"),
    key("expect", "tables", "", "what should be so at some time"),
    key("assert", "table", "", "what must hold of the whole"),
];

const HOST: &[Key] = &[
    key("actions", "table", "{ count = 20, per = \"1h\" }", "restarts and giveovers of all"),
    key("local_fault", "table", "as in a configuration", "when failures mean ourselves"),
    key("trusted", "0 to 100", "0", "how many trusted servers there are"),
    key("boot_takes", "duration, or two", "\"30s\"", "from a reset to the daemon"),
];

const GIVEOVER: &[Key] = &[
    key("answer", "a word or a table", "\"accept\"", "as `giveover` of the small form"),
    key("takes", "duration, or two", "\"0s\"", "how long an answer takes"),
];

const SERVICE: &[Key] = &[
    key("policy", "table", "built in", "limits as in a configuration"),
    key("giveover", "command, board, none", "\"command\"", "where it goes"),
    key("needs", "list of services", "[]", "must be ok before it is acted on"),
    key("network", "true or false", "false", "our way out: never held by the local-fault rule"),
    key("local", "true or false", "false", "its checks never leave the host"),
    key("probe_takes", "duration, or two", "\"10ms\"", "how long a healthy probe takes"),
    key("start_takes", "duration, or two", "\"1s\"", "how long a start takes"),
    key("stop_takes", "duration, or two", "\"1s\"", "how long a stop takes"),
    key("leaks", "table", "never", "{ after, weight }: gets worse so long after each start"),
];

const LEAKS: &[Key] = &[
    key("after", "duration, or two", "", "so long after each start"),
    key("weight", "1 to 100", "50", "what its probes weigh from then on"),
];

const BOARD: &[Key] = &[
    key("timeout", "duration", "\"60s\"", "as in a configuration"),
    key("boot_grace", "duration", "\"10m\"", "as in a configuration"),
    key("link_timeout", "duration", "\"5m\"", "as in a configuration"),
    key("pulse", "duration", "\"250ms\"", "as in a configuration"),
    key("confirm_after", "duration", "\"5m\"", "as in a configuration"),
    key("policy", "table", "", "as in a configuration"),
    key("giveover", "alarm, off, cycle, none", "\"alarm\"", "as in a configuration"),
    key("nowayout", "true or false", "false", "as in a configuration"),
];

/// What a fault can be about: one of these.
pub const FAULTS: &[Key] = &[
    key("service", "name of a service", "", "with `does`, and `weight` where it is slow"),
    key("host", "hang, reboot, power_cut", "", "the whole host"),
    key("daemon", "crash, pause", "", "the daemon alone"),
    key("network", "cut", "", "no packet in or out"),
    key("trusted", "silent", "", "trusted servers do not answer"),
    key("board", "reset, store_fails, link_lost, jumper, clear, torn", "", "the board"),
    key("disk", "torn, lost, full", "", "the disk the journal is on"),
    key("clock", "step, drift", "", "the clocks, by `by`"),
    key("node", "name of a node", "", "with `does`"),
    key("link", "two nodes", "", "the way between them, with `does`"),
    key("member", "\"POOL/MEMBER\"", "", "a member of a pool, with `does`"),
];

const FAULT: &[Key] = &[
    key("at", "duration", "", "when, since the beginning"),
    key("every", "duration", "", "again and again, by chance, with this mean between"),
    key("for", "duration, or two", "until something ends it", "how long it lasts"),
    key("does", "a word", "", "what the service, node or member does, or what becomes of the link"),
    key("weight", "1 to 100", "50", "what its probes weigh then"),
    key("by", "duration, or share of a million", "", "how far a clock goes wrong"),
    key("expect", "table", "", "what should be so right after it"),
];

const EXPECT: &[Key] = &[
    key("at", "duration", "", "when, since the beginning"),
    key("service", "name of a service", "the fault's", "whom it is about"),
    key("status", "a status", "", "its status"),
    key("failure_sum", "a number", "", "its live sum of weights"),
    key("restarts", "a number", "", "its live number of restarts"),
    key("actions", "list of words", "", "what was done since the last line that asked"),
    key("board", "a state", "", "how the board stands"),
    key("resets", "a number", "", "how often the board has reset the host"),
    key("node", "name of a node", "the fault's", "whose role it is"),
    key("role", "init, standby, active, down, off", "", "what it is"),
    key("holders", "list of nodes", "", "who holds the address"),
    key("runs", "list of nodes", "", "where the service runs"),
    key("pool", "name of a pool", "the only one", "which one the next keys are about"),
];

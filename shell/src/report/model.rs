//! The documents the control socket speaks: `status --json` and the events.

use serde::{Deserialize, Serialize};

/// `GET /status.json`, and what `status --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusDoc {
    /// Version of this form.
    pub schema: u32,
    /// Version of the daemon.
    pub version: String,
    /// When it was taken; RFC 3339, UTC.
    pub at: String,
    /// The host as a whole.
    pub host: HostDoc,
    /// The services in file order.
    pub services: Vec<ServiceDoc>,
    /// The groups that move between nodes, in file order.
    pub groups: Vec<GroupDoc>,
    /// The pools in file order.
    pub pools: Vec<PoolDoc>,
    /// The board that resets this host; null without one.
    pub board: Option<BoardDoc>,
}

/// One group, as this node sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupDoc {
    /// Its name.
    pub name: String,
    /// What this node is for it: `init`, `standby`, `active`, `down`.
    pub role: String,
    /// Since when.
    pub since: String,
    /// For how long.
    pub for_ms: u64,
    /// The node that is active, as far as this one knows.
    pub active: Option<String>,
    /// The highest term known to have had an active.
    pub term: u64,
    /// Who decides: `majority`, `fence`, `stay`, `trusted`, `etcd`.
    pub quorum: String,
    /// By how many votes this node is active.
    pub votes: u8,
    /// How many win.
    pub votes_needed: u8,
    /// How many nodes there are.
    pub members: u8,
    /// Two holders are possible, and were accepted in writing.
    pub two_holders: bool,
    /// Where its services run: `active` or `all`.
    pub run: String,
    /// Its services.
    pub services: Vec<String>,
    /// The addresses that move.
    pub addresses: Vec<String>,
    /// It is up here.
    pub holds: bool,
    /// So long it is held without a renewal.
    pub lease_ms: u64,
    /// What is left of the grant under which it is held; null where none is needed.
    pub grant_left_ms: Option<u64>,
    /// How long nobody holds it when this node dies, at most; null: until somebody acts.
    pub takeover_ms: Option<u64>,
    /// Frames of nobody known, and connections of too many of them, that were dropped.
    pub strangers: u32,
    /// Trusted servers that answered last.
    pub trusted_answering: u16,
    /// Trusted servers.
    pub trusted: u16,
    /// The same one by one: what each answered last, and how fast.
    pub trusted_servers: Vec<CheckDoc>,
    /// Where the addresses are, if the file says so.
    pub interface: Option<String>,
    /// Where it is active: whether it may be given over now, and to whom, or why not.
    pub may_give: Option<String>,
    /// So long an active must be silent before it is replaced.
    pub wait_ms: u64,
    /// Between two looks.
    pub interval_ms: u64,
    /// The nodes in file order.
    pub nodes: Vec<NodeDoc>,
    /// The members of the store that decides, in file order; none where nodes do.
    pub etcd: Vec<EtcdDoc>,
    /// The pool that its nodes share, if they do.
    pub pool: Option<SharedDoc>,
    /// New connections are refused on every node, if they are.
    pub recovery: Option<RecoveryDoc>,
}

/// A member of etcd, as it is from this node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EtcdDoc {
    /// `http://HOST:PORT`
    pub url: String,
    /// It is the one that is asked.
    pub asked: bool,
    /// It answered last.
    pub answers: bool,
    /// How long ago; null: never.
    pub answered_ms: Option<u64>,
    /// How long its last answer took.
    pub took_ms: Option<u64>,
    /// What is wrong with it.
    pub why: Option<String>,
}

/// A pool that the nodes of a group share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedDoc {
    /// Its name.
    pub name: String,
    /// The newest command that was carried out here: `TERM.NUMBER`; `0.0` before the first.
    pub command: String,
    /// The member that was promoted last.
    pub primary: Option<String>,
    /// Its members in file order.
    pub members: Vec<SharedMemberDoc>,
}

/// One member of a pool that nodes share.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharedMemberDoc {
    /// Its place, counted from 0.
    pub index: u8,
    /// Its name.
    pub name: String,
    /// `HOST:PORT`.
    pub address: String,
    /// As the source document numbers it: 2 takes part, 3 does not.
    pub state: u8,
    /// A command took it out on every node.
    pub detached: bool,
}

/// A recovery that lasts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecoveryDoc {
    /// The node on which it was begun.
    pub by: String,
    /// When it ends by itself.
    pub left_ms: u64,
}

/// One node, as this one sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeDoc {
    /// Its name.
    pub name: String,
    /// Its place in the file.
    pub index: u8,
    /// It is this node.
    pub me: bool,
    /// It only votes.
    pub witness: bool,
    /// Where it is.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What it is: `init` (also a node never heard), `standby`, `active`, `down`.
    pub role: String,
    /// The same as the source document numbers it: 1 to 4.
    pub number: u8,
    /// It was heard less than `wait` ago, and is accepted.
    pub alive: bool,
    /// It said that it is up there.
    pub holds: bool,
    /// The term it told.
    pub term: u64,
    /// Since when it is in the group, as it told.
    pub since: Option<String>,
    /// When it was heard last; null: never since this node began.
    pub heard_ms: Option<u64>,
    /// How many more looks may fail.
    pub life: u8,
    /// Of how many.
    pub life_of: u8,
    /// Why it is not heard: `name`, `refused`, `no_route`, `silent`, `filtered`, `wrong_key`,
    /// `version`, `replayed`; null where it is.
    pub why: Option<String>,
    /// The same in words.
    pub why_text: Option<String>,
    /// Why it is not accepted: its configuration differs.
    pub refused: Option<String>,
    /// What the group's checks of it found last, where this node asks them.
    pub checks: Vec<CheckDoc>,
    /// There is a connection to it.
    pub connected: bool,
    /// Frames taken.
    pub taken: u32,
    /// Frames refused: not frames.
    pub garbage: u32,
    /// Frames refused: of another key, or of nobody who has it.
    pub unauthentic: u32,
    /// Frames refused: seen before, or for an earlier start.
    pub repeated: u32,
    /// Frames refused: more than any node sends.
    pub over_budget: u32,
}

/// One pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolDoc {
    /// Its name.
    pub name: String,
    /// How many members get new work.
    pub takes_work: u32,
    /// How many stay in, however their checks look.
    pub min_members: u8,
    /// Why clients are served by the fallback: `nobody_in`, `all_busy`.
    pub none_left: Option<String>,
    /// Why membership stands still: `nothing_measured`, `no_trusted`.
    pub frozen: Option<String>,
    /// Who is told of its members, in words.
    pub told: Vec<String>,
    /// Who of them cannot be told, and why.
    pub trouble: Vec<String>,
    /// The members in file order.
    pub members: Vec<MemberDoc>,
}

/// One member of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemberDoc {
    /// Its name.
    pub name: String,
    /// `HOST:PORT`.
    pub address: String,
    /// It gets work only while nobody else does.
    pub backup: bool,
    /// `in`, `standby`, `busy`, `drained` or `out`.
    pub state: String,
    /// Why it is out, in words.
    pub why: String,
    /// Percent of its share, where it gets work.
    pub weight: Option<u8>,
    /// Its load in percent, as its agent says.
    pub load: Option<u8>,
    /// That is too much.
    pub busy: bool,
    /// It has failed, and `min_members` keeps it in.
    pub kept: bool,
    /// HAProxy's count of its cycles.
    pub health: u8,
    /// How many of its cycles took longer than the interval.
    pub late: u32,
    /// Since when it has been out, or not out; RFC 3339, UTC.
    pub since: String,
    /// For how long.
    pub for_ms: u64,
    /// Who drains it, and until when.
    pub drained: Option<HeldDoc>,
    /// The last cycles that were measured, oldest first: `. x`.
    pub cycles: String,
    /// The checks in file order.
    pub checks: Vec<CheckDoc>,
}

/// The board that resets this host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BoardDoc {
    /// `giveover`, `linux` or `stick`.
    pub kind: String,
    /// Its serial port, or the kernel's name of it.
    pub port: String,
    /// It guards this host.
    pub armed: bool,
    /// `armed`, or what keeps it from that: `waiting`, `disarmed`, `jumper`, `line_held`,
    /// `grace`, `wrong_key`, `port_absent`, …
    pub state: String,
    /// The same for people.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
    /// Since when; RFC 3339, UTC.
    pub since: Option<String>,
    /// The board's name and number, and its firmware.
    pub board: Option<String>,
    /// Its number.
    pub device: Option<String>,
    /// Its firmware's version.
    pub firmware: Option<String>,
    /// The image it runs, as a hash of it.
    pub image: Option<String>,
    /// Our key's number.
    pub key: Option<String>,
    /// How long the board has been running.
    pub up_ms: Option<u64>,
    /// Silence that is a failure.
    pub timeout_ms: u64,
    /// How long ago it took a feed.
    pub fed_ago_ms: Option<u64>,
    /// Feeds it took since its start.
    pub feeds: u32,
    /// The longest time between two.
    pub longest_gap_ms: u64,
    /// Feeds past 60 % of the time-out.
    pub near_misses: u32,
    /// How long its state lasts by itself.
    pub left_ms: Option<u64>,
    /// Resets that count.
    pub resets: u8,
    /// Allowed resets.
    pub retry_count: u8,
    /// Their window.
    pub retry_interval_ms: u64,
    /// Resets ever.
    pub resets_ever: u32,
    /// The last one.
    pub last_reset: Option<BoardResetDoc>,
    /// The reset line is held.
    pub reset_held: bool,
    /// What it reads; null where no pin is wired to tell.
    pub reset_high: Option<bool>,
    /// What the second line is for.
    pub second: String,
    /// It is on.
    pub second_on: bool,
    /// What its pin reads; null where it cannot be read.
    pub second_reads: Option<bool>,
    /// The jumper is set.
    pub jumper: bool,
    /// The host has power, as far as the board sees.
    pub host_power: bool,
    /// The settings in force there are ours.
    pub settings_echoed: bool,
    /// The line.
    pub link: BoardLinkDoc,
    /// How often its own watchdog bit.
    pub bites: u32,
    /// Its store takes records.
    pub store_ok: bool,
    /// Records in it.
    pub store_used: u16,
    /// And how many there can be.
    pub store_size: u16,
    /// It started together with the host.
    pub power_up: bool,
    /// The time-out that was asked of hardware that chooses; null for a board of ours.
    pub wanted_ms: Option<u64>,
    /// How long before the end the kernel warns itself, if it does.
    pub pretimeout_ms: Option<u64>,
    /// It stops when nobody has it open, so that a daemon that is killed is not noticed.
    pub stops_when_closed: bool,
    /// The last start of this host was its doing; null where it cannot tell.
    pub has_reset: Option<bool>,
    /// Bytes on its port that were no answer.
    pub noise: u32,
    /// Services whose monitors the board runs too.
    pub shadows: Vec<BoardShadowDoc>,
}

/// A service whose monitor the board runs too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardShadowDoc {
    /// Its name.
    pub service: String,
    /// `compared`, that it waits, or why there is none.
    pub state: String,
    /// Cycles that were compared since it began.
    pub compared: u64,
}

/// A reset by the board.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardResetDoc {
    /// RFC 3339, UTC.
    pub at: String,
    /// `silence`, `bad_feeds`, `no_boot`, `giveover`, `stop_failed`, `test`.
    pub why: String,
    /// The same for people.
    pub cause: String,
    /// From it to the first feed.
    pub up_after_ms: Option<u64>,
    /// From it to the confirmed boot.
    pub confirmed_after_ms: Option<u64>,
}

/// What was seen of the line, by both ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardLinkDoc {
    /// Frames that were whole.
    pub frames: u32,
    /// Pieces that were no frame.
    pub bad: u32,
    /// Frames seen before.
    pub replayed: u32,
    /// Frames that were not authentic.
    pub refused: u32,
    /// Frames of an unknown kind.
    pub unknown: u32,
    /// From a feed to its answer.
    pub round_trip_ms: Option<u64>,
}

/// An entry of the board's own log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardEntryDoc {
    /// Its number; what is missing was lost.
    pub number: u32,
    /// When, in the board's powered time.
    pub powered_ms: u64,
    /// What.
    pub text: String,
}

/// The host as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostDoc {
    /// The node's name.
    pub node: String,
    /// The daemon's process.
    pub pid: u32,
    /// How long the daemon has been running.
    pub up_ms: u64,
    /// The configuration file.
    pub file: String,
    /// How many files it included.
    pub included: u32,
    /// Nothing is acted on.
    pub observe: bool,
    /// Restarts and giveovers of all services.
    pub actions: ActionsDoc,
    /// The local-fault rule holds.
    pub local_fault: bool,
    /// Trusted servers.
    pub trusted: TrustedDoc,
    /// `ok`, or why the journal cannot be written.
    pub journal: String,
}

/// The host budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActionsDoc {
    /// Used inside the window.
    pub spent: u16,
    /// Allowed inside the window.
    pub count: u16,
    /// The window.
    pub per_ms: u64,
    /// When a spent budget frees again.
    pub frees_in_ms: Option<u64>,
}

/// Trusted servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrustedDoc {
    /// How many answered last.
    pub answering: u16,
    /// How many there are.
    pub total: u16,
}

/// One service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceDoc {
    /// Its name.
    pub name: String,
    /// `unknown`, `ok`, `degraded`, `faulted` or `offline`.
    pub status: String,
    /// One of the four texts, or empty.
    pub message: String,
    /// The rest, in words.
    pub detail: String,
    /// Since when it has this status and message; RFC 3339, UTC.
    pub since: String,
    /// For how long.
    pub for_ms: u64,
    /// `none`, `soft`, `hard`, `restart_only` or `log_only`.
    pub mode: String,
    /// Where it would be given over to: `command`, `none`.
    pub giveover: String,
    /// Its main process.
    pub pid: Option<u32>,
    /// Its unit of systemd.
    pub unit: Option<String>,
    /// The number of its instance.
    pub generation: u32,
    /// When the instance was started, and by whom: `giveover`, `operator`, `adopted`, `systemd`.
    pub started: Option<StartedDoc>,
    /// Live sum of weights, of 100.
    pub failure_sum: u16,
    /// Live failures, oldest first.
    pub failures: Vec<RecordDoc>,
    /// Live restarts charged to the budget.
    pub restarts: u16,
    /// When each was decided and why, oldest first.
    pub restart_records: Vec<RecordDoc>,
    /// Allowed restarts; null is unlimited.
    pub retry_count: Option<u16>,
    /// The window.
    pub retry_interval_ms: u64,
    /// Time from cycle to cycle.
    pub interval_ms: u64,
    /// Why it is kept from acting.
    pub held: Option<HeldDoc>,
    /// Services it needs that are not ok.
    pub unmet: Vec<String>,
    /// How long nothing could be measured.
    pub unmeasured_ms: Option<u64>,
    /// How much of `start_grace` is left.
    pub grace_ms: Option<u64>,
    /// What it waits for: `probe`, `answer`, `delay`, `restart`, `stop_again`, `giveover`,
    /// `ask_again`, `dead_cycle`, `release`, `given_over`, `not_begun`, `stopped`, `unmonitored`.
    pub waiting_for: String,
    /// When that is due.
    pub next_in_ms: Option<u64>,
    /// What the next failure leads to: `restart`, `giveover`, `budget_spent`, `log`.
    pub next_failure: String,
    /// The delay before the next restart.
    pub next_delay_ms: u64,
    /// When the oldest restart is forgotten and the budget refills.
    pub refills_in_ms: Option<u64>,
    /// The last 20 cycles, oldest first: `. o x ? - R G`.
    pub cycles: String,
    /// The checks in file order.
    pub checks: Vec<CheckDoc>,
}

/// Who started an instance, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StartedDoc {
    /// RFC 3339, UTC.
    pub at: String,
    /// `giveover`, `operator`, `adopted` or `systemd`.
    pub by: String,
}

/// A record of a history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordDoc {
    /// RFC 3339, UTC.
    pub at: String,
    /// Weight; 100 for a restart.
    pub weight: u8,
    /// In words.
    pub cause: String,
    /// When it is forgotten.
    pub forgotten_in_ms: u64,
}

/// Why a service is kept from acting.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldDoc {
    /// `operator`, `budget`, `host_budget`, `local_fault`, `systemd`, `unproven`.
    pub by: String,
    /// The person.
    pub who: Option<String>,
    /// The reason given.
    pub why: Option<String>,
    /// RFC 3339, UTC.
    pub since: String,
    /// RFC 3339, UTC; null where it has no end of its own.
    pub until: Option<String>,
}

/// The last result of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckDoc {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// `healthy`, `partial`, `complete`, `immediate`, `unmeasured`, `void`, `not_evaluated`,
    /// `none` before the first.
    pub outcome: String,
    /// What it weighed.
    pub weight: Option<u8>,
    /// In words, healthy or not: `200`, `503, expected 200 or 204`.
    pub cause: String,
    /// How far it got, for a failure.
    pub phase: Option<String>,
    /// How long it took.
    pub ms: u32,
    /// RFC 3339, UTC; empty before the first.
    pub at: String,
    /// It counts nothing.
    pub observed: bool,
    /// Of a name with several addresses, the one that answered last.
    pub address: Option<String>,
}

impl CheckDoc {
    /// Whether it failed, and that counts.
    #[must_use]
    pub fn fails(&self) -> bool {
        !self.observed && matches!(&*self.outcome, "partial" | "complete" | "immediate")
    }
}

/// One line of the log, and of `events --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventDoc {
    /// The journal's number.
    pub seq: u64,
    /// RFC 3339, UTC.
    pub at: String,
    /// `debug`, `info`, `notice`, `warning`, `error` or `critical`.
    pub level: String,
    /// `failure`, `restart`, …: the event's word in the catalogue.
    pub event: String,
    /// The service, or empty for the host.
    pub service: String,
    /// The text after `NAME: `.
    pub text: String,
    /// The check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The cause in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u8>,
    /// The live sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum: Option<u16>,
    /// Live restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts: Option<u16>,
    /// Allowed restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u16>,
    /// The instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
    /// The incident it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<u32>,
    /// The person who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
}

/// `POST /command`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// `start`, `stop`, `restart`, `hold`, `release`, `clear`, `giveover`, `monitor_stop`,
    /// `monitor_start`, `reload`, `debug`, `board`, `pool`, `node`.
    pub verb: String,
    /// `board`: `pair`, `confirm`, `arm`, `disarm`, `grace`, `clear`, `reset`, `end`. `pool`: `drain`,
    /// `enable`, `report`. `node`: `switch`, `attach`, `detach`, `promote`, `recover`, `recovered`.
    #[serde(default)]
    pub action: Option<String>,
    /// The services meant; for `pool` a pool and a member, for `node` a group or members.
    #[serde(default)]
    pub services: Vec<String>,
    /// All of them.
    #[serde(default)]
    pub all: bool,
    /// `hold`, `node recover`: for how long; null with `for_ever`.
    #[serde(default)]
    pub for_ms: Option<u64>,
    /// `hold`: the reason.
    #[serde(default)]
    pub reason: Option<String>,
    /// `giveover`: the node.
    #[serde(default)]
    pub to: Option<String>,
    /// `start`: the node that gave it over to us.
    #[serde(default)]
    pub from: Option<String>,
    /// `reload`: only say what would change.
    #[serde(default)]
    pub dry_run: bool,
    /// `debug`: `off`, `low` or `high`.
    #[serde(default)]
    pub level: Option<String>,
    /// `pool drain`: when connections that are left are cut.
    #[serde(default)]
    pub cut_after_ms: Option<u64>,
    /// `pool report`: the member's load in percent.
    #[serde(default)]
    pub load: Option<u8>,
    /// `pool report`: a work unit has failed.
    #[serde(default)]
    pub failed: bool,
    /// `node switch`: this node becomes active by a person's word alone.
    #[serde(default)]
    pub force: bool,
    /// `node attach` and the like: the group, where there are several.
    #[serde(default)]
    pub group: Option<String>,
}

/// The answer to a command. It comes when the command has been carried out or refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The exit status of the verb.
    pub exit: u8,
    /// What to tell the person, a line each.
    pub lines: Vec<String>,
}

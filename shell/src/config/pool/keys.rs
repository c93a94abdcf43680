//! The keys of pools.

use crate::config::schema::{Key, TableOf, key};

/// The tables, for `giveover schema`.
pub(crate) const TABLES: [TableOf; 7] = [
    TableOf {
        name: "[pool.NAME]",
        about: "Interchangeable members behind a balancer: a faulted one is excluded.",
        keys: POOL,
    },
    TableOf {
        name: "pool.NAME.member.NAME",
        about: "A member: HOST:PORT, or a table. HAProxy's name of the server.",
        keys: MEMBER,
    },
    TableOf { name: "pool.NAME.haproxy", about: "HAProxy, told over its socket.", keys: HAPROXY },
    TableOf { name: "pool.NAME.nft", about: "Maps and sets of nftables.", keys: NFT },
    TableOf {
        name: "pool.NAME.none_left",
        about: "What clients get when no member is left: one of page, redirect and reset, by plain \
                HTTP (a reset has no protocol).",
        keys: NONE_LEFT,
    },
    TableOf { name: "pool.NAME.busy", about: "When a member has too much to do.", keys: BUSY },
    TableOf { name: "pool.NAME.fall", about: "Failed cycles that exclude.", keys: FALL },
];

/// `[pool.NAME]`.
pub(super) const POOL: &[Key] = &[
    key("member", "tables", "", "the members"),
    key(
        "check",
        "tables",
        "",
        "ways to look at a member; $MEMBER in a URL is its HOST:PORT, a bare kind asks it",
    ),
    key(
        "ladder",
        "list of checks",
        "[]",
        "tried in this order, each only when the one before is healthy; others run beside",
    ),
    key("interval", "duration", "\"2s\"", "from cycle to cycle of a member"),
    key("probe_timeout", "duration", "\"1s\"", "the total deadline of one probe"),
    key("rise", "1 to 16", "2", "healthy cycles in a row that bring a member back"),
    key(
        "fall",
        "1 to 16, or { count, of }",
        "3",
        "failed cycles in a row, or among the last few, that exclude it",
    ),
    key(
        "min_members",
        "0 to the number of members",
        "1; 0 with none_left",
        "so many stay in, however their checks look",
    ),
    key(
        "heartbeat",
        "duration",
        "",
        "how often agents report: silent for (this + 10s) × 3, a \
         member is excluded; where a check hears agents it says so itself",
    ),
    key(
        "agent_required",
        "true or false",
        "false",
        "an agent that was never heard is silent too, and not just awaited",
    ),
    key("busy", "share, or { from, until }", "", "the load from which a member is busy"),
    key("agent", "ADDRESS:PORT", "", "where HAProxy's agent checks are answered"),
    key("haproxy", "table", "", "HAProxy, told over its socket"),
    key("nft", "table", "", "maps and sets of nftables"),
    key("ipvs", "ADDRESS:PORT", "", "the virtual service of IPVS"),
    key("command", "command", "", "run at each change: $SERVICE is the pool, $TO the new state"),
    key("none_left", "table", "", "what clients get when no member is left"),
    key("placement", "inline, parallel", "\"inline\"", "whether traffic passes through this host"),
    key(
        "any_service_fails",
        "service, member",
        "\"service\"",
        "member: out as well while the same host is out of another pool",
    ),
    key("cut", "true or false", "false", "cut the connections of a member that is excluded"),
];

/// `member.NAME`.
pub(super) const MEMBER: &[Key] = &[
    key("address", "HOST:PORT", "", "where it serves"),
    key("backup", "true or false", "false", "it gets work only while nobody else does"),
    key("weight", "1 to 256", "1", "its share, for nftables and IPVS; HAProxy has its own"),
];

/// `haproxy`.
pub(super) const HAPROXY: &[Key] = &[
    key("socket", "absolute path", "", "its administrative socket, level admin"),
    key("backend", "name", "the pool's", "its name of the pool"),
];

/// `nft`.
pub(super) const NFT: &[Key] = &[
    key("table", "FAMILY NAME", "", "a table of family ip, ip6 or inet"),
    key("map", "name", "", "slots to ADDRESS . PORT of those that work, as often as they weigh"),
    key("slots", "1 to 256", "64", "how many slots the map has"),
    key("set", "name", "", "ADDRESS . PORT of those that work"),
    key("cut", "name", "", "ADDRESS . PORT of those whose connections are rejected; needs cut"),
];

/// `none_left`.
pub(super) const NONE_LEFT: &[Key] = &[
    key("listen", "ADDRESS:PORT", "", "where we serve it; the balancer's last backup"),
    key("page", "absolute path", "", "this file, with status 503"),
    key("redirect", "http:// or https:// URL", "", "send clients there, with status 302"),
    key("reset", "true", "", "reset their connections"),
    key("retry_after", "duration", "", "when clients are told to come again"),
    key(
        "plain",
        "true or false",
        "false",
        "clients speak plain HTTP, though members are checked by TLS: the balancer ends it",
    ),
];

/// `busy`.
pub(super) const BUSY: &[Key] = &[
    key("from", "share", "", "from this load on it is busy"),
    key("until", "share", "20 points less", "until its load is below this"),
];

/// `fall`.
pub(super) const FALL: &[Key] = &[
    key("count", "1 to 16", "", "so many failed cycles"),
    key("of", "1 to 16", "", "among so many of the last"),
];

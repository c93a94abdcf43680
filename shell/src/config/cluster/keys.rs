//! The keys of the tables.

use super::super::schema::{Key, TableOf};

/// The tables, as `giveover schema` lists them.
pub(in crate::config) const TABLES: [TableOf; 4] = [
    TableOf {
        name: "[cluster]",
        about: "How nodes decide which of them holds a group.",
        keys: CLUSTER,
    },
    TableOf {
        name: "[cluster.etcd]",
        about: "The store that decides with quorum = \"etcd\", by plain HTTP.",
        keys: ETCD,
    },
    TableOf {
        name: "[node.NAME]",
        about: "One node. The same file is on all of them: a node is the one that `[host] node` \
                names, else the one whose address it has.",
        keys: NODE,
    },
    TableOf { name: "[group.NAME]", about: "What moves together between nodes.", keys: GROUP },
];

const fn key(
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    about: &'static str,
) -> Key {
    Key { name, takes, default, about }
}

/// `[cluster]`.
pub(super) const CLUSTER: &[Key] = &[
    key("key", "path, or name of a credential", "", "the file with the key that all nodes share"),
    key("quorum", "\"majority\", \"fence\", \"stay\", \"trusted\" or \"etcd\"", "", "who decides"),
    key(
        "fence",
        "{ command } or \"board\"",
        "",
        "what cuts the peer's power; \"board\": our board, whose second line is wired to it",
    ),
    key(
        "accept_two_holders",
        "true or false",
        "false",
        "that `trusted` can make two holders is known",
    ),
    key("interval", "duration", "10s", "between two looks at ourselves and at trusted servers"),
    key("life", "a number", "3", "so many failures in a row mean down"),
    key("heartbeat", "duration", "1s", "between two signs of life"),
    key("lease", "duration", "5s", "the address is held so long without a renewal"),
    key("jitter", "duration", "1s", "what timers and the kernel may be late by"),
    key("rate", "share", "5%", "by how much clocks may run at different rates"),
    key("wait", "duration", "8s", "so long an active must be silent before it is replaced"),
    key("stand_step", "duration", "2s", "between the turns of two standbys"),
    key("port", "a port", "9706", "where nodes hear each other"),
    key("etcd", "{ endpoints, prefix, ttl, margin }", "", "the store that decides"),
];

/// `cluster.etcd`.
pub(super) const ETCD: &[Key] = &[
    key("endpoints", "list of http://HOST:PORT", "", "the members of etcd"),
    key("prefix", "text", "/giveover", "what all its keys of ours begin with"),
    key("ttl", "duration, whole seconds", "10s", "how long the lease of an active is"),
    key("margin", "duration", "5s", "so long before its end an active is none any more"),
];

/// `cluster.fence`.
pub(super) const FENCE: &[Key] =
    &[key("command", "list of words", "", "cuts the power of $TO; exit 0 acknowledges")];

/// `[node.NAME]`.
pub(super) const NODE: &[Key] = &[
    key("address", "an address", "", "where the node is heard"),
    key("priority", "0 to 255", "0", "of two of one age the higher goes first"),
    key("witness", "true or false", "false", "it only votes"),
];

/// `[group.NAME]`.
pub(super) const GROUP: &[Key] = &[
    key("services", "list of names", "[]", "the services that move together"),
    key(
        "run",
        "\"active\" or \"all\"",
        "active",
        "where they run: with \"all\" on every node, and only the addresses move",
    ),
    key("addresses", "list of ADDRESS/PREFIX", "[]", "the addresses that move with them"),
    key("interface", "text", "that of the network", "where the addresses are"),
    key("label", "text", "", "a name for the addresses beside the interface's own, as eth0:0"),
    key("up", "list of words", "the kernel is asked", "sets the address $ADDRESS, or $_IP_$"),
    key("down", "list of words", "the kernel is asked", "takes it off"),
    key("announce", "list of words", "built in", "tells neighbours where it is"),
    key(
        "check",
        "tables",
        "",
        "asked of every node, whose address is $NODE; of the active alone, by itself, where the \
         services run on it only",
    ),
    key("on_active", "list of words", "", "must succeed before the address comes up"),
    key("on_standby", "list of words", "", "runs once the address is gone"),
    key("failback", "\"manual\"", "manual", "whether it goes back by itself"),
    key(
        "pingpong_interval",
        "duration",
        "1h",
        "a node that gave it over does not get it back within",
    ),
    key(
        "pool",
        "name",
        "",
        "the pool whose members are attached and detached on every node at once",
    ),
    key("promote", "list of words", "", "makes $MEMBER the primary, once on every node"),
    key(
        "recovery",
        "{ ports } or { block, unblock }",
        "",
        "what refuses new connections meanwhile",
    ),
];

/// `group.NAME.recovery`.
pub(super) const RECOVERY: &[Key] = &[
    key("ports", "list of ports", "", "new connections to these are reset, by nftables"),
    key("block", "list of words", "", "refuses new connections; exit 0 says that it does"),
    key("unblock", "list of words", "", "takes them again"),
];

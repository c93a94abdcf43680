//! The keys of these kinds, as `giveover schema` and `giveover help` print them.

use super::super::schema::{Key, TableOf, key};

/// The tables of these kinds.
pub(in crate::config) const TABLES: [TableOf; 14] = [
    TableOf {
        name: "check.NAME, kind smtp",
        about: "A mail server (port 25): its greeting is waited for, 220 is healthy; then QUIT, so \
                that it logs no lost connection.",
        keys: SMTP,
    },
    TableOf {
        name: "check.NAME, kind pop3",
        about: "A mailbox server (port 110): its greeting is waited for, `+OK` is healthy; then \
                QUIT.",
        keys: NONE,
    },
    TableOf {
        name: "check.NAME, kind imap",
        about: "A mailbox server (port 143): its greeting is waited for, `* OK` is healthy; then \
                LOGOUT.",
        keys: IMAP,
    },
    TableOf {
        name: "check.NAME, kind ftp",
        about: "A file server (port 21): its greeting is waited for, 220 is healthy, 120 (ready \
                later) is not; then QUIT.",
        keys: FTP,
    },
    TableOf {
        name: "check.NAME, kind nntp",
        about: "A news server (port 119): its greeting is waited for, 200 and 201 are healthy; \
                then QUIT.",
        keys: NNTP,
    },
    TableOf {
        name: "check.NAME, kind telnet",
        about: "A terminal server (port 23): `IAC DO` anywhere in what it begins with is healthy; \
                nothing is sent. Servers that write who logs in will note a login that came to \
                nothing.",
        keys: NONE,
    },
    TableOf {
        name: "check.NAME, kind ldap",
        about: "A directory (port 389): anonymous bind, and below `base` a search that always \
                matches; then unbind. `ldap://HOST/BASE` is the short form.",
        keys: LDAP,
    },
    TableOf {
        name: "check.NAME, kind redis",
        about: "A Redis or Valkey server (port 6379): PING, answered by PONG; then QUIT.",
        keys: REDIS,
    },
    TableOf {
        name: "check.NAME, kind mqtt",
        about: "A broker (port 1883): CONNECT by MQTT 3.1.1 with a clean session, accepted; then \
                DISCONNECT.",
        keys: MQTT,
    },
    TableOf {
        name: "check.NAME, kind postgres",
        about: "A PostgreSQL server (port 5432): start-up, then `query`, then Terminate. One that \
                asks for a password is healthy and is hung up on. `postgres://USER@HOST/DATABASE` \
                is the short form.",
        keys: POSTGRES,
    },
    TableOf {
        name: "check.NAME, kind dns",
        about: "A name server (port 53), asked for `name`: an answer to this question, from this \
                server, with a right response code. A query without an answer is sent three times \
                in all; silence weighs what `connect` does. `dns://HOST/NAME` is the short form.",
        keys: DNS,
    },
    TableOf {
        name: "check.NAME, kind rpc",
        about: "The null procedure of an ONC RPC program, called at the port that is named, else at \
                the one that rpcbind knows, which is asked first: that it does not say is of phase \
                `resolve`, that nobody has registered weighs what `connect` does. By datagram it \
                is called three times in all; silence weighs what `connect` does.",
        keys: RPC,
    },
    TableOf {
        name: "check.NAME, kind udp",
        about: "A datagram. Without `expect` any answer is healthy, and silence too: only a report \
                that it is unreachable is not. One is sent each 1.1 s for 4 s, because a dead \
                neighbour is known after 3 s and hosts report a closed port once a second; with \
                less `timeout` these are taken for health.",
        keys: UDP,
    },
    TableOf {
        name: "check.NAME, kind ping",
        about: "The host itself, by ICMP echo, which has no port: a reply with our identifier, \
                number and token. Sent three times within `timeout`; silence, and a report that \
                it cannot be reached, weigh what `connect` does. It needs CAP_NET_RAW, or a group \
                within net.ipv4.ping_group_range.",
        keys: NONE,
    },
];

/// The keys of `kind`, if it is one of these.
pub(in crate::config) fn of_kind(kind: &str) -> Option<&'static [Key]> {
    Some(match kind {
        "smtp" => SMTP,
        "pop3" | "telnet" | "ping" => NONE,
        "imap" => IMAP,
        "ftp" => FTP,
        "nntp" => NNTP,
        "ldap" => LDAP,
        "redis" => REDIS,
        "mqtt" => MQTT,
        "postgres" => POSTGRES,
        "dns" => DNS,
        "rpc" => RPC,
        "udp" => UDP,
        _ => return None,
    })
}

const NONE: &[Key] = &[];

pub(in crate::config) const PASSWORD_FILE: Key = key(
    "password_file",
    "absolute path, or the name of a credential",
    "",
    "the file with the password; one that others than its owner can read is refused",
);

const SMTP: &[Key] = &[
    key("expect", "numbers: 220, or \"2xx\"", "[220]", "which greetings are right"),
    key("ehlo", "name of a host", "", "said with EHLO after the greeting, to be answered by 250"),
];

const FTP: &[Key] =
    &[key("expect", "numbers: 220, or \"2xx\"", "[220]", "which greetings are right")];

const NNTP: &[Key] =
    &[key("expect", "numbers: 200, or \"2xx\"", "[200, 201]", "which greetings are right")];

const IMAP: &[Key] =
    &[key("preauth", "true or false", "false", "`* PREAUTH` is as good a greeting as `* OK`")];

const LDAP: &[Key] = &[
    key("base", "text, may be empty", "the URL's, else no search", "the entry a search asks for"),
    key("expect", "result codes", "[0]", "which are right, of the bind or the search"),
    key(
        "user",
        "distinguished name",
        "anonymous",
        "who binds, with the password of `password_file`",
    ),
    PASSWORD_FILE,
];

const REDIS: &[Key] = &[
    key(
        "expect",
        "words: \"PONG\", \"NOAUTH\", \"LOADING\", …",
        "[\"PONG\"]",
        "which answers are right; \"NOAUTH\" is that of a server with a password",
    ),
    key(
        "user",
        "text",
        "the server's default",
        "who says AUTH, with the password of `password_file`",
    ),
    PASSWORD_FILE,
];

const MQTT: &[Key] = &[
    key("client", "text", "empty: the broker gives one", "our client identifier"),
    key(
        "expect",
        "return codes, 0 to 5",
        "[0]",
        "which are right; 5 is that of a broker that wants a name",
    ),
    key("user", "text", "nobody", "who connects, with the password of `password_file`"),
    PASSWORD_FILE,
];

const POSTGRES: &[Key] = &[
    key("user", "text", "the URL's, else \"postgres\"", "the role"),
    key("database", "text", "the URL's, else \"postgres\"", "the database"),
    key("query", "text, may be empty", "\"SELECT 1\"", "what is run, if we are let in"),
    key("expect", "list of SQLSTATEs", "[]", "errors that are right all the same"),
];

const DNS: &[Key] = &[
    key("name", "name of a domain", "the URL's, else \".\", the root", "what is asked for"),
    key("type", "A, AAAA, SOA, NS, MX, …", "\"SOA\" of the root, else \"A\"", "what of it"),
    key("expect", "\"NOERROR\", \"NXDOMAIN\", …", "[\"NOERROR\"]", "which responses are right"),
    key("transport", "udp, tcp", "\"udp\"", "how it is asked"),
];

const RPC: &[Key] = &[
    key(
        "program",
        "rpcbind, nfsd, mountd, lockd, statd, or a number",
        "\"rpcbind\"",
        "whose null procedure is called",
    ),
    key("version", "0 to 4294967295", "the usual one, else 1", "which version of the program"),
    key("transport", "udp, tcp", "\"udp\"", "how it is called"),
];

const UDP: &[Key] = &[
    key("send", "text", "one byte, zero", "what the datagram holds"),
    key("expect", "text", "", "must appear in an answer, which is then waited for"),
];

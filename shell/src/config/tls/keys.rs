//! The keys of these kinds, as `giveover schema` and `giveover help` print them.

use super::super::schema::{self, Key, TableOf, key};
use super::super::talk;

/// The tables of these kinds.
pub(in crate::config) const TABLES: [TableOf; 11] = [
    TableOf {
        name: "check.NAME, TLS",
        about: "What is common to all that speaks TLS: https ftps smtps pop3s imaps nntps telnets \
                ldaps iiops and tls; smtp, pop3, imap, ftp and ldap with `starttls = true`; redis, \
                mqtt, postgres and remote with `tls = true`.",
        keys: TLS,
    },
    TableOf {
        name: "check.NAME, kind tls",
        about: "One hello for TLS 1.2 and 1.3 (port 443), to be answered by a ServerHello; an alert \
                is a failure. Nothing else is read, no certificate looked at. With `min_valid`, \
                `ca` or `verify` the whole handshake is made. `tls://NAME` with `address` asks for \
                NAME.",
        keys: TLS,
    },
    secured(
        "check.NAME, kind https",
        "As `http`, in TLS (port 443); its keys, and those of `giveover help tls`.",
        &[],
    ),
    secured(
        "check.NAME, kind ftps",
        "As `ftp`, in TLS (port 990); its keys, and those of `giveover help tls`.",
        &[],
    ),
    secured(
        "check.NAME, kind smtps",
        "As `smtp`, in TLS (port 465); its keys, and those of `giveover help tls`.",
        &[],
    ),
    secured("check.NAME, kind pop3s", "As `pop3`, in TLS (port 995).", TLS),
    secured(
        "check.NAME, kind imaps",
        "As `imap`, in TLS (port 993); its keys, and those of `giveover help tls`.",
        &[],
    ),
    secured(
        "check.NAME, kind nntps",
        "As `nntp`, in TLS (port 563); its keys, and those of `giveover help tls`.",
        &[],
    ),
    secured("check.NAME, kind telnets", "As `telnet`, in TLS (port 992).", TLS),
    secured(
        "check.NAME, kind ldaps",
        "As `ldap`, in TLS (port 636); its keys, and those of `giveover help tls`.",
        &[],
    ),
    secured("check.NAME, kind iiops", "A whole handshake (port 684), and nothing in it.", TLS),
];

const fn secured(name: &'static str, about: &'static str, keys: &'static [Key]) -> TableOf {
    TableOf { name, about, keys }
}

/// The keys that every check in TLS has.
pub(in crate::config) const TLS: &[Key] = &[
    key(
        "server_name",
        "name or address",
        "the URL's host, else the target's",
        "what the certificate must be for, and what is asked for (SNI)",
    ),
    key("ca", "path of a PEM file", "what this host trusts", "the authorities to trust"),
    key("verify", "true or false", "true", "false: anybody's certificate will do"),
    key(
        "min_valid",
        "duration, up to 10 years",
        "",
        "certificates valid for less are a failure that weighs `weights.expiry` (1); everything \
         else weighs more",
    ),
];

/// Whether a connection comes to TLS in the middle.
const STARTTLS: &[Key] = &[key(
    "starttls",
    "true or false",
    "false",
    "asks for TLS, then goes on in it; gives the check the keys of `giveover help tls`",
)];

/// Whether a connection begins with TLS, where the kind has no word for that.
const WITH_TLS: &[Key] = &[key(
    "tls",
    "true or false",
    "false",
    "in TLS; gives the check the keys of `giveover help tls`",
)];

/// The keys of `kind`, besides its own, if it can speak TLS: lists to look in.
pub(in crate::config) fn of_kind(kind: &str) -> [&'static [Key]; 3] {
    match kind {
        "smtp" | "pop3" | "imap" | "ftp" | "ldap" => [&[], STARTTLS, TLS],
        "redis" | "mqtt" | "postgres" | "remote" => [&[], WITH_TLS, TLS],
        _ => match super::inside(kind) {
            Some("") => [&[], &[], TLS],
            Some("http") => [schema::HTTP, &[], TLS],
            Some(inside) => [talk::of_kind(inside).unwrap_or_default(), &[], TLS],
            None => [&[], &[], &[]],
        },
    }
}

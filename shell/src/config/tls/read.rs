//! From the keys of these kinds to what is spoken, and to whom.

use rustls::pki_types::ServerName;

use super::super::plan::{Host, Kind, Target};
use super::super::reader::Reader;
use super::super::report::Findings;
use super::super::talk::{BannerPlan, Greets, Talk};
use super::super::target::Target as Url;
use super::super::tree::Node;
use super::super::values;
use super::{HelloPlan, KINDS, Opening, TlsPlan, Trust, Written};

/// The name we say EHLO with where none is written: STARTTLS comes after it.
const EHLO: &str = "localhost";

/// What every check in TLS has.
struct Common {
    name: Option<Box<str>>,
    trust: Trust,
    min_valid: Option<u32>,
}

/// A check of `kind`, one of [`KINDS`], in which `inner` is spoken.
pub(in crate::config) fn read(
    kind: &str,
    inner: Option<Kind>,
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    let Common { name, trust, min_valid } = common(url, reader, out)?;
    if kind == "tls" && !["verify", "ca", "min_valid"].iter().any(|key| reader.has(key)) {
        return Some(Kind::Hello(Box::new(HelloPlan { name })));
    }
    let place = KINDS.iter().position(|(word, _)| *word == kind).unwrap_or_default();
    let written = Written::Own(u8::try_from(place).unwrap_or_default());
    let opening = Opening::AtOnce;
    Some(Kind::Tls(Box::new(TlsPlan { written, inner, opening, trust, name, min_valid })))
}

/// A check of a kind that can come to TLS: as it is, or in TLS if it says so.
pub(in crate::config) fn wrapped(
    inner: Kind,
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<Kind> {
    if asked(reader, out) != Some(true) {
        let switch = match inner.word() {
            "redis" | "mqtt" | "postgres" | "remote" => "tls",
            _ => "starttls",
        };
        return refuse_without(reader, switch, out).then_some(inner);
    }
    let opening = match &inner {
        Kind::Talk(talk) => opening(talk),
        _ => Opening::AtOnce,
    };
    let Common { name, trust, min_valid } = common(url, reader, out)?;
    let inner = Some(inner);
    let written = Written::Inner;
    Some(Kind::Tls(Box::new(TlsPlan { written, inner, opening, trust, name, min_valid })))
}

fn opening(talk: &Talk) -> Opening {
    match talk {
        Talk::Banner(BannerPlan { greets: Greets::Smtp, ehlo, .. }) => {
            Opening::Smtp(ehlo.as_deref().unwrap_or(EHLO).into())
        }
        Talk::Banner(BannerPlan { greets: Greets::Ftp, .. }) => Opening::Ftp,
        Talk::Pop3 => Opening::Pop3,
        Talk::Imap { .. } => Opening::Imap,
        Talk::Ldap { .. } => Opening::Ldap,
        Talk::Postgres(_) => Opening::Postgres,
        _ => Opening::AtOnce,
    }
}

/// Whether TLS is asked for.
pub(in crate::config) fn asked(reader: &Reader<'_>, out: &mut Findings) -> Option<bool> {
    let key = ["starttls", "tls"].iter().find(|key| reader.has(key))?;
    reader.read(key, values::boolean, out)
}

/// Whom to trust and which name a certificate must have, for what has no dialogue of a check.
pub(in crate::config) fn whom(
    url: Option<&Url<'_>>,
    reader: &Reader<'_>,
    out: &mut Findings,
) -> Option<(Trust, Option<Box<str>>)> {
    if let Some(entry) = reader.entry("min_valid") {
        let message = "min_valid: means nothing to a connection that is kept";
        out.error(entry.place, message).label("a `tls` check of its own looks at the certificate");
    }
    let Common { name, trust, .. } = common(url, reader, out)?;
    Some((trust, name))
}

/// Refuses keys of TLS where none is spoken, `switch` being what begins it.
pub(in crate::config) fn refuse_without(
    reader: &Reader<'_>,
    switch: &str,
    out: &mut Findings,
) -> bool {
    let mut right = true;
    for key in ["server_name", "ca", "verify", "min_valid"] {
        if let Some(entry) = reader.entry(key) {
            let message = format!("`{key}` means nothing without TLS");
            out.error(entry.place, message).label(format!("{switch} = true begins it"));
            right = false;
        }
    }
    right
}

/// A hello that has no name asks for the one of the first target, if that is no address.
pub(in crate::config) fn named_by(mut kind: Kind, targets: &[Target]) -> Kind {
    if let (Kind::Hello(plan), Some(Target { host: Host::Name(name), .. })) =
        (&mut kind, targets.first())
    {
        plan.name.get_or_insert_with(|| name.clone());
    }
    kind
}

fn common(url: Option<&Url<'_>>, reader: &Reader<'_>, out: &mut Findings) -> Option<Common> {
    let min_valid = reader.read("min_valid", least_valid, out);
    let verify = reader.read("verify", values::boolean, out);
    let ca = reader.read("ca", values::path, out);
    if verify == Some(false) && ca.is_some() {
        let message = "ca: with verify = false nobody is asked whom to trust";
        out.error(reader.place("ca"), message).label("leave one of them out");
        return None;
    }
    let trust = match (verify, ca) {
        (Some(false), _) => Trust::Anybody,
        (_, Some(file)) => Trust::File(file.into()),
        _ => Trust::System,
    };
    let name = match reader.entry("server_name") {
        Some(entry) => {
            let text = values::text("server_name", &entry.node, out)?;
            if ServerName::try_from(text).is_err() {
                let message = format!("server_name: `{text}` is neither a name nor an address");
                out.error(entry.node.place, message).label("as in \"www.example.org\"");
                return None;
            }
            Some(text.into())
        }
        None => of_url(url),
    };
    Some(Common { name, trust, min_valid })
}

/// For how long a certificate has to be valid, in seconds. No authority signs for longer.
fn least_valid(key: &str, node: &Node, out: &mut Findings) -> Option<u32> {
    const MOST: u32 = 10 * 366 * 86_400;
    let seconds = values::long_span(key, node, out)?.div_ceil(1000);
    let fits = u32::try_from(seconds).ok().filter(|seconds| (1..=MOST).contains(seconds));
    if fits.is_none() {
        out.error(node.place, format!("{key}: must be 1s to 10 years")).label("as in \"30d\"");
    }
    fits
}

/// The host of a URL, if it is a name. An address is the target's own.
fn of_url(url: Option<&Url<'_>>) -> Option<Box<str>> {
    match &url?.address.as_ref()?.host {
        Host::Name(name) if ServerName::try_from(&**name).is_ok() => Some(name.clone()),
        _ => None,
    }
}

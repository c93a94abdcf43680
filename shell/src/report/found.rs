//! What a check found, in words and as a document; the same for the daemon and for `probe`.

use std::borrow::Cow;

use giveover_core::failure::{Cause, Phase, ProbeResult};

use super::model::CheckDoc;
use crate::config::plan::{CheckPlan, Kind, Method, ServicePlan};
use crate::config::talk::{BannerPlan, Talk, codes};
use crate::config::words;
use crate::config::{instance, remote, state};
use crate::message::{cause, secret, tls};

/// What `check` asked for, for explaining why it failed.
#[must_use]
pub fn asked<'a>(check: &'a CheckPlan, expected: &'a str) -> cause::Asked<'a> {
    let (timeout, hears) = match check.kind.spoken() {
        Kind::Agent(plan) => (plan.silence(), true),
        _ => (check.timeout, false),
    };
    let timeout_ms = u64::from(timeout.as_millis());
    cause::Asked { name: &check.name, expected, timeout_ms, hears, ..cause::Asked::default() }
}

/// What the code that was `found` means; empty where the number says it itself.
#[must_use]
pub fn answer_words(check: &CheckPlan, found: Cause) -> Cow<'_, str> {
    let words = match (check.kind.spoken(), found.phase) {
        (_, Phase::Answer) if found.code == instance::UNPARSABLE => {
            "the server's configuration cannot be parsed"
        }
        (Kind::Database(plan), Phase::Answer) if secret::words(found.code).is_none() => {
            return plan.code_words(found.code).into();
        }
        (_, Phase::Answer) if secret::words(found.code).is_some() => {
            secret::words(found.code).unwrap_or_default()
        }
        (Kind::Talk(talk), Phase::Answer) => talk.code_words(found.code),
        (Kind::Talk(talk), Phase::Connect)
            if matches!(**talk, Talk::Ping) && cause::is_not_permitted(found) =>
        {
            "no right to ping: it needs CAP_NET_RAW, or a group in net.ipv4.ping_group_range"
        }
        (Kind::Talk(talk), Phase::Resolve | Phase::Connect) if matches!(**talk, Talk::Rpc(_)) => {
            codes::numbered(&codes::RPC_LOOKUP, found.code)
        }
        (Kind::Command(plan), Phase::Exit) => plan.looks.words(found.code),
        (Kind::Remote(_), Phase::Answer) => remote::words_of(found.code),
        (Kind::State(_), Phase::Answer) => state::words_of(found.code),
        (Kind::Agent(plan), Phase::Answer) => plan.unit(found.code).unwrap_or("outside `units`"),
        _ => "",
    };
    words.into()
}

/// A cause in words, with the check's name and what it expected.
#[must_use]
pub fn cause_words(plan: &ServicePlan, found: Cause) -> String {
    match plan.checks.get(usize::from(found.check)) {
        Some(check) => {
            let expected = expected_words(&check.kind, found);
            let answer = answer_words(check, found);
            cause::named(found, cause::Asked { answer: &answer, ..asked(check, &expected) })
        }
        None => cause::named(found, cause::Asked::default()),
    }
}

/// A cause in words and no more than was seen, with the check's name.
#[must_use]
pub fn brief_words(plan: &ServicePlan, found: Cause) -> String {
    match plan.checks.get(usize::from(found.check)) {
        Some(check) => {
            let answer = answer_words(check, found);
            cause::named_briefly(found, cause::Asked { answer: &answer, ..asked(check, "") })
        }
        None => cause::named_briefly(found, cause::Asked::default()),
    }
}

/// What would have been right in place of what was `found`, in words: statuses, or where the
/// status was right, what the body lacks. Empty where a code says nothing.
#[must_use]
pub fn expected_words(kind: &Kind, found: Cause) -> String {
    if secret::words(found.code).is_some() || found.code == instance::UNPARSABLE {
        return String::new();
    }
    let http = match kind.spoken() {
        Kind::Http(http) => http,
        Kind::Talk(talk) => return talk_expected(talk),
        Kind::Remote(plan) if found.code < remote::UNKNOWN => {
            return words::or(
                plan.expect.iter().map(|code| codes::named(&remote::STATUSES, *code)),
            );
        }
        Kind::State(plan) if found.code < state::NO_UNIT => {
            return words::or(plan.expect.iter().map(|code| codes::named(&state::STATES, *code)));
        }
        _ => return String::new(),
    };
    let right = http.expect.iter().any(|(first, last)| (*first..=*last).contains(&found.code));
    match &http.body {
        Some(body) if right && found.phase == Phase::Answer => {
            format!("{} in its body", quoted(body))
        }
        _ if http.by_document && http.method == Method::Get => String::from("anything but 500"),
        _ => cause::expected(&http.expect),
    }
}

/// What a server should have answered.
fn talk_expected(talk: &Talk) -> String {
    match talk {
        Talk::Banner(plan) if plan.ehlo.is_some() => {
            format!("{}, then 250 to EHLO", cause::expected(&plan.expect))
        }
        Talk::Banner(BannerPlan { expect, .. })
        | Talk::Mqtt { expect, .. }
        | Talk::Ldap { expect, .. } => cause::expected(expect),
        Talk::Pop3 => String::from("+OK"),
        Talk::Imap { preauth: false } => String::from("OK"),
        Talk::Imap { preauth: true } => String::from("OK or PREAUTH"),
        Talk::Redis { expect, .. } => {
            words::or(expect.iter().map(|code| codes::named(&codes::REDIS, *code)))
        }
        Talk::Dns(plan) => {
            words::or(plan.expect.iter().map(|(code, _)| codes::numbered(&codes::DNS, *code)))
        }
        Talk::Rpc(_) => String::from("SUCCESS"),
        Talk::Telnet | Talk::Postgres(_) | Talk::Udp { .. } | Talk::Ping => String::new(),
    }
}

/// The beginning of what a body should hold, in quotes, with nothing in it that could move a
/// cursor.
fn quoted(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// What a healthy answer showed: an HTTP status.
#[must_use]
pub fn shown_words(kind: &Kind, shown: u16) -> String {
    match kind.spoken() {
        Kind::Tls(_) if shown > 0 => format!("certificate valid for {}", tls::days(shown)),
        Kind::Http(_) if shown > 0 => shown.to_string(),
        Kind::Remote(_) => codes::named(&remote::STATUSES, shown).to_owned(),
        Kind::State(_) => codes::named(&state::STATES, shown).to_owned(),
        Kind::Agent(_) if shown > 0 => load_words(shown),
        Kind::Talk(talk) if shown > 0 => match talk.code_words(shown) {
            "" => shown.to_string(),
            words => words.to_owned(),
        },
        _ => String::new(),
    }
}

/// A load as a heartbeat's answer shows it: hundredths, and one.
fn load_words(shown: u16) -> String {
    let load = shown - 1;
    format!("load {}.{:02}", load / 100, load % 100)
}

/// A check's result in words, healthy or not, without its name.
#[must_use]
pub fn result_words(check: &CheckPlan, result: Option<ProbeResult>, shown: u16) -> String {
    match result {
        None | Some(ProbeResult::Void) => String::new(),
        Some(ProbeResult::Healthy) => shown_words(&check.kind, shown),
        Some(
            ProbeResult::Failed(_, found)
            | ProbeResult::Immediate(found)
            | ProbeResult::CannotMeasure(found),
        ) => {
            let expected = expected_words(&check.kind, found);
            let answer = answer_words(check, found);
            cause::seen(found, cause::Asked { answer: &answer, ..asked(check, &expected) })
        }
    }
}

/// The document of a check's result. `at` is empty before the first.
#[must_use]
pub fn check_doc(
    check: &CheckPlan,
    result: Option<ProbeResult>,
    shown: u16,
    ms: u32,
    at: String,
) -> CheckDoc {
    let (outcome, weight, phase) = match result {
        None => ("none", None, None),
        Some(ProbeResult::Healthy) => ("healthy", None, None),
        Some(ProbeResult::Failed(weight, found)) => {
            let outcome = if weight.value() < 100 { "partial" } else { "complete" };
            (outcome, Some(weight.value()), Some(found.phase))
        }
        Some(ProbeResult::Immediate(found)) => ("immediate", Some(100), Some(found.phase)),
        Some(ProbeResult::CannotMeasure(found)) => ("unmeasured", None, Some(found.phase)),
        Some(ProbeResult::Void) => ("void", None, None),
    };
    CheckDoc {
        name: check.name.to_string(),
        kind: check.word().to_owned(),
        outcome: outcome.to_owned(),
        weight,
        cause: result_words(check, result, shown),
        phase: phase.map(|phase| phase.word().to_owned()),
        ms,
        at,
        observed: check.observe,
        address: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use giveover_core::time::Span;
    use giveover_core::weight::Weight;

    use crate::config::plan::{HttpPlan, Question, Weights};
    use crate::config::talk::{DnsPlan, Greets};

    #[test]
    fn a_page_with_the_right_status_and_the_wrong_body_says_what_it_lacks() {
        let body: Box<[u8]> = b"all \x1b well".as_slice().into();
        let http = HttpPlan {
            by_document: false,
            method: Method::Get,
            path: "/".into(),
            host: "localhost".into(),
            expect: vec![(200, 299)],
            body: Some(body),
            cap: 1,
        };
        let kind = Kind::Http(http.into());
        let words = |code| expected_words(&kind, Cause::of_check(0, Phase::Answer, code));
        assert_eq!(words(200), "\"all \\u{1b} well\" in its body");
        assert_eq!(words(503), "2xx");
    }

    #[test]
    fn codes_that_stand_for_words_are_said_as_words() {
        let of = |talk: Talk, code: u16| {
            let kind = Kind::Talk(Box::new(talk));
            let found = Cause::of_check(0, Phase::Answer, code);
            let question = Question {
                name: "c".into(),
                kind,
                timeout: Span::from_secs(1),
                weights: Weights::DEFAULT,
                every: None,
                observe: false,
                instance: None,
            };
            let check = CheckPlan { targets: Vec::new().into(), question: question.into() };
            let failed = result_words(&check, Some(ProbeResult::Failed(Weight::HALF, found)), 0);
            (failed, result_words(&check, Some(ProbeResult::Healthy), code))
        };
        let said = |talk, code| of(talk, code).0;
        let banner = |greets, ehlo: Option<&str>| {
            let ehlo = ehlo.map(Into::into);
            Talk::Banner(BannerPlan { greets, expect: vec![(220, 220)], ehlo })
        };
        assert_eq!(said(banner(Greets::Ftp, None), 421), "421, expected 220");
        let ehlo = said(banner(Greets::Smtp, Some("x")), 502);
        assert_eq!(ehlo, "502, expected 220, then 250 to EHLO");
        assert_eq!(said(Talk::Pop3, 1), "-ERR, expected +OK");
        assert_eq!(said(Talk::Imap { preauth: false }, 3), "BYE, expected OK");
        assert_eq!(said(Talk::Imap { preauth: true }, 3), "BYE, expected OK or PREAUTH");
        let redis = Talk::Redis { expect: vec![1, 2], login: None };
        assert_eq!(of(redis, 2), ("NOAUTH, expected PONG or NOAUTH".into(), "NOAUTH".into()));
        let ldap = || Talk::Ldap { base: None, expect: vec![(0, 0)], login: None };
        assert_eq!(said(ldap(), 49), "49 invalidCredentials, expected 0");
        assert_eq!(said(ldap(), 80), "80, expected 0", "without a name");
        assert_eq!(said(ldap(), 0), "wrong answer");
        let dns = DnsPlan { question: [0].into(), expect: vec![(0, 0), (3, 3)], tcp: false };
        let refused = of(Talk::Dns(dns.clone()), 5);
        assert_eq!(refused.0, "REFUSED, expected NOERROR or NXDOMAIN");
        assert_eq!(of(Talk::Dns(dns), 3).1, "NXDOMAIN");
        assert_eq!(of(banner(Greets::Nntp, None), 201).1, "201");
        assert_eq!(of(Talk::Telnet, 0), ("wrong answer".into(), String::new()));
    }
}

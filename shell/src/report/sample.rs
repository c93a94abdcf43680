//! The services of the interface document's screens, for the tests of the screens.

use super::model::*;
use super::time::Moment;

/// The moment of the screens.
pub(crate) const AT: &str = "2026-11-29T14:01:16Z";

pub(crate) fn now() -> Moment {
    Moment::parse(AT).expect("a time")
}

pub(crate) fn today(time: &str) -> String {
    format!("2026-11-29T{time}Z")
}

pub(crate) fn check(
    name: &str,
    outcome: &str,
    weight: Option<u8>,
    cause: &str,
    ms: u32,
) -> CheckDoc {
    CheckDoc {
        name: name.into(),
        kind: "http".into(),
        outcome: outcome.into(),
        weight,
        cause: cause.into(),
        phase: weight.map(|_| "answer".into()),
        ms,
        at: today("14:01:02"),
        observed: false,
        address: None,
    }
}

/// The service of "status web".
pub(crate) fn web() -> ServiceDoc {
    ServiceDoc {
        name: "web".into(),
        status: "degraded".into(),
        message: "Service is degraded".into(),
        detail: "page 503, expected 200 or 204".into(),
        since: today("14:01:02"),
        for_ms: 14_000,
        mode: "soft".into(),
        giveover: "none".into(),
        pid: Some(912),
        unit: Some("nginx.service".into()),
        generation: 7,
        started: Some(StartedDoc { at: today("13:58:03"), by: "giveover".into() }),
        failure_sum: 50,
        failures: vec![RecordDoc {
            at: today("14:01:02"),
            weight: 50,
            cause: "page 503, expected 200 or 204".into(),
            forgotten_in_ms: 586_000,
        }],
        restarts: 1,
        restart_records: vec![RecordDoc {
            at: today("13:58:02"),
            weight: 100,
            cause: "page 503, page 503".into(),
            forgotten_in_ms: 406_000,
        }],
        retry_count: Some(2),
        retry_interval_ms: 600_000,
        interval_ms: 30_000,
        waiting_for: "probe".into(),
        next_in_ms: Some(16_000),
        next_failure: "restart".into(),
        next_delay_ms: 5_000,
        refills_in_ms: Some(406_000),
        cycles: ".............ooR...o".into(),
        checks: vec![
            check("page", "partial", Some(50), "503, expected 200 or 204", 2),
            check("site", "healthy", None, "200", 11),
            CheckDoc {
                observed: true,
                at: today("12:00:14"),
                ..check("cert", "healthy", None, "61 days left", 9)
            },
        ],
        ..ServiceDoc::default()
    }
}

fn ok(name: &str, for_ms: u64, next_in_ms: u64) -> ServiceDoc {
    ServiceDoc {
        name: name.into(),
        status: "ok".into(),
        message: "Service is online".into(),
        for_ms,
        mode: "soft".into(),
        giveover: "none".into(),
        retry_count: Some(2),
        retry_interval_ms: 600_000,
        waiting_for: "probe".into(),
        next_in_ms: Some(next_in_ms),
        next_failure: "restart".into(),
        cycles: "....................".into(),
        ..ServiceDoc::default()
    }
}

pub(crate) fn until(time: &str) -> HeldDoc {
    HeldDoc {
        by: "operator".into(),
        who: Some("ops".into()),
        why: Some("broker upgrade".into()),
        since: today("13:50:00"),
        until: Some(today(time)),
    }
}

fn document(services: Vec<ServiceDoc>) -> StatusDoc {
    StatusDoc {
        schema: 1,
        version: "0.4.0".into(),
        at: AT.into(),
        host: HostDoc {
            node: "gw-017".into(),
            pid: 411,
            up_ms: 41 * 86_400_000,
            file: "/etc/giveover/giveover.toml".into(),
            included: 1,
            actions: ActionsDoc { spent: 4, count: 20, per_ms: 3_600_000, frees_in_ms: None },
            trusted: TrustedDoc { answering: 0, total: 2 },
            journal: "ok".into(),
            ..HostDoc::default()
        },
        services,
        ..StatusDoc::default()
    }
}

/// "status" on the gateway with its uplink lost, in file order.
pub(crate) fn gateway() -> StatusDoc {
    let uplink = ServiceDoc {
        status: "faulted".into(),
        message: "Service has failed".into(),
        restarts: 3,
        retry_count: Some(3),
        retry_interval_ms: 3_600_000,
        held: Some(HeldDoc {
            by: "budget".into(),
            since: today("14:00:36"),
            until: Some(today("14:51:00")),
            ..HeldDoc::default()
        }),
        checks: vec![check("out", "complete", Some(100), "no reply in 10s", 10_000)],
        ..ok("uplink", 40_000, 41_000)
    };
    let mqtt = ServiceDoc {
        status: "degraded".into(),
        message: "Service is degraded".into(),
        unmet: vec!["uplink".into()],
        checks: vec![check("port", "complete", Some(100), "refused", 1)],
        ..ok("mqtt", 250_000, 9_000)
    };
    let web = ServiceDoc {
        checks: vec![
            check("page", "healthy", None, "200", 3),
            check("site", "healthy", None, "200", 11),
        ],
        ..ok("web", 12 * 86_400_000, 12_000)
    };
    let collector = ServiceDoc {
        restarts: 1,
        held: Some(until("16:00:00")),
        checks: vec![check("api", "healthy", None, "200", 1)],
        ..ok("collector", 7_200_000, 3_000)
    };
    document(vec![web, collector, uplink, mqtt])
}

/// "status --watch", in file order.
pub(crate) fn watched() -> StatusDoc {
    let mqtt = ServiceDoc {
        held: Some(until("14:30:00")),
        cycles: "xxxx--------........".into(),
        ..ok("mqtt", 2_400_000, 9_000)
    };
    let uplink = ServiceDoc { retry_count: Some(3), ..ok("uplink", 12 * 86_400_000, 41_000) };
    let collector = ServiceDoc {
        restarts: 1,
        cycles: "......R......?......".into(),
        ..ok("collector", 7_200_000, 3_000)
    };
    let mut doc = document(vec![mqtt, web(), uplink, collector]);
    doc.host.trusted.answering = 2;
    doc.host.actions.spent = 1;
    doc
}

pub(crate) fn event(time: &str, event: &str, text: &str) -> EventDoc {
    let level = crate::message::Event::from_word(event).expect("an event").level();
    EventDoc {
        seq: 1,
        at: today(time),
        level: level.word().into(),
        event: event.into(),
        service: "web".into(),
        text: text.into(),
        ..EventDoc::default()
    }
}

/// What led to the restart of [`web`], and what came after it; oldest first.
pub(crate) fn history() -> Vec<EventDoc> {
    let failure = |time: &str, sum: u16| EventDoc {
        cause: Some("page 503".into()),
        weight: Some(50),
        sum: Some(sum),
        check: Some("page".into()),
        ..event(
            time,
            "failure",
            &format!("page 503, expected 200 or 204, weight 50 (sum {sum} of 100)"),
        )
    };
    vec![
        failure("13:57:32", 50),
        failure("13:58:02", 100),
        event("13:58:02", "restart", "restart 1 of 2: page 503, page 503 (sum 100)"),
        event("13:58:03", "restarted", "started, generation 7, pid 912, after 1.3 s"),
        failure("14:01:02", 50),
    ]
}

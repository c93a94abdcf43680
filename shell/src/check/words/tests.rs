use giveover_core::time::Span;

use super::*;
use crate::config::plan::{Method, Weights};

fn check(name: &str, kind: Kind) -> CheckPlan {
    CheckPlan {
        name: name.into(),
        kind,
        targets: Vec::new(),
        timeout: Span::from_secs(10),
        weights: Weights::DEFAULT,
        every: None,
        observe: false,
    }
}

/// page, port, fonts and c, in this order.
fn checks() -> Vec<CheckPlan> {
    let http = HttpPlan {
        method: Method::Get,
        path: "/".into(),
        host: "localhost".into(),
        expect: vec![(200, 200), (204, 204)],
        body: None,
        cap: 1,
    };
    vec![
        check("page", Kind::Http(http.into())),
        check("port", Kind::Tcp { send: None, expect: None }),
        check("fonts", Kind::Xfnts { fsinfo: "fsinfo".into() }),
        check("c", Kind::Process),
    ]
}

fn of(check: u8, phase: Phase, code: u16) -> Cause {
    Cause::of_check(check, phase, code)
}

#[test]
fn causes_are_said_as_people_say_them() {
    let errno = |check, phase, errno| of(check, phase, code(errno));
    let cases = [
        (of(0, Phase::Answer, 503), "page 503, expected 200 or 204", "page 503"),
        (
            of(0, Phase::Answer, 200),
            "page 200, body does not match",
            "page 200, body does not match",
        ),
        (of(0, Phase::Answer, 0), "page: not an HTTP answer", "page: not an HTTP answer"),
        (of(1, Phase::Answer, 0), "port: wrong answer", "port: wrong answer"),
        (errno(1, Phase::Connect, Errno::CONNREFUSED), "port: connection refused", "port: refused"),
        (errno(1, Phase::Connect, Errno::TIMEDOUT), "port: no connection in 10s", ""),
        (errno(2, Phase::Connect, Errno::TIMEDOUT), "fonts: no connection in 9.5s", ""),
        (errno(2, Phase::Close, Errno::TIMEDOUT), "fonts: not closed in 10s", ""),
        (errno(0, Phase::Read, Errno::TIMEDOUT), "page: no answer in 10s", ""),
        (errno(0, Phase::Read, Errno::CONNRESET), "page: connection reset", ""),
        (
            errno(0, Phase::Read, Errno::NODATA),
            "page: connection closed before the answer was complete",
            "",
        ),
        (errno(0, Phase::Connect, Errno::MFILE), "page: no file descriptors (EMFILE)", ""),
        (errno(0, Phase::Resolve, Errno::NOENT), "page: no such name", ""),
        (errno(0, Phase::Resolve, Errno::TIMEDOUT), "page: name not resolved in 10s", ""),
        (of(3, Phase::Silence, 0), "c: no reply in 10s", ""),
        (of(3, Phase::Exit, 2), "c: exit status 2", ""),
        (of(3, Phase::Exit, Cause::SIGNAL + 9), "c: signal 9 (KILL)", ""),
        (of(3, Phase::Exit, Cause::TIMED_OUT), "c: no end in 10s", ""),
        (
            of(3, Phase::Exit, Cause::ERRNO + code(Errno::NOENT)),
            "c: cannot be run: no such file",
            "",
        ),
        (of(9, Phase::Exit, 1), "check 9: exit status 1", ""),
        (Cause::new(Phase::Died, Cause::SIGNAL + 9), "died: signal 9 (KILL)", ""),
        (Cause::new(Phase::Died, Cause::SIGNAL + 64), "died: signal 64", ""),
        (Cause::new(Phase::Died, 0), "died: exit status 0", ""),
        (Cause::new(Phase::Died, Cause::UNKNOWN), "died", ""),
        (Cause::new(Phase::Reported, 50), "reported 50", ""),
        (Cause::new(Phase::Start, 1), "start failed: exit status 1", ""),
        (Cause::new(Phase::Start, Cause::TIMED_OUT), "start failed: no end in time", ""),
        (
            Cause::new(Phase::Stop, Cause::ERRNO + code(Errno::ACCESS)),
            "stop failed: cannot be run: permission denied (EACCES)",
            "",
        ),
    ];
    for (cause, whole, brief) in cases {
        assert_eq!(cause_words(&checks(), cause, None), whole);
        let brief = if brief.is_empty() { whole } else { brief };
        assert_eq!(cause_brief(&checks(), cause, None), brief);
    }
}

#[test]
fn weights_stand_behind() {
    let cause = of(0, Phase::Answer, 503);
    let words = cause_words(&checks(), cause, Some(Weight::HALF));
    assert_eq!(words, "page 503, expected 200 or 204, weight 50");
    assert_eq!(cause_brief(&checks(), cause, Some(Weight::HALF)), "page 503 (50)");
}

#[test]
fn what_passed_shows_what_it_saw() {
    let checks = checks();
    assert_eq!(healthy_brief(&checks[0], 200, 3), "page 200 3ms");
    assert_eq!(healthy_brief(&checks[1], 0, 1), "port 1ms");
    assert_eq!(seen_words(&checks[0], of(0, Phase::Answer, 503)), "503, expected 200 or 204");
}

#[test]
fn expected_numbers_are_said_as_people_say_them() {
    let words = |expect: &[(u16, u16)]| {
        let Kind::Http(plan) = checks().swap_remove(0).kind else { return String::new() };
        expected_words(&HttpPlan { expect: expect.to_vec(), ..*plan })
    };
    assert_eq!(words(&[(200, 299), (300, 399)]), "2xx or 3xx");
    assert_eq!(words(&[(200, 206)]), "200 to 206");
    assert_eq!(words(&[(200, 200), (301, 301), (302, 302)]), "200, 301 or 302");
    assert_eq!(words(&[(65_500, u16::MAX)]), "65500 to 65535");
    assert_eq!(words(&[]), "nothing");
}

#[test]
fn every_code_of_every_phase_has_words() {
    let checks = checks();
    for phase in Phase::ALL {
        for code in 0..=u16::MAX {
            let cause = Cause { check: (code % 6) as u8, phase, code };
            assert!(!cause_words(&checks, cause, None).is_empty());
        }
    }
}

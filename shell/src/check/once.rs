//! One check, once, for whoever waits for it: `giveover probe`.

use std::io;
use std::time::Duration;

use giveover_core::failure::{Phase, ProbeResult};
use giveover_core::time::{Instant, Span};

use super::command::{Command, Commands, Told};
use super::database::Databases;
use super::{Answer, Handover, ProbeId, Prober, TraceStep};
use crate::config::dollar::Values;
use crate::config::plan::{CheckPlan, CommandPlan, Kind};
use crate::reactor::{Reactor, Ready, Room};

/// What one probe saw on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Once {
    /// Its steps, in the order they were completed.
    pub steps: Vec<TraceStep>,
    /// How it ended.
    pub end: Ended,
    /// From start to end, in milliseconds.
    pub elapsed_ms: u32,
}

/// How a probe that was made once ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a verdict, or without one.
    Answered {
        /// What it is.
        result: ProbeResult,
        /// What a healthy answer showed, zero if nothing.
        shown: u16,
    },
    /// The socket part of an `xfnts` probe went well: the command may take the rest.
    HandedOver {
        /// So much is left, in milliseconds.
        remaining_ms: u64,
    },
}

/// Probes the target numbered `target` of a `tcp`, `http` or `xfnts` check, on a loop of its
/// own, and returns when it is over: at the latest when the check's timeout is. Causes carry
/// the number `check`. `now` is the caller's clock.
///
/// # Errors
/// The kernel refused a descriptor or failed to wait. Nothing was probed.
pub fn probe_once(
    plan: &CheckPlan,
    check: u8,
    target: u8,
    mut now: impl FnMut() -> Instant,
) -> io::Result<Once> {
    if matches!(plan.kind, Kind::Database(_)) {
        return ask_database(plan, check, now);
    }
    let mut reactor = Reactor::new()?;
    let mut prober = Prober::new();
    let started = now();
    prober.begin_trace(started);
    let id = ProbeId { service: 0, check, target, cycle: 0 };
    prober.start(&mut reactor, plan, id, started);
    let mut ready: Vec<Ready> = Vec::new();
    loop {
        let at = now();
        if let Some(end) = taken(&mut prober, at) {
            let elapsed_ms = u32::try_from(at.since(started)).unwrap_or(u32::MAX);
            return Ok(Once { steps: prober.end_trace(at), end, elapsed_ms });
        }
        let limit = reactor.timers.next().map_or(0, |due| due.since(at));
        let limit = Span::from_millis(u32::try_from(limit).unwrap_or(u32::MAX));
        reactor.wait(Some(limit.as_duration()), &mut ready)?;
        let at = now();
        for ready in ready.drain(..) {
            prober.ready(&mut reactor, plan, ready, at);
        }
        while let Some(token) = reactor.timers.pop_due(at) {
            if token.room == Room::Probe {
                prober.due(&mut reactor, plan, token, at);
            }
        }
    }
}

/// The same for a monitor of a database.
fn ask_database(plan: &CheckPlan, check: u8, mut now: impl FnMut() -> Instant) -> io::Result<Once> {
    let mut reactor = Reactor::new()?;
    let mut databases = Databases::new();
    let started = now();
    databases.begin_trace(started);
    let id = ProbeId { service: 0, check, target: 0, cycle: 0 };
    databases.start(&mut reactor, "", (plan, true), id, started);
    let mut ready: Vec<Ready> = Vec::new();
    loop {
        let at = now();
        if let Some(told) = databases.answer() {
            let Answer { result, shown, .. } = told.answer;
            let elapsed_ms = u32::try_from(at.since(started)).unwrap_or(u32::MAX);
            let steps = databases.end_trace(at);
            return Ok(Once { steps, end: Ended::Answered { result, shown }, elapsed_ms });
        }
        let limit = reactor.timers.next().map_or(0, |due| due.since(at));
        let limit = Span::from_millis(u32::try_from(limit).unwrap_or(u32::MAX));
        reactor.wait(Some(limit.as_duration()), &mut ready)?;
        let at = now();
        for ready in ready.drain(..) {
            match ready.token.room {
                Room::Resolver => databases.names_ready(&mut reactor, at),
                _ => databases.ready(&mut reactor, ready, at),
            }
        }
        while let Some(token) = reactor.timers.pop_due(at) {
            databases.due(&mut reactor, token, at);
        }
    }
}

/// Runs the command of a `command` check, or of one of those that look at this host, on a loop of
/// its own. Causes carry the number `check`.
///
/// # Errors
/// The kernel refused a descriptor or failed to wait, or the command cannot be made.
pub fn run_once(
    plan: &CheckPlan,
    command: &CommandPlan,
    check: u8,
    now: impl Fn() -> Instant,
) -> io::Result<Once> {
    let mut reactor = Reactor::new()?;
    let mut commands = Commands::new();
    let environment = reactor.children.environment().clone();
    let command = Command::new(command, &plan.weights, &Values::default(), &environment);
    let mut command = command.map_err(io::Error::other)?;
    let id = ProbeId { service: 0, check, target: 0, cycle: 0 };
    commands.start(&mut reactor, id, &mut command, plan.timeout, now());
    let mut ready: Vec<Ready> = Vec::new();
    loop {
        if let Some(Told { answer, line }) = commands.answer() {
            let Answer { result, shown, elapsed_ms, .. } = answer;
            let step =
                |text| TraceStep { phase: Phase::Exit, text, took_ms: u64::from(elapsed_ms) };
            let steps = line.map(|line| step(format!("< {line}"))).into_iter().collect();
            return Ok(Once { steps, end: Ended::Answered { result, shown }, elapsed_ms });
        }
        let at = now();
        let limit = reactor.timers.next().map(|due| Duration::from_millis(due.since(at)));
        reactor.wait(limit, &mut ready)?;
        let at = now();
        for ready in ready.drain(..) {
            commands.ready(&mut reactor, ready.token, at);
        }
        while let Some(token) = reactor.timers.pop_due(at) {
            commands.due(&mut reactor, token, at);
        }
    }
}

fn taken(prober: &mut Prober, now: Instant) -> Option<Ended> {
    let answer: Option<Answer> = prober.answers().next();
    let handover: Option<Handover> = prober.handovers().next();
    match (answer, handover) {
        (Some(Answer { result, shown, .. }), _) => Some(Ended::Answered { result, shown }),
        (None, Some(handover)) => {
            Some(Ended::HandedOver { remaining_ms: handover.remaining_ms(now) })
        }
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use giveover_core::failure::Cause;
    use giveover_core::weight::Weight;

    use super::*;
    use crate::config::plan::{Host, HttpPlan, Kind, Method, Question, Target, Weights};

    fn clock() -> impl FnMut() -> Instant {
        let start = std::time::Instant::now();
        move || Instant::from_millis(start.elapsed().as_millis() as u64)
    }

    fn plan(host: Host, port: u16, timeout: Span) -> CheckPlan {
        let http = HttpPlan {
            by_document: false,
            method: Method::Get,
            path: "/x".into(),
            host: "localhost".into(),
            expect: vec![(200, 399)],
            body: None,
            cap: 4096,
        };
        let question = Question {
            name: "page".into(),
            kind: Kind::Http(http.into()),
            timeout,
            weights: Weights::DEFAULT,
            every: None,
            observe: false,
            instance: None,
        };
        CheckPlan { targets: vec![Target { host, port }].into(), question: question.into() }
    }

    fn failed(once: &Once) -> (Phase, u16) {
        match once.end {
            Ended::Answered { result: ProbeResult::Failed(weight, cause), .. } => {
                assert_eq!((weight, cause.check), (Weight::HALF, 5));
                (cause.phase, cause.code)
            }
            ref other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_step_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = [0; 1024];
            assert!(stream.read(&mut request).expect("a request") > 0);
            stream.write_all(b"HTTP/1.1 503 Busy\r\n\r\nsorry").expect("sent");
        });
        let plan = plan(Host::Name("127.0.0.1".into()), address.port(), Span::from_secs(10));
        let once = probe_once(&plan, 5, 0, clock()).expect("a probe");
        server.join().expect("no panic");
        assert_eq!(failed(&once), (Phase::Answer, 503));
        let steps: Vec<(&str, &str)> =
            once.steps.iter().map(|step| (step.phase.word(), &*step.text)).collect();
        let expected = [
            ("resolve", "127.0.0.1"),
            ("connect", &*address.to_string()),
            ("send", "> GET /x HTTP/1.1"),
            ("read", "< HTTP/1.1 503 Busy (26 B)"),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn it_ends_with_its_timeout() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let plan = plan(Host::Address(address.ip()), address.port(), Span::from_millis(20));
        let once = probe_once(&plan, 5, 0, clock()).expect("a probe");
        let late =
            Cause::of_check(5, Phase::Read, rustix::io::Errno::TIMEDOUT.raw_os_error() as u16);
        assert_eq!(failed(&once), (late.phase, late.code));
        assert!(once.elapsed_ms >= 20);
    }
}

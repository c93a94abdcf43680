//! Time of one `handle`: healthy, partial, complete, and the purge of a full ring.
//!
//! A cycle is two events, the timer that begins the probe and its answer; a group says how many
//! events its times are for, and Criterion prints events a second beside them. The monitor is the
//! same one for as long as a figure is measured, but for the purge, which needs a full ring.

#![allow(missing_docs)] // Criterion's macro writes a public function

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use giveover_core::failure::{Cause, Failure, Phase, ProbeResult};
use giveover_core::history::{FailureSlots, History, InstantSlots};
use giveover_core::monitor::{Action, Actions, Event, Monitor, RestartOutcome, Ticket};
use giveover_core::policy::{Delays, FailoverMode, Limits, Policy, Scope};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

const CAUSE: Cause = Cause::of_check(0, Phase::Read, 110);
const HEALTHY: ProbeResult = ProbeResult::Healthy;
const LEAST: ProbeResult = ProbeResult::Failed(Weight::LEAST, CAUSE);
const COMPLETE: ProbeResult = ProbeResult::Failed(Weight::COMPLETE, CAUSE);

/// A monitor and the time of its driver.
struct Driven<F, R> {
    monitor: Monitor<F, R>,
    now: Instant,
}

impl<F: FailureSlots, R: InstantSlots> Driven<F, R> {
    /// Adopted at zero, with `failures` for its ring.
    fn new(failures: F, restarts: R, starts: R, limits: Limits) -> Self {
        let scope = Scope { smallest: Weight::LEAST, ..Scope::USUAL };
        let (policy, _) = Policy::new(limits, scope).expect("possible");
        let now = Instant::from_millis(0);
        let history = History::new(failures, restarts, starts);
        let mut monitor = Monitor::new(policy, history, now).expect("there is room");
        let _ = monitor.handle(Event::Begin { first: Span::ZERO, started: false }, now);
        Self { monitor, now }
    }

    /// Feeds one event at the driver's time; never inlined, so that no event is known beforehand.
    #[inline(never)]
    fn feed(&mut self, event: Event) -> Actions {
        self.monitor.handle(event, self.now)
    }

    /// Moves on to the next probe and returns its ticket.
    fn probe(&mut self) -> Ticket {
        self.now = self.monitor.poll_timeout().unwrap_or(self.now);
        match self.feed(Event::Timeout).as_slice() {
            [Action::Probe { ticket }, ..] => *ticket,
            other => panic!("no probe but {other:?}"),
        }
    }

    /// One cycle: the timer, and the answer; and where that leads to a restart, its answer.
    fn cycle(&mut self, result: ProbeResult) {
        let ticket = self.probe();
        let actions = self.feed(Event::Probed { ticket, result });
        if let [Action::Restart { ticket, .. }, ..] = actions.as_slice() {
            let done = Event::RestartDone { ticket: *ticket, outcome: RestartOutcome::Started };
            let _ = self.feed(done);
        }
    }
}

/// Restarts for ever, so that a complete failure is the same every time.
fn limits(retry_interval: Span) -> Limits {
    Limits {
        thorough_probe_interval: Span::from_secs(1),
        retry_interval,
        start_grace: Span::ZERO,
        restart_delay: Delays::NONE,
        failover_mode: FailoverMode::RestartOnly,
        retry_count: None,
        ..Limits::DEFAULT
    }
}

fn blank() -> [Instant; 2] {
    [Instant::from_millis(0); 2]
}

fn measure<F: FailureSlots, R: InstantSlots>(
    c: &mut Criterion,
    storage: &str,
    make: impl Fn(Span) -> Driven<F, R>,
) {
    let window = Span::from_secs(600);

    let mut group = c.benchmark_group("one event");
    group.throughput(Throughput::Elements(1));
    group.bench_function(BenchmarkId::new("late answer", storage), |b| {
        let mut driven = make(window);
        b.iter(|| driven.feed(Event::Probed { ticket: Ticket(0), result: COMPLETE }));
    });
    group.bench_function(BenchmarkId::new("healthy answer, purging 99 records", storage), |b| {
        b.iter_batched_ref(
            || full(make(window)),
            |(driven, ticket)| driven.feed(Event::Probed { ticket: *ticket, result: HEALTHY }),
            BatchSize::LargeInput,
        );
    });
    group.finish();

    let mut group = c.benchmark_group("two events");
    group.throughput(Throughput::Elements(2));
    group.bench_function(BenchmarkId::new("healthy", storage), |b| {
        let mut driven = make(window);
        b.iter(|| driven.cycle(HEALTHY));
    });
    // 99 records of weight 1 are live at any time: each cycle one ages out and one comes.
    group.bench_function(BenchmarkId::new("partial", storage), |b| {
        let mut driven = make(Span::from_secs(98));
        for _ in 0..200 {
            driven.cycle(LEAST);
        }
        assert_eq!(driven.monitor.history().failures().count(), 99);
        b.iter(|| driven.cycle(LEAST));
    });
    group.finish();

    let mut group = c.benchmark_group("three events");
    group.throughput(Throughput::Elements(3));
    group.bench_function(BenchmarkId::new("complete, restart, restarted", storage), |b| {
        let mut driven = make(window);
        b.iter(|| driven.cycle(COMPLETE));
    });
    group.finish();
}

/// A probe is under way, and every one of the 99 records is too old.
fn full<F: FailureSlots, R: InstantSlots>(mut driven: Driven<F, R>) -> (Driven<F, R>, Ticket) {
    for _ in 0..99 {
        driven.cycle(LEAST);
    }
    let ticket = driven.probe();
    driven.now = driven.now.after(Span::from_secs(7_200));
    (driven, ticket)
}

fn handle(c: &mut Criterion) {
    measure(c, "arrays", |window| {
        Driven::new([Failure::BLANK; 99], blank(), blank(), limits(window))
    });
    measure(c, "boxes", |window| {
        let failures = vec![Failure::BLANK; 99].into_boxed_slice();
        let instants = || Box::<[Instant]>::from(blank());
        Driven::new(failures, instants(), instants(), limits(window))
    });
}

criterion_group!(benches, handle);
criterion_main!(benches);

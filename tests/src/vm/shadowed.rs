//! A host whose monitor a board shadows: it stands as it says, and then it does not.

use giveover_core::board::{Refusal, Settings, State};
use giveover_core::failure::{Cause, Failure, Phase, ProbeResult};
use giveover_core::history::History;
use giveover_core::monitor::{Event, Monitor};
use giveover_core::policy::{Destination, Limits, Policy, Scope};
use giveover_core::shadow::{Original, PolicyBytes};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use giveover_core::wire::v1::ToShadow;

use super::host::{Host, QUICK, Talks};

/// A monitor of a host beside a board, told to it as the daemon does.
struct Told {
    monitor: Monitor<[Failure; 16], [Instant; 8]>,
    original: Option<Original>,
    now: u64,
}

const INTERVAL: Span = Span::from_secs(5);

impl Told {
    fn new() -> Self {
        let limits = Limits {
            thorough_probe_interval: INTERVAL,
            start_grace: Span::ZERO,
            ..Limits::DEFAULT
        };
        let scope = Scope { destination: Destination::Board, ..Scope::USUAL };
        let policy = Policy::new(limits, scope).expect("a policy").0;
        let never = Instant::from_millis(0);
        let history = History::new([Failure::BLANK; 16], [never; 8], [never; 8]);
        let mut monitor = Monitor::new(policy, history, never).expect("room");
        let begin = Event::Begin { first: Span::ZERO, started: false };
        let _ = monitor.handle(begin, Instant::from_millis(1_000_000));
        Self { monitor, original: None, now: 1_000_000 }
    }

    /// A cycle with this result; `lie` bends how the monitor is said to stand.
    fn cycle(
        &mut self,
        board: &mut impl Talks,
        host: &mut Host,
        result: ProbeResult,
        lie: u32,
    ) -> Option<Refusal> {
        self.now += u64::from(INTERVAL.as_millis());
        let at = Instant::from_millis(self.now);
        let mut refusal = None;
        for event in [Event::Timeout, Event::ProbeNow] {
            refusal = refusal.or(self.tell(board, host, event, at));
        }
        let Some(ticket) = self.monitor.probe_under_way() else { return refusal };
        refusal = refusal.or(self.tell(board, host, Event::Probed { ticket, result }, at));
        match self.original {
            Some(original) => {
                let stands = ToShadow::Stands { digest: original.digest(&self.monitor) ^ lie };
                refusal.or(host.tell_shadow(board, 3, at, &stands))
            }
            None => {
                self.original = Some(Original::begin(&self.monitor, at).expect("calm"));
                let policy = PolicyBytes::of(self.monitor.policy());
                for (place, piece) in policy.0.chunks(ToShadow::PIECE).enumerate() {
                    let mut bytes = [0; ToShadow::PIECE];
                    bytes[..piece.len()].copy_from_slice(piece);
                    let from = (place * ToShadow::PIECE) as u8;
                    let told = ToShadow::Policy { at: from, bytes, len: piece.len() as u8 };
                    refusal = refusal.or(host.tell_shadow(board, 3, at, &told));
                }
                refusal.or(host.tell_shadow(board, 3, at, &ToShadow::Begin))
            }
        }
    }

    fn tell(
        &mut self,
        board: &mut impl Talks,
        host: &mut Host,
        event: Event,
        at: Instant,
    ) -> Option<Refusal> {
        let _ = self.monitor.handle(event, at);
        let event = self.original?.event(&event)?;
        host.tell_shadow(board, 3, at, &ToShadow::Event(event))
    }
}

fn half() -> ProbeResult {
    ProbeResult::Failed(Weight::HALF, Cause::of_check(0, Phase::Read, 1))
}

/// Tells a board of a service that is half ill once, which it has to believe; and then
/// lies about it in four cycles, which it has to find: half a failure after two, a pulse after four.
///
/// # Panics
/// It does not.
pub fn shadowed(board: &mut impl Talks) {
    let long = Span::from_secs(20);
    let settings = Settings { timeout: long, link_timeout: long, ..QUICK };
    let mut host = Host::set_up(board, settings);
    let mut told = Told::new();
    let healthy = ProbeResult::Healthy;
    for (cycle, result) in [healthy, half(), healthy, healthy, healthy].into_iter().enumerate() {
        assert_eq!(told.cycle(board, &mut host, result, 0), None, "cycle {cycle}");
    }
    let report = host.status(board);
    assert_eq!((report.state, report.failure_sum), (State::Armed, 0), "it was believed");
    for (lie, (state, sum)) in
        [(State::Armed, 0), (State::Armed, 50), (State::Armed, 50), (State::Pulsing, 0)]
            .into_iter()
            .enumerate()
    {
        assert_eq!(told.cycle(board, &mut host, healthy, 1 + lie as u32), None, "lie {lie}");
        let report = host.status(board);
        assert_eq!((report.state, report.failure_sum), (state, sum), "lie {lie}");
    }
    // The pulse comes to its end.
    for _ in 0..50 {
        board.tick();
    }
}

extern crate std;

use core::convert::Infallible;
use std::cell::RefCell;
use std::rc::Rc;
use std::vec::Vec;

use embedded_hal::digital::{ErrorKind, ErrorType};

use super::*;

const GRACE: Span = Span::from_secs(60);

/// What a pin did: its level, each change of it with the true time, and how often it was written.
#[derive(Debug)]
struct Trace {
    now_ms: u64,
    level: PinState,
    edges: Vec<(u64, PinState)>,
    writes: u32,
    refuses: bool,
}

#[derive(Clone, Debug)]
struct Pin(Rc<RefCell<Trace>>);

#[derive(Debug)]
struct Stuck;

impl embedded_hal::digital::Error for Stuck {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

impl ErrorType for Pin {
    type Error = Stuck;
}

impl OutputPin for Pin {
    fn set_low(&mut self) -> Result<(), Stuck> {
        self.set(PinState::Low)
    }

    fn set_high(&mut self) -> Result<(), Stuck> {
        self.set(PinState::High)
    }
}

impl Pin {
    fn set(&self, level: PinState) -> Result<(), Stuck> {
        let mut trace = self.0.borrow_mut();
        trace.writes += 1;
        if trace.refuses {
            return Err(Stuck);
        }
        if trace.level != level {
            let now_ms = trace.now_ms;
            trace.edges.push((now_ms, level));
            trace.level = level;
        }
        Ok(())
    }
}

/// A board: its line, and the true time, which its clock need not show.
struct Bench {
    line: ResetLine<Pin>,
    pin: Pin,
}

impl Bench {
    fn new(start: Start) -> Self {
        Self::wired(Wiring::Inverted, start)
    }

    fn wired(wiring: Wiring, start: Start) -> Self {
        let trace = |level| {
            let edges = Vec::new();
            Pin(Rc::new(RefCell::new(Trace { now_ms: 0, level, edges, writes: 0, refuses: false })))
        };
        let timing = Timing::new(Timing::PULSE, GRACE).expect("in range");
        let mut pin = None;
        let output = |level| pin.insert(trace(level)).clone();
        let line = ResetLine::new(wiring, output, timing, start, at(0));
        Self { line, pin: pin.expect("it was made an output") }
    }

    fn cold() -> Self {
        Self::new(Start::PowerUp { last: None })
    }

    /// The true time is `ms`, and the loop polls.
    fn poll(&mut self, ms: u64) {
        self.pin.0.borrow_mut().now_ms = ms;
        self.line.poll(at(ms));
    }

    fn pulse(&mut self, ticket: u32, ms: u64) -> Result<(), Refused> {
        self.pin.0.borrow_mut().now_ms = ms;
        self.line.pulse(Ticket(ticket), at(ms))
    }

    fn edges(&self) -> Vec<(u64, PinState)> {
        self.pin.0.borrow().edges.clone()
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn at_boot_the_idle_level_comes_first_and_there_is_no_edge() {
    for (wiring, idle) in [(Wiring::Inverted, PinState::Low), (Wiring::Direct, PinState::High)] {
        let mut bench = Bench::wired(wiring, Start::PowerUp { last: None });
        assert_eq!(bench.pin.0.borrow().level, idle);
        assert_eq!(bench.pin.0.borrow().writes, 0, "nothing is written before the first poll");
        for ms in 0..3_000 {
            bench.poll(ms);
        }
        bench.line.release();
        assert_eq!(bench.edges(), []);
    }
}

#[test]
fn a_pulse_is_one_edge_each_way_250_ms_apart() {
    for (wiring, held, idle) in [
        (Wiring::Inverted, PinState::High, PinState::Low),
        (Wiring::Direct, PinState::Low, PinState::High),
    ] {
        let mut bench = Bench::wired(wiring, Start::PowerUp { last: None });
        assert_eq!(bench.pulse(1, 2_000), Ok(()));
        assert_eq!(bench.line.poll_timeout(), Some(at(2_250)));
        for ms in 2_000..2_400 {
            bench.poll(ms);
        }
        assert_eq!(bench.edges(), [(2_000, held), (2_250, idle)]);
        assert!(!bench.line.is_held());
        assert_eq!(bench.line.poll_timeout(), None);
    }
}

#[test]
fn for_two_seconds_after_power_up_nothing_is_pulled() {
    let mut bench = Bench::cold();
    assert_eq!(bench.pulse(1, 0), Err(Refused::TooSoon { until: at(2_000) }));
    assert_eq!(bench.pulse(1, 1_999), Err(Refused::TooSoon { until: at(2_000) }));
    assert_eq!(bench.edges(), []);
    assert_eq!(bench.pulse(1, 2_000), Ok(()), "the ticket was not used up");
}

#[test]
fn a_ticket_has_one_pulse() {
    let mut bench = Bench::cold();
    assert_eq!(bench.pulse(7, 2_000), Ok(()));
    assert_eq!(bench.pulse(7, 2_010), Err(Refused::Pulsing));
    bench.poll(2_250);
    for ticket in [7, 6, 0] {
        assert_eq!(bench.pulse(ticket, 100_000), Err(Refused::Served));
    }
    assert_eq!(bench.pulse(8, 100_000), Ok(()));
    assert_eq!(bench.line.last(), Some(Ticket(8)));
}

#[test]
fn tickets_wrap() {
    let mut bench = Bench::new(Start::PowerUp { last: Some(Ticket(u32::MAX)) });
    assert_eq!(bench.pulse(u32::MAX, 2_000), Err(Refused::Served));
    // Half the circle ahead is as far behind.
    assert_eq!(bench.pulse((1 << 31) - 1, 2_000), Err(Refused::Served));
    assert_eq!(bench.pulse(0, 2_000), Ok(()));
}

#[test]
fn two_pulses_are_at_least_a_boot_grace_apart() {
    let mut bench = Bench::cold();
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
    bench.poll(2_250);
    let until = bench.line.not_before();
    assert!(until >= at(2_250).after(GRACE));
    assert_eq!(bench.pulse(2, until.as_millis() - 1), Err(Refused::TooSoon { until }));
    assert_eq!(bench.pulse(2, until.as_millis()), Ok(()));
}

/// L4: the newest durable record starts a new grace, for the host may still be booting.
#[test]
fn after_a_reset_of_the_board_alone_a_new_grace_begins() {
    let mut bench = Bench::new(Start::BoardReset { last: Some(Ticket(4)) });
    assert_eq!(bench.pulse(5, 59_999), Err(Refused::TooSoon { until: at(60_000) }));
    assert_eq!(bench.pulse(4, 60_000), Err(Refused::Served));
    assert_eq!(bench.pulse(5, 60_000), Ok(()));
    let mut bench = Bench::new(Start::BoardReset { last: None });
    assert_eq!(bench.pulse(1, 1_999), Err(Refused::TooSoon { until: at(2_000) }));
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
}

#[test]
fn the_periodic_timer_ends_a_pulse_though_the_clock_stands_still() {
    let mut bench = Bench::cold();
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
    for ms in 1..=1_000 {
        bench.pin.0.borrow_mut().now_ms = 2_000 + ms;
        bench.line.poll(at(2_000));
        bench.line.count_down(Span::from_millis(1));
    }
    assert_eq!(bench.edges(), [(2_000, PinState::High), (3_000, PinState::Low)]);
}

/// The loop was stuck through the pulse, so nobody told the line when it really ended.
#[test]
fn the_grace_is_long_enough_for_a_pulse_that_the_timer_ended() {
    let mut bench = Bench::cold();
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
    bench.line.count_down(Timing::LONGEST);
    assert!(!bench.line.is_held());
    let until = at(3_000).after(GRACE);
    assert_eq!(bench.pulse(2, until.as_millis() - 1), Err(Refused::TooSoon { until }));
    assert_eq!(bench.pulse(2, until.as_millis()), Ok(()));
}

#[test]
fn a_handler_of_a_fault_ends_a_pulse_at_once() {
    let mut bench = Bench::cold();
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
    bench.pin.0.borrow_mut().now_ms = 2_001;
    bench.line.release();
    assert_eq!(bench.edges(), [(2_000, PinState::High), (2_001, PinState::Low)]);
    assert_eq!(bench.pulse(1, 100_000), Err(Refused::Served));
}

#[test]
fn a_pin_that_was_upset_is_put_right_by_the_next_poll() {
    let mut bench = Bench::cold();
    bench.pin.0.borrow_mut().level = PinState::High;
    bench.poll(10);
    assert_eq!(bench.pin.0.borrow().level, PinState::Low);
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
    bench.pin.0.borrow_mut().level = PinState::Low;
    bench.poll(2_001);
    assert_eq!(bench.pin.0.borrow().level, PinState::High, "a pulse goes on too");
}

#[test]
fn a_pin_that_refuses_the_end_is_asked_again_until_it_does_not() {
    let mut bench = Bench::cold();
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
    bench.pin.0.borrow_mut().refuses = true;
    bench.poll(2_250);
    assert!(bench.line.is_held());
    assert_eq!(bench.line.poll_timeout(), Some(at(2_251)), "not a time that has passed");
    assert_eq!(bench.line.pin_errors(), 1);
    bench.pin.0.borrow_mut().refuses = false;
    bench.poll(9_000);
    assert_eq!(bench.edges(), [(2_000, PinState::High), (9_000, PinState::Low)]);
    assert!(bench.line.not_before() >= at(9_000).after(GRACE));
}

#[test]
fn a_pin_that_refuses_the_beginning_uses_its_ticket_up() {
    let mut bench = Bench::cold();
    bench.pin.0.borrow_mut().refuses = true;
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
    bench.pin.0.borrow_mut().refuses = false;
    bench.poll(2_300);
    assert_eq!(bench.edges(), []);
    assert_eq!(bench.pulse(1, 100_000), Err(Refused::Served));
}

#[test]
fn timing_out_of_range_is_refused_and_never_cut() {
    let timing = |pulse, grace| Timing::new(Span::from_millis(pulse), Span::from_millis(grace));
    assert_eq!(timing(49, 60_000), Err(TimingError::Pulse));
    assert_eq!(timing(1_001, 60_000), Err(TimingError::Pulse));
    assert_eq!(timing(250, 1_999), Err(TimingError::BootGrace));
    assert!(timing(50, 2_000).is_ok() && timing(1_000, 2_000).is_ok());
}

#[test]
fn other_timing_makes_no_edge_and_shortens_nothing_under_way() {
    let mut bench = Bench::cold();
    assert_eq!(bench.pulse(1, 2_000), Ok(()));
    let until = bench.line.not_before();
    bench.line.set_timing(Timing::new(Span::from_millis(50), Timing::HOLD_OFF).expect("in range"));
    bench.poll(2_249);
    assert!(bench.line.is_held());
    bench.poll(2_250);
    assert_eq!(bench.line.not_before(), until);
    assert_eq!(bench.edges().len(), 2);
}

/// A pin without errors of its own is an output pin too.
#[test]
fn an_infallible_pin_will_do() {
    struct Plain(PinState);
    impl ErrorType for Plain {
        type Error = Infallible;
    }
    impl OutputPin for Plain {
        fn set_low(&mut self) -> Result<(), Infallible> {
            self.0 = PinState::Low;
            Ok(())
        }
        fn set_high(&mut self) -> Result<(), Infallible> {
            self.0 = PinState::High;
            Ok(())
        }
    }
    let timing = Timing::new(Timing::PULSE, GRACE).expect("in range");
    let start = Start::PowerUp { last: None };
    let mut line = ResetLine::new(Wiring::Direct, Plain, timing, start, at(0));
    assert_eq!(line.pulse(Ticket(1), at(5_000)), Ok(()));
    assert_eq!(line.pin.0, PinState::Low);
}

/// Which of the two mechanisms works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Works {
    Both,
    /// The periodic timer is dead.
    Clock,
    /// The clock stands still at random, or steps back; the timer counts true milliseconds.
    Timer,
}

/// Law 10. The line moves once per cause: at most one pulse for a ticket, released at boot, no
/// edge from configuration; and C2 and C3: whichever mechanism fails, a pulse is 50 to 1000 ms,
/// and two are a boot grace apart.
#[test]
fn law_10_the_line_moves_once_per_cause() {
    let mut events = 0;
    for seed in 1..300u64 {
        for works in [Works::Both, Works::Clock, Works::Timer] {
            events += walk(seed, works);
        }
    }
    std::println!("law 10: {events} events");
    assert!(events > 500_000);
}

fn walk(seed: u64, works: Works) -> u32 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = move |below: u64| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state >> 24) % below
    };
    let last = (random(2) == 0).then_some(Ticket(3));
    let board_alone = random(2) == 0;
    let start = if board_alone { Start::BoardReset { last } } else { Start::PowerUp { last } };
    let mut bench = Bench::new(start);
    // Once the clock has failed only the end of the pulse under way is promised.
    let (mut now, mut clock, mut failed) = (0u64, 0u64, false);
    let mut served: Vec<u32> = last.into_iter().map(|ticket| ticket.0).collect();
    for _ in 0..600 {
        // The loop turns every few milliseconds while the line is held, or sleeps.
        let turn = if bench.line.is_held() { 1 + random(5) } else { 1 + random(20_000) };
        now += turn;
        failed |= works == Works::Timer && bench.line.is_held() && random(20) == 0;
        clock = if failed { clock - random(clock.min(3) + 1) } else { clock.max(now) };
        bench.pin.0.borrow_mut().now_ms = now;
        if works != Works::Clock {
            bench.line.count_down(Span::from_millis(turn as u32));
        }
        match random(10) {
            0..=5 => bench.line.poll(at(clock)),
            6..=8 => {
                let ticket = random(served.len() as u64 + 6) as u32;
                let before = bench.edges().len();
                if bench.line.pulse(Ticket(ticket), at(clock)) == Ok(()) {
                    assert!(!served.contains(&ticket), "a second pulse for {ticket}");
                    served.push(ticket);
                } else {
                    assert!(bench.edges().len() <= before + 1, "refused, it may only end one");
                }
            }
            _ => {
                let pulse = Span::from_millis(50 + random(700) as u32);
                let timing = Timing::new(pulse, GRACE).expect("in range");
                let before = bench.edges();
                bench.line.set_timing(timing);
                assert_eq!(bench.edges(), before, "an edge from configuration");
            }
        }
        if works == Works::Clock || !failed {
            bench.line.poll(at(clock));
        }
    }
    check(&bench.edges(), board_alone && last.is_some(), failed);
    600
}

fn check(edges: &[(u64, PinState)], new_grace: bool, clock_failed: bool) {
    let quiet = if new_grace { GRACE } else { Timing::HOLD_OFF };
    assert!(edges.first().is_none_or(|(ms, _)| *ms >= u64::from(quiet.as_millis())));
    for pulse in edges.chunks(2) {
        let [(begin, PinState::High), end] = [pulse[0], *pulse.last().expect("an edge")] else {
            panic!("a pulse begins with the line held: {pulse:?}");
        };
        if pulse.len() == 2 {
            let (end, level) = end;
            assert_eq!(level, PinState::Low);
            // The loop turns every few milliseconds.
            assert!((50..=1_010).contains(&(end - begin)), "a pulse of {} ms", end - begin);
        } else {
            assert!(!clock_failed, "the walk ended, not the pulse");
        }
    }
    for pair in edges.chunks(2).collect::<Vec<_>>().windows(2) {
        let apart = pair[1][0].0 - pair[0][1].0;
        assert!(apart >= u64::from(GRACE.as_millis()), "{apart} ms apart");
    }
}

//! Shadows: they stand as their originals do, whatever those are fed, and tell a difference that
//! lasts.

use giveover_core::history::History;
use giveover_core::monitor::Event;
use giveover_core::policy::{Limits, Policy, Scope};
use giveover_core::shadow::{Original, PolicyBytes, Shadow, Shadows};
use giveover_core::time::{Instant, Span};
use giveover_core::wire::v1::{EventBytes, ToShadow};

use crate::script::{PLAIN as LIMITS, Roomy, ms};
use crate::steps::draw;
use crate::walk::{Law, Seen, walk};

fn plain() -> Policy {
    Policy::new(LIMITS, Scope::USUAL).expect("a policy").0
}

type Wide = Shadow<[giveover_core::failure::Failure; 99], [Instant; 16]>;

/// The policy as it comes over the wire.
fn sent(policy: &Policy) -> Policy {
    PolicyBytes::of(policy).policy().expect("a policy")
}

fn begun(monitor: &Roomy, at: Instant) -> Option<(Original, Wide)> {
    let original = Original::begin(monitor, at)?;
    let never = Instant::from_millis(0);
    let blank = giveover_core::failure::Failure::BLANK;
    let history = History::new([blank; 99], [never; 16], [never; 16]);
    let mut shadow = Shadow::new(1, sent(monitor.policy()), history, at)?;
    shadow.begin(at);
    Some((original, shadow))
}

/// A shadow that is begun whenever one can be, and compared after every event.
#[derive(Default)]
struct Followed {
    pair: Option<(Original, Wide)>,
    compared: u64,
}

impl Law for Followed {
    fn watch(&mut self, seen: &Seen<'_>) -> Result<(), String> {
        let Some((original, shadow)) = &mut self.pair else {
            self.pair = begun(seen.after, seen.latest);
            return Ok(());
        };
        let Some(event) = original.event(&seen.event) else {
            self.pair = None;
            return Ok(());
        };
        let packed = EventBytes::of(&ToShadow::Event(event)).ok_or("it is not packed")?;
        match packed.told() {
            Some(ToShadow::Event(again)) if again == event => shadow.feed(again, seen.now),
            other => return Err(format!("{event:?} came as {other:?}")),
        }
        self.compared += 1;
        let digest = original.digest(seen.after);
        // Twice, because once is no difference yet.
        if shadow.compare(digest) || shadow.compare(digest) {
            return Err("they differ".to_owned());
        }
        Ok(())
    }
}

#[test]
fn a_shadow_stands_as_its_original_does() {
    walk("shadows", 200_000, draw, |_| Followed::default());
}

/// Without one of the events it is fed.
struct Deprived {
    pair: Option<(Original, Wide)>,
    told: u32,
}

#[test]
fn a_difference_is_one_when_it_has_lasted_two_cycles() {
    let mut monitor = crate::script::roomy(plain(), ms(0));
    let mut deprived = Deprived { pair: None, told: 0 };
    let interval = u64::from(LIMITS.thorough_probe_interval.as_millis());
    let _ = monitor.handle(Event::Begin { first: Span::ZERO, started: false }, ms(0));
    let mut lasted = vec![];
    for cycle in 0..12_u32 {
        let now = ms(u64::from(cycle) * interval);
        let _ = monitor.handle(Event::Timeout, now);
        let ticket = monitor.probe_under_way().expect("a probe");
        let result = giveover_core::failure::ProbeResult::Healthy;
        let probed = Event::Probed { ticket, result };
        let _ = monitor.handle(probed, now);
        let Some((original, shadow)) = &mut deprived.pair else {
            deprived.pair = begun(&monitor, now);
            continue;
        };
        deprived.told += 1;
        // A probe's answer is lost in this host's memory from the fourth cycle on.
        shadow.feed(Event::Timeout, now);
        if deprived.told < 4 {
            shadow.feed(original.event(&probed).expect("an event"), now);
        }
        if shadow.compare(original.digest(&monitor)) {
            lasted.push(deprived.told);
        }
    }
    assert_eq!(lasted, [5, 7, 9, 11]);
}

#[test]
fn a_policy_comes_over_the_wire_as_it_was_and_nonsense_is_none() {
    let limits = Limits { retry_count: None, ..Limits::DEFAULT };
    let unlimited = Policy::new(limits, Scope { heaviest: None, ..Scope::USUAL }).expect("one").0;
    for policy in [plain(), unlimited] {
        assert_eq!(sent(&policy), policy);
        let whole = PolicyBytes::of(&policy);
        for at in 0..PolicyBytes::LEN {
            for byte in [0, 9, 0xFF] {
                let mut bent = whole;
                bent.0[at] = byte;
                let _ = bent.policy(); // some policy, or none; nothing panics
            }
        }
    }
    assert_eq!(PolicyBytes([0; PolicyBytes::LEN]).policy(), None);
    assert_eq!(PolicyBytes([0xFF; PolicyBytes::LEN]).policy(), None);
}

#[test]
fn what_a_shadow_is_told_comes_over_the_wire_as_it_was() {
    let mut bytes = [0; ToShadow::PIECE];
    bytes[..3].copy_from_slice(&[1, 2, 3]);
    for told in [
        ToShadow::Policy { at: 60, bytes, len: 3 },
        ToShadow::Policy { at: 0, bytes: [7; ToShadow::PIECE], len: ToShadow::PIECE as u8 },
        ToShadow::Begin,
        ToShadow::Stands { digest: 0xA0B0_C0D0 },
        ToShadow::Event(Event::Timeout),
    ] {
        let packed = EventBytes::of(&told).expect("short");
        assert_eq!(packed.told(), Some(told));
    }
    let policy = ToShadow::Policy { at: 0, bytes, len: 11 };
    assert_eq!(EventBytes::of(&policy), None, "more bytes than there are");
}

#[test]
fn a_board_has_room_for_four_and_no_more() {
    let mut shadows = Shadows::NONE;
    let at = ms(1_000);
    assert!(!shadows.begin(0, at), "no policy has come");
    let policy = PolicyBytes::of(&plain());
    for (place, piece) in policy.0.chunks(ToShadow::PIECE).enumerate() {
        assert!(shadows.take_piece((place * ToShadow::PIECE) as u8, piece));
    }
    assert!(!shadows.take_piece(PolicyBytes::LEN as u8, &[1]) && !shadows.take_piece(255, &[1]));
    for service in 0..4 {
        assert!(shadows.begin(service, at));
    }
    assert!(!shadows.begin(4, at), "no room");
    assert!(shadows.begin(2, at), "in the place of its own");
    assert!(shadows.feed(2, Event::Timeout, at) && !shadows.feed(9, Event::Timeout, at));
    assert_eq!((shadows.compare(2, 0), shadows.compare(9, 0)), (Some(false), None));
    assert_eq!(shadows.compare(2, 0), Some(true));
    shadows.end_all();
    assert!(!shadows.feed(2, Event::Timeout, at));
    // One whose policy needs more than there is.
    let limits = Limits { retry_count: Some(9), retry_interval: Span::from_secs(9_000), ..LIMITS };
    let large = PolicyBytes::of(&Policy::new(limits, Scope::USUAL).expect("a policy").0);
    for (place, piece) in large.0.chunks(ToShadow::PIECE).enumerate() {
        assert!(shadows.take_piece((place * ToShadow::PIECE) as u8, piece));
    }
    assert!(!shadows.begin(0, at));
}

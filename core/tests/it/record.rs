//! The journal's entries: every one fits and comes back, and what is no entry is refused.

use giveover_core::monitor::Event;
use giveover_core::policy::{Capacity, Delays, FailoverMode, Limits, Policy, Scope};
use giveover_core::record::{Body, DecodeError, Entry, MAX_BYTES, VERSION};
use giveover_core::time::Span;

use crate::random::Random;
use crate::script::{ANYTHING, PLAIN, ms, roomy};
use crate::steps::{Driver, draw, policy};

/// Every entry that walks lead to, and the longest there can be.
fn every_entry(mut take: impl FnMut(Entry)) {
    let longest = Limits {
        thorough_probe_interval: Span::MAX,
        probe_timeout: Span::MAX,
        retry_count: Some(Limits::MOST_RESTARTS),
        retry_interval: Span::MAX,
        start_timeout: Span::MAX,
        stop_timeout: Span::MAX,
        start_grace: Span::MAX,
        restart_delay: Delays::new(&[Span::MAX; 8]).expect("few"),
        failover_mode: FailoverMode::LogOnly,
    };
    let (policy_of_maxima, _) = Policy::new(longest, ANYTHING).expect("possible");
    let capacity = Capacity { failures: u16::MAX, restarts: u16::MAX, starts: u16::MAX };
    let mut put = |body| take(Entry { at: ms(u64::MAX), machine: u32::MAX, body });
    put(Body::Made { policy: policy_of_maxima, capacity });
    put(Body::Event(Event::SetPolicy(policy_of_maxima)));
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut monitor = roomy(policy(&mut random), ms(u64::MAX - 400_000));
        let mut driver = Driver::new(u64::MAX - 400_000);
        for _ in 0..200 {
            let step = draw(&mut random, &monitor, &driver);
            driver.now_ms = driver.now_ms.min(u64::MAX - 500_000_000);
            let Some(event) = driver.event(step, &monitor) else { continue };
            let before = monitor.clone();
            let actions = monitor.handle(event, ms(driver.now_ms));
            driver.saw(event, &before, &actions);
            put(Body::Event(event));
            actions.into_iter().for_each(|action| put(Body::Action(action)));
            put(Body::Standing(*monitor.standing()));
        }
    }
}

#[test]
fn every_entry_fits_and_comes_back() {
    let (mut longest, mut entries) = (0, 0);
    every_entry(|entry| {
        let mut out = [0; MAX_BYTES];
        let len = entry.encode(&mut out).expect("it fits");
        assert_eq!(Entry::decode(&out[..len]), Ok(entry));
        longest = longest.max(len);
        entries += 1;
        let exact = &mut out[..len - 1];
        assert_eq!(entry.encode(exact), None, "one byte less does not fit");
    });
    assert!(longest > 100, "the long ones were among them");
    println!("{entries} entries, the longest of {longest} bytes");
}

/// No standing is longer than one whose every number is the largest there is.
#[test]
fn the_longest_standing_there_can_be_fits() {
    let long = [&[0xFE][..], &[0xFF; 8], &[0x01]].concat(); // 64 bits, `Instant::MAX`
    let middle = [&[0xFF; 4][..], &[0x0F]].concat(); // 32 bits
    let short = [0xFF, 0xFF, 0x03]; // 16 bits
    let bytes = [
        &[VERSION][..],
        &long,         // at
        &middle,       // machine
        &[7],          // Standing
        &[4, 0],       // offline, sleeping
        &long,         // until
        &[5],          // not now
        &long,         // again
        &long,         // last
        &[2, 255, 12], // start failed: no check, reported
        &short,        // its code
        &long,         // first asked
        &[1, 255, 12], // dead: no check, reported
        &short,        // its code
        &[255],        // holds
        &middle,       // generation
        &middle,       // last ticket
        &long,         // latest
        &middle,       // clock_went_back
        &[1],          // a grace
        &long,         // until
        &[1],          // a last start
        &long,         // at
        &[1],          // a floor of the waits
        &short,        // which
        &[1],          // unmeasured
        &long,         // since
        &[1, 1],       // asked, tried
    ]
    .concat();
    let entry = Entry::decode(&bytes).expect("an entry");
    let mut out = [0; MAX_BYTES];
    assert_eq!(entry.encode(&mut out), Some(bytes.len()));
    assert_eq!(out[..bytes.len()], bytes);
}

#[test]
fn an_entry_that_is_cut_anywhere_is_no_entry() {
    let mut turn = 0;
    every_entry(|entry| {
        turn += 1;
        if turn % 7 != 0 {
            return;
        }
        let mut out = [0; MAX_BYTES + 1];
        let len = entry.encode(&mut out).expect("it fits");
        assert_eq!(Entry::decode(&[]), Err(DecodeError::Empty));
        for cut in 1..len {
            assert_eq!(
                Entry::decode(&out[..cut]),
                Err(DecodeError::Malformed),
                "{cut} of {entry:?}"
            );
        }
        out[len] = 0;
        assert_eq!(Entry::decode(&out[..=len]), Err(DecodeError::Malformed), "one byte too many");
    });
}

#[test]
fn a_newer_version_is_known_as_such_and_an_unknown_one_is_not() {
    for version in 0..=u8::MAX {
        let bytes = [version, 7, 3, 1, 0];
        let expected = match version {
            VERSION => Ok(Entry { at: ms(7), machine: 3, body: Body::Event(Event::Timeout) }),
            0 => Err(DecodeError::Malformed),
            newer => Err(DecodeError::Newer(newer)),
        };
        assert_eq!(Entry::decode(&bytes), expected);
    }
    let told = DecodeError::Newer(9).to_string();
    assert!(told.contains("format 9, ours is 1"), "{told}");
}

#[test]
fn numbers_that_name_nothing_are_refused() {
    let malformed: [&[u8]; 5] = [
        &[1, 7, 3, 8],                  // no such body
        &[1, 7, 3, 1, 16],              // no such event
        &[1, 7, 3, 2, 8],               // no such action
        &[1, 7, 3, 3, 0, 0, 2, 4, 0],   // a weight of 0
        &[1, 7, 3, 3, 0, 101, 2, 4, 0], // a weight of 101
    ];
    for bytes in malformed {
        assert_eq!(Entry::decode(bytes), Err(DecodeError::Malformed), "{bytes:?}");
    }
}

/// Whatever is read that passes for an entry is one: it can be written and read again.
#[test]
fn random_bytes_never_panic() {
    let mut random = Random::new(7);
    let mut passed = 0;
    for _ in 0..100_000 {
        let mut bytes = [0u8; 24];
        bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
        // Small numbers are what means something.
        bytes.iter_mut().for_each(|byte| *byte &= random.pick(&[0x03, 0x0F, 0xFF]));
        bytes[0] = VERSION;
        let len = 1 + random.below(23) as usize;
        if let Ok(entry) = Entry::decode(&bytes[..len]) {
            passed += 1;
            let mut out = [0; MAX_BYTES];
            let len = entry.encode(&mut out).expect("it fits");
            assert_eq!(Entry::decode(&out[..len]), Ok(entry));
        }
    }
    assert!(passed > 100, "only {passed} of them said anything");
}

#[test]
fn a_scope_without_checks_comes_back_too() {
    let scope = Scope { heaviest: None, ..ANYTHING };
    let (policy, _) = Policy::new(PLAIN, scope).expect("possible");
    let entry = Entry { at: ms(0), machine: 0, body: Body::Event(Event::SetPolicy(policy)) };
    let mut out = [0; MAX_BYTES];
    let len = entry.encode(&mut out).expect("it fits");
    assert_eq!(Entry::decode(&out[..len]), Ok(entry));
}

//! A journal fed into fresh machines gives the same actions, bit for bit; a snapshot gives a
//! machine that goes on as the one it was taken of.

use giveover_core::failure::{Failure, Phase};
use giveover_core::history::History;
use giveover_core::monitor::Monitor;
use giveover_core::record::{Body, Entry, MAX_BYTES};
use giveover_core::time::Instant;

use crate::random::Random;
use crate::script::{Roomy, ms, roomy};
use crate::steps::{Driver, draw, policy};
use crate::walk::{EPOCH, same};

/// Entries as they lie on a disk: one after the other, each after its length.
#[derive(Default)]
struct Journal {
    bytes: Vec<u8>,
}

impl Journal {
    fn write(&mut self, at: Instant, machine: u32, body: Body) {
        let mut out = [0; MAX_BYTES];
        let len = Entry { at, machine, body }.encode(&mut out).expect("it fits");
        self.bytes.push(len as u8);
        self.bytes.extend(&out[..len]);
    }

    fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (len, tail) = rest.split_first()?;
            let (entry, tail) = tail.split_at(usize::from(*len));
            rest = tail;
            Some(Entry::decode(entry).expect("an entry"))
        })
    }
}

/// Everything a monitor is, as entries.
fn snapshot(monitor: &Roomy) -> Vec<Body> {
    let history = monitor.history();
    let made = Body::Made { policy: *monitor.policy(), capacity: history.capacity() };
    let totals = Phase::ALL.iter().map(|phase| Body::Total(*phase, history.total(*phase)));
    std::iter::once(made)
        .chain(history.failures().map(Body::Failure))
        .chain(history.restart_times().map(Body::Restart))
        .chain(history.start_times().map(Body::Start))
        .chain(totals)
        .chain(std::iter::once(Body::Standing(*monitor.standing())))
        .collect()
}

/// A monitor put together from such entries.
fn restored(bodies: impl IntoIterator<Item = Body>) -> Roomy {
    let mut history = History::new([Failure::BLANK; 99], [ms(0); 32], [ms(0); 32]);
    let mut policy = None;
    for body in bodies {
        match body {
            Body::Made { policy: made, capacity } => {
                assert_eq!(capacity, history.capacity());
                policy = Some(made);
            }
            Body::Failure(failure) => {
                history.add_failure(failure.at, failure.weight, failure.cause);
            }
            Body::Restart(at) => history.add_restart(at),
            Body::Start(at) => history.add_start(at),
            Body::Total(phase, count) => history.restore_total(phase, count),
            Body::Standing(standing) => {
                let policy = policy.expect("it was made first");
                return Monitor::restored(policy, history, standing).expect("there is room");
            }
            other => panic!("{other:?} is no part of a snapshot"),
        }
    }
    panic!("the snapshot has no end");
}

#[test]
fn a_replayed_journal_gives_the_same_actions_bit_for_bit() {
    let mut events = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let policies = [policy(&mut random), policy(&mut random)];
        let mut monitors = policies.map(|policy| roomy(policy, ms(EPOCH)));
        let mut driver = Driver::new(EPOCH);
        let mut journal = Journal::default();
        for (machine, monitor) in (0..).zip(&monitors) {
            let capacity = monitor.history().capacity();
            journal.write(ms(EPOCH), machine, Body::Made { policy: *monitor.policy(), capacity });
        }
        for _ in 0..300 {
            let machine = random.below(2) as u32;
            let monitor = &mut monitors[machine as usize];
            let step = draw(&mut random, monitor, &driver);
            let Some(event) = driver.event(step, monitor) else { continue };
            let (now, before) = (ms(driver.now_ms), monitor.clone());
            let actions = monitor.handle(event, now);
            driver.saw(event, &before, &actions);
            journal.write(now, machine, Body::Event(event));
            for action in actions {
                journal.write(now, machine, Body::Action(action));
            }
        }

        let mut fresh: Vec<Roomy> = Vec::new();
        let mut again = Journal::default();
        for entry in journal.entries() {
            let monitor = entry.machine as usize;
            match entry.body {
                Body::Made { policy, .. } => {
                    fresh.push(roomy(policy, entry.at));
                    again.write(entry.at, entry.machine, entry.body);
                }
                Body::Event(event) => {
                    events += 1;
                    again.write(entry.at, entry.machine, entry.body);
                    for action in fresh[monitor].handle(event, entry.at) {
                        again.write(entry.at, entry.machine, Body::Action(action));
                    }
                }
                _ => {} // what was decided then; decided again above
            }
        }
        assert!(journal.bytes == again.bytes, "seed {seed}: another journal");
        for (fresh, monitor) in fresh.iter().zip(&monitors) {
            assert!(same(fresh, monitor), "seed {seed}: another machine");
        }
    }
    println!("replayed: {events} events");
}

#[test]
fn a_restored_machine_goes_on_as_the_one_it_was_taken_of() {
    let mut snapshots = 0;
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let mut monitor = roomy(policy(&mut random), ms(EPOCH));
        let mut twin = monitor.clone();
        let mut driver = Driver::new(EPOCH);
        for turn in 0..300 {
            if turn % 10 == 0 {
                // A crash: all that is left is what was written.
                let mut journal = Journal::default();
                snapshot(&twin).into_iter().for_each(|body| journal.write(ms(EPOCH), 0, body));
                twin = restored(journal.entries().map(|entry| entry.body));
                snapshots += 1;
                assert_eq!(twin.standing(), monitor.standing());
                assert_eq!(snapshot(&twin), snapshot(&monitor), "seed {seed}");
            }
            let step = draw(&mut random, &monitor, &driver);
            let Some(event) = driver.event(step, &monitor) else { continue };
            let (now, before) = (ms(driver.now_ms), monitor.clone());
            let actions = monitor.handle(event, now);
            assert_eq!(twin.handle(event, now), actions, "seed {seed}, turn {turn}");
            driver.saw(event, &before, &actions);
        }
    }
    println!("restored from {snapshots} snapshots");
}

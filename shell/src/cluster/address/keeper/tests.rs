use std::collections::VecDeque;

use super::super::super::steps::Commands;
use super::*;

const OWN: &str = "10.0.0.1";
const FIRST: &str = "10.0.0.10";
const SECOND: &str = "2001:db8::a";

fn at(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn held() -> Held {
    Held {
        addresses: vec![(at(FIRST), 24), (at(SECOND), 64)],
        interface: Some("eth0".to_owned()),
        ..Held::default()
    }
}

fn by_command() -> Held {
    let words = |word: &str| vec![word.to_owned()];
    let commands = Commands { up: words("up"), down: words("down"), announce: None };
    Held { addresses: vec![(at(FIRST), 32)], commands: Some(commands), ..held() }
}

/// A keeper on a host that does what it says, with the faults a test wants.
struct Host {
    keeper: Keeper,
    now: u64,
    here: Vec<Present>,
    named: Option<u32>,
    /// Everything it did, in words.
    log: Vec<String>,
    told: Vec<Done>,
    blind: bool,
    sets_fail: bool,
    probes_fail: bool,
    removes_nothing: bool,
    down_does_nothing: bool,
    over: bool,
}

impl Host {
    fn new(held: Held) -> Self {
        let own =
            Present { address: at(OWN), spot: Spot { interface: 2, prefix: 24 }, usable: true };
        Self {
            keeper: Keeper::new(held),
            now: 1_000_000,
            here: vec![own],
            named: Some(2),
            log: Vec::new(),
            told: Vec::new(),
            blind: false,
            sets_fail: false,
            probes_fail: false,
            removes_nothing: false,
            down_does_nothing: false,
            over: false,
        }
    }

    fn feed(&mut self, event: Event) {
        let mut batch: VecDeque<Do> = self.keeper.handle(event, ms(self.now)).into();
        let mut turns = 0;
        while let Some(what) = batch.pop_front() {
            turns += 1;
            assert!(turns < 100, "it goes on for ever: {:?}", self.log);
            if let Some(answer) = self.carry(what) {
                if matches!(answer, Event::Failed(_)) {
                    batch.clear();
                }
                batch.extend(self.keeper.handle(answer, ms(self.now)));
            }
        }
    }

    fn carry(&mut self, what: Do) -> Option<Event> {
        let mut note = |text: String| self.log.push(text);
        match what {
            Do::Look if self.blind => return Some(Event::Looked(Err("blind".to_owned()))),
            Do::Look => {
                let sight = Sight { present: self.here.clone(), named: self.named };
                return Some(Event::Looked(Ok(sight)));
            }
            Do::Probe { place, interface } => {
                note(format!("probe {place} on {interface}"));
                if self.probes_fail {
                    return Some(Event::Failed("the interface is down".to_owned()));
                }
            }
            Do::Deaf => note("deaf".to_owned()),
            Do::Bring { place } => {
                note(format!("bring {place}"));
                if self.sets_fail {
                    return Some(Event::Failed("up: exit status: 1".to_owned()));
                }
                self.put(place, Spot { interface: 7, prefix: 25 });
            }
            Do::Set { place, spot, seconds } => {
                note(format!("set {place} for {seconds} s"));
                if self.sets_fail {
                    return Some(Event::Failed("no".to_owned()));
                }
                self.put(place, spot);
            }
            Do::Refuse(on) => note(format!("refuse {on}")),
            Do::Cut => note("cut".to_owned()),
            Do::Remove { place, spot, by_kernel } => {
                note(format!("remove {place}{}", if by_kernel { "" } else { " by command" }));
                let fails = self.removes_nothing || self.down_does_nothing && !by_kernel;
                let address = self.keeper.held().addresses[place].0;
                if !fails {
                    self.here.retain(|it| it.address != address || it.spot != spot);
                }
            }
            Do::Announce { place, interface } => note(format!("announce {place} on {interface}")),
            Do::Tell(done) => {
                note(format!("tell {done:?}"));
                self.told.push(done);
            }
            Do::Say(_) => {}
            Do::End => self.over = true,
        }
        None
    }

    fn put(&mut self, place: usize, spot: Spot) {
        let address = self.keeper.held().addresses[place].0;
        self.here.retain(|it| it.address != address);
        self.here.push(Present { address, spot, usable: true });
    }

    fn has(&self, address: &str) -> bool {
        self.here.iter().any(|it| it.address == at(address))
    }

    fn step(&mut self, step: Step) {
        self.feed(Event::Step(step));
    }

    fn take(&mut self, for_ms: u64) {
        self.step(Step::Take { until: ms(self.now + for_ms) });
    }

    fn drop_all(&mut self) {
        self.step(Step::Drop { leftover: false });
    }

    /// Lets time pass until nothing is due before `end`.
    fn pass(&mut self, for_ms: u64) {
        let end = self.now + for_ms;
        while let Some(due) = self.keeper.poll_timeout().filter(|due| due.as_millis() <= end) {
            self.now = self.now.max(due.as_millis());
            self.feed(Event::Timeout);
        }
        self.now = end;
    }

    /// What it did since it was asked last.
    fn did(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }
}

fn up() -> Host {
    let mut host = Host::new(held());
    host.take(5_000);
    host.pass(700);
    assert_eq!(host.told, [Done::Taken(Taken::Up)], "{:?}", host.log);
    host.did();
    host.told.clear();
    host
}

#[test]
fn others_are_asked_before_it_is_set_and_told_after() {
    let mut host = Host::new(held());
    host.take(5_000);
    assert_eq!(host.did(), ["probe 0 on 2", "probe 1 on 2"]);
    host.pass(649);
    assert!(!host.has(FIRST), "nothing before everybody has had the time to answer");
    host.pass(1);
    let did = host.did();
    assert_eq!(did.iter().filter(|it| it.starts_with("probe 0")).count(), 2, "three in all");
    assert_eq!(
        did[did.len() - 7..],
        [
            "deaf",
            "refuse false",
            "set 0 for 4 s",
            "set 1 for 4 s",
            "announce 0 on 2",
            "announce 1 on 2",
            "tell Taken(Up)",
        ],
    );
    assert!(host.has(FIRST) && host.has(SECOND));
}

#[test]
fn who_has_it_already_keeps_it() {
    let mut host = Host::new(held());
    host.take(5_000);
    host.pass(200);
    host.feed(Event::Heard { place: 1, by: [2, 0, 0, 0, 0, 9] });
    assert_eq!(host.told, [Done::Taken(Taken::Duplicate)]);
    assert!(!host.has(FIRST) && !host.has(SECOND), "all of them or none");
    assert!(host.did().contains(&"deaf".to_owned()));
    host.feed(Event::Heard { place: 1, by: [2, 0, 0, 0, 0, 9] });
    host.pass(10_000);
    assert_eq!(host.told.len(), 1, "late");
}

/// The order of requirement and design: refuse, end, take off, ask the kernel, tell.
#[test]
fn it_goes_in_order_and_only_then_it_is_told() {
    let mut host = up();
    host.drop_all();
    let order = ["refuse true", "cut", "remove 0", "remove 1", "cut", "refuse false"];
    assert_eq!(host.did()[..6], order);
    assert_eq!(host.told, [Done::Dropped { ok: true }]);
    assert!(host.has(OWN) && !host.has(FIRST) && !host.has(SECOND));
    host.drop_all();
    assert_eq!(host.did(), ["tell Dropped { ok: true }"], "again: nothing is left to do");
}

#[test]
fn what_the_kernel_keeps_is_not_said_to_be_gone() {
    let mut host = up();
    host.removes_nothing = true;
    host.drop_all();
    assert_eq!(host.told, [Done::Dropped { ok: false }]);
    let removed = host.did().iter().filter(|it| it.starts_with("remove 0")).count();
    assert_eq!(removed, 2, "tried twice");
    host.blind = true;
    host.drop_all();
    assert_eq!(host.told[1], Done::Dropped { ok: false }, "what is not seen is not known");
    host.removes_nothing = false;
    host.blind = false;
    host.drop_all();
    assert_eq!(host.told[2], Done::Dropped { ok: true });
}

#[test]
fn a_leftover_is_found_wherever_it_is() {
    let mut host = Host::new(held());
    let spot = Spot { interface: 9, prefix: 32 };
    host.here.push(Present { address: at(FIRST), spot, usable: true });
    let spot = Spot { interface: 3, prefix: 8 };
    host.here.push(Present { address: at(FIRST), spot, usable: true });
    host.step(Step::Drop { leftover: true });
    assert_eq!(host.told, [Done::Dropped { ok: true }]);
    assert!(!host.has(FIRST) && host.has(OWN));
}

#[test]
fn a_lifetime_is_renewed_in_whole_seconds_and_never_made_shorter() {
    let mut host = up();
    host.pass(300);
    host.step(Step::Renew { until: ms(host.now + 5_999) });
    assert_eq!(host.did(), ["set 0 for 5 s", "set 1 for 5 s"]);
    host.step(Step::Renew { until: ms(host.now + 3_000) });
    assert_eq!(host.did(), [""; 0], "an older one");
    assert_eq!(host.told, []);
}

#[test]
fn what_is_not_renewed_goes_in_order_before_the_kernel_lets_it_lapse() {
    let mut host = up();
    // Set at 650 ms for 4 s.
    host.pass(3_649);
    assert!(host.has(FIRST));
    host.pass(1);
    assert_eq!(host.told, [Done::Lost]);
    let did = host.did();
    let begin = did.iter().position(|it| it == "refuse true").expect("in order");
    assert_eq!(did[begin..begin + 4], ["refuse true", "cut", "remove 0", "remove 1"]);
    assert!(!host.has(FIRST));
}

#[test]
fn less_than_a_second_holds_nothing() {
    let mut host = Host::new(held());
    host.take(1_600);
    host.pass(700);
    assert_eq!(host.told, [Done::Taken(Taken::Failed)]);
    assert!(!host.has(FIRST));
    let mut host = up();
    host.step(Step::Renew { until: ms(host.now + 4_999) });
    assert_eq!(host.told, []);
    host.now += 4_500; // it did not run
    host.step(Step::Renew { until: ms(host.now + 999) });
    assert_eq!(host.told, [Done::Lost]);
    assert!(!host.has(FIRST));
}

#[test]
fn what_others_take_off_is_told_and_taken_again() {
    let mut host = up();
    host.here.retain(|it| it.address != at(FIRST));
    host.feed(Event::Changed);
    assert_eq!(host.told, [Done::Lost]);
    host.feed(Event::Changed);
    assert_eq!(host.told.len(), 1, "once");
    host.did();
    host.take(5_000);
    assert_eq!(host.did(), ["probe 0 on 2"], "the other is still here");
    host.pass(700);
    assert_eq!(host.told[1], Done::Taken(Taken::Up));
}

#[test]
fn a_change_that_is_none_of_ours_changes_nothing() {
    let mut host = up();
    let spot = Spot { interface: 4, prefix: 24 };
    host.here.push(Present { address: at("192.0.2.7"), spot, usable: true });
    host.feed(Event::Changed);
    assert_eq!((host.told.len(), host.did().len()), (0, 0));
}

#[test]
fn taken_again_where_it_is_up_it_is_only_renewed() {
    let mut host = up();
    host.take(6_000);
    assert_eq!(host.told, [Done::Taken(Taken::Up)]);
    let did = host.did();
    assert!(!did.iter().any(|it| it.starts_with("probe")), "{did:?}");
    assert_eq!(did[..2], ["refuse false", "set 0 for 6 s"]);
}

#[test]
fn it_is_announced_again_and_again_and_when_asked() {
    let mut host = up();
    host.step(Step::Renew { until: ms(host.now + 60_000) });
    host.did();
    host.pass(31_000);
    let count = |did: Vec<String>| did.iter().filter(|it| it.starts_with("announce 0")).count();
    assert_eq!(count(host.did()), AGAIN.len());
    host.step(Step::Announce);
    host.pass(0);
    assert_eq!(count(host.did()), 1, "at once");
    host.pass(3_000);
    assert_eq!(count(host.did()), 2, "and twice more");
}

#[test]
fn a_take_that_is_called_off_is_not_answered() {
    let mut host = Host::new(held());
    host.take(5_000);
    host.pass(200);
    host.drop_all();
    host.pass(10_000);
    assert_eq!(host.told, [Done::Dropped { ok: true }]);
    assert!(!host.has(FIRST));
}

#[test]
fn a_renewal_under_way_counts_for_what_is_being_taken() {
    let mut host = Host::new(held());
    host.take(1_600);
    host.pass(200);
    host.step(Step::Renew { until: ms(host.now + 5_000) });
    host.pass(500);
    assert_eq!(host.told, [Done::Taken(Taken::Up)]);
    assert!(host.did().contains(&"set 0 for 4 s".to_owned()));
}

#[test]
fn what_cannot_be_done_fails_and_leaves_nothing() {
    for fault in 0..5 {
        let mut host = Host::new(held());
        match fault {
            0 => host.sets_fail = true,
            1 => host.probes_fail = true,
            2 => host.named = None,
            3 => host.blind = true,
            _ => host.keeper = Keeper::new(Held { interface: None, ..held() }),
        }
        host.take(5_000);
        host.pass(2_000);
        assert_eq!(host.told, [Done::Taken(Taken::Failed)], "fault {fault}");
        assert!(!host.has(FIRST) && !host.has(SECOND), "fault {fault}");
        assert_eq!(host.keeper.poll_timeout(), None, "fault {fault}");
    }
}

#[test]
fn an_address_that_cannot_be_used_is_not_up() {
    let mut host = Host::new(held());
    host.take(5_000);
    host.pass(500);
    let spot = Spot { interface: 2, prefix: 64 };
    let unusable = Present { address: at(SECOND), spot, usable: false };
    host.pass(149);
    // As if the kernel had found an objection in the meantime.
    let mut batch: VecDeque<Do> = {
        host.now += 1;
        host.keeper.handle(Event::Timeout, ms(host.now)).into()
    };
    while let Some(what) = batch.pop_front() {
        if what == Do::Look {
            host.here.retain(|it| it.address != at(SECOND));
            host.here.push(unusable);
        }
        if let Some(answer) = host.carry(what) {
            batch.extend(host.keeper.handle(answer, ms(host.now)));
        }
    }
    assert_eq!(host.told, [Done::Taken(Taken::Failed)]);
}

#[test]
fn commands_set_it_and_the_kernel_limits_its_lifetime() {
    let mut host = Host::new(by_command());
    host.take(5_000);
    host.pass(700);
    let did = host.did();
    let bring = did.iter().position(|it| it == "bring 0").expect("run");
    assert_eq!(did[bring + 1..bring + 3], ["refuse false", "set 0 for 4 s"]);
    let spot = host.here.iter().find(|it| it.address == at(FIRST)).map(|it| it.spot);
    assert_eq!(spot, Some(Spot { interface: 7, prefix: 25 }), "where the command put it");
    host.drop_all();
    assert!(host.did().contains(&"remove 0 by command".to_owned()));
    assert_eq!(host.told, [Done::Taken(Taken::Up), Done::Dropped { ok: true }]);
}

#[test]
fn a_command_that_does_nothing_is_noticed() {
    let mut host = Host::new(by_command());
    host.sets_fail = true;
    host.take(5_000);
    host.pass(700);
    assert_eq!(host.told, [Done::Taken(Taken::Failed)]);
    let mut host = Host::new(by_command());
    host.take(5_000);
    host.pass(700);
    host.down_does_nothing = true;
    host.drop_all();
    assert_eq!(host.told[1], Done::Dropped { ok: true }, "the kernel does it then");
    assert!(!host.has(FIRST));
}

#[test]
fn who_is_left_alone_lets_go_and_ends() {
    let mut host = up();
    host.feed(Event::Closed);
    assert!(host.over && !host.has(FIRST));
    assert_eq!(host.told, [], "nobody is there to be told");
    host.take(5_000);
    host.feed(Event::Closed);
    host.pass(10_000);
    assert_eq!(host.told, []);
}

/// Whatever comes in whatever order: an address that is up always has an end, what is told to be
/// gone is gone, and each step is answered at most once.
#[test]
fn any_order_of_events_holds_nothing_for_ever() {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |bound: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % bound
    };
    for _ in 0..300 {
        let mut host = Host::new(if next(4) == 0 { by_command() } else { held() });
        for _ in 0..60 {
            let before = host.told.len();
            match next(12) {
                0 | 1 => host.take(next(6_000)),
                2..=4 => host.step(Step::Renew { until: ms(host.now + next(6_000)) }),
                5 => host.drop_all(),
                6 => host.step(Step::Announce),
                7 => host.feed(Event::Changed),
                8 => host.feed(Event::Heard { place: 0, by: [9; 6] }),
                9 => host.here.retain(|it| it.address != at(FIRST)),
                10 => match next(5) {
                    0 => host.blind ^= true,
                    1 => host.sets_fail ^= true,
                    2 => host.removes_nothing ^= true,
                    3 => host.probes_fail ^= true,
                    _ => host.feed(Event::Timeout),
                },
                _ => host.pass(next(3_000)),
            }
            if host.told[before..].contains(&Done::Dropped { ok: true }) {
                assert!(!host.has(FIRST) && !host.has(SECOND));
            }
            if host.told.last() == Some(&Done::Taken(Taken::Up)) && before < host.told.len() {
                assert!(host.keeper.poll_timeout().is_some(), "it has an end");
            }
        }
        host.removes_nothing = false;
        host.blind = false;
        host.pass(10_000);
        host.feed(Event::Changed);
        host.feed(Event::Closed);
        assert!(host.over && !host.has(FIRST) && !host.has(SECOND), "{:?}", host.log);
    }
}

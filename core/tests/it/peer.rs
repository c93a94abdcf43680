//! `core::peer`: a script for each rule, and the source document's experiments.

use giveover_core::peer::{
    Action, Digests, Event, Look, Mismatch, Note, Peer, Quorum, Refusal, Role, Rules, RulesError,
    Taken,
};

use crate::peer_world::{A, B, C, World, at, members, span};

const TRUSTED: Quorum = Quorum::Trusted;
const MAJORITY: Quorum = Quorum::Majority;

fn roles(world: &World) -> Vec<u8> {
    world.sites.iter().map(|site| site.peer.as_ref().map_or(0, |p| p.role().number())).collect()
}

/// Two nodes as in the document: A active, B standby.
fn pair(quorum: Quorum) -> World {
    let mut world = World::new(members(2, 0, quorum));
    world.start(A);
    world.run(2_000);
    world.start(B);
    world.run(30_000);
    assert_eq!(roles(&world), [3, 2]);
    assert_eq!(world.holders(), [A]);
    world
}

fn three() -> World {
    three_of(World::new(members(3, 0, MAJORITY)))
}

fn three_of(mut world: World) -> World {
    for node in [A, B, C] {
        world.start(node);
        world.run(1_000);
    }
    world.run(30_000);
    assert_eq!(roles(&world), [3, 2, 2]);
    world
}

/// Section 4.1.1, table W01: the first one becomes active though nobody else is there, and not
/// before it has listened.
#[test]
fn the_first_becomes_active_alone_under_trusted() {
    let mut world = World::new(members(2, 0, TRUSTED));
    world.start(A);
    world.run(7_999);
    assert_eq!((world.role(A), world.holders()), (Role::Init, vec![]));
    world.run(2);
    assert_eq!((world.role(A), world.holders()), (Role::Active, vec![A]));
}

/// Section 4.1.2, table W02.
#[test]
fn a_later_one_is_a_standby_at_once() {
    let mut world = World::new(members(2, 0, TRUSTED));
    world.start(A);
    world.run(20_000);
    world.start(B);
    world.run(1_500);
    assert_eq!(roles(&world), [3, 2]);
    assert_eq!(world.peer(B).active(), Some(A));
    assert_eq!(world.peer(A).member(B).map(|member| member.role()), Some(Role::Standby));
    world.run(60_000);
    assert_eq!((roles(&world), world.overlap), (vec![3, 2], 0));
}

/// Section 4.4, table W38: what is held goes before the notice, and the standby follows at once.
// req 2.63 2.67 2.84
#[test]
fn an_active_that_stops_drops_first_and_tells_then() {
    for quorum in [TRUSTED, Quorum::Stay, Quorum::Fence] {
        let mut world = pair_of(quorum);
        world.site(A).did.clear();
        world.tell(A, Event::Stop);
        assert_eq!(world.sites[0].did, ["release", "leave", "end"]);
        world.run(10);
        assert_eq!((roles(&world)[1], world.holders(), world.overlap), (3, vec![B], 0));
    }
}

/// A pair under any of the rules for two, both started together where one alone cannot begin.
fn pair_of(quorum: Quorum) -> World {
    let mut world = World::started(members(2, 0, quorum));
    world.run(30_000);
    assert_eq!(roles(&world), [3, 2], "{quorum}");
    world
}

/// Section 4.5: who stopped comes back as a standby.
#[test]
fn a_restarted_node_is_a_standby() {
    let mut world = pair(TRUSTED);
    world.tell(A, Event::Stop);
    world.run(10_000);
    world.start(A);
    world.run(60_000);
    assert_eq!((roles(&world), world.holders()), (vec![2, 3], vec![B]));
}

/// Section 4.6 and table W51: under `trusted` a cut makes two actives; once it heals one stays.
// req 2.69 2.85 2.105
#[test]
fn a_cut_under_trusted_makes_two_actives_and_healing_leaves_one() {
    let mut world = pair(TRUSTED);
    world.cut_both(A, B);
    world.run(30_000);
    assert_eq!(roles(&world), [3, 3]);
    assert!(world.overlap > 0);
    world.cut.clear();
    world.site(B).did.clear();
    world.run(5_000);
    assert_eq!((roles(&world), world.holders()), (vec![2, 3], vec![B]), "the higher term stays");
    assert!(world.sites[1].did.contains(&"announce"), "and says again where the address is");
    let dropped = world.sites[0].did.iter().rev().take(2).copied().collect::<Vec<_>>();
    assert_eq!(dropped, ["leave", "release"], "the loser drops first");
}

/// The same experiment in one direction only, with heartbeats on: the standby hears nothing and
/// stands; whoever stays, it is one.
#[test]
fn a_cut_one_way_leaves_one_active() {
    let mut world = pair(TRUSTED);
    world.cut.push((A, B));
    world.run(60_000);
    let actives = roles(&world).iter().filter(|role| **role == 3).count();
    assert_eq!((actives, world.holders().len()), (1, 1));
}

/// Under `stay` and `fence` the same cut never does.
#[test]
fn a_cut_under_stay_or_an_unanswered_fence_makes_no_second() {
    for quorum in [Quorum::Stay, Quorum::Fence] {
        let mut world = pair_of(quorum);
        world.site(B).fence = Some(false);
        world.cut_both(A, B);
        world.run(60_000);
        assert_eq!((world.holders(), world.overlap), (vec![A], 0));
        assert!(world.sites[1].notes.contains(&Note::Silent(A)), "it alarms");
        if quorum == Quorum::Fence {
            assert!(world.sites[1].notes.contains(&Note::FenceFailed(A)));
        }
        world.cut.clear();
        world.run(20_000);
        assert_eq!((roles(&world), world.overlap), (vec![3, 2], 0));
    }
}

/// P5: an acknowledged fence is as good as a vote.
#[test]
fn an_acknowledged_fence_lets_the_standby_take_over() {
    let mut world = pair_of(Quorum::Fence);
    world.cut_both(A, B);
    world.run(11_000);
    assert!(world.sites[1].did.contains(&"fence"));
    assert_eq!((world.holders(), world.overlap), (vec![B], 0));
    // A comes back, cut off still: it has not heard B since, and shoots nobody.
    world.start(A);
    world.site(A).did.clear();
    world.run(60_000);
    assert!(!world.sites[0].did.contains(&"fence"));
    assert_eq!((world.holders(), world.overlap), (vec![B], 0));
}

/// P1: nobody claims alone under `stay`, but an operator's vote is one.
#[test]
fn an_operator_can_force_what_nobody_may_decide() {
    let mut world = World::new(members(2, 0, Quorum::Stay));
    world.start(A);
    world.run(60_000);
    assert_eq!(world.role(A), Role::Standby);
    world.tell(A, Event::Force);
    world.run(60_000);
    assert_eq!((world.role(A), world.holders()), (Role::Active, vec![A]));
}

/// Table W53: the one cut off drops within its lease, the others elect after it, nobody overlaps.
#[test]
fn who_is_cut_off_drops_before_the_others_take_over() {
    let mut world = three();
    world.cut_both(A, B);
    world.cut_both(A, C);
    let begun = world.now;
    while world.holders().contains(&A) {
        world.run(10);
    }
    assert!(world.now - begun <= 5_000, "after {} ms", world.now - begun);
    while world.holders().is_empty() {
        world.run(10);
    }
    let moved = world.now - begun;
    assert!((6_000..=9_500).contains(&moved), "{moved} ms");
    assert_eq!((world.holders(), world.overlap), (vec![B], 0));
    world.cut.clear();
    world.run(20_000);
    assert_eq!((roles(&world), world.overlap), (vec![2, 3, 2], 0));
}

/// Table W32: of the standbys the oldest stands, and is elected; the killed one lapses first.
// req 2.80 2.81
#[test]
fn the_oldest_standby_takes_over() {
    let mut world = three();
    world.crash(A);
    world.run(10_500);
    assert_eq!((roles(&world), world.holders(), world.overlap), (vec![0, 3, 2], vec![B], 0));
    world.crash(B);
    world.run(20_000);
    assert_eq!(world.holders(), [], "one of three is no majority");
    world.start(A);
    world.run(20_000);
    assert_eq!((world.holders(), world.overlap), (vec![C], 0), "C has been there longer");
}

/// A voter that heard the last heartbeat a moment later than the candidate refuses at first. It is
/// asked again within the same attempt, or every takeover would fall to the next in turn.
#[test]
fn a_voter_that_heard_the_active_a_moment_later_is_asked_again() {
    let mut world = three();
    world.slow = Some((A, C, 30));
    world.run(10_000);
    world.power_off(A);
    let begun = world.now;
    while world.holders().is_empty() {
        world.run(10);
    }
    let moved = world.now - begun;
    assert!(moved <= 9_000, "{moved} ms");
    assert_eq!((world.holders(), world.overlap), (vec![B], 0), "the older one");
    let heard = |note: &Note| matches!(note, Note::VoteRefused(C, Refusal::Hears(A)));
    assert!(world.sites[1].notes.iter().any(heard), "{:?}", world.sites[1].notes);
}

/// Who refused a candidate can still say goodbye, whatever term was tried.
#[test]
fn a_candidate_takes_the_goodbye_of_who_refused_it() {
    let mut world = three();
    world.cut = vec![(A, B), (C, B)];
    world.run(20_000);
    world.cut.clear();
    world.run(3_000);
    world.tell(A, Event::GiveOver { to: Some(B) });
    world.run(100);
    assert_eq!((world.holders(), world.overlap), (vec![B], 0));
}

/// Table W34, W35: who hears the active says so, and the active itself names itself.
#[test]
fn a_candidate_is_refused_while_the_active_lives() {
    let mut world = three();
    world.cut.push((A, B));
    world.run(30_000);
    assert_eq!((roles(&world), world.holders(), world.overlap), (vec![3, 2, 2], vec![A], 0));
    let refused = |note: &Note| matches!(note, Note::VoteRefused(C, _) | Note::VoteRefused(A, _));
    assert!(world.sites[1].notes.iter().any(refused), "{:?}", world.sites[1].notes);
    assert_eq!(world.sites[0].takes, 1);
}

/// A witness is a vote and nothing else; with it two survive the loss of one.
#[test]
fn a_witness_votes_and_never_stands() {
    let mut world = World::started(members(3, 1, MAJORITY));
    world.run(30_000);
    assert_eq!(roles(&world), [3, 2, 2]);
    world.power_off(A);
    world.run(12_000);
    assert_eq!((world.holders(), world.overlap), (vec![B], 0));
    world.power_off(B);
    world.run(60_000);
    assert_eq!((world.role(C), world.holders()), (Role::Standby, vec![]));
}

/// P3, tables W24 and W25: own life spent; the address goes before the word.
// req 2.9 2.13 2.79 2.82
#[test]
fn a_node_that_cannot_serve_says_so() {
    let mut world = three();
    world.site(A).did.clear();
    world.site(A).look.own = Some(false);
    world.run(31_000);
    assert_eq!(roles(&world), [4, 3, 2]);
    assert_eq!(world.sites[0].did, ["release", "leave"]);
    assert_eq!((world.holders(), world.overlap), (vec![B], 0));
    // A standby that goes down changes nothing.
    world.site(C).look.own = Some(false);
    let takes = world.sites[1].takes;
    world.run(31_000);
    assert_eq!((roles(&world), world.sites[1].takes), (vec![4, 3, 4], takes));
    // Recovered they are standbys, the youngest last.
    world.site(A).look.own = Some(true);
    world.run(11_000);
    assert_eq!(roles(&world), [2, 3, 4]);
    let known = world.peer(B).member(A).map(|member| member.role());
    assert_eq!(known, Some(Role::Standby), "and the others know");
}

/// Table W20, W22: two failures are not three, and any success refills.
// req 2.75
#[test]
fn life_is_spent_only_by_failures_in_a_row() {
    let mut world = pair(TRUSTED);
    for own in [Some(false), Some(false), Some(true), Some(false), None, Some(false)] {
        world.site(A).look.own = own;
        world.run(10_000);
        assert_eq!(world.role(A), Role::Active);
    }
    assert_eq!(world.peer(A).life(), 1);
    world.site(A).look.own = Some(false);
    world.run(10_000);
    assert_eq!(world.role(A), Role::Down);
}

/// Section 5.4, tables W26, W27, W50: who loses its trusted servers is down; when all do, nobody
/// flaps, and when they are back exactly one is active.
// req 2.7 2.22 2.83 2.104
#[test]
fn who_reaches_no_trusted_server_is_down() {
    let trusted = giveover_core::peer::Members { trusted: true, ..members(2, 0, TRUSTED) };
    let mut world = World::started(trusted);
    world.run(30_000);
    assert_eq!(roles(&world), [3, 2]);
    world.cut_both(A, B);
    world.site(A).look.trusted = Some(false);
    world.run(40_000);
    assert_eq!((roles(&world), world.holders()), (vec![4, 3], vec![B]));
    world.site(B).look.trusted = Some(false);
    world.cut.clear();
    world.run(40_000);
    let changes = [world.sites[0].roles.len(), world.sites[1].roles.len()];
    world.run(200_000);
    assert_eq!((roles(&world), world.holders()), (vec![4, 4], vec![]));
    assert_eq!([world.sites[0].roles.len(), world.sites[1].roles.len()], changes, "no flapping");
    for node in [A, B] {
        world.site(node).look.trusted = Some(true);
    }
    world.run(30_000);
    let mut both = roles(&world);
    both.sort_unstable();
    assert_eq!((both, world.holders().len()), (vec![2, 3], 1));
}

/// Table W40: while recovery runs, checks of the service count nothing, trusted servers do.
#[test]
fn recovery_excuses_the_service_and_not_the_network() {
    let trusted = giveover_core::peer::Members { trusted: true, ..members(2, 0, TRUSTED) };
    let mut world = World::started(trusted);
    world.run(30_000);
    world.tell(A, Event::Recovery(true));
    world.site(A).look.own = Some(false);
    world.run(60_000);
    assert_eq!(world.role(A), Role::Active);
    world.site(A).look.trusted = Some(false);
    world.run(31_000);
    assert_eq!(world.role(A), Role::Down);
}

/// P9, table W57: who did not run for a while does not go on as if it had.
#[test]
fn an_active_that_slept_is_active_no_more() {
    let mut world = three();
    world.site(A).stopped = true;
    world.run(30_000);
    assert_eq!((world.holders(), world.overlap), (vec![B], 0));
    let takes = world.sites[0].takes;
    world.resume(A);
    world.run(30_000);
    assert_eq!((roles(&world), world.overlap), (vec![2, 3, 2], 0));
    assert!(world.sites[0].notes.contains(&Note::Slept));
    assert_eq!(world.sites[0].takes, takes, "and claims nothing");
}

/// P10: two that may decide alone do not lose the group to a short sleep.
#[test]
fn a_lone_active_under_stay_outlives_a_sleep() {
    let mut world = pair_of(Quorum::Stay);
    world.tell(B, Event::Stop);
    world.run(20_000);
    world.site(A).stopped = true;
    world.run(30_000);
    assert_eq!(world.holders(), [], "the kernel let it go");
    world.resume(A);
    world.run(1_500);
    assert_eq!((world.role(A), world.holders()), (Role::Active, vec![A]));
}

/// P8: a giveover goes to who was named, and who gave over stands last.
#[test]
fn a_giveover_goes_to_the_named_one() {
    let mut world = three();
    world.tell(A, Event::GiveOver { to: Some(C) });
    world.run(100);
    assert_eq!((roles(&world), world.holders(), world.overlap), (vec![2, 2, 3], vec![C], 0));
    world.power_off(C);
    world.run(15_000);
    assert_eq!(world.holders(), [B], "A stands last");
}

/// A node that cannot prove the stop does not hand over.
#[test]
fn what_cannot_be_stopped_is_not_handed_over() {
    let mut world = three();
    world.site(A).release = false;
    world.tell(A, Event::GiveOver { to: Some(B) });
    world.run(10_000);
    assert_eq!((roles(&world), world.holders(), world.overlap), (vec![3, 2, 2], vec![A], 0));
    assert!(world.sites[0].notes.contains(&Note::NotStopped));
    world.tell(B, Event::GiveOver { to: None });
    assert!(world.sites[1].notes.contains(&Note::NotActive), "a standby has nothing to give");
}

/// P14: no address for `wait` ends it, and it stands last.
#[test]
fn an_active_that_gets_no_address_steps_back() {
    let mut world = World::started(members(3, 0, MAJORITY));
    world.site(A).take = Taken::Duplicate;
    world.run(40_000);
    assert!(world.sites[0].notes.contains(&Note::Unheld));
    assert!(world.sites[0].takes > 3, "it tried again meanwhile");
    assert_eq!((roles(&world), world.holders()), (vec![2, 3, 2], vec![B]));
}

/// P14, table V05: what somebody removed is put back.
#[test]
fn a_lost_address_is_taken_again() {
    let mut world = pair(TRUSTED);
    let takes = world.sites[0].takes;
    world.site(A).address = None;
    world.tell(A, Event::AddressLost);
    assert_eq!((world.holders(), world.sites[0].takes), (vec![A], takes + 1));
}

/// An address that cannot be dropped lapses by itself; until then nobody is told.
#[test]
fn a_release_that_fails_waits_for_the_lapse() {
    let mut world = three();
    world.site(A).release = false;
    world.site(A).did.clear();
    world.site(A).look.own = Some(false);
    world.run(28_000);
    while world.sites[0].did.is_empty() {
        world.run(10);
    }
    let begun = world.now;
    while !world.sites[0].did.contains(&"leave") {
        world.run(10);
    }
    assert!(world.now - begun > 3_000, "{}", world.now - begun);
    assert!(!world.holders().contains(&A));
    world.run(20_000);
    assert_eq!((world.holders(), world.overlap), (vec![B], 0));
}

/// Services do not end with the lifetime of an address: before their end is proven nobody is told, and
/// the others wait as for one that is silent.
#[test]
fn a_release_of_services_is_over_when_it_is_proven_and_not_before() {
    let mut world = World::new(members(3, 0, MAJORITY));
    world.services = true;
    let mut world = three_of(world);
    world.site(A).release = false;
    world.site(A).did.clear();
    world.site(A).look.own = Some(false);
    world.run(28_000);
    while world.holders() != [B] {
        world.run(10);
        assert_eq!(world.sites[0].did.iter().find(|did| **did == "leave"), None, "not proven");
    }
    world.run(20_000);
    assert!(!world.sites[0].did.contains(&"leave"));
    world.site(A).release = true;
    world.run(5_000);
    assert!(world.sites[0].did.contains(&"leave"), "{:?}", world.sites[0].did);
    assert_eq!((world.role(A), world.holders(), world.overlap), (Role::Down, vec![B], 0));
}

/// P12, tables W11 and W12: who differs is refused, with the reason on both sides.
#[test]
fn a_newcomer_that_differs_is_refused_with_the_reason() {
    let mut world = World::new(members(2, 0, TRUSTED));
    world.start(A);
    world.run(20_000);
    world.site(B).digests = Digests { addresses: 7, ..Digests::default() };
    world.start(B);
    world.run(8_100);
    assert!(world.sites[1].quit, "it ends");
    assert!(world.sites[0].notes.contains(&Note::Mismatched(B, Mismatch::Addresses)));
    assert_eq!((world.role(A), world.holders()), (Role::Active, vec![A]), "the older serves on");
    // Table W16: one that accepts is enough.
    let mut world = World::new(members(3, 0, TRUSTED));
    world.site(A).digests = Digests { thresholds: 1, ..Digests::default() };
    for node in [A, B, C] {
        world.start(node);
        world.run(1_000);
    }
    world.run(20_000);
    assert!(!world.sites[1].quit && !world.sites[2].quit);
}

#[test]
fn of_two_with_one_name_the_newcomer_goes() {
    let mut world = World::new(members(2, 0, TRUSTED));
    world.start(A);
    let mut twin = World::new(members(2, 0, TRUSTED));
    twin.start(A);
    let Some(Action::Send { message, .. }) = first_send(&mut twin) else { panic!("a beat") };
    world.tell(A, Event::Frame { from: A, message });
    assert!(world.sites[0].quit);
}

fn first_send(world: &mut World) -> Option<Action> {
    let now = at(1_000);
    let peer = world.site(A).peer.as_mut()?;
    let actions = peer.handle(Event::Timeout, now);
    let send = |action: &&Action| matches!(action, Action::Send { .. });
    actions.as_slice().iter().find(send).copied()
}

/// A vote that cannot be made durable is not given, and nobody stands on it.
#[test]
fn nothing_is_decided_on_a_disk_that_refuses() {
    let mut world = World::started(members(3, 0, MAJORITY));
    for node in [A, B, C] {
        world.site(node).disk_fails = true;
    }
    world.run(60_000);
    assert_eq!(world.holders(), []);
    for node in [A, B, C] {
        world.site(node).disk_fails = false;
    }
    world.run(30_000);
    assert_eq!((world.holders().len(), world.overlap), (1, 0));
}

/// Terms rise with every activation, over crashes too (D4).
#[test]
fn terms_only_rise() {
    let mut world = three();
    let mut last = world.peer(A).term();
    for _ in 0..5 {
        let holder = world.holders()[0];
        world.crash(holder);
        world.run(14_000);
        let next = world.holders()[0];
        let term = world.peer(next).term();
        assert!(term > last, "{term} after {last}");
        last = term;
        world.start(holder);
        world.run(20_000);
    }
    assert_eq!(world.overlap, 0);
}

/// The rules that nobody can write down.
#[test]
fn impossible_rules_are_refused_with_what_would_work() {
    use giveover_core::peer::{Limits, Members};
    let limits = Limits::DEFAULT;
    let three = members(3, 0, MAJORITY);
    let two = members(2, 0, Quorum::Stay);
    let rules = |limits, members| Rules::new(limits, members, 5).map(|_| ());
    assert_eq!(rules(limits, three), Ok(()));
    let shorter = Limits { wait: span(7_599), ..limits };
    assert_eq!(rules(shorter, three), Err(RulesError::WaitTooShort { least_ms: 7_600 }));
    assert_eq!(rules(Limits { wait: span(7_600), ..limits }, three), Ok(()));
    let lease = Limits { lease: span(2_999), ..limits };
    assert_eq!(rules(lease, three), Err(RulesError::LeaseTooShort { least_ms: 3_000 }));
    let jitter = Limits { jitter: span(999), ..limits };
    assert_eq!(rules(jitter, three), Err(RulesError::JitterTooShort));
    assert_eq!(rules(Limits { rate: 500, ..limits }, three), Err(RulesError::RateTooHigh));
    assert_eq!(rules(Limits { life: 0, ..limits }, three), Err(RulesError::Zero("life")));
    let interval = Limits { interval: span(0), ..limits };
    assert_eq!(rules(interval, three), Err(RulesError::Zero("interval")));
    assert_eq!(rules(limits, Members { count: 1, ..two }), Err(RulesError::TooFew));
    assert_eq!(rules(limits, Members { count: 3, ..two }), Err(RulesError::OnlyForTwo));
    assert_eq!(rules(limits, Members { me: C, ..two }), Err(RulesError::NotAMember));
    let all = Members { witnesses: giveover_core::node::Nodes::first(3), ..three };
    assert_eq!(rules(limits, all), Err(RulesError::OnlyWitnesses));
    let witness = Members { quorum: Quorum::Trusted, ..members(3, 1, MAJORITY) };
    assert_eq!(rules(limits, witness), Err(RulesError::WitnessNeedsMajority));
    let silent = Members { accept_two_holders: false, ..members(2, 0, TRUSTED) };
    assert_eq!(rules(limits, silent), Err(RulesError::TwoHoldersNotAccepted));
    assert_eq!(rules(limits, members(6, 0, MAJORITY)), Err(RulesError::TooMany { most: 5 }));
    assert!(Rules::new(limits, three, 2).is_err(), "no room");
}

/// An event before the beginning, and after the end, is nothing.
#[test]
fn what_has_not_begun_and_what_is_over_says_nothing() {
    let rules = Rules::new(giveover_core::peer::Limits::DEFAULT, members(2, 0, TRUSTED), 2);
    let rules = rules.expect("rules that work");
    let mut peer = Peer::<2>::new(rules, Digests::default(), Default::default(), at(0));
    assert_eq!(peer.poll_timeout(), None);
    assert!(peer.handle(Event::Timeout, at(5)).as_slice().is_empty());
    assert!(!peer.handle(Event::Begin, at(6)).as_slice().is_empty());
    assert!(peer.handle(Event::Begin, at(7)).as_slice().is_empty());
    let ticket = giveover_core::peer::Ticket(1);
    peer.handle(Event::Released { ticket, ok: true }, at(8));
    let last = peer.handle(Event::Stop, at(9));
    assert_eq!(last.as_slice().last(), Some(&Action::Gone));
    assert_eq!(peer.poll_timeout(), None);
    let look = Look::default();
    assert!(peer.handle(Event::Looked { ticket, look }, at(99_000)).as_slice().is_empty());
}

//! `core::peer` under a model checker: every order of faults within a budget, against the one
//! thing that must never be: two holders of the address.
//!
//! On a commit each run is bounded; `GIVEOVER_MODEL=exhaust` visits every state.

mod world;

use std::time::{Duration, Instant as Clock};

use giveover_core::node::Node;
use giveover_core::peer::{Defect, Event, Limits, Members, Quorum, Role, Rules};
use stateright::{Checker, Model, Property};

use world::{Faults, Kind, World, limits, link, members, now};

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// A second passes, and what is due then is done in one of the orders.
    Second(u8),
    /// A daemon starts.
    Start(Node),
    /// A daemon ends without a word.
    Crash(Node),
    /// A machine loses its power.
    PowerOff(Node),
    /// An orderly stop.
    Stop(Node),
    /// The active gives over to another.
    GiveOver(Node, Node),
    /// A daemon does not run for a while.
    Pause(Node),
    /// It runs again; true: and reads what waited before it does what is due.
    Resume(Node, bool),
    /// Frames from the first to the second are lost.
    Cut(Node, Node),
    Heal(Node, Node),
    /// The next frame of a kind on a link is kept; true: and delivered all the same.
    Keep(Node, Node, Kind, bool),
    /// What was kept arrives.
    Late,
    /// A node loses its trusted servers, or has them again.
    Trusted(Node, bool),
    /// The fence that a node asked for ends.
    Fenced(Node, bool),
}

#[derive(Clone, Debug)]
struct Nodes<const N: usize> {
    rules: Rules,
    faults: Faults,
    /// Terms above this are not looked into.
    terms: u64,
}

impl<const N: usize> Model for Nodes<N> {
    type State = World<N>;
    type Action = Step;

    /// All daemons just started, and all in their places.
    fn init_states(&self) -> Vec<World<N>> {
        let settled = |seconds| World::settled(self.faults, &self.rules, seconds);
        vec![settled(0), settled(20)]
    }

    fn actions(&self, world: &World<N>, steps: &mut Vec<Step>) {
        steps.extend((0..orders(N).len()).map(|order| Step::Second(order as u8)));
        for node in World::<N>::nodes() {
            self.faults_at(world, node, steps);
        }
        if world.kept.is_some() {
            steps.push(Step::Late);
        }
    }

    fn next_state(&self, world: &World<N>, step: Step) -> Option<World<N>> {
        let mut world = world.clone();
        let now = now(&self.rules);
        match step {
            Step::Second(order) => {
                world.tick(&self.rules);
                world.settle(orders(N)[usize::from(order)], now);
            }
            Step::Start(node) => world.start(node, &self.rules),
            Step::Crash(node) => {
                world.left.crashes -= 1;
                world.crash(node);
            }
            Step::PowerOff(node) => {
                world.left.power_cuts -= 1;
                world.power_off(node);
            }
            Step::Stop(node) => {
                world.left.stops -= 1;
                world.feed(node, Event::Stop, now);
            }
            Step::GiveOver(node, to) => {
                world.left.stops -= 1;
                world.feed(node, Event::GiveOver { to: Some(to) }, now);
            }
            Step::Pause(node) => {
                world.left.pauses -= 1;
                world.machine_mut(node).stopped = true;
            }
            Step::Resume(node, reads_first) => world.resume(node, reads_first, now),
            Step::Cut(from, to) => {
                world.left.cuts -= 1;
                world.cuts |= link(from, to);
            }
            Step::Heal(from, to) => world.cuts &= !link(from, to),
            Step::Keep(from, to, kind, twice) => {
                world.left.kept -= 1;
                world.snare = Some((from, to, kind, twice));
            }
            Step::Late => {
                let (from, to, message) = world.kept.take()?;
                world.feed(to, Event::Frame { from, message }, now);
            }
            Step::Trusted(node, answers) => {
                world.left.trusted -= u8::from(!answers);
                world.machine_mut(node).trusted = answers;
            }
            Step::Fenced(node, ok) => {
                let (ticket, target) = world.machine_mut(node).fencing.take()?;
                if ok {
                    world.power_off(target);
                }
                world.feed(node, Event::Fenced { ticket, ok }, now);
            }
        }
        world.settle(orders(N)[0], now);
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("never two holders", |_, world: &World<N>| !world.overlapped),
            Property::sometimes("a second reign", |_, world: &World<N>| {
                world.machines.iter().any(|machine| {
                    let term = machine.daemon.as_ref().map_or(0, |daemon| daemon.term());
                    machine.address.is_some() && term > 1
                })
            }),
        ]
    }

    fn within_boundary(&self, world: &World<N>) -> bool {
        let voted = |daemon: &giveover_core::peer::Peer<N>| {
            daemon.durable().ballot.map_or(0, |ballot| ballot.term)
        };
        let daemons = || world.machines.iter().filter_map(|machine| machine.daemon.as_ref());
        daemons().all(|daemon| voted(daemon) <= self.terms)
    }
}

impl<const N: usize> Nodes<N> {
    /// What may go wrong at `node`, and be mended.
    fn faults_at(&self, world: &World<N>, node: Node, steps: &mut Vec<Step>) {
        let (machine, left) = (world.machine(node), &world.left);
        let Some(daemon) = &machine.daemon else {
            return steps.push(Step::Start(node));
        };
        if machine.stopped {
            steps.extend([Step::Resume(node, false), Step::Resume(node, true)]);
        } else {
            if left.pauses > 0 {
                steps.push(Step::Pause(node));
            }
            if left.stops > 0 && daemon.poll_timeout().is_some() {
                steps.push(Step::Stop(node));
                if daemon.role() == Role::Active {
                    let others = World::<N>::nodes().filter(|to| *to != node);
                    steps.extend(others.map(|to| Step::GiveOver(node, to)));
                }
            }
            if machine.fencing.is_some() {
                steps.extend([Step::Fenced(node, true), Step::Fenced(node, false)]);
            }
        }
        if left.crashes > 0 {
            steps.push(Step::Crash(node));
        }
        if left.power_cuts > 0 {
            steps.push(Step::PowerOff(node));
        }
        if !machine.trusted {
            steps.push(Step::Trusted(node, true));
        } else if left.trusted > 0 && !self.rules.members().witnesses.has(node) {
            steps.push(Step::Trusted(node, false));
        }
        for to in World::<N>::nodes().filter(|to| *to != node) {
            if world.cuts & link(node, to) != 0 {
                steps.push(Step::Heal(node, to));
            } else if left.cuts > 0 {
                steps.push(Step::Cut(node, to));
            }
            if left.kept > 0 && world.kept.is_none() && world.snare.is_none() {
                let kinds = [Kind::Beat, Kind::Answer, Kind::Stand, Kind::Vote, Kind::Leave];
                let kept =
                    |kind| [Step::Keep(node, to, kind, false), Step::Keep(node, to, kind, true)];
                steps.extend(kinds.into_iter().flat_map(kept));
            }
        }
    }
}

/// In which orders nodes can do what is due at the same instant.
const fn orders(nodes: usize) -> &'static [&'static [u8]] {
    if nodes == 2 {
        return &[&[0, 1], &[1, 0]];
    }
    &[&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]]
}

/// How a run is set up.
struct Run {
    name: &'static str,
    members: Members,
    limits: Limits,
    faults: Faults,
    terms: u64,
    defect: Option<Defect>,
    /// No more states than this on a commit.
    states: usize,
}

struct Found {
    states: usize,
    /// Whether that was all of them.
    all: bool,
    /// The shortest way to two holders.
    two: Option<Vec<Step>>,
    second_reign: bool,
}

fn exhaust() -> bool {
    std::env::var("GIVEOVER_MODEL").is_ok_and(|how| how == "exhaust")
}

fn check<const N: usize>(run: &Run) -> Found {
    let rules = Rules::defective(run.limits, run.members, run.defect);
    let model = Nodes::<N> { rules, faults: run.faults, terms: run.terms };
    let begun = Clock::now();
    let mut builder = model.checker().threads(2);
    if !exhaust() {
        builder = builder.target_state_count(run.states).timeout(Duration::from_secs(240));
    }
    let checker = builder.spawn_bfs().join();
    let two = checker.discovery("never two holders").map(|path| path.into_actions());
    let found = Found {
        states: checker.unique_state_count(),
        all: exhaust() || checker.state_count() < run.states,
        two,
        second_reign: checker.discovery("a second reign").is_some(),
    };
    println!(
        "{}, {:?}: {} states{}, depth {}, {:.1} s, {}",
        run.name,
        run.faults,
        found.states,
        if found.all { " (all)" } else { "" },
        checker.max_depth(),
        begun.elapsed().as_secs_f64(),
        if found.two.is_some() { "two holders" } else { "never two holders" },
    );
    found
}

/// At most so many states, each counted as often as it is come to, on a commit.
const MOST: usize = 4_000_000;

fn run(name: &'static str, members: Members, faults: Faults) -> Run {
    Run { name, members, limits: limits(), faults, terms: 3, defect: None, states: MOST }
}

/// One fault of each of these kinds.
fn faults(kinds: &str) -> Faults {
    let one = |kind| kinds.matches(kind).count() as u8;
    Faults {
        crashes: one("crash"),
        power_cuts: one("power"),
        cuts: one("cut"),
        pauses: one("pause"),
        kept: one("frame"),
        trusted: one("trusted"),
        stops: one("stop"),
    }
}

/// Every state that these faults lead to, and as many as there is time for with more faults at
/// once; under `GIVEOVER_MODEL=exhaust` all of them.
fn never_two<const N: usize>(name: &'static str, members: Members, kinds: &[&str], more: &str) {
    let mut states = 0;
    let mut second = false;
    let at_night: &[&str] = if exhaust() { &["crash cut cut", "crash cut frame"] } else { &[] };
    for kinds in kinds.iter().chain(at_night) {
        let found = check::<N>(&run(name, members, faults(kinds)));
        assert_eq!(found.two, None, "{name}: {kinds}");
        assert!(found.all, "{name}: {kinds}: more than {MOST} states");
        states += found.states;
        second |= found.second_reign;
    }
    let found = check::<N>(&run(name, members, faults(more)));
    assert_eq!(found.two, None, "{name}: {more}");
    println!("{name}: {} states altogether", states + found.states);
    assert!(second, "{name}: nobody ever took over, so nothing was shown");
    assert!(states + found.states > 1_000_000, "{name}: too few states to mean anything");
}

#[test]
fn three_under_majority_are_never_two_holders() {
    let kinds = ["crash pause", "cut cut", "cut stop", "stop frame"];
    let members = members(3, 0, Quorum::Majority, true);
    never_two::<3>("majority of three", members, &kinds, "crash cut cut pause");
}

#[test]
fn two_and_a_witness_are_never_two_holders() {
    let kinds = ["crash pause", "crash cut", "cut frame", "cut cut", "cut stop", "stop frame"];
    let members = members(3, 1, Quorum::Majority, true);
    never_two::<3>("two and a witness", members, &kinds, "crash cut cut pause");
}

#[test]
fn two_that_fence_are_never_two_holders() {
    let kinds =
        ["crash cut", "cut cut", "cut pause", "crash stop", "cut stop", "stop frame", "cut frame"];
    let members = members(2, 0, Quorum::Fence, true);
    never_two::<2>("fence", members, &kinds, "crash power cut cut pause");
}

#[test]
fn two_that_stay_are_never_two_holders() {
    let kinds =
        ["crash cut", "cut cut", "cut pause", "crash stop", "cut stop", "stop frame", "cut frame"];
    let members = members(2, 0, Quorum::Stay, true);
    never_two::<2>("stay", members, &kinds, "crash power cut cut pause");
}

/// The source's rule is not safe, and it must be known that the checker sees that: one cut from
/// the active to the standby is enough, while a trusted server answers.
#[test]
fn two_that_trust_silence_can_be_two_holders() {
    let members = members(2, 0, Quorum::Trusted, true);
    let found = check::<2>(&run("trusted", members, faults("cut")));
    let steps = found.two.expect("the source document shows it in its section 4.6");
    println!("{steps:?}");
    assert_eq!(steps.first(), Some(&Step::Cut(Node(0), Node(1))));
    let waits = steps.iter().filter(|step| matches!(step, Step::Second(_))).count();
    assert_eq!((waits, steps.len()), (5, 6), "a cut, and then `wait`");
}

/// Every rule is needed: left out, there are two holders, and the checker finds the way.
#[test]
fn a_rule_left_out_is_missed() {
    let three = members(3, 0, Quorum::Majority, false);
    let cases = [
        (Defect::GrantLease, "cut cut"),
        (Defect::VotersWait, "cut"),
        (Defect::WaitAfterStart, "crash cut"),
        (Defect::HoldAfterVote, "cut frame"),
        (Defect::ClaimByVote, "cut"),
    ];
    for (defect, kinds) in cases {
        let without = Run { defect: Some(defect), ..run("left out", three, faults(kinds)) };
        let steps = check::<3>(&without).two.unwrap_or_else(|| panic!("{defect:?} is not missed"));
        println!("{defect:?}: {steps:?}");
    }
    let wait = giveover_core::time::Span::from_secs(2);
    let short = Limits { wait, ..limits() };
    assert!(Rules::new(short, three, 3).is_err(), "nobody gets such rules");
    let found = check::<3>(&Run { limits: short, ..run("left out", three, faults("cut cut")) });
    println!("wait > lease: {:?}", found.two.expect("a wait shorter than the lease is missed"));
}

//! `core::share`: commands once everywhere, in whatever order frames come; recovery that ends.

use giveover_core::node::{Node, Nodes};
use giveover_core::share::{
    Action, Answer, Command, Durable, Event, Kind, Lasting, Message, Number, Pool, Share, To,
};
use giveover_core::time::Span;

use crate::random::Random;
use crate::script::ms;

const A: Node = Node(0);
const B: Node = Node(1);
const C: Node = Node(2);

/// Nodes that share, with a network between them.
struct World {
    now: u64,
    sites: Vec<Site>,
    frames: Vec<(Node, Node, Message)>,
    cut: Vec<(Node, Node)>,
}

struct Site {
    share: Share<4>,
    disk: Durable,
    lasting: Option<Lasting>,
    applied: Vec<Command>,
    adopted: Vec<Pool>,
    blocked: bool,
    can_block: bool,
    answers: Vec<Answer>,
}

impl World {
    fn new(count: u8) -> Self {
        let site = |me| Site {
            share: Share::new(
                Node(me),
                Nodes::first(count).without(Node(me)),
                Durable::default(),
                ms(0),
            ),
            disk: Durable::default(),
            lasting: None,
            applied: Vec::new(),
            adopted: Vec::new(),
            blocked: false,
            can_block: true,
            answers: Vec::new(),
        };
        Self { now: 0, sites: (0..count).map(site).collect(), frames: vec![], cut: vec![] }
    }

    fn site(&mut self, node: Node) -> &mut Site {
        &mut self.sites[usize::from(node.0)]
    }

    fn elect(&mut self, active: Node, term: u64) {
        for node in 0..self.sites.len() as u8 {
            self.tell(Node(node), Event::Active { node: Some(active), term });
        }
    }

    fn tell(&mut self, node: Node, event: Event) {
        let now = ms(self.now);
        let count = self.sites.len() as u8;
        let actions = self.site(node).share.handle(event, now);
        for action in actions.as_slice() {
            let site = &mut self.sites[usize::from(node.0)];
            match *action {
                Action::Store(durable) => site.disk = durable,
                Action::Keep(lasting) => site.lasting = lasting,
                Action::Apply(command) => site.applied.push(command),
                Action::Adopt(pool) => site.adopted.push(pool),
                Action::Unblock => site.blocked = false,
                Action::Answer(answer) => site.answers.push(answer),
                Action::Block { ticket } => {
                    site.blocked = site.can_block;
                    let ok = site.can_block;
                    self.tell(node, Event::Blocked { ticket, ok });
                }
                Action::Send { to: To::One(to), message } => self.frames.push((node, to, message)),
                Action::Send { to: To::All, message } => {
                    let others = (0..count).map(Node).filter(|to| *to != node);
                    self.frames.extend(others.map(|to| (node, to, message)));
                }
                other => panic!("{other:?}"),
            }
        }
        while !self.frames.is_empty() {
            let (from, to, message) = self.frames.remove(0);
            if !self.cut.contains(&(from, to)) {
                self.tell(to, Event::Frame { from, message });
            }
        }
    }

    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += 1000;
            for node in 0..self.sites.len() as u8 {
                let due = self.site(Node(node)).share.poll_timeout();
                if due.is_some_and(|due| due <= ms(self.now)) {
                    self.tell(Node(node), Event::Timeout);
                }
            }
        }
    }

    /// A crash and a start: what is on its disk is all that is left.
    fn restart(&mut self, node: Node) {
        let (now, others) = (ms(self.now), Nodes::first(self.sites.len() as u8).without(node));
        let site = self.site(node);
        site.share = Share::new(node, others, site.disk, now);
        (site.blocked, site.answers) = (false, Vec::new());
        if let Some(lasting) = site.lasting {
            self.tell(node, Event::Resumed(lasting));
        }
    }

    fn ask(&mut self, node: Node, kind: Kind, members: &[u8]) {
        let members = members.iter().map(|member| Node(*member)).collect();
        self.tell(node, Event::Asked { kind, members });
    }

    fn pools(&self) -> Vec<Pool> {
        self.sites.iter().map(|site| *site.share.pool()).collect()
    }
}

fn of(members: &[u8]) -> Nodes {
    members.iter().map(|member| Node(*member)).collect()
}

/// Tables P01 to P04: each node applies each command once, whoever was asked.
#[test]
fn a_command_is_applied_once_on_every_node() {
    let mut world = World::new(3);
    world.elect(A, 7);
    world.ask(B, Kind::Detach, &[0, 2]);
    world.ask(A, Kind::Promote, &[1]);
    world.ask(C, Kind::Attach, &[0]);
    world.run(20);
    let pool = Pool { detached: of(&[2]), primary: Some(Node(1)) };
    assert_eq!(world.pools(), [pool; 3]);
    for site in &world.sites {
        let numbers: Vec<u32> = site.applied.iter().map(|command| command.number.n).collect();
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(site.disk.pool, pool);
        assert!(site.adopted.is_empty());
    }
    assert_eq!(world.sites[1].answers, [Answer::PassedOn(A)]);
    assert_eq!(world.sites[0].answers, [Answer::Done]);
}

#[test]
fn without_an_active_nobody_numbers() {
    let mut world = World::new(2);
    world.ask(A, Kind::Detach, &[0]);
    assert_eq!(world.sites[0].answers, [Answer::NobodyActive]);
    assert_eq!(world.sites[0].share.number(), Number::default());
}

/// Table P06: who was away hears everything in order, or the whole where that is too much.
#[test]
fn a_node_that_comes_back_is_told_what_it_missed() {
    for missed in [1, 3, 9] {
        let mut world = World::new(2);
        world.elect(A, 1);
        world.ask(A, Kind::Promote, &[3]);
        world.cut = vec![(A, B), (B, A)];
        for member in 0..missed {
            world.ask(A, Kind::Detach, &[member]);
        }
        world.cut.clear();
        world.run(60);
        let site = &world.sites[1];
        assert_eq!(site.share.pool(), world.sites[0].share.pool(), "{missed} missed");
        assert_eq!(site.share.pool().primary, Some(Node(3)));
        assert_eq!(site.adopted.len(), usize::from(missed > 4), "{missed} missed");
    }
}

/// Two that numbered apart: the higher term's state is taken, and a known primary stays known.
#[test]
fn the_higher_term_wins_and_no_primary_is_unlearnt() {
    let mut world = World::new(2);
    world.cut = vec![(A, B), (B, A)];
    world.tell(A, Event::Active { node: Some(A), term: 1 });
    world.ask(A, Kind::Detach, &[5]);
    world.ask(A, Kind::Promote, &[2]);
    world.tell(B, Event::Active { node: Some(B), term: 2 });
    world.ask(B, Kind::Detach, &[0]);
    world.cut.clear();
    world.elect(B, 2);
    world.run(20);
    let pool = Pool { detached: of(&[0]), primary: Some(Node(2)) };
    assert_eq!(world.sites[0].share.pool(), &pool);
    assert_eq!(world.sites[0].share.number(), Number { term: 2, n: 1 });
    assert_eq!(world.sites[0].adopted, [pool]);
}

/// A crash in between repeats nothing: the record was there first.
#[test]
fn a_restarted_node_applies_nothing_twice() {
    let mut world = World::new(2);
    world.elect(A, 1);
    world.ask(A, Kind::Detach, &[0]);
    world.restart(B);
    world.run(30);
    assert_eq!(world.sites[1].applied.len(), 1);
    // An old active's command after a newer one is nothing either.
    let old = Command { number: Number { term: 0, n: 9 }, kind: Kind::Attach, members: of(&[0]) };
    let message = Message::Command { after: Number::default(), command: old };
    world.tell(B, Event::Frame { from: A, message });
    assert_eq!(world.sites[1].applied.len(), 1);
}

/// Tables P07, P08: all block or none; an end lets all go, and so does time.
#[test]
fn recovery_blocks_every_node_or_none_and_ends() {
    let blocked = |world: &World| world.sites.iter().filter(|site| site.blocked).count();
    let lasts = Span::from_secs(30);
    let mut world = World::new(3);
    world.tell(B, Event::Recover { lasts, among: of(&[0, 1, 2]) });
    assert_eq!((blocked(&world), &world.sites[1].answers), (3, &vec![Answer::Recovering]));
    // A second one cannot begin meanwhile, here or there.
    world.tell(C, Event::Recover { lasts, among: of(&[0, 1, 2]) });
    assert_eq!(world.sites[2].answers, [Answer::RefusedBy(C)]);
    world.tell(B, Event::Recovered);
    assert_eq!(blocked(&world), 0);
    // One that cannot is enough.
    world.site(C).can_block = false;
    world.tell(A, Event::Recover { lasts, among: of(&[0, 1, 2]) });
    assert_eq!((blocked(&world), &world.sites[0].answers), (0, &vec![Answer::RefusedBy(C)]));
    // Nobody says that it is over.
    world.site(C).can_block = true;
    world.tell(A, Event::Recover { lasts, among: of(&[0, 1, 2]) });
    assert_eq!(blocked(&world), 3);
    world.cut = vec![(A, B), (A, C)];
    world.run(31);
    assert_eq!(blocked(&world), 0);
    // Somebody does not answer.
    world.cut = vec![(A, C)];
    world.tell(A, Event::Recover { lasts, among: of(&[0, 1, 2]) });
    world.run(31);
    assert_eq!(world.sites[0].answers.last(), Some(&Answer::TimedOut));
    assert_eq!(blocked(&world), 0);
}

/// Whatever is told in whatever order: no deadline is stale, nothing is applied twice, numbers
/// only rise, and a known primary stays known.
#[test]
fn the_laws_of_sharing() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut share = Share::<4>::new(A, of(&[1, 2]), Durable::default(), ms(1_000));
        let (mut now, mut last, mut known) = (1_000, Number::default(), false);
        let (mut kept, mut blocked, mut resumed) = (None::<Lasting>, false, false);
        for _ in 0..300 {
            now += random.below(3_000);
            let number = Number { term: random.below(4), n: random.below(4) as u32 };
            let members = Nodes::of_bits(random.below(16) as u32);
            let kind = random.pick(&[Kind::Attach, Kind::Detach, Kind::Promote]);
            let lasts = Span::from_secs(random.below(9) as u32);
            let ticket = giveover_core::share::Ticket(random.below(9) as u32);
            let primary = random.percent(30).then_some(B);
            let message = match random.below(8) {
                0 => Message::Ask { kind, members },
                1 => Message::Have { number },
                2 => Message::Command {
                    after: share.number(),
                    command: Command { number, kind, members },
                },
                3 => Message::State { number, pool: Pool { detached: members, primary } },
                4 => Message::Block { lasts },
                5 => Message::Ready,
                6 => Message::Refused,
                _ => Message::End,
            };
            let until = ms(random.below(2 * now));
            let by = Node(random.below(4) as u8);
            let event = match random.below(10) {
                0 | 1 => Event::Timeout,
                2 => Event::Active {
                    node: random.pick(&[None, Some(A), Some(B)]),
                    term: number.term,
                },
                3 => Event::Asked { kind, members },
                4 => Event::Recover { lasts, among: members },
                5 => Event::Recovered,
                6 => Event::Blocked { ticket, ok: random.percent(70) },
                7 => Event::Resumed(Lasting { by, until, waits_for: members }),
                _ => Event::Frame { from: Node(random.below(4) as u8), message },
            };
            let actions = share.handle(event, ms(now));
            for action in actions.as_slice() {
                if let Action::Apply(command) = action {
                    assert!(command.number > last, "seed {seed}: {command:?} after {last:?}");
                }
                if let Action::Keep(lasting) = action {
                    kept = *lasting;
                }
                blocked = match action {
                    Action::Block { .. } => true,
                    Action::Unblock => false,
                    _ => blocked,
                };
            }
            // Who refuses connections knows why, and its next life would know it too.
            assert_eq!(share.is_recovering(), blocked, "seed {seed}");
            if let (Some(lasting), false) = (share.lasting(), matches!(event, Event::Resumed(_))) {
                let known = kept.is_some_and(|kept| kept.by == lasting.by);
                assert!(known || resumed, "seed {seed}: {lasting:?} is kept as {kept:?}");
            }
            resumed = share.is_recovering() && (resumed || matches!(event, Event::Resumed(_)));
            assert!(share.number() >= last);
            last = share.number();
            assert!(!known || share.pool().primary.is_some(), "seed {seed}: unlearnt");
            known |= share.pool().primary.is_some();
            if event == Event::Timeout {
                assert!(share.poll_timeout().is_none_or(|due| due > ms(now)), "seed {seed}");
            }
        }
    }
}

/// Who was away when it began is told when it is heard again; who is not asked is not waited for.
#[test]
fn recovery_reaches_who_comes_back() {
    let lasts = Span::from_secs(60);
    let mut world = World::new(3);
    world.cut = vec![(A, C), (C, A)];
    world.tell(A, Event::Recover { lasts, among: of(&[1]) });
    assert_eq!(world.sites[0].answers, [Answer::Recovering]);
    assert!(!world.sites[2].blocked);
    world.cut.clear();
    world.run(10);
    assert!(world.sites[2].blocked, "it was told when it was heard again");
    let until = world.sites[0].share.recovery().map(|(_, until)| until);
    for site in &world.sites {
        assert_eq!(site.share.recovery(), until.map(|until| (A, until)));
    }
    world.run(60);
    assert!(world.sites.iter().all(|site| !site.blocked && !site.share.is_recovering()));
}

/// A frame that was lost is sent again: the other says what it has, and hears that it is to block.
#[test]
fn a_lost_block_is_said_again() {
    let lasts = Span::from_secs(300);
    let mut world = World::new(2);
    world.cut = vec![(A, B)];
    world.tell(A, Event::Recover { lasts, among: of(&[1]) });
    assert!(world.sites[0].answers.is_empty());
    world.cut.clear();
    world.run(10);
    assert_eq!(world.sites[0].answers, [Answer::Recovering]);
    // One that never answers makes it fail long before it would have ended.
    world.tell(A, Event::Recovered);
    world.cut = vec![(A, B)];
    world.tell(A, Event::Recover { lasts, among: of(&[1]) });
    world.run(31);
    assert_eq!(world.sites[0].answers.last(), Some(&Answer::TimedOut));
    assert!(!world.sites[0].blocked);
}

/// A crash cuts no recovery short: who comes back refuses connections again, by whomever it was
/// begun, until it is ended or its time is over.
#[test]
fn a_recovery_goes_on_after_a_crash() {
    let blocked = |world: &World| world.sites.iter().filter(|site| site.blocked).count();
    let lasts = Span::from_secs(60);
    let mut world = World::new(3);
    world.tell(A, Event::Recover { lasts, among: of(&[1, 2]) });
    let until = world.sites[0].share.recovery().map(|(_, until)| until);
    world.run(10);
    // Who began it, alone and cut off, and one that did not.
    world.cut = vec![(A, B), (A, C), (B, A), (C, A)];
    world.restart(A);
    world.restart(C);
    assert_eq!(blocked(&world), 3);
    assert_eq!(world.sites[0].share.recovery(), until.map(|until| (A, until)));
    world.run(10);
    world.cut.clear();
    world.tell(A, Event::Recovered);
    assert_eq!(blocked(&world), 0);
    assert!(world.sites.iter().all(|site| site.lasting.is_none()));
    world.restart(A);
    assert_eq!(blocked(&world), 0);

    // Its time was over meanwhile.
    world.tell(A, Event::Recover { lasts, among: of(&[1, 2]) });
    world.run(30);
    world.now += 31_000;
    world.restart(A);
    assert!(!world.sites[0].blocked && world.sites[0].lasting.is_none());

    // Where it cannot be refused any more all are let go: none or all.
    world.run(1);
    world.tell(A, Event::Recover { lasts, among: of(&[1, 2]) });
    assert_eq!(blocked(&world), 3);
    world.site(A).can_block = false;
    world.restart(A);
    assert_eq!((blocked(&world), &world.sites[0].answers), (0, &vec![Answer::RefusedBy(A)]));
}

/// A start that a crash cut short is asked again, and comes to what it would have come to.
#[test]
fn the_start_of_a_recovery_is_asked_again_after_a_crash() {
    let lasts = Span::from_secs(300);
    let mut world = World::new(2);
    world.cut = vec![(A, B)];
    world.tell(A, Event::Recover { lasts, among: of(&[1]) });
    world.restart(A);
    assert!(world.sites[0].blocked && world.sites[0].answers.is_empty());
    world.cut.clear();
    world.run(10);
    assert_eq!(world.sites[0].answers, [Answer::Recovering]);
    assert!(world.sites[1].blocked);
    world.tell(A, Event::Recovered);
    world.cut = vec![(A, B)];
    world.tell(A, Event::Recover { lasts, among: of(&[1]) });
    world.restart(A);
    world.run(31);
    assert_eq!(world.sites[0].answers, [Answer::TimedOut]);
    assert!(world.sites.iter().all(|site| !site.blocked));
}

/// Who began it has lost what it knew, as by a reboot, or its end was lost, or came while another was
/// away: nobody refuses connections for a recovery that there is none of.
#[test]
fn nobody_holds_a_recovery_that_is_over() {
    let lasts = Span::from_secs(600);
    let mut world = World::new(2);
    world.tell(A, Event::Recover { lasts, among: of(&[1]) });
    world.site(A).lasting = None;
    world.restart(A);
    assert!(!world.sites[0].blocked && world.sites[1].blocked);
    world.run(10);
    assert!(!world.sites[1].blocked, "of one that was forgotten");

    world.tell(A, Event::Recover { lasts, among: of(&[1]) });
    world.cut = vec![(A, B)];
    world.tell(A, Event::Recovered);
    world.run(10);
    assert!(world.sites[1].blocked, "it did not hear of the end");
    world.restart(B);
    assert!(world.sites[1].blocked, "nor while it was away");
    world.cut.clear();
    world.run(10);
    assert!(!world.sites[1].blocked && world.sites[1].lasting.is_none());
}

/// An active whose term is older than what was told numbers nothing, and says so.
#[test]
fn who_is_active_in_an_old_term_numbers_nothing() {
    let durable = Durable { number: Number { term: 9, n: 2 }, pool: Pool::default() };
    let mut share = Share::<4>::new(A, Nodes::only(B), durable, ms(0));
    share.handle(Event::Active { node: Some(A), term: 8 }, ms(0));
    let members = of(&[0]);
    let actions = share.handle(Event::Asked { kind: Kind::Detach, members }, ms(0));
    assert_eq!(actions.as_slice(), [Action::Answer(Answer::NobodyActive)]);
    assert_eq!((share.number(), *share.pool()), (durable.number, Pool::default()));
}

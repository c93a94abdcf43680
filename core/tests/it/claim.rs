//! A claim on a group in a store: what counts, from when, and what does not.

use giveover_core::claim::{
    Action, Answer, Claim, Event, Holder, Lease, Limits, Mark, Request, State, Ticket,
};
use giveover_core::node::Node;
use giveover_core::time::Instant;

use crate::peer_world::span;
use crate::script::ms;

pub(crate) const LIMITS: Limits =
    Limits { ttl: span(10_000), margin: span(5_000), wait: span(8_000), beat: span(1_000) };

const LEASE: Lease = Lease(77);

/// A machine, when it is, and the newest question.
struct Script {
    claim: Claim,
    now: u64,
    asked: Option<(Ticket, Request)>,
    told: Vec<Action>,
}

impl Script {
    fn new() -> Self {
        let claim = Claim::new(LIMITS, ms(0));
        let mut script = Self { claim, now: 0, asked: None, told: Vec::new() };
        script.handle(Event::Timeout);
        script
    }

    fn handle(&mut self, event: Event) {
        for action in &self.claim.handle(event, ms(self.now)) {
            match action {
                Action::Ask { ticket, request, until } => {
                    assert_eq!(*until, ms(self.now).after(LIMITS.patience()));
                    self.asked = Some((*ticket, *request));
                }
                other => self.told.push(*other),
            }
        }
    }

    /// Answers what was asked.
    fn answer(&mut self, answer: Answer) {
        let (ticket, _) = self.asked.take().expect("something was asked");
        self.handle(Event::Answered { ticket, answer });
    }

    /// What is asked and not answered.
    fn question(&self) -> Option<Request> {
        self.asked.map(|(_, request)| request)
    }

    fn told(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.told)
    }

    /// Goes on to `to`, asked and answered by `state` as often as it wants to read.
    fn until(&mut self, to: u64, state: State) {
        loop {
            if self.asked.is_some() {
                assert_eq!(self.question(), Some(Request::Read));
                self.answer(Answer::State(state));
                continue;
            }
            let due = self.claim.poll_timeout().expect("it always reads again").as_millis();
            self.now = due.min(to).max(self.now);
            self.handle(Event::Timeout);
            if due >= to && self.asked.is_none() {
                return;
            }
            if due >= to {
                self.answer(Answer::State(state));
                return;
            }
        }
    }

    /// The group is held here, in the fourth revision, by a lease asked for at `self.now`.
    fn holding() -> (Self, u64) {
        let mut script = Self::new();
        script.until(9_000, EMPTY);
        script.told();
        script.handle(Event::Wanted { by: 3 });
        let sent = script.now;
        script.answer(Answer::Granted { lease: LEASE, ttl: LIMITS.ttl });
        script.now += 30;
        script.answer(Answer::Claimed { revision: 4 });
        let since = ms(sent);
        assert_eq!(
            script.told(),
            [Action::Vacancy { vacant: false, to: None }, Action::Won { by: 3, term: 4, since }]
        );
        (script, sent)
    }

    /// The next renewal, asked for but not answered; returns when.
    fn renewal(&mut self) -> u64 {
        self.now = self.claim.poll_timeout().expect("it renews").as_millis();
        self.handle(Event::Timeout);
        assert_eq!(self.question(), Some(Request::Keep { lease: LEASE }));
        self.now
    }
}

const EMPTY: State = State {
    store: 1,
    revision: 3,
    holder: None,
    mark: Mark { revision: 0, let_go: false, to: None },
};

fn held(lease: i64, revision: u64) -> State {
    let holder = Some(Holder { lease: Lease(lease), revision });
    State { holder, revision: revision.max(4), mark: Mark { revision, ..EMPTY.mark }, ..EMPTY }
}

const VACANT: Action = Action::Vacancy { vacant: true, to: None };
const TAKEN: Action = Action::Vacancy { vacant: false, to: None };

#[test]
fn who_finds_nobody_waits_before_it_may_claim() {
    let mut script = Script::new();
    script.until(7_999, EMPTY);
    assert_eq!(script.told(), [], "a holder may have been there a moment before");
    script.handle(Event::Wanted { by: 1 });
    assert_eq!(script.told(), [Action::NotWon { by: 1 }]);
    script.until(9_000, EMPTY);
    assert_eq!(script.told(), [VACANT]);
}

#[test]
fn a_holder_that_vanishes_is_waited_for_and_one_that_let_go_is_not() {
    let mut script = Script::new();
    script.until(20_000, held(5, 4));
    let gone = State { holder: None, ..held(5, 4) };
    script.until(27_000, gone);
    assert_eq!(script.told(), [], "its lease was lost, perhaps early: it may hold on for a while");
    script.until(30_000, gone);
    assert_eq!(script.told(), [VACANT]);
    script.until(40_000, held(6, 9));
    assert_eq!(script.told(), [TAKEN]);
    let mark = Mark { revision: 11, let_go: true, to: Some(Node(1)) };
    script.until(41_000, State { holder: None, revision: 11, mark, ..EMPTY });
    assert_eq!(script.told(), [Action::Vacancy { vacant: true, to: Some(Node(1)) }]);
}

/// Between two reads another may have come and gone: then the mark is another, and time begins anew.
#[test]
fn time_begins_anew_with_another_mark() {
    let mut script = Script::new();
    script.until(5_000, EMPTY);
    let gone = State { holder: None, ..held(5, 4) };
    script.until(12_500, gone);
    assert_eq!(script.told(), []);
    script.until(14_000, gone);
    assert_eq!(script.told(), [VACANT]);
}

/// What a store says of the past that was restored or emptied is no word to build on.
#[test]
fn another_store_or_an_older_one_is_not_believed() {
    let mark = Mark { revision: 9, let_go: true, to: None };
    let free = State { revision: 9, mark, ..EMPTY };
    for other in [
        State { store: 2, ..free },
        State { revision: 8, mark: Mark { revision: 8, ..mark }, ..free },
        State { mark: Mark { revision: 8, ..mark }, ..free },
    ] {
        let mut script = Script::new();
        script.until(9_000, free);
        assert_eq!(script.told(), [VACANT], "not before `wait` after the first read");
        script.until(10_500, other);
        assert_eq!(script.told(), [TAKEN], "{other:?}");
        script.until(17_000, other);
        assert_eq!(script.told(), [], "{other:?}");
        script.until(20_000, other);
        assert_eq!(script.told(), [VACANT], "{other:?}");
    }
}

#[test]
fn a_claim_names_the_mark_and_counts_from_before_its_lease_was_asked_for() {
    let (script, _) = Script::holding();
    assert!(!script.claim.is_idle());

    // A lease that is shorter than it was asked for counts as if it had been asked for earlier.
    let mut script = Script::new();
    script.until(9_000, EMPTY);
    script.told();
    script.handle(Event::Wanted { by: 3 });
    script.answer(Answer::Granted { lease: LEASE, ttl: span(8_000) });
    assert_eq!(script.question(), Some(Request::Claim { lease: LEASE, mark: 0 }));
    script.answer(Answer::Claimed { revision: 4 });
    assert!(script.told().contains(&Action::Won { by: 3, term: 4, since: ms(7_000) }));
}

#[test]
fn a_claim_that_another_was_before_is_lost_and_one_in_doubt_is_let_go() {
    let claiming = || {
        let mut script = Script::new();
        script.until(9_000, EMPTY);
        script.handle(Event::Wanted { by: 3 });
        script.answer(Answer::Granted { lease: LEASE, ttl: LIMITS.ttl });
        script.told();
        script
    };
    let mut script = claiming();
    script.answer(Answer::State(held(5, 4)));
    assert_eq!(script.told(), [Action::NotWon { by: 3 }]);
    assert!(script.claim.is_idle());

    // No answer; or one that cannot be, of a revision that was read before.
    for answer in [Answer::Failed, Answer::Claimed { revision: 3 }, Answer::LetGo] {
        let mut script = claiming();
        script.answer(answer);
        assert_eq!(script.told(), [Action::NotWon { by: 3 }], "{answer:?}");
        script.now = script.claim.poll_timeout().expect("it lets go").as_millis();
        script.handle(Event::Timeout);
        assert_eq!(script.question(), Some(Request::LetGo { lease: LEASE, to: None }));
        script.answer(Answer::State(EMPTY));
        assert!(script.claim.is_idle());
    }
    let mut script = claiming();
    let (late, _) = script.asked.expect("the claim");
    script.now += 1_000;
    script.handle(Event::Timeout);
    assert_eq!(script.told(), [Action::NotWon { by: 3 }], "no answer in time is none");
    script.handle(Event::Answered { ticket: late, answer: Answer::Claimed { revision: 4 } });
    assert_eq!(script.told(), [], "and what comes late is nothing");
}

/// The answer of a member that is cut off from the others renews nothing: only a read by their
/// majority, asked for after it, shows that the holder was still there.
#[test]
fn a_renewal_counts_once_the_holder_is_seen_to_be_there_still() {
    let (mut script, _) = Script::holding();
    let sent = script.renewal();
    script.now += 200;
    script.answer(Answer::Kept { ttl: LIMITS.ttl });
    assert_eq!((script.told(), script.question()), (vec![], Some(Request::Read)));
    script.now += 100;
    script.answer(Answer::State(held(77, 4)));
    assert_eq!(script.told(), [Action::Kept { term: 4, since: ms(sent) }]);

    let sent = script.renewal();
    script.answer(Answer::Kept { ttl: span(9_000) });
    script.answer(Answer::State(held(77, 4)));
    assert_eq!(script.told(), [Action::Kept { term: 4, since: ms(sent - 1_000) }]);

    assert_eq!(script.renewal(), sent + 1_000, "and yet each is asked for in its time");
    script.answer(Answer::Kept { ttl: span(0) });
    script.answer(Answer::State(held(77, 4)));
    assert_eq!(script.told(), [], "a lease that is over is not renewed");
    script.renewal();
}

#[test]
fn what_comes_late_twice_or_to_something_else_is_nothing() {
    let (mut script, _) = Script::holding();
    script.renewal();
    let (ticket, _) = script.asked.expect("the renewal");
    script.answer(Answer::Kept { ttl: LIMITS.ttl });
    for answer in [Answer::Kept { ttl: LIMITS.ttl }, Answer::State(held(5, 9)), Answer::Failed] {
        script.handle(Event::Answered { ticket, answer });
        script.handle(Event::Answered { ticket: Ticket(999), answer });
        assert_eq!((script.told(), script.question()), (vec![], Some(Request::Read)), "{answer:?}");
    }
    // An answer to another question, under the right ticket: as good as none, and asked again.
    script.answer(Answer::Granted { lease: Lease(9), ttl: LIMITS.ttl });
    assert_eq!(script.told(), []);
    script.renewal();
}

#[test]
fn a_holder_that_is_there_no_more_is_told_at_once() {
    let gone = State { holder: None, ..held(77, 4) };
    for state in [gone, held(78, 9), held(77, 9), held(78, 4)] {
        let (mut script, _) = Script::holding();
        script.now += 10;
        script.handle(Event::Changed);
        assert_eq!(script.question(), Some(Request::Keep { lease: LEASE }), "the watch has told");
        script.answer(Answer::Kept { ttl: LIMITS.ttl });
        script.answer(Answer::State(state));
        assert_eq!(script.told(), [Action::Lost { term: 4 }], "{state:?}");
        assert!(script.claim.is_idle());
    }
}

#[test]
fn a_store_that_does_not_answer_is_asked_again_and_told_of_nothing() {
    let (mut script, _) = Script::holding();
    for _ in 0..20 {
        script.renewal();
        script.now += 1_000;
        script.asked = None;
        script.handle(Event::Timeout);
        assert_eq!(script.told(), [], "when it ends is for who holds to know");
    }
    script.renewal();
    script.answer(Answer::Kept { ttl: span(0) });
    script.answer(Answer::State(State { holder: None, ..held(77, 4) }));
    assert_eq!(script.told(), [Action::Lost { term: 4 }]);
}

#[test]
fn what_is_let_go_is_marked_so_or_given_up_when_it_has_lapsed() {
    let (mut script, _) = Script::holding();
    script.handle(Event::LetGo { to: Some(Node(2)) });
    let request = Request::LetGo { lease: LEASE, to: Some(Node(2)) };
    assert_eq!(script.question(), Some(request));
    script.handle(Event::Wanted { by: 9 });
    assert_eq!(script.told(), [Action::NotWon { by: 9 }], "not while it is still let go");
    script.answer(Answer::LetGo);
    assert!(script.claim.is_idle());
    assert_eq!(script.question(), Some(Request::Read));

    let (mut script, _) = Script::holding();
    script.handle(Event::LetGo { to: None });
    let end = script.now + 10_000;
    while !script.claim.is_idle() {
        assert!(script.now <= end + 1_500, "its lease has lapsed: nothing is left to let go");
        script.asked = None;
        script.now = script.claim.poll_timeout().expect("it tries again").as_millis();
        script.handle(Event::Timeout);
    }
    assert!(script.now >= end);
}

#[test]
fn time_that_goes_back_is_the_latest_seen() {
    let mut script = Script::new();
    script.until(9_000, EMPTY);
    let before = script.claim.poll_timeout();
    script.claim.handle(Event::Timeout, Instant::from_millis(1));
    assert_eq!(script.claim.poll_timeout(), before);
}

//! A board on a bench: its store, its line and its power, and what must hold whatever happens.

use giveover_core::board::{
    Action, Board, Durable, Event, HOLD_OFF, Note, Refusal, Request, Settings, Start, State,
    Verdict,
};
use giveover_core::time::{Instant, Span};

use crate::script::ms;

/// How the power of a board ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Board and host: retained memory is lost.
    Power,
    /// The board alone: retained memory stays.
    Reset,
}

/// An edge of the reset line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// Time the board has had power, all in all: nobody can lose it.
    pub(crate) at: u64,
    pub(crate) held: bool,
}

/// A board, and everything around it. It looks at every action and panics where an invariant of
/// the reset line (C1 to C7) does not hold.
pub(crate) struct Bench {
    pub(crate) board: Board,
    /// Powered time as the board has it.
    pub(crate) now: u64,
    /// Powered time as it is.
    pub(crate) on: u64,
    started: u64,
    pub(crate) flash: Option<[u8; Durable::BYTES]>,
    ram: Option<[u8; Durable::BYTES]>,
    /// Whether the store takes records.
    pub(crate) store_works: bool,
    /// The power ends after so many actions.
    pub(crate) fuse: Option<(u32, Cut)>,
    line: Option<(u64, Span)>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) notes: Vec<Note>,
    pub(crate) answers: Vec<Option<Refusal>>,
    /// When the host last asked for something.
    pub(crate) asked: u64,
    pub(crate) second: bool,
    pub(crate) jumper: bool,
    /// No pulse of before counts for the budget any more: a person cleared it.
    cleared: u64,
    /// What the budget is, until it is changed.
    steady: bool,
}

impl Bench {
    pub(crate) fn new(settings: Settings) -> Self {
        let mut bench = Self::blank();
        bench.ask(Request::Configure(settings)).expect("in range");
        bench.notes.clear();
        bench
    }

    /// Fresh from the factory.
    pub(crate) fn blank() -> Self {
        let (board, _) = Board::start(None, Start::PowerUp, ms(0));
        let mut bench = Self {
            board,
            now: 0,
            on: 0,
            started: 0,
            flash: None,
            ram: None,
            store_works: true,
            fuse: None,
            line: None,
            edges: Vec::new(),
            notes: Vec::new(),
            answers: Vec::new(),
            asked: 0,
            second: false,
            jumper: false,
            cleared: 0,
            steady: true,
        };
        bench.restart(Cut::Power);
        bench
    }

    /// Armed and fed, past the hold-off.
    pub(crate) fn armed(settings: Settings) -> Self {
        let mut bench = Self::new(settings);
        bench.pass(HOLD_OFF);
        bench.ask(Request::Arm).expect("nothing stands in the way");
        bench.feed();
        assert_eq!(bench.board.state(), State::Armed);
        bench.notes.clear();
        bench
    }

    /// A good feed.
    pub(crate) fn feed(&mut self) {
        self.tell(Event::Feed { fresh: true, right: true, verdict: Verdict::Ok });
    }

    /// A feed of the connection under way.
    pub(crate) fn feed_with(&mut self, right: bool) {
        self.tell(Event::Feed { fresh: false, right, verdict: Verdict::Ok });
    }

    pub(crate) fn ask(&mut self, request: Request) -> Result<(), Refusal> {
        let asked = self.answers.len();
        self.asked = self.on;
        self.tell(Event::Host(request));
        // Without an answer the power ended before it, and the request may be durable or not.
        let answer = self.answers.get(asked).copied().flatten();
        assert!(self.answers.len() <= asked + 1, "one answer");
        match (answer, request) {
            (Some(refusal), _) => return Err(refusal),
            (None, Request::Clear) => self.cleared = self.edges.len() as u64,
            (None, Request::Configure(_)) if !self.edges.is_empty() => self.steady = false,
            _ => {}
        }
        Ok(())
    }

    /// Lets time pass, and tells the board whenever it wants to know.
    pub(crate) fn pass(&mut self, span: Span) {
        let mut left = u64::from(span.as_millis());
        loop {
            let due = self.board.poll_timeout().map(Instant::as_millis);
            let wait = due.map_or(left, |due| due.saturating_sub(self.now).min(left));
            self.now += wait;
            self.on += wait;
            left -= wait;
            if due.is_some_and(|due| due <= self.now) {
                self.tell(Event::Timeout);
                let next = self.board.poll_timeout();
                assert!(
                    next.is_none_or(|next| next > ms(self.now)),
                    "a deadline is stale: {next:?}"
                );
            } else if left == 0 {
                return;
            }
        }
    }

    /// Time passes, and the board is not told.
    pub(crate) fn sleep(&mut self, span: Span) {
        self.now += u64::from(span.as_millis());
        self.on += u64::from(span.as_millis());
    }

    pub(crate) fn pass_until(&mut self, state: State, most: Span) {
        let mut left = most.as_millis();
        while self.board.state() != state {
            assert!(left > 0, "{state:?} did not come, it is {:?}", self.board.state());
            self.pass(Span::from_millis(left.min(250)));
            left -= left.min(250);
        }
    }

    pub(crate) fn tell(&mut self, event: Event) {
        let mut events = std::collections::VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let actions = self.board.handle(event, ms(self.now));
            self.retain();
            for action in actions {
                if let Some((left, cut)) = &mut self.fuse {
                    if *left == 0 {
                        let cut = *cut;
                        self.fuse = None;
                        self.restart(cut);
                        return;
                    }
                    *left -= 1;
                }
                events.extend(self.carry_out(action));
            }
            self.look();
        }
    }

    fn carry_out(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::Store => return Some(self.store()),
            Action::Pulse { ticket, width } => self.pulse(ticket, width),
            Action::Release => self.release(false),
            Action::Second(on) => self.second = on,
            Action::Answer(answer) => self.answers.push(answer),
            Action::Note(note) => self.notes.push(note),
            Action::Echo => {}
            other => panic!("{other:?}"),
        }
        None
    }

    fn store(&mut self) -> Event {
        let record = self.board.durable();
        assert_eq!(Durable::decode(&record.encode()), Ok(record));
        if let Some(flash) = self.durable() {
            assert!(record.number > flash.number && record.ever >= flash.ever);
        }
        if self.store_works {
            self.flash = Some(record.encode());
        }
        Event::Stored { number: record.number, ok: self.store_works }
    }

    pub(crate) fn durable(&self) -> Option<Durable> {
        self.flash.as_ref().map(|bytes| Durable::decode(bytes).expect("it was written"))
    }

    fn pulse(&mut self, ticket: u32, width: Span) {
        let settings = *self.board.settings();
        assert!(self.line.is_none(), "one pulse at a time");
        assert!(!self.jumper, "C5: no pulse past the jumper");
        let hold_off = u64::from(HOLD_OFF.as_millis());
        assert!(self.on - self.started >= hold_off, "C5: no pulse within the hold-off");
        let record = self.durable().expect("C6: an intent is durable");
        assert!(record.intent && record.ever == ticket, "C6: {record:?} for {ticket}");
        assert!(width >= Settings::LEAST_PULSE && width <= Settings::MOST_PULSE);
        if let Some(last) = self.edges.last() {
            let apart = self.on - last.at;
            let grace = u64::from(settings.boot_grace.as_millis());
            assert!(!self.steady || apart >= grace, "C3: {apart} ms after the last");
        }
        self.line = Some((self.on, width));
        self.edges.push(Edge { at: self.on, held: true });
        self.count_pulses(&settings);
    }

    /// C4: no window of powered time has more pulses than the budget.
    fn count_pulses(&self, settings: &Settings) {
        if !self.steady {
            return;
        }
        let window = u64::from(settings.retry_interval.as_millis());
        let counted = self.edges.iter().skip(self.cleared as usize).filter(|edge| edge.held);
        let inside = counted.filter(|edge| self.on - edge.at <= window).count();
        assert!(inside <= usize::from(settings.retry_count), "C4: {inside} in {window} ms");
    }

    fn release(&mut self, cut_short: bool) {
        let Some((since, width)) = self.line.take() else { return };
        let lasted = self.on - since;
        if !cut_short {
            let width = u64::from(width.as_millis());
            assert!(lasted >= width, "C2: {lasted} ms");
        }
        self.edges.push(Edge { at: self.on, held: false });
    }

    /// What retained memory would have now.
    fn retain(&mut self) {
        self.ram = Some(self.board.durable().encode());
    }

    /// C1: the line is held in one state only.
    fn look(&self) {
        if self.line.is_some() {
            assert_eq!(self.board.state(), State::Pulsing, "C1");
        }
    }

    /// The board starts again, from what its memories kept; its time goes on from there.
    pub(crate) fn restart(&mut self, cut: Cut) {
        self.release(true);
        let kept = self.durable();
        let retained = match cut {
            Cut::Power => None,
            Cut::Reset => self.ram.as_ref().and_then(|bytes| Durable::decode(bytes).ok()),
        };
        let record = Durable::settle(kept, retained);
        let start = if retained.is_some() { Start::BoardReset } else { Start::PowerUp };
        self.now = record.map_or(0, |record| record.powered.as_millis());
        self.started = self.on;
        let (board, actions) = Board::start(record, start, ms(self.now));
        if let Some(record) = record {
            assert_eq!(board.durable().ever, record.ever, "no reset is forgotten or made up");
            assert!(board.resets() <= u16::from(record.resets.count()));
        }
        self.board = board;
        self.second = false;
        let mut events = Vec::new();
        for action in actions {
            assert!(!matches!(action, Action::Pulse { .. }), "no edge at boot");
            events.extend(self.carry_out(action));
        }
        events.into_iter().for_each(|event| self.tell(event));
        if self.jumper {
            self.tell(Event::Jumper(true));
        }
    }

    /// Pulses that were begun.
    pub(crate) fn pulses(&self) -> usize {
        self.edges.iter().filter(|edge| edge.held).count()
    }

    pub(crate) fn state(&self) -> State {
        self.board.state()
    }
}

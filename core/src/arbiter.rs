//! May this giveover happen? Reasons for denial, and the guard against ping-pong.

use core::fmt;

use crate::time::{Instant, Span};

pub use crate::node::Node;

/// A node that might take a group over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Which.
    pub node: Node,
    /// It is up and listed for the group.
    pub up: bool,
    /// Its own check of whether it could run the group says no.
    pub vetoes: bool,
}

/// What stands when a giveover is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The group is online on the asking node.
    pub online_here: bool,
    /// The service's `failover_mode` allows it.
    pub mode_allows: bool,
    /// Automatic recovery is suspended.
    pub suspended: bool,
    /// A move or an election is under way.
    pub moving: bool,
    /// A person asks: the ping-pong guard binds monitors only.
    pub by_operator: bool,
    /// Who might take it, best first.
    pub candidates: &'a [Candidate],
}

/// What an arbiter is told.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A monitor or a person asks.
    Asked(Request<'a>),
    /// A monitor on `from` gave the group over. Only what was carried out is told.
    GaveOver {
        /// The node it left.
        from: Node,
    },
    /// A person forgets who gave it over.
    Clear,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To this node.
    Granted(Node),
    /// Final for this attempt.
    Denied(Denial),
    /// A move or an election is under way: ask again.
    NotNow,
}

/// Why a request is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Denial {
    /// The group is not online on the asking node.
    NotOnlineHere,
    /// `restart_only` and `log_only` never give over.
    ModeForbids,
    /// Automatic recovery is suspended.
    Suspended,
    /// No node is listed besides this one.
    NobodyListed,
    /// No listed node is up.
    NobodyUp,
    /// Every node that is up says it could not run the group.
    AllVeto,
    /// Every node left gave this group over less than `pingpong_interval` ago.
    PingPong {
        /// The one that is free soonest.
        node: Node,
        /// How long ago it gave it over, in whole seconds.
        ago_s: u32,
        /// When it may be asked again, in whole seconds, rounded up.
        left_s: u32,
    },
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOnlineHere => write!(f, "not online on this node"),
            Self::ModeForbids => write!(f, "failover_mode forbids it"),
            Self::Suspended => write!(f, "automatic recovery is suspended"),
            Self::NobodyListed => write!(f, "no other node is listed"),
            Self::NobodyUp => write!(f, "no other node is up"),
            Self::AllVeto => write!(f, "every node that is up says it cannot run it"),
            Self::PingPong { ago_s, left_s, .. } => {
                write!(f, "ping-pong, it gave it over {ago_s} s ago, {left_s} s left")
            }
        }
    }
}

/// The arbiter of one group, remembering up to `N` nodes that gave it over.
///
/// # Source
/// `scha_control(1HA)` and the support note on ping-pong: a node from which a monitor gave the
/// group over cannot be its destination again until `pingpong_interval` has passed.
#[derive(Clone, Debug)]
pub struct Arbiter<const N: usize> {
    pingpong_interval: Span,
    gave_over: heapless::Vec<(Node, Instant), N>,
}

impl<const N: usize> Arbiter<N> {
    /// The interval of the documents.
    pub const PINGPONG_INTERVAL: Span = Span::from_secs(3600);

    /// An arbiter that has seen nothing.
    #[must_use]
    pub const fn new(pingpong_interval: Span) -> Self {
        Self { pingpong_interval, gave_over: heapless::Vec::new() }
    }

    /// Takes in what happened; only a request has an answer.
    pub fn handle(&mut self, event: Event<'_>, now: Instant) -> Option<Answer> {
        match event {
            Event::Asked(request) => Some(self.judge(&request, now)),
            Event::GaveOver { from } => {
                self.stamp(from, now);
                None
            }
            Event::Clear => {
                self.gave_over.clear();
                None
            }
        }
    }

    /// Nothing is ever due: stamps age by being looked at.
    #[must_use]
    pub const fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn judge(&self, request: &Request<'_>, now: Instant) -> Answer {
        if request.moving {
            return Answer::NotNow;
        }
        if !request.online_here {
            return Answer::Denied(Denial::NotOnlineHere);
        }
        if !request.mode_allows && !request.by_operator {
            return Answer::Denied(Denial::ModeForbids);
        }
        if request.suspended && !request.by_operator {
            return Answer::Denied(Denial::Suspended);
        }
        self.choose(request, now)
    }

    fn choose(&self, request: &Request<'_>, now: Instant) -> Answer {
        let up = || request.candidates.iter().filter(|candidate| candidate.up);
        let able = || up().filter(|candidate| !candidate.vetoes);
        if request.candidates.is_empty() {
            return Answer::Denied(Denial::NobodyListed);
        }
        if up().next().is_none() {
            return Answer::Denied(Denial::NobodyUp);
        }
        if able().next().is_none() {
            return Answer::Denied(Denial::AllVeto);
        }
        let free = able()
            .find(|candidate| request.by_operator || self.left(candidate.node, now).is_none());
        if let Some(candidate) = free {
            return Answer::Granted(candidate.node);
        }
        let soonest = able()
            .filter_map(|candidate| Some((candidate.node, self.left(candidate.node, now)?)))
            .min_by_key(|(_, (_, left))| *left);
        match soonest {
            Some((node, (ago, left))) => Answer::Denied(Denial::PingPong {
                node,
                ago_s: u32::try_from(ago / 1000).unwrap_or(u32::MAX),
                left_s: u32::try_from(left.div_ceil(1000)).unwrap_or(u32::MAX),
            }),
            None => Answer::Denied(Denial::AllVeto),
        }
    }

    /// Since when, and for how much longer, `node` cannot be a destination; milliseconds.
    fn left(&self, node: Node, now: Instant) -> Option<(u64, u64)> {
        let (_, at) = self.gave_over.iter().find(|(stamped, _)| *stamped == node)?;
        let ago = now.since(*at);
        let left = u64::from(self.pingpong_interval.as_millis()).checked_sub(ago)?;
        (left > 0).then_some((ago, left))
    }

    fn stamp(&mut self, from: Node, now: Instant) {
        self.gave_over.retain(|(node, _)| *node != from);
        if self.gave_over.is_full() {
            // More nodes than places: the oldest stamp is the least use.
            let oldest = self.gave_over.iter().enumerate().min_by_key(|(_, (_, at))| *at);
            if let Some(place) = oldest.map(|(place, _)| place) {
                self.gave_over.swap_remove(place);
            }
        }
        let _ = self.gave_over.push((from, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Node = Node(0);
    const B: Node = Node(1);
    const C: Node = Node(2);

    fn ask(arbiter: &mut Arbiter<4>, here: Node, nodes: &[Node], at_s: u64) -> Answer {
        let candidates: heapless::Vec<Candidate, 4> = nodes
            .iter()
            .filter(|node| **node != here)
            .map(|node| Candidate { node: *node, up: true, vetoes: false })
            .collect();
        let now = Instant::from_millis(at_s * 1000);
        let request = Request {
            online_here: true,
            mode_allows: true,
            suspended: false,
            moving: false,
            by_operator: false,
            candidates: &candidates,
        };
        let answer = arbiter.handle(Event::Asked(request), now).expect("an answer");
        if let Answer::Granted(_) = answer {
            arbiter.handle(Event::GaveOver { from: here }, now);
        }
        answer
    }

    /// The timelines of the source's ping-pong guard, two nodes and three.
    #[test]
    fn a_node_that_gave_it_over_is_no_destination_for_an_hour() {
        let mut arbiter = Arbiter::new(Arbiter::<4>::PINGPONG_INTERVAL);
        let two = [A, B];
        assert_eq!(ask(&mut arbiter, A, &two, 0), Answer::Granted(B));
        for (at, left_s) in [(600, 3000), (1800, 1800), (3599, 1)] {
            let denial = Denial::PingPong { node: A, ago_s: at as u32, left_s };
            assert_eq!(ask(&mut arbiter, B, &two, at), Answer::Denied(denial));
        }
        assert_eq!(ask(&mut arbiter, B, &two, 3600), Answer::Granted(A));
        assert!(matches!(ask(&mut arbiter, A, &two, 4000), Answer::Denied(_)));
        assert_eq!(ask(&mut arbiter, A, &two, 7200), Answer::Granted(B));

        let mut arbiter = Arbiter::new(Arbiter::<4>::PINGPONG_INTERVAL);
        let three = [A, B, C];
        assert_eq!(ask(&mut arbiter, A, &three, 0), Answer::Granted(B));
        assert_eq!(ask(&mut arbiter, B, &three, 600), Answer::Granted(C));
        assert!(matches!(ask(&mut arbiter, C, &three, 1200), Answer::Denied(_)));
        assert!(matches!(ask(&mut arbiter, C, &three, 1800), Answer::Denied(_)));
        assert_eq!(ask(&mut arbiter, C, &three, 3700), Answer::Granted(A));
    }

    // req 1.33 1.34
    #[test]
    fn every_denial_has_its_reason() {
        let mut arbiter = Arbiter::<4>::new(Span::from_secs(3600));
        let up = Candidate { node: B, up: true, vetoes: false };
        let down = Candidate { up: false, ..up };
        let vetoes = Candidate { vetoes: true, ..up };
        let good = Request {
            online_here: true,
            mode_allows: true,
            suspended: false,
            moving: false,
            by_operator: false,
            candidates: &[up],
        };
        let cases = [
            (good, Answer::Granted(B)),
            (Request { moving: true, ..good }, Answer::NotNow),
            (Request { online_here: false, ..good }, Answer::Denied(Denial::NotOnlineHere)),
            (Request { mode_allows: false, ..good }, Answer::Denied(Denial::ModeForbids)),
            (Request { suspended: true, ..good }, Answer::Denied(Denial::Suspended)),
            (Request { candidates: &[], ..good }, Answer::Denied(Denial::NobodyListed)),
            (Request { candidates: &[down], ..good }, Answer::Denied(Denial::NobodyUp)),
            (Request { candidates: &[down, vetoes], ..good }, Answer::Denied(Denial::AllVeto)),
        ];
        for (request, answer) in cases {
            let now = Instant::from_millis(0);
            assert_eq!(arbiter.handle(Event::Asked(request), now), Some(answer));
        }
    }

    /// A person is bound by what is possible, not by the guards for monitors.
    #[test]
    fn an_operator_is_denied_only_what_cannot_be_done() {
        let mut arbiter = Arbiter::<4>::new(Span::from_secs(3600));
        let now = Instant::from_millis(5_000);
        arbiter.handle(Event::GaveOver { from: B }, now);
        let up = Candidate { node: B, up: true, vetoes: false };
        let asked = Request {
            online_here: true,
            mode_allows: false,
            suspended: true,
            moving: false,
            by_operator: true,
            candidates: &[up],
        };
        let mut answer = |request| arbiter.handle(Event::Asked(request), now);
        assert_eq!(answer(asked), Some(Answer::Granted(B)));
        let nobody = Request { candidates: &[], ..asked };
        assert_eq!(answer(nobody), Some(Answer::Denied(Denial::NobodyListed)));
        assert_eq!(answer(Request { moving: true, ..asked }), Some(Answer::NotNow));
    }

    /// More nodes than places: the oldest stamp gives way, the newest are kept.
    #[test]
    fn a_full_arbiter_forgets_the_oldest_and_clear_forgets_all() {
        let mut arbiter = Arbiter::<2>::new(Span::from_secs(3600));
        let at = |s: u64| Instant::from_millis(s * 1000);
        for (from, s) in [(A, 1), (B, 2), (C, 3), (C, 4)] {
            arbiter.handle(Event::GaveOver { from }, at(s));
        }
        let left = |arbiter: &Arbiter<2>, node| arbiter.left(node, at(5)).is_some();
        assert_eq!([A, B, C].map(|node| left(&arbiter, node)), [false, true, true]);
        arbiter.handle(Event::Clear, at(5));
        assert!(!left(&arbiter, C));
    }
}

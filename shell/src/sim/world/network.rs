//! The network between nodes: frames that take their time, get lost alone or in bursts, come twice,
//! overtake each other, and pass a cut one way only.

use std::collections::BTreeMap;

use giveover_core::peer::Message;

use super::random::Random;
use super::service::NEVER;
use crate::config::world::Link;

/// Chances are of so many.
const MILLION: u64 = 1_000_000;

/// A frame that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) message: Message,
}

pub(super) struct Network {
    link: Link,
    nodes: usize,
    /// By the time of arrival; of two at one instant the one that was sent first.
    flying: BTreeMap<(u64, u64), Frame>,
    sent: u64,
    /// So many faults cut the way from one to another.
    cuts: Vec<u32>,
    /// Everything that way is lost until then.
    bursts: Vec<u64>,
}

impl Network {
    pub(super) fn new(link: Link, nodes: usize) -> Self {
        let ways = nodes * nodes;
        Self {
            link,
            nodes,
            flying: BTreeMap::new(),
            sent: 0,
            cuts: vec![0; ways],
            bursts: vec![0; ways],
        }
    }

    /// When the next frame arrives.
    pub(super) fn next_event(&self) -> u64 {
        self.flying.first_key_value().map_or(NEVER, |((at, _), _)| *at)
    }

    /// A frame that has arrived by `now`.
    pub(super) fn arrived(&mut self, now: u64) -> Option<Frame> {
        let first = self.flying.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// The way from one node to another is cut, or one of its cuts ends.
    pub(super) fn cut(&mut self, from: usize, to: usize, begins: bool) {
        if let Some(cuts) = self.cuts.get_mut(from * self.nodes + to) {
            *cuts = if begins { *cuts + 1 } else { cuts.saturating_sub(1) };
        }
    }

    /// A frame is sent; what becomes of it is drawn now.
    pub(super) fn send(&mut self, now: u64, frame: Frame, random: &mut Random) {
        let way = frame.from * self.nodes + frame.to;
        let Some(burst) = self.bursts.get_mut(way) else { return };
        let link = self.link;
        let mut chance = |share: u32| share > 0 && random.below(MILLION) < u64::from(share);
        let (lost, begins) = (chance(link.loss), chance(link.burst));
        let (twice, late) = (chance(link.duplicate), chance(link.reorder));
        if begins {
            *burst = (*burst).max(now.saturating_add(random.within(link.burst_lasts)));
        }
        let cut = self.cuts.get(way).is_some_and(|cuts| *cuts > 0);
        if lost || cut || *burst > now {
            return;
        }
        for _ in 0..1 + u8::from(twice) {
            let mut takes = random.within(link.delay);
            if late {
                takes += random.within(link.reorder_by);
            }
            self.sent += 1;
            self.flying.insert((now.saturating_add(takes), self.sent), frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::world::Range;

    const FROM_TO: Frame = Frame { from: 0, to: 1, message: Message::Vote { term: 0 } };

    /// Sends `count` frames, a millisecond after each other, and tells when which arrived.
    fn sent(link: Link, count: u64) -> Vec<(u64, u64)> {
        let (mut network, mut random) = (Network::new(link, 2), Random::new(3));
        for term in 0..count {
            let frame = Frame { message: Message::Vote { term }, ..FROM_TO };
            network.send(term, frame, &mut random);
        }
        let mut arrived = Vec::new();
        while network.next_event() != NEVER {
            let at = network.next_event();
            let frame = network.arrived(at).expect("it is due");
            let Message::Vote { term } = frame.message else { panic!("{frame:?}") };
            arrived.push((at, term));
        }
        arrived
    }

    #[test]
    fn a_quiet_network_loses_nothing_and_keeps_the_order() {
        let arrived = sent(Link::QUIET, 1_000);
        assert!(arrived.iter().zip(0..).all(|(it, term)| *it == (term + 1, term)));
        assert_eq!(arrived.len(), 1_000);
    }

    #[test]
    fn delays_vary_and_overtake() {
        let delay = Range { least: 5, most: 50 };
        let arrived = sent(Link { delay, ..Link::QUIET }, 1_000);
        assert_eq!(arrived.len(), 1_000);
        assert!(arrived.iter().all(|(at, term)| (5..=50).contains(&(at - term))));
        assert!(arrived.windows(2).any(|two| two[0].1 > two[1].1), "none was overtaken");
    }

    #[test]
    fn frames_are_lost_doubled_and_held_back_as_often_as_written() {
        let lost = sent(Link { loss: 200_000, ..Link::QUIET }, 10_000);
        assert!((7_800..8_200).contains(&lost.len()), "{}", lost.len());
        let doubled = sent(Link { duplicate: 100_000, ..Link::QUIET }, 10_000);
        assert!((10_850..11_150).contains(&doubled.len()), "{}", doubled.len());
        let late = sent(Link { reorder: 100_000, ..Link::QUIET }, 10_000);
        let held = late.iter().filter(|(at, term)| at - term > 1).count();
        assert!((850..1_150).contains(&held) && late.len() == 10_000, "{held}");
    }

    /// As many as by single losses, but in a row.
    #[test]
    fn bursts_lose_everything_for_a_while() {
        let burst_lasts = Range { least: 100, most: 100 };
        let arrived = sent(Link { burst: 1_000, burst_lasts, ..Link::QUIET }, 20_000);
        let gaps: Vec<u64> = arrived.windows(2).map(|two| two[1].1 - two[0].1).collect();
        assert!(gaps.iter().filter(|gap| **gap > 1).all(|gap| *gap > 100), "none alone");
        assert!(gaps.iter().filter(|gap| **gap > 1).count() > 5);
    }

    #[test]
    fn a_cut_is_one_way_and_lasts_until_all_of_them_end() {
        let (mut network, mut random) = (Network::new(Link::QUIET, 2), Random::new(1));
        let back = Frame { from: 1, to: 0, ..FROM_TO };
        network.cut(0, 1, true);
        network.cut(0, 1, true);
        network.send(0, FROM_TO, &mut random);
        network.send(0, back, &mut random);
        assert_eq!(network.arrived(1), Some(back), "the other way is open");
        network.cut(0, 1, false);
        network.send(2, FROM_TO, &mut random);
        assert_eq!(network.arrived(9), None, "another fault still cuts it");
        network.cut(0, 1, false);
        network.send(3, FROM_TO, &mut random);
        assert_eq!((network.arrived(3), network.arrived(4)), (None, Some(FROM_TO)));
    }
}

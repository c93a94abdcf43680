//! What nodes say, as bytes of a fixed layout.

use crate::bytes::{Put, Take};
use crate::node::Node;
use crate::peer::{Ahead, Ballot, Beat, Digests, Message, Mismatch, Refusal, Role};

use super::{Frame, shared};

const HOLDS: u8 = 1;
const LAST: u8 = 2;
const DOWN: u8 = 1;
const VOTES: u8 = 2;

impl Frame {
    pub(super) const fn kind(&self) -> u8 {
        match self {
            Self::Hello => 0x01,
            Self::Message { message, .. } => match message {
                Message::Beat(_) => 0x02,
                Message::Answer { .. } => 0x03,
                Message::Stand { .. } => 0x04,
                Message::Vote { .. } => 0x05,
                Message::Refuse { .. } => 0x06,
                Message::Leave { .. } => 0x07,
                Message::Mismatched { .. } => 0x08,
            },
            Self::Shared { message, .. } => shared::kind(message),
        }
    }

    pub(super) const fn group(&self) -> u8 {
        match self {
            Self::Hello => 0,
            Self::Message { group, .. } | Self::Shared { group, .. } => *group,
        }
    }

    pub(super) fn put(&self, out: &mut Put<'_>) {
        let message = match self {
            Self::Hello => return,
            Self::Shared { message, .. } => return shared::put(message, out),
            Self::Message { message, .. } => message,
        };
        match message {
            Message::Beat(beat) => put_beat(beat, out),
            Message::Answer { term, echo } => {
                out.u64(*term);
                out.instant(*echo);
            }
            Message::Stand { term, age_ms, priority, last } => {
                out.u64(*term);
                out.u64(*age_ms);
                out.u8(*priority);
                out.u8(u8::from(*last));
            }
            Message::Vote { term } => out.u64(*term),
            Message::Refuse { term, known, why } => {
                out.u64(*term);
                out.u64(*known);
                let (number, node) = match why {
                    Refusal::Active => (0, 0),
                    Refusal::Hears(node) => (1, node.0),
                    Refusal::Young => (2, 0),
                    Refusal::Voted => (3, 0),
                    Refusal::Old => (4, 0),
                };
                out.u8(number);
                out.u8(node);
            }
            Message::Leave { term, vote, down } => {
                out.u64(*term);
                let votes = if vote.is_some() { VOTES } else { 0 };
                out.u8(votes | if *down { DOWN } else { 0 });
                if let Some(Ahead { ballot, echo }) = vote {
                    out.u64(ballot.term);
                    out.u8(ballot.node.0);
                    out.instant(*echo);
                }
            }
            Message::Mismatched { why, age_ms } => {
                out.u8(match why {
                    Mismatch::Addresses => 0,
                    Mismatch::Members => 1,
                    Mismatch::Thresholds => 2,
                    Mismatch::SameNode => 3,
                });
                out.u64(*age_ms);
            }
        }
    }

    /// The frame of these bytes; `None` where they are none of this version.
    pub(super) fn take(kind: u8, group: u8, payload: &[u8]) -> Option<Self> {
        let mut from = Take::new(payload);
        let message = match kind {
            0x01 if group == 0 => return from.end(Self::Hello),
            0x02 => Message::Beat(take_beat(&mut from)?),
            0x03 => Message::Answer { term: from.u64(), echo: from.instant() },
            0x04 => Message::Stand {
                term: from.u64(),
                age_ms: from.u64(),
                priority: from.u8(),
                last: from.bool(),
            },
            0x05 => Message::Vote { term: from.u64() },
            0x06 => {
                let (term, known) = (from.u64(), from.u64());
                let why = match (from.u8(), Node(from.u8())) {
                    (0, Node(0)) => Refusal::Active,
                    (1, node) => Refusal::Hears(node),
                    (2, Node(0)) => Refusal::Young,
                    (3, Node(0)) => Refusal::Voted,
                    (4, Node(0)) => Refusal::Old,
                    _ => return None,
                };
                Message::Refuse { term, known, why }
            }
            0x07 => {
                let (term, flags) = (from.u64(), from.u8());
                if flags & !(DOWN | VOTES) != 0 {
                    return None;
                }
                let vote = (flags & VOTES != 0).then(|| Ahead {
                    ballot: Ballot { term: from.u64(), node: Node(from.u8()) },
                    echo: from.instant(),
                });
                Message::Leave { term, vote, down: flags & DOWN != 0 }
            }
            0x08 => {
                let why = match from.u8() {
                    0 => Mismatch::Addresses,
                    1 => Mismatch::Members,
                    2 => Mismatch::Thresholds,
                    3 => Mismatch::SameNode,
                    _ => return None,
                };
                Message::Mismatched { why, age_ms: from.u64() }
            }
            _ => {
                let message = shared::take(kind, &mut from)?;
                return from.end(Self::Shared { group, message });
            }
        };
        from.end(Self::Message { group, message })
    }
}

fn put_beat(beat: &Beat, out: &mut Put<'_>) {
    out.u64(beat.term);
    out.u8(beat.role.number());
    out.instant(beat.sent);
    out.u64(beat.age_ms);
    out.u8(beat.priority);
    let holds = if beat.holds { HOLDS } else { 0 };
    out.u8(holds | if beat.last { LAST } else { 0 });
    out.u8(beat.votes);
    out.u32(beat.digests.addresses);
    out.u32(beat.digests.members);
    out.u32(beat.digests.thresholds);
}

fn take_beat(from: &mut Take<'_>) -> Option<Beat> {
    let (term, role) = (from.u64(), Role::of(from.u8())?);
    let (sent, age_ms, priority, flags) = (from.instant(), from.u64(), from.u8(), from.u8());
    if flags & !(HOLDS | LAST) != 0 {
        return None;
    }
    let (holds, last, votes) = (flags & HOLDS != 0, flags & LAST != 0, from.u8());
    let digests = Digests { addresses: from.u32(), members: from.u32(), thresholds: from.u32() };
    Some(Beat { term, role, sent, age_ms, priority, last, holds, votes, digests })
}

//! What a group shares, as bytes of a fixed layout.

use crate::bytes::{Put, Take};
use crate::node::{Node, Nodes};
use crate::share::{Command, Kind, Message, Number, Pool};

/// Stands where no primary is known.
const UNKNOWN: u8 = 0xFF;

pub(super) const fn kind(message: &Message) -> u8 {
    match message {
        Message::Ask { .. } => 0x10,
        Message::Have { .. } => 0x11,
        Message::Command { .. } => 0x12,
        Message::State { .. } => 0x13,
        Message::Block { .. } => 0x14,
        Message::Ready => 0x15,
        Message::Refused => 0x16,
        Message::End => 0x17,
    }
}

pub(super) fn put(message: &Message, out: &mut Put<'_>) {
    match message {
        Message::Ask { kind, members } => put_what(*kind, *members, out),
        Message::Have { number } => put_number(*number, out),
        Message::Command { after, command } => {
            put_number(*after, out);
            put_number(command.number, out);
            put_what(command.kind, command.members, out);
        }
        Message::State { number, pool } => {
            put_number(*number, out);
            out.u32(pool.detached.bits());
            out.u8(pool.primary.map_or(UNKNOWN, |node| node.0));
        }
        Message::Block { lasts } => out.span(*lasts),
        Message::Ready | Message::Refused | Message::End => {}
    }
}

pub(super) fn take(kind: u8, from: &mut Take<'_>) -> Option<Message> {
    Some(match kind {
        0x10 => {
            let (kind, members) = take_what(from)?;
            Message::Ask { kind, members }
        }
        0x11 => Message::Have { number: take_number(from) },
        0x12 => {
            let (after, number) = (take_number(from), take_number(from));
            let (kind, members) = take_what(from)?;
            Message::Command { after, command: Command { number, kind, members } }
        }
        0x13 => {
            let (number, detached) = (take_number(from), Nodes::of_bits(from.u32()));
            let primary = match from.u8() {
                UNKNOWN => None,
                node if node < Nodes::MOST => Some(Node(node)),
                _ => return None,
            };
            Message::State { number, pool: Pool { detached, primary } }
        }
        0x14 => Message::Block { lasts: from.span() },
        0x15 => Message::Ready,
        0x16 => Message::Refused,
        0x17 => Message::End,
        _ => return None,
    })
}

fn put_number(number: Number, out: &mut Put<'_>) {
    out.u64(number.term);
    out.u32(number.n);
}

fn take_number(from: &mut Take<'_>) -> Number {
    Number { term: from.u64(), n: from.u32() }
}

fn put_what(kind: Kind, members: Nodes, out: &mut Put<'_>) {
    out.u8(match kind {
        Kind::Attach => 0,
        Kind::Detach => 1,
        Kind::Promote => 2,
    });
    out.u32(members.bits());
}

fn take_what(from: &mut Take<'_>) -> Option<(Kind, Nodes)> {
    let kind = match from.u8() {
        0 => Kind::Attach,
        1 => Kind::Detach,
        2 => Kind::Promote,
        _ => return None,
    };
    Some((kind, Nodes::of_bits(from.u32())))
}

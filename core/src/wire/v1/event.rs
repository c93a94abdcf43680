//! A shadowed monitor's event in a few bytes, unpacked only by a board that shadows.

use crate::board::Layout;
use crate::bytes::{Put, Take};
use crate::failure::{Cause, ProbeResult};
use crate::monitor::{Event, GiveoverOutcome, Holder, RestartOutcome, Ticket};
use crate::weight::Weight;

/// What a shadow is told besides the events of its original.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToShadow {
    /// The original was fed this.
    Event(Event),
    /// Bytes of the policy of the next shadow, to stand at this place of it.
    Policy {
        /// The place of the first.
        at: u8,
        /// The bytes; of them as many count as `len` says.
        bytes: [u8; Self::PIECE],
        /// How many.
        len: u8,
    },
    /// A shadow begins behind a healthy cycle, with the policy that has come.
    Begin,
    /// After a cycle the original stands so.
    Stands {
        /// [`crate::shadow::Original::digest`] of it.
        digest: u32,
    },
}

impl ToShadow {
    /// So many bytes of a policy go at once.
    pub const PIECE: usize = 10;
}

/// An event as it is on the wire. It is opaque until asked, so that firmware without shadows
/// carries no code for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventBytes {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl EventBytes {
    /// No event is longer.
    pub const MAX: usize = 12;

    /// Packs `event`; `None` for one that is not streamed: a new policy begins a new shadow.
    #[must_use]
    pub fn new(event: &Event) -> Option<Self> {
        Self::of(&ToShadow::Event(*event))
    }

    /// Packs whatever a shadow is told; `None` as above.
    #[must_use]
    pub fn of(told: &ToShadow) -> Option<Self> {
        let mut packed = [0; Self::MAX];
        let mut out = Put::new(&mut packed);
        match told {
            ToShadow::Event(event) => put(event, &mut out)?,
            ToShadow::Policy { at, bytes, len } => {
                out.u8(POLICY);
                out.u8(*at);
                out.bytes(bytes.get(..usize::from(*len))?);
            }
            ToShadow::Begin => out.u8(BEGIN),
            ToShadow::Stands { digest } => {
                out.u8(STANDS);
                out.u32(*digest);
            }
        }
        let len = out.finish()?;
        Some(Self { bytes: packed, len: u8::try_from(len).ok()? })
    }

    /// What a shadow is told; `None` where the bytes are none.
    #[must_use]
    pub fn told(&self) -> Option<ToShadow> {
        let mut from = Take::new(self.as_slice());
        let told = match from.u8() {
            POLICY => {
                let at = from.u8();
                let (mut bytes, mut len) = ([0; ToShadow::PIECE], 0_u8);
                for byte in &mut bytes {
                    if from.is_empty() {
                        break;
                    }
                    *byte = from.u8();
                    len = len.wrapping_add(1);
                }
                ToShadow::Policy { at, bytes, len }
            }
            BEGIN => ToShadow::Begin,
            STANDS => ToShadow::Stands { digest: from.u32() },
            _ => return self.event().map(ToShadow::Event),
        };
        from.end(told)
    }

    /// The event; `None` where the bytes are none.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        let mut from = Take::new(self.as_slice());
        let event = take(&mut from)?;
        from.end(event)
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }

    /// All the bytes that are left, if they are few enough.
    pub(super) fn take(from: &mut Take<'_>) -> Option<Self> {
        let mut packed = Self { bytes: [0; Self::MAX], len: 0 };
        for slot in &mut packed.bytes {
            if from.is_empty() {
                break;
            }
            *slot = from.u8();
            packed.len = packed.len.wrapping_add(1);
        }
        if packed.len == 0 { None } else { Some(packed) }
    }
}

/// Numbers of what is no event.
const POLICY: u8 = 128;
const BEGIN: u8 = 129;
const STANDS: u8 = 130;

fn put(event: &Event, out: &mut Put<'_>) -> Option<()> {
    match *event {
        Event::Timeout => out.u8(0),
        Event::Begin { first, started } => {
            out.u8(1);
            out.span(first);
            out.u8(u8::from(started));
        }
        Event::ProbeNow => out.u8(2),
        Event::Probed { ticket, result } => {
            out.u8(3);
            out.u32(ticket.0);
            match result {
                ProbeResult::Healthy => out.u8(0),
                ProbeResult::Failed(weight, cause) => {
                    out.u8(1);
                    out.u8(weight.value());
                    cause.put(out);
                }
                ProbeResult::Immediate(cause) => with_cause(out, 2, cause),
                ProbeResult::CannotMeasure(cause) => with_cause(out, 3, cause),
                ProbeResult::Void => out.u8(4),
            }
        }
        Event::Died { cause } => with_cause(out, 4, cause),
        Event::RestartDone { ticket, outcome } => {
            out.u8(5);
            out.u32(ticket.0);
            match outcome {
                RestartOutcome::Started => out.u8(0),
                RestartOutcome::Invalid(cause) => with_cause(out, 1, cause),
                RestartOutcome::StartFailed(cause) => with_cause(out, 2, cause),
                RestartOutcome::StopFailed(cause) => with_cause(out, 3, cause),
            }
        }
        Event::GiveoverDone { ticket, outcome } => {
            out.u8(6);
            out.u32(ticket.0);
            match outcome {
                GiveoverOutcome::Granted => out.u8(0),
                GiveoverOutcome::Denied => out.u8(1),
                GiveoverOutcome::NotNow => out.u8(2),
                GiveoverOutcome::Aborted { stopped, cause } => {
                    out.u8(3);
                    out.u8(u8::from(stopped));
                    cause.put(out);
                }
                GiveoverOutcome::Unproven => out.u8(4),
            }
        }
        Event::Healed => out.u8(7),
        Event::Stopped => out.u8(8),
        Event::End => out.u8(9),
        Event::Restart => out.u8(10),
        Event::Giveover => out.u8(11),
        Event::Hold(holder) => {
            out.u8(12);
            out.u8(holder as u8);
        }
        Event::Release(holder) => {
            out.u8(13);
            out.u8(holder as u8);
        }
        Event::Clear => out.u8(14),
        Event::SetPolicy(_) => return None,
    }
    Some(())
}

fn with_cause(out: &mut Put<'_>, number: u8, cause: Cause) {
    out.u8(number);
    cause.put(out);
}

fn take(from: &mut Take<'_>) -> Option<Event> {
    Some(match from.u8() {
        0 => Event::Timeout,
        1 => Event::Begin { first: from.span(), started: from.bool() },
        2 => Event::ProbeNow,
        3 => {
            let ticket = Ticket(from.u32());
            let result = match from.u8() {
                0 => ProbeResult::Healthy,
                1 => ProbeResult::Failed(Weight::new(from.u8())?, Cause::take(from)?),
                2 => ProbeResult::Immediate(Cause::take(from)?),
                3 => ProbeResult::CannotMeasure(Cause::take(from)?),
                4 => ProbeResult::Void,
                _ => return None,
            };
            Event::Probed { ticket, result }
        }
        4 => Event::Died { cause: Cause::take(from)? },
        5 => {
            let ticket = Ticket(from.u32());
            let outcome = match from.u8() {
                0 => RestartOutcome::Started,
                1 => RestartOutcome::Invalid(Cause::take(from)?),
                2 => RestartOutcome::StartFailed(Cause::take(from)?),
                3 => RestartOutcome::StopFailed(Cause::take(from)?),
                _ => return None,
            };
            Event::RestartDone { ticket, outcome }
        }
        6 => {
            let ticket = Ticket(from.u32());
            let outcome = match from.u8() {
                0 => GiveoverOutcome::Granted,
                1 => GiveoverOutcome::Denied,
                2 => GiveoverOutcome::NotNow,
                3 => {
                    let stopped = from.bool();
                    GiveoverOutcome::Aborted { stopped, cause: Cause::take(from)? }
                }
                4 => GiveoverOutcome::Unproven,
                _ => return None,
            };
            Event::GiveoverDone { ticket, outcome }
        }
        7 => Event::Healed,
        8 => Event::Stopped,
        9 => Event::End,
        10 => Event::Restart,
        11 => Event::Giveover,
        12 => Event::Hold(holder(from.u8())?),
        13 => Event::Release(holder(from.u8())?),
        14 => Event::Clear,
        _ => return None,
    })
}

fn holder(number: u8) -> Option<Holder> {
    Holder::ALL.iter().copied().find(|holder| *holder as u8 == number)
}

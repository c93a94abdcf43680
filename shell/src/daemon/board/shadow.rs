//! L10: what the monitors of some services are fed, the board is told too, and how they stand
//! after each cycle. It runs the same engine, and knows from that when this host decides wrongly.

use giveover_core::board::Refusal;
use giveover_core::monitor::Event;
use giveover_core::shadow::{self, Original, PolicyBytes};
use giveover_core::time::Instant;
use giveover_core::wire::v1::ToShadow;

use super::{Board, Daemon};
use crate::config::plan::GoesTo;
use crate::message;
use crate::report::model::BoardShadowDoc;

/// One service of which the board keeps a shadow, or shall.
#[derive(Clone, Debug)]
pub(super) struct Shadowed {
    service: usize,
    number: u8,
    /// Since it has begun. It begins when the service is ok and nothing of it is remembered.
    original: Option<Original>,
    refused: Option<Refusal>,
    /// Cycles that were told since it began.
    compared: u64,
}

impl Board {
    /// Nobody knows what the board has heard last: all begin anew.
    pub(super) fn end_shadows(&mut self) {
        for shadowed in &mut self.shadowed {
            shadowed.original = None;
            shadowed.refused = None;
        }
    }
}

impl Daemon {
    /// Which services are shadowed, by the plan. What is under way begins anew.
    pub(super) fn choose_shadowed(&mut self) {
        let services = self.plan.services.iter().enumerate();
        let chosen = services.filter(|(_, service)| service.giveover == GoesTo::Board);
        let shadowed = chosen.take(shadow::MOST).filter_map(|(service, _)| {
            let number = u8::try_from(service).ok()?;
            Some(Shadowed { service, number, original: None, refused: None, compared: 0 })
        });
        let shadowed: Vec<Shadowed> = shadowed.collect();
        if let Some(board) = &mut self.board {
            board.shadowed = if board.plan.shadow { shadowed } else { Vec::new() };
        }
    }

    /// A monitor was fed this.
    pub(in super::super) fn tell_shadow(
        &mut self,
        service: usize,
        event: &Event,
        at: Instant,
        cycle: bool,
    ) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        let Board { shadowed, link, .. } = &mut **board;
        let Some(shadowed) = shadowed.iter_mut().find(|shadowed| shadowed.service == service)
        else {
            return;
        };
        let Some(watch) = self.watches.get(service) else { return };
        let number = shadowed.number;
        if let Some(original) = shadowed.original {
            let Some(event) = original.event(event) else {
                shadowed.original = None;
                return;
            };
            link.tell_shadow(number, at, &ToShadow::Event(event), now);
            // A dead process has its cycles without a probe.
            if cycle || (matches!(event, Event::Timeout) && watch.monitor.is_dead()) {
                shadowed.compared = shadowed.compared.saturating_add(1);
                let digest = original.digest(&watch.monitor);
                link.tell_shadow(number, at, &ToShadow::Stands { digest }, now);
            }
            return;
        }
        if !cycle || shadowed.refused.is_some() || !link.is_ready() {
            return;
        }
        let Some(original) = Original::begin(&watch.monitor, at) else { return };
        let policy = PolicyBytes::of(watch.monitor.policy());
        for (place, piece) in policy.0.chunks(ToShadow::PIECE).enumerate() {
            let mut bytes = [0; ToShadow::PIECE];
            bytes.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
            let from = u8::try_from(place * ToShadow::PIECE).unwrap_or(u8::MAX);
            let told = ToShadow::Policy { at: from, bytes, len: piece.len() as u8 };
            link.tell_shadow(number, at, &told, now);
        }
        link.tell_shadow(number, at, &ToShadow::Begin, now);
        shadowed.original = Some(original);
        shadowed.compared = 0;
    }

    /// The board keeps no shadow of this service.
    pub(super) fn no_shadow(&mut self, number: u8, refusal: Refusal) {
        let Some(board) = &mut self.board else { return };
        let known = board.shadowed.iter_mut().find(|shadowed| shadowed.number == number);
        let Some(shadowed) = known else { return };
        shadowed.original = None;
        if shadowed.refused.replace(refusal).is_none() {
            let name = self.service_name(number);
            let text = format!("no shadow of {name}: {}", refusal.word());
            self.say_host(message::Event::Board, text);
        }
    }

    /// For screens.
    pub(super) fn shadows_doc(&self, board: &Board) -> Vec<BoardShadowDoc> {
        let doc = |shadowed: &Shadowed| BoardShadowDoc {
            service: self.service_name(shadowed.number),
            state: match (shadowed.refused, shadowed.original) {
                (Some(refusal), _) => refusal.word().to_owned(),
                (None, Some(_)) => "compared".to_owned(),
                (None, None) => "waits until it is ok and nothing is remembered".to_owned(),
            },
            compared: shadowed.compared,
        };
        board.shadowed.iter().map(doc).collect()
    }
}

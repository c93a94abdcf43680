//! How the board stands, for screens.

use giveover_core::board::{Settings, State};
use giveover_core::time::Instant;
use giveover_core::wire::LinkCounters;

use super::Daemon;
use crate::board::link::{Told, Trouble, device};
use crate::config::plan::BoardPlan;
use crate::message::board as words;
use crate::report::model::{BoardDoc, BoardEntryDoc, BoardLinkDoc, BoardResetDoc};

impl Daemon {
    /// Whether it guards this host, its state in a word, and the same for people. `None` without
    /// a board.
    pub(super) fn board_standing(&self) -> Option<(bool, &'static str, String)> {
        let board = self.board.as_deref()?;
        if let Some(leash) = &board.leash {
            return Some(leash.standing());
        }
        if board.pairing.is_some() {
            return Some((false, "pairing", "it is being paired".to_owned()));
        }
        if let Some(trouble) = &board.trouble {
            return Some((false, trouble.word(), trouble.to_string()));
        }
        if let Some(trouble) = board.link.trouble() {
            return Some((false, trouble.word(), trouble.to_string()));
        }
        if let Some(end) = board.link.announced() {
            let text = format!("{} was announced", end.word());
            return Some((false, "announced", text));
        }
        let report = board.link.told().report.as_ref().filter(|_| board.link.is_ready());
        let Some((report, _)) = report else {
            return Some((false, "connecting", "it is being connected".to_owned()));
        };
        let said = match report.state {
            State::Armed => (true, "armed", "armed".to_owned()),
            State::Warned => (true, "armed", "armed".to_owned()),
            State::Held => {
                let why = report.held.map_or_else(String::new, |why| {
                    let timeout = u64::from(board.plan.settings.timeout.as_millis());
                    format!(": {}", words::why(why, timeout, |number| self.told_name(number)))
                });
                (false, "line_held", format!("line held, budget spent{why}"))
            }
            State::Disarmed if report.jumper => (false, "jumper", "the jumper is set".to_owned()),
            State::Disarmed => (false, "disarmed", "disarmed for a time".to_owned()),
            State::Cold => (false, "cold", "just started".to_owned()),
            State::Waiting => (false, "waiting", "waiting for a feed".to_owned()),
            State::Pulsing => (false, "pulsing", "it resets this host".to_owned()),
            State::Grace => (false, "grace", "grace for booting".to_owned()),
        };
        Some(said)
    }

    /// A board that was armed when it was last heard goes on guarding: that must be known.
    fn warned_of(&self, remedy: &str) -> String {
        let Some(board) = self
            .board
            .as_deref()
            .filter(|board| !board.link.is_up() || board.link.trouble().is_some())
        else {
            return remedy.to_owned();
        };
        if board.link.told().was_guarding() {
            format!("it was armed when last heard, and may reset this host; {remedy}")
        } else {
            remedy.to_owned()
        }
    }

    fn told_name(&self, number: u8) -> String {
        let service = self.plan.services.get(usize::from(number));
        service.map_or_else(|| format!("service {number}"), |service| service.name.to_string())
    }

    /// The document; `None` where none is configured.
    pub(in super::super) fn board_doc(&self) -> Option<BoardDoc> {
        let plan = self.plan.board.as_deref()?;
        let Some((armed, state, cause)) = self.board_standing() else {
            let state = "observing".to_owned();
            let cause = self.why_no_board();
            return Some(BoardDoc { state, cause, ..configured(plan) });
        };
        let board = self.board.as_deref()?;
        if let Some(leash) = &board.leash {
            let since = Some(self.clock.wall(board.since));
            let doc = BoardDoc { armed, state: state.to_owned(), cause, since, ..configured(plan) };
            return Some(leash.doc(doc, self.now));
        }
        let remedy = match (&board.trouble, board.link.trouble()) {
            (Some(trouble), _) => trouble.remedy(),
            (None, Some(trouble)) => Trouble::remedy(trouble),
            (None, None) => "",
        };
        let doc = BoardDoc {
            armed,
            state: state.to_owned(),
            cause,
            remedy: self.warned_of(remedy),
            since: Some(self.clock.wall(board.since)),
            key: board.key.map(|key| key.to_string()),
            ..configured(plan)
        };
        let (told, ours) = (board.link.told(), board.link.counters());
        let mut doc = told_by(doc, told, ours, &board.plan.settings, self.now);
        doc.shadows = self.shadows_doc(board);
        doc.last_reset = told.report.as_ref().and_then(|(report, at)| {
            let last = report.last?;
            let when = at.as_millis().saturating_sub(u64::from(last.ago_ms));
            let timeout = u64::from(board.plan.settings.timeout.as_millis());
            Some(BoardResetDoc {
                at: self.clock.wall(Instant::from_millis(when)),
                why: last.why.word().to_owned(),
                cause: words::why(last.why, timeout, |number| self.told_name(number)),
                up_after_ms: last.up_after_ms.map(u64::from),
                confirmed_after_ms: last.confirmed_after_ms.map(u64::from),
            })
        });
        Some(doc)
    }

    /// The board's own log, as far as it was read.
    pub(in super::super) fn board_log(&self) -> Option<Vec<BoardEntryDoc>> {
        let board = self.board.as_ref().filter(|board| board.leash.is_none())?;
        let entries = board.link.told().entries.iter();
        let doc = entries.map(|entry| BoardEntryDoc {
            number: entry.number,
            powered_ms: entry.at.as_millis(),
            text: words::note(entry.note),
        });
        Some(doc.collect())
    }
}

/// What the file says of it.
pub(crate) fn configured(plan: &BoardPlan) -> BoardDoc {
    let settings = &plan.settings;
    BoardDoc {
        kind: plan.kind.word().to_owned(),
        port: plan.port.display().to_string(),
        timeout_ms: u64::from(settings.timeout.as_millis()),
        retry_count: settings.retry_count,
        retry_interval_ms: u64::from(settings.retry_interval.as_millis()),
        second: settings.second.word().to_owned(),
        ..BoardDoc::default()
    }
}

/// What a board has told by `now`, beside what is in `doc` already. `ours` is what was seen of the
/// line at this end.
pub(crate) fn told_by(
    doc: BoardDoc,
    told: &Told,
    ours: LinkCounters,
    settings: &Settings,
    now: Instant,
) -> BoardDoc {
    let (counted, theirs) = told.counters.unwrap_or_default();
    let mut doc = BoardDoc {
        device: told.device.map(device),
        image: told.image.map(|image| format!("{image:016x}")),
        fed_ago_ms: told.fed.map(|fed| now.since(fed)),
        feeds: counted.feeds,
        longest_gap_ms: u64::from(counted.longest_gap_ms),
        near_misses: counted.near_misses,
        reset_held: told.lines.reset_held,
        reset_high: told.lines.reset_high,
        second_on: told.lines.second_on,
        second_reads: told.lines.second_reads,
        settings_echoed: told.settings.as_ref() == Some(settings),
        link: BoardLinkDoc {
            frames: ours.frames.saturating_add(theirs.frames),
            bad: ours.garbage.saturating_add(theirs.garbage),
            replayed: ours.replayed.saturating_add(theirs.replayed),
            refused: ours.refused.saturating_add(theirs.refused),
            unknown: ours.unknown.saturating_add(theirs.unknown),
            round_trip_ms: told.round_trip_ms,
        },
        ..doc
    };
    if let Some(about) = &told.about {
        let name: Vec<u8> = about.board.iter().copied().take_while(|byte| *byte != 0).collect();
        doc.board = Some(String::from_utf8_lossy(&name).replace(char::is_control, "?"));
        let [major, minor, patch] = about.version;
        doc.firmware = Some(format!("{major}.{minor}.{patch}"));
        doc.up_ms = Some(about.up.as_millis());
        doc.power_up = about.power_up;
        doc.bites = about.bites;
        doc.store_used = about.store_used;
        doc.store_size = about.store_size;
    }
    if let Some((report, at)) = &told.report {
        let since = now.since(*at);
        doc.resets = report.resets;
        doc.resets_ever = report.resets_ever;
        doc.jumper = report.jumper;
        doc.host_power = report.host_power;
        doc.store_ok = report.store_ok;
        doc.left_ms = report.left_ms.map(|left| u64::from(left).saturating_sub(since));
    }
    doc
}

//! One of every frame, with values that no byte order or swap leaves as they are.

use giveover_core::board::{
    Counters, End, Entry, LastReset, Note, Refusal, Report, Second, Settings, State, Verdict, Why,
};
use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{Event, GiveoverOutcome, Ticket};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;
use giveover_core::wire::v1::EventBytes;
use giveover_core::wire::{About, Ask, FromBoard, Key, KeyId, Lines, LinkCounters, ToBoard};

pub(crate) const CAUSE: Cause = Cause::of_check(7, Phase::Answer, 503);
pub(crate) const AT: Instant = Instant::from_millis(0x0102_0304_0506_0708);

pub(crate) const SETTINGS: Settings = Settings {
    timeout: Span::from_millis(0x0000_EA60),
    boot_grace: Span::from_millis(0x0009_27C0),
    link_timeout: Span::from_millis(0x0004_93E0),
    pulse: Span::from_millis(250),
    retry_count: 3,
    retry_interval: Span::from_millis(0x0036_EE80),
    second: Second::Cycle,
    nowayout: true,
};

pub(crate) const LAST: LastReset = LastReset {
    why: Why::StopFailed { service: 9, cause: CAUSE },
    ago_ms: 0x0A0B_0C0D,
    up_after_ms: Some(38_000),
    confirmed_after_ms: None,
};

pub(crate) const REPORT: Report = Report {
    state: State::Grace,
    armed: true,
    jumper: false,
    host_power: true,
    store_ok: true,
    left_ms: Some(0x1112_1314),
    fed_ago_ms: None,
    failure_sum: 0x0132,
    resets: 2,
    resets_ever: 0x2122_2324,
    held: Some(Why::NoBoot),
    last: Some(LAST),
};

pub(crate) fn event(event: &Event) -> EventBytes {
    EventBytes::new(event).expect("it is streamed")
}

/// From the host, one of each kind.
pub(crate) fn to_board() -> Vec<(&'static str, ToBoard)> {
    let failed = ProbeResult::Failed(Weight::HALF, CAUSE);
    let probed = Event::Probed { ticket: Ticket(0x0A0B_0C0D), result: failed };
    vec![
        ("hello", ToBoard::Hello { nonce: 0x0102_0304_0506_0708 }),
        ("ask", ToBoard::Ask(Ask::About)),
        ("feed", ToBoard::Feed { answer: 0x0102_0304, verdict: Verdict::Faulted }),
        ("arm", ToBoard::Arm),
        ("disarm", ToBoard::Disarm { span: Span::from_millis(0x0009_27C0) }),
        ("grace", ToBoard::Grace { span: Span::from_millis(0x001B_7740) }),
        ("end", ToBoard::End(End::Reboot)),
        ("configure", ToBoard::Configure(SETTINGS)),
        ("confirm", ToBoard::Confirm),
        ("reset", ToBoard::Reset(Why::Giveover { service: 2, cause: CAUSE })),
        ("read log", ToBoard::ReadLog { from: 0x0102_0304 }),
        ("flush log", ToBoard::FlushLog { through: 0x0102_0304 }),
        ("clear", ToBoard::Clear),
        ("pair", ToBoard::Pair(key(0x10))),
        ("shadow", ToBoard::Shadow { service: 3, at: AT, event: event(&probed) }),
    ]
}

/// From the board, one of each kind.
pub(crate) fn from_board() -> Vec<(&'static str, FromBoard)> {
    let counters = Counters {
        feeds: 0x0102_0304,
        near_misses: 2,
        longest_gap_ms: 16_000,
        early: 4,
        wrong: 5,
        refused: 6,
        store_failures: 7,
        clock_went_back: 8,
    };
    let link = LinkCounters { frames: 9, garbage: 10, unknown: 11, refused: 12, replayed: 13 };
    let about = About {
        board: *b"rp-pico\0\0\0\0\0",
        version: [0, 4, 1],
        up: AT,
        power_up: true,
        bites: 0x0102_0304,
        store_used: 31,
        store_size: 512,
    };
    let lines =
        Lines { reset_held: false, reset_high: Some(true), second_on: true, second_reads: None };
    let note = Note::Intent { ticket: 0x0A0B_0C0D, why: Why::Silence };
    vec![
        (
            "challenge",
            FromBoard::Challenge {
                device: 0x1112_1314_1516_1718,
                nonce: 0x0102_0304_0506_0708,
                key: Some(KeyId(0x3F9A)),
                challenge: 0x2122_2324,
            },
        ),
        ("status", FromBoard::Status { challenge: 0x3132_3334, lines, report: REPORT }),
        ("answer", FromBoard::Answer { to: 0x0102_0304, refusal: Some(Refusal::NoWayOut) }),
        ("settings", FromBoard::Settings(SETTINGS)),
        ("counters", FromBoard::Counters { board: counters, link }),
        ("about", FromBoard::About(about)),
        ("log", FromBoard::Log(Entry { number: 0x0102_0304, at: AT, note })),
        ("log end", FromBoard::LogEnd { lost: 0x0102_0304 }),
        ("image", FromBoard::Image(0x3132_3334_3536_3738)),
    ]
}

/// Every event that is streamed, at least once in each of its forms.
pub(crate) fn events() -> Vec<Event> {
    use giveover_core::monitor::{Holder, RestartOutcome};
    let ticket = Ticket(0x0A0B_0C0D);
    let mut events = vec![
        Event::Timeout,
        Event::Begin { first: Span::from_millis(0x0102_0304), started: true },
        Event::ProbeNow,
        Event::Died { cause: CAUSE },
        Event::Healed,
        Event::Stopped,
        Event::End,
        Event::Restart,
        Event::Giveover,
        Event::Clear,
    ];
    let results = [
        ProbeResult::Healthy,
        ProbeResult::Failed(Weight::LEAST, CAUSE),
        ProbeResult::Immediate(CAUSE),
        ProbeResult::CannotMeasure(CAUSE),
        ProbeResult::Void,
    ];
    events.extend(results.map(|result| Event::Probed { ticket, result }));
    let outcomes = [
        RestartOutcome::Started,
        RestartOutcome::Invalid(CAUSE),
        RestartOutcome::StartFailed(CAUSE),
        RestartOutcome::StopFailed(CAUSE),
    ];
    events.extend(outcomes.map(|outcome| Event::RestartDone { ticket, outcome }));
    let answers = [
        GiveoverOutcome::Granted,
        GiveoverOutcome::Denied,
        GiveoverOutcome::NotNow,
        GiveoverOutcome::Aborted { stopped: true, cause: CAUSE },
        GiveoverOutcome::Unproven,
    ];
    events.extend(answers.map(|outcome| Event::GiveoverDone { ticket, outcome }));
    events.extend(Holder::ALL.map(Event::Hold));
    events.extend(Holder::ALL.map(Event::Release));
    events
}

/// Every note, at least once in each of its forms.
pub(crate) fn notes() -> Vec<Note> {
    let why = Why::Giveover { service: 2, cause: CAUSE };
    let ticket = 0x0A0B_0C0D;
    let mut notes = vec![
        Note::Started { power_up: true },
        Note::NearMiss(0x0102_0304),
        Note::Early,
        Note::Wrong,
        Note::Intent { ticket, why },
        Note::Done { ticket },
        Note::Unproven { ticket },
        Note::LineRefused { ticket },
        Note::GivenOver { why, second: Second::Fence },
        Note::Cleared,
        Note::Confirmed,
        Note::Armed,
        Note::Disarmed(0x0102_0304),
        Note::Grace(0x0102_0304),
        Note::Configured,
        Note::Jumper(true),
        Note::HostPower(false),
        Note::Link(true),
        Note::StoreFailed,
        Note::ReadLow(0x0102_0304),
    ];
    notes.extend(State::ALL.iter().copied().map(Note::State));
    notes.extend(End::ALL.iter().copied().map(Note::End));
    notes.extend(Refusal::ALL.iter().copied().map(Note::Refused));
    notes
}

pub(crate) fn key(first: u8) -> Key {
    Key::new(std::array::from_fn(|place| first + place as u8))
}

//! The text of each event of the board.

use giveover_core::board::{Note, Why};
use giveover_core::wire::KeyId;

use super::span;

/// `armed, 60 s, key 3f9a`
#[must_use]
pub fn armed(timeout_ms: u64, key: KeyId) -> String {
    format!("armed, {}, key {key}", span::seconds(timeout_ms))
}

/// `armed, 60 s, watchdog iTCO_wdt`; of hardware that chose another time-out also what was asked.
#[must_use]
pub fn guarding(kind: &str, name: Option<&str>, timeout_ms: u64, wanted_ms: u64) -> String {
    let mut text = format!("armed, {}", span::seconds(timeout_ms));
    if timeout_ms != wanted_ms {
        text.push_str(&format!(" ({} was asked)", span::seconds(wanted_ms)));
    }
    match name {
        Some(name) => text.push_str(&format!(", {kind} {name}")),
        None => text.push_str(&format!(", {kind}")),
    }
    text
}

/// How hardware without a memory was left: `it is stopped`.
#[must_use]
pub fn left(end: &str, counting_ms: Option<u64>) -> String {
    match counting_ms {
        None => format!("{end}: it is stopped"),
        Some(ms) => {
            let time = span::compact(ms);
            format!("{end}: it goes on, and resets this host in {time} unless somebody feeds it")
        }
    }
}

/// `NOT ARMED: CAUSE`
#[must_use]
pub fn not_armed(cause: &str) -> String {
    format!("NOT ARMED: {cause}")
}

/// `fed after 41 s, limit 60 s`
#[must_use]
pub fn missed(gap_ms: u64, timeout_ms: u64) -> String {
    format!("fed after {}, limit {}", span::seconds(gap_ms), span::seconds(timeout_ms))
}

/// `it reset this host at 2026-10-02 03:14:07: no feed in time`
#[must_use]
pub fn reset(at: &str, why: &str) -> String {
    format!("it reset this host at {at}: {why}")
}

/// Why this host was, or is to be, reset. `name` says which service has a number.
#[must_use]
pub fn why(why: Why, timeout_ms: u64, name: impl Fn(u8) -> String) -> String {
    match why {
        Why::Silence => format!("no feed for {}", span::window_in_seconds(timeout_ms)),
        Why::BadFeeds => "feeds that were early or answered wrongly".to_owned(),
        Why::NoBoot => "no feed within the grace for booting".to_owned(),
        Why::Shadow { service } => format!("the shadow of {} differed", name(service)),
        Why::Giveover { service, .. } => format!("giveover of {}", name(service)),
        Why::StopFailed { service, .. } => format!("{} could not be stopped", name(service)),
        Why::Test => "a test".to_owned(),
    }
}

/// An entry of the board's own log.
#[must_use]
pub fn note(note: Note) -> String {
    let reason = |reason| why(reason, 0, |number| format!("service {number}"));
    let reason = |why: Why| match why {
        Why::Silence => "no feed in time".to_owned(),
        other => reason(other),
    };
    match note {
        Note::Started { power_up: true } => "started with the host".to_owned(),
        Note::Started { power_up: false } => "started alone: it was reset".to_owned(),
        Note::State(state) => format!("now {}", state.word()),
        Note::NearMiss(ms) => format!("fed only after {}", span::seconds(u64::from(ms))),
        Note::Early => "a feed came too early".to_owned(),
        Note::Wrong => "a feed answered wrongly".to_owned(),
        Note::Intent { ticket, why } => format!("pulse {ticket} is wanted: {}", reason(why)),
        Note::Done { ticket } => format!("pulse {ticket} was made"),
        Note::Unproven { ticket } => format!("pulse {ticket} counts, its end was not seen"),
        Note::LineRefused { ticket } => format!("pulse {ticket} counts, the line refused it"),
        Note::GivenOver { why, second } => {
            format!("given over: {}; second line: {}", reason(why), second.word())
        }
        Note::Cleared => "a person forgot all resets".to_owned(),
        Note::Confirmed => "the boot was confirmed".to_owned(),
        Note::Armed => "armed".to_owned(),
        Note::Disarmed(ms) => format!("disarmed for {}", span::compact(u64::from(ms))),
        Note::End(end) => format!("the host announced its end: {}", end.word()),
        Note::Grace(ms) => format!("grace of {}", span::compact(u64::from(ms))),
        Note::Configured => "new settings".to_owned(),
        Note::Refused(refusal) => format!("refused: {}", refusal.word()),
        Note::Jumper(set) => format!("jumper {}", if set { "set" } else { "out" }),
        Note::HostPower(on) => format!("host power {}", if on { "on" } else { "off" }),
        Note::Link(up) => format!("port {}", if up { "there" } else { "gone" }),
        Note::StoreFailed => "the store did not take a record".to_owned(),
        Note::ReadLow(ms) => format!("the line read low for {ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_interface() {
        assert_eq!(armed(60_000, KeyId(0x3f9a)), "armed, 60 s, key 3f9a");
        assert_eq!(not_armed("no answer"), "NOT ARMED: no answer");
        assert_eq!(guarding("stick", None, 60_000, 60_000), "armed, 60 s, stick");
        assert_eq!(
            guarding("linux", Some("iTCO_wdt"), 61_000, 60_000),
            "armed, 61 s (60 s was asked), linux iTCO_wdt"
        );
        assert_eq!(left("stop", None), "stop: it is stopped");
        assert!(left("stop", Some(1_270_000)).contains("in 21m 10s unless"));
        assert_eq!(missed(41_000, 60_000), "fed after 41 s, limit 60 s");
        let cause = why(Why::Silence, 60_000, |_| String::new());
        assert_eq!(
            reset("2026-10-02 03:14:07", &cause),
            "it reset this host at 2026-10-02 03:14:07: no feed for 60s"
        );
    }
}

//! A timeline of what a daemon has told: for `history`, which has events and no journal.

use giveover_core::monitor::Status;
use giveover_core::time::Instant;

use super::timeline::{Calendar, Mark, Timeline, Track, What};
use crate::message::Event;
use crate::report::model::EventDoc;
use crate::report::time::Moment;

/// The timeline of one service's events, oldest first; `None` where none has a time. Healthy probes
/// are not told, so they are not drawn.
#[must_use]
pub fn of_events(name: &str, events: &[EventDoc]) -> Option<Timeline> {
    let first = events.iter().find_map(|event| Moment::parse(&event.at))?;
    let epoch = Moment::parse("1970-01-01T00:00:00Z")?;
    let place = |event: &EventDoc| {
        let at = Moment::parse(&event.at)?;
        Some(Instant::from_millis(at.since(first)))
    };
    let mut track = Track { name: name.into(), ..Track::default() };
    let begin = Instant::default();
    track.statuses.push((begin, Status::Unknown));
    track.sums.push((begin, 0));
    track.restarts.push((begin, 0));
    let mut end = begin;
    for event in events {
        let Some(at) = place(event) else { continue };
        let at = at.max(end); // a clock that was set back does not turn the picture round
        end = at;
        take(event, at, &mut track);
    }
    let mut calendar = Calendar::default();
    calendar.note(begin, first.since(epoch));
    let end = Instant::from_millis(end.as_millis() + 1);
    let title = format!("{name}, as told");
    Some(Timeline { title, begin, end, calendar, tracks: vec![track], ..Timeline::default() })
}

fn take(event: &EventDoc, at: Instant, track: &mut Track) {
    if let Some(count) = event.retry_count {
        track.retry_count = Some(count);
    }
    let Some(kind) = Event::from_word(&event.event) else { return };
    if let Some(sum) = event.sum {
        track.sums.push((at, sum));
    }
    if let Some(restarts) = event.restarts {
        track.restarts.push((at, restarts));
    }
    if kind == Event::Status {
        let status = match event.text.as_str() {
            "Service is online" => Status::Ok,
            "Service is degraded" => Status::Degraded,
            "Service has failed" => Status::Faulted,
            // restarting, faulted or stopped: the text alone does not say which
            _ => Status::Faulted,
        };
        track.statuses.push((at, status));
    }
    let what = match kind {
        Event::Failure => event.weight.map(What::Failed),
        Event::Died => Some(What::Died),
        Event::Restart => Some(What::Restart { by_person: event.who.is_some() }),
        Event::Restarted => Some(What::Started),
        Event::RestartFailed | Event::StartFailed => Some(What::StartFailed),
        Event::StopFailed => Some(What::StopFailed),
        Event::Healed => Some(What::Healed),
        Event::Giveover => Some(What::Giveover),
        Event::Granted => Some(What::Granted),
        Event::Denied => Some(What::Denied),
        Event::BudgetSpent => Some(What::BudgetSpent),
        Event::Logged => Some(What::Logged),
        Event::Unmeasured => Some(What::Unmeasured),
        Event::Slept => Some(What::Void),
        Event::Stopped => {
            track.statuses.push((at, Status::Offline));
            Some(What::Stopped)
        }
        Event::Healthy => Some(What::Healthy),
        _ => None, // nothing of it is drawn
    };
    track.marks.extend(what.map(|what| Mark { at, what }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::paint::Paint;
    use crate::sim::chart::blocks;

    fn event(s: u64, kind: Event, text: &str, weight: Option<u8>, sum: u16) -> EventDoc {
        let at = crate::clock::rfc3339(1_764_424_800_000 + s * 1000);
        let doc = EventDoc::new(kind, "web", text.to_owned());
        EventDoc { at, weight, sum: Some(sum), restarts: Some(u16::from(sum == 0)), ..doc }
    }

    #[test]
    fn what_was_told_is_drawn() {
        let events = [
            event(0, Event::Status, "Service is online", None, 0),
            event(60, Event::Failure, "page 503", Some(50), 50),
            event(60, Event::Status, "Service is degraded", None, 50),
            event(90, Event::Restart, "restart 1 of 2", None, 0),
            event(120, Event::Status, "Service is online", None, 0),
        ];
        let timeline = of_events("web", &events).expect("times");
        let drawn = blocks(&timeline, 42, Paint::PLAIN);
        assert!(drawn.contains("  status    ░░░░░░░░░░░░░░▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░"), "{drawn}");
        assert!(drawn.contains("o       R"), "{drawn}");
        assert!(drawn.contains("14:00"), "{drawn}");
        assert_eq!(of_events("web", &[]), None);
    }
}

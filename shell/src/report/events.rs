//! Events as lines: `events`, `history`, and the newest of them under the watched table.

use super::model::EventDoc;
use super::paint::Paint;
use super::table::{WIDTH, cut, wide};
use super::time::Moment;
use crate::message::{Event, Level};

impl EventDoc {
    /// What the daemon fills in further: `seq`, `at`, and the fields that apply.
    #[must_use]
    pub fn new(event: Event, service: &str, text: String) -> Self {
        Self {
            level: event.level().word().into(),
            event: event.word().into(),
            service: service.into(),
            text,
            ..Self::default()
        }
    }

    /// Whether its text is one of the source documents'.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        Event::from_word(&self.event).is_some_and(Event::is_legacy)
    }
}

/// Events as they come, for a terminal: the time, the service, the text, and the day whenever it
/// changes.
#[derive(Clone, Debug, Default)]
pub struct Reel {
    day: String,
    /// Grows with the names seen, so that texts line up without knowing what comes.
    name_width: usize,
    /// Of one service: its name would only repeat.
    named: bool,
}

impl Reel {
    /// For events of several services.
    #[must_use]
    pub fn of_all() -> Self {
        Self { named: true, ..Self::default() }
    }

    /// For events of one service.
    #[must_use]
    pub fn of_one() -> Self {
        Self::default()
    }

    /// Widens the column of names for `events` that follow.
    pub fn expect<'a>(&mut self, events: impl IntoIterator<Item = &'a EventDoc>) {
        let widest = events.into_iter().map(|event| wide(name(event))).max().unwrap_or(0);
        self.name_width = self.name_width.max(widest);
    }

    /// The lines for one event, with the day before it if it is another.
    pub fn lines(&mut self, event: &EventDoc, paint: Paint) -> String {
        let mut text = String::new();
        let at = Moment::parse(&event.at);
        let day = at.map(Moment::day).unwrap_or_default();
        if day != self.day {
            text = format!("{}\n", paint.heading(&format!("{day} UTC")));
            self.day = day;
        }
        if self.named {
            self.name_width = self.name_width.max(wide(name(event)));
        }
        text + &self.line(event, at, paint) + "\n"
    }

    fn line(&self, event: &EventDoc, at: Option<Moment>, paint: Paint) -> String {
        let time = at.map_or_else(|| String::from("--:--:--"), Moment::time);
        let words = painted(event, paint);
        if self.named {
            let width = self.name_width;
            format!("{time}  {:<width$}   {words}", name(event))
        } else {
            format!("{time}  {words}")
        }
    }
}

fn painted(event: &EventDoc, paint: Paint) -> String {
    match Level::from_word(&event.level) {
        Some(level) => paint.level(level, &event.text),
        None => event.text.clone(),
    }
}

/// What stands in the column of services; the host's own events have none.
fn name(event: &EventDoc) -> &str {
    if event.service.is_empty() { "-" } else { &event.service }
}

/// One event for other programs: time, level, service, event and text, tab-separated.
#[must_use]
pub fn plain(event: &EventDoc) -> String {
    let EventDoc { at, level, event: word, text, .. } = event;
    format!("{at}\t{level}\t{}\t{word}\t{text}\n", name(event))
}

/// The newest `count` events for the watched screen, newest first, cut at the screen's edge.
#[must_use]
pub fn newest(events: &[EventDoc], count: usize) -> Vec<String> {
    let shown: Vec<&EventDoc> = events.iter().rev().take(count).collect();
    let width = shown.iter().map(|event| wide(name(event))).max().unwrap_or(0);
    shown
        .into_iter()
        .map(|event| {
            let time = Moment::parse(&event.at).map_or_else(String::new, Moment::time);
            cut(&format!("{time:<8}  {:<width$}   {}", name(event), event.text), WIDTH)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn a_day_is_named_once_and_times_are_utc() {
        let mut reel = Reel::of_all();
        let first = sample::event("13:58:02", "restart", "restart 1 of 2: page 503 (sum 100)");
        let mut second = sample::event("00:00:01", "recovered", "ok after 4m 10s");
        second.at = "2026-11-30T00:00:01Z".into();
        second.service = "collector".into();
        let text: String =
            [&first, &first, &second].iter().map(|event| reel.lines(event, Paint::PLAIN)).collect();
        let expected = "\
2026-11-29 UTC
13:58:02  web   restart 1 of 2: page 503 (sum 100)
13:58:02  web   restart 1 of 2: page 503 (sum 100)
2026-11-30 UTC
00:00:01  collector   ok after 4m 10s
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_history_does_not_repeat_the_name() {
        let mut reel = Reel::of_one();
        let event = sample::event("13:58:02", "restart", "restart 1 of 2");
        assert!(reel.lines(&event, Paint::PLAIN).ends_with("13:58:02  restart 1 of 2\n"));
    }

    #[test]
    fn in_a_pipe_an_event_is_five_fields() {
        let mut event = sample::event("13:58:02", "restart", "restart 1 of 2");
        assert_eq!(plain(&event), "2026-11-29T13:58:02Z\twarning\tweb\trestart\trestart 1 of 2\n");
        event.service.clear();
        assert!(plain(&event).contains("\t-\t"));
    }

    #[test]
    fn what_another_version_says_is_shown_as_it_came() {
        let event = EventDoc {
            at: "later".into(),
            level: "loud".into(),
            event: "teleported".into(),
            text: "to the moon".into(),
            ..EventDoc::default()
        };
        assert!(!event.is_legacy());
        let line = Reel::of_one().lines(&event, Paint::new(true));
        assert!(line.ends_with("--:--:--  to the moon\n"), "{line}");
    }

    #[test]
    fn an_event_knows_its_level_and_its_word() {
        let event =
            EventDoc::new(Event::Probing, "xfs", "Probing the service on port: 7100.".into());
        assert_eq!((event.level.as_str(), event.event.as_str()), ("info", "probing"));
        assert!(event.is_legacy());
    }
}

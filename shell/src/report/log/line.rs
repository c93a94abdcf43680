//! The line people read: `2026-11-29T14:02:10.123Z WARN web: restart 1 of 2: …`.

use super::super::model::EventDoc;
use super::super::paint::Paint;
use crate::message::Level;

/// No line is longer, in bytes: what a pipe takes at once, so that lines of several processes
/// never mix.
const LONGEST: usize = 4000;

/// One line, with its end. What could end it early or drive a terminal is made harmless.
#[must_use]
pub fn text_line(event: &EventDoc, paint: Paint) -> String {
    let level = Level::from_word(&event.level).unwrap_or(Level::Notice);
    let level = paint.level(level, level.short());
    let mut line = format!("{} {level} {}", harmless(&event.at), message(event));
    if line.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line.push('\n');
    line
}

/// `web: restart 1 of 2: …`, or the text alone for what is about the host.
pub(super) fn message(event: &EventDoc) -> String {
    if event.service.is_empty() {
        harmless(&event.text)
    } else {
        format!("{}: {}", harmless(&event.service), harmless(&event.text))
    }
}

/// `text` without control characters: a service's answer may hold any.
pub(super) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::sample;
    use super::*;

    #[test]
    fn a_line_is_the_interfaces() {
        let text = "restart 1 of 2: page 503, page 503 (sum 100)";
        let mut event = sample::event("14:02:10", "restart", text);
        event.at = "2026-11-29T14:02:10.123Z".into();
        assert_eq!(
            text_line(&event, Paint::PLAIN),
            "2026-11-29T14:02:10.123Z WARN web: restart 1 of 2: page 503, page 503 (sum 100)\n"
        );
        event.service.clear();
        event.text = "configuration reloaded: +1 service".into();
        assert!(text_line(&event, Paint::PLAIN).contains(" WARN configuration reloaded"));
    }

    #[test]
    fn no_answer_of_a_service_can_forge_a_line() {
        let event = sample::event("14:02:10", "failure", "page 503\n2026 CRIT db: \x1b[2Jgone");
        let line = text_line(&event, Paint::PLAIN);
        assert_eq!(line.matches('\n').count(), 1);
        assert!(!line.contains('\x1b'));
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let event = sample::event("14:02:10", "failure", &"ä".repeat(5000));
        let line = text_line(&event, Paint::PLAIN);
        assert!(line.len() < 4096 && line.ends_with("…\n"));
    }
}

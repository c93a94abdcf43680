//! The journal's own protocol: a datagram of fields.
//!
//! # Source
//! systemd, "Native Journal Protocol": `NAME=value` lines; a value that holds a newline is written
//! as the name, a newline, its length in 64 bits little endian, the value and a newline.

use super::super::model::EventDoc;
use super::line;
use crate::message::{Event, Level};

/// No value is longer, in bytes: the datagram has to fit the socket's buffer.
const LONGEST: usize = 16 * 1024;

/// The datagram of one event. `object` is the unit it is about; the journal believes it of root
/// only, so others leave it out.
#[must_use]
pub fn datagram(event: &EventDoc, object: Option<&str>) -> Vec<u8> {
    let level = Level::from_word(&event.level).unwrap_or(Level::Notice);
    let known = Event::from_word(&event.event);
    let mut fields = Fields(Vec::with_capacity(512));
    fields.text("MESSAGE", &line::message(event));
    fields.text("PRIORITY", &level.priority().to_string());
    fields.text("SYSLOG_IDENTIFIER", "giveover");
    fields.optional("MESSAGE_ID", known.map(Event::id).as_deref());
    fields.text("GIVEOVER_EVENT", &event.event);
    if !event.service.is_empty() {
        fields.text("GIVEOVER_SERVICE", &event.service);
    }
    fields.optional("GIVEOVER_CHECK", event.check.as_deref());
    fields.optional("GIVEOVER_CAUSE", event.cause.as_deref());
    fields.optional("GIVEOVER_PHASE", event.phase.as_deref());
    fields.number("GIVEOVER_WEIGHT", event.weight);
    fields.number("GIVEOVER_SUM", event.sum);
    fields.number("GIVEOVER_RESTARTS", event.restarts);
    fields.number("GIVEOVER_RETRY_COUNT", event.retry_count);
    fields.number("GIVEOVER_GENERATION", event.generation);
    fields.number("GIVEOVER_INCIDENT", event.incident);
    fields.optional("GIVEOVER_WHO", event.who.as_deref());
    fields.number("GIVEOVER_SEQ", Some(event.seq));
    fields.optional("OBJECT_SYSTEMD_UNIT", object);
    fields.0
}

struct Fields(Vec<u8>);

impl Fields {
    fn text(&mut self, name: &str, value: &str) {
        let value = value.as_bytes();
        let value = value.get(..LONGEST).unwrap_or(value);
        self.0.extend_from_slice(name.as_bytes());
        if value.contains(&b'\n') {
            self.0.push(b'\n');
            self.0.extend_from_slice(&(value.len() as u64).to_le_bytes());
        } else {
            self.0.push(b'=');
        }
        self.0.extend_from_slice(value);
        self.0.push(b'\n');
    }

    fn optional(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    fn number(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.text(name, &value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::sample;
    use super::*;

    /// Every field of the interface, in the bytes the journal reads.
    #[test]
    fn an_event_is_a_datagram_of_fields() {
        let event = EventDoc {
            seq: 4711,
            check: Some("page".into()),
            cause: Some("page 503".into()),
            phase: Some("answer".into()),
            weight: Some(50),
            sum: Some(100),
            restarts: Some(1),
            retry_count: Some(2),
            generation: Some(7),
            incident: Some(118),
            who: Some("ops".into()),
            ..sample::event("14:02:10", "restart", "restart 1 of 2: page 503 (sum 100)")
        };
        let expected = format!(
            "MESSAGE=web: restart 1 of 2: page 503 (sum 100)\nPRIORITY=4\n\
             SYSLOG_IDENTIFIER=giveover\nMESSAGE_ID={}\nGIVEOVER_EVENT=restart\n\
             GIVEOVER_SERVICE=web\nGIVEOVER_CHECK=page\nGIVEOVER_CAUSE=page 503\n\
             GIVEOVER_PHASE=answer\nGIVEOVER_WEIGHT=50\nGIVEOVER_SUM=100\nGIVEOVER_RESTARTS=1\n\
             GIVEOVER_RETRY_COUNT=2\nGIVEOVER_GENERATION=7\nGIVEOVER_INCIDENT=118\n\
             GIVEOVER_WHO=ops\nGIVEOVER_SEQ=4711\nOBJECT_SYSTEMD_UNIT=nginx.service\n",
            Event::Restart.id()
        );
        assert_eq!(datagram(&event, Some("nginx.service")), expected.as_bytes());
    }

    #[test]
    fn a_value_with_a_newline_is_written_with_its_length() {
        let event = EventDoc {
            cause: Some("two\nlines".into()),
            ..sample::event("14:02:10", "failure", "page 503")
        };
        let bytes = datagram(&event, None);
        let field = b"GIVEOVER_CAUSE\n\x09\0\0\0\0\0\0\0two\nlines\n";
        assert!(bytes.windows(field.len()).any(|window| window == field));
    }

    #[test]
    fn what_does_not_apply_is_left_out() {
        let mut event = sample::event("14:02:10", "reloaded", "configuration reloaded");
        event.service.clear();
        let text = String::from_utf8(datagram(&event, None)).expect("text");
        assert!(text.starts_with("MESSAGE=configuration reloaded\nPRIORITY=5\n"));
        for field in ["GIVEOVER_SERVICE", "GIVEOVER_WEIGHT", "OBJECT_SYSTEMD_UNIT"] {
            assert!(!text.contains(field), "{field}");
        }
    }

    #[test]
    fn a_datagram_has_a_limit() {
        let event = EventDoc {
            cause: Some("x".repeat(1 << 20)),
            ..sample::event("14:02:10", "failure", &"y".repeat(1 << 20))
        };
        assert!(datagram(&event, None).len() < 3 * LONGEST);
    }
}

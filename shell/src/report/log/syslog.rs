//! A line for `/dev/log`.
//!
//! # Source
//! RFC 3164. The time stamp is left out, as its 4.3.2 allows: it would have to be in local time,
//! and the receiver, which is on this host, stamps what it receives.

use super::super::model::EventDoc;
use super::line;
use crate::message::Level;

/// Facility "daemon".
const DAEMON: u8 = 3;
/// RFC 3164's limit, in bytes.
const LONGEST: usize = 1024;

/// One datagram.
#[must_use]
pub fn syslog_line(event: &EventDoc, pid: u32) -> Vec<u8> {
    let level = Level::from_word(&event.level).unwrap_or(Level::Notice);
    let priority = DAEMON * 8 + level.priority();
    let mut text = format!("<{priority}>giveover[{pid}]: {}", line::message(event));
    let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end.min(text.len()));
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::super::sample;
    use super::*;

    #[test]
    fn a_line_carries_facility_level_and_process() {
        let event = sample::event("14:02:10", "restart", "restart 1 of 2: page 503 (sum 100)");
        assert_eq!(
            syslog_line(&event, 411),
            b"<28>giveover[411]: web: restart 1 of 2: page 503 (sum 100)"
        );
    }

    #[test]
    fn a_line_is_one_line_and_has_the_limit_of_the_standard() {
        let event = sample::event("14:02:10", "failure", &format!("a\nb{}", "ä".repeat(2000)));
        let line = syslog_line(&event, 411);
        assert!(line.len() <= LONGEST && !line.contains(&b'\n'));
        assert!(String::from_utf8(line).is_ok());
    }
}

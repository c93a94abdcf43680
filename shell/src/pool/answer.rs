//! HAProxy's agent-check protocol: what a member's face is in its words.
//!
//! Every answer says the whole state, for HAProxy changes only what it is told: `up` does not end
//! a drain, and `ready` does not bring up what is down.

use giveover_core::pool::Face;

/// No line is longer: HAProxy reads an answer into a buffer of its own.
const LONGEST_REASON: usize = 160;

/// The answer for a member that shows `face`, whose connections have been cut in the middle of its
/// drain or not, and whose exclusion has this reason; one line.
#[must_use]
pub fn line(face: Face, has_cut: bool, reason: &str) -> String {
    match face {
        Face::In { weight } => format!("up ready {weight}%\n"),
        // HAProxy itself knows who is a backup.
        Face::Standby => "up ready 100%\n".to_owned(),
        // In a drain HAProxy lets those in who were there before.
        Face::Drained if has_cut => "up maint\n".to_owned(),
        // What a person drained, or is busy, is not down: its sessions go on.
        Face::Busy | Face::Drained => "up drain\n".to_owned(),
        Face::Out(_) => format!("ready down #{}\n", plain(reason)),
    }
}

/// Text without anything that would end a line, or that HAProxy would not show.
fn plain(text: &str) -> String {
    let plain = |c: char| if (' '..='~').contains(&c) { c } else { ' ' };
    text.chars().map(plain).take(LONGEST_REASON).collect::<String>().trim().to_owned()
}

/// The pool and the member that a check asks for: `POOL/MEMBER`, as in HAProxy's own commands.
#[must_use]
pub fn asked(line: &str) -> Option<(&str, &str)> {
    line.trim().split_once('/')
}

#[cfg(test)]
mod tests {
    use giveover_core::failure::{Cause, Phase};
    use giveover_core::pool::Why;

    use super::*;

    #[test]
    fn every_answer_is_one_whole_line() {
        let why = Why::Checks(Cause::new(Phase::Connect, 111));
        for (face, reason, said) in [
            (Face::In { weight: 80 }, "", "up ready 80%\n"),
            (Face::Standby, "", "up ready 100%\n"),
            (Face::Drained, "", "up drain\n"),
            (Face::Busy, "", "up drain\n"),
            (Face::Out(why), "page refused", "ready down #page refused\n"),
            (Face::Out(why), "a\r\nup\tü", "ready down #a  up\n"),
        ] {
            assert_eq!(line(face, false, reason), said);
        }
        assert_eq!(line(Face::Drained, true, ""), "up maint\n");
        let long = line(Face::Out(why), false, &"x".repeat(5000));
        assert!(long.len() < 200 && long.ends_with('\n'));
    }

    #[test]
    fn what_is_asked_is_pool_and_member() {
        assert_eq!(asked("web/a\r"), Some(("web", "a")));
        assert_eq!(asked("web"), None);
        assert_eq!(asked("web/a/b"), Some(("web", "a/b")));
    }
}

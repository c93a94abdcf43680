//! The log of a board, as `giveover board log` prints or saves it.
//!
//! It holds what the board noted, not the feeds it was given: so it cannot be fed again. What can be
//! asked of it is whether it contradicts itself, and what a board with another budget would have
//! done about the same failures. Times are the board's powered time.

use giveover_core::board::Settings;
use giveover_core::failure::{Cause, Failure, Phase};
use giveover_core::history::History;
use giveover_core::monitor::Status;
use giveover_core::time::Instant;
use giveover_core::verdict::{Verdict, decide};
use giveover_core::weight::Weight;

use super::super::timeline::{Line, Mark, Timeline, Track, What};
use crate::report::model::BoardEntryDoc;

/// A board's log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoardLog {
    /// What it was asked for by.
    pub name: String,
    /// Its entries in order.
    pub entries: Vec<BoardEntryDoc>,
    /// How many numbers are missing between them.
    pub missing: u32,
}

/// Reads a log in either form; `None` for what is none.
///
/// # Errors
/// It begins as one and does not go on as one: the line, and what is wrong there.
pub(super) fn parse(name: &str, text: &str) -> Option<Result<BoardLog, String>> {
    let mut begins = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    let entries = match begins.next() {
        // a list of objects; a table of TOML begins with the same bracket
        Some(b'[') if matches!(begins.next(), Some(b'{' | b']')) => {
            serde_json::from_str(text).map_err(|error| error.to_string())
        }
        Some(b'{') => lines(text, |line| serde_json::from_str(line).map_err(|e| e.to_string())),
        _ if text.trim() == "nothing yet" => Ok(Vec::new()),
        _ if entry(text.lines().next()?).is_some() => {
            lines(text, |line| entry(line).ok_or_else(|| "not a line of a board's log".to_owned()))
        }
        _ => return None,
    };
    Some(entries.and_then(|entries| {
        let mut log = BoardLog { name: name.to_owned(), entries, missing: 0 };
        for (line, pair) in log.entries.windows(2).enumerate() {
            let [one, next] = pair else { continue };
            if next.number <= one.number || next.powered_ms < one.powered_ms {
                let line = line + 2;
                return Err(format!(
                    "entry {line} (number {}) is not behind {}",
                    next.number, one.number
                ));
            }
            log.missing = log.missing.saturating_add(next.number - one.number - 1);
        }
        Ok(log)
    }))
}

fn lines(
    text: &str,
    each: impl Fn(&str) -> Result<BoardEntryDoc, String>,
) -> Result<Vec<BoardEntryDoc>, String> {
    let written = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    written.map(|(at, line)| each(line).map_err(|why| format!("line {}: {why}", at + 1))).collect()
}

/// `    12  powered    4m 10s  pulse 3 was made`
fn entry(line: &str) -> Option<BoardEntryDoc> {
    let (number, rest) = line.trim_start().split_once("  powered ")?;
    let (powered, text) = rest.trim_start().split_once("  ")?;
    let entry = BoardEntryDoc {
        number: number.parse().ok()?,
        powered_ms: ago(powered)?,
        text: text.to_owned(),
    };
    Some(entry)
}

/// `14s`, `4m 10s`, `3h 5m`, `12d 4h`
fn ago(text: &str) -> Option<u64> {
    let spelled: String = text.split_whitespace().collect();
    crate::config::quantity::milliseconds(&spelled).ok()
}

/// What an entry says, as far as anything follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said<'t> {
    State(&'t str),
    Wanted(u32),
    Made(u32),
    Counts(u32),
    GivenOver,
    Cleared,
    Confirmed,
    Started,
    BadFeed,
    Other,
}

fn said(text: &str) -> Said<'_> {
    let pulse = |rest: &str| -> Option<Said<'_>> {
        let (ticket, what) = rest.split_once(' ')?;
        let ticket = ticket.parse().ok()?;
        Some(match what {
            "was made" => Said::Made(ticket),
            _ if what.starts_with("is wanted") => Said::Wanted(ticket),
            _ if what.starts_with("counts") => Said::Counts(ticket),
            _ => return None,
        })
    };
    if let Some(state) = text.strip_prefix("now ") {
        return Said::State(state);
    }
    if let Some(found) = text.strip_prefix("pulse ").and_then(pulse) {
        return found;
    }
    match text {
        "a person forgot all resets" => Said::Cleared,
        "the boot was confirmed" => Said::Confirmed,
        "a feed came too early" | "a feed answered wrongly" => Said::BadFeed,
        _ if text.starts_with("given over:") => Said::GivenOver,
        _ if text.starts_with("started ") => Said::Started,
        _ => Said::Other,
    }
}

impl BoardLog {
    fn said(&self) -> impl Iterator<Item = (Instant, Said<'_>)> {
        self.entries.iter().map(|entry| (Instant::from_millis(entry.powered_ms), said(&entry.text)))
    }

    /// Where it contradicts itself: each an entry's number and why. Entries may be missing, so only
    /// what no missing entry explains.
    #[must_use]
    pub fn contradictions(&self) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        let (mut wanted, mut held) = (None, false);
        let mut last: Option<u32> = None;
        for (entry, (_, said)) in self.entries.iter().zip(self.said()) {
            let gap = last.is_some_and(|last| last + 1 != entry.number) || last.is_none();
            last = Some(entry.number);
            if gap {
                (wanted, held) = (None, false);
            }
            match said {
                Said::Wanted(_) if held => {
                    found.push((
                        entry.number,
                        "a pulse is wanted while the line is held".to_owned(),
                    ));
                }
                Said::Wanted(ticket) => wanted = Some(ticket),
                Said::Made(ticket) => {
                    if !gap && wanted.is_some_and(|wanted| wanted != ticket) {
                        let why = format!("pulse {ticket} was made, and another one was wanted");
                        found.push((entry.number, why));
                    }
                    wanted = None;
                }
                Said::GivenOver => held = true,
                Said::Cleared | Said::Started => held = false,
                Said::State(state) if state != "line held" => held = false,
                _ => {}
            }
        }
        found
    }

    /// When a failure was decided about, and what was decided: true for a reset.
    fn decisions(&self) -> Vec<(Instant, bool)> {
        let each = self.said().filter_map(|(at, said)| match said {
            Said::Wanted(_) => Some((at, true)),
            Said::GivenOver => Some((at, false)),
            _ => None,
        });
        each.collect()
    }

    /// What a board with `settings` decides about the same failures: true for a reset; `None` while
    /// it would be holding the line. Time-outs are not asked again: there are no feeds in a log.
    #[must_use]
    pub fn under(&self, settings: &Settings) -> Vec<(Instant, Option<bool>)> {
        let Ok(policy) = settings.policy() else { return Vec::new() };
        let instants = || [Instant::default(); Settings::MOST_RESETS as usize];
        let mut history = History::new([Failure::BLANK; 2], instants(), instants());
        let (mut proven, mut held, mut decided) = (None, false, Vec::new());
        for (at, said) in self.said() {
            match said {
                Said::Confirmed => proven = Some(at),
                Said::Cleared => {
                    history.clear();
                    held = false;
                }
                Said::Wanted(_) | Said::GivenOver if held => decided.push((at, None)),
                Said::Wanted(_) | Said::GivenOver => {
                    history.age_proven(at, settings.retry_interval, proven);
                    history.add_failure(at, Weight::COMPLETE, Cause::new(Phase::Silence, 0));
                    let reset = decide(&policy, &history) == Verdict::Restart;
                    history.spend_failures();
                    if reset {
                        history.add_restart(at);
                    }
                    held = !reset;
                    decided.push((at, Some(reset)));
                }
                _ => {}
            }
        }
        decided
    }

    /// A sentence for each failure about which a board with `settings` decides otherwise.
    #[must_use]
    pub fn sentences(&self, settings: &Settings) -> Vec<String> {
        let mut sentences = Vec::new();
        for ((at, old), (_, new)) in self.decisions().into_iter().zip(self.under(settings)) {
            let at = crate::message::span::compact(at.as_millis());
            let text = match (old, new) {
                (true, Some(false)) => {
                    format!("would have given over at {at}, where it reset the host")
                }
                (false, Some(true)) => {
                    format!("would have reset the host at {at}, where it gave over")
                }
                (true, None) => {
                    format!("would have held the line at {at}, where it reset the host")
                }
                (false, None) => format!("would have held the line at {at} already"),
                _ => continue,
            };
            sentences.push(format!("board: the new budget {text}"));
        }
        sentences
    }

    /// The log as it is drawn.
    #[must_use]
    pub fn timeline(&self, settings: Option<&Settings>) -> Timeline {
        let begin = self.said().next().map_or(Instant::default(), |(at, _)| at);
        let end = self.said().last().map_or(begin, |(at, _)| at);
        let mut track = Track {
            name: "host".into(),
            retry_count: settings.map(|settings| u16::from(settings.retry_count)),
            retry_interval: settings.map(|settings| settings.retry_interval).unwrap_or_default(),
            statuses: vec![(begin, Status::Unknown)],
            sums: vec![(begin, 0)],
            restarts: vec![(begin, 0)],
            ..Track::default()
        };
        let mut reset = Line { name: "reset line".into(), edges: vec![(begin, false)] };
        let mut second = Line { name: "second line".into(), edges: vec![(begin, false)] };
        let mut made: Vec<Instant> = Vec::new();
        for (at, said) in self.said() {
            let mut mark = |what| track.marks.push(Mark { at, what });
            match said {
                Said::State(state) => {
                    if state == "pulsing" {
                        reset.edges.push((at, true));
                    } else if reset.edges.last().is_some_and(|(_, held)| *held) {
                        reset.edges.push((at, false));
                    }
                    track.statuses.push((at, status(state)));
                }
                Said::Wanted(_) => {
                    mark(What::Failed(100));
                    mark(What::Restart { by_person: false });
                    made.push(at);
                    let window = u64::from(track.retry_interval.as_millis());
                    let live = |when: &&Instant| window == 0 || at.since(**when) <= window;
                    let count = made.iter().filter(live).count();
                    track.restarts.push((at, u16::try_from(count).unwrap_or(u16::MAX)));
                }
                Said::Made(_) => mark(What::Started),
                Said::Counts(_) => mark(What::StartFailed),
                Said::GivenOver => {
                    mark(What::Giveover);
                    second.edges.push((at, true));
                }
                Said::Cleared => {
                    mark(What::Cleared);
                    made.clear();
                    track.restarts.push((at, 0));
                    second.edges.push((at, false));
                }
                Said::BadFeed => mark(What::Failed(50)),
                Said::Started => mark(What::Begun),
                Said::Confirmed => mark(What::Healthy),
                Said::Other => {}
            }
        }
        let title = format!("{}, in the board's powered time", self.name);
        let lines = vec![reset, second];
        Timeline { title, begin, end, tracks: vec![track], lines, ..Timeline::default() }
    }
}

fn status(state: &str) -> Status {
    match state {
        "armed" => Status::Ok,
        "warned" | "pulsing" | "grace" => Status::Degraded,
        "line held" => Status::Faulted,
        _ => Status::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::board;
    use crate::report::board as screens;
    use giveover_core::board::{Note, Second, State, Why};
    use giveover_core::time::Span;

    /// A log with so many resets, ten minutes apart, the boots confirmed, and then a giveover.
    fn entries(resets: u32) -> Vec<BoardEntryDoc> {
        let mut notes = vec![(0, Note::Started { power_up: true }), (5, Note::State(State::Armed))];
        for ticket in 1..=resets {
            let at = u64::from(ticket) * 600;
            notes.extend([
                (at, Note::Intent { ticket, why: Why::Silence }),
                (at, Note::State(State::Pulsing)),
                (at + 1, Note::Done { ticket }),
                (at + 1, Note::State(State::Grace)),
                (at + 60, Note::State(State::Armed)),
                (at + 120, Note::Confirmed),
            ]);
        }
        let at = u64::from(resets + 1) * 600;
        notes.push((at, Note::GivenOver { why: Why::Silence, second: Second::Alarm }));
        notes.push((at, Note::State(State::Held)));
        let doc = |(number, (s, note)): (u32, (u64, Note))| BoardEntryDoc {
            number,
            powered_ms: s * 1000,
            text: board::note(note),
        };
        (1..).zip(notes).map(doc).collect()
    }

    fn log(resets: u32) -> BoardLog {
        let text = serde_json::to_string(&entries(resets)).expect("JSON");
        parse("log", &text).expect("a log").expect("a whole one")
    }

    #[test]
    fn either_form_is_read() {
        let text = screens::log(&entries(2));
        let read = parse("log", &text).expect("a log").expect("a whole one");
        assert_eq!(read.entries.len(), entries(2).len());
        assert_eq!(read.decisions().len(), 3);
        let json = log(2);
        assert_eq!(json.decisions(), read.decisions());
        let objects: String =
            entries(1).iter().map(|e| serde_json::to_string(e).expect("JSON") + "\n").collect();
        assert_eq!(parse("log", &objects).expect("a log").expect("whole").entries, entries(1));
        assert!(parse("log", "nothing yet\n").expect("a log").is_ok());
    }

    #[test]
    fn other_texts_are_none_and_broken_ones_say_where() {
        assert_eq!(parse("x", "hello\n"), None);
        assert_eq!(parse("x", ""), None);
        let broken = screens::log(&entries(1)).replace("powered", "powred");
        assert_eq!(parse("x", &broken), None);
        let broken = format!("{}gibberish\n", screens::log(&entries(0)));
        let why =
            parse("x", &broken).expect("it begins as one").expect_err("it does not end as one");
        assert!(why.starts_with("line 5: "), "{why}");
        let mut back = entries(1);
        back.swap(3, 4);
        let text = serde_json::to_string(&back).expect("JSON");
        assert!(parse("x", &text).expect("a log").is_err());
    }

    #[test]
    fn a_smaller_budget_gives_over_earlier_and_a_larger_one_later() {
        let with = |retry_count| Settings {
            retry_count,
            boot_grace: Span::from_secs(60),
            ..Settings::DEFAULT
        };
        let log = log(3);
        assert!(log.sentences(&with(3)).is_empty(), "{:?}", log.sentences(&with(3)));
        let small = log.sentences(&with(1));
        assert_eq!(
            small[0],
            "board: the new budget would have given over at 20m, where it reset the host"
        );
        assert!(small[1].contains("held the line at 30m"), "{small:?}");
        let large = log.sentences(&with(8));
        assert_eq!(
            large,
            ["board: the new budget would have reset the host at 40m, where it gave over"]
        );
    }

    #[test]
    fn a_log_that_contradicts_itself_says_where() {
        assert!(log(3).contradictions().is_empty());
        let mut wrong = log(1);
        let place = wrong.entries.iter().position(|e| e.text == "pulse 1 was made").expect("there");
        wrong.entries[place].text = "pulse 7 was made".to_owned();
        let found = wrong.contradictions();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, wrong.entries[place].number);
    }

    #[test]
    fn it_is_drawn_with_its_lines() {
        let timeline = log(2).timeline(Some(&Settings::DEFAULT));
        let pulses = timeline.lines[0].edges.iter().filter(|(_, held)| *held).count();
        assert_eq!(pulses, 2);
        assert_eq!(timeline.tracks[0].restarts.last().map(|(_, count)| *count), Some(2));
        assert!(timeline.lines[1].edges.last().is_some_and(|(_, on)| *on));
    }
}

//! Two tracks of the same day, and a sentence for each decision in which they differ.

use giveover_core::monitor::Status;
use giveover_core::time::Instant;

use super::super::timeline::{Calendar, Track, What};
use crate::message::span;

/// Decisions nearer than this are the same one.
const SAME_MS: u64 = 1000;
/// The daemon starts cycles in clumps, on a tick, and another policy's timers have no tick: what is no
/// farther apart than the longest one is the same thing at the same time.
const TICK_MS: u64 = 20;
/// More sentences than these are only counted.
const MOST: usize = 20;
/// Of more decisions than these the first go with the first, whatever lies between.
const MOST_ALIGNED: usize = 500;

/// The decisions that are told, and the words for them.
const KINDS: [(What, &str); 5] = [
    (What::Restart { by_person: false }, "restarted"),
    (What::Giveover, "given over"),
    (What::BudgetSpent, "found its budget spent"),
    (What::Logged, "written a failure down"),
    (What::Reset, "asked for a reset of the node"),
];

/// A sentence for each decision that another policy would have made otherwise, and one for how long
/// the service was not ok; none if nothing differs.
#[must_use]
pub fn sentences(
    recorded: &Track,
    other: &Track,
    end: Instant,
    calendar: &Calendar,
) -> Vec<String> {
    let window = u64::from(recorded.retry_interval.max(other.retry_interval).as_millis());
    let mut said: Vec<(Instant, String)> = Vec::new();
    for (what, done) in KINDS {
        for (old, new) in align(&times(recorded, what), &times(other, what), window) {
            let Some(text) = sentence(done, old, new, calendar) else { continue };
            let at = new.or(old).unwrap_or_default();
            said.push((at, format!("{}: the new policy would {text}", recorded.name)));
        }
    }
    said.sort();
    let more = said.len().saturating_sub(MOST);
    let mut sentences: Vec<String> = said.into_iter().take(MOST).map(|(_, text)| text).collect();
    if more > 0 {
        sentences.push(format!("{}: and {more} differences more", recorded.name));
    }
    let (old, new) = (not_ok(recorded, end), not_ok(other, end));
    if old.abs_diff(new) >= SAME_MS {
        let (old, new) = (span::spoken(old), span::spoken(new));
        sentences.push(format!("{}: not ok for {new} instead of {old}", recorded.name));
    }
    sentences
}

fn sentence(
    done: &str,
    old: Option<Instant>,
    new: Option<Instant>,
    calendar: &Calendar,
) -> Option<String> {
    match (old, new) {
        (Some(old), Some(new)) => {
            let (ms, word) = (old.since(new).max(new.since(old)), word(old > new));
            let at = calendar.time(new);
            (ms >= SAME_MS).then(|| format!("have {done} at {at}, {} {word}", span::spoken(ms)))
        }
        (None, Some(new)) => {
            Some(format!("have {done} at {}, which it was not", calendar.time(new)))
        }
        (Some(old), None) => {
            Some(format!("not have {done} at {}, which it was", calendar.time(old)))
        }
        (None, None) => None,
    }
}

const fn word(earlier: bool) -> &'static str {
    if earlier { "earlier" } else { "later" }
}

fn times(track: &Track, what: What) -> Vec<Instant> {
    track.marks.iter().filter(|mark| mark.what == what).map(|mark| mark.at).collect()
}

/// How long the service was shown as anything but ok, in milliseconds; unknown counts nothing.
#[must_use]
pub fn not_ok(track: &Track, end: Instant) -> u64 {
    let ends = track.statuses.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let bands = track.statuses.iter().zip(ends);
    let bad = bands.filter(|((_, status), _)| !matches!(status, Status::Ok | Status::Unknown));
    bad.map(|((from, _), until)| until.since(*from)).sum()
}

/// Which of `old` goes with which of `new`: in order, as near as can be, and never farther apart
/// than `window`, which is another incident.
fn align(old: &[Instant], new: &[Instant], window: u64) -> Vec<(Option<Instant>, Option<Instant>)> {
    if old.len().max(new.len()) > MOST_ALIGNED {
        let longest = old.len().max(new.len());
        return (0..longest).map(|at| (old.get(at).copied(), new.get(at).copied())).collect();
    }
    // the least cost of what is left from (i, j) on: a pair costs its distance, one alone half a window
    let alone = window / 2 + 1;
    let width = new.len() + 1;
    let mut cost = vec![0u64; (old.len() + 1) * width];
    let place = |i: usize, j: usize| i * width + j;
    let at = |cost: &[u64], i, j| cost.get(place(i, j)).copied().unwrap_or(u64::MAX / 2);
    let apart = |i: usize, j: usize| match (old.get(i), new.get(j)) {
        (Some(old), Some(new)) => old.since(*new).max(new.since(*old)),
        _ => u64::MAX / 4,
    };
    for i in (0..=old.len()).rev() {
        for j in (0..=new.len()).rev() {
            let skip_old = (i < old.len()).then(|| alone + at(&cost, i + 1, j));
            let skip_new = (j < new.len()).then(|| alone + at(&cost, i, j + 1));
            let pair = (i < old.len() && j < new.len() && apart(i, j) <= window)
                .then(|| apart(i, j) + at(&cost, i + 1, j + 1));
            let least = [pair, skip_old, skip_new].into_iter().flatten().min().unwrap_or(0);
            if let Some(slot) = cost.get_mut(place(i, j)) {
                *slot = least;
            }
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        let here = at(&cost, i, j);
        let both = i < old.len() && j < new.len() && apart(i, j) <= window;
        if both && here == apart(i, j) + at(&cost, i + 1, j + 1) {
            pairs.push((old.get(i).copied(), new.get(j).copied()));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && here == alone + at(&cost, i + 1, j) {
            pairs.push((old.get(i).copied(), None));
            i += 1;
        } else {
            pairs.push((None, new.get(j).copied()));
            j += 1;
        }
    }
    pairs
}

/// One row of two tracks: when, what was recorded, and what the other policy does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// When.
    pub at: Instant,
    /// What was recorded then; may be empty.
    pub recorded: String,
    /// What the other policy would have done; may be empty.
    pub other: String,
}

/// Both tracks, everything but what is routine, each instant a row. What happens on both sides within a
/// tick stands in one row, at the recorded time.
#[must_use]
pub fn rows(recorded: &Track, other: &Track) -> Vec<Row> {
    let (old, mut new) = (happenings(recorded), happenings(other));
    within_a_tick(&old, &mut new);
    let mut instants: Vec<Instant> = old.iter().chain(&new).map(|(at, _)| *at).collect();
    instants.sort();
    instants.dedup();
    let words = |all: &[(Instant, String)], at: Instant| {
        let now = all.iter().filter(|(when, _)| *when == at).map(|(_, text)| text.as_str());
        now.collect::<Vec<_>>().join(", ")
    };
    let row = |at: Instant| Row { at, recorded: words(&old, at), other: words(&new, at) };
    instants.into_iter().map(row).collect()
}

/// Gives what is in `new` the time of the same thing in `old` where the two are a tick apart; of several
/// the first goes with the first.
fn within_a_tick(old: &[(Instant, String)], new: &mut [(Instant, String)]) {
    let mut taken = vec![false; new.len()];
    let mut from = 0;
    for (at, text) in old {
        // both are in order of time: what is a tick too early for this one is so for all behind it
        while new.get(from).is_some_and(|(when, _)| at.since(*when) > TICK_MS) {
            from += 1;
        }
        let near = new.iter().enumerate().skip(from);
        let near = near.take_while(|(_, (when, _))| when.since(*at) <= TICK_MS);
        let mut same =
            near.filter(|(place, (_, other))| other == text && taken.get(*place) == Some(&false));
        let Some(place) = same.next().map(|(place, _)| place) else { continue };
        if let (Some(known), Some(taken)) = (new.get_mut(place), taken.get_mut(place)) {
            (known.0, *taken) = (*at, true);
        }
    }
    new.sort_by_key(|(at, _)| *at);
}

fn happenings(track: &Track) -> Vec<(Instant, String)> {
    let marks = track.marks.iter().filter(|mark| !mark.what.is_routine());
    let marks = marks.map(|mark| (mark.at, mark.what.words()));
    let statuses = track.statuses.iter().map(|(at, status)| (*at, status.word().to_owned()));
    let mut all: Vec<(Instant, String)> = marks.chain(statuses.skip(1)).collect();
    all.sort_by_key(|(at, _)| *at);
    all
}

#[cfg(test)]
mod tests {
    use super::super::super::timeline::Mark;
    use super::*;
    use giveover_core::time::Span;

    fn at(s: u64) -> Instant {
        Instant::from_millis(s * 1000)
    }

    fn track(giveovers: &[u64], restarts: &[u64]) -> Track {
        let mark = |what| move |s: &u64| Mark { at: at(*s), what };
        let restart = What::Restart { by_person: false };
        let mut marks: Vec<Mark> = giveovers.iter().map(mark(What::Giveover)).collect();
        marks.extend(restarts.iter().map(mark(restart)));
        Track {
            name: "web".into(),
            retry_interval: Span::from_secs(600),
            marks,
            ..Track::default()
        }
    }

    fn said(old: &Track, new: &Track) -> Vec<String> {
        let mut calendar = Calendar::default();
        calendar.note(at(0), 1_764_424_800_000); // 14:00
        sentences(old, new, at(1000), &calendar)
    }

    #[test]
    fn a_decision_at_another_time_says_by_how_much() {
        let told = said(&track(&[310], &[]), &track(&[130], &[]));
        let earlier = "web: the new policy would have given over at 14:02:10, 3 min earlier";
        assert_eq!(told, [earlier]);
        assert!(said(&track(&[310], &[5]), &track(&[310], &[5])).is_empty());
    }

    #[test]
    fn decisions_of_other_incidents_do_not_go_together() {
        let told = said(&track(&[], &[10, 5000]), &track(&[], &[5000]));
        assert_eq!(
            told,
            ["web: the new policy would not have restarted at 14:00:10, which it was"]
        );
        let told = said(&track(&[], &[5000]), &track(&[], &[10, 5030]));
        assert_eq!(
            told,
            [
                "web: the new policy would have restarted at 14:00:10, which it was not",
                "web: the new policy would have restarted at 15:23:50, 30 s later",
            ]
        );
    }

    #[test]
    fn many_differences_are_counted() {
        let restarts: Vec<u64> = (0..30).map(|number| number * 10_000).collect();
        let told = said(&track(&[], &restarts), &track(&[], &[]));
        assert_eq!(told.len(), 21);
        assert!(told[20].ends_with("and 10 differences more"), "{told:?}");
    }

    #[test]
    fn both_sides_stand_in_one_row() {
        let rows = rows(&track(&[10], &[5]), &track(&[10], &[]));
        let texts: Vec<(&str, &str)> =
            rows.iter().map(|row| (row.recorded.as_str(), row.other.as_str())).collect();
        assert_eq!(texts, [("restart", ""), ("giveover asked for", "giveover asked for")]);
    }

    /// The daemon's timers are late by some ms: that is no difference.
    #[test]
    fn what_is_a_tick_apart_is_the_same_thing() {
        let shifted = |by: u64| {
            let restart = What::Restart { by_person: false };
            let mark = |ms, what| Mark { at: Instant::from_millis(ms + by), what };
            let marks = vec![
                mark(5_000, What::Failed(100)),
                mark(5_000, restart),
                mark(5_700, What::Started),
                mark(5_710, What::Started),
            ];
            let statuses = vec![
                (at(0), Status::Unknown),
                (Instant::from_millis(5_000 + by), Status::Degraded),
            ];
            Track { marks, statuses, ..track(&[], &[]) }
        };
        let old = shifted(0);
        for by in [0, 1, 7, TICK_MS] {
            let rows = rows(&old, &shifted(by));
            assert_eq!(rows.len(), 3, "{by}: {rows:?}");
            assert!(rows.iter().all(|row| row.recorded == row.other), "{by}: {rows:?}");
            assert_eq!(rows[0].at, at(5), "the recorded time stands");
        }
        let apart = rows(&old, &shifted(TICK_MS + 1));
        let first = apart.iter().filter(|row| row.recorded.contains("restart"));
        assert!(first.clone().count() == 1, "{apart:?}");
        assert!(first.into_iter().all(|row| row.other.is_empty()), "{apart:?}");
        let fewer = Track { marks: old.marks[..3].to_vec(), ..shifted(0) };
        let rows = rows(&old, &fewer);
        let last = rows.last().expect("a row");
        assert_eq!((last.recorded.as_str(), last.other.as_str()), ("started", ""), "{rows:?}");
    }

    #[test]
    fn a_failure_that_is_only_written_down_has_its_sentence() {
        let logged = |marks: &[u64]| Track {
            marks: marks.iter().map(|s| Mark { at: at(*s), what: What::Logged }).collect(),
            ..track(&[], &[])
        };
        assert_eq!(
            said(&logged(&[]), &logged(&[70])),
            ["web: the new policy would have written a failure down at 14:01:10, which it was not"]
        );
    }
}

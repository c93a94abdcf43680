use std::path::{Path, PathBuf};

use super::*;
use crate::journal::{Journal, Note, Options, Place, Run};
use crate::machine::{self, BoxedMonitor};
use giveover_core::failure::{Cause, Phase, ProbeResult};
use giveover_core::monitor::{Action, Event, GiveoverOutcome, RestartOutcome};
use giveover_core::policy::{Delays, Limits, Policy, Scope};
use giveover_core::record::{Body, Entry};
use giveover_core::time::{Instant, Span};
use giveover_core::weight::Weight;

/// A daemon's day, written by the real journal: probes each 10 s, whose results are given.
struct Day {
    dir: tempfile::TempDir,
    journal: Journal,
    monitor: BoxedMonitor,
    machine: u32,
    now: Instant,
}

fn limits(retry_count: u16) -> Limits {
    Limits {
        thorough_probe_interval: Span::from_secs(10),
        retry_count: Some(retry_count),
        retry_interval: Span::from_secs(300),
        start_grace: Span::ZERO,
        restart_delay: Delays::NONE,
        ..Limits::DEFAULT
    }
}

const COMPLETE: ProbeResult = ProbeResult::Failed(Weight::COMPLETE, Cause::new(Phase::Read, 110));

impl Day {
    fn begin() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let place = Place::of_file(&dir.path().join("day")).expect("a file");
        let (mut journal, _) = Journal::open(place, Options::DEFAULT).expect("opened");
        let now = Instant::from_millis(5_000);
        let run = Run {
            version: "1".into(),
            pid: 1,
            boot: None,
            offset_ms: 0,
            wall_ms: 1_764_424_800_000, // 14:00
        };
        journal.note(now, Note::Run(run));
        let machine = journal.name(now, &"web".into());
        let policy = Policy::new(limits(2), Scope::USUAL).expect("possible").0;
        let monitor = machine::boxed(policy, now);
        journal.made(now, machine, &monitor);
        let mut day = Self { dir, journal, monitor, machine, now };
        day.feed(Event::Begin { first: Span::ZERO, started: false });
        day
    }

    fn feed(&mut self, event: Event) {
        let actions = self.monitor.handle(event, self.now);
        let mut append = |body| {
            self.journal.append(&Entry { at: self.now, machine: self.machine, body });
        };
        append(Body::Event(event));
        actions.as_slice().iter().for_each(|action| append(Body::Action(*action)));
        self.journal.flush(self.now);
        for action in actions {
            match action {
                Action::Restart { ticket, .. } => {
                    self.now = self.now.after(Span::from_secs(2));
                    self.feed(Event::RestartDone { ticket, outcome: RestartOutcome::Started });
                }
                Action::Giveover { ticket, .. } => {
                    self.feed(Event::GiveoverDone { ticket, outcome: GiveoverOutcome::Granted });
                }
                _ => {}
            }
        }
    }

    fn probe(&mut self, result: ProbeResult) {
        self.now = self.monitor.poll_timeout().unwrap_or(self.now).max(self.now);
        self.feed(Event::Timeout);
        if let Some(ticket) = self.monitor.probe_under_way() {
            self.feed(Event::Probed { ticket, result });
        }
    }

    /// Three complete failures, a minute of health before each: two restarts and a giveover.
    fn bad(mut self) -> Kept {
        for _ in 0..3 {
            (0..6).for_each(|_| self.probe(ProbeResult::Healthy));
            self.probe(COMPLETE);
        }
        let path = self.dir.path().join("day");
        Kept { path, _dir: self.dir }
    }
}

struct Kept {
    path: PathBuf,
    _dir: tempfile::TempDir,
}

fn refused(path: &Path) -> String {
    match read(path) {
        Err(error) => error.to_string(),
        Ok(source) => panic!("{source:?}"),
    }
}

fn config(dir: &Path, text: &str) -> PathBuf {
    let path = dir.join("new.toml");
    std::fs::write(&path, text).expect("a file");
    path
}

const ONE: &str = "[policy.default]\nthorough_probe_interval = \"10s\"\nretry_count = 1\n\
                   retry_interval = \"300s\"\nstart_grace = \"0s\"\nrestart_delay = \"0s\"\n";

#[test]
fn a_day_is_replayed_to_the_bit() {
    let day = Day::begin().bad();
    let source = read(&day.path).expect("a journal");
    assert!(source.agrees(), "{}", text(&source, None));
    assert!(text(&source, None).contains("identical"));
    let Source::Journal(recording) = &source else { panic!("a journal") };
    assert_eq!(recording.services.len(), 1);
    let decisions = |track: &Track| track.marks.iter().filter(|it| it.what.is_decision()).count();
    assert_eq!(decisions(&recording.services[0].track), 3);
    // the directory of the file is a state directory too, once it is called as one
    let dir = day.path.parent().expect("a directory");
    std::fs::rename(&day.path, dir.join("journal")).expect("renamed");
    assert!(read(dir).expect("a state directory").agrees());
}

#[test]
fn a_decision_that_is_another_one_now_is_the_first_difference() {
    let mut day = Day::begin();
    day.probe(ProbeResult::Healthy);
    let body = Body::Action(Action::BudgetSpent);
    day.journal.append(&Entry { at: day.now, machine: day.machine, body });
    let day = day.bad();
    let source = read(&day.path).expect("a journal");
    assert!(!source.agrees());
    let told = text(&source, None);
    let difference = "14:00:00, web: written down was budget spent, decided now is nothing";
    assert!(told.contains(difference), "{told}");
    let doc = json(&source, None);
    assert_eq!(doc["identical"], false);
    assert_eq!(doc["differences"][0]["written"], "budget spent");
}

#[test]
fn another_policy_gives_over_earlier_and_a_sentence_says_so() {
    let day = Day::begin().bad();
    let source = read(&day.path).expect("a journal");
    let file = config(day.path.parent().expect("a directory"), ONE);
    let other = with(&source, &file).expect("a policy");
    let told = text(&source, Some(&other));
    let earlier = "web: the new policy would have given over at 14:02:12, 1 min 12 s earlier";
    assert_eq!(other.sentences.first().map(String::as_str), Some(earlier), "{told}");
    assert!(told.contains("2 restarts in 300s") && told.contains("1 restart in 300s"), "{told}");
    let timeline = source.timeline(Some(&other));
    assert_eq!(timeline.tracks.len(), 2);
    assert_eq!(json(&source, Some(&other))["with"]["sentences"][0], earlier);
}

#[test]
fn the_recorded_policy_beside_itself_decides_the_same() {
    let day = Day::begin().bad();
    let source = read(&day.path).expect("a journal");
    let same = ONE.replace("retry_count = 1", "retry_count = 2");
    let file = config(day.path.parent().expect("a directory"), &same);
    let other = with(&source, &file).expect("a policy");
    assert!(other.sentences.is_empty(), "{:?}", other.sentences);
    assert!(text(&source, Some(&other)).contains("decides the same"));
}

#[test]
fn a_file_that_says_nothing_about_it_is_refused() {
    let day = Day::begin().bad();
    let source = read(&day.path).expect("a journal");
    let dir = day.path.parent().expect("a directory");
    let file = config(dir, "[service.db]\ncheck.a = \"tcp://127.0.0.1:1\"\n");
    let why = with(&source, &file).expect_err("another service");
    assert!(why.contains("names none of the recorded services (web)"), "{why}");
    let file = config(dir, "[policy.default]\nretry_cuont = 1\n");
    let why = with(&source, &file).expect_err("a mistake");
    assert!(why.contains("new.toml:2:1") && why.contains("did you mean `retry_count`?"), "{why}");
}

#[test]
fn what_is_no_whole_journal_is_refused_with_the_reason() {
    let day = Day::begin().bad();
    let bytes = std::fs::read(&day.path).expect("bytes");
    let write = |bytes: &[u8]| std::fs::write(&day.path, bytes).expect("written");
    write(&bytes[..bytes.len() - 3]);
    let torn = read(&day.path).expect("all before it is whole");
    assert!(torn.agrees() && text(&torn, None).contains("half a record"));
    let mut damaged = bytes.clone();
    damaged[200] ^= 1;
    write(&damaged);
    assert!(refused(&day.path).contains("damaged at byte "), "{}", refused(&day.path));
    write(b"[service.web]\n");
    assert!(refused(&day.path).ends_with("this is no journal of giveover"));
    write(b"");
    assert!(refused(&day.path).ends_with("this is no journal of giveover"));
    std::fs::remove_file(&day.path).expect("removed");
    assert!(refused(&day.path).ends_with("there is no such file"));
    let dir = day.path.parent().expect("a directory");
    assert!(refused(dir).ends_with("there is no journal in this directory"));
}

#[test]
fn a_journal_of_a_newer_version_is_known_as_such() {
    let day = Day::begin().bad();
    let mut bytes = std::fs::read(&day.path).expect("bytes");
    // the header's frame: mark, length, sum, then the version
    bytes[8] = crate::journal::VERSION + 1;
    let length = [bytes[2], bytes[3]];
    let end = 8 + usize::from(u16::from_le_bytes(length));
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length);
    hasher.update(&bytes[8..end]);
    bytes[4..8].copy_from_slice(&hasher.finalize().to_le_bytes());
    std::fs::write(&day.path, &bytes).expect("written");
    let why = refused(&day.path);
    let ours = crate::journal::VERSION;
    let said = format!("written by a newer version (journal format {}, ours is {ours})", ours + 1);
    assert!(why.contains(&said), "{why}");
}

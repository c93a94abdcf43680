//! A recording: the journal of a daemon, read and fed to the machines once more.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use giveover_core::monitor::{Action, Event, Origin};
use giveover_core::record::{Body, Entry};
use giveover_core::time::Instant;

use super::super::timeline::{Before, Calendar, Recorder, Timeline, Track};
use crate::journal::{Item, Line, Note, Place, Reader, Replay, Unread};
use crate::machine::BoxedMonitor;
use crate::message::span;

/// A journal that was read to its end, and what its machines came to.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What it was asked for by.
    pub name: String,
    /// The services in the order in which they appear.
    pub services: Vec<Recorded>,
    /// How its instants are told.
    pub calendar: Calendar,
    /// Where it begins.
    pub begin: Instant,
    /// Where it ends.
    pub end: Instant,
    /// How many events were fed.
    pub events: u64,
    /// How many actions they led to.
    pub actions: u64,
    /// So many bytes at its end are half a record.
    pub torn: Option<u64>,
    /// Where a decision is another one now, the first of them.
    pub differences: Vec<Differs>,
    /// How many more there are.
    pub more_differences: u64,
}

/// One service of a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its name.
    pub name: Arc<str>,
    /// Its monitor before the first event.
    pub start: BoxedMonitor,
    /// What it was fed with.
    pub events: Vec<(Instant, Event)>,
    /// What came of it.
    pub track: Track,
}

/// A decision that is another one now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs {
    /// The journal's number of the record.
    pub seq: u64,
    /// When.
    pub at: Instant,
    /// The service.
    pub service: Arc<str>,
    /// What was written down; `None` for nothing.
    pub written: Option<Action>,
    /// What is decided now; `None` for nothing.
    pub decided: Option<Action>,
}

/// Why a file cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRecording {
    /// What was asked for.
    pub name: String,
    /// What is wrong, and what to do about it.
    pub why: String,
}

impl fmt::Display for NoRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

/// Services that a daemon watches for its own sake are not shown.
const HIDDEN: &str = "(trusted)";

impl Recording {
    /// Reads the journal at `path`: a file, with its earlier generations beside it, or a state
    /// directory.
    ///
    /// # Errors
    /// It cannot be read, is no journal, was written by a newer version, is damaged before its end,
    /// or holds nothing. A torn end is none: everything before it is whole.
    pub fn read(path: &Path) -> Result<Self, NoRecording> {
        let name = path.display().to_string();
        let no = |why: String| NoRecording { name: name.clone(), why };
        let place = place_of(path).map_err(no)?;
        let no = |why: String| NoRecording { name: name.clone(), why };
        // what cannot be opened is said as the system says it, not as an empty journal
        Reader::open_file(&place.current()).map_err(|error| {
            no(match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                _ => format!("cannot be read: {error}"),
            })
        })?;
        let reader = Reader::open(&place);
        let torn = judge(&reader.unread()).map_err(no)?;
        let mut building = Building::default();
        for line in reader.lines() {
            building.take(line);
        }
        let no = |why: String| NoRecording { name: name.clone(), why };
        let recording = building.finish(name.clone(), torn);
        if recording.services.is_empty() {
            return Err(no("no service is recorded in it".to_owned()));
        }
        Ok(recording)
    }

    /// The recording as it is drawn.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        Timeline {
            title: format!("{}, as recorded", self.name),
            begin: self.begin,
            end: self.end,
            calendar: self.calendar.clone(),
            tracks: self.services.iter().map(|service| service.track.clone()).collect(),
            ..Timeline::default()
        }
    }
}

/// The journal that `path` means.
fn place_of(path: &Path) -> Result<Place, String> {
    if !path.is_dir() {
        return Place::of_file(path).ok_or_else(|| "that names no file".to_owned());
    }
    let place = Place::in_dir(path);
    if place.current().exists() {
        return Ok(place);
    }
    // the base of state directories: one for each configuration
    let below = std::fs::read_dir(path).map_err(|error| error.to_string())?;
    let below = below.filter_map(Result::ok).map(|entry| entry.path());
    let mut with: Vec<PathBuf> = below.filter(|dir| dir.join("journal").is_file()).collect();
    with.sort();
    match with.as_slice() {
        [only] => Ok(Place::in_dir(only)),
        [] => Err("there is no journal in this directory".to_owned()),
        several => {
            let names: Vec<String> = several.iter().map(|dir| dir.display().to_string()).collect();
            Err(format!("several journals are in this directory: {}", names.join(", ")))
        }
    }
}

/// What stands in the way of a replay; else how much of the end is torn.
fn judge(unread: &[Unread]) -> Result<Option<u64>, String> {
    let (last, earlier) = match unread.split_last() {
        None => return Ok(None),
        Some(split) => split,
    };
    match earlier.first().unwrap_or(last) {
        Unread::Newer(version) => Err(format!(
            "written by a newer version (journal format {version}, ours is {}): \
             replay it with that version",
            crate::journal::VERSION
        )),
        Unread::Foreign => Err("this is no journal of giveover".to_owned()),
        Unread::Damaged { at, lost } => Err(format!(
            "damaged at byte {at}: {} of {} bytes behind it are whole records; a replay across \
             the gap would prove nothing",
            lost.records, lost.bytes
        )),
        Unread::Torn { bytes } => Ok(Some(*bytes)),
    }
}

/// A recording while it is read.
#[derive(Default)]
struct Building {
    replay: Replay,
    services: BTreeMap<u32, Under>,
    done: Vec<(u64, Recorded)>,
    calendar: Calendar,
    begin: Option<Instant>,
    end: Instant,
    events: u64,
    actions: u64,
    order: u64,
    seen: Vec<(u64, Instant, u32, Arc<str>)>,
}

struct Under {
    order: u64,
    name: Arc<str>,
    start: BoxedMonitor,
    recorder: Recorder,
    events: Vec<(Instant, Event)>,
}

impl Building {
    fn take(&mut self, line: Line) {
        self.calendar.note(line.at, line.wall_ms);
        match line.item {
            Item::Entry(entry) => self.entry(line.seq, &entry, line.service),
            Item::Note { note: Note::Gone { machine }, .. } => {
                self.end_of(machine);
                self.replay.forget(machine);
            }
            Item::Note { .. } => {}
        }
        if !line.in_snapshot {
            self.begin.get_or_insert(line.at);
            self.end = self.end.max(line.at);
        }
    }

    fn entry(&mut self, seq: u64, entry: &Entry, service: Option<Arc<str>>) {
        let Body::Event(event) = entry.body else {
            if matches!(entry.body, Body::Made { .. }) {
                self.end_of(entry.machine);
            }
            self.actions += u64::from(matches!(entry.body, Body::Action(_)));
            let known = self.replay.differences().len();
            self.replay.take(seq, entry);
            self.note_differences(known, entry, service);
            return;
        };
        self.events += 1;
        if let (Some(monitor), false) =
            (self.replay.monitor(entry.machine), self.services.contains_key(&entry.machine))
        {
            let name = service.clone().unwrap_or_else(|| entry.machine.to_string().into());
            let (start, at) = (monitor.clone(), entry.at.max(monitor.latest()));
            let recorder = Recorder::new(name.clone(), &start, at);
            let under = Under { order: self.order, name, start, recorder, events: Vec::new() };
            self.order += 1;
            self.services.insert(entry.machine, under);
        }
        let before = self.replay.monitor(entry.machine).map(Before::of);
        let at =
            self.replay.monitor(entry.machine).map_or(entry.at, |it| entry.at.max(it.latest()));
        if let (Some(under), Some(monitor)) =
            (self.services.get_mut(&entry.machine), self.replay.monitor(entry.machine))
        {
            under.recorder.pass(monitor, at);
            under.events.push((entry.at, event));
        }
        let known = self.replay.differences().len();
        self.replay.take(seq, entry);
        self.note_differences(known, entry, service);
        let decided = self.replay.decided(entry.machine);
        if let (Some(under), Some(monitor), Some(before), Some(actions)) = (
            self.services.get_mut(&entry.machine),
            self.replay.monitor(entry.machine),
            before,
            decided,
        ) {
            under.recorder.saw(before, &event, actions, monitor, at);
        }
    }

    fn note_differences(&mut self, known: usize, entry: &Entry, service: Option<Arc<str>>) {
        for difference in self.replay.differences().iter().skip(known) {
            let name = service.clone().unwrap_or_else(|| entry.machine.to_string().into());
            self.seen.push((difference.seq, entry.at, entry.machine, name));
        }
    }

    /// The machine is gone, or made anew: what was recorded of it is complete.
    fn end_of(&mut self, machine: u32) {
        let Some(under) = self.services.remove(&machine) else { return };
        let Some(monitor) = self.replay.monitor(machine) else { return };
        let track = under.recorder.finish(monitor, monitor.latest());
        let Under { order, name, start, events, .. } = under;
        self.done.push((order, Recorded { name, start, events, track }));
    }

    fn finish(mut self, name: String, torn: Option<u64>) -> Recording {
        let end = self.end;
        let left: Vec<u32> = self.services.keys().copied().collect();
        for machine in left {
            let Some(under) = self.services.remove(&machine) else { continue };
            let Some(monitor) = self.replay.monitor(machine) else { continue };
            let track = under.recorder.finish(monitor, end);
            let Under { order, name, start, events, .. } = under;
            self.done.push((order, Recorded { name, start, events, track }));
        }
        self.done.sort_by_key(|(order, _)| *order);
        let services = self.done.into_iter().map(|(_, service)| service);
        let seen = self.seen.into_iter().zip(self.replay.differences());
        let differences = seen.map(|((seq, at, _, service), difference)| Differs {
            seq,
            at,
            service,
            written: difference.written,
            decided: difference.decided,
        });
        Recording {
            name,
            services: services.filter(|service| &*service.name != HIDDEN).collect(),
            calendar: self.calendar,
            begin: self.begin.unwrap_or_default(),
            end,
            events: self.events,
            actions: self.actions,
            torn,
            differences: differences.collect(),
            more_differences: self.replay.more_differences(),
        }
    }
}

/// An action in words, as a difference tells it.
#[must_use]
pub(super) fn action_words(action: Option<Action>) -> String {
    match action {
        None => "nothing".to_owned(),
        Some(Action::Probe { ticket }) => format!("a probe (ticket {})", ticket.0),
        Some(Action::Restart { ticket, origin }) => {
            let by = match origin {
                Origin::Monitor => "",
                Origin::Operator => " by a person",
                Origin::Return => " of what came back",
            };
            format!("a restart{by} (ticket {})", ticket.0)
        }
        Some(Action::Giveover { ticket, .. }) => format!("a giveover (ticket {})", ticket.0),
        Some(Action::Cancel { ticket }) => format!("a withdrawal (ticket {})", ticket.0),
        Some(Action::BudgetSpent) => "budget spent".to_owned(),
        Some(Action::Log) => "logged only".to_owned(),
        Some(Action::Reset { .. }) => "a reset of the node".to_owned(),
        Some(Action::Status { status, message }) => {
            format!("status {}, \"{}\"", status.word(), message.text())
        }
        Some(other) => format!("{other:?}"),
    }
}

/// `2h 5m of 3 services, 1,204 events`
#[must_use]
pub(super) fn extent(recording: &Recording) -> String {
    let length = span::compact(recording.end.since(recording.begin));
    let services = crate::config::many(recording.services.len(), "service");
    format!("{length} of {services}, {} events, {} actions", recording.events, recording.actions)
}

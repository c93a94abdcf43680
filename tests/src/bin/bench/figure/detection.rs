//! How long a failure stays unnoticed: from a listener's close to the event.
//!
//! Every target is a listener of ours. They close at random moments of one second, and a second
//! time half a second later in the phase: each target's probes have a phase of their own, so the
//! two trials of a target lie on both sides of it, and the median is not left to luck as it would
//! be with independent trials (whose median of 100 is off by 50 ms half the time).

use super::{Rounds, none};
use crate::bed::Bed;
use crate::clock::{now_ns, sleep_until};
use crate::load::Load;
use crate::measure::counter::Counter;
use crate::measure::events::Events;
use crate::measure::window::settle;
use crate::peer::{Follow, Program};
use crate::stats::{Draw, quantile};
use crate::table::{Of, Row, Unit, at_most};
use crate::why::{While, Why};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

/// Trials of each target; their phases are spread evenly over the interval.
const WAVES: u64 = 2;

const SECOND: u64 = 1_000_000_000;

/// From one wave to the next: a second in which the listeners close, two until the last failure
/// must be told, and the rest for everybody to find them well again. Whole intervals, or the
/// phases would not match.
const WAVE_NS: u64 = 6 * SECOND;
const REOPEN_NS: u64 = 3 * SECOND;

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    let trials = bed.scale.trials as u64 * WAVES;
    let mut draw = Draw::new(0x0067_6976_656f_7665);
    let rounds = Rounds::run(bed, "detection", |program| {
        let phases: Vec<f64> = (0..bed.scale.trials).map(|_| draw.share()).collect();
        latencies(bed, program, &phases)
    });
    let row = |what: &str, q: f64, must: f64, aim: f64| Row {
        figure: format!("detection, in intervals of 1 s: {what} of {trials} failures a round"),
        unit: Unit::Share,
        columns: rounds.columns(|all: &Vec<f64>| quantile(all, q).unwrap_or(f64::NAN), none),
        must: vec![at_most(must, Of::Value)],
        aim: vec![at_most(aim, Of::Value)],
    };
    vec![row("median", 0.5, 0.55, 0.51), row("95th percentile", 0.95, 1.0, 0.96)]
}

/// A target: its address, its listener while it is well, when it closed, when that was told.
struct Door {
    address: SocketAddrV4,
    listener: Option<TcpListener>,
    closed_ns: u64,
    told_ns: Option<u64>,
}

impl Door {
    fn new(index: usize) -> Result<Door, Why> {
        let ip = Ipv4Addr::new(127, 3, (index / 250) as u8, (index % 250 + 1) as u8);
        let listener = TcpListener::bind(SocketAddrV4::new(ip, 0))?;
        let address = SocketAddrV4::new(ip, listener.local_addr()?.port());
        Ok(Door { address, listener: Some(listener), closed_ns: 0, told_ns: None })
    }

    fn open(&mut self) -> Result<(), Why> {
        let listener = TcpListener::bind(self.address).while_doing("reopening a target")?;
        self.listener = Some(listener);
        self.told_ns = None;
        Ok(())
    }
}

/// In seconds, one for each trial.
fn latencies(bed: &Bed, program: Program, phases: &[f64]) -> Result<Vec<f64>, Why> {
    let events = Events::open(&bed.room("events")?)?;
    let mut doors = (0..phases.len()).map(Door::new).collect::<Result<Vec<Door>, Why>>()?;
    let targets = doors.iter().map(|door| door.address).collect();
    let load = Load::Watch { targets, events: events.socket.clone() };
    let mut running = program.start(bed, &load)?;
    let _follow = match program {
        Program::Ours => {
            let (follow, lines) = Follow::start(bed, &running)?;
            events.add(lines);
            Some(follow)
        }
        _ => None,
    };
    settle(&mut running, &mut Counter::Connections, load.due_each_second())?;
    let begin = now_ns() + SECOND / 2;
    let mut all = Vec::new();
    for wave in 0..WAVES {
        let begin = begin + wave * WAVE_NS;
        let offset = wave as f64 / WAVES as f64;
        let mut order: Vec<(u64, usize)> = Vec::new();
        for (index, phase) in phases.iter().enumerate() {
            let phase_ns = (phase + offset).fract() * SECOND as f64;
            order.push((begin + phase_ns as u64, index));
        }
        order.sort_unstable();
        for (at_ns, index) in order {
            sleep_until(at_ns);
            doors[index].listener = None;
            doors[index].closed_ns = now_ns();
        }
        listen(&events, &mut doors, begin + REOPEN_NS);
        let untold = doors.iter().filter(|door| door.told_ns.is_none()).count();
        if untold > 0 {
            running.child.alive()?;
            let of = doors.len();
            return Err(Why::new(format!("{untold} of {of} failures were not told within 2 s")));
        }
        for door in &mut doors {
            let told_ns = door.told_ns.unwrap_or(u64::MAX);
            all.push((told_ns - door.closed_ns) as f64 / SECOND as f64);
            door.open()?;
        }
    }
    Ok(all)
}

/// Takes in what was told until `until_ns`: the first word of a closed door is of its failure.
fn listen(events: &Events, doors: &mut [Door], until_ns: u64) {
    while let Some(event) = events.next(until_ns) {
        let door = named(&event.text).and_then(|index| doors.get_mut(index));
        if let Some(door) = door.filter(|door| door.listener.is_none()) {
            if event.at_ns >= door.closed_ns {
                door.told_ns.get_or_insert(event.at_ns);
            }
        }
    }
}

/// The service a line is about: the first `t` with five digits behind it.
fn named(line: &str) -> Option<usize> {
    let digits = |at: usize| {
        line.get(at + 1..at + 6).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
    };
    line.match_indices('t').find_map(|(at, _)| digits(at)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_its_service() {
        assert_eq!(named("Server b/t00017 is DOWN, reason: Layer4 problem"), Some(17));
        assert_eq!(named(r#"{"event":"failure","service":"t00003"}"#), Some(3));
        assert_eq!(named("the t is alone"), None);
    }
}

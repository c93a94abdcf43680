//! How long a service is away: from `kill -9` to the `main` of the next one.

use super::{Rounds, none};
use crate::bed::Bed;
use crate::clock::{now_ns, sleep_until};
use crate::load::{Load, service_name};
use crate::measure::events::Events;
use crate::peer::Program;
use crate::role::read_beat;
use crate::stats::{median, quantile};
use crate::table::{Of, Row, Unit, at_most};
use crate::why::{While, Why};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeMap;

/// Killed in turn, so that none is killed again within the second that supervisors keep between
/// two starts.
const SERVICES: usize = 10;
const STEP_NS: u64 = 130_000_000;

const PATIENCE_NS: u64 = 10_000_000_000;

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    let trials = bed.scale.trials;
    let rounds =
        Rounds::so_many(bed.scale.process_rounds, bed, "restart", |program| kills(bed, program));
    let row = |what: &str, q: f64, must: Vec<_>, aim: Vec<_>| Row {
        figure: format!("kill -9 of a service → main of the next: {what} of {trials} a round"),
        unit: Unit::Millis,
        columns: rounds.columns(|all: &Vec<f64>| quantile(all, q).unwrap_or(f64::NAN), none),
        must,
        aim,
    };
    let bare = Of::Versus(Program::Bare);
    vec![
        row("median", 0.5, vec![at_most(1.3, bare)], vec![at_most(1.1, bare)]),
        row("95th percentile", 0.95, vec![], vec![]),
    ]
}

/// The services that run, by name, each held by a pidfd: no other process can be hit.
type Alive = BTreeMap<String, OwnedFd>;

/// In milliseconds, one for each kill.
fn kills(bed: &Bed, program: Program) -> Result<Vec<f64>, Why> {
    let events = Events::open(&bed.room("events")?)?;
    let load = Load::Keep { services: SERVICES, events: events.socket.clone() };
    let mut running = program.start(bed, &load)?;
    let mut alive = Alive::new();
    let until_ns = now_ns() + PATIENCE_NS;
    while alive.len() < SERVICES {
        if next_beat(&events, &mut alive, until_ns)?.is_none() {
            running.child.alive()?;
            let started = alive.len();
            return Err(Why::new(format!("{started} of {SERVICES} services started within 10 s")));
        }
    }
    let mut all = Vec::new();
    let begin = now_ns() + 10 * STEP_NS;
    for trial in 0..bed.scale.trials {
        sleep_until(begin + trial as u64 * STEP_NS);
        let name = service_name(trial % SERVICES);
        let victim = alive.remove(&name).ok_or_else(|| Why::new(format!("{name} is away")))?;
        let killed_ns = now_ns();
        pidfd_send_signal(&victim, Signal::KILL).while_doing("kill")?;
        drop(victim);
        loop {
            match next_beat(&events, &mut alive, killed_ns + PATIENCE_NS)? {
                Some((next, at_ns)) if next == name => {
                    all.push(at_ns.saturating_sub(killed_ns) as f64 / 1e6);
                    break;
                }
                Some(_) => {}
                None => {
                    let so_far = median(&all)
                        .map_or(String::new(), |ms| format!(" after {ms:.1} ms before"));
                    return Err(Why::new(format!("{name} did not come back within 10 s{so_far}")));
                }
            }
        }
    }
    Ok(all)
}

/// Takes in one beat: who it is and when it reached `main`.
fn next_beat(
    events: &Events,
    alive: &mut Alive,
    until_ns: u64,
) -> Result<Option<(String, u64)>, Why> {
    let Some(event) = events.next(until_ns) else { return Ok(None) };
    let (name, pid, at_ns) =
        read_beat(&event.text).ok_or_else(|| Why::new(format!("a beat: {:?}", event.text)))?;
    let pid = Pid::from_raw(pid).ok_or_else(|| Why::new("a beat without a pid"))?;
    alive.insert(name.to_owned(), pidfd_open(pid, PidfdFlags::empty()).while_doing("pidfd")?);
    Ok(Some((name.to_owned(), at_ns)))
}

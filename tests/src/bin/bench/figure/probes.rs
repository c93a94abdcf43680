//! What TCP and HTTP checks cost, paced and as fast as they go; and whether the pace is kept.

use super::{Rounds, none};
use crate::bed::Bed;
use crate::load::{Kind, Load, Pace};
use crate::measure::counter::Counter;
use crate::measure::target::Target;
use crate::measure::window::{Window, measure, settle};
use crate::peer::Program;
use crate::stats::median;
use crate::table::{Of, Row, Unit, at_least, at_most, thousands};
use crate::why::Why;
use std::time::Duration;

const BARE: Of = Of::Versus(Program::Bare);
const HAPROXY: Of = Of::Versus(Program::Haproxy);

/// A window, and how many targets the program then believed were not well.
struct Probed {
    window: Window,
    due: usize,
    unwell: Result<Option<usize>, Why>,
}

pub(super) fn tcp_many(bed: &Bed) -> Vec<Row> {
    let count = bed.scale.many;
    let window = bed.scale.long_window;
    let rounds = probe(bed, "tcp-many", Kind::Tcp, Pace::EachSecond, count, window);
    vec![
        Row {
            figure: format!("CPU per TCP check, {} targets at 1 s", thousands(count as f64)),
            unit: Unit::Micros,
            columns: rounds.columns(|probed| probed.window.own_us(), note),
            must: vec![at_most(1.25, BARE), at_most(1.1, HAPROXY)],
            aim: vec![at_most(1.1, BARE)],
        },
        Row {
            figure: format!("cadence kept, {} TCP targets at 1 s", thousands(count as f64)),
            unit: Unit::Share,
            columns: rounds.columns(|probed| probed.window.rate() / probed.due as f64, none),
            must: vec![at_least(0.998, Of::Value)],
            aim: vec![at_least(0.9995, Of::Value)],
        },
    ]
}

pub(super) fn tcp_some(bed: &Bed) -> Vec<Row> {
    let count = bed.scale.some;
    let rounds = probe(bed, "tcp-some", Kind::Tcp, Pace::EachSecond, count, bed.scale.window);
    vec![Row {
        figure: format!("CPU per TCP check, {} targets at 1 s", thousands(count as f64)),
        unit: Unit::Micros,
        columns: rounds.columns(|probed| probed.window.own_us(), note),
        must: vec![at_most(1.0, HAPROXY)],
        aim: vec![at_most(0.8, HAPROXY)],
    }]
}

pub(super) fn tcp_saturated(bed: &Bed) -> Vec<Row> {
    let (count, window) = (bed.scale.many, bed.scale.window);
    let rounds = probe(bed, "tcp-saturated", Kind::Tcp, Pace::Saturated, count, window);
    vec![Row {
        figure: format!("TCP checks saturating one core, {} targets", thousands(count as f64)),
        unit: Unit::EachSecond,
        columns: rounds.columns(|probed| probed.window.per_core(), note),
        must: vec![at_least(1.0, HAPROXY)],
        aim: vec![at_least(1.2, HAPROXY)],
    }]
}

pub(super) fn http_many(bed: &Bed) -> Vec<Row> {
    let (count, window) = (bed.scale.many, bed.scale.window);
    let rounds = probe(bed, "http-many", Kind::Http, Pace::EachSecond, count, window);
    vec![http_row(&rounds, format!("{} targets at 1 s", thousands(count as f64)))]
}

pub(super) fn http_saturated(bed: &Bed) -> Vec<Row> {
    let (count, window) = (bed.scale.many, bed.scale.window);
    let rounds = probe(bed, "http-saturated", Kind::Http, Pace::Saturated, count, window);
    vec![http_row(&rounds, format!("saturated, {} targets", thousands(count as f64)))]
}

fn http_row(rounds: &Rounds<Probed>, what: String) -> Row {
    Row {
        figure: format!("CPU per HTTP check, {what}"),
        unit: Unit::Micros,
        columns: rounds.columns(|probed| probed.window.own_us(), note),
        must: vec![at_most(1.2, BARE)],
        aim: vec![at_most(1.1, BARE)],
    }
}

fn probe(
    bed: &Bed,
    figure: &str,
    kind: Kind,
    pace: Pace,
    count: usize,
    length: Duration,
) -> Rounds<Probed> {
    Rounds::run(bed, figure, |program| {
        let mut target = Target::start(bed)?;
        let load = Load::Probes { kind, pace, targets: target.addresses(count) };
        let mut running = program.start(bed, &load)?;
        let mut counter = match kind {
            Kind::Tcp => Counter::Connections,
            Kind::Http => Counter::Requests(&mut target),
        };
        settle(&mut running, &mut counter, load.due_each_second())?;
        let window = measure(&mut running, &mut counter, length)?;
        Ok(Probed { window, due: count, unwell: running.unwell(bed) })
    })
}

/// The rate that was really reached, and what was not well though it should have been.
fn note(all: &[&Probed]) -> String {
    let rates: Vec<f64> = all.iter().map(|probed| probed.window.rate()).collect();
    let rate = format!("{}/s reached", thousands(median(&rates).unwrap_or(0.0)));
    let unwell = all.iter().find_map(|probed| match &probed.unwell {
        Ok(None | Some(0)) => None,
        Ok(Some(count)) => Some(format!(", {} found not well", thousands(*count as f64))),
        Err(why) => Some(format!(", whether all were well is not known: {why}")),
    });
    rate + &unwell.unwrap_or_default()
}

//! Whether targets that drop every packet slow down the checks of the others.

use super::Rounds;
use crate::bed::Bed;
use crate::load::{Kind, Load, Pace};
use crate::measure::counter::Counter;
use crate::measure::target::Target;
use crate::measure::window::{measure, settle};
use crate::peer::Program;
use crate::table::{Of, Row, Unit, at_least, thousands};
use crate::why::Why;

/// monit waits for each hole in turn: at more targets than this its cycle would be longer than
/// the window.
const MONIT_TARGETS: usize = 100;

/// Checks a second of the good targets, with the holes and without.
struct Beside {
    with: f64,
    without: f64,
    targets: usize,
}

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    let rounds = Rounds::run(bed, "black-holes", |program| {
        let targets = match program {
            Program::Monit => MONIT_TARGETS.min(bed.scale.some),
            _ => bed.scale.some,
        };
        let without = good_rate(bed, program, targets, 0)?;
        let with = good_rate(bed, program, targets, targets / 25)?;
        Ok(Beside { with, without, targets })
    });
    vec![Row {
        figure: "others' cadence beside 4 % black-holed targets, as a share of that without".into(),
        unit: Unit::Share,
        columns: rounds.columns(
            |beside| beside.with / beside.without,
            |all| {
                let targets = all.first().map_or(0, |beside| beside.targets);
                format!("of {} targets", thousands(targets as f64))
            },
        ),
        must: vec![at_least(0.99, Of::Value)],
        aim: vec![at_least(0.999, Of::Value)],
    }]
}

/// HTTP, so that the target can count what reaches it. Every 25th of all targets gives way to a
/// hole, if there are any; the good ones are the same number in both runs.
fn good_rate(bed: &Bed, program: Program, targets: usize, holes: usize) -> Result<f64, Why> {
    let mut target = Target::start(bed)?;
    let good = targets - targets / 25;
    let mut list = target.addresses(good);
    for (index, hole) in target.holes(holes).into_iter().enumerate() {
        list.insert(index * 25, hole);
    }
    let load = Load::Probes { kind: Kind::Http, pace: Pace::EachSecond, targets: list };
    let mut running = program.start(bed, &load)?;
    let mut counter = Counter::Requests(&mut target);
    settle(&mut running, &mut counter, Some(good))?;
    Ok(measure(&mut running, &mut counter, bed.scale.long_window)?.rate())
}

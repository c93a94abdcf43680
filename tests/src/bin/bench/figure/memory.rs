//! Memory per target: what many targets take above what a few do.

use super::{Rounds, none};
use crate::bed::Bed;
use crate::load::{Kind, Load, Pace};
use crate::measure::counter::Counter;
use crate::measure::process::resident;
use crate::measure::target::Target;
use crate::measure::window::{measure, settle};
use crate::peer::Program;
use crate::table::{Of, Row, Unit, at_most, thousands};
use crate::why::Why;

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    let (few, many) = (bed.scale.few, bed.scale.many);
    let rounds = Rounds::run(bed, "memory", |program| {
        let small = resident_with(bed, program, few)?;
        let large = resident_with(bed, program, many)?;
        Ok((large as f64 - small as f64) / (many - few) as f64)
    });
    vec![Row {
        figure: format!(
            "memory per target, (RSS at {} − at {}) / {}",
            thousands(many as f64),
            thousands(few as f64),
            thousands((many - few) as f64)
        ),
        unit: Unit::Bytes,
        columns: rounds.columns(|bytes| *bytes, none),
        must: vec![at_most(700.0, Of::Value)],
        aim: vec![at_most(350.0, Of::Value)],
    }]
}

/// After every target has been checked a few times.
fn resident_with(bed: &Bed, program: Program, count: usize) -> Result<u64, Why> {
    let target = Target::start(bed)?;
    let targets = target.addresses(count);
    let load = Load::Probes { kind: Kind::Tcp, pace: Pace::EachSecond, targets };
    let mut running = program.start(bed, &load)?;
    settle(&mut running, &mut Counter::Connections, load.due_each_second())?;
    measure(&mut running, &mut Counter::Connections, bed.scale.window)?;
    running.pids.iter().map(|pid| resident(*pid)).sum()
}

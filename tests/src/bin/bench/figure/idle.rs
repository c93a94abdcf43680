//! What a program costs that has nothing to do.

use super::{Rounds, none};
use crate::bed::Bed;
use crate::load::Load;
use crate::measure::process::{resident, wakeups};
use crate::measure::target::Target;
use crate::peer::Running;
use crate::table::{Of, Row, Unit, at_most};
use crate::why::Why;
use std::thread;
use std::time::Duration;

/// Long enough for the first check of the one target, where a program begins with it.
const SETTLE: Duration = Duration::from_secs(3);

struct Idle {
    resident: u64,
    wakeups: f64,
}

pub(super) fn rows(bed: &Bed) -> Vec<Row> {
    let rounds = Rounds::run(bed, "idle", |program| {
        let target = Target::start(bed)?;
        let load = Load::Idle { target: target.addresses(1)[0] };
        let mut running = program.start(bed, &load)?;
        thread::sleep(SETTLE);
        let before = all_wakeups(&running)?;
        thread::sleep(bed.scale.long_window);
        running.child.alive()?;
        let wakeups = all_wakeups(&running)?.saturating_sub(before) as f64;
        let resident = running.pids.iter().map(|pid| resident(*pid)).sum::<Result<u64, Why>>()?;
        Ok(Idle { resident, wakeups: wakeups / bed.scale.long_window.as_secs_f64() })
    });
    vec![
        Row {
            figure: "idle RSS, one target once an hour".to_owned(),
            unit: Unit::Mib,
            columns: rounds.columns(|idle| idle.resident as f64 / (1u64 << 20) as f64, none),
            must: vec![at_most(4.0, Of::Value)],
            aim: vec![at_most(2.5, Of::Value)],
        },
        Row {
            figure: format!("wake-ups with nothing due for {} s", bed.scale.long_window.as_secs()),
            unit: Unit::EachSecond,
            columns: rounds.columns(|idle| idle.wakeups, none),
            must: vec![at_most(0.0, Of::Value)],
            aim: vec![at_most(0.0, Of::Value)],
        },
    ]
}

fn all_wakeups(running: &Running) -> Result<u64, Why> {
    running.pids.iter().map(|pid| wakeups(*pid)).sum()
}

//! A stretch of time in which a program is measured, after it has settled.

use super::counter::Counter;
use super::process::{children_cpu, own_cpu};
use crate::clock::{now_ns, sleep_until};
use crate::peer::Running;
use crate::why::Why;
use std::time::Duration;

/// What happened in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) checks: u64,
    pub(crate) elapsed: Duration,
    /// CPU of the program itself.
    pub(crate) own: Duration,
    /// CPU of its children that ended.
    pub(crate) children: Duration,
}

impl Window {
    /// Checks a second.
    pub(crate) fn rate(&self) -> f64 {
        self.checks as f64 / self.elapsed.as_secs_f64()
    }

    /// CPU of the program for one check, in microseconds.
    pub(crate) fn own_us(&self) -> f64 {
        self.own.as_secs_f64() * 1e6 / self.checks as f64
    }

    /// The same with its children's.
    pub(crate) fn total_us(&self) -> f64 {
        (self.own + self.children).as_secs_f64() * 1e6 / self.checks as f64
    }

    /// Checks a second when it has a core for itself.
    pub(crate) fn per_core(&self) -> f64 {
        1e6 / self.own_us()
    }
}

struct Sample {
    checks: u64,
    at_ns: u64,
    own: Duration,
    children: Duration,
}

fn sample(running: &Running, counter: &mut Counter) -> Result<Sample, Why> {
    let (checks, at_ns) = counter.read()?;
    let (mut own, mut children) = (Duration::ZERO, Duration::ZERO);
    for pid in &running.pids {
        own += own_cpu(*pid)?;
        children += children_cpu(*pid)?;
    }
    Ok(Sample { checks, at_ns, own, children })
}

/// Measures for `length`.
pub(crate) fn measure(
    running: &mut Running,
    counter: &mut Counter,
    length: Duration,
) -> Result<Window, Why> {
    running.child.alive()?;
    let before = sample(running, counter)?;
    sleep_until(before.at_ns + length.as_nanos() as u64);
    running.child.alive()?;
    let after = sample(running, counter)?;
    if after.checks == before.checks {
        return Err(Why::new("made no checks"));
    }
    Ok(Window {
        checks: after.checks - before.checks,
        elapsed: Duration::from_nanos(after.at_ns - before.at_ns),
        own: after.own.saturating_sub(before.own),
        children: after.children.saturating_sub(before.children),
    })
}

/// Waits until the program has found its pace: twice running 95 % of `due` a second, or, where
/// nothing is due, two half seconds within a tenth of each other. One that never does is
/// measured as it is after ten seconds.
pub(crate) fn settle(
    running: &mut Running,
    counter: &mut Counter,
    due: Option<usize>,
) -> Result<(), Why> {
    const STEP_NS: u64 = 500_000_000;
    let begin = now_ns();
    let (mut last, mut at_ns) = counter.read()?;
    let (mut last_rate, mut steady) = (0.0, 0);
    while steady < 3 && at_ns < begin + 20 * STEP_NS {
        sleep_until(at_ns + STEP_NS);
        running.child.alive()?;
        let (count, now) = counter.read()?;
        let rate = (count - last) as f64 * 1e9 / (now - at_ns) as f64;
        let found = match due {
            Some(due) => rate >= 0.95 * due as f64,
            None => rate > 0.0 && (rate - last_rate).abs() < 0.1 * rate,
        };
        steady = if found { steady + 1 } else { 0 };
        (last, at_ns, last_rate) = (count, now, rate);
    }
    Ok(())
}

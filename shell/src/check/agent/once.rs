//! One heartbeat, for whoever waits for it: `giveover probe agent://…`.

use std::io;

use giveover_core::failure::Phase;
use giveover_core::time::{Instant, Span};
use rustix::io::Errno;

use super::beat::{Beat, Key};
use super::ears::{At, Ears};
use super::heard::{Heard, Taken};
use crate::check::TraceStep;
use crate::check::outcome::{Outcome, code};
use crate::config::agent::AgentPlan;
use crate::reactor::Reactor;

/// Hears until a heartbeat counts, or `timeout` is over. `now` and `wall_ms` are the caller's
/// clocks.
///
/// # Errors
/// The kernel refused what every process has.
pub fn hear_once(
    plan: &AgentPlan,
    at: &At,
    key: Option<&Key>,
    timeout: Span,
    now: impl Fn() -> Instant,
    wall_ms: impl Fn(Instant) -> u64,
) -> io::Result<(Outcome, Vec<TraceStep>)> {
    let (mut reactor, mut ears) = (Reactor::new()?, Ears::new());
    let began = now();
    let mut steps = Vec::new();
    let mut step = |text: String, took_ms: u64| {
        steps.push(TraceStep { phase: Phase::Silence, text, took_ms });
    };
    if let Err(error) = ears.open(&reactor, at) {
        let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
        return Ok((Outcome::Lacking { phase: Phase::Connect, code: code(errno) }, steps));
    }
    let mut heard = Heard::new(began);
    let (mut ready, mut words) = (Vec::new(), Vec::new());
    let outcome = loop {
        let left = u64::from(timeout.as_millis()).saturating_sub(now().since(began));
        if left == 0 {
            break Outcome::late(Phase::Silence);
        }
        let left = Span::from_millis(u32::try_from(left).unwrap_or(u32::MAX));
        reactor.wait(Some(left.as_duration()), &mut ready)?;
        let at = now();
        for ready in ready.drain(..) {
            ears.ready(&mut reactor, ready.token, at, &mut words);
        }
        while let Some(token) = reactor.timers.pop_due(at) {
            ears.due(&mut reactor, token, at, &mut words);
        }
        let mut counts = false;
        for (_, bytes) in words.drain(..) {
            let text = String::from_utf8_lossy(&bytes).trim_end().replace(char::is_control, ".");
            let took = at.since(began);
            let taken = Beat::parse(&bytes)
                .filter(|beat| *beat.name == *plan.name)
                .map(|beat| heard.take(plan, key, &beat, wall_ms(at), at));
            match taken {
                None => step(format!("< {text} (of nobody known)"), took),
                Some(Taken::Refused(..)) => step(format!("< {text} (changes nothing)"), took),
                Some(Taken::Counts { .. }) => {
                    step(format!("< {text}"), took);
                    counts = true;
                }
            }
        }
        if counts {
            break heard.outcome(plan, at);
        }
    };
    ears.keep(&reactor, &[]);
    Ok((outcome, steps))
}

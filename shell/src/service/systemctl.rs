//! The commands that speak to systemd.

use giveover_core::time::Span;

use super::Host;
use super::show::PROPERTIES;
use crate::config::plan::ServicePlan;
use crate::reactor::{BadProgram, Environment, Program};

/// The commands of one unit, made ready.
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) reset: Program,
    pub(super) start: Program,
    pub(super) stop: Program,
    /// Our limits, where they were written; else the unit's own hold.
    pub(super) start_timeout: Option<Span>,
    pub(super) stop_timeout: Option<Span>,
}

/// How long systemd has where a unit sets no limit.
pub(super) const INFINITE: Span = Span::from_secs(600);
/// How much longer we wait than systemd does, so that it can say what went wrong.
pub(super) const MARGIN: u32 = 5_000;
/// How long a question or a reset may take.
pub(super) const QUESTION: Span = Span::from_secs(10);
/// The command that asks about `units`.
pub(super) fn question(
    host: &Host,
    environment: &Environment,
    units: &[&str],
) -> Result<Program, BadProgram> {
    let mut words = vec!["show", "--property", PROPERTIES, "--"];
    words.extend_from_slice(units);
    systemctl(host, environment, &words)
}

fn systemctl(
    host: &Host,
    environment: &Environment,
    words: &[&str],
) -> Result<Program, BadProgram> {
    let plain = [("SYSTEMD_PAGER", ""), ("SYSTEMD_COLORS", "0"), ("LC_ALL", "C")];
    let mut all: Vec<&str> = host.systemctl.iter().map(String::as_str).collect();
    all.push("--no-ask-password");
    all.extend_from_slice(words);
    Program::new(&all, &environment.with(&plain)?)
}

impl Spec {
    pub(super) fn new(
        plan: &ServicePlan,
        name: &str,
        host: &Host,
        environment: &Environment,
    ) -> Result<Self, BadProgram> {
        let verb = |verb| systemctl(host, environment, &[verb, "--", name]);
        let limits = plan.policy.limits();
        let left = plan.left_to_unit;
        Ok(Self {
            name: name.to_owned(),
            reset: verb("reset-failed")?,
            start: verb("start")?,
            stop: verb("stop")?,
            start_timeout: (!left.start_timeout).then_some(limits.start_timeout),
            stop_timeout: (!left.stop_timeout).then_some(limits.stop_timeout),
        })
    }
}

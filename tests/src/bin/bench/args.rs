//! The command line.

use crate::peer::Program;
use crate::why::Why;
use clap::Parser;
use std::path::PathBuf;

/// Compares the giveover daemon with HAProxy, monit, keepalived and a bare epoll / posix_spawn
/// loop, on this machine, in one run. Loads nothing but loopback. The full run takes about
/// forty minutes; progress goes to standard error, the table to standard output.
#[derive(Debug, Parser)]
#[command(name = "bench")]
pub(crate) struct Args {
    /// Small numbers and one round: shows that everything runs, measures nothing well
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only the figures whose name begins with NAME (may be repeated; see --list)
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Only these programs: ours, bare, haproxy, monit, keepalived (may be repeated)
    #[arg(long, value_name = "PROGRAM")]
    program: Vec<String>,
    /// Rounds of each figure, two more where processes are begun; ratios are paired within a round
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least_one)]
    pub(crate) rounds: usize,
    /// The daemon [default: the `giveover` beside this binary]
    #[arg(long, value_name = "PATH")]
    pub(crate) giveover: Option<PathBuf>,
    /// List the figures and end
    #[arg(long)]
    pub(crate) list: bool,
    /// Leave the scratch directory (configurations, logs) behind and say where it is
    #[arg(long)]
    pub(crate) keep: bool,
}

impl Args {
    /// The programs asked for, in the order of the columns.
    pub(crate) fn programs(&self) -> Result<Vec<Program>, Why> {
        let known = |name: &String| Program::ALL.iter().any(|program| program.name() == name);
        if let Some(name) = self.program.iter().find(|name| !known(name)) {
            return Err(Why::new(format!("no such program: {name}")));
        }
        let wanted = |program: &Program| {
            self.program.is_empty() || self.program.iter().any(|name| name == program.name())
        };
        Ok(Program::ALL.into_iter().filter(wanted).collect())
    }
}

fn at_least_one(word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(0) | Err(_) => Err("a number of at least 1".to_owned()),
        Ok(rounds) => Ok(rounds),
    }
}

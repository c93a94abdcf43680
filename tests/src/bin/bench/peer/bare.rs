//! The bare loops: roles of this binary.

use super::{Program, Running};
use crate::bed::Bed;
use crate::child::Child;
use crate::load::{Kind, Load, Pace};
use crate::role::CHILD;
use crate::why::Why;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddrV4;
use std::path::Path;
use std::slice;

/// Starts are clumped on this tick: one by one they cost twice as much at 1,000 targets, for
/// wake-ups and cold caches, and 10 ms later on average is 2 % of what a check each second waits.
const TICK_US: &str = "20000";

pub(super) fn start(bed: &Bed, load: &Load) -> Result<Running, Why> {
    let room = bed.room("bare")?;
    let words: Vec<String> = match load {
        Load::Probes { kind, pace, targets } => {
            let interval = match pace {
                Pace::EachSecond => "1000000",
                Pace::Saturated => "0",
            };
            prober(*kind, interval, &room, targets)?
        }
        Load::Idle { target } => prober(Kind::Tcp, "3600000000", &room, slice::from_ref(target))?,
        Load::Commands { count, ballast_mib } => {
            ["spawner", &count.to_string(), "1000", &ballast_mib.to_string()]
                .map(str::to_owned)
                .to_vec()
        }
        Load::Keep { services, events } => {
            let (program, socket) = (bed.exe.display(), events.display());
            let words = [program.to_string(), socket.to_string(), services.to_string()];
            [vec!["supervisor".to_owned()], words.to_vec()].concat()
        }
        Load::Watch { .. } => return Err(super::cannot("not compared: it decides nothing")),
        Load::Checks { .. } => return Err(super::cannot("not compared")),
    };
    let mut command = bed.pinned(bed.exe.as_os_str());
    command.arg(CHILD).args(words);
    let (child, _) = Child::start_role(command, &room.join("log"))?;
    Ok(Running::new(Program::Bare, child, room))
}

fn prober(
    kind: Kind,
    interval_us: &str,
    room: &Path,
    targets: &[SocketAddrV4],
) -> Result<Vec<String>, Why> {
    let mut list = String::new();
    for target in targets {
        let _ = writeln!(list, "{target}");
    }
    let file = room.join("targets");
    fs::write(&file, list)?;
    let kind = kind.name().to_lowercase();
    Ok(["prober", &kind, &file.display().to_string(), interval_us, TICK_US]
        .map(str::to_owned)
        .to_vec())
}

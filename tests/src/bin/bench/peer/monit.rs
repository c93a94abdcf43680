//! monit: one thread that sleeps a second, then looks at everything in turn.

use super::{Program, Running, config_file, installed, launch};
use crate::bed::Bed;
use crate::load::{Kind, Load, Pace, service_name};
use crate::role::CHILD;
use crate::why::Why;
use std::fmt::Write as _;
use std::net::SocketAddrV4;
use std::path::Path;

pub(super) fn start(bed: &Bed, load: &Load) -> Result<Running, Why> {
    let program = installed("monit")?;
    let room = bed.room("monit")?;
    let config = config(load, &room, &bed.exe)?;
    let file = config_file(&room);
    let args = ["-I".as_ref(), "-c".as_ref(), file.as_os_str()];
    let child = launch(bed, &room, &config, &program, &args)?;
    Ok(Running::new(Program::Monit, child, room))
}

fn config(load: &Load, room: &Path, exe: &Path) -> Result<String, Why> {
    let place = room.display();
    let seconds = if matches!(load, Load::Idle { .. }) { 3600 } else { 1 };
    let mut text = format!(
        "set daemon {seconds}\nset pidfile {place}/pid\nset idfile {place}/id\nset statefile {place}/state\n"
    );
    match load {
        Load::Probes { pace: Pace::Saturated, .. } => {
            return Err(super::cannot("cannot: it sleeps 1 s between cycles"));
        }
        Load::Probes { kind, targets, .. } => {
            let kind = match kind {
                Kind::Tcp => "type tcp",
                Kind::Http => "protocol http",
            };
            hosts(&mut text, targets, kind, |_| "alert".to_owned());
        }
        Load::Idle { target } => {
            hosts(&mut text, &[*target], "type tcp", |_| "alert".to_owned());
        }
        Load::Watch { targets, events } => {
            let (exe, events) = (exe.display(), events.display());
            let mark = |name: &str| format!("exec \"{exe} {CHILD} mark {events} {name}\"");
            hosts(&mut text, targets, "type tcp", mark);
        }
        Load::Commands { ballast_mib: 1.., .. } => {
            return Err(super::cannot("not compared"));
        }
        Load::Commands { count, .. } => {
            for index in 0..*count {
                let name = service_name(index);
                let _ = writeln!(text, "check program {name} with path \"/bin/true\"");
                let _ = writeln!(text, "  if status != 0 then alert");
            }
        }
        Load::Checks { .. } => return Err(super::cannot("not compared")),
        Load::Keep { .. } => {
            return Err(super::cannot("not compared: it looks once a cycle"));
        }
    }
    Ok(text)
}

fn hosts(text: &mut String, targets: &[SocketAddrV4], kind: &str, action: impl Fn(&str) -> String) {
    for (index, target) in targets.iter().enumerate() {
        let (name, ip, port) = (service_name(index), target.ip(), target.port());
        let _ = writeln!(text, "check host {name} with address {ip}");
        let action = action(&name);
        let _ =
            writeln!(text, "  if failed port {port} {kind} with timeout 1 seconds then {action}");
    }
}

//! HAProxy: one backend whose servers are the targets; it proxies nothing.

use super::{Program, Running, config_file, installed, launch};
use crate::bed::Bed;
use crate::load::{Kind, Load, Pace, service_name};
use crate::why::{While, Why};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::SocketAddrV4;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

pub(super) fn start(bed: &Bed, load: &Load) -> Result<Running, Why> {
    let program = installed("haproxy")?;
    let room = bed.room("haproxy")?;
    let config = config(load, &socket(&room))?;
    let file = config_file(&room);
    let args = ["-db".as_ref(), "-f".as_ref(), file.as_os_str()];
    let child = launch(bed, &room, &config, &program, &args)?;
    Ok(Running::new(Program::Haproxy, child, room))
}

fn socket(room: &Path) -> PathBuf {
    room.join("stats.sock")
}

fn config(load: &Load, socket: &Path) -> Result<String, Why> {
    let mut global = format!("nbthread 1\n  maxconn 100\n  stats socket {}\n", socket.display());
    let mut check = "";
    let mut interval = "1s";
    let nowhere = [SocketAddrV4::new([127, 0, 0, 1].into(), 9)];
    let targets: Vec<SocketAddrV4> = match load {
        Load::Probes { kind, pace, targets } => {
            if *kind == Kind::Http {
                check = "option httpchk GET /\n";
            }
            if *pace == Pace::Saturated {
                interval = "1ms";
            }
            targets.clone()
        }
        Load::Commands { ballast_mib: 1.., .. } => {
            return Err(super::cannot("not compared: it forks the whole process at any size"));
        }
        Load::Commands { count, .. } => {
            global += "  external-check\n  insecure-fork-wanted\n";
            check = "option external-check\n  external-check command /bin/true\n";
            nowhere.iter().copied().cycle().take(*count).collect()
        }
        Load::Idle { target } => {
            interval = "1h";
            vec![*target]
        }
        Load::Watch { targets, events } => {
            let _ = writeln!(global, "  log {} local0 notice", events.display());
            targets.clone()
        }
        Load::Checks { .. } => return Err(super::cannot("not compared")),
        Load::Keep { .. } => return Err(super::cannot("has no services of its own")),
    };
    let mut text = format!(
        "global\n  {global}\
         defaults\n  mode tcp\n  log global\n  timeout connect 1s\n  timeout server 1s\n  timeout check 1s\n\
         backend b\n  {check}  default-server check inter {interval} fall 1 rise 1\n"
    );
    for (index, target) in targets.iter().enumerate() {
        let _ = writeln!(text, "  server {} {target}", service_name(index));
    }
    Ok(text)
}

/// Servers that are not up, by `show stat` on its socket.
pub(super) fn unwell(room: &Path) -> Result<usize, Why> {
    let mut stream = UnixStream::connect(socket(room)).while_doing("haproxy's socket")?;
    stream.write_all(b"show stat -1 4 -1\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default().trim_start_matches("# ");
    let status = head.split(',').position(|column| column == "status");
    let status = status.ok_or_else(|| Why::new("haproxy's answer has no status"))?;
    let down = |line: &&str| line.split(',').nth(status).is_some_and(|s| s.starts_with("DOWN"));
    Ok(lines.filter(down).count())
}

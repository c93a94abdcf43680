//! keepalived: only its checkers. They need IP_VS in the kernel; without it keepalived ends at
//! once, and the table says so in its own words.

use super::{Program, Running, config_file, installed, launch};
use crate::bed::Bed;
use crate::load::{Kind, Load, Pace};
use crate::measure::process::children;
use crate::why::Why;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddrV4;
use std::thread;
use std::time::Duration;

/// Time for it to fail in: it starts its checker, which finds no IP_VS, then gives up.
const TRIAL: Duration = Duration::from_millis(1500);

pub(super) fn start(bed: &Bed, load: &Load) -> Result<Running, Why> {
    let program = installed("keepalived")?;
    let room = bed.room("keepalived")?;
    let config = config(load)?;
    let file = config_file(&room);
    let place = |name: &str| room.join(name);
    let (pid, checkers) = (place("pid"), place("checkers.pid"));
    let args = [
        "--dont-fork".as_ref(),
        "--log-console".as_ref(),
        "--check".as_ref(),
        "--no-syslog".as_ref(),
        "--use-file".as_ref(),
        file.as_os_str(),
        "--pid".as_ref(),
        pid.as_os_str(),
        "--checkers_pid".as_ref(),
        checkers.as_os_str(),
    ];
    let mut child = launch(bed, &room, &config, &program, &args)?;
    thread::sleep(TRIAL);
    let alive = child.alive();
    let pids = children(child.pid()).unwrap_or_default();
    if alive.is_err() || pids.is_empty() {
        let log = fs::read_to_string(room.join("log")).unwrap_or_default();
        let own_words = log.lines().find_map(|line| line.find("IPVS:").map(|at| &line[at..]));
        let ended = alive.err().map(|why| why.to_string());
        let reason = own_words.map(str::to_owned).or(ended);
        let reason = reason.unwrap_or_else(|| "it starts no checker".to_owned());
        return Err(Why::lasting(format!("does not run here: {reason}")));
    }
    let mut running = Running::new(Program::Keepalived, child, room);
    running.pids.extend(pids);
    Ok(running)
}

fn config(load: &Load) -> Result<String, Why> {
    let mut text = String::from("global_defs {\n  router_id bench\n  script_user root\n}\n");
    let (targets, delay, check): (Vec<SocketAddrV4>, &str, &str) = match load {
        Load::Probes { kind, pace, targets } => {
            let delay = if *pace == Pace::Saturated { "0.001" } else { "1" };
            let check = match kind {
                Kind::Tcp => "TCP_CHECK { connect_timeout 1 }",
                Kind::Http => "HTTP_GET { url { path / status_code 200 } connect_timeout 1 }",
            };
            (targets.clone(), delay, check)
        }
        Load::Idle { target } => (vec![*target], "3600", "TCP_CHECK { connect_timeout 1 }"),
        Load::Commands { ballast_mib: 0, count } => {
            let address = |index: usize| {
                SocketAddrV4::new([127, 1, (index / 250) as u8, (index % 250 + 1) as u8].into(), 9)
            };
            let check = "MISC_CHECK { misc_path \"/bin/true\" misc_timeout 1 }";
            ((0..*count).map(address).collect(), "1", check)
        }
        Load::Commands { .. } | Load::Watch { .. } | Load::Checks { .. } => {
            return Err(super::cannot("not compared"));
        }
        Load::Keep { .. } => return Err(super::cannot("has no services of its own")),
    };
    let _ = writeln!(text, "virtual_server 127.255.0.1 9 {{\n  delay_loop {delay}");
    let _ = writeln!(text, "  lb_algo rr\n  lb_kind NAT\n  protocol TCP");
    for target in &targets {
        let (ip, port) = (target.ip(), target.port());
        let _ = writeln!(text, "  real_server {ip} {port} {{\n    weight 1\n    {check}\n  }}");
    }
    text.push_str("}\n");
    Ok(text)
}

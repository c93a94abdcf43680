//! Our daemon, with a generated configuration.

use super::{Program, Running, config_file, launch_before};
use crate::bed::Bed;
use crate::child::Child;
use crate::load::{Kind, Load, Pace, service_name};
use crate::role::CHILD;
use crate::why::{While, Why};
use std::fmt::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::thread;
use std::time::{Duration, Instant};

/// Until its socket answers: 10,000 services take it a while to read on a busy machine.
const START: Duration = Duration::from_secs(60);

pub(super) fn start(bed: &Bed, load: &Load) -> Result<Running, Why> {
    let program = bed.giveover()?.to_owned();
    let room = bed.room("ours")?;
    let file = config_file(&room);
    let (state, socket) = (room.join("state"), socket(&room));
    let args = [
        "run".as_ref(),
        file.as_os_str(),
        "--state".as_ref(),
        state.as_os_str(),
        "--socket".as_ref(),
        socket.as_os_str(),
    ];
    std::fs::create_dir(&state)?;
    if let Load::Commands { count, ballast_mib } = load {
        write_ballast(&room, *count, *ballast_mib)?;
    }
    let path = match load {
        Load::Checks { path, .. } => path.as_deref(),
        _ => None,
    };
    let config = config(load, &bed.exe);
    let mut child = launch_before(path, bed, &room, &config, &program, &args)?;
    let until = Instant::now() + START;
    while UnixStream::connect(&socket).is_err() {
        child.alive()?;
        if Instant::now() > until {
            return Err(Why::new("its socket did not answer within 60 s"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(Running::new(Program::Ours, child, room))
}

fn socket(room: &Path) -> PathBuf {
    room.join("control.sock")
}

/// Of included files: one may not be longer than 32 MiB.
const BALLAST: &str = "ballast";

/// Services after the `first` that are not due today, each with an argument of 1 MiB, in a file each.
fn write_ballast(room: &Path, first: usize, mib: usize) -> Result<(), Why> {
    let directory = room.join(BALLAST);
    std::fs::create_dir(&directory)?;
    let weight = "x".repeat(1 << 20);
    for index in first..first + mib {
        let name = service_name(index);
        // What is said alike is kept once.
        let argv = format!("argv = [\"/bin/true\", \"{index}{weight}\"]");
        let policy = "policy = { thorough_probe_interval = \"24h\" }";
        let check = format!("check.c = {{ kind = \"command\", {argv} }}");
        let text = format!("[service.{name}]\n{check}\n{policy}\n");
        std::fs::write(directory.join(format!("{name}.toml")), text)?;
    }
    Ok(())
}

/// The configuration for `load`. Everything the daemon is told stands in this one function.
fn config(load: &Load, exe: &Path) -> String {
    let mut text = String::new();
    if matches!(load, Load::Commands { ballast_mib: 1.., .. }) {
        let _ = writeln!(text, "include = [\"{BALLAST}/*.toml\"]");
    }
    if matches!(load, Load::Keep { .. }) {
        // The restart figure kills more services than an hour's default budget has actions. The
        // others do with the default: a budget remembers as many instants as it has actions.
        text.push_str("[host]\nactions = { count = 9999, per = \"1h\" }\n\n");
    }
    let interval = match load {
        Load::Probes { pace: Pace::Saturated, .. } => "1ms",
        Load::Idle { .. } => "1h",
        _ => "1s",
    };
    let _ = writeln!(text, "[policy.default]\nthorough_probe_interval = \"{interval}\"");
    text.push_str("probe_timeout = \"1s\"\n");
    let mut service = |index: usize, lines: &str| {
        let _ = writeln!(text, "\n[service.{}]\n{lines}", service_name(index));
    };
    match load {
        Load::Probes { kind: Kind::Http, targets, .. } => {
            for (index, target) in targets.iter().enumerate() {
                service(index, &format!("check.page = \"http://{target}/\""));
            }
        }
        Load::Probes { targets, .. } | Load::Watch { targets, .. } => {
            for (index, target) in targets.iter().enumerate() {
                service(index, &format!("check.port = \"tcp://{target}\""));
            }
        }
        Load::Checks { check, targets, .. } => {
            for (index, target) in targets.iter().enumerate() {
                let check = check.replace("ADDRESS", &target.to_string());
                let check = check.replace("HOST", &target.ip().to_string());
                let check = check.replace("PORT", &target.port().to_string());
                let check = check.replace("NAME", &service_name(index));
                service(index, &format!("check.c = {check}"));
            }
        }
        Load::Idle { target } => service(0, &format!("check.port = \"tcp://{target}\"")),
        Load::Commands { count, .. } => {
            for index in 0..*count {
                service(index, "check.c = { kind = \"command\", argv = [\"/bin/true\"] }");
            }
        }
        Load::Keep { services, events } => {
            let policy = "policy = { retry_count = \"unlimited\", restart_delay = [\"0s\"] }";
            let words = [exe.to_str(), Some(CHILD), Some("beat"), events.to_str()];
            for index in 0..*services {
                let name = service_name(index);
                let words = words.iter().flatten().copied().chain([name.as_str()]);
                let argv: Vec<String> = words.map(|word| format!("{word:?}")).collect();
                service(index, &format!("start = [{}]\n{policy}", argv.join(", ")));
            }
        }
    }
    text
}

/// Services whose status is not `ok`, by `giveover status --json`.
pub(super) fn unwell(bed: &Bed, room: &Path) -> Result<usize, Why> {
    let mut command = Command::new(bed.giveover()?);
    command.args(["status", "--json", "--socket"]).arg(socket(room));
    let output = command.output()?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| Why::new(format!("status --json: {error}")))?;
    let services = answer["services"].as_array();
    let services = services.ok_or_else(|| Why::new("status --json has no services"))?;
    Ok(services.iter().filter(|service| service["status"] != "ok").count())
}

/// `giveover events -f --json`: one object a line, as they happen.
pub(crate) struct Follow {
    _child: Child,
}

impl Follow {
    /// Starts to follow the daemon of `running`; the lines are the caller's to read.
    pub(crate) fn start(bed: &Bed, running: &Running) -> Result<(Follow, ChildStdout), Why> {
        let mut command = bed.beside(bed.giveover()?.as_os_str());
        command.args(["events", "-f", "--json", "--socket"]).arg(socket(&running.room));
        let (child, lines) = Child::start_reading(command, &running.room.join("events.log"))
            .while_doing("giveover events -f")?;
        Ok((Follow { _child: child }, lines))
    }
}

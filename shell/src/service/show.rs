//! What `systemctl show` says about units.

use giveover_core::time::Span;

use crate::config::here::time_out;
use crate::reactor::Exit;

/// The properties that are asked for.
pub(super) const PROPERTIES: &str = "Id,LoadState,ActiveState,SubState,Result,MainPID,NRestarts,\
    InvocationID,Job,UnitFileState,TimeoutStartUSec,TimeoutStopUSec,ExecMainCode,ExecMainStatus,\
    ExecMainExitTimestampMonotonic,ActiveExitTimestampMonotonic";

/// How a unit is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Show {
    /// systemd has a file for it.
    pub(super) loaded: bool,
    active: String,
    sub: String,
    result: String,
    /// Its main process.
    pub(super) pid: Option<u32>,
    /// How often systemd has restarted it by itself.
    pub(super) restarts: u32,
    invocation: String,
    job: bool,
    file_state: String,
    /// The unit's own limits, ten minutes for infinity; `None` if they are not known.
    pub(super) start_timeout: Option<Span>,
    pub(super) stop_timeout: Option<Span>,
    code: u8,
    status: u8,
    /// When the main process ended, and when the unit ceased to be active; microseconds of the
    /// monotonic clock, zero if never.
    exited_at: u64,
    left_at: u64,
}

/// What a unit is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// It runs.
    Up,
    /// It neither runs nor failed.
    Down,
    /// It failed, or waits to be restarted after that.
    Failed,
    /// It is on the way from one to another; nobody knows yet where it ends.
    Changing,
}

impl Show {
    pub(super) fn condition(&self) -> Condition {
        match (self.active.as_str(), self.sub.as_str()) {
            // After the process has ended systemd waits before it restarts it.
            ("activating", "auto-restart" | "auto-restart-queued") => Condition::Failed,
            ("failed", _) => Condition::Failed,
            _ if self.job => Condition::Changing,
            ("active", _) => Condition::Up,
            ("inactive", _) => Condition::Down,
            // Reloading, and what later versions may call themselves.
            _ => Condition::Changing,
        }
    }

    /// Whether it is to be started at boot.
    pub(super) fn is_enabled(&self) -> bool {
        matches!(self.file_state.as_str(), "enabled" | "enabled-runtime" | "alias")
    }

    /// Whether it ended because somebody wanted it to.
    ///
    /// A job takes the unit out of `active` first and ends its process then; a process that
    /// ends by itself does so first. Without a main process only a job can end a unit well.
    pub(super) fn was_stopped(&self) -> bool {
        let first = self.exited_at == 0 || self.left_at < self.exited_at;
        self.active == "inactive" && self.result == "success" && first
    }

    /// How its main process ended.
    pub(super) fn exit(&self) -> Option<Exit> {
        match self.code {
            EXITED => Some(Exit::Status(self.status)),
            KILLED | DUMPED => Some(Exit::Signal(self.status)),
            _ => None,
        }
    }

    /// Whether this is another run of the unit than `other`.
    pub(super) fn is_another_run(&self, other: &Self) -> bool {
        if self.invocation.is_empty() || other.invocation.is_empty() {
            self.pid.is_some() && other.pid.is_some() && self.pid != other.pid
        } else {
            self.invocation != other.invocation
        }
    }

    /// `ActiveState`.
    pub(super) fn active_state(&self) -> &str {
        &self.active
    }

    /// State and result, for people.
    pub(super) fn words(&self) -> String {
        format!("{} ({}), result {}", self.active, self.sub, self.result)
    }

    fn take(&mut self, name: &str, value: &str) {
        let text = || value.to_owned();
        match name {
            "LoadState" => self.loaded = value == "loaded",
            "ActiveState" => self.active = text(),
            "SubState" => self.sub = text(),
            "Result" => self.result = text(),
            "MainPID" => self.pid = value.parse().ok().filter(|pid| *pid != 0),
            "NRestarts" => self.restarts = value.parse().unwrap_or(0),
            "InvocationID" => self.invocation = text(),
            "Job" => self.job = !value.is_empty() && value != "0",
            "UnitFileState" => self.file_state = text(),
            "TimeoutStartUSec" => self.start_timeout = time_out(value),
            "TimeoutStopUSec" => self.stop_timeout = time_out(value),
            "ExecMainCode" => self.code = value.parse().unwrap_or(0),
            "ExecMainStatus" => self.status = value.parse().unwrap_or(0),
            "ExecMainExitTimestampMonotonic" => self.exited_at = value.parse().unwrap_or(0),
            "ActiveExitTimestampMonotonic" => self.left_at = value.parse().unwrap_or(0),
            // Others may come with other versions.
            _ => {}
        }
    }
}

/// `CLD_EXITED` and its neighbours.
const EXITED: u8 = 1;
const KILLED: u8 = 2;
const DUMPED: u8 = 3;

/// Reads what `systemctl show` printed about `count` units, in the order they were named.
/// `None` if that is not what it is.
pub(super) fn read(output: &[u8], count: usize) -> Option<Vec<Show>> {
    let text = String::from_utf8_lossy(output);
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
    let shows: Vec<Show> = blocks
        .map(|block| {
            let mut show = Show::default();
            for (name, value) in block.lines().filter_map(|line| line.split_once('=')) {
                show.take(name, value.trim());
            }
            show
        })
        .collect();
    let whole = shows.len() == count && shows.iter().all(|show| !show.active.is_empty());
    whole.then_some(shows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> Show {
        let shows = read(text.as_bytes(), 1).expect("one block");
        shows.into_iter().next().unwrap_or_default()
    }

    #[test]
    fn blocks_come_in_the_order_of_the_units() {
        let text = "Id=a.service\nLoadState=loaded\nActiveState=active\nSubState=running\n\
                    MainPID=12\nNRestarts=2\n\nId=b.service\nLoadState=not-found\n\
                    ActiveState=inactive\nSubState=dead\nMainPID=0\n";
        let shows = read(text.as_bytes(), 2).unwrap();
        assert_eq!((shows[0].loaded, shows[0].pid, shows[0].restarts), (true, Some(12), 2));
        assert_eq!((shows[1].loaded, shows[1].pid), (false, None));
        assert_eq!(read(text.as_bytes(), 1), None);
        assert_eq!(read(text.as_bytes(), 3), None);
        for noise in [&b""[..], b"Failed to connect to bus", b"A=b\n\nC=d", b"\xff\n\n\xff"] {
            assert_eq!(read(noise, 2), None);
        }
    }

    #[test]
    fn states_are_read_as_what_the_unit_does() {
        for (active, sub, job, condition) in [
            ("active", "running", "", Condition::Up),
            ("active", "exited", "0", Condition::Up),
            ("active", "running", "77", Condition::Changing),
            ("reloading", "reload", "", Condition::Changing),
            ("activating", "start-pre", "5", Condition::Changing),
            ("activating", "auto-restart", "", Condition::Failed),
            ("activating", "auto-restart", "5", Condition::Failed),
            ("deactivating", "stop-sigterm", "5", Condition::Changing),
            ("inactive", "dead", "", Condition::Down),
            ("inactive", "dead", "5", Condition::Changing),
            ("failed", "failed", "", Condition::Failed),
            ("maintenance", "?", "", Condition::Changing),
        ] {
            let text = format!("ActiveState={active}\nSubState={sub}\nJob={job}\n");
            assert_eq!(show(&text).condition(), condition, "{text}");
        }
    }

    #[test]
    fn a_job_ends_the_unit_first_and_a_death_the_process() {
        for (left, exited, result, stopped) in [
            (100, 200, "success", true),
            (200, 100, "success", false),
            (200, 200, "success", false),
            (200, 0, "success", true),
            (100, 200, "signal", false),
        ] {
            let text = format!(
                "ActiveState=inactive\nResult={result}\nExecMainExitTimestampMonotonic={exited}\n\
                 ActiveExitTimestampMonotonic={left}\n"
            );
            assert_eq!(show(&text).was_stopped(), stopped, "{text}");
        }
    }

    #[test]
    fn ends_are_told_as_ours_are() {
        for (code, status, exit) in [
            (1, 3, Some(Exit::Status(3))),
            (2, 9, Some(Exit::Signal(9))),
            (3, 6, Some(Exit::Signal(6))),
            (0, 0, None),
        ] {
            let text = format!("ActiveState=failed\nExecMainCode={code}\nExecMainStatus={status}");
            assert_eq!(show(&text).exit(), exit);
        }
    }
}

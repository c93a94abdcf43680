//! L12: why we end, as far as it can be known, told to the board before we do.

use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use giveover_core::board::End;
use giveover_core::wire::ToBoard;

use super::{AskFor, Daemon, FAREWELL};
use crate::board::key;
use crate::message;

/// The question whether the machine goes down with us, put to systemd when we are told to end.
#[derive(Default)]
pub(super) struct Shutdown(Option<Child>);

impl Shutdown {
    /// Asks, and waits for nothing.
    pub(super) fn ask(&mut self) {
        if !Path::new("/run/systemd/system").is_dir() {
            return;
        }
        let child = Command::new("systemctl")
            .args(["list-jobs", "--plain", "--no-legend", "--no-pager"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        self.0 = child.ok();
    }

    /// What has been answered by now; nothing is a stop.
    fn answer(&mut self) -> End {
        let Some(mut child) = self.0.take() else { return End::Stop };
        let mut text = Vec::new();
        if let Some(mut out) = child.stdout.take() {
            let _ = rustix::io::ioctl_fionbio(out.as_fd(), true); // what is not there is not waited for
            let _ = out.read_to_end(&mut text);
        }
        let _ = child.kill(); // it has ended, or has had its time
        let _ = child.try_wait();
        of_jobs(&String::from_utf8_lossy(&text))
    }
}

/// What `systemctl list-jobs` says is under way.
fn of_jobs(jobs: &str) -> End {
    let starts = |targets: &[&str]| {
        jobs.lines().any(|line| {
            let mut words = line.split_whitespace().skip(1);
            let unit = words.next().unwrap_or_default();
            targets.contains(&unit) && words.next() == Some("start")
        })
    };
    if starts(&["reboot.target", "kexec.target", "soft-reboot.target"]) {
        End::Reboot
    } else if starts(&["poweroff.target", "halt.target"]) {
        End::Poweroff
    } else {
        End::Stop
    }
}

impl Daemon {
    /// We were told to end: services are still being stopped, and the board is fed on.
    pub(in super::super) fn ask_why_we_end(&mut self) {
        if let Some(board) = &mut self.board {
            board.shutdown.ask();
        }
    }

    /// All has been done: the board is told, so that our silence is no failure.
    pub(in super::super) fn take_leave_of_board(&mut self) {
        let until = self.now.after(FAREWELL);
        let Some(board) = &mut self.board else { return };
        if board.leash.is_some() {
            let end = board.shutdown.answer();
            return self.leave_dog(end);
        }
        if board.link.announced().is_some() {
            return;
        }
        board.farewell = Some(until);
        if board.link.is_up() {
            self.announce_our_end();
        } else {
            self.seek_board();
        }
        self.arm_board();
    }

    fn announce_our_end(&mut self) {
        let Some(board) = &mut self.board else { return };
        // The same again, where the board was lost before it could answer.
        let end = board.link.announced().unwrap_or_else(|| board.shutdown.answer());
        self.ask_board(ToBoard::End(end), AskFor::End);
        self.write_to_board();
    }

    /// No board is connected, and one that was armed guards on: it is greeted now, not when that
    /// would have been due.
    fn seek_board(&mut self) {
        let now = self.now;
        let Some(board) = &mut self.board else { return };
        if board.serial.is_some() {
            if let Ok(nonce) = key::nonce() {
                board.link.greet_now(nonce, now);
            }
        } else {
            board.again = Some(now);
            self.open_port();
        }
        if self.board.as_ref().is_some_and(|board| board.serial.is_none()) {
            return self.give_up_farewell();
        }
        self.write_to_board();
    }

    /// A board has been found while we take leave.
    pub(super) fn farewell_to_found(&mut self) {
        if self.board.as_ref().is_some_and(|board| board.farewell.is_some()) {
            self.announce_our_end();
        }
    }

    /// Nobody has heard it. Whoever was armed may reset this host, and that is said.
    pub(super) fn give_up_farewell(&mut self) {
        let Some(board) = &mut self.board else { return };
        board.farewell = None;
        if board.link.told().was_guarding() {
            let text = "our end could not be announced: the board does not answer; it was armed \
                        when last heard, and may reset this host"
                .to_owned();
            self.say_host(message::Event::BoardMissed, text);
        }
    }

    /// Whether its answer is still waited for.
    pub(in super::super) fn is_taking_leave(&self) -> bool {
        let until = self.board.as_ref().and_then(|board| board.farewell);
        until.is_some_and(|until| self.now < until)
    }

    /// We reboot this node ourselves.
    pub(in super::super) fn announce_reboot(&mut self) {
        self.last_word_to_board(End::Reboot);
    }

    /// Announced and written at once, as far as the port takes it.
    pub(super) fn last_word_to_board(&mut self, end: End) {
        if let Some(board) = &mut self.board {
            board.link.last_word(end);
        }
        self.leave_dog(end);
        self.write_to_board();
    }

    /// The machine was asleep: it is awake now, and is fed.
    pub(in super::super) fn board_woke(&mut self) {
        let now = self.now;
        if let Some(board) = &mut self.board {
            if board.suspend_until.take().is_some() {
                board.resume(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shutdown_is_known_by_its_job() {
        let jobs = "  1234 reboot.target             start waiting\n\
                    1300 giveover.service          stop  running\n";
        assert_eq!(of_jobs(jobs), End::Reboot);
        assert_eq!(of_jobs("77 poweroff.target start waiting\n"), End::Poweroff);
        assert_eq!(of_jobs("77 halt.target start waiting"), End::Poweroff);
        for other in
            ["", "No jobs running.", "5 reboot.target stop waiting", "5 web.service start running"]
        {
            assert_eq!(of_jobs(other), End::Stop, "{other}");
        }
    }
}

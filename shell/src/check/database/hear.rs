//! What is said and heard on a monitor's connection, and what it leads to.

use giveover_core::failure::Phase;
use giveover_core::time::Instant;
use rustix::io::Errno;

use super::end::{Verdict, hang_up, meet, row_of};
use super::link::{Link, Secure};
use super::monitor::{At, Monitor};
use super::said::{Complaint, Heard, Reading};
use super::{Databases, rules};
use crate::check::outcome::Outcome;
use crate::config::database::{Action, NewState, Speaks, State, code};
use crate::reactor::Reactor;

/// How much is read at once.
const BUFFER: usize = 16 * 1024;

impl Databases {
    pub(super) fn look(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        if let Some(monitor) = self.monitors.get_mut(&number) {
            monitor.look();
            self.note(Phase::Send, now, || "> counters".to_owned());
            self.pump(reactor, number, now);
        }
    }

    /// Sends and reads until there is nothing to do but wait.
    pub(super) fn pump(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        loop {
            let Some(monitor) = self.monitors.get_mut(&number) else { return };
            let links = monitor.links;
            if let Err(errno) = flush(monitor) {
                return self.lost(reactor, number, Some(errno), now);
            }
            let Some(link) = &monitor.link else { return };
            self.buffer.resize(BUFFER, 0);
            let length = match link.receive(&mut self.buffer) {
                Ok(0) => return self.lost(reactor, number, None, now),
                Ok(length) => length,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(errno) => return self.lost(reactor, number, Some(errno), now),
            };
            let bytes = self.buffer.get(..length).unwrap_or_default().to_vec();
            self.take(reactor, number, &bytes, now);
            let current = self.monitors.get(&number).map(|monitor| monitor.links);
            if current != Some(links) {
                return; // another connection, which is seen to by itself
            }
        }
    }

    /// Takes what has arrived.
    fn take(&mut self, reactor: &mut Reactor, number: u32, bytes: &[u8], now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let mut plain = Vec::new();
        let bytes = match (monitor.at, &mut monitor.secure) {
            (At::AskingTls, _) => return self.tls_answered(reactor, number, bytes, now),
            (_, Some(secure)) => match secure.take(bytes, &mut plain) {
                Ok(()) => &plain,
                Err(outcome) => {
                    // An alert of ours is on its way, as far as there is room for it.
                    let _ = flush(monitor);
                    hang_up(reactor, monitor);
                    return self.finish(reactor, number, Verdict::Of(outcome), now);
                }
            },
            (_, None) => bytes,
        };
        let shaking = monitor.secure.as_ref().is_some_and(Secure::is_shaking);
        if monitor.at == At::Shaking && !shaking {
            self.note(Phase::Tls, now, || "in TLS".to_owned());
            self.log_in(reactor, number, now);
        }
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let links = monitor.links;
        monitor.take(bytes);
        loop {
            let Some(monitor) = self.monitors.get_mut(&number) else { return };
            if monitor.links != links || monitor.link.is_none() {
                return;
            }
            match monitor.next() {
                Heard::More => return,
                heard => self.heard(reactor, number, heard, now),
            }
        }
    }

    /// The session has something to say.
    fn heard(&mut self, reactor: &mut Reactor, number: u32, heard: Heard, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        match heard {
            Heard::More => {}
            Heard::Ready => {
                (monitor.at, monitor.probes) = (At::Idle, 0);
                self.note(Phase::Read, now, || "< let in".to_owned());
                if self.is_probing(number) {
                    self.look_again(number, now);
                }
            }
            Heard::Looked(reading) => self.looked(reactor, number, reading, now),
            Heard::Worked(counters) => {
                monitor.seen = counters.or(monitor.seen.take());
                self.note(Phase::Read, now, || "< made, filled, changed and dropped".to_owned());
                self.healthy(reactor, number, now);
            }
            Heard::Failed(complaint) => self.complained(reactor, number, &complaint, now),
            Heard::Nonsense => {
                hang_up(reactor, monitor);
                self.finish(reactor, number, Verdict::Of(Outcome::wrong(0)), now);
            }
            Heard::Lack(code) => {
                hang_up(reactor, monitor);
                let outcome = Outcome::Lacking { phase: Phase::Answer, code };
                self.finish(reactor, number, Verdict::Of(outcome), now);
            }
        }
    }

    /// As [`Databases::look`], from within the reading.
    fn look_again(&mut self, number: u32, now: Instant) {
        if let Some(monitor) = self.monitors.get_mut(&number) {
            monitor.look();
            self.note(Phase::Send, now, || "> counters".to_owned());
        }
    }

    /// The counters are known: they have moved, or it has to work.
    fn looked(&mut self, reactor: &mut Reactor, number: u32, reading: Reading, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let Reading { reads_only, counters } = reading;
        let moved = monitor.seen.as_ref().is_some_and(|seen| *seen != counters);
        monitor.seen = Some(counters.clone());
        let works = !moved && !reads_only && monitor.work(number);
        self.note(Phase::Read, now, || {
            let recovery = if reads_only { ", in recovery" } else { "" };
            format!("< {counters}{recovery}")
        });
        if works {
            return self.note(Phase::Send, now, || "> a table".to_owned());
        }
        self.healthy(reactor, number, now);
    }

    fn healthy(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        monitor.at = At::Idle;
        monitor.probes = monitor.probes.saturating_add(1);
        monitor.timeouts = 0;
        let no_log = monitor.probe.as_ref().is_some_and(|probe| probe.no_log);
        let outcome = match no_log {
            true => Outcome::Lacking { phase: Phase::Answer, code: code::NO_LOG },
            false => Outcome::Healthy { shown: 0 },
        };
        if !no_log && monitor.probe.as_ref().is_some_and(|probe| probe.said.is_empty()) {
            monitor.met = None;
        }
        self.finish(reactor, number, Verdict::Of(outcome), now);
    }

    /// The database answered with an error: what it leads to is in the table.
    fn complained(
        &mut self,
        reactor: &mut Reactor,
        number: u32,
        complaint: &Complaint,
        now: Instant,
    ) {
        let text = format!("< {} {}", complaint.code, complaint.text);
        self.note(Phase::Read, now, || text);
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let state = monitor.at.state();
        if !complaint.over && state == State::Online {
            monitor.at = At::Idle;
        } else {
            hang_up(reactor, monitor);
        }
        let Some(probe) = monitor.asking() else { return };
        let can_renew = !probe.renewed && complaint.over && state == State::Online;
        let row = monitor.plan().and_then(|plan| rules::error(&plan.rows, state, &complaint.code));
        let Some(row) = row else {
            if can_renew && probe.reused {
                // It ended a session that was older than this probe.
                return self.renew(reactor, number, now);
            }
            let outcome = Outcome::wrong(code_of(monitor, &complaint.code));
            return self.finish(reactor, number, Verdict::Of(outcome), now);
        };
        let can_renew = !probe.renewed;
        meet(monitor, row, &complaint.text);
        let (action, new_state) = row_of(monitor, row)
            .map_or((Action::Nothing, NewState::Same), |row| (row.action, row.new_state));
        if new_state != NewState::Same {
            if monitor.at == At::Idle {
                monitor.say_goodbye();
            }
            hang_up(reactor, monitor);
        }
        if new_state == NewState::Connecting && action == Action::Nothing && can_renew {
            return self.renew(reactor, number, now);
        }
        self.finish(reactor, number, Verdict::Row(row), now);
    }

    /// The connection is made anew within the same probe, once.
    fn renew(&mut self, reactor: &mut Reactor, number: u32, now: Instant) {
        if let Some(probe) = self.monitors.get_mut(&number).and_then(|it| it.probe.as_mut()) {
            probe.renewed = true;
        }
        self.connect(reactor, number, now);
    }

    /// The connection is gone.
    fn lost(&mut self, reactor: &mut Reactor, number: u32, errno: Option<Errno>, now: Instant) {
        let Some(monitor) = self.monitors.get_mut(&number) else { return };
        let (at, is_client) = (monitor.at, matches!(monitor.link, Some(Link::Client(_))));
        hang_up(reactor, monitor);
        // Between two probes nothing is lost.
        let Some(probe) = monitor.asking() else { return };
        if probe.reused && !probe.renewed && at.state() == State::Online {
            return self.renew(reactor, number, now);
        }
        let outcome = match (at.phase(), errno) {
            (Phase::Connect, errno) => {
                Outcome::failed(Phase::Connect, errno.unwrap_or(Errno::CONNRESET))
            }
            _ if is_client => Outcome::Failed { phase: Phase::Answer, code: code::CLIENT_ENDED },
            (phase, Some(errno)) => Outcome::failed(phase, errno),
            (Phase::Tls, None) => Outcome::failed(Phase::Tls, Errno::NODATA),
            (_, None) => Outcome::cut(),
        };
        self.finish(reactor, number, Verdict::Of(outcome), now);
    }

    fn is_probing(&self, number: u32) -> bool {
        self.monitors.get(&number).is_some_and(|monitor| monitor.probe.is_some())
    }
}

/// An error without a row, as causes carry it.
fn code_of(monitor: &Monitor, error: &str) -> u16 {
    match monitor.plan().map(|plan| &plan.speaks) {
        Some(Speaks::Oracle(_)) => error.parse::<u32>().map_or(code::MOST_NUMBER, |number| {
            u16::try_from(number).unwrap_or(u16::MAX).min(code::MOST_NUMBER)
        }),
        _ => crate::config::talk::codes::code_of_state(error.as_bytes()),
    }
}

/// Sends what is to be said, as far as there is room.
fn flush(monitor: &mut Monitor) -> Result<(), Errno> {
    if !matches!(monitor.at, At::Connecting | At::Resolving | At::Nowhere) {
        monitor.gather();
    }
    let Some(link) = &monitor.link else { return Ok(()) };
    if monitor.at == At::Connecting {
        return Ok(());
    }
    while !monitor.unsent.is_empty() {
        match link.send(&monitor.unsent) {
            Ok(length) => {
                monitor.unsent.drain(..length.min(monitor.unsent.len()));
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

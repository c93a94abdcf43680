//! The service of the restart figure, and the command monit runs on a failure.
//!
//! Both send one datagram that names them and the moment they reached `main`.

use crate::clock::now_ns;
use crate::why::{While, Why};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::os::unix::net::UnixDatagram;
use std::thread;
use std::time::Duration;

/// No service outlives its figure by more than this, whatever became of its supervisor.
const LIFE: Duration = Duration::from_secs(180);

/// `beat SOCKET NAME`: says that it is up, then does nothing until it is killed.
pub(super) fn service(socket: &str, name: &str) -> Result<(), Why> {
    send(socket, name)?;
    // After the datagram, so that it is not part of what is measured. A supervisor that is gone
    // already sends no signal any more.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().is_some_and(|parent| parent.as_raw_nonzero().get() != 1) {
        thread::sleep(LIFE);
    }
    Ok(())
}

/// `mark SOCKET NAME`: one datagram, and the end.
pub(super) fn mark(socket: &str, name: &str) -> Result<(), Why> {
    send(socket, name)
}

fn send(socket: &str, name: &str) -> Result<(), Why> {
    let moment = now_ns();
    let message = format!("{name} {} {moment}", std::process::id());
    let sender = UnixDatagram::unbound()?;
    sender.send_to(message.as_bytes(), socket).while_doing(socket)?;
    Ok(())
}

/// The other side: name, pid and moment of one datagram.
pub(crate) fn read(message: &str) -> Option<(&str, i32, u64)> {
    let mut words = message.split_whitespace();
    Some((words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

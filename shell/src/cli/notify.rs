//! `giveover notify`

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use clap::Args;

use super::control::{self, ControlError};
use super::exit::{Exit, Stop};
use super::session::{self, Session};
use super::{json, place};

/// Report on a service, from a process monitor of its own or as a drill
#[derive(Debug, Args)]
#[command(
    after_help = "`died [STATUS]` is a complete failure at once, `failed WEIGHT` counts that much of \
                  one, `ready` and `ok` say that it is well. Nothing else can be said this way, and \
                  nothing is answered."
)]
pub(super) struct Notify {
    /// The service
    #[arg(value_name = "SERVICE")]
    service: String,
    /// died, ready, failed or ok
    #[arg(value_name = "WHAT")]
    what: String,
    /// The exit status of one that died, the weight (1 to 100) of a failure
    #[arg(value_name = "VALUE")]
    value: Option<String>,
}

pub(super) fn run(verb: &Notify, session: &mut Session<'_>) -> Result<Exit, Stop> {
    place::service(&verb.service)?;
    let report = report(verb)?;
    is_there(&verb.service, session)?;
    send(&report, session)?;
    if session.json {
        session.print(&json::line(&serde_json::json!({ "sent": report })))?;
    }
    Ok(Exit::DONE)
}

/// The datagram's text.
fn report(verb: &Notify) -> Result<String, Stop> {
    let Notify { service, what, value } = verb;
    match (what.as_str(), value.as_deref()) {
        ("died" | "ready" | "ok", None) => Ok(format!("{service} {what}")),
        ("died", Some(status)) => match status.parse::<u8>() {
            Ok(status) => Ok(format!("{service} died {status}")),
            Err(_) => Err(Stop::usage(format!("`{status}` is no exit status: 0 to 255"))),
        },
        ("failed", Some(weight)) => match weight.parse::<u8>() {
            Ok(weight @ 1..=100) => Ok(format!("{service} failed {weight}")),
            _ => Err(Stop::usage(format!("`{weight}` is no weight: 1 to 100"))),
        },
        ("failed", None) => Err(Stop::usage("how much does it weigh? `failed WEIGHT`, 1 to 100")),
        ("ready" | "ok", Some(value)) => {
            Err(Stop::usage(format!("`{what}` takes no value, this is `{value}`")))
        }
        (other, _) => {
            Err(Stop::usage(format!("`{other}`: one of died, ready, failed and ok is wanted")))
        }
    }
}

/// A datagram has no answer, so a name that is wrong is found beforehand, where we may ask.
fn is_there(name: &str, session: &Session<'_>) -> Result<(), Stop> {
    match session.control.get("/status.json", control::QUICK) {
        Ok(bytes) => session::find(&session.status_of(&bytes)?, name).map(|_| ()),
        Err(_) => Ok(()),
    }
}

fn send(report: &str, session: &Session<'_>) -> Result<(), Stop> {
    let path = place::notify_socket(session.control.path());
    let sent = UnixDatagram::unbound().and_then(|socket| {
        socket.set_write_timeout(Some(Duration::from_secs(5)))?;
        socket.send_to(report.as_bytes(), &path)
    });
    let Err(error) = sent else { return Ok(()) };
    let error = match error.kind() {
        std::io::ErrorKind::NotFound => ControlError::NoSocket,
        std::io::ErrorKind::ConnectionRefused => ControlError::NotListening,
        std::io::ErrorKind::PermissionDenied => ControlError::NoRights,
        _ => ControlError::Io(error),
    };
    Err(control::Control::new(path).stop(&error))
}

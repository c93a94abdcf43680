//! What every verb works with: the console, the daemon, and how output is wanted.

use serde::de::DeserializeOwned;

use super::args::{Colour, Common};
use super::console::Console;
use super::control::{self, Control, ControlError};
use super::exit::{Exit, Stop};
use super::{json, place};
use crate::report::model::{Command, PoolDoc, Reply, ServiceDoc, StatusDoc};
use crate::report::paint::Paint;

/// The version of [`StatusDoc`] that this program reads.
const SCHEMA: u32 = 1;

/// One run of one verb.
pub(super) struct Session<'a> {
    pub(super) console: &'a mut Console,
    pub(super) control: Control,
    pub(super) json: bool,
    pub(super) paint: Paint,
    pub(super) common: Common,
}

impl<'a> Session<'a> {
    pub(super) fn new(common: &Common, console: &'a mut Console) -> Self {
        let around = &console.surroundings;
        let path = place::socket_to_ask(common.socket.as_deref(), around);
        let control = Control::new(path);
        let paint = Paint::new(coloured(common.color, console.terminal, around.colourless));
        Self { console, control, json: common.json, paint, common: common.clone() }
    }

    /// Standard output is a terminal and people read it.
    pub(super) fn for_people(&self) -> bool {
        self.console.terminal && !self.json
    }

    pub(super) fn print(&mut self, text: &str) -> Result<(), Stop> {
        Ok(self.console.print(text)?)
    }

    /// Says on standard error what went wrong.
    pub(super) fn complain(&mut self, text: &str) {
        let colour = coloured(
            self.common.color,
            self.console.error_terminal,
            self.console.surroundings.colourless,
        );
        let label = Paint::new(colour).alarm("giveover:");
        self.console.tell(&format!("{label} {text}\n"));
    }

    /// Asks the daemon; the answer's bytes as they came.
    pub(super) fn ask(&self, target: &str) -> Result<Vec<u8>, Stop> {
        self.control.get(target, control::QUICK).map_err(|error| self.control.stop(&error))
    }

    pub(super) fn status(&self) -> Result<StatusDoc, Stop> {
        self.status_of(&self.ask("/status.json")?)
    }

    pub(super) fn status_of(&self, bytes: &[u8]) -> Result<StatusDoc, Stop> {
        let doc: StatusDoc = self.read(bytes)?;
        if doc.schema == SCHEMA {
            return Ok(doc);
        }
        let text = format!("the daemon speaks schema {}, this version {SCHEMA}", doc.schema);
        Err(Stop::Said(Exit::UNREACHABLE, text))
    }

    pub(super) fn read<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Stop> {
        let garbage = ControlError::Garbage("its document");
        json::harmless(bytes).map_err(|_| self.control.stop(&garbage))
    }

    /// Sends a command, and shows what the daemon answers.
    pub(super) fn command(&mut self, command: &Command) -> Result<Exit, Stop> {
        let body = serde_json::to_vec(command).unwrap_or_default();
        let answer = self.control.post("/command", &body, control::LONG);
        let reply: Reply = self.read(&answer.map_err(|error| self.control.stop(&error))?)?;
        self.show(&reply)?;
        Ok(Exit(reply.exit))
    }

    /// A yes or a no belongs on standard output, an error beside it.
    fn show(&mut self, reply: &Reply) -> Result<(), Stop> {
        if self.json {
            return self.print(&json::line(reply));
        }
        let text: String = reply.lines.iter().map(|line| format!("{line}\n")).collect();
        if reply.exit <= Exit::NO.0 {
            self.print(&text)?;
        } else {
            self.console.tell(&text);
        }
        Ok(())
    }
}

/// Whether to colour. Someone who says `always` means it.
fn coloured(wanted: Colour, terminal: bool, colourless: bool) -> bool {
    match wanted {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => terminal && !colourless,
    }
}

/// The service called `name`.
pub(super) fn find<'d>(doc: &'d StatusDoc, name: &str) -> Result<&'d ServiceDoc, Stop> {
    let found = doc.services.iter().find(|service| service.name == name);
    found.ok_or_else(|| {
        let names = doc.services.iter().map(|service| service.name.as_str());
        let near = place::nearest(name, names);
        let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        Stop::no_such(format!("no service `{name}`{hint}"))
    })
}

/// Keeps only the services and pools called `names`, all if there are none; each must be there. A
/// member of a pool is `POOL/MEMBER`.
pub(super) fn only(doc: &mut StatusDoc, names: &[String]) -> Result<(), Stop> {
    for name in names.iter().filter(|name| !is_of_pools(doc, name)) {
        find(doc, name)?;
    }
    keep(doc, names);
    Ok(())
}

fn is_of_pools(doc: &StatusDoc, name: &str) -> bool {
    let (pool, member) = name.split_once('/').map_or((name, None), |(p, m)| (p, Some(m)));
    let pool = doc.pools.iter().find(|it| it.name == pool);
    pool.is_some_and(|pool| member.is_none_or(|name| pool.members.iter().any(|it| it.name == name)))
}

/// Keeps only the services, pools and members called `names`, all if there are none.
pub(super) fn keep(doc: &mut StatusDoc, names: &[String]) {
    if names.is_empty() {
        return;
    }
    doc.services.retain(|service| names.contains(&service.name));
    for pool in doc.pools.iter_mut().filter(|pool| !names.contains(&pool.name)) {
        let PoolDoc { name, members, .. } = pool;
        members.retain(|member| names.contains(&format!("{name}/{}", member.name)));
    }
    doc.pools.retain(|pool| !pool.members.is_empty());
}

/// `name` as part of a request's target.
pub(super) fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'@' | b':' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

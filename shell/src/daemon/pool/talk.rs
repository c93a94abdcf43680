//! Whoever connects to a pool: HAProxy's agent checks, and clients when nobody is left.

use std::path::Path;

use super::PoolState;
use crate::config::plan::{FallbackPlan, Instead, Plan};
use crate::daemon::Daemon;
use crate::message;
use crate::pool::request::{Served, Serving};
use crate::pool::{Part, answer, part};
use crate::reactor::{Ready, Token};

/// The longest page.
const LONGEST_PAGE: u64 = 1 << 20;

/// What is served where the page cannot be read: better than nothing, and it says so.
const NO_PAGE: &[u8] = b"<!doctype html><title>503</title><p>No server is left.\n";

/// What a fallback serves, and what is wrong with it.
pub(super) fn serving(plan: &FallbackPlan) -> (Serving, Option<String>) {
    let (served, trouble) = match &plan.instead {
        Instead::Redirect(url) => (Served::Redirect(url.clone()), None),
        Instead::Reset => (Served::Reset, None),
        Instead::Page(path) => match read_page(path) {
            Ok(page) => (Served::Page(page.into()), None),
            Err(why) => {
                let text = format!("{}: {why}", path.display());
                (Served::Page(NO_PAGE.into()), Some(text))
            }
        },
    };
    let retry_after_s = plan.retry_after.map(|span| u64::from(span.as_millis()).div_ceil(1000));
    (Serving { served, retry_after_s }, trouble)
}

fn read_page(path: &Path) -> Result<Vec<u8>, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > LONGEST_PAGE {
        return Err(format!("it has {size} bytes, more than 1 MiB"));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

impl Daemon {
    pub(in crate::daemon) fn pool_ready(&mut self, ready: Ready) {
        let now = self.now;
        let Some((part, place)) = part(ready.token) else { return };
        match part {
            Part::AgentListener => self.pools.agents.accept(&mut self.reactor, place, now),
            Part::AgentClient => self.agent_asked(place, ready),
            Part::PageListener => self.pools.pages.accept(&mut self.reactor, place, now),
            Part::PageClient => self.pools.pages.ready(&mut self.reactor, place, ready, now),
            Part::Haproxy => self.haproxy_ready(place, ready.token),
            Part::Machine | Part::Drivers | Part::Stragglers | Part::Listen => {}
        }
    }

    pub(in crate::daemon) fn pool_is_due(&mut self, token: Token) {
        let now = self.now;
        let Some((part, place)) = part(token) else { return };
        match part {
            Part::Machine => self.pool_due(place),
            // One of an earlier plan is nothing any more.
            Part::Drivers if token == crate::pool::token(part, place as u32, self.reloads) => {
                self.drivers_due(place);
            }
            Part::Stragglers if token == crate::pool::token(part, place as u32, self.reloads) => {
                self.sweep_is_due(place);
            }
            Part::Drivers | Part::Stragglers => {}
            Part::Listen if token == crate::pool::token(part, 0, self.reloads) => self.open_pools(),
            Part::Listen => {}
            Part::AgentClient => self.pools.agents.due(&mut self.reactor, place, token),
            Part::PageClient => self.pools.pages.due(&mut self.reactor, place, token, now),
            Part::Haproxy => self.haproxy_late(place, token),
            // Who came when there were no descriptors makes no other edge.
            Part::AgentListener => self.pools.agents.accept_again(&mut self.reactor, place, now),
            Part::PageListener => self.pools.pages.accept_again(&mut self.reactor, place, now),
        }
    }

    fn agent_asked(&mut self, place: usize, ready: Ready) {
        let (plan, list) = (&self.plan, &self.pools.list);
        let asked = std::cell::Cell::new(None);
        let tell = |line: &str| {
            let (pool, text) = answer_of(plan, list, line)?;
            asked.set(Some(pool));
            Some(text)
        };
        let unknown = self.pools.agents.ready(&mut self.reactor, place, ready, &tell);
        if let Some(pool) = asked.get() {
            self.sweep_later(pool);
        }
        if let Some(line) = unknown {
            let line: String = line.chars().filter(|c| !c.is_control()).take(130).collect();
            let text = format!("an agent check asks for \"{line}\", and no pool has such a member");
            self.say_host(message::Event::PoolDriver, text);
        }
    }
}

/// Whose agent check it is, and what it is answered; nothing about whom we do not know.
fn answer_of(plan: &Plan, list: &[PoolState], line: &str) -> Option<(usize, String)> {
    let (pool, member) = answer::asked(line)?;
    let place = plan.pools.iter().position(|it| *it.name == *pool)?;
    let member = plan.pools.get(place)?.find(member)?;
    let state = list.get(place)?;
    let known = state.machine.members().get(member)?;
    let reason = state.members.get(member).map_or("", |it| it.reason.as_str());
    Some((place, answer::line(known.face(), known.has_cut(), reason)))
}

//! In what order a group's addresses come up, are kept and go.
//!
//! Sans-IO: steps of the daemon, what the kernel says and what is heard on the wire come in by
//! [`Keeper::handle`]; what is to be done comes out, in order, and each [`Do`] that finds
//! something out is answered by the event named there before what follows it is done. What
//! follows one that failed is not done.
//!
//! Up: look what is here, ask whether others have what is not, set it with a lifetime, look
//! whether the kernel has it, announce it. Down: refuse new connections, end those there are,
//! take it off, look whether the kernel has let it go, and only then say so. An address whose
//! lifetime is about to end goes down the same way, since a lapse would leave its connections.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::net::IpAddr;

use giveover_core::peer::Taken;
use giveover_core::time::{Instant, Span};

use super::super::steps::{Done, Held, Step};
use super::frame::Mac;
use super::sight::{Present, Sight, Spot};

/// How often it is asked whether somebody else has an address, how long apart, and how long the
/// last question may go unanswered. Hosts answer in the kernel, within some milliseconds.
const PROBES: u8 = 3;
const PROBE_GAP: Span = Span::from_millis(150);
const PROBE_WAIT: Span = Span::from_millis(350);

/// When it is announced again after it came up: neighbours that were away, or hurt by a storm of
/// others' announcements, learn of it late.
const AGAIN: [Span; 5] = [
    Span::from_secs(1),
    Span::from_secs(2),
    Span::from_secs(5),
    Span::from_secs(10),
    Span::from_secs(30),
];
/// And after it was asked to be announced.
const ONCE_MORE: [Span; 2] = [Span::from_secs(1), Span::from_secs(2)];

/// So long before the kernel would let it lapse it is taken down in order.
const EARLY: Span = Span::from_millis(300);

/// What has happened. Addresses are named by their place among the group's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The daemon asks.
    Step(Step),
    /// Answers [`Do::Look`].
    Looked(Result<Sight, String>),
    /// Answers [`Do::Probe`], [`Do::Set`], [`Do::Bring`]: it could not be done.
    Failed(String),
    /// Somebody else says to have the address.
    Heard {
        /// Which.
        place: usize,
        /// Who.
        by: Mac,
    },
    /// Addresses of this host have changed, by whomever.
    Changed,
    /// Time has passed.
    Timeout,
    /// The daemon is gone.
    Closed,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Do {
    /// Ask the kernel: [`Event::Looked`].
    Look,
    /// Ask the network whether somebody else has it, and hear what is said of it.
    Probe {
        /// Which.
        place: usize,
        /// On which interface.
        interface: u32,
    },
    /// Hear no more.
    Deaf,
    /// Run the command that sets it.
    Bring {
        /// Which.
        place: usize,
    },
    /// Set it, or its lifetime.
    Set {
        /// Which.
        place: usize,
        /// Where.
        spot: Spot,
        /// Its lifetime in seconds.
        seconds: u32,
    },
    /// Let no new connections come to any of them, or again.
    Refuse(bool),
    /// End the connections to all of them.
    Cut,
    /// Take it off.
    Remove {
        /// Which.
        place: usize,
        /// From where.
        spot: Spot,
        /// Not by the command: that has been tried.
        by_kernel: bool,
    },
    /// Say where it is.
    Announce {
        /// Which.
        place: usize,
        /// On which interface.
        interface: u32,
    },
    /// Answer the daemon.
    Tell(Done),
    /// Tell people.
    Say(String),
    /// It is over.
    End,
}

/// The addresses of one group.
#[derive(Clone, Debug)]
pub struct Keeper {
    held: Held,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Nothing is kept up.
    Free,
    /// It is to come up; what is here already is looked at.
    Looking {
        until: Instant,
    },
    Probing {
        until: Instant,
        sight: Sight,
        sent: u8,
        next: Instant,
    },
    /// The commands have run; what they did is looked at.
    Brought {
        until: Instant,
    },
    /// Whether the kernel has what was set is looked at.
    Verifying {
        until: Instant,
        lapse: Instant,
    },
    Up(Up),
    Dropping {
        then: Then,
        stage: Stage,
    },
    Over,
}

#[derive(Clone, Debug)]
struct Up {
    until: Instant,
    /// When it goes down if nothing comes.
    lapse: Instant,
    /// When it is announced next, and after that; the soonest first.
    again: Vec<Instant>,
    /// A lifetime that is to be set once the kernel was asked.
    renew: Option<Instant>,
    /// It is to be announced, once the kernel was asked.
    announce: bool,
}

/// What follows once they are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Dropped,
    Taken(Taken),
    Lost,
    End,
}

/// How far taking them down has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    First,
    /// They have been taken off once.
    Second,
    /// And by the kernel.
    Third,
}

impl Keeper {
    /// Keeps nothing up yet.
    #[must_use]
    pub const fn new(held: Held) -> Self {
        Self { held, state: State::Free }
    }

    /// What the group holds.
    #[must_use]
    pub const fn held(&self) -> &Held {
        &self.held
    }

    /// When [`Event::Timeout`] is wanted.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        match &self.state {
            State::Probing { next, .. } => Some(*next),
            State::Up(up) => {
                let again = up.again.first().copied();
                Some(again.map_or(up.lapse, |again| again.min(up.lapse)))
            }
            // These are left within the turn they were entered in.
            State::Looking { .. }
            | State::Brought { .. }
            | State::Verifying { .. }
            | State::Dropping { .. } => None,
            State::Free | State::Over => None,
        }
    }

    /// Takes in what happened at `now`, in CLOCK_BOOTTIME.
    pub fn handle(&mut self, event: Event, now: Instant) -> Vec<Do> {
        let was_probing = matches!(self.state, State::Probing { .. });
        let mut out = Vec::new();
        match event {
            Event::Step(step) => self.on_step(step, now, &mut out),
            Event::Looked(sight) => self.on_looked(sight, now, &mut out),
            Event::Failed(why) => self.on_failed(why, &mut out),
            Event::Heard { place, by } => self.on_heard(place, by, &mut out),
            Event::Changed => {
                if matches!(self.state, State::Up(_)) {
                    out.push(Do::Look);
                }
            }
            Event::Timeout => self.on_timeout(now, &mut out),
            Event::Closed => {
                if !matches!(self.state, State::Over) {
                    self.drop_all(Then::End, &mut out);
                }
            }
        }
        if was_probing && !matches!(self.state, State::Probing { .. }) {
            out.insert(0, Do::Deaf);
        }
        out
    }

    fn on_step(&mut self, step: Step, now: Instant, out: &mut Vec<Do>) {
        match (step, &mut self.state) {
            (_, State::Over) => {}
            (Step::Take { until }, _) => {
                self.state = State::Looking { until };
                out.push(Do::Look);
            }
            (Step::Renew { until }, State::Up(up)) => {
                if until > up.until {
                    up.renew = Some(until);
                    out.push(Do::Look);
                }
            }
            (
                Step::Renew { until: later },
                State::Looking { until }
                | State::Probing { until, .. }
                | State::Brought { until }
                | State::Verifying { until, .. },
            ) => *until = later.max(*until),
            (Step::Announce, State::Up(up)) => {
                up.again = std::iter::once(now).chain(ONCE_MORE.map(|it| now.after(it))).collect();
            }
            (Step::Drop { .. }, _) => self.drop_all(Then::Dropped, out),
            // What is not up is neither renewed nor announced.
            (Step::Renew { .. } | Step::Announce, State::Free | State::Dropping { .. }) => {}
            (Step::Announce, _) => {} // it will be, once it is up
        }
    }

    fn drop_all(&mut self, then: Then, out: &mut Vec<Do>) {
        self.state = State::Dropping { then, stage: Stage::First };
        out.push(Do::Look);
    }

    /// It cannot come up: whatever of it did goes again.
    fn fail(&mut self, taken: Taken, why: String, out: &mut Vec<Do>) {
        out.push(Do::Say(why));
        self.drop_all(Then::Taken(taken), out);
    }

    fn on_failed(&mut self, why: String, out: &mut Vec<Do>) {
        match self.state {
            State::Probing { .. } | State::Looking { .. } | State::Verifying { .. } => {
                self.fail(Taken::Failed, why, out);
            }
            State::Up(_) => {
                out.push(Do::Say(why));
                self.drop_all(Then::Lost, out);
            }
            // The kernel tells how much of it is here.
            State::Brought { .. } => out.extend([Do::Say(why), Do::Look]),
            State::Free | State::Dropping { .. } | State::Over => out.push(Do::Say(why)),
        }
    }

    fn on_heard(&mut self, place: usize, by: Mac, out: &mut Vec<Do>) {
        if matches!(self.state, State::Probing { .. }) {
            let [a, b, c, d, e, f] = by;
            let who = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
            let address = self.named(place);
            self.fail(Taken::Duplicate, format!("{address} is in use: {who} has it"), out);
        }
    }

    fn on_looked(&mut self, sight: Result<Sight, String>, now: Instant, out: &mut Vec<Do>) {
        let sight = match sight {
            Ok(sight) => sight,
            Err(why) => return self.on_blind(&why, out),
        };
        match self.state.clone() {
            State::Looking { until } => self.begin(until, sight, now, out),
            State::Brought { until } => self.set(until, &sight, now, out),
            State::Verifying { until, lapse } => self.verified(until, lapse, &sight, now, out),
            State::Up(up) => self.on_looked_while_up(up, &sight, now, out),
            State::Dropping { then, stage } => {
                self.on_looked_while_dropping(then, stage, &sight, out)
            }
            State::Free | State::Probing { .. } | State::Over => {}
        }
    }

    /// The kernel could not be asked, so nothing is known of what is here.
    fn on_blind(&mut self, why: &str, out: &mut Vec<Do>) {
        out.push(Do::Say(format!("the kernel cannot be asked for addresses: {why}")));
        match self.state {
            State::Looking { .. } | State::Brought { .. } | State::Verifying { .. } => {
                self.state = State::Free;
                out.push(Do::Tell(Done::Taken(Taken::Failed)));
            }
            State::Dropping { then, .. } => self.finish(then, false, out),
            // What is up lapses unless it can be renewed.
            State::Free | State::Probing { .. } | State::Up(_) | State::Over => {}
        }
    }

    fn begin(&mut self, until: Instant, sight: Sight, now: Instant, out: &mut Vec<Do>) {
        let absent = self.absent(&sight);
        if absent.is_empty() {
            return self.set(until, &sight, now, out);
        }
        for place in &absent {
            if self.home(*place, &sight).is_none() {
                let why = match &self.held.interface {
                    Some(name) => format!("there is no interface {name}"),
                    None => format!("no interface is in the network of {}", self.named(*place)),
                };
                return self.fail(Taken::Failed, why, out);
            }
        }
        self.probe(&absent, &sight, out);
        self.state = State::Probing { until, sight, sent: 1, next: now.after(PROBE_GAP) };
    }

    fn probe(&self, places: &[usize], sight: &Sight, out: &mut Vec<Do>) {
        for place in places {
            if let Some(spot) = self.home(*place, sight) {
                out.push(Do::Probe { place: *place, interface: spot.interface });
            }
        }
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Vec<Do>) {
        match self.state.clone() {
            State::Probing { until, sight, sent, next } if next <= now => {
                if sent < PROBES {
                    self.probe(&self.absent(&sight), &sight, out);
                    let sent = sent + 1;
                    let wait = if sent == PROBES { PROBE_WAIT } else { PROBE_GAP };
                    self.state = State::Probing { until, sight, sent, next: now.after(wait) };
                } else if self.held.commands.is_some() {
                    out.extend(self.absent(&sight).into_iter().map(|place| Do::Bring { place }));
                    out.push(Do::Look);
                    self.state = State::Brought { until };
                } else {
                    self.set(until, &sight, now, out);
                }
            }
            State::Up(mut up) => {
                if up.lapse <= now {
                    out.push(Do::Say("its lifetime was not renewed: it goes".to_owned()));
                    return self.drop_all(Then::Lost, out);
                }
                let due = up.again.iter().take_while(|again| **again <= now).count();
                if due > 0 {
                    up.again.drain(..due);
                    up.announce = true;
                    self.state = State::Up(up);
                    out.push(Do::Look);
                }
            }
            // Early, or nothing waits.
            State::Probing { .. }
            | State::Free
            | State::Looking { .. }
            | State::Brought { .. }
            | State::Verifying { .. }
            | State::Dropping { .. }
            | State::Over => {}
        }
    }

    /// Gives all of them a lifetime: those that are here where they are, others where they belong.
    fn set(&mut self, until: Instant, sight: &Sight, now: Instant, out: &mut Vec<Do>) {
        let Some(seconds) = lifetime(until, now) else {
            return self.fail(Taken::Failed, "no time is left to hold it".to_owned(), out);
        };
        let mut set = Vec::new();
        for place in 0..self.held.addresses.len() {
            let here = self.present(place, sight).map(|present| present.spot);
            let spot = match self.held.commands {
                // The command has run, and the kernel was asked.
                Some(_) => here,
                None => here.or_else(|| self.home(place, sight)),
            };
            let Some(spot) = spot else {
                let why = format!("the command for {} ran, and it is not here", self.named(place));
                return self.fail(Taken::Failed, why, out);
            };
            set.push(Do::Set { place, spot, seconds });
        }
        // What refused connections before it went would refuse them now.
        out.push(Do::Refuse(false));
        out.append(&mut set);
        out.push(Do::Look);
        self.state = State::Verifying { until, lapse: lapse(seconds, now) };
    }

    fn verified(
        &mut self,
        until: Instant,
        lapse: Instant,
        sight: &Sight,
        now: Instant,
        out: &mut Vec<Do>,
    ) {
        for place in 0..self.held.addresses.len() {
            if self.present(place, sight).is_none_or(|present| !present.usable) {
                let why = format!("the kernel was given {} and has it not", self.named(place));
                return self.fail(Taken::Failed, why, out);
            }
        }
        self.announce(sight, out);
        out.push(Do::Tell(Done::Taken(Taken::Up)));
        let again = AGAIN.map(|it| now.after(it)).to_vec();
        self.state = State::Up(Up { until, lapse, again, renew: None, announce: false });
    }

    fn announce(&self, sight: &Sight, out: &mut Vec<Do>) {
        for place in 0..self.held.addresses.len() {
            if let Some(present) = self.present(place, sight) {
                out.push(Do::Announce { place, interface: present.spot.interface });
            }
        }
    }

    fn on_looked_while_up(&mut self, mut up: Up, sight: &Sight, now: Instant, out: &mut Vec<Do>) {
        let absent = self.absent(sight);
        if let Some(place) = absent.first() {
            out.push(Do::Say(format!("{} is gone, and not by us", self.named(*place))));
            out.push(Do::Tell(Done::Lost));
            self.state = State::Free;
            return;
        }
        if std::mem::take(&mut up.announce) {
            self.announce(sight, out);
        }
        if let Some(until) = up.renew.take() {
            let Some(seconds) = lifetime(until, now) else {
                out.push(Do::Say("no time is left to hold it".to_owned()));
                return self.drop_all(Then::Lost, out);
            };
            for place in 0..self.held.addresses.len() {
                if let Some(present) = self.present(place, sight) {
                    out.push(Do::Set { place, spot: present.spot, seconds });
                }
            }
            up.until = until;
            up.lapse = lapse(seconds, now);
        }
        self.state = State::Up(up);
    }

    fn on_looked_while_dropping(
        &mut self,
        then: Then,
        stage: Stage,
        sight: &Sight,
        out: &mut Vec<Do>,
    ) {
        let place_of = |address| self.held.addresses.iter().position(|(held, _)| *held == address);
        let here = sight.present.iter();
        let here: Vec<(usize, Spot)> =
            here.filter_map(|it| Some((place_of(it.address)?, it.spot))).collect();
        if here.is_empty() {
            if stage != Stage::First {
                // Who came between, or was being let in.
                out.extend([Do::Cut, Do::Refuse(false)]);
            } else if then == Then::Lost {
                out.push(Do::Cut);
            }
            return self.finish(then, true, out);
        }
        let (next, by_kernel) = match stage {
            Stage::First => (Stage::Second, self.held.commands.is_none()),
            Stage::Second => (Stage::Third, true),
            Stage::Third => {
                let mut still = String::from("the kernel still has");
                for (place, _) in &here {
                    let _ = write!(still, " {}", self.named(*place)); // a string takes everything
                }
                out.push(Do::Say(still));
                return self.finish(then, false, out);
            }
        };
        if stage == Stage::First {
            out.extend([Do::Refuse(true), Do::Cut]);
        }
        out.extend(here.into_iter().map(|(place, spot)| Do::Remove { place, spot, by_kernel }));
        out.push(Do::Look);
        self.state = State::Dropping { then, stage: next };
    }

    fn finish(&mut self, then: Then, ok: bool, out: &mut Vec<Do>) {
        self.state = State::Free;
        match then {
            Then::Dropped => out.push(Do::Tell(Done::Dropped { ok })),
            Then::Taken(taken) => out.push(Do::Tell(Done::Taken(taken))),
            Then::Lost => out.push(Do::Tell(Done::Lost)),
            Then::End => {
                self.state = State::Over;
                out.push(Do::End);
            }
        }
    }

    fn named(&self, place: usize) -> String {
        self.held.addresses.get(place).map(|(it, _)| it.to_string()).unwrap_or_default()
    }

    fn present<'s>(&self, place: usize, sight: &'s Sight) -> Option<&'s Present> {
        let address = self.address(place)?;
        sight.present.iter().find(|present| present.address == address)
    }

    fn address(&self, place: usize) -> Option<IpAddr> {
        self.held.addresses.get(place).map(|(address, _)| *address)
    }

    fn absent(&self, sight: &Sight) -> Vec<usize> {
        let places = 0..self.held.addresses.len();
        places.filter(|place| self.present(*place, sight).is_none()).collect()
    }

    /// Where an address that is not here belongs.
    fn home(&self, place: usize, sight: &Sight) -> Option<Spot> {
        let (address, prefix) = *self.held.addresses.get(place)?;
        let interface = match &self.held.interface {
            Some(_) => sight.named,
            None => sight.network_of(address),
        };
        Some(Spot { interface: interface?, prefix })
    }
}

/// Whole seconds to `until`, rounded down; `None` where less than one is left.
fn lifetime(until: Instant, now: Instant) -> Option<u32> {
    let seconds = until.since(now) / 1000;
    u32::try_from(seconds).ok().filter(|seconds| *seconds > 0)
}

/// When what was set for `seconds` is taken down, if nothing comes.
fn lapse(seconds: u32, now: Instant) -> Instant {
    let ms = u64::from(seconds).saturating_mul(1000) - u64::from(EARLY.as_millis());
    Instant::from_millis(now.as_millis().saturating_add(ms))
}

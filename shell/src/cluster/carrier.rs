//! In what order a group becomes active here, and is active here no more.
//!
//! Sans-IO: what is wanted and what has been done come in, orders come out. Becoming active:
//! `on_active`, the addresses, then the services. An orderly end: the services, proven stopped,
//! then the addresses, then `on_standby`. At once: the addresses, and the services killed beside.
//! Where the services run on every node they are nobody's to start or stop: only the rest is done.

use giveover_core::peer::{Event, How, Taken, Ticket};
use giveover_core::time::Instant;

use super::steps::{Done, Step};

#[cfg(test)]
mod tests;

/// What is to be done. Every one but [`Order::Start`] and [`Order::Cancel`] is answered once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Run a command of the group: [`Carrier::ran`].
    Run(Hook),
    /// Its end is wanted no more: it is killed, and answered no more.
    Cancel,
    /// For the holder of the addresses: [`Carrier::address`], where the step has an answer.
    Address(Step),
    /// Stop the services, last first, until they are proven stopped: [`Carrier::stopped`].
    Stop {
        /// They are given no time to end by themselves.
        at_once: bool,
    },
    /// Start the services.
    Start,
    /// Tell the machine.
    Tell(Event),
}

/// A command of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hook {
    /// `on_active`: must succeed before the addresses come up.
    OnActive,
    /// `on_standby`: runs once the addresses are gone.
    OnStandby,
}

/// What is being carried out for a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    on_active: bool,
    on_standby: bool,
    everywhere: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is held here; `clean`: and all of it is known to have stopped.
    Idle {
        clean: bool,
    },
    Taking(Taking),
    Up,
    /// It is up, and its addresses are taken again.
    Again(Ticket),
    Releasing(Releasing),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Taking {
    ticket: Ticket,
    until: Instant,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// What ran here before could not be proven stopped, and is stopped first.
    Stop,
    Hook,
    Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Releasing {
    ticket: Ticket,
    how: How,
    /// Its services ran here.
    was_up: bool,
    /// Whether they are proven gone; `None` while that is being done, or waits.
    addresses: Option<bool>,
    services: Option<bool>,
    hook: bool,
    /// It is to become active again, once this is over.
    take: Option<(Ticket, Instant)>,
}

impl Carrier {
    /// A group that holds nothing, as far as anybody knows. `everywhere`: its services run on every
    /// node, and are not its to start and stop.
    #[must_use]
    pub const fn new(on_active: bool, on_standby: bool, everywhere: bool) -> Self {
        Self { on_active, on_standby, everywhere, state: State::Idle { clean: everywhere } }
    }

    /// Whether its services are wanted here.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        matches!(self.state, State::Up | State::Again(_))
    }

    /// Whether it is let go, and its services are not proven stopped.
    #[must_use]
    pub const fn is_unclean(&self) -> bool {
        matches!(self.state, State::Idle { clean: false })
    }

    /// `Action::Take`.
    pub fn take(&mut self, ticket: Ticket, until: Instant) -> Vec<Order> {
        match self.state {
            State::Idle { clean: true } => self.begin(ticket, until),
            State::Idle { clean: false } => {
                self.state = State::Taking(Taking { ticket, until, at: At::Stop });
                vec![Order::Stop { at_once: true }]
            }
            State::Up | State::Again(_) => {
                self.state = State::Again(ticket);
                vec![Order::Address(Step::Take { until })]
            }
            State::Taking(taking) => {
                self.state = State::Taking(Taking { ticket, until, ..taking });
                match taking.at {
                    At::Address => vec![Order::Address(Step::Take { until })],
                    At::Stop | At::Hook => Vec::new(), // its end comes
                }
            }
            State::Releasing(releasing) => {
                let take = Some((ticket, until));
                self.state = State::Releasing(Releasing { take, ..releasing });
                Vec::new()
            }
        }
    }

    fn begin(&mut self, ticket: Ticket, until: Instant) -> Vec<Order> {
        let at = if self.on_active { At::Hook } else { At::Address };
        self.state = State::Taking(Taking { ticket, until, at });
        match at {
            At::Hook => vec![Order::Run(Hook::OnActive)],
            At::Address | At::Stop => vec![Order::Address(Step::Take { until })],
        }
    }

    /// `Action::Renew`.
    #[must_use]
    pub fn renew(&mut self, until: Instant) -> Vec<Order> {
        match &mut self.state {
            State::Up => vec![Order::Address(Step::Renew { until })],
            State::Taking(taking) => {
                taking.until = until;
                match taking.at {
                    At::Address => vec![Order::Address(Step::Renew { until })],
                    At::Stop | At::Hook => Vec::new(),
                }
            }
            State::Again(_) => vec![Order::Address(Step::Renew { until })],
            State::Idle { .. } | State::Releasing(_) => Vec::new(),
        }
    }

    /// `Action::Release`; calls off whatever is under way.
    pub fn release(&mut self, ticket: Ticket, how: How) -> Vec<Order> {
        let mut orders = Vec::new();
        let hook = match self.state {
            State::Taking(taking) => taking.at == At::Hook,
            State::Releasing(releasing) => releasing.hook,
            State::Idle { .. } | State::Up | State::Again(_) => false,
        };
        if hook {
            orders.push(Order::Cancel);
        }
        let was_up = match self.state {
            State::Up | State::Again(_) => true,
            State::Releasing(releasing) => releasing.was_up,
            State::Idle { .. } | State::Taking(_) => false,
        };
        self.state = State::Releasing(Releasing {
            ticket,
            how,
            was_up,
            addresses: None,
            services: self.everywhere.then_some(true),
            hook: false,
            take: None,
        });
        if how != How::Orderly || self.everywhere {
            let leftover = how == How::Leftover;
            orders.push(Order::Address(Step::Drop { leftover }));
        }
        if !self.everywhere {
            orders.push(Order::Stop { at_once: how == How::AtOnce });
        }
        orders
    }

    /// The services are proven stopped, or cannot be.
    pub fn stopped(&mut self, ok: bool) -> Vec<Order> {
        match self.state {
            State::Taking(Taking { ticket, until, at: At::Stop }) => {
                if ok {
                    return self.begin(ticket, until);
                }
                self.state = State::Idle { clean: false };
                vec![Order::Tell(Event::Taken { ticket, taken: Taken::Failed })]
            }
            State::Releasing(releasing) if releasing.services.is_none() => {
                let releasing = Releasing { services: Some(ok), ..releasing };
                self.state = State::Releasing(releasing);
                self.go_on(releasing)
            }
            // What was left of it was stopped once more.
            State::Idle { .. } => {
                self.state = State::Idle { clean: ok };
                Vec::new()
            }
            // Of something that was called off.
            State::Taking(_) | State::Up | State::Again(_) | State::Releasing(_) => Vec::new(),
        }
    }

    /// What came of a step.
    pub fn address(&mut self, done: Done) -> Vec<Order> {
        match (self.state, done) {
            (State::Taking(Taking { ticket, at: At::Address, .. }), Done::Taken(taken)) => {
                let up = taken == Taken::Up;
                self.state = if up { State::Up } else { State::Idle { clean: true } };
                let mut orders = vec![Order::Tell(Event::Taken { ticket, taken })];
                if up && !self.everywhere {
                    orders.push(Order::Start);
                }
                orders
            }
            (State::Again(ticket), Done::Taken(taken)) => {
                self.state = State::Up;
                vec![Order::Tell(Event::Taken { ticket, taken })]
            }
            (State::Releasing(releasing), Done::Dropped { ok }) => {
                let releasing = Releasing { addresses: Some(ok), ..releasing };
                self.state = State::Releasing(releasing);
                self.go_on(releasing)
            }
            (State::Up, Done::Lost) => vec![Order::Tell(Event::AddressLost)],
            // Of something that was called off.
            (
                State::Idle { .. }
                | State::Taking(_)
                | State::Up
                | State::Again(_)
                | State::Releasing(_),
                Done::Taken(_) | Done::Dropped { .. } | Done::Lost,
            ) => Vec::new(),
        }
    }

    /// A command of the group has ended.
    pub fn ran(&mut self, hook: Hook, ok: bool) -> Vec<Order> {
        match (self.state, hook) {
            (State::Taking(taking @ Taking { at: At::Hook, .. }), Hook::OnActive) => {
                let Taking { ticket, until, .. } = taking;
                if ok {
                    self.state = State::Taking(Taking { at: At::Address, ..taking });
                    return vec![Order::Address(Step::Take { until })];
                }
                self.state = State::Idle { clean: true };
                vec![Order::Tell(Event::Taken { ticket, taken: Taken::Failed })]
            }
            // Whatever came of it: what is gone is gone.
            (State::Releasing(releasing @ Releasing { hook: true, .. }), Hook::OnStandby) => {
                self.finish(Releasing { hook: false, ..releasing }, true)
            }
            // Of something that was called off.
            (
                State::Idle { .. }
                | State::Taking(_)
                | State::Up
                | State::Again(_)
                | State::Releasing(_),
                Hook::OnActive | Hook::OnStandby,
            ) => Vec::new(),
        }
    }

    fn go_on(&mut self, releasing: Releasing) -> Vec<Order> {
        match (releasing.how, releasing.services, releasing.addresses) {
            (How::Orderly, Some(true), None) => {
                vec![Order::Address(Step::Drop { leftover: false })]
            }
            // A node that cannot prove the stop does not hand over: it goes on.
            (How::Orderly, Some(false), _) => {
                let ticket = releasing.ticket;
                let told = Order::Tell(Event::Released { ticket, ok: false });
                if releasing.was_up {
                    self.state = State::Up;
                    return vec![told, Order::Start];
                }
                self.state = State::Idle { clean: false };
                vec![told]
            }
            (_, Some(services), Some(addresses)) => {
                let ok = services && addresses;
                if ok && self.on_standby && releasing.how != How::Leftover {
                    self.state = State::Releasing(Releasing { hook: true, ..releasing });
                    return vec![Order::Run(Hook::OnStandby)];
                }
                self.finish(releasing, ok)
            }
            (_, None, _) | (_, _, None) => Vec::new(),
        }
    }

    /// It was up and its addresses are not proven gone: it stays, and takes again what is missing.
    fn stay(&mut self, ticket: Ticket) -> Vec<Order> {
        self.state = State::Up;
        let mut orders = vec![Order::Tell(Event::Released { ticket, ok: false })];
        if !self.everywhere {
            orders.push(Order::Start);
        }
        orders.push(Order::Tell(Event::AddressLost));
        orders
    }

    fn finish(&mut self, releasing: Releasing, ok: bool) -> Vec<Order> {
        if !ok && releasing.how == How::Orderly && releasing.was_up {
            return self.stay(releasing.ticket);
        }
        self.state = State::Idle { clean: releasing.services == Some(true) };
        let ticket = releasing.ticket;
        let mut orders = vec![Order::Tell(Event::Released { ticket, ok })];
        if let Some((ticket, until)) = releasing.take {
            orders.extend(self.take(ticket, until));
        }
        orders
    }
}

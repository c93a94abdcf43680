//! Who is told of a pool's members: each driver follows the machine's faces, and what fails is tried
//! again. Agent checks need nothing of this: they come and ask.

use std::collections::VecDeque;

use giveover_core::pool::Face;
use giveover_core::time::{Instant, Span};

use super::{Run, What};
use crate::config::dollar::Values;
use crate::config::plan::{NftPlan, PoolPlan};
use crate::daemon::Daemon;
use crate::message::{self, pool as words};
use crate::pool::haproxy::{self, Exchange};
use crate::pool::{Part, cut, ipvs, nft, token};
use crate::reactor::{Done, End, Exit, Keep, Order, Program, Ready, Token};

/// What failed is tried again after this.
const AGAIN: Span = Span::from_secs(5);
/// HAProxy answers within this, or is asked again.
const PATIENCE: Span = Span::from_secs(2);
/// What nftables and IPVS hold is looked at this often, since others can change it.
const LOOK: Span = Span::from_secs(5);
/// For so long after a cut, whoever has yet to hear that the member is out may send it somebody.
const STRAGGLERS: Span = Span::from_secs(10);
/// HAProxy has taken in an answer to its agent check after this.
const TAKEN_IN: Span = Span::from_millis(200);
/// A program that tells somebody must end within this.
const RUN: Span = Span::from_secs(10);

/// The drivers of one pool.
pub(super) struct Drivers {
    exchange: Option<(Exchange, Doing)>,
    /// What HAProxy is to be asked or told next.
    queue: VecDeque<(Doing, String)>,
    generation: u32,
    /// Of nftables: a run is under way; another is wanted.
    nft_runs: bool,
    nft_wanted: Option<nft::Wanted>,
    nft_done: Option<nft::Wanted>,
    /// When it was last read back.
    nft_seen: Instant,
    ipvs_done: Option<(Vec<ipvs::Wanted>, Instant)>,
    /// The face last told by the command, for each member.
    told: Vec<Option<Face>>,
    /// The member it runs for.
    telling: Option<(usize, Face)>,
    /// The member it has run for last: one that cannot be told keeps nobody else from being told.
    told_last: usize,
    /// Until when connections of a member are cut again when a balancer has heard of it.
    stragglers: Vec<Option<Instant>>,
    /// A timer does that.
    sweeps: bool,
    /// What is wrong, by driver; said once each.
    trouble: Vec<Trouble>,
}

/// What is wrong with one driver.
struct Trouble {
    which: &'static str,
    why: String,
    /// It is not tried again before; the others go on.
    until: Instant,
}

/// What HAProxy is asked or told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// How its servers are; true after a repair.
    Look(bool),
    /// To do something.
    Set,
    /// Which clients a member has, so as to cut them.
    Sessions(usize),
}

impl Drivers {
    pub(super) fn new(members: usize) -> Self {
        Self {
            exchange: None,
            queue: VecDeque::new(),
            generation: 0,
            nft_runs: false,
            nft_wanted: None,
            nft_done: None,
            nft_seen: Instant::default(),
            ipvs_done: None,
            told: vec![None; members],
            telling: None,
            told_last: 0,
            stragglers: vec![None; members],
            sweeps: false,
            trouble: Vec::new(),
        }
    }

    /// What is wrong, in words.
    pub(super) fn trouble(&self) -> Vec<String> {
        self.trouble.iter().map(|it| words::driver(it.which, &it.why)).collect()
    }

    /// Whether it has just failed.
    fn waits(&self, which: &str, now: Instant) -> bool {
        self.trouble.iter().any(|it| it.which == which && now < it.until)
    }

    fn has(&self, which: &str) -> bool {
        self.trouble.iter().any(|it| it.which == which)
    }
}

/// HAProxy is followed over its socket only where its agent checks do not follow us anyway.
const fn by_socket(plan: &PoolPlan) -> bool {
    plan.haproxy.is_some() && plan.agent.is_none()
}

impl Daemon {
    /// Faces have changed, or what failed is tried again: every driver does what is left to do.
    pub(super) fn tell_drivers(&mut self, pool: usize) {
        if self.plan.host.observe {
            return;
        }
        let Some(plan) = self.plan.pools.get(pool) else { return };
        if by_socket(plan) {
            self.look_at_haproxy(pool, false);
        }
        self.tell_nft(pool);
        self.tell_ipvs(pool);
        self.tell_command(pool);
    }

    /// HAProxy may have been restarted, and what failed is tried again.
    pub(super) fn look_again_later(&mut self, pool: usize) {
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let least = Span::from_secs(1);
        let every = if by_socket(plan) { plan.settings.interval.max(least) } else { AGAIN };
        let told = plan.haproxy.is_some() || plan.nft.is_some() || plan.ipvs.is_some();
        if (told || plan.command.is_some()) && !self.plan.host.observe {
            let at = self.now.after(every);
            self.reactor.timers.arm(token(Part::Drivers, pool as u32, self.reloads), at);
        }
    }

    pub(super) fn drivers_due(&mut self, pool: usize) {
        self.tell_drivers(pool);
        self.look_at_nft(pool);
        self.look_again_later(pool);
    }

    /// Everything under way for pools ends: their plan is another now, or we end.
    pub(in crate::daemon) fn end_pool_errands(&mut self) {
        let now = self.now;
        self.cut_what_waits();
        self.reloads = self.reloads.wrapping_add(1);
        self.pools.runner.cancel_all(&mut self.reactor, now);
        while self.pools.runner.done().is_some() {}
        for state in &mut self.pools.list {
            if let Some((exchange, _)) = state.drivers.exchange.take() {
                exchange.end(&mut self.reactor);
            }
            state.drivers = Drivers::new(state.members.len());
        }
    }

    /// Cuts that wait for HAProxy to name clients are made without them: whose plan ends, ends
    /// first.
    fn cut_what_waits(&mut self) {
        for pool in 0..self.pools.list.len() {
            let Some(state) = self.pools.list.get_mut(pool) else { continue };
            let asked = state.drivers.exchange.as_ref().map(|(_, doing)| *doing);
            let queued = state.drivers.queue.drain(..).map(|(doing, _)| doing);
            let members: Vec<usize> = asked
                .into_iter()
                .chain(queued)
                .filter_map(|doing| match doing {
                    Doing::Sessions(member) => Some(member),
                    Doing::Look(_) | Doing::Set => None,
                })
                .collect();
            members.into_iter().for_each(|member| self.cut_now(pool, member, &[]));
        }
    }

    pub(super) fn has_trouble(&mut self, pool: usize, which: &'static str, why: String) {
        let until = self.now.after(AGAIN);
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let known = state.drivers.trouble.iter_mut().find(|it| it.which == which);
        let fresh = match known {
            Some(known) => {
                known.until = until;
                std::mem::replace(&mut known.why, why.clone()) != why
            }
            None => {
                state.drivers.trouble.push(Trouble { which, why: why.clone(), until });
                true
            }
        };
        if fresh {
            self.say_pool(pool, None, message::Event::PoolDriver, words::driver(which, &why));
        }
    }

    pub(super) fn is_well(&mut self, pool: usize, which: &'static str) {
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let before = state.drivers.trouble.len();
        state.drivers.trouble.retain(|known| known.which != which);
        if state.drivers.trouble.len() != before {
            let text = words::driver_well(which);
            self.say_pool(pool, None, message::Event::PoolDriverWell, text);
        }
    }

    // HAProxy

    fn look_at_haproxy(&mut self, pool: usize, after_repair: bool) {
        let Some(plan) = self.plan.pools.get(pool).and_then(|it| it.haproxy.as_ref()) else {
            return;
        };
        let question = haproxy::ask_servers(&plan.backend);
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let looks = |doing: &Doing| matches!(doing, Doing::Look(_));
        if !state.drivers.queue.iter().any(|(doing, _)| looks(doing)) {
            state.drivers.queue.push_back((Doing::Look(after_repair), question));
        }
        self.ask_haproxy(pool);
    }

    /// Begins what is to be said next, unless something is being said.
    fn ask_haproxy(&mut self, pool: usize) {
        let now = self.now;
        let Some(plan) = self.plan.pools.get(pool).and_then(|it| it.haproxy.as_ref()) else {
            return;
        };
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let drivers = &mut state.drivers;
        if drivers.exchange.is_some() {
            return;
        }
        let Some((doing, command)) = drivers.queue.pop_front() else { return };
        drivers.generation = drivers.generation.wrapping_add(1);
        let token = token(Part::Haproxy, pool as u32, drivers.generation);
        let until = now.after(PATIENCE);
        match Exchange::begin(&mut self.reactor, &plan.socket, &command, token, until) {
            Ok(exchange) => {
                let state = self.pools.list.get_mut(pool);
                if let Some(state) = state {
                    state.drivers.exchange = Some((exchange, doing));
                }
            }
            Err(error) => self.haproxy_fails(pool, doing, error.to_string()),
        }
    }

    pub(super) fn haproxy_ready(&mut self, pool: usize, token: Token) {
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let Some((exchange, doing)) = &mut state.drivers.exchange else { return };
        if exchange.token() != token {
            return;
        }
        let doing = *doing;
        let Some(answer) = exchange.ready() else { return };
        if let Some((exchange, _)) = state.drivers.exchange.take() {
            exchange.end(&mut self.reactor);
        }
        match answer {
            Ok(text) => self.haproxy_said(pool, doing, &text),
            Err(error) => self.haproxy_fails(pool, doing, error.to_string()),
        }
        self.ask_haproxy(pool);
    }

    pub(super) fn haproxy_late(&mut self, pool: usize, token: Token) {
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let due = state.drivers.exchange.as_ref().is_some_and(|(it, _)| it.token() == token);
        if !due {
            return;
        }
        if let Some((exchange, doing)) = state.drivers.exchange.take() {
            exchange.end(&mut self.reactor);
            self.haproxy_fails(pool, doing, "it does not answer".to_owned());
        }
        self.ask_haproxy(pool);
    }

    fn haproxy_said(&mut self, pool: usize, doing: Doing, text: &str) {
        match doing {
            Doing::Look(after_repair) => match haproxy::servers(text) {
                Ok(servers) => self.repair_haproxy(pool, &servers, after_repair),
                Err(why) => self.has_trouble(pool, "haproxy", why),
            },
            Doing::Set => {
                if let Err(why) = haproxy::done(text) {
                    self.has_trouble(pool, "haproxy", why);
                }
            }
            Doing::Sessions(member) => {
                let clients = self.clients_of(pool, member, text);
                self.cut_now(pool, member, &clients);
                if self.plan.pools.get(pool).is_some_and(|plan| !by_socket(plan)) {
                    self.is_well(pool, "haproxy"); // nothing else is asked of it
                }
            }
        }
    }

    fn haproxy_fails(&mut self, pool: usize, doing: Doing, why: String) {
        if let Doing::Sessions(member) = doing {
            // Without its clients the member's own connections are all there is to cut.
            self.cut_now(pool, member, &[]);
        }
        if let Some(state) = self.pools.list.get_mut(pool) {
            state.drivers.queue.retain(|(doing, _)| matches!(doing, Doing::Sessions(_)));
        }
        self.has_trouble(pool, "haproxy", why);
    }

    /// What HAProxy has and we have not decided is put right, and looked at once more.
    fn repair_haproxy(&mut self, pool: usize, servers: &[haproxy::Server], after_repair: bool) {
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let Some(to) = plan.haproxy.as_ref() else { return };
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let mut commands = Vec::new();
        let mut missing = None;
        for (member, known) in plan.members.iter().zip(state.machine.members()) {
            match servers.iter().find(|server| *server.name == *member.name) {
                Some(server) => {
                    let (face, has_cut) = (known.face(), known.has_cut());
                    commands.extend(haproxy::repair(&to.backend, server, face, has_cut));
                }
                None => {
                    missing = Some(format!("backend {} has no server {}", to.backend, member.name))
                }
            }
        }
        if let Some(why) = missing {
            return self.has_trouble(pool, "haproxy", why);
        }
        if commands.is_empty() {
            self.is_well(pool, "haproxy");
            return self.cut_stragglers(pool);
        }
        if after_repair {
            // What it said to a command is the better reason.
            if !state.drivers.has("haproxy") {
                let why = "it does not keep what it is told".to_owned();
                self.has_trouble(pool, "haproxy", why);
            }
            return;
        }
        state.drivers.queue.extend(commands.into_iter().map(|command| (Doing::Set, command)));
        self.look_at_haproxy(pool, true);
    }

    fn clients_of(
        &self,
        pool: usize,
        member: usize,
        text: &str,
    ) -> Vec<(std::net::SocketAddr, std::net::SocketAddr)> {
        let Some(plan) = self.plan.pools.get(pool) else { return Vec::new() };
        let (Some(to), Some(member)) = (plan.haproxy.as_ref(), plan.members.get(member)) else {
            return Vec::new();
        };
        haproxy::sessions(text, &to.backend, &member.name)
    }

    // Cuts

    /// The member's connections are to be cut; where HAProxy can name its clients it is asked first.
    pub(super) fn cut_member(&mut self, pool: usize, member: usize) {
        if self.plan.host.observe {
            return;
        }
        let until = self.now.after(STRAGGLERS);
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        if let Some(stragglers) = state.drivers.stragglers.get_mut(member) {
            *stragglers = Some(until);
        }
        self.cut_clients_too(pool, member);
    }

    fn cut_clients_too(&mut self, pool: usize, member: usize) {
        let Some(plan) = self.plan.pools.get(pool) else { return };
        if plan.haproxy.is_none() {
            return self.cut_now(pool, member, &[]);
        }
        if let Some(state) = self.pools.list.get_mut(pool) {
            let asks = |doing: &Doing| *doing == Doing::Sessions(member);
            if !state.drivers.queue.iter().any(|(doing, _)| asks(doing)) {
                let ask = (Doing::Sessions(member), haproxy::ASK_SESSIONS.to_owned());
                state.drivers.queue.push_front(ask);
            }
        }
        self.ask_haproxy(pool);
    }

    /// A balancer has heard who is out: whom it had sent there since the cut is cut now. Without
    /// this they would hang on a dead member for as long as they have patience.
    fn cut_stragglers(&mut self, pool: usize) {
        let now = self.now;
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let mut cut = Vec::new();
        let members = state.machine.members().iter().zip(&mut state.drivers.stragglers);
        for (place, (member, until)) in members.enumerate() {
            let is_cut = member.face().is_out() || member.has_cut();
            *until = until.filter(|until| now < *until && is_cut);
            if until.is_some() {
                cut.push(place);
            }
        }
        cut.into_iter().for_each(|member| self.cut_clients_too(pool, member));
    }

    /// An agent check has been answered: stragglers are looked for once HAProxy has taken it in.
    pub(super) fn sweep_later(&mut self, pool: usize) {
        let at = self.now.after(TAKEN_IN);
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let drivers = &mut state.drivers;
        if !drivers.sweeps && drivers.stragglers.iter().any(Option::is_some) {
            drivers.sweeps = true;
            self.reactor.timers.arm(token(Part::Stragglers, pool as u32, self.reloads), at);
        }
    }

    pub(super) fn sweep_is_due(&mut self, pool: usize) {
        if let Some(state) = self.pools.list.get_mut(pool) {
            state.drivers.sweeps = false;
        }
        self.cut_stragglers(pool);
    }

    fn cut_now(
        &mut self,
        pool: usize,
        member: usize,
        clients: &[(std::net::SocketAddr, std::net::SocketAddr)],
    ) {
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let Some(of_member) = plan.members.get(member) else { return };
        let Some(address) = of_member.address() else { return };
        let end =
            plan.haproxy.as_ref().map(|to| haproxy::end_sessions(&to.backend, &of_member.name));
        let text = match cut::cut(address, clients) {
            Ok(cut::Cut { done: 0, failed: 0, .. }) => return,
            Ok(cut) => {
                let why = cut.errno.map(|it| std::io::Error::from_raw_os_error(it).to_string());
                if let (true, Some(end)) = (cut.failed > 0, end) {
                    // HAProxy itself can end them, though clients hear an orderly end only.
                    if let Some(state) = self.pools.list.get_mut(pool) {
                        state.drivers.queue.push_front((Doing::Set, end));
                    }
                }
                words::cut(cut.done, cut.failed, &why.unwrap_or_default())
            }
            Err(errno) => format!("connections cannot be cut: {errno}"),
        };
        self.say_pool(pool, Some(member), message::Event::PoolCut, text);
        self.ask_haproxy(pool);
    }

    // nftables

    fn tell_nft(&mut self, pool: usize) {
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let Some(nft) = &plan.nft else { return };
        let Some(state) = self.pools.list.get(pool) else { return };
        let wanted = nft_wanted(plan, nft, &state.machine);
        if state.drivers.nft_runs
            || state.drivers.waits("nft", self.now)
            || state.drivers.nft_done.as_ref() == Some(&wanted)
        {
            return;
        }
        let text = nft::transaction(nft, &wanted);
        if let Some(state) = self.pools.list.get_mut(pool) {
            state.drivers.nft_wanted = Some(wanted);
            state.drivers.nft_runs = true;
        }
        self.run_nft(pool, What::Exchange, &text);
    }

    /// What others have made of the sets is put right.
    fn look_at_nft(&mut self, pool: usize) {
        let now = self.now;
        let Some(plan) = self.plan.pools.get(pool).and_then(|it| it.nft.as_ref()) else { return };
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let drivers = &mut state.drivers;
        let due = now.since(drivers.nft_seen) >= u64::from(LOOK.as_millis());
        if drivers.nft_runs || !due || drivers.waits("nft", now) {
            return;
        }
        let Some(done) = drivers.nft_done.clone() else { return };
        let question = nft::question(plan);
        drivers.nft_wanted = Some(done);
        drivers.nft_runs = true;
        self.run_nft(pool, What::Look, &question);
    }

    /// What is there is not what we have put there: somebody else did that, or the table is new.
    fn nft_looked_at(&mut self, pool: usize, done: &Done<Run>) {
        let Some(plan) = self.plan.pools.get(pool).and_then(|it| it.nft.as_ref()) else { return };
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        state.drivers.nft_runs = false;
        let Some(wanted) = state.drivers.nft_wanted.take() else { return };
        state.drivers.nft_seen = self.now;
        if failure(done).is_none() && nft::verify(plan, &wanted, &done.output).is_ok() {
            return self.tell_nft(pool); // what has changed meanwhile
        }
        state.drivers.nft_done = None;
        let text = words::put_right("nft");
        self.say_pool(pool, None, message::Event::PoolDriver, text);
        self.tell_nft(pool);
    }

    fn run_nft(&mut self, pool: usize, what: What, text: &str) {
        // The text is one word: a dollar in it, if there ever is one, means itself.
        let words = ["nft".to_owned(), "-j".to_owned(), text.replace('$', "$$")];
        self.run_for_pool(pool, what, &words, &Values::default());
    }

    fn run_for_pool(&mut self, pool: usize, what: What, words: &[String], values: &Values<'_>) {
        let now = self.now;
        let key = Run { pool, plan: self.reloads, what };
        let environment = self.reactor.children.environment();
        let Ok(mut program) = Program::expanded(words, values, environment) else { return };
        let order =
            Order { program: &mut program, until: now.after(RUN), keep: Keep::All, leave: false };
        self.pools.runner.start(&mut self.reactor, key, order, now);
        self.take_pool_runs();
    }

    pub(in crate::daemon) fn pool_command_ready(&mut self, ready: Ready) {
        let now = self.now;
        self.pools.runner.ready(&mut self.reactor, ready.token, now);
        self.take_pool_runs();
    }

    pub(in crate::daemon) fn pool_command_due(&mut self, token: Token) {
        let now = self.now;
        self.pools.runner.due(&mut self.reactor, token, now);
        self.take_pool_runs();
    }

    fn take_pool_runs(&mut self) {
        while let Some(done) = self.pools.runner.done() {
            let key = done.key;
            if key.plan != self.reloads {
                continue;
            }
            match key.what {
                What::Exchange => self.nft_exchanged(key.pool, &done),
                What::ReadBack => self.nft_read_back(key.pool, &done),
                What::Look => self.nft_looked_at(key.pool, &done),
                What::Tell(member) => self.command_ended_for(key.pool, member, &done),
            }
        }
    }

    fn nft_exchanged(&mut self, pool: usize, done: &Done<Run>) {
        let why = failure(done);
        let Some(plan) = self.plan.pools.get(pool).and_then(|it| it.nft.as_ref()) else { return };
        match why {
            None => {
                let question = nft::question(plan);
                self.run_nft(pool, What::ReadBack, &question);
            }
            Some(why) => self.nft_ended(pool, Err(why)),
        }
    }

    fn nft_read_back(&mut self, pool: usize, done: &Done<Run>) {
        let Some(plan) = self.plan.pools.get(pool).and_then(|it| it.nft.as_ref()) else { return };
        let wanted = self.pools.list.get(pool).and_then(|it| it.drivers.nft_wanted.as_ref());
        let Some(wanted) = wanted else { return };
        let result = match failure(done) {
            Some(why) => Err(why),
            None => nft::verify(plan, wanted, &done.output),
        };
        self.nft_ended(pool, result);
    }

    fn nft_ended(&mut self, pool: usize, result: Result<(), String>) {
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        state.drivers.nft_runs = false;
        state.drivers.nft_seen = self.now;
        let wanted = state.drivers.nft_wanted.take();
        match result {
            Ok(()) => {
                state.drivers.nft_done = wanted;
                self.is_well(pool, "nft");
                self.cut_stragglers(pool);
                self.tell_nft(pool); // what has changed meanwhile
            }
            Err(why) => self.has_trouble(pool, "nft", why),
        }
    }

    // IPVS

    fn tell_ipvs(&mut self, pool: usize) {
        let now = self.now;
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let Some(service) = plan.ipvs else { return };
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let members = plan.members.iter().zip(state.machine.members());
        let mut wanted: Vec<ipvs::Wanted> = members
            .filter_map(|(plan, member)| {
                let face = member.face();
                let weight = share(face, plan.weight).unwrap_or(0);
                let cut = (face.is_out() || member.has_cut()) && state.machine.settings().cut;
                Some(ipvs::Wanted { address: plan.address()?, weight, cut })
            })
            .collect();
        if let Some(address) = fallback(plan, service.is_ipv6()) {
            let acts = state.machine.none_left().is_some();
            wanted.push(ipvs::Wanted { address, weight: 1, cut: !acts });
        }
        let known = state.drivers.ipvs_done.as_ref();
        let fresh = known.is_none_or(|(done, seen)| {
            *done != wanted || now.since(*seen) >= u64::from(LOOK.as_millis())
        });
        if state.drivers.waits("ipvs", now) || !fresh {
            return;
        }
        match ipvs::apply(service, &wanted) {
            Ok(()) => {
                let changed = known.is_none_or(|(done, _)| *done != wanted);
                state.drivers.ipvs_done = Some((wanted, now));
                self.is_well(pool, "ipvs");
                if changed {
                    self.cut_stragglers(pool);
                }
            }
            Err(errno) => self.has_trouble(pool, "ipvs", errno.to_string()),
        }
    }

    // The command

    /// Runs the pool's command for the first member whose face it has not been told.
    fn tell_command(&mut self, pool: usize) {
        let Some(plan) = self.plan.pools.get(pool) else { return };
        let Some(words) = plan.command.clone() else { return };
        let name = plan.name.clone();
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        if state.drivers.telling.is_some() || state.drivers.waits("command", self.now) {
            return;
        }
        let faces = state.machine.members().iter().map(giveover_core::pool::Member::face);
        let unheard: Vec<(usize, Face)> = faces
            .zip(&state.drivers.told)
            .enumerate()
            .filter_map(|(place, (face, told))| {
                told.is_none_or(|told| told != face).then_some((place, face))
            })
            .collect();
        // They take turns.
        let last = state.drivers.told_last;
        let next = unheard.iter().find(|(place, _)| *place > last).or(unheard.first());
        let Some((member, face)) = next.copied() else { return };
        state.drivers.telling = Some((member, face));
        state.drivers.told_last = member;
        let reason = state.members.get(member).map(|it| it.reason.clone()).unwrap_or_default();
        let Some(of_member) = plan.members.get(member) else { return };
        let (of_name, address) = (of_member.name.clone(), of_member.authority());
        let node = self.plan.host.node.clone();
        let values = Values {
            service: Some(&name),
            member: Some(&of_name),
            address: Some(&address),
            node: Some(&node),
            to: Some(face.word()),
            reason: Some(&reason),
            ..Values::default()
        };
        self.run_for_pool(pool, What::Tell(member), &words, &values);
    }

    fn command_ended_for(&mut self, pool: usize, member: usize, done: &Done<Run>) {
        let why = failure(done);
        let Some(state) = self.pools.list.get_mut(pool) else { return };
        let telling = state.drivers.telling.take();
        match why {
            None => {
                if let (Some(told), Some((_, face))) = (state.drivers.told.get_mut(member), telling)
                {
                    *told = Some(face);
                }
                self.is_well(pool, "command");
                self.cut_stragglers(pool);
                self.tell_command(pool);
            }
            Some(why) => self.has_trouble(pool, "command", why),
        }
    }
}

/// A member's share of the work; nothing unless it takes any.
fn share(face: Face, weight: u16) -> Option<u32> {
    match face {
        Face::In { weight: percent } => {
            Some((u32::from(weight) * u32::from(percent)).div_ceil(100).max(1))
        }
        Face::Standby | Face::Busy | Face::Drained | Face::Out(_) => None,
    }
}

/// Where clients are sent when nobody is left, if a balancer of that family can do so.
fn fallback(plan: &PoolPlan, six: bool) -> Option<std::net::SocketAddr> {
    let listen = plan.none_left.as_ref()?.listen;
    (listen.is_ipv6() == six).then_some(listen)
}

fn nft_wanted(plan: &PoolPlan, nft: &NftPlan, pool: &giveover_core::pool::Pool) -> nft::Wanted {
    let mut wanted = nft::Wanted::default();
    if pool.none_left().is_some() {
        let six = plan.members.first().and_then(|it| it.address()).is_some_and(|it| it.is_ipv6());
        wanted.instead = fallback(plan, six);
    }
    for (plan, member) in plan.members.iter().zip(pool.members()) {
        let Some(address) = plan.address() else { continue };
        let face = member.face();
        if let Some(share) = share(face, plan.weight) {
            wanted.works.push((address, share));
        }
        if nft.cut.is_some() && (face.is_out() || member.has_cut()) {
            wanted.cut.push(address);
        }
    }
    wanted
}

/// Why a run was no success.
fn failure(done: &Done<Run>) -> Option<String> {
    let said = || done.line().map(|line| format!(": {line}")).unwrap_or_default();
    match done.end {
        End::Exit(Some(Exit::Status(0))) => None,
        End::Exit(Some(exit)) => Some(format!("{exit}{}", said())),
        End::Exit(None) => Some("nobody knows how it ended".to_owned()),
        End::TimedOut => Some("it took longer than 10 s".to_owned()),
        End::NotRun(error) => Some(format!("it could not be run: {error}")),
        End::Cancelled => Some("it was ended".to_owned()),
    }
}

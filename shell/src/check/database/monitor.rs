//! One database's monitor: what it remembers from probe to probe, and how far the one under way
//! is.

use std::net::SocketAddr;
use std::sync::Arc;

use giveover_core::failure::Phase;
use giveover_core::time::Instant;

use super::link::{Link, Secure};
use super::log::Tail;
use super::plus::Plus;
use super::said::Heard;
use super::session::Session;
use crate::check::ProbeId;
use crate::config::database::{DatabasePlan, Speaks, State};
use crate::config::plan::{Kind, Question, Target};
use crate::reactor::Timer;

/// Of which service and check it is; one that is asked for by a person has one of its own.
pub(super) type Owner = (Box<str>, Box<str>, bool);

/// A monitor.
pub(super) struct Monitor {
    pub(super) owner: Owner,
    pub(super) question: Arc<Question>,
    pub(super) target: Option<Target>,
    pub(super) tail: Option<Tail>,
    pub(super) link: Option<Link>,
    pub(super) secure: Option<Secure>,
    /// Counts the connections: what belongs to an earlier one is late.
    pub(super) links: u32,
    pub(super) at: At,
    pub(super) talk: Talk,
    /// What is still to be sent.
    pub(super) unsent: Vec<u8>,
    /// Addresses that can still be tried.
    pub(super) addresses: Vec<SocketAddr>,
    /// Probes made on this connection.
    pub(super) probes: u32,
    /// The counters as they were seen last.
    pub(super) seen: Option<Box<str>>,
    /// Probes in a row that took too long.
    pub(super) timeouts: u32,
    /// The row that was met last, so that it is told once.
    pub(super) met: Option<usize>,
    pub(super) probe: Option<Probe>,
}

/// The probe under way.
pub(super) struct Probe {
    pub(super) id: ProbeId,
    pub(super) started: Instant,
    pub(super) timer: Timer,
    /// It began on a connection that was there.
    pub(super) reused: bool,
    /// It has made the connection anew.
    pub(super) renewed: bool,
    /// Its log is being read; the database was not asked yet.
    pub(super) reads_log: bool,
    /// The log could not be read.
    pub(super) no_log: bool,
    /// What is to be told with the answer.
    pub(super) said: Vec<String>,
    /// What is to be run in the background.
    pub(super) run: Option<Vec<String>>,
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// There is none.
    Nowhere,
    /// Files it needs are being read.
    Files,
    /// Its address is looked up.
    Resolving,
    /// It is being made.
    Connecting,
    /// The server was asked for TLS.
    AskingTls,
    /// The handshake is under way.
    Shaking,
    /// We are being let in.
    LoggingIn,
    /// Nothing is asked.
    Idle,
    /// It is being looked at.
    Looking,
    /// A table is made and dropped.
    Working,
}

/// In which language.
pub(super) enum Talk {
    Nobody,
    Postgres(Box<Session>),
    Oracle(Box<Plus>),
}

impl Monitor {
    /// A monitor without a connection; `None` if `question` is not about a database.
    pub(super) fn new(
        owner: Owner,
        question: Arc<Question>,
        target: Option<Target>,
    ) -> Option<Self> {
        let plan = plan_of(&question)?;
        // What a person asks for in between leaves the log to the monitor.
        let log = plan.log.as_deref().filter(|_| !owner.2);
        let tail = log.map(|path| Tail::new(path, &plan.rows));
        Some(Self {
            owner,
            tail,
            question,
            target,
            link: None,
            secure: None,
            links: 0,
            at: At::Nowhere,
            talk: Talk::Nobody,
            unsent: Vec::new(),
            addresses: Vec::new(),
            probes: 0,
            seen: None,
            timeouts: 0,
            met: None,
            probe: None,
        })
    }

    pub(super) fn plan(&self) -> Option<&DatabasePlan> {
        plan_of(&self.question)
    }

    /// Whether it is about the same question and target.
    pub(super) fn is_of(&self, question: &Arc<Question>, target: Option<&Target>) -> bool {
        self.target.as_ref() == target
            && (Arc::ptr_eq(&self.question, question) || self.question == *question)
    }

    /// The probe that asks the database something. One that still reads the log does not yet.
    pub(super) fn asking(&self) -> Option<&Probe> {
        self.probe.as_ref().filter(|probe| !probe.reads_log)
    }

    /// Asks for the counters.
    pub(super) fn look(&mut self) {
        let question = Arc::clone(&self.question);
        match (&mut self.talk, plan_of(&question).map(|plan| &plan.speaks)) {
            (Talk::Postgres(session), Some(Speaks::Postgres(login))) => {
                session.look(login.schema.as_deref());
            }
            (Talk::Oracle(plus), _) => plus.look(),
            _ => {}
        }
        self.at = At::Looking;
    }

    /// Has a table made and dropped, if the plan has it written at all.
    pub(super) fn work(&mut self, number: u32) -> bool {
        let question = Arc::clone(&self.question);
        let works = match (&mut self.talk, plan_of(&question).map(|plan| &plan.speaks)) {
            (Talk::Postgres(session), Some(Speaks::Postgres(login))) => match &login.schema {
                Some(schema) => {
                    session.work(schema, number);
                    true
                }
                None => false,
            },
            (Talk::Oracle(plus), Some(Speaks::Oracle(login))) if login.writes => {
                plus.work();
                true
            }
            _ => false,
        };
        if works {
            self.at = At::Working;
        }
        works
    }

    /// Says goodbye, as far as there is room for it.
    pub(super) fn say_goodbye(&mut self) {
        match &mut self.talk {
            Talk::Postgres(session) => session.leave(),
            Talk::Oracle(plus) => plus.leave(),
            Talk::Nobody => {}
        }
        self.gather();
        if let Some(link) = &self.link {
            let _ = link.send(&self.unsent);
        }
    }

    /// Puts what the session has to say where it is sent from.
    pub(super) fn gather(&mut self) {
        let words = match &mut self.talk {
            Talk::Postgres(session) => session.words().to_vec(),
            Talk::Oracle(plus) => plus.words(),
            Talk::Nobody => Vec::new(),
        };
        match &mut self.secure {
            Some(secure) => secure.wrap(&words, &mut self.unsent),
            None => self.unsent.extend_from_slice(&words),
        }
    }

    /// Takes what arrived for the session.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        match &mut self.talk {
            Talk::Postgres(session) => session.take(bytes),
            Talk::Oracle(plus) => plus.take(bytes),
            Talk::Nobody => {}
        }
    }

    /// The next thing the session heard.
    pub(super) fn next(&mut self) -> Heard {
        match &mut self.talk {
            Talk::Postgres(session) => session.next(),
            Talk::Oracle(plus) => plus.next(),
            Talk::Nobody => Heard::More,
        }
    }
}

impl At {
    /// The connection's state, as rows of the table of errors name it.
    pub(super) const fn state(self) -> State {
        match self {
            Self::Idle | Self::Looking | Self::Working => State::Online,
            _ => State::Connecting,
        }
    }

    /// The phase that a failure here belongs to.
    pub(super) const fn phase(self) -> Phase {
        match self {
            Self::Resolving => Phase::Resolve,
            Self::Nowhere | Self::Files | Self::Connecting => Phase::Connect,
            Self::AskingTls | Self::Shaking => Phase::Tls,
            Self::LoggingIn | Self::Idle | Self::Looking | Self::Working => Phase::Read,
        }
    }
}

fn plan_of(question: &Question) -> Option<&DatabasePlan> {
    match &question.kind {
        Kind::Database(plan) => Some(plan),
        _ => None,
    }
}

//! The files that checks need beside their plan: authorities and passwords.
//!
//! Each may lie where nothing answers, so it is read beside the loop, again for each probe that needs
//! it: that probe waits, and nobody else.

use std::collections::BTreeMap;

use giveover_core::failure::Phase;
use giveover_core::time::Instant;

use super::outcome::Outcome;
use super::secret::{self, NoSecret, Secret};
use super::tls::{Trusted, trust_of, unreadable_yet};
use crate::config::plan::{Kind, Plan};
use crate::reactor::{Kept, Reactor};

/// Files that were needed so far.
#[derive(Debug, Default)]
pub struct Files {
    /// Whom checks in TLS trust.
    pub trusted: Trusted,
    /// Files of passwords by their names.
    passwords: BTreeMap<Box<str>, Password>,
}

type Password = Kept<Result<Secret, NoSecret>>;

impl Files {
    /// Those that the checks of `plan` need. What this host trusts is read at once, the others when
    /// they are asked for.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let names = plan.checks().filter_map(|check| check.kind.password_file());
        let passwords = names.map(|name| (name.into(), Password::default())).collect();
        Self { trusted: Trusted::of(plan), passwords }
    }

    /// The same for somebody else, who asks with threads of his own.
    #[must_use]
    pub fn again(&self) -> Self {
        let names = self.passwords.keys().cloned();
        let passwords = names.map(|name| (name, Password::default())).collect();
        Self { trusted: self.trusted.again(), passwords }
    }

    /// Takes up those of another plan. What was read of files that both name stays.
    pub fn exchange(&mut self, reactor: &Reactor, other: Self) {
        self.trusted.exchange(reactor, other.trusted);
        for (name, mut before) in std::mem::replace(&mut self.passwords, other.passwords) {
            match self.passwords.get_mut(&name) {
                Some(file) => *file = before,
                None => before.let_go(reactor),
            }
        }
    }

    /// Has the files that a check of this kind needs looked at again. True if that is to be waited
    /// for: the loop will wake with [`crate::reactor::Room::Resolver`].
    pub fn ask(&mut self, reactor: &Reactor, kind: &Kind, now: Instant) -> bool {
        let trust = trust_of(kind).is_some_and(|trust| self.trusted.ask(reactor, trust, now));
        let Some(name) = kind.password_file() else { return trust };
        if !self.passwords.contains_key(name) {
            self.passwords.insert(name.into(), Password::default());
        }
        let Some(file) = self.passwords.get_mut(name) else { return trust };
        let reader = || {
            let name = name.to_owned();
            move || secret::read(&name)
        };
        let password = file.ask(reactor, "password", now, reader).unwrap_or_else(|_| {
            file.set(Err(NoSecret::Unreadable));
            false
        });
        trust || password
    }

    /// Whether a file that a check of this kind needs is being read.
    #[must_use]
    pub fn is_reading(&self, kind: &Kind) -> bool {
        let trust = trust_of(kind).is_some_and(|trust| self.trusted.is_reading(trust));
        trust || self.password(kind).is_some_and(Kept::is_reading)
    }

    /// Takes what was read. True if anything was.
    pub fn hear(&mut self) -> bool {
        let mut any = self.trusted.hear();
        for file in self.passwords.values_mut() {
            any |= file.hear();
        }
        any
    }

    /// Whether something is known of each file that a check of this kind needs, however old.
    #[must_use]
    pub fn knows(&self, kind: &Kind) -> bool {
        let knows =
            |name: &str| self.passwords.get(name).is_some_and(|file| file.known().is_some());
        let password = kind.password_file().is_none_or(knows);
        password && trust_of(kind).is_none_or(|trust| self.trusted.knows(trust))
    }

    /// A file that a check of this kind needs does not answer: our own lack, which says nothing of the
    /// server.
    #[must_use]
    pub fn silent(&self, kind: &Kind) -> Outcome {
        let waits = |trust| self.trusted.is_reading(trust) || !self.trusted.knows(trust);
        match trust_of(kind).is_some_and(waits) {
            true => unreadable_yet(),
            false => lacking(NoSecret::Silent),
        }
    }

    /// The password that a check of this kind gives, as it was read last; `None` if it gives none.
    ///
    /// # Errors
    /// It could not be had, or was not read yet: our own lack.
    pub fn secret(&self, kind: &Kind) -> Result<Option<Secret>, Outcome> {
        if kind.password_file().is_none() {
            return Ok(None);
        }
        match self.password(kind).and_then(Kept::known) {
            Some(Ok(secret)) => Ok(Some(secret.clone())),
            Some(Err(why)) => Err(lacking(*why)),
            None => Err(lacking(NoSecret::Silent)),
        }
    }

    fn password(&self, kind: &Kind) -> Option<&Password> {
        self.passwords.get(kind.password_file()?)
    }
}

fn lacking(why: NoSecret) -> Outcome {
    Outcome::Lacking { phase: Phase::Answer, code: why.code() }
}

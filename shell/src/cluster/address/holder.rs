//! The daemon's end: the process of one group started, asked, and heard.

use std::collections::VecDeque;

use giveover_core::peer::Taken;
use giveover_core::time::Instant;
use rustix::io::Errno;

use super::super::steps::{Done, Held, Step};
use super::process::VERB;
use super::words::{Ask, Lines, Told};
use crate::reactor::{Coprocess, Program, Reactor, Token};

/// So long it may be busy with the kernel and with commands.
const SILENCE_MS: u64 = 10_000;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Of a step, or by itself.
    Done(Done),
    /// For people.
    Said(String),
}

/// The holder of one group's addresses. Its process is started with the first step, and anew with
/// the next after it has ended.
#[derive(Debug)]
pub struct Holder {
    program: String,
    held: Held,
    token: Token,
    process: Option<Coprocess>,
    lines: Lines,
    /// What it has not taken yet.
    unsent: Vec<u8>,
    /// What it owes an answer for.
    asked: Option<Asked>,
    /// Since when it owes us a word.
    silent_since: Option<Instant>,
    /// It has said that the addresses are up, and nothing else since.
    up: bool,
    news: VecDeque<News>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Take,
    Drop,
}

impl Holder {
    /// For the addresses of `held`; whose token this is is woken for [`Holder::ready`]. `program`
    /// is this one: `/proc/self/exe`.
    #[must_use]
    pub fn new(program: &str, held: Held, token: Token) -> Self {
        Self {
            program: program.to_owned(),
            held,
            token,
            process: None,
            lines: Lines::default(),
            unsent: Vec::new(),
            asked: None,
            silent_since: None,
            up: false,
            news: VecDeque::new(),
        }
    }

    /// What came since it was asked last, the oldest first.
    pub fn news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Asks for a step, at `now`.
    pub fn step(&mut self, reactor: &mut Reactor, step: Step, now: Instant) {
        match step {
            Step::Take { .. } => self.asked = Some(Asked::Take),
            Step::Drop { .. } => self.asked = Some(Asked::Drop),
            // What is not up is neither renewed nor announced.
            Step::Renew { .. } | Step::Announce if self.process.is_none() => return,
            Step::Renew { .. } | Step::Announce => {}
        }
        if self.process.is_none() {
            if let Err(why) = self.start(reactor) {
                self.news.push_back(News::Said(why));
                return self.is_over(reactor);
            }
        }
        if step != Step::Announce {
            self.silent_since.get_or_insert(now);
        }
        self.unsent.extend_from_slice(Ask::Step(step).line().as_bytes());
        self.send(reactor);
    }

    /// To be called now and then: a process that says nothing for long is killed. What it holds
    /// lapses, and the next step starts another.
    pub fn look_after(&mut self, reactor: &mut Reactor, now: Instant) {
        let silent = self.silent_since.is_some_and(|since| now.since(since) > SILENCE_MS);
        if silent && self.process.is_some() {
            self.is_over(reactor);
        }
    }

    fn start(&mut self, reactor: &mut Reactor) -> Result<(), String> {
        let environment = reactor.children.environment().clone();
        let words = [self.program.as_str(), VERB];
        let mut program = Program::new(&words, &environment).map_err(|error| error.to_string())?;
        let process = Coprocess::start(reactor, &mut program, self.token)
            .map_err(|error| format!("nobody holds addresses: {error}"))?;
        self.process = Some(process);
        self.lines = Lines::default();
        self.unsent = Ask::Hold(self.held.clone()).line().into_bytes();
        Ok(())
    }

    /// Its process says something, has room, or has ended.
    pub fn ready(&mut self, reactor: &mut Reactor) {
        self.send(reactor);
        let mut buffer = [0; 4096];
        // A holder that never stops talking has its turns, as others have.
        for _ in 0..16 {
            let Some(process) = &self.process else { return };
            match process.receive(&mut buffer) {
                Ok(0) => return self.is_over(reactor),
                Ok(length) => {
                    self.silent_since = None;
                    let lines = self.lines.take(buffer.get(..length).unwrap_or_default());
                    lines.iter().filter_map(|line| Told::parse(line)).for_each(|it| self.hear(it));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return self.is_over(reactor),
            }
        }
    }

    fn hear(&mut self, told: Told) {
        match told {
            Told::Ready | Told::Alive => {}
            Told::Said(text) | Told::Unable(text) => self.news.push_back(News::Said(text)),
            Told::Done(done) => {
                let answers = match done {
                    Done::Taken(_) => Some(Asked::Take),
                    Done::Dropped { .. } => Some(Asked::Drop),
                    Done::Lost => None,
                };
                // Of something that was called off: what was asked last is answered, and no more.
                if answers.is_some() && answers != self.asked {
                    return;
                }
                if answers.is_some() {
                    self.asked = None;
                }
                self.up = done == Done::Taken(Taken::Up);
                self.news.push_back(News::Done(done));
            }
        }
    }

    fn send(&mut self, reactor: &mut Reactor) {
        while let Some(process) = self.process.as_ref().filter(|_| !self.unsent.is_empty()) {
            match process.send(&self.unsent) {
                Ok(length) => drop(self.unsent.drain(..length.min(self.unsent.len()))),
                Err(Errno::INTR) => {}
                // There will be room, or its end is heard.
                Err(Errno::AGAIN | Errno::PIPE) => return,
                Err(_) => return self.is_over(reactor),
            }
        }
    }

    /// Its process is gone, and let go of what it held; or was killed, and the kernel will.
    fn is_over(&mut self, reactor: &mut Reactor) {
        if let Some(process) = self.process.take() {
            process.end(reactor);
            self.news.push_back(News::Said("the holder of addresses has ended".to_owned()));
        }
        self.unsent.clear();
        self.silent_since = None;
        let done = match self.asked.take() {
            Some(Asked::Take) => Some(Done::Taken(Taken::Failed)),
            Some(Asked::Drop) => Some(Done::Dropped { ok: false }),
            None => self.up.then_some(Done::Lost),
        };
        self.up = false;
        self.news.extend(done.map(News::Done));
    }

    /// The daemon ends. What is still held is let go of in order, since nobody asks any more; that
    /// is not waited for.
    pub fn close(&mut self) {
        self.process = None;
    }
}

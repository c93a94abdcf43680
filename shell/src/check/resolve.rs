//! Names to addresses, off the loop.
//!
//! `getaddrinfo` blocks for as long as it likes, so it runs on a thread of its own, which is
//! started when the first name is asked for. It tells no time to live either: an answer is
//! good for [`GOOD_FOR`], and the last good one is kept while lookups fail, because a resolver
//! that hiccups is no reason to restart everything that has a name.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use giveover_core::time::{Instant, Span};
use mio::Interest;
use mio::unix::SourceFd;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use super::outcome::code;
use crate::reactor::{Reactor, Room, Token};

/// How long an answer is used without asking again.
pub const GOOD_FOR: Span = Span::from_secs(30);
/// How long a failed lookup is not repeated: many checks may share a name.
const BAD_FOR: Span = Span::from_secs(1);
/// More addresses of one name are not tried.
const ADDRESSES: usize = 16;

/// How a name is looked up: [`system`], or what a test puts in its place.
pub type LookUp = fn(&str) -> io::Result<Vec<IpAddr>>;

/// The names in use and what is known of them.
pub struct Resolver {
    names: HashMap<Box<str>, Name>,
    look_up: LookUp,
    helper: Option<Helper>,
    notices: Vec<NameNotice>,
}

/// What is known of a name when it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its addresses, in the order to try them; at least one.
    Addresses(Arc<[IpAddr]>),
    /// It is being looked up; these were its addresses before.
    Soon(Option<Arc<[IpAddr]>>),
    /// It has none, with an errno for why.
    Nothing(u16),
}

/// A name began to fail, or resolves again. Worth one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameNotice {
    /// The name.
    pub name: Box<str>,
    /// Why it fails, as an errno; `None`: it resolves again.
    pub failing: Option<u16>,
    /// An earlier answer is still in use.
    pub kept: bool,
}

#[derive(Default)]
struct Name {
    good: Option<(Arc<[IpAddr]>, Instant)>,
    /// Of several addresses, the one that answered last.
    chosen: Option<IpAddr>,
    failed: Option<(u16, Instant)>,
    asked: bool,
}

/// The thread, seen from the loop.
struct Helper {
    requests: Sender<Box<str>>,
    replies: Receiver<Reply>,
    /// Rung after each reply.
    bell: Arc<OwnedFd>,
}

struct Reply {
    name: Box<str>,
    answer: Result<Vec<IpAddr>, u16>,
}

impl Resolver {
    /// A resolver that knows nothing yet and has no thread.
    #[must_use]
    pub fn new(look_up: LookUp) -> Self {
        Self { names: HashMap::new(), look_up, helper: None, notices: Vec::new() }
    }

    /// What is known of `name`. If that is not enough, a lookup is on its way: the loop will
    /// wake with [`Room::Resolver`].
    pub fn look_up(&mut self, reactor: &Reactor, name: &str, now: Instant) -> Known {
        if !self.names.contains_key(name) {
            self.names.insert(name.into(), Name::default());
        }
        let Some(entry) = self.names.get_mut(name) else { return Known::Nothing(0) };
        if let Some(known) = entry.known(now) {
            return known;
        }
        if !entry.asked {
            if let Err(errno) = ask(&mut self.helper, self.look_up, reactor, name) {
                entry.failed = Some((code(errno), now));
                return entry.or_kept(code(errno));
            }
            entry.asked = true;
        }
        Known::Soon(entry.kept())
    }

    /// The addresses `name` had before, if it had any.
    #[must_use]
    pub fn kept(&self, name: &str) -> Known {
        match self.names.get(name).and_then(Name::kept) {
            Some(addresses) => Known::Addresses(addresses),
            None => Known::Soon(None),
        }
    }

    /// Of the addresses of `name`, this one has answered.
    pub fn choose(&mut self, name: &str, address: IpAddr) {
        if let Some(entry) = self.names.get_mut(name) {
            entry.chosen = Some(address);
        }
    }

    /// The address of `name` that answered last, and how many it has, where it has several.
    #[must_use]
    pub fn chosen(&self, name: &str) -> Option<(IpAddr, usize)> {
        let entry = self.names.get(name)?;
        let (addresses, _) = entry.good.as_ref()?;
        let chosen = entry.chosen.filter(|chosen| addresses.contains(chosen))?;
        (addresses.len() > 1).then_some((chosen, addresses.len()))
    }

    /// Takes what the thread has found out; each name is then handed to `each`.
    pub fn hear(&mut self, now: Instant, mut each: impl FnMut(&str, Known)) {
        let Some(helper) = &self.helper else { return };
        // The bell only says that something is there; replies are counted by the channel.
        let _ = rustix::io::read(&*helper.bell, &mut [0; 8]);
        for Reply { name, answer } in helper.replies.try_iter() {
            let Some(entry) = self.names.get_mut(&name) else { continue };
            let failed_before = entry.failed.is_some();
            let known = entry.learn(answer, now);
            if entry.failed.is_some() != failed_before {
                let failing = entry.failed.map(|(code, _)| code);
                let kept = failing.is_some() && entry.good.is_some();
                // Only the newest of a name is news, and nobody need ever ask.
                self.notices.retain(|notice| notice.name != name);
                self.notices.push(NameNotice { name: name.clone(), failing, kept });
            }
            each(&name, known);
        }
    }

    /// Names that began to fail or resolve again since this was last asked.
    pub fn notices(&mut self) -> std::vec::Drain<'_, NameNotice> {
        self.notices.drain(..)
    }
}

impl Name {
    /// What can be said without asking.
    fn known(&self, now: Instant) -> Option<Known> {
        if let Some((code, at)) = self.failed {
            let recent = now.since(at) < u64::from(BAD_FOR.as_millis());
            return (recent && !self.asked).then(|| self.or_kept(code));
        }
        let (addresses, at) = self.good.as_ref()?;
        let fresh = now.since(*at) < u64::from(GOOD_FOR.as_millis());
        fresh.then(|| Known::Addresses(addresses.clone()))
    }

    fn kept(&self) -> Option<Arc<[IpAddr]>> {
        self.good.as_ref().map(|(addresses, _)| addresses.clone())
    }

    fn or_kept(&self, code: u16) -> Known {
        self.kept().map_or(Known::Nothing(code), Known::Addresses)
    }

    fn learn(&mut self, answer: Result<Vec<IpAddr>, u16>, now: Instant) -> Known {
        self.asked = false;
        let code = match answer {
            Ok(addresses) if !addresses.is_empty() => {
                let addresses: Arc<[IpAddr]> = interleaved(&addresses).into();
                (self.good, self.failed) = (Some((addresses.clone(), now)), None);
                return Known::Addresses(addresses);
            }
            Ok(_) => code(Errno::NOENT),
            Err(code) => code,
        };
        self.failed = Some((code, now));
        self.or_kept(code)
    }
}

/// Hands `name` to the thread, which is started if there is none.
fn ask(
    helper: &mut Option<Helper>,
    look_up: LookUp,
    reactor: &Reactor,
    name: &str,
) -> Result<(), Errno> {
    let running = match helper {
        Some(running) => running,
        none => none.insert(Helper::start(look_up, reactor)?),
    };
    // The thread ends only when we drop the sender.
    running.requests.send(name.into()).map_err(|_| Errno::AGAIN)
}

impl Helper {
    fn start(look_up: LookUp, reactor: &Reactor) -> Result<Self, Errno> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (requests, names) = channel::<Box<str>>();
        let (answers, replies) = channel();
        let errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
        let token = Token::new(Room::Resolver, 0, 0);
        reactor.add(&mut SourceFd(&bell.as_raw_fd()), token, Interest::READABLE).map_err(errno)?;
        let ring = bell.clone();
        let work = move || {
            for name in names {
                let answer = look_up(&name).map_err(|error| why(&error));
                if answers.send(Reply { name, answer }).is_err() {
                    return;
                }
                let _ = rustix::io::write(&*ring, &1_u64.to_ne_bytes());
            }
        };
        match std::thread::Builder::new().name("resolver".into()).spawn(work) {
            Ok(_) => Ok(Self { requests, replies, bell }),
            Err(error) => {
                reactor.remove(&mut SourceFd(&bell.as_raw_fd()));
                Err(errno(error))
            }
        }
    }
}

/// Asks the system, as every program on this host does.
///
/// # Errors
/// Those of `getaddrinfo`.
pub fn system(name: &str) -> io::Result<Vec<IpAddr>> {
    Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
}

/// An errno for a failed lookup. `getaddrinfo` has numbers of its own, which the standard
/// library turns into text only; what matters is whether a name server answered.
fn why(error: &io::Error) -> u16 {
    if let Some(errno) = Errno::from_io_error(error) {
        return code(errno);
    }
    let text = error.to_string();
    let temporary = ["emporary failure", "ry again"].iter().any(|part| text.contains(part));
    code(if temporary { Errno::AGAIN } else { Errno::NOENT })
}

/// The addresses with their families taking turns, beginning with the first one's; what is
/// named twice is kept once.
fn interleaved(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let first = addresses.first().is_some_and(IpAddr::is_ipv6);
    let mut ones = addresses.iter().filter(|address| address.is_ipv6() == first);
    let mut others = addresses.iter().filter(|address| address.is_ipv6() != first);
    let mut turns = Vec::with_capacity(addresses.len().min(ADDRESSES));
    loop {
        let (one, other) = (ones.next(), others.next());
        if one.is_none() && other.is_none() {
            return turns;
        }
        for address in [one, other].into_iter().flatten() {
            if turns.len() < ADDRESSES && !turns.contains(address) {
                turns.push(*address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn learn(name: &mut Name, answer: Result<&[&str], Errno>, now: u64) -> Known {
        let answer = answer.map(|list| list.iter().map(|text| ip(text)).collect()).map_err(code);
        name.learn(answer, at(now))
    }

    #[test]
    fn families_take_turns_beginning_with_the_first() {
        let list = ["2001:db8::1", "2001:db8::2", "2001:db8::1", "192.0.2.1", "192.0.2.2"].map(ip);
        let expected = ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2"].map(ip);
        assert_eq!(interleaved(&list), expected);
        assert!(interleaved(&[]).is_empty());
    }

    #[test]
    fn an_answer_is_good_for_30_s_and_then_asked_for_again() {
        let mut name = Name::default();
        assert_eq!(name.known(at(0)), None);
        let known = learn(&mut name, Ok(&["192.0.2.1"]), 1_000);
        assert_eq!(name.known(at(30_999)), Some(known.clone()));
        assert_eq!(name.known(at(31_000)), None);
        assert_eq!(Known::Soon(name.kept()), Known::Soon(Some([ip("192.0.2.1")].into())));
    }

    #[test]
    fn the_last_good_answer_is_kept_while_lookups_fail() {
        let mut name = Name::default();
        let nothing = Known::Nothing(code(Errno::AGAIN));
        assert_eq!(learn(&mut name, Err(Errno::AGAIN), 0), nothing);
        assert_eq!(name.known(at(999)), Some(nothing));
        assert_eq!(name.known(at(1_000)), None);
        let good = learn(&mut name, Ok(&["192.0.2.1"]), 1_000);
        assert_eq!(learn(&mut name, Err(Errno::AGAIN), 40_000), good);
        assert_eq!(name.known(at(40_999)), Some(good));
        assert_eq!(name.known(at(41_000)), None);
    }

    #[test]
    fn a_name_without_addresses_is_no_such_name() {
        assert_eq!(learn(&mut Name::default(), Ok(&[]), 0), Known::Nothing(code(Errno::NOENT)));
        let error = io::Error::other("failed to lookup: Temporary failure in name resolution");
        assert_eq!(why(&error), code(Errno::AGAIN));
        assert_eq!(why(&io::Error::other("Name or service not known")), code(Errno::NOENT));
    }

    #[test]
    fn a_lookup_wakes_the_loop_and_is_made_once() {
        let mut reactor = Reactor::new().expect("a reactor");
        let mut resolver = Resolver::new(|name| match name {
            "two.test" => Ok(vec![ip("127.0.0.2"), ip("127.0.0.1")]),
            _ => Err(io::Error::other("Name or service not known")),
        });
        for name in ["two.test", "none.test", "two.test"] {
            assert_eq!(resolver.look_up(&reactor, name, at(0)), Known::Soon(None));
        }
        let (mut heard, mut ready) = (Vec::new(), Vec::new());
        while heard.len() < 2 {
            reactor.wait(None, &mut ready).expect("a wake-up");
            assert!(ready.iter().all(|ready| ready.token.room == Room::Resolver));
            resolver.hear(at(5), |name, known| heard.push((name.to_owned(), known)));
        }
        let addresses = Known::Addresses([ip("127.0.0.2"), ip("127.0.0.1")].into());
        let nothing = Known::Nothing(code(Errno::NOENT));
        let expected =
            [("two.test".to_owned(), addresses.clone()), ("none.test".to_owned(), nothing)];
        assert_eq!(heard, expected);
        assert_eq!(resolver.look_up(&reactor, "two.test", at(6)), addresses);
        let notices: Vec<_> = resolver.notices().map(|notice| notice.name).collect();
        assert_eq!(notices, ["none.test".into()]);
    }
}

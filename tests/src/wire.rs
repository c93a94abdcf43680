//! A wire between nodes that is late, loses, doubles and reorders: a host between them, through which
//! each datagram and each connection of theirs goes.
//!
//! Every node sees every other one at an address of the wire's own, by a name that its `/etc/hosts`
//! has; what it says there comes to the other one from where that one sees it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::PATIENCE;
use crate::lan::Lan;

/// The host that is the wire.
pub const HOST: &str = "wire";

/// Where nodes hear each other.
const PORT: u16 = 9706;

/// More than this is on its way at no time; what comes then is lost.
const MOST: usize = 4096;

/// Whoever waits looks this often whether it is all over.
const LOOK: Duration = Duration::from_millis(100);

/// What becomes of what is said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// All of it is late by this.
    pub delay: Duration,
    /// And by up to this more, each datagram by as much as chance wants: so they overtake.
    pub jitter: Duration,
    /// Of a hundred datagrams so many come twice.
    pub doubled: u64,
    /// And so many never.
    pub lost: u64,
}

/// What was done to datagrams so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// They came.
    pub carried: AtomicU64,
    /// They came after one that was sent later.
    pub overtaken: AtomicU64,
    /// They came twice.
    pub doubled: AtomicU64,
    /// They never came.
    pub lost: AtomicU64,
}

/// The wire; it carries until it is dropped.
pub struct Wire {
    post: Arc<Post>,
    threads: Vec<JoinHandle<()>>,
    nodes: u8,
}

struct Post {
    weather: Mutex<Weather>,
    counts: Counts,
    queue: Mutex<BinaryHeap<Reverse<Letter>>>,
    more: Condvar,
    over: AtomicBool,
}

/// A datagram on its way, the one that is due first before the others.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Letter {
    due: Instant,
    /// In which order they were sent.
    number: u64,
    way: usize,
    bytes: Vec<u8>,
}

/// From one node to another.
struct Way {
    /// Where the first sees the other.
    ear: UdpSocket,
    /// Where the other is.
    to: SocketAddr,
    /// The way back, whose ear is where the other sees the first.
    back: usize,
}

/// Where `viewer` sees `seen`, by their numbers on the network.
fn address(viewer: u8, seen: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 100 + 10 * viewer + seen)
}

fn real(node: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, node)
}

/// The name of a node.
#[must_use]
pub fn name(node: u8) -> String {
    format!("node{node}.wire.test")
}

impl Wire {
    /// Between the first `nodes` hosts of `lan`, of which [`HOST`] is one behind them.
    ///
    /// # Panics
    /// The kernel refuses.
    #[must_use]
    pub fn between(lan: &Lan, nodes: u8) -> Self {
        let pairs: Vec<(u8, u8)> = (1..=nodes)
            .flat_map(|viewer| (1..=nodes).map(move |seen| (viewer, seen)))
            .filter(|(viewer, seen)| viewer != seen)
            .collect();
        for (viewer, seen) in &pairs {
            lan.ip(HOST, &format!("addr add {}/24 dev eth0", address(*viewer, *seen)));
        }
        let post = Arc::new(Post {
            weather: Mutex::default(),
            counts: Counts::default(),
            queue: Mutex::default(),
            more: Condvar::new(),
            over: AtomicBool::new(false),
        });
        let (enter, carrier) = (lan.door(HOST), Arc::clone(&post));
        let (laying, laid) = channel();
        // What this thread starts is on that host too.
        let thread = std::thread::spawn(move || {
            enter();
            let threads = lay(&carrier, &pairs);
            laying.send(()).expect("somebody waits");
            for thread in threads {
                let _ = thread.join();
            }
        });
        laid.recv_timeout(PATIENCE).expect("it is laid");
        Self { post, threads: vec![thread], nodes }
    }

    /// What becomes of what is said from now on.
    pub fn set(&self, weather: Weather) {
        *self.post.weather.lock().unwrap_or_else(PoisonError::into_inner) = weather;
    }

    /// What was done to datagrams so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.post.counts
    }

    /// The lines of `/etc/hosts` that a node needs: itself, and the others as it sees them.
    #[must_use]
    pub fn hosts(&self, viewer: u8) -> String {
        let mut text = "127.0.0.1 localhost\n".to_owned();
        for node in 1..=self.nodes {
            let at = if node == viewer { real(node) } else { address(viewer, node) };
            let _ = writeln!(text, "{at} {}", name(node)); // to a string: it cannot fail
        }
        text
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.post.over.store(true, Ordering::Relaxed);
        self.post.more.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Begins to carry between each of `pairs`.
fn lay(post: &Arc<Post>, pairs: &[(u8, u8)]) -> Vec<JoinHandle<()>> {
    let way = |(viewer, seen): &(u8, u8)| Way {
        ear: UdpSocket::bind((address(*viewer, *seen), PORT)).expect("a port"),
        to: SocketAddr::from((real(*seen), PORT)),
        back: pairs.iter().position(|pair| *pair == (*seen, *viewer)).expect("both ways"),
    };
    let ways: Arc<Vec<Way>> = Arc::new(pairs.iter().map(way).collect());
    let mut threads = Vec::new();
    for (number, (viewer, seen)) in pairs.iter().enumerate() {
        let (post, ways) = (Arc::clone(post), Arc::clone(&ways));
        let from = real(*viewer);
        let listener = TcpListener::bind((address(*viewer, *seen), PORT)).expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let (to, accepting) = (ways[number].to, Arc::clone(&post));
        threads.push(std::thread::spawn(move || hear(&post, &ways, number, from)));
        threads.push(std::thread::spawn(move || accept(&accepting, &listener, to)));
    }
    let post = Arc::clone(post);
    threads.push(std::thread::spawn(move || carry(&post, &ways)));
    threads
}

/// Takes what one node says to another.
fn hear(post: &Post, ways: &[Way], number: usize, from: Ipv4Addr) {
    let way = &ways[number];
    way.ear.set_read_timeout(Some(LOOK)).expect("a socket");
    let mut chance = Chance(number as u64 + 1);
    let mut sent = 0;
    let mut buffer = [0; 2048];
    while !post.over.load(Ordering::Relaxed) {
        let Ok((length, by)) = way.ear.recv_from(&mut buffer) else { continue };
        if by.ip() != from {
            continue;
        }
        let weather = post.weather();
        if chance.percent(weather.lost) {
            post.counts.lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let twice = chance.percent(weather.doubled);
        post.counts.doubled.fetch_add(u64::from(twice), Ordering::Relaxed);
        for _ in 0..1 + usize::from(twice) {
            sent += 1;
            let due = Instant::now() + weather.delay + chance.part_of(weather.jitter);
            let bytes = buffer[..length].to_vec();
            post.send(Letter { due, number: sent, way: number, bytes });
        }
    }
}

/// Delivers what is due.
fn carry(post: &Post, ways: &[Way]) {
    let mut newest = vec![0; ways.len()];
    let mut queue = post.queue.lock().unwrap_or_else(PoisonError::into_inner);
    while !post.over.load(Ordering::Relaxed) {
        let now = Instant::now();
        let wait = queue.peek().map_or(LOOK, |Reverse(it)| it.due.saturating_duration_since(now));
        if !wait.is_zero() {
            let waited = post.more.wait_timeout(queue, wait.min(LOOK));
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        let Some(Reverse(letter)) = queue.pop() else { continue };
        let way = &ways[letter.way];
        // A node that is not there refuses; that is no concern of the wire's.
        let _ = ways[way.back].ear.send_to(&letter.bytes, way.to);
        post.counts.carried.fetch_add(1, Ordering::Relaxed);
        let newest = &mut newest[letter.way];
        if letter.number < *newest {
            post.counts.overtaken.fetch_add(1, Ordering::Relaxed);
        }
        *newest = letter.number.max(*newest);
    }
}

impl Post {
    fn weather(&self) -> Weather {
        *self.weather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, letter: Letter) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() < MOST {
            queue.push(Reverse(letter));
            self.more.notify_all();
        } else {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Takes connections and leads each on to where it was meant to go.
fn accept(post: &Arc<Post>, listener: &TcpListener, to: SocketAddr) {
    while !post.over.load(Ordering::Relaxed) {
        let Ok((client, _)) = listener.accept() else {
            std::thread::park_timeout(LOOK / 5);
            continue;
        };
        let post = Arc::clone(post);
        std::thread::spawn(move || {
            let server = TcpStream::connect_timeout(&to, Duration::from_secs(2));
            if let Ok(server) = server {
                lead(&post, &client, &server);
            }
        });
    }
}

/// Both directions of a connection, each late by as much as the weather wants.
fn lead(post: &Arc<Post>, client: &TcpStream, server: &TcpStream) {
    for (from, to) in [(client, server), (server, client)] {
        let (from, to) = (from.try_clone().expect("a copy"), to.try_clone().expect("a copy"));
        from.set_nonblocking(false).expect("a socket");
        from.set_read_timeout(Some(LOOK)).expect("a socket");
        let (says, said) = sync_channel(64);
        let (reading, writing) = (Arc::clone(post), Arc::clone(post));
        std::thread::spawn(move || read(&reading, from, &says));
        std::thread::spawn(move || write(&writing, to, &said));
    }
}

fn read(post: &Post, mut from: TcpStream, says: &SyncSender<(Instant, Vec<u8>)>) {
    let mut chance = Chance(7);
    let mut buffer = [0; 4096];
    while !post.over.load(Ordering::Relaxed) {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => {
                let weather = post.weather();
                let due = Instant::now() + weather.delay + chance.part_of(weather.jitter);
                if says.send((due, buffer[..length].to_vec())).is_err() {
                    return;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}

fn write(post: &Post, mut to: TcpStream, said: &Receiver<(Instant, Vec<u8>)>) {
    while let Ok((due, bytes)) = said.recv() {
        while Instant::now() < due && !post.over.load(Ordering::Relaxed) {
            std::thread::park_timeout(due.saturating_duration_since(Instant::now()).min(LOOK));
        }
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Chance that comes again: xorshift64.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn percent(&mut self, percent: u64) -> bool {
        (self.next() >> 16) % 100 < percent
    }

    fn part_of(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros((self.next() >> 16) % (most + 1))
    }
}

//! Failovers one after the other, measured: how long until the other has what moves, and whether
//! two ever had it at once.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cluster::{Cluster, wait_long};
use crate::pair::Pair;
use crate::{is_running, signal_to};

/// Keys of `[cluster]`; `interval` is the usual one.
const TIMES: &str = "heartbeat = \"500ms\"\nlease = \"3s\"\nwait = \"5500ms\"";
const WAIT: Duration = Duration::from_millis(5500);
/// What is promised: `wait`, one interval, and a second.
pub const PROMISE: Duration = Duration::from_millis(5500 + 10_000 + 1000);

/// So often a failover that this machine disturbed is made again before that is an error too.
const MOST_DISTURBED: usize = 10;

/// A wait this much longer than asked for means that nobody ran here for a while.
const PAUSE: Duration = Duration::from_millis(500);

/// One failover.
#[derive(Clone, Copy, Debug)]
pub struct Failover {
    /// What was done to who was active.
    pub how: How,
    /// From then until the other had it.
    pub took: Duration,
}

/// What is done to who is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Its daemon is told to stop.
    Stopped,
    /// Its daemon is killed, and the service it ran: a machine that dies.
    Died,
    /// Its daemon stands still.
    Frozen,
    /// Its cable is cut.
    CutOff,
    /// A person gives the group over.
    Switched,
}

/// What a series came to.
#[derive(Debug, Default)]
pub struct Series {
    /// Those that were made.
    pub failovers: Vec<Failover>,
    /// Those that were made again, because this machine stood still meanwhile.
    pub disturbed: usize,
    /// How long two had it.
    pub overlap: Duration,
}

impl Series {
    /// The slowest one of a kind.
    #[must_use]
    pub fn slowest(&self, how: How) -> Option<Duration> {
        self.failovers.iter().filter(|it| it.how == how).map(|it| it.took).max()
    }

    fn and(mut self, other: Self) -> Self {
        self.failovers.extend(other.failovers);
        self.disturbed += other.disturbed;
        self.overlap += other.overlap;
        self
    }
}

/// `count` failovers of an address, on `pairs` pairs at once, each a network of its own.
///
/// # Panics
/// One is late, and nothing here was the reason; or the kernel refuses.
#[must_use]
pub fn of_address(count: usize, pairs: usize) -> Series {
    let share = move |number: usize| count / pairs + usize::from(number < count % pairs);
    let threads: Vec<_> = (0..pairs)
        .map(|number| std::thread::spawn(move || play(&mut Address::new(), share(number), number)))
        .collect();
    let series = threads.into_iter().map(|it| it.join().expect("a series that ends well"));
    series.fold(Series::default(), Series::and)
}

/// `count` failovers of a service, on loopback: no right is needed.
///
/// # Panics
/// One is late, and nothing here was the reason.
#[must_use]
pub fn of_service(count: usize) -> Series {
    play(&mut Service::new(), count, 0)
}

/// Where failovers are made.
trait Bed {
    const WAYS: &'static [How];
    /// Who has it, once the other could take it over.
    fn ready(&mut self) -> usize;
    fn does(&mut self, place: usize, how: How);
    /// Since when the other has it, if it does.
    fn taken(&mut self, by: usize, since: Instant) -> Option<Instant>;
    /// What was done to `place` is undone.
    fn mend(&mut self, place: usize, how: How);
    fn overlap(&mut self) -> Duration;
    /// How often those but `place` say that they did not run for a while.
    fn pauses(&mut self, place: usize) -> usize;
    fn logs(&self) -> String;
}

fn pauses(log: &str) -> usize {
    log.matches("did not run for").count()
}

fn play<B: Bed>(bed: &mut B, count: usize, first: usize) -> Series {
    let mut series = Series::default();
    while series.failovers.len() < count {
        let from = bed.ready();
        let ways = B::WAYS;
        let how = ways[(first + series.failovers.len()) % ways.len()];
        let pauses = bed.pauses(from);
        let since = Instant::now();
        bed.does(from, how);
        let mut watch = Watch { last: Instant::now(), paused: false };
        let at = wait_long("the other to take over", || {
            watch.look();
            bed.taken(1 - from, since)
        });
        bed.mend(from, how);
        let took = at.saturating_duration_since(since);
        // Those that should have taken over say so where they did not run.
        if took > PROMISE && (watch.paused || bed.pauses(from) > pauses) {
            series.disturbed += 1;
            let busy = series.disturbed < MOST_DISTURBED;
            assert!(busy, "this machine is too busy to tell:\n{}", bed.logs());
            continue;
        }
        let logs = || bed.logs();
        assert!(took <= PROMISE, "{how:?}: {took:?}, and {PROMISE:?} is promised:\n{}", logs());
        series.failovers.push(Failover { how, took });
    }
    series.overlap = bed.overlap();
    series
}

/// Sees whether this process stood still.
struct Watch {
    last: Instant,
    paused: bool,
}

impl Watch {
    fn look(&mut self) {
        self.paused |= self.last.elapsed() > PAUSE;
        self.last = Instant::now();
    }
}

/// Two hosts, a witness, and an address.
struct Address {
    pair: Pair,
    moved: Instant,
}

impl Address {
    fn new() -> Self {
        let mut pair = Pair::with_times(TIMES);
        for place in [2, 0, 1] {
            pair.start(place);
        }
        Self { pair, moved: Instant::now() }
    }
}

impl Bed for Address {
    const WAYS: &'static [How] = &[How::Died, How::Stopped, How::CutOff, How::Frozen];

    fn ready(&mut self) -> usize {
        let active = self.pair.settled();
        settle(self.moved);
        active
    }

    fn does(&mut self, place: usize, how: How) {
        match how {
            How::Stopped | How::Switched => drop(self.pair.stop(place)),
            How::Died => self.pair.kill(place),
            How::Frozen => signal_to(self.pair.daemon(place).pid(), Signal::STOP),
            How::CutOff => self.pair.lan.cable(place as u8 + 1, false),
        }
    }

    fn taken(&mut self, by: usize, since: Instant) -> Option<Instant> {
        self.pair.held_since(by, since)
    }

    fn mend(&mut self, place: usize, how: How) {
        match how {
            How::Stopped | How::Switched | How::Died => self.pair.start(place),
            How::Frozen => signal_to(self.pair.daemon(place).pid(), Signal::CONT),
            How::CutOff => self.pair.lan.cable(place as u8 + 1, true),
        }
        self.moved = Instant::now();
    }

    fn overlap(&mut self) -> Duration {
        self.pair.overlap()
    }

    fn pauses(&mut self, place: usize) -> usize {
        let others = [1 - place, 2];
        others.iter().map(|other| pauses(&self.pair.daemon(*other).log_text())).sum()
    }

    fn logs(&self) -> String {
        self.pair.logs()
    }
}

/// Two nodes and a witness on loopback, and a service that holds a lock: a second instance of it
/// dies at once.
struct Service {
    cluster: Cluster,
    moved: Instant,
}

impl Service {
    fn new() -> Self {
        let more = "[service.web]\n\
                    start = [\"flock\", \"-F\", \"-n\", \"-E\", \"99\", \"@SHARED/lock\", \"sleep\", \
                    \"100000\"]\nallow = [\"no-checks\"]\n\
                    policy = { thorough_probe_interval = \"1s\" }\n\
                    [group.front]\nservices = [\"web\"]\n";
        let mut cluster = Cluster::new(TIMES, more);
        for place in [2, 0, 1] {
            cluster.start(place);
        }
        Self { cluster, moved: Instant::now() }
    }

    fn runs(&self, place: usize) -> Option<u32> {
        let status = self.cluster.daemon(place).status()?;
        let service = status["services"].get(0)?;
        let pid = u32::try_from(service["pid"].as_u64()?).ok()?;
        (status["groups"].get(0)?["role"] == "active").then_some(pid)
    }
}

impl Bed for Service {
    const WAYS: &'static [How] = &[How::Died, How::Stopped, How::Switched];

    fn ready(&mut self) -> usize {
        let active = wait_long("an active whose service runs, and a standby", || {
            let active = self.cluster.settled();
            self.runs(active).map(|_| active)
        });
        settle(self.moved);
        active
    }

    fn does(&mut self, place: usize, how: How) {
        match how {
            How::Died => {
                let pid = self.runs(place).expect("it runs");
                self.cluster.daemon_mut(place).kill();
                signal_to(pid, Signal::KILL);
                wait_long("its service to be gone", || (!is_running(pid)).then_some(()));
            }
            How::Switched => {
                wait_long("a switch that is allowed", || {
                    let output = self.cluster.daemon(place).cli(&["node", "switch"]);
                    output.status.success().then_some(())
                });
            }
            How::Stopped | How::Frozen | How::CutOff => {
                assert_eq!(self.cluster.daemon_mut(place).stop(), Some(0));
            }
        }
    }

    fn taken(&mut self, by: usize, _: Instant) -> Option<Instant> {
        self.runs(by).map(|_| Instant::now())
    }

    fn mend(&mut self, place: usize, how: How) {
        if how != How::Switched {
            self.cluster.start(place);
        }
        self.moved = Instant::now();
    }

    /// A second instance would have died for want of the lock.
    fn overlap(&mut self) -> Duration {
        for place in 0..2 {
            let events = self.cluster.daemon(place).events("web");
            let locked_out = |event: &&serde_json::Value| {
                let text = event["text"].as_str().unwrap_or_default();
                event["event"] == "died" && text.contains("99")
            };
            let died: Vec<_> = events.iter().filter(locked_out).collect();
            assert!(died.is_empty(), "it was started twice: {died:?}\n{}", self.logs());
        }
        Duration::ZERO
    }

    fn pauses(&mut self, place: usize) -> usize {
        let others = [1 - place, 2];
        others.iter().map(|other| pauses(&self.cluster.daemon(*other).log_text())).sum()
    }

    fn logs(&self) -> String {
        (0..2).map(|place| self.cluster.daemon(place).log_text()).collect()
    }
}

/// Who has voted or come back lately does not vote: the next failover begins when both may.
fn settle(since: Instant) {
    let until = since + WAIT + Duration::from_secs(1);
    while Instant::now() < until {
        std::thread::park_timeout(until.saturating_duration_since(Instant::now()));
    }
}

//! The host's end of the dialogue against the board's real machine, in virtual time.

use giveover::board::link::{Failed, News};
use giveover::board::pair::{Paired, Pairing};
use giveover::board::{Link, Trouble};
use giveover_core::board::{End, Event, Refusal, Request, Settings, State, Verdict, Why};
use giveover_core::time::{Instant, Span};
use giveover_core::wire::{Key, ToBoard};
use giveover_tests::board::{Faults, SECRET, Standin};

const SETTINGS: Settings =
    Settings { timeout: Span::from_secs(20), boot_grace: Span::from_secs(60), ..Settings::DEFAULT };

fn key() -> Key {
    Key::of_secret(&SECRET)
}

/// A link and a board on one line, and a clock that goes on by a millisecond.
struct World {
    link: Link,
    board: Standin,
    ms: u64,
    nonce: u64,
    news: Vec<News>,
    /// The host stands still: nothing is fed and nothing read.
    stopped: bool,
    waiting: Vec<u8>,
    /// Nothing gets through to the board, and nothing is lost.
    stalled: bool,
    on_its_way: Vec<u8>,
}

impl World {
    fn new(board: Standin) -> Self {
        let link = Link::new(SETTINGS, None);
        let mut world = Self {
            link,
            board,
            ms: 0,
            nonce: 0,
            news: Vec::new(),
            stopped: false,
            waiting: Vec::new(),
            stalled: false,
            on_its_way: Vec::new(),
        };
        world.nonce += 1;
        world.link.open(key(), world.nonce, world.now());
        world
    }

    fn keyed() -> Self {
        Self::new(Standin::new(Some(key()), 7))
    }

    fn now(&self) -> Instant {
        Instant::from_millis(self.ms)
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.ms += 1;
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now();
        let said = std::mem::take(self.link.output());
        self.on_its_way.extend(said);
        self.board.due(now);
        if !self.stalled {
            let said = std::mem::take(&mut self.on_its_way);
            self.waiting.extend(self.board.hear(&said, now));
        }
        if self.stopped {
            return;
        }
        let heard = std::mem::take(&mut self.waiting);
        self.link.hear(&heard, now);
        if self.link.poll_timeout().is_some_and(|due| now >= due) {
            self.nonce += 1;
            self.link.due(self.nonce, now);
        }
        self.link.feed(Verdict::Ok, now);
        self.news.extend(std::iter::from_fn(|| self.link.news()));
    }

    fn has(&self, news: News) -> bool {
        self.news.contains(&news)
    }
}

#[test]
fn a_board_is_configured_armed_and_fed_each_quarter() {
    let mut world = World::keyed();
    world.run(2_500); // past its hold-off
    assert!(world.has(News::Connected) && world.has(News::Ready));
    assert_eq!(*world.board.machine.settings(), SETTINGS);
    assert_eq!(world.link.told().settings, Some(SETTINGS));
    world.run(6_000);
    assert_eq!(world.board.state(), State::Armed);
    let before = world.board.feeds;
    world.run(100_000);
    assert_eq!(world.board.feeds - before, 20, "each 5 s of 100");
    assert!(world.board.pulses.is_empty());
    let counters = world.board.machine.counters();
    assert_eq!((counters.early, counters.wrong, counters.near_misses), (0, 0, 0));
    assert_eq!(world.link.told().about.expect("told").store_size, 512);
    assert!(world.link.told().counters.expect("counted").0.feeds > 0);
    assert!(!world.link.told().entries.is_empty(), "its log was read");
}

#[test]
fn a_host_that_stands_still_is_reset_and_a_boot_is_confirmed() {
    let mut world = World::keyed();
    world.run(10_000);
    world.stopped = true;
    world.run(21_000);
    assert_eq!(world.board.pulses.len(), 1);
    assert_eq!(world.board.pulses[0].1, Why::Silence);
    world.stopped = false;
    world.run(10_000);
    assert_eq!(world.board.state(), State::Armed, "it was fed again");
    let report = world.link.told().report.expect("told").0;
    assert_eq!((report.resets, report.last.expect("one").why), (1, Why::Silence));
    world.link.ask(9, ToBoard::Confirm, world.now());
    world.run(100);
    assert!(world.has(News::Answered(9, Ok(()))));
    assert!(
        world.link.told().report.expect("told").0.last.expect("one").confirmed_after_ms.is_some()
    );
}

#[test]
fn lost_frames_in_either_direction_cost_nothing() {
    for lost in 1..6 {
        for at in (5_000..11_000).step_by(377) {
            let mut world = World::keyed();
            world.run(at);
            world.board.faults.lose = lost;
            world.run(15_000);
            world.board.faults.deaf = lost;
            world.run(40_000);
            let counters = world.board.machine.counters();
            assert_eq!((counters.early, counters.wrong), (0, 0), "{lost} lost at {at}");
            assert_eq!(world.board.state(), State::Armed, "{lost} lost at {at}");
            assert!(world.board.pulses.is_empty(), "{lost} lost at {at}");
        }
    }
}

/// As when a page of its flash is erased: the feed is taken late, and the next one is not early.
#[test]
fn a_feed_that_was_long_on_its_way_is_not_followed_too_soon() {
    for stall in [100, 240, 400, 480, 900] {
        let mut world = World::keyed();
        let quick = Settings { timeout: Span::from_secs(2), ..SETTINGS };
        world.link.configure(quick, world.now());
        world.run(10_000);
        assert_eq!(*world.board.machine.settings(), quick);
        for _ in 0..120_000 {
            world.stalled = world.ms % 1_507 < stall;
            world.run(1);
        }
        let counters = world.board.machine.counters();
        assert_eq!((counters.early, counters.wrong), (0, 0), "{stall} ms");
        assert!(world.board.pulses.is_empty(), "{stall} ms");
    }
}

/// A board keeps what it was told before, as with `nowayout`, and resets who feeds it by another
/// time-out, be that longer or so short that its feeds are early.
#[test]
fn a_board_that_refuses_other_settings_is_fed_by_its_own() {
    for timeout in [1, 5, 120, 600].map(Span::from_secs) {
        let mut world = World::keyed();
        let before = Settings { nowayout: true, ..SETTINGS };
        world.link.configure(before, world.now());
        world.run(10_000);
        let other = Settings { timeout, link_timeout: Span::from_secs(600), ..SETTINGS };
        let unguarded = |world: &World| {
            assert_eq!(world.link.trouble(), Some(Trouble::SettingsRefused(Refusal::NoWayOut)));
            assert_eq!(world.link.told().settings, Some(before));
            let counters = world.board.machine.counters();
            assert_eq!((counters.early, counters.near_misses), (0, 0), "{timeout:?}");
            assert!(world.board.pulses.is_empty(), "{timeout:?}");
            assert_eq!(world.board.state(), State::Armed, "{timeout:?}");
        };
        world.link.configure(other, world.now());
        world.run(200_000);
        unguarded(&world);
        // And by a daemon that has just started.
        world.link = Link::new(other, Some(7));
        world.nonce += 1;
        world.link.open(key(), world.nonce, world.now());
        world.run(200_000);
        unguarded(&world);
    }
}

#[test]
fn a_board_that_forgets_the_connection_is_greeted_again_in_time() {
    let mut world = World::keyed();
    world.run(10_000);
    world.board.end = giveover_core::wire::BoardEnd::new(Some(key()), 7);
    world.run(60_000);
    assert!(world.has(News::Silent));
    assert_eq!(world.board.state(), State::Armed);
    assert!(world.board.pulses.is_empty());
}

#[test]
fn what_stands_in_the_way_has_a_name() {
    let mut world = World::new(Standin::new(None, 7));
    world.run(3_000);
    assert_eq!(world.link.trouble(), Some(Trouble::NoKey));

    let other = Key::new([1; 16]);
    let mut world = World::new(Standin::new(Some(other), 7));
    world.run(30_000);
    let trouble = Trouble::OtherKey { ours: key().id(), theirs: Some(other.id()) };
    assert_eq!(world.link.trouble(), Some(trouble));
    assert!(!world.link.is_up());

    let mut silent = Standin::new(Some(key()), 7);
    silent.faults.mute = true;
    let mut world = World::new(silent);
    world.run(3_000);
    assert_eq!(world.link.trouble(), Some(Trouble::NoAnswer));
    for round in 0..2_000 {
        if round % 50 == 0 {
            let now = world.now();
            world.link.hear(b"[    0.000000] Booting Linux\r\nAT+CGMI\r", now);
        }
        world.run(1);
    }
    assert_eq!(world.link.trouble(), Some(Trouble::Chatter));
    world.board.faults.mute = false;
    world.run(12_000);
    assert!(world.link.is_ready(), "and once it answers all is well");
    assert_eq!(world.link.trouble(), None);
}

#[test]
fn another_board_is_not_taken_for_the_one_before() {
    let mut world = World::keyed();
    world.link = Link::new(SETTINGS, Some(6));
    world.link.open(key(), 99, world.now());
    world.run(30_000);
    assert_eq!(world.link.trouble(), Some(Trouble::OtherDevice { before: 6, now: 7 }));
    assert_eq!(world.board.feeds, 0);
    world.link.accept_any();
    world.run(20_000);
    assert!(world.link.is_ready());
}

/// A frame of another version, made as the wire says: version, kind, checksum, in COBS.
#[test]
fn a_newer_version_is_told_as_such() {
    let mut world = World::keyed();
    world.board.faults.mute = true;
    let body = [2_u8, 0x41, 9];
    let mut frame = body.to_vec();
    frame.extend_from_slice(&crc32(&body).to_le_bytes());
    assert!(!frame.contains(&0));
    let mut line = vec![frame.len() as u8 + 1];
    line.extend_from_slice(&frame);
    line.push(0);
    world.run(100);
    world.link.hear(&line, world.now());
    world.run(300);
    assert_eq!(world.link.trouble(), Some(Trouble::Version(2)));
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

#[test]
fn garbage_between_the_frames_changes_nothing() {
    let mut world = World::keyed();
    world.run(10_000);
    let mut seed = 1_u32;
    for _ in 0..60_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if seed >> 28 == 0 {
            let now = world.now();
            world.link.hear(&[(seed >> 8) as u8, 0], now);
        }
        world.run(1);
    }
    assert_eq!(world.board.state(), State::Armed);
    assert!(world.link.counters().garbage > 1_000);
    let counters = world.board.machine.counters();
    assert_eq!((counters.early, counters.wrong), (0, 0));
}

#[test]
fn an_end_is_announced_and_nothing_is_fed_after_it() {
    let mut world = World::keyed();
    world.run(10_000);
    world.link.ask(1, ToBoard::End(End::Stop), world.now());
    world.run(50);
    assert!(world.has(News::Answered(1, Ok(()))));
    assert_eq!(world.board.state(), State::Waiting);
    let feeds = world.board.feeds;
    world.run(100_000);
    assert_eq!((world.board.feeds, world.board.state()), (feeds, State::Waiting));
    world.link.resume();
    world.run(10_000);
    assert_eq!(world.board.state(), State::Armed);
}

/// Nobody waits long for the answer to an end, and a last word has none.
#[test]
fn an_end_that_was_lost_is_said_again_at_once() {
    for lost in 1..3 {
        let mut world = World::keyed();
        world.run(10_000);
        world.board.faults.deaf = lost;
        world.link.ask(1, ToBoard::End(End::Stop), world.now());
        world.run(1_500);
        assert!(world.has(News::Answered(1, Ok(()))), "{lost} lost");
        assert_eq!(world.board.state(), State::Waiting, "{lost} lost");
    }
    let mut world = World::keyed();
    world.run(10_000);
    world.board.faults.deaf = 1;
    world.link.last_word(End::Reboot);
    world.run(1);
    assert_eq!(world.board.state(), State::Grace);
}

/// The feed before the end was lost; it is not made up for behind it.
#[test]
fn a_feed_that_was_lost_is_not_said_again_behind_an_end() {
    let mut world = World::keyed();
    world.run(10_000);
    let feeds = world.board.feeds;
    while world.board.feeds == feeds {
        world.run(1);
    }
    world.run(4_990);
    world.board.faults.deaf = 1;
    world.run(20);
    assert_eq!(world.board.faults.deaf, 0, "a feed was lost");
    world.link.ask(1, ToBoard::End(End::Suspend), world.now());
    world.run(100_000);
    assert!(world.has(News::Answered(1, Ok(()))));
    assert_eq!(world.board.state(), State::Waiting);
    assert!(world.board.pulses.is_empty());
}

#[test]
fn a_reset_is_asked_for_with_its_reason_and_a_refusal_is_told() {
    let mut world = World::keyed();
    world.run(70_000);
    world.link.ask(5, ToBoard::Reset(Why::Test), world.now());
    world.run(500);
    assert!(world.has(News::Answered(5, Ok(()))));
    assert_eq!(world.board.pulses.len(), 1);
    assert_eq!(world.board.pulses[0].1, Why::Test);
    world.link.ask(6, ToBoard::Reset(Why::Test), world.now());
    world.run(500);
    let refused = |news: &News| {
        matches!(news, News::Answered(6, Err(Failed::Refused(_) | Failed::NotConnected)))
    };
    assert!(world.news.iter().any(refused), "{:?}", world.news.last());
    assert_eq!(world.board.pulses.len(), 1);
}

#[test]
fn a_disarm_is_left_to_end_by_itself_whatever_happens_to_the_link() {
    let mut world = World::keyed();
    world.run(10_000);
    let span = Span::from_secs(120);
    world.link.ask(1, ToBoard::Disarm { span }, world.now());
    world.run(100);
    assert_eq!(world.board.state(), State::Disarmed);
    world.link.close();
    world.nonce += 1;
    world.link.open(key(), world.nonce, world.now());
    world.run(60_000);
    assert_eq!(world.board.state(), State::Disarmed);
    assert!(!world.board.asked.iter().skip(3).any(|asked| *asked == Request::Arm));
    world.run(70_000);
    assert_eq!(world.board.state(), State::Armed);
}

#[test]
fn a_board_without_power_for_its_host_or_with_its_jumper_set_is_seen_so() {
    let mut world = World::keyed();
    world.run(10_000);
    world.board.tell(Event::Jumper(true), Instant::from_millis(10_000));
    world.run(10_000);
    let report = world.link.told().report.expect("told").0;
    assert!(report.jumper);
    assert_eq!(report.state, State::Disarmed);
}

fn pair(board: &mut Standin) -> Paired {
    pair_with(board, None)
}

/// With faults that begin once the board has been greeted.
fn pair_with(board: &mut Standin, mut faults: Option<Faults>) -> Paired {
    let now = |ms| Instant::from_millis(ms);
    let mut pairing = Pairing::begin(key(), 77, now(0));
    for ms in 1.. {
        let said = std::mem::take(&mut pairing.output);
        let heard = board.hear(&said, now(ms));
        if let Some(faults) = faults.take_if(|_| !heard.is_empty()) {
            board.faults = faults;
        }
        let ended = pairing.hear(&heard, now(ms));
        if let Some(paired) = ended.or_else(|| pairing.due(now(ms))) {
            return paired;
        }
    }
    unreachable!("it ends by itself")
}

#[test]
fn a_board_takes_a_key_once() {
    let mut board = Standin::new(None, 7);
    assert_eq!(pair(&mut board), Paired::Taken { device: 7 });
    assert_eq!(pair(&mut board), Paired::Already { device: 7 });
    let other = Key::new([1; 16]);
    let mut board = Standin::new(Some(other), 7);
    assert_eq!(pair(&mut board), Paired::Refused(Refusal::Keyed, Some(other.id())));
    board.rekey = true;
    assert!(matches!(pair(&mut board), Paired::Taken { .. }));
    board.faults.mute = true;
    assert_eq!(pair(&mut board), Paired::Trouble(Trouble::NoAnswer));
}

/// The board has taken the key, and nothing it says of that gets through: once, or for good.
#[test]
fn a_key_whose_taking_was_not_heard_of_is_taken_all_the_same() {
    for (faults, paired) in [
        (Faults { lose: 1, ..Faults::default() }, Paired::Already { device: 7 }),
        (Faults { lose: 2, ..Faults::default() }, Paired::Already { device: 7 }),
        (Faults { mute: true, ..Faults::default() }, Paired::Unanswered),
    ] {
        let mut board = Standin::new(None, 7);
        assert_eq!(pair_with(&mut board, Some(faults)), paired, "{faults:?}");
        board.faults = Faults::default();
        assert_eq!(pair(&mut board), Paired::Already { device: 7 });
    }
}

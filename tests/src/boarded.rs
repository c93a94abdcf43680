//! Worlds whose board is the real firmware library: its step, line, link and store around the machine,
//! on pins, RAM and flash that outlive resets, at the other end of a wire that carries real frames.
//!
//! What happens on the wire happens at once, and a step is made whenever something is due, so that a
//! world with it comes to the same edges as one with the machine alone, but for contacts that bounce.

mod bench;

use std::mem::MaybeUninit;
use std::slice::IterMut;

use giveover::config::world::World;
use giveover::sim::world::{Device, Happened, Options, Outcome, play_on};
use giveover_core::board::{Durable, Request, Settings, Start, State, Verdict};
use giveover_core::wire::{Decoder, FromBoard, HostEnd, Key, MAX_ENCODED, ToBoard};
use giveover_firmware::board::{Firmware, Room};

use self::bench::{Bench, Here, TICK_MS};

/// So often a board can start in one world; then it is dead for good.
const MOST_STARTS: usize = 1_024;
/// A contact has settled after so long.
const SETTLES: u64 = 100;

const KEY: Key = Key::new([0x5A; 16]);

type Place<'b, 'r> = Option<Box<MaybeUninit<Firmware<'r, Here<'b>>>>>;

/// Plays `world` with the machine alone as its board, and where nothing breaks with the firmware: each
/// hides what the other shows, the firmware a machine that never lets the line go.
#[must_use]
pub fn play_both(world: &World, options: Options) -> Outcome {
    let alone = giveover::sim::world::play(world, options);
    if alone.broken.is_some() || world.board.is_none() {
        return alone;
    }
    play(world, options)
}

/// Plays `world` with the firmware as its board.
#[must_use]
pub fn play(world: &World, options: Options) -> Outcome {
    if world.board.is_none() {
        return giveover::sim::world::play(world, options);
    }
    let bench = Bench::default();
    let mut rooms: Vec<Option<Box<Room>>> = (0..MOST_STARTS).map(|_| None).collect();
    let mut places: Vec<Place<'_, '_>> = (0..MOST_STARTS).map(|_| None).collect();
    let mut board = Board {
        bench: &bench,
        rooms: rooms.iter_mut(),
        places: places.iter_mut(),
        firmware: None,
        looked: 0,
        settles: 0,
        host: None,
        decoder: Decoder::new(),
        challenge: 0,
        nonce: 0,
        pairing: false,
        events: 0,
    };
    play_on(world, options, &mut board)
}

/// The board, and the host's end of its wire. Each start has a room of its own, because a firmware never
/// gives its own back.
struct Board<'b, 'r, 'p> {
    bench: &'b Bench,
    rooms: IterMut<'r, Option<Box<Room>>>,
    places: IterMut<'p, Place<'b, 'r>>,
    firmware: Option<&'p mut Firmware<'r, Here<'b>>>,
    /// When it made its last step.
    looked: u64,
    /// Until then it is looked at each tick: a contact has moved.
    settles: u64,
    host: Option<HostEnd>,
    decoder: Decoder,
    challenge: u32,
    nonce: u64,
    /// What is answered next is a pairing.
    pairing: bool,
    events: u64,
}

impl Board<'_, '_, '_> {
    fn step(&mut self, now: u64) {
        self.bench.ms.set(now);
        if let Some(firmware) = &mut self.firmware {
            firmware.step();
            self.looked = now;
            self.events += 1;
        }
        self.hear();
    }

    /// What came of a step: what the board says, and whether it still has power.
    fn hear(&mut self) {
        if !self.bench.powered.get() {
            (self.firmware, self.host) = (None, None);
        }
        while let Some(byte) = self.bench.down.pop() {
            let Some(Ok(raw)) = self.decoder.push(byte) else { continue };
            let frame = self.host.as_mut().and_then(|host| host.open(&raw).ok());
            if let Some(frame) = frame {
                self.take(&frame);
            }
        }
    }

    fn take(&mut self, frame: &FromBoard) {
        match *frame {
            FromBoard::Challenge { challenge, key, .. } => {
                self.challenge = challenge;
                self.pairing = key.is_none();
            }
            FromBoard::Status { challenge, .. } => self.challenge = challenge,
            FromBoard::Answer { to: 0, .. } => {} // a pairing's, which has no counter
            FromBoard::Answer { refusal, .. } => self.bench.see(Happened::Answered(refusal)),
            _ => {}
        }
    }

    fn hello(&mut self, now: u64) {
        self.nonce += 1;
        let host = HostEnd::new(KEY, self.nonce);
        let mut out = [0; MAX_ENCODED];
        let written = host.hello(&mut out);
        self.host = Some(host);
        self.send(written.and_then(|length| out.get(..length)), now);
    }

    fn say(&mut self, frame: &ToBoard, now: u64) {
        let mut out = [0; MAX_ENCODED];
        let sealed = self.host.as_mut().and_then(|host| host.seal(frame, &mut out));
        self.send(sealed.and_then(|(length, _)| out.get(..length)), now);
    }

    fn send(&mut self, bytes: Option<&[u8]>, now: u64) {
        if self.bench.port.get() == Some(false) {
            return;
        }
        for byte in bytes.unwrap_or_default() {
            self.bench.up.push(*byte);
        }
        self.step(now);
    }
}

impl Device for Board<'_, '_, '_> {
    fn start(&mut self, start: Start, now: u64) {
        (self.firmware, self.host, self.looked) = (None, None, now);
        self.decoder = Decoder::new();
        self.bench.begin(start, now);
        let (Some(room), Some(place)) = (self.rooms.next(), self.places.next()) else { return };
        let room = room.insert(Box::new(Room::new()));
        let place = place.insert(Box::new(MaybeUninit::uninit()));
        let firmware = Firmware::start(place, room, Here::on(self.bench));
        firmware.begin();
        self.firmware = Some(firmware);
        if self.bench.held.get() {
            self.bench.see(Happened::Wrong("an edge at boot".to_owned()));
        }
        self.hear();
    }

    fn power_off(&mut self, _: u64) {
        self.bench.end();
        (self.firmware, self.host) = (None, None);
    }

    fn connect(&mut self, now: u64) {
        self.hello(now);
        if std::mem::take(&mut self.pairing) {
            self.say(&ToBoard::Pair(KEY), now);
            self.hello(now);
        }
    }

    fn feed(&mut self, verdict: Verdict, now: u64) {
        self.say(&ToBoard::Feed { answer: self.challenge, verdict }, now);
    }

    fn ask(&mut self, request: Request, now: u64) {
        let frame = match request {
            Request::Arm => ToBoard::Arm,
            Request::Disarm(span) => ToBoard::Disarm { span },
            Request::Grace(span) => ToBoard::Grace { span },
            Request::End(end) => ToBoard::End(end),
            Request::Configure(settings) => ToBoard::Configure(settings),
            Request::Confirm => ToBoard::Confirm,
            Request::Reset(why) => ToBoard::Reset(why),
            Request::Clear => ToBoard::Clear,
            Request::Fence => ToBoard::Fence,
        };
        self.say(&frame, now);
    }

    fn port(&mut self, up: bool, now: u64) {
        self.bench.port.set(Some(up));
        self.step(now);
    }

    fn jumper(&mut self, set: bool, now: u64) {
        self.bench.jumper.set(set);
        self.settles = now + SETTLES;
        self.step(now);
    }

    fn store(&mut self, works: bool, _: u64) {
        self.bench.works.set(works);
    }

    fn tear(&mut self, chance: u64) {
        if self.firmware.is_some() {
            self.bench.tears.set(Some(chance));
        }
    }

    fn next_event(&self) -> Option<u64> {
        let firmware = self.firmware.as_ref()?;
        let due = firmware.poll_timeout().map(|due| self.looked + due.since(firmware.now()));
        let settling = (self.looked < self.settles).then_some(self.looked + TICK_MS);
        due.into_iter().chain(settling).min()
    }

    fn due(&mut self, now: u64) {
        self.step(now);
        let firmware = self.firmware.as_ref();
        let stale = firmware.is_some_and(|it| it.poll_timeout().is_some_and(|due| due <= it.now()));
        if stale {
            self.bench.see(Happened::Wrong("a deadline of the board is stale".to_owned()));
        }
    }

    fn happened(&mut self) -> Option<Happened> {
        self.bench.seen.borrow_mut().pop_front()
    }

    fn state(&self) -> State {
        self.firmware.as_ref().map_or(State::Cold, |firmware| firmware.machine().state())
    }

    fn settings(&self) -> Settings {
        self.firmware.as_ref().map_or(Settings::DEFAULT, |firmware| *firmware.machine().settings())
    }

    fn record(&self) -> Option<Durable> {
        self.bench.record()
    }

    fn events(&self) -> u64 {
        self.events
    }
}

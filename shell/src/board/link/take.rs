//! What the board says, and what follows from it.

use giveover_core::board::{Entry, Refusal};
use giveover_core::time::Instant;
use giveover_core::wire::{Ask, FromBoard, HostEnd, ToBoard};

use super::{COUNT_EVERY, Failed, Flight, For, Link, News, Request, Stage, Told, Trouble};

impl Link {
    pub(super) fn take(&mut self, frame: FromBoard, now: Instant) {
        if !self.is_up() {
            return self.take_greeting(frame, now);
        }
        match frame {
            FromBoard::Status { challenge, lines, report } => {
                self.told.lines = lines;
                self.told.report = Some((report, now));
                self.take_challenge(challenge, now);
                self.answered(0, For::Status, Ok(()), now);
                self.known(now, Ask::Status);
            }
            FromBoard::Answer { to, refusal } => self.take_answer(to, refusal, now),
            FromBoard::Settings(settings) => {
                self.told.settings = Some(settings);
                self.known(now, Ask::Settings);
            }
            FromBoard::Counters { board, link } => {
                self.told.counters = Some((board, link));
                self.known(now, Ask::Counters);
            }
            FromBoard::About(about) => {
                if self.told.about.is_some_and(|before| about.up < before.up) {
                    (self.next_entry, self.flushed) = (0, 0); // it was reset: its log is new
                }
                self.told.about = Some(about);
                self.known(now, Ask::About);
            }
            FromBoard::Image(image) => {
                self.told.image = Some(image);
                self.known(now, Ask::Image);
            }
            FromBoard::Log(entry) => self.take_entry(entry, now),
            FromBoard::LogEnd { lost } => {
                self.told.lost = lost;
                self.log_read(now);
            }
            FromBoard::Challenge { .. } => {} // of a hello that was answered before
        }
    }

    fn take_greeting(&mut self, frame: FromBoard, now: Instant) {
        let FromBoard::Challenge { device, challenge, key, .. } = frame else { return };
        if self.end.as_ref().and_then(HostEnd::device).is_none() {
            // Without a tag it proves nothing but that it has none.
            if key.is_none() {
                self.tell_trouble(Trouble::NoKey);
            }
            return;
        }
        if let Some(before) = self.before.filter(|before| *before != device) {
            self.tell_trouble(Trouble::OtherDevice { before, now: device });
            // It may not count as greeted, and must not be taken for silent.
            self.end = None;
            self.heard = true;
            return;
        }
        if self.told.device != Some(device) {
            self.told = Told { device: Some(device), ..Told::default() };
            (self.next_entry, self.flushed) = (0, 0);
        }
        self.before = Some(device);
        self.trouble = None;
        self.stage = Stage::Up;
        self.challenge = Some(challenge);
        (self.fed, self.taken) = (None, None);
        self.news.push_back(News::Connected);
        let asks = [
            Request { frame: ToBoard::Configure(self.settings), purpose: For::Settings },
            Request { frame: ToBoard::Ask(Ask::About), purpose: For::Knowing },
            Request { frame: ToBoard::Ask(Ask::Counters), purpose: For::Knowing },
            Request { frame: ToBoard::Ask(Ask::Image), purpose: For::Perhaps },
        ];
        self.queue.extend(asks);
        if self.announced.is_none() {
            self.feed_now(now);
        }
        self.go_on(now);
    }

    /// What a status says of the feed before it.
    fn take_challenge(&mut self, challenge: u32, now: Instant) {
        self.challenge = Some(challenge);
        let Some(feeding) = self.feeding else { return };
        if challenge == feeding.answer {
            // Told on purpose after the feed: it was lost on the way, and is said again, but not
            // behind an end: that would have the board guard a host that has stopped.
            if feeding.asked {
                self.feeding = None;
                if self.announced.is_none() {
                    self.feed_now(now);
                }
            }
            return;
        }
        self.feeding = None;
        self.told.round_trip_ms = Some(now.since(feeding.sent));
        let gap = self.told.fed.map(|fed| feeding.sent.since(fed));
        self.fed = Some(feeding.sent);
        self.taken = Some(now);
        self.told.fed = Some(feeding.sent);
        self.feeds = self.feeds.wrapping_add(1);
        self.news.push_back(News::Fed(gap));
        if self.ready && self.is_idle() {
            self.look_closer();
        }
        self.go_on(now);
    }

    /// What is asked for beside the feeds.
    fn look_closer(&mut self) {
        let frame = ToBoard::ReadLog { from: self.next_entry };
        self.queue.push_back(Request { frame, purpose: For::Log });
        if self.feeds % COUNT_EVERY == 0 {
            for ask in [Ask::About, Ask::Counters] {
                self.queue.push_back(Request { frame: ToBoard::Ask(ask), purpose: For::Knowing });
            }
        }
    }

    fn take_answer(&mut self, to: u32, refusal: Option<Refusal>, now: Instant) {
        let Some(flight) = self.flight.filter(|flight| flight.counter == to) else { return };
        let result = refusal.map_or(Ok(()), Err);
        self.answered(to, flight.request.purpose, result, now);
    }

    /// An answer to the request under way, if it is the one of `purpose`.
    fn answered(&mut self, counter: u32, purpose: For, result: Result<(), Refusal>, now: Instant) {
        let fits = |flight: &Flight| {
            flight.request.purpose == purpose && (counter == 0 || flight.counter == counter)
        };
        let Some(flight) = self.flight.filter(fits) else { return };
        self.flight = None;
        match (purpose, result) {
            (For::Settings, Ok(())) if self.told.settings != Some(self.settings) => {
                self.tell_trouble(Trouble::EchoDiffers);
            }
            (For::Settings, Ok(())) => {
                let frame = ToBoard::Ask(Ask::Status);
                self.queue.push_front(Request { frame, purpose: For::Status });
            }
            (For::Settings, Err(refusal)) => {
                self.tell_trouble(Trouble::SettingsRefused(refusal));
                // Its own are in force, and it is fed by those.
                let frame = ToBoard::Ask(Ask::Settings);
                self.queue.push_front(Request { frame, purpose: For::Perhaps });
            }
            (For::Status, _) => self.look_at_arming(),
            (For::Arming, Ok(())) => {
                if let Some((report, _)) = &mut self.told.report {
                    report.armed = true;
                }
                self.now_ready();
            }
            (For::Arming, Err(refusal)) => self.tell_trouble(Trouble::ArmRefused(refusal)),
            (For::Outside(number), result) => {
                let result = result.map_err(Failed::Refused);
                if result.is_ok() && self.announced.is_none() {
                    let frame = ToBoard::Ask(Ask::Status);
                    self.queue.push_back(Request { frame, purpose: For::Knowing });
                }
                self.news.push_back(News::Answered(number, result));
            }
            (For::Shadow, Err(refusal)) => {
                if let ToBoard::Shadow { service, .. } = flight.request.frame {
                    self.news.push_back(News::NoShadow(service, refusal));
                }
            }
            (For::Shadow, Ok(())) => {}
            (For::Knowing | For::Perhaps | For::Log | For::Flush, _) => {}
        }
        self.go_on(now);
    }

    /// Arms a board that is not; a person's disarm is left to end by itself.
    fn look_at_arming(&mut self) {
        let armed = self.told.report.as_ref().is_some_and(|(report, _)| report.armed);
        if armed {
            self.now_ready();
        } else if self.announced.is_none() {
            self.queue.push_front(Request { frame: ToBoard::Arm, purpose: For::Arming });
        }
    }

    fn now_ready(&mut self) {
        self.trouble = None;
        self.ready = true;
        self.news.push_back(News::Ready);
        let frame = ToBoard::ReadLog { from: self.next_entry };
        self.queue.push_back(Request { frame, purpose: For::Log });
    }

    fn known(&mut self, now: Instant, ask: Ask) {
        let fits = |flight: &Flight| flight.request.frame == ToBoard::Ask(ask);
        if self.flight.as_ref().is_some_and(fits) {
            self.flight = None;
            self.go_on(now);
        }
    }

    fn reads_log(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| flight.request.purpose == For::Log)
    }

    fn take_entry(&mut self, entry: Entry, now: Instant) {
        if !self.reads_log() || entry.number < self.next_entry {
            return;
        }
        self.flight = None;
        self.next_entry = entry.number.saturating_add(1);
        self.told.add(entry);
        self.news.push_back(News::Logged(entry));
        let frame = ToBoard::ReadLog { from: self.next_entry };
        self.queue.push_front(Request { frame, purpose: For::Log });
        self.go_on(now);
    }

    /// All entries are here: the board may forget them.
    fn log_read(&mut self, now: Instant) {
        if !self.reads_log() {
            return;
        }
        self.flight = None;
        let through = self.next_entry.saturating_sub(1);
        if through > self.flushed {
            self.flushed = through;
            let frame = ToBoard::FlushLog { through };
            self.queue.push_back(Request { frame, purpose: For::Flush });
        }
        self.go_on(now);
    }
}

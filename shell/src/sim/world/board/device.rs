//! The seam between a world and the board in it: what happens to a board, and what is seen of it.
//!
//! The daemon's package does not depend on the firmware's, so the board it brings along is the machine
//! [`super::alone`]. Whoever has both packages puts the real firmware here: [`crate::sim::world::play_on`].

use giveover_core::board::{Durable, Refusal, Request, Settings, Start, State, Verdict};

/// A board in a world: its pins, its memories and its supply outlive its resets.
///
/// Times are true time in milliseconds since the beginning of the world, and never go back. What is
/// done at one of them is done at once; what is seen of it waits in [`Device::happened`].
pub trait Device {
    /// It starts: its power has come, or it alone was reset and its retained memory stays.
    fn start(&mut self, start: Start, now: u64);

    /// Its power goes: nothing of it runs until it is started again, and both lines are released.
    fn power_off(&mut self, now: u64);

    /// The daemon opens the port: a connection of its own, whose first feed is never early.
    fn connect(&mut self, now: u64);

    /// The daemon feeds it.
    fn feed(&mut self, verdict: Verdict, now: u64);

    /// The daemon wants something; answered once by [`Happened::Answered`].
    fn ask(&mut self, request: Request, now: u64);

    /// The port to the host comes or goes, where that can be seen.
    fn port(&mut self, up: bool, now: u64);

    /// The jumper is set or taken out.
    fn jumper(&mut self, set: bool, now: u64);

    /// Its store takes records, or refuses them.
    fn store(&mut self, works: bool, now: u64);

    /// Its power will go while it next writes a record: `chance` says how much of that is written.
    fn tear(&mut self, chance: u64);

    /// When it wants [`Device::due`].
    fn next_event(&self) -> Option<u64>;

    /// Its time has come.
    fn due(&mut self, now: u64);

    /// What was seen of it since the last time, one after the other.
    fn happened(&mut self) -> Option<Happened>;

    /// How it stands.
    fn state(&self) -> State;

    /// The settings in force.
    fn settings(&self) -> Settings;

    /// The record that it would find after a loss of power.
    fn record(&self) -> Option<Durable>;

    /// How many events its machine was fed.
    fn events(&self) -> u64;
}

/// What is seen of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The reset line was pulled.
    Held {
        /// The intent of this pulse, and of no other, was in what a loss of power leaves.
        durable: bool,
    },
    /// The reset line was let go.
    Released,
    /// The second line was put on, or off.
    Second(bool),
    /// A request was answered: done, or why not.
    Answered(Option<Refusal>),
    /// Its power has gone in the middle of a write, as [`Device::tear`] wanted.
    PowerLost,
    /// Something about it is wrong in itself.
    Wrong(String),
}

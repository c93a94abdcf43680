//! The dialogue of a role with the bench: a question a line, an answer a line.

use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::read;
use rustix::stdio::stdin;
use std::io::{self, Write};

/// The token of standard input in a role's epoll set.
pub(super) const CONTROL: u64 = u64::MAX;

/// What the bench wants.
pub(super) enum Asked {
    /// The numbers, now.
    Count,
    /// Nothing more: end.
    End,
}

/// Puts standard input into `epoll`, under the token [`CONTROL`].
pub(super) fn listen(epoll: &OwnedFd) -> rustix::io::Result<()> {
    epoll::add(epoll, stdin(), epoll::EventData::new_u64(CONTROL), epoll::EventFlags::IN)
}

/// Reads what made standard input readable. There is one question under way at a time, so one
/// read is one question.
pub(super) fn asked() -> Asked {
    let mut line = [0; 64];
    match read(stdin(), &mut line) {
        Ok(0) | Err(_) => Asked::End,
        Ok(_) => Asked::Count,
    }
}

/// Answers with `numbers` on one line.
pub(super) fn answer(numbers: &[u64]) -> io::Result<()> {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let mut out = io::stdout().lock();
    writeln!(out, "{}", words.join(" "))?;
    out.flush()
}

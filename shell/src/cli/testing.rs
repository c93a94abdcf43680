//! A daemon that follows a script, and a command line whose output is kept.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::{self, Read as _, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::console::{Console, Surroundings};

/// What a scripted daemon answers: bytes, a pause after each piece, and the end.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pieces: Vec<Vec<u8>>,
    pause: Duration,
}

impl Answer {
    /// `bytes` at once, then the end.
    pub(super) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { pieces: vec![bytes.into()], pause: Duration::ZERO }
    }

    /// A whole answer with a body.
    pub(super) fn http(status: u16, body: &str) -> Self {
        let length = body.len();
        Self::raw(format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{body}"))
    }

    /// A stream of events, each a piece.
    pub(super) fn stream(events: &[String]) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        let blocks = events.iter().map(|event| format!("data: {event}\n\n").into_bytes());
        let pieces = std::iter::once(head.as_bytes().to_vec()).chain(blocks).collect();
        Self { pieces, pause: Duration::from_millis(5) }
    }

    /// One byte at a time, with a pause after each.
    pub(super) fn slowly(mut self, pause: Duration) -> Self {
        self.pieces = self.pieces.concat().chunks(1).map(<[u8]>::to_vec).collect();
        Self { pause, ..self }
    }

    fn give(&self, stream: &mut UnixStream) -> io::Result<()> {
        for piece in &self.pieces {
            stream.write_all(piece)?;
            if !self.pause.is_zero() {
                thread::sleep(self.pause);
            }
        }
        Ok(())
    }
}

/// A listener that answers each request by a script.
pub(super) struct Daemon {
    directory: tempfile::TempDir,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Daemon {
    pub(super) fn new(script: impl Fn(&str) -> Answer + Send + 'static) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let listener = UnixListener::bind(directory.path().join("control.sock")).expect("bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let request = read_request(&mut stream);
                seen.lock().expect("unpoisoned").push(request.clone());
                let _ = script(&request).give(&mut stream); // a client may leave early
            }
        });
        Self { directory, requests }
    }

    /// The same answer to everything.
    pub(super) fn always(answer: Answer) -> Self {
        Self::new(move |_| answer.clone())
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.directory.path().join("control.sock")
    }

    /// Every request so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("unpoisoned").clone()
    }

    /// Runs a verb against it.
    pub(super) fn run(&self, words: &str) -> Outcome {
        run(&format!("--socket {} {words}", self.socket().display()))
    }
}

fn read_request(stream: &mut UnixStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let length: usize = length.map_or(0, |text| text.parse().expect("a number"));
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            _ => return text,
        }
    }
}

/// How a verb ended and what it said.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) exit: u8,
    pub(super) out: String,
    pub(super) err: String,
}

/// Runs a command line in a pipe; nothing surrounds it.
pub(super) fn run(words: &str) -> Outcome {
    run_words(&words.split_whitespace().collect::<Vec<_>>())
}

/// As [`run`], for words with spaces.
pub(super) fn run_words(words: &[&str]) -> Outcome {
    let out = Kept::default();
    let outcome = run_into(Box::new(out.clone()), words, false);
    Outcome { out: out.text(), ..outcome }
}

/// Runs a command line on a terminal without colours.
pub(super) fn run_on_terminal(words: &str) -> Outcome {
    let out = Kept::default();
    let words: Vec<&str> = words.split_whitespace().collect();
    let outcome = run_into(Box::new(out.clone()), &words, true);
    Outcome { out: out.text(), ..outcome }
}

/// Runs a command line whose reader has gone.
pub(super) fn run_into_closed_pipe(words: &str) -> Outcome {
    run_into(Box::new(ClosedPipe), &words.split_whitespace().collect::<Vec<_>>(), false)
}

fn run_into(out: Box<dyn Write>, words: &[&str], terminal: bool) -> Outcome {
    let err = Kept::default();
    let around = Surroundings { colourless: true, ..Surroundings::default() };
    let mut console = Console::of(out, Box::new(err.clone()), around);
    console.terminal = terminal;
    let arguments: Vec<OsString> =
        ["giveover"].iter().chain(words).map(|word| OsString::from(*word)).collect();
    let exit = super::run_with(&arguments, &mut console);
    Outcome { exit: exit.0, out: String::new(), err: err.text() }
}

#[derive(Clone, Debug, Default)]
struct Kept(Rc<RefCell<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).expect("text")
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct ClosedPipe;

impl Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

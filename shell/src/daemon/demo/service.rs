//! The demo's service: a few lines of HTTP, and a fault that depends on how often it was started.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process;
use std::time::{Duration, Instant};

/// What a start of it does once it has answered for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Takes connections and never answers: half a failure each time.
    Hang,
    /// Refuses connections: a complete failure.
    Refuse,
    /// Ends: a complete failure at once.
    Die,
}

/// How long it answers before its fault.
const HEALTHY: Duration = Duration::from_millis(3500);

/// Serves on `port`; `starts` counts the starts.
///
/// # Errors
/// The port is taken, or the file cannot be written.
pub fn main(port: u16, starts: &Path) -> io::Result<()> {
    let before = fs::read_to_string(starts).ok().and_then(|text| text.trim().parse().ok());
    let start: u32 = before.unwrap_or(0) + 1;
    fs::write(starts, start.to_string())?;
    let fault = match start {
        1 => Fault::Hang,
        2 => Fault::Refuse,
        _ => Fault::Die,
    };
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    serve_until(&listener, Instant::now() + HEALTHY)?;
    match fault {
        Fault::Hang => hang(&listener),
        Fault::Refuse => {
            drop(listener);
            rest()
        }
        Fault::Die => process::exit(3),
    }
}

/// Answers every request until `end`.
fn serve_until(listener: &TcpListener, end: Instant) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    while Instant::now() < end {
        match listener.accept() {
            Ok((stream, _)) => answer(stream).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut request = [0; 1024];
    let _ = stream.read(&mut request)?;
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")
}

fn hang(listener: &TcpListener) -> ! {
    let _ = listener.set_nonblocking(false);
    let mut held = Vec::new();
    loop {
        if let Ok((stream, _)) = listener.accept() {
            held.push(stream);
        }
    }
}

fn rest() -> ! {
    loop {
        std::thread::park();
    }
}

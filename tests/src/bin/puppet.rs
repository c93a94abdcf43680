//! A service for tests that does what a file says: `puppet PORT FILE`, or `puppet ADDRESS:PORT FILE`
//! where it is not for this host alone.
//!
//! The file holds one word: `ok`, `refuse`, `hang`, an HTTP status, or `exit`, which it makes `ok`
//! on its way out. It is looked at a hundred
//! times a second, so a test changes the service's mood by writing it. `puppet PORT FILE NAME`
//! also appends a line to the file NAME when it starts.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let at = words.next().unwrap_or_default();
    let at = at.parse().unwrap_or((Ipv4Addr::LOCALHOST, at.parse().unwrap_or(0)).into());
    let mood = words.next().unwrap_or_default();
    if let Some(name) = words.next() {
        let mut starts = fs::File::options().create(true).append(true).open(name)?;
        writeln!(starts, "{}", std::process::id())?;
    }
    let mut listener = None;
    let mut held = Vec::new();
    loop {
        let word = fs::read_to_string(Path::new(&mood)).unwrap_or_default();
        match word.trim() {
            "refuse" => {
                listener = None;
                held.clear();
            }
            "exit" => {
                fs::write(&mood, "ok")?;
                std::process::exit(7);
            }
            _ if listener.is_none() => listener = listen(at).ok(),
            _ => {}
        }
        while let Some(stream) = listener.as_ref().and_then(|socket| socket.accept().ok()) {
            match word.trim() {
                "hang" => held.push(stream.0),
                status => answer(stream.0, status).unwrap_or_default(),
            }
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

fn listen(at: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(at)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn answer(mut stream: TcpStream, word: &str) -> io::Result<()> {
    let status = if word.is_empty() || word == "ok" { "200" } else { word };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut request = [0; 1024];
    let _ = stream.read(&mut request)?;
    write!(stream, "HTTP/1.1 {status} OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")
}

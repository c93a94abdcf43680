//! A small X font server for tests: it answers what `xfsinfo` asks and nothing more.
//!
//! `fontserver PORT FILE`: the file holds one word: `ok`, `refuse` (nobody listens), `mute`
//! (connections are taken and nothing is said) or `garbage`.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let port: u16 = words.next().and_then(|word| word.parse().ok()).unwrap_or(7100);
    let file = words.next().unwrap_or_default();
    let mut listener = None;
    let mut held = Vec::new();
    loop {
        let mood = fs::read_to_string(&file).unwrap_or_default();
        match mood.trim() {
            "refuse" => listener = None,
            _ if listener.is_none() => listener = listen(port).ok(),
            _ => {}
        }
        while let Some((stream, _)) = listener.as_ref().and_then(|socket| socket.accept().ok()) {
            match mood.trim() {
                "mute" => held.push(stream),
                "garbage" => say_garbage(stream),
                _ => serve(stream).unwrap_or_default(),
            }
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn say_garbage(mut stream: TcpStream) {
    let _ = stream.write_all(b"\xff\xff\xff\xff no font server\n");
}

/// The font service protocol, version 2: the greeting, then a reply to each request.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    // Byte order, number of authorisations, version 2.0, length of the authorisations.
    let mut hello = [0; 8];
    stream.read_exact(&mut hello)?;
    let little = hello[0] == b'l';
    let wire = |value: u32, bytes: usize| {
        let value =
            if little { value.to_le_bytes().to_vec() } else { value.to_be_bytes().to_vec() };
        if little { value[..bytes].to_vec() } else { value[4 - bytes..].to_vec() }
    };
    let number = |bytes: &[u8]| match (little, bytes) {
        (true, [a, b]) => u16::from_le_bytes([*a, *b]),
        (false, [a, b]) => u16::from_be_bytes([*a, *b]),
        _ => 0,
    };
    let mut authorisations = vec![0; usize::from(number(&hello[6..8])) * 4];
    stream.read_exact(&mut authorisations)?;
    // Accepted, version 2.0, no alternates, authorisation 0, no lengths.
    let mut greeting = Vec::new();
    for (value, bytes) in [(0, 2), (2, 2), (0, 2), (0, 1), (0, 1), (0, 2), (0, 2)] {
        greeting.extend(wire(value, bytes));
    }
    // Length in words, longest request, length of the vendor's name, release.
    let vendor = b"giveover";
    for (value, bytes) in [(5, 4), (4096, 2), (vendor.len() as u32, 2), (1, 4)] {
        greeting.extend(wire(value, bytes));
    }
    greeting.extend(vendor);
    stream.write_all(&greeting)?;
    let mut sequence = 0;
    loop {
        // Opcode, data, length in words.
        let mut head = [0; 4];
        if stream.read_exact(&mut head).is_err() {
            return Ok(()); // the client has gone
        }
        sequence += 1;
        let words = usize::from(number(&head[2..4]));
        let mut rest = vec![0; words.saturating_sub(1) * 4];
        stream.read_exact(&mut rest)?;
        let mut reply = vec![0, 0];
        reply.extend(wire(sequence, 2));
        match head[0] {
            // ListExtensions: none.
            1 => reply.extend(wire(2, 4)),
            // ListCatalogues: none follow, none are here.
            3 => {
                reply.extend(wire(4, 4));
                reply.extend(wire(0, 4));
                reply.extend(wire(0, 4));
            }
            _ => continue,
        }
        stream.write_all(&reply)?;
    }
}

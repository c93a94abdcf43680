//! A server that does what no real one can be told to: garbage, half an answer, no end of it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType};

/// What it does with each connection.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Says this and closes in order.
    Says(Vec<u8>),
    /// Says this over and over.
    Endless(Vec<u8>),
    /// Says this, a byte at a time, with so long between two.
    Slow(Vec<u8>, Duration),
    /// Waits for the first word and resets.
    Resets,
    /// Says nothing.
    Silent,
}

/// Serves `fault` on a loopback port of its own until the test ends, to one client after the
/// other.
///
/// # Panics
/// Loopback has no port.
#[must_use]
pub fn serve(fault: Fault) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            // A client that has hung up is what is wanted of it.
            let _ = serve_one(&fault, stream);
        }
    });
    address
}

/// A port that is taken, so that nobody else gets it, and where nobody listens.
///
/// # Panics
/// Loopback has no port.
#[must_use]
pub fn nobody() -> (OwnedFd, SocketAddr) {
    let fd = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    rustix::net::bind(&fd, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let own = rustix::net::getsockname(&fd).expect("its name");
    (fd, own.try_into().expect("an address"))
}

fn serve_one(fault: &Fault, mut stream: TcpStream) -> std::io::Result<()> {
    match fault {
        Fault::Says(bytes) => {
            stream.write_all(bytes)?;
            stream.shutdown(Shutdown::Write)?;
        }
        Fault::Endless(bytes) => {
            let block = bytes.repeat(4096 / bytes.len().max(1) + 1);
            loop {
                stream.write_all(&block)?;
            }
        }
        Fault::Slow(bytes, pause) => {
            for byte in bytes {
                stream.write_all(&[*byte])?;
                std::thread::sleep(*pause);
            }
            stream.shutdown(Shutdown::Write)?;
        }
        Fault::Resets => {
            // Who speaks first may take its time on a busy machine.
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            let _ = stream.read(&mut [0; 1]);
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
            return Ok(());
        }
        Fault::Silent => {}
    }
    // Until the client hangs up: what it said must not turn our close into a reset.
    while stream.read(&mut [0; 4096])? > 0 {}
    Ok(())
}

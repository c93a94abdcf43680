//! Recovery by nftables, on hosts of the test's own: new connections are reset on every node, those
//! that are established go on, and the kernel forgets it by itself.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use giveover_tests::cluster::wait_long;
use giveover_tests::pair::{NAMES, Pair};
use giveover_tests::server::is_root;
use giveover_tests::{PATIENCE, text_of};

const PORT: u16 = 5432;

/// An echo on a host of the pair.
fn echo(pair: &Pair, place: usize) {
    let enter = pair.lan.door(NAMES[place]);
    let (listening, listens) = channel();
    std::thread::spawn(move || {
        enter();
        let listener = TcpListener::bind(("0.0.0.0", PORT)).expect("a port");
        listening.send(()).expect("somebody waits");
        while let Ok((mut stream, _)) = listener.accept() {
            std::thread::spawn(move || {
                let mut byte = [0; 1];
                while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
            });
        }
    });
    listens.recv_timeout(PATIENCE).expect("it listens");
}

/// A connection of the client to a host of the pair.
fn connect(pair: &Pair, place: usize) -> std::io::Result<TcpStream> {
    let enter = pair.lan.door("client");
    let to: SocketAddr = format!("10.0.0.{}:{PORT}", place + 1).parse().expect("an address");
    let thread = std::thread::spawn(move || {
        enter();
        TcpStream::connect_timeout(&to, Duration::from_secs(10))
    });
    thread.join().expect("a thread that ends")
}

fn is_refused(pair: &Pair, place: usize) -> bool {
    connect(pair, place).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

fn answers(stream: &mut TcpStream) -> bool {
    let mut byte = [0; 1];
    stream.set_read_timeout(Some(PATIENCE)).is_ok()
        && stream.write_all(b"x").is_ok()
        && stream.read_exact(&mut byte).is_ok()
        && byte == *b"x"
}

/// Section 5.3.3.
// req 2.101 2.102
#[test]
fn new_connections_are_reset_on_every_node_and_established_ones_go_on() {
    if !is_root("networks of our own") {
        return;
    }
    let mut pair = Pair::new();
    let more = format!("recovery = {{ ports = [{PORT}] }}\n");
    for place in [2, 0, 1] {
        pair.start_as(place, &more, &[]);
    }
    pair.wait_served(0);
    wait_long("b to be a standby that hears a", || {
        let group = pair.daemon(1).status()?["groups"].get(0)?.clone();
        (group["role"] == "standby" && group["active"] == "a").then_some(())
    });
    (0..2).for_each(|place| echo(&pair, place));
    let mut open: Vec<TcpStream> =
        (0..2).map(|place| connect(&pair, place).expect("it is taken")).collect();
    assert!(open.iter_mut().all(answers));

    wait_long("a recovery of both", || {
        let output = pair.daemon(1).cli(&["node", "recover", "--for", "10m"]);
        output.status.success().then_some(())
    });
    assert!(is_refused(&pair, 0) && is_refused(&pair, 1), "both refuse new connections");
    assert!(open.iter_mut().all(answers), "what is established goes on");
    let output = pair.daemon(1).cli(&["node", "recover", "--end"]);
    assert!(output.status.success(), "{}", text_of(&output));
    for place in 0..2 {
        wait_long("new connections to be taken", || connect(&pair, place).ok());
    }

    // Nobody is left to end it: the kernel does.
    wait_long("a recovery of both", || {
        let output = pair.daemon(0).cli(&["node", "recover", "--for", "15s"]);
        output.status.success().then_some(())
    });
    pair.kill(0);
    wait_long("both to take connections", || {
        (connect(&pair, 0).is_ok() && connect(&pair, 1).is_ok()).then_some(())
    });
    assert!(open.iter_mut().all(answers));
}

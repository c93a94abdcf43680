//! rpcbind from Debian's package, its null procedure called by datagram and on a connection; and
//! servers that answer such a call wrongly.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use giveover_tests::faults::{Fault, nobody, serve};
use giveover_tests::probing::{probe, row};
use giveover_tests::server::is_root;
use giveover_tests::{signal_to, wait_for};
use nix::sched::{CloneFlags, unshare};
use rustix::process::Signal;

const PATIENT_MS: u32 = 20_000;

/// rpcbind, which has one port only, in a network and with a /run of its own.
struct Rpcbind(Child);

impl Rpcbind {
    fn start() -> Self {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network of our own");
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().expect("ip");
        assert!(up.success());
        let script = "mount -t tmpfs tmpfs /run && mkdir /run/rpcbind && exec /usr/sbin/rpcbind -f";
        let child = Command::new("unshare")
            .args(["--mount", "sh", "-c", script])
            .stdin(Stdio::null())
            .spawn()
            .expect("rpcbind");
        let mut rpcbind = Self(child);
        wait_for("rpcbind to listen", || {
            assert!(rpcbind.0.try_wait().expect("its status").is_none(), "rpcbind ended");
            TcpStream::connect(("127.0.0.1", 111)).ok()
        });
        rpcbind
    }
}

impl Drop for Rpcbind {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn call(transport: &str, more: &str) -> String {
    format!("{{ url = \"rpc://127.0.0.1:111\", transport = \"{transport}\"{more} }}")
}

#[test]
fn a_null_call_is_carried_out_or_it_is_said_why_not() {
    if !is_root("rpcbind") {
        return;
    }
    let rpcbind = Rpcbind::start();
    for transport in ["udp", "tcp"] {
        row("rpc", "rpcbind", transport, &call(transport, ""), PATIENT_MS, "healthy");
        let other = call(transport, ", program = \"nfsd\"");
        let wanted = "50 answer PROG_UNAVAIL, expected SUCCESS";
        row("rpc", "rpcbind", "another program", &other, PATIENT_MS, wanted);
        let old = call(transport, ", version = 99");
        let wanted = "50 answer PROG_MISMATCH, expected SUCCESS";
        row("rpc", "rpcbind", "another version", &old, PATIENT_MS, wanted);
    }
    signal_to(rpcbind.0.id(), Signal::STOP);
    row("rpc", "rpcbind", "frozen", &call("udp", ""), 600, "100 silence no reply in 0.6s");
    row("rpc", "rpcbind", "frozen", &call("tcp", ""), 600, "50 read no answer in 0.6s");
    drop(rpcbind);
    for transport in ["udp", "tcp"] {
        let stopped = call(transport, "");
        row("rpc", "rpcbind", "stopped", &stopped, PATIENT_MS, "100 connect refused");
    }
}

#[test]
fn what_a_faulty_answer_weighs() {
    let reply: &[u8] = b"\x80\0\0\x18\x67\x6f\x67\x6f\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let table = |fault| format!("{{ url = \"rpc://{}\", transport = \"tcp\" }}", serve(fault));
    for length in 0..reply.len() {
        let found = probe(&table(Fault::Says(reply[..length].to_vec())), PATIENT_MS);
        assert_eq!(found.verdict, "50 read answer cut short", "{length} bytes: {found:#?}");
    }
    let wrong = "50 answer wrong answer";
    let second = Duration::from_secs(1);
    for (situation, fault, timeout, wanted) in [
        ("whole", Fault::Says(reply.to_vec()), PATIENT_MS, "healthy"),
        (
            "byte by byte",
            Fault::Slow(reply.to_vec(), Duration::from_millis(1)),
            PATIENT_MS,
            "healthy",
        ),
        ("garbage", Fault::Says(b"SSH-2.0-OpenSSH\r\n".to_vec()), PATIENT_MS, wrong),
        ("endless", Fault::Endless(b"\0\0\0\x01\x67".to_vec()), PATIENT_MS, wrong),
        ("a byte a second", Fault::Slow(reply.to_vec(), second), 500, "50 read no answer in 0.5s"),
        ("silent", Fault::Silent, 200, "50 read no answer in 0.2s"),
        ("closed at once", Fault::Says(Vec::new()), PATIENT_MS, "50 read answer cut short"),
        ("reset", Fault::Resets, PATIENT_MS, "50 read connection reset"),
    ] {
        row("rpc", "stand-in", situation, &table(fault), timeout, wanted);
    }
    let (_taken, nobody) = nobody();
    let refused = format!("{{ url = \"rpc://{nobody}\", transport = \"tcp\" }}");
    row("rpc", "nobody", "refused", &refused, PATIENT_MS, "100 connect refused");
}

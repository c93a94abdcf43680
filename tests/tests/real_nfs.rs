//! An NFS server of Debian's packages: rpcbind, statd, and nfs-ganesha with nfsd, mountd and lockd in
//! one process of its own, since the kernel's cannot run in a container. Null calls at ports that
//! rpcbind is asked for, and the presets of the NFS monitors.

use std::fs;
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use giveover_tests::probing::row;
use giveover_tests::server::is_root;
use giveover_tests::{Daemon, nfs, signal_to, wait_for};
use rustix::process::Signal;
use serde_json::Value;

const PATIENT_MS: u32 = 20_000;

/// A process of the server, until it is dropped.
struct Part(Child);

impl Part {
    fn start(words: &[&str]) -> Self {
        let child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap_or_else(|error| panic!("{}: {error}", words[0])))
    }

    fn signal(&self, signal: Signal) {
        signal_to(self.0.id(), signal);
    }

    fn stop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.stop();
    }
}

fn rpcbind() -> Part {
    let rpcbind = Part::start(&nfs::RPCBIND);
    wait_for("rpcbind to listen", || TcpStream::connect(("127.0.0.1", 111)).ok());
    rpcbind
}

fn call(program: &str, host: &str, transport: &str) -> String {
    format!("{{ url = \"rpc://{host}\", program = \"{program}\", transport = \"{transport}\" }}")
}

// req 1.70
#[test]
fn a_program_is_called_at_the_port_that_rpcbind_knows() {
    if !is_root("rpcbind, statd and ganesha") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let words = nfs::of_our_own(dir.path());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rpcbind = rpcbind();
    let mut statd = Part::start(&nfs::STATD);
    let mut ganesha = Part::start(&words);
    nfs::wait_registered(&["status", "nfs", "mountd", "nlockmgr"]);
    for program in ["rpcbind", "statd", "nfsd", "mountd", "lockd"] {
        for (host, transport) in
            [("127.0.0.1", "udp"), ("127.0.0.1", "tcp"), ("[::1]", "udp"), ("[::1]", "tcp")]
        {
            let server = match program {
                "rpcbind" | "statd" => program,
                _ => "ganesha",
            };
            let situation = format!("{program} by {transport} at {host}");
            row("rpc", server, &situation, &call(program, host, transport), PATIENT_MS, "healthy");
        }
    }
    ganesha.signal(Signal::STOP);
    statd.signal(Signal::STOP);
    let frozen = |transport| call("nfsd", "127.0.0.1", transport);
    row("rpc", "ganesha", "frozen", &frozen("udp"), 600, "100 silence no reply in 0.6s");
    row("rpc", "ganesha", "frozen", &frozen("tcp"), 600, "50 read no answer in 0.6s");
    let frozen = call("statd", "127.0.0.1", "udp");
    row("rpc", "statd", "frozen", &frozen, 600, "100 silence no reply in 0.6s");
    ganesha.stop();
    statd.stop();
    // What was killed is still known there.
    for program in ["nfsd", "statd"] {
        for transport in ["udp", "tcp"] {
            let stopped = call(program, "127.0.0.1", transport);
            row("rpc", program, "stopped", &stopped, PATIENT_MS, "100 connect refused");
        }
    }
    for host in ["127.0.0.1", "[::1]"] {
        let unknown = format!("{{ url = \"rpc://{host}\", program = 300000 }}");
        let wanted = "100 connect not registered with rpcbind";
        row("rpc", "rpcbind", "not registered", &unknown, PATIENT_MS, wanted);
    }
    // Of a program that cannot be looked up nothing is known, unless it is said what that weighs.
    let weighed = "{ url = \"rpc://127.0.0.1\", program = \"nfsd\", weights = { resolve = 10 } }";
    rpcbind.signal(Signal::STOP);
    row("rpc", "rpcbind", "frozen", weighed, 600, "10 resolve rpcbind does not answer");
    drop(rpcbind);
    row("rpc", "rpcbind", "stopped", weighed, PATIENT_MS, "10 resolve rpcbind is not there");
}

/// The check of this name.
fn check<'s>(service: &'s Value, name: &str) -> &'s Value {
    let checks = service["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["name"] == name).expect("a check of this name")
}

/// How quickly a test wants to see things; presets have the document's intervals.
const QUICK: &str = "policy.thorough_probe_interval = \"300ms\"\npolicy.probe_timeout = \"2s\"\n\
    policy.retry_interval = \"10m\"\npolicy.start_grace = \"0s\"\npolicy.stop_timeout = \"2s\"\n";

/// `nfs-nfsd` runs ganesha: a null call that fails restarts it, but not while its share is gone; its
/// end restarts it at once. The others watch.
// req 1.67, 1.69, 1.78, 1.84, 1.85, 1.87, 1.89, 1.92
#[test]
fn the_presets_act_as_the_table_of_the_daemons_says() {
    if !is_root("rpcbind, statd and ganesha") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let words = nfs::of_our_own(dir.path());
    let rpcbind = rpcbind();
    let mut statd = Part::start(&nfs::STATD);
    fs::create_dir(dir.path().join("share")).expect("a share");
    let start = words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    let share = dir.path().join("share").display().to_string();
    let watched = "policy.failover_mode = \"log_only\"\nallow = [\"watched-only\"]\n";
    let text = format!(
        "[service.nfsd]\npreset = \"nfs-nfsd\"\nstart = [{start}]\n{QUICK}policy.retry_count = 5\n\
         check.gone.name = \"ganesha.nfsd\"\ncheck.share.path = \"{share}\"\n\
         check.null.observe = false\n\
         [service.mountd]\npreset = \"nfs-mountd\"\n{QUICK}{watched}\
         check.gone.name = \"ganesha.nfsd\"\ncheck.share.path = \"{share}\"\n\
         [service.locks]\npreset = \"nfs-statd\"\n{QUICK}{watched}\
         check.lockd.name = \"ganesha.nfsd\"\n\
         [service.rpcbind]\npreset = \"nfs-rpcbind\"\n{QUICK}{watched}\
         [service.all]\npreset = \"nfs-daemons\"\n{QUICK}{watched}check.share.path = \"{share}\"\n\
         check.lockd.name = \"ganesha.nfsd\"\ncheck.mountd.name = \"ganesha.nfsd\"\n\
         check.nfsd.name = \"ganesha.nfsd\"\n\
         [service.shares]\npreset = \"nfs-shares\"\n{QUICK}{watched}\
         check.lockd.name = \"ganesha.nfsd\"\ncheck.mountd.name = \"ganesha.nfsd\"\n\
         check.nfsd.name = \"ganesha.nfsd\"\ncheck.shares.list = \"$DIR/exports\"\n"
    );
    let daemon = Daemon::start_in(&text, &[], |here| {
        fs::write(here.join("exports"), format!("{share} *(rw)\n")).expect("a list");
    });
    for name in ["nfsd", "mountd", "locks", "rpcbind", "all", "shares"] {
        daemon.wait_status(name, "ok");
    }
    let pid = || daemon.service("nfsd")["pid"].as_u64().expect("a process") as u32;
    let restarts = || daemon.service("nfsd")["restarts"].as_u64().expect("a number");
    let first = pid();
    // Hung while its share is gone too: shares are faulted, and nothing is restarted.
    fs::remove_dir(&share).expect("gone");
    daemon.wait_status("shares", "faulted");
    signal_to(first, Signal::STOP);
    daemon.wait_service("nfsd", "to pass over its null call", |it| {
        check(it, "null")["outcome"] == "not_evaluated"
    });
    assert_eq!((pid(), restarts()), (first, 0));
    fs::create_dir(&share).expect("back");
    daemon.wait_service("nfsd", "to be restarted", |it| it["restarts"] == 1);
    for name in ["nfsd", "mountd", "shares"] {
        daemon.wait_status(name, "ok");
    }
    let second = pid();
    assert_ne!(first, second);
    signal_to(second, Signal::KILL);
    daemon.wait_service("nfsd", "to be restarted again", |it| it["restarts"] == 2);
    for name in ["nfsd", "mountd", "locks", "all", "shares"] {
        daemon.wait_status(name, "ok");
    }
    // One of the pair is gone.
    statd.stop();
    for name in ["locks", "all", "shares"] {
        let service = daemon.wait_status(name, "faulted");
        assert_eq!(check(&service, "statd")["cause"], "no such process", "{name}");
    }
    let _statd = Part::start(&nfs::STATD);
    for name in ["locks", "all", "shares"] {
        daemon.wait_status(name, "ok");
    }
    let _ = daemon.ok(&["monitor", "stop", "shares"]);
    assert_eq!(daemon.service("shares")["waiting_for"], "unmonitored");
    drop(rpcbind);
    daemon.wait_status("rpcbind", "faulted");
}

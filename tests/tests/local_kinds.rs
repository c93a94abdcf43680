//! Kinds that ask no server on a connection: a command, what this host shows, an agent that is heard,
//! Oracle's programs. Each healthy, stopped, frozen, refusing, garbled, cut short, endless, slow.

use std::fs;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use giveover_tests::faults::{Fault, nobody, serve};
use giveover_tests::mount::DeadMount;
use giveover_tests::oracle::Oracle;
use giveover_tests::probing::tell;
use giveover_tests::server::is_root;
use giveover_tests::{Daemon, free_port, giveover, processes_with, signal_to, text_of, wait_for};
use rustix::process::Signal;
use serde_json::Value;

/// Weight, phase and cause of what a check found.
fn verdict(check: &Value) -> String {
    let word = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    match (word("outcome").as_str(), check["weight"].as_u64()) {
        ("healthy", _) => String::from("healthy"),
        (_, Some(weight)) => format!("{weight} {} {}", word("phase"), word("cause")),
        _ => format!("cannot measure: {}", word("cause")),
    }
}

fn seen(kind: &str, server: &str, situation: &str, check: &Value, wanted: &str) {
    let found = verdict(check);
    let ms = check["ms"].as_u64().and_then(|ms| u32::try_from(ms).ok());
    tell(kind, server, situation, &found, ms);
    assert_eq!(found, wanted, "{kind}, {server}, {situation}: {check}");
}

/// `giveover probe` with these words, and what it found. Programs in `path` come first.
fn probe(words: &[&str], path: &Path) -> Value {
    let before = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(giveover());
    command.env("PATH", format!("{}:{before}", path.display()));
    let output = command.args(["probe", "--json"]).args(words).output().expect("giveover runs");
    let found: Result<Value, _> = serde_json::from_slice(&output.stdout);
    found.unwrap_or_else(|_| panic!("{words:?}: {}", text_of(&output)))["check"].clone()
}

/// What a check that is configured finds: kind, situation, its keys, its limit, the verdict.
type Row<'r> = (&'r str, &'r str, String, &'r str, &'r str);

const LONG: &str = "20s";
const SHORT: &str = "500ms";

fn each(server: &str, rows: &[Row<'_>], prepare: impl FnOnce(&Path)) {
    let service = |(place, (_, _, check, limit, _)): (usize, &Row<'_>)| {
        format!(
            "[service.r{place}]\ncheck.it = {{ {check} }}\nallow = [\"watched-only\"]\n\
             policy = {{ thorough_probe_interval = \"1h\", probe_timeout = \"{limit}\", \
             retry_interval = \"900h\", failover_mode = \"log_only\" }}\n"
        )
    };
    let text: String = rows.iter().enumerate().map(service).collect();
    let daemon = Daemon::start_in(&text, &[], prepare);
    for (place, (kind, situation, _, _, wanted)) in rows.iter().enumerate() {
        let found = wait_for("a probe during which the daemon ran", || {
            let output = daemon.cli(&["probe", "--json", &format!("r{place}")]);
            let found: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|_| panic!("{situation}: {}", text_of(&output)));
            // On a busy machine it may be woken too late, which says nothing of what it asked.
            (found[0]["outcome"] != "void").then_some(found)
        });
        seen(kind, server, situation, &found[0], wanted);
    }
}

#[test]
fn a_command_is_its_exit() {
    let shell = |script: &str| format!("command = [\"/bin/sh\", \"-c\", \"{script}\"]");
    let late = "100 exit no end in 0.5s";
    let rows: [Row<'_>; 9] = [
        ("command", "healthy", shell("exit 0"), LONG, "healthy"),
        ("command", "refusing", shell("exit 3"), LONG, "100 exit exit 3"),
        (
            "command",
            "not there",
            String::from("command = [\"/no/such/program\"]"),
            LONG,
            "cannot measure: cannot be run: no such file",
        ),
        ("command", "frozen", shell("kill -STOP $$$$"), SHORT, late),
        ("command", "garbage", shell("head -c 100000 /dev/urandom"), LONG, "healthy"),
        ("command", "endless", shell("exec yes"), SHORT, late),
        ("command", "slow", shell("while echo x; do sleep 1; done"), SHORT, late),
        ("command", "closes its output", shell("exec >&- 2>&-; exit 0"), LONG, "healthy"),
        ("command", "killed", shell("kill -9 $$$$"), LONG, "100 exit signal 9 (KILL)"),
    ];
    each("/bin/sh", &rows, |_| ());
    if !is_root("a command of another user") {
        return;
    }
    let nobody = |command: &str| format!("{command}, user = \"nobody\", group = \"daemon\"");
    let rows: [Row<'_>; 3] = [
        (
            "command",
            "as another user",
            nobody(&shell("test $$(id -un):$$(id -gn) = nobody:daemon")),
            LONG,
            "healthy",
        ),
        (
            "command",
            "another's, not there",
            nobody("command = [\"/no/such/program\"]"),
            LONG,
            "cannot measure: exit 127",
        ),
        (
            "command",
            "as nobody known",
            format!("{}, user = \"giveover-none\"", shell("exit 0")),
            LONG,
            "cannot measure: exit 126",
        ),
    ];
    each("/bin/sh", &rows, |_| ());
}

#[test]
fn paths_and_processes_are_there_or_not() {
    let path = |keys: &str| format!("kind = \"path\", {keys}");
    let process = |name: &str| format!("kind = \"process\", name = \"{name}\"");
    let rows: [Row<'_>; 10] = [
        ("path", "healthy", path("path = \"$DIR/there\""), LONG, "healthy"),
        ("path", "gone", path("path = \"$DIR/none\""), LONG, "100 exit it does not answer"),
        ("path", "refusing", path("path = \"$DIR/there/x\""), LONG, "100 exit it does not answer"),
        (
            "path",
            "old",
            path("path = \"$DIR/there\", age = \"1h\""),
            LONG,
            "100 exit changed too long ago",
        ),
        (
            "path",
            "full",
            path("path = \"/\", free = \"100%\""),
            LONG,
            "100 exit too little is free",
        ),
        ("path", "every path of a list", path("list = \"$DIR/list\""), LONG, "healthy"),
        (
            "path",
            "a list that is none",
            path("list = \"$DIR/none\""),
            LONG,
            "100 exit its list cannot be read",
        ),
        ("process", "healthy", process("giveover"), LONG, "healthy"),
        ("process", "stopped", process("giveover-none"), LONG, "100 exit no such process"),
        ("process", "frozen: it is there", process("giveover-frozen"), LONG, "healthy"),
    ];
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("giveover-frozen");
    std::os::unix::fs::symlink("/bin/sleep", &program).expect("a program");
    let mut frozen = Command::new(&program).arg("600").spawn().expect("it runs");
    signal_to(frozen.id(), Signal::STOP);
    each("files", &rows, |dir| {
        let there = fs::File::create(dir.join("there")).expect("a file");
        let old = SystemTime::now() - Duration::from_secs(7200);
        there.set_modified(old).expect("an older file");
        fs::write(dir.join("list"), format!("{}/there *(ro)\n", dir.display())).expect("a list");
    });
    frozen.kill().expect("ours");
    frozen.wait().expect("its end");
}

/// Nobody serves it: what looks there hangs until it is killed, or on a thread of its own.
#[test]
fn what_lies_on_a_dead_mount_costs_nobody_else_anything() {
    if !is_root("a mount") {
        return;
    }
    let place = tempfile::tempdir().expect("a directory");
    let Some(mut mount) = DeadMount::on(place.path()) else { return };
    let (at, port) = (place.path().display(), free_port());
    let ca = format!("ca = \"{at}/ca\"");
    let own = format!("address = \"127.0.0.1\", config_file = \"{at}/magnus.conf\"");
    let password = format!("password_file = \"{at}/password\"");
    let checks = [
        ("path", "dead mount", format!("kind = \"path\", path = \"{at}/x\"")),
        ("path", "list: a dead path", "kind = \"path\", list = \"$DIR/exports\"".to_owned()),
        ("path", "list: on a dead mount", format!("kind = \"path\", list = \"{at}/exports\"")),
        ("log", "dead mount", format!("url = \"log://{at}/app.log\", pattern = \"x\"")),
        ("https", "dead mount: ca", format!("url = \"https://127.0.0.1:{port}\", {ca}")),
        (
            "postgres",
            "dead mount: ca",
            format!(
                "url = \"postgres://u@127.0.0.1:{port}/d\", tls = true, connect_cycle = 5, {ca}"
            ),
        ),
        ("iplanet", "dead mount: its file", format!("kind = \"iplanet\", {own}")),
        (
            "redis",
            "dead mount: password",
            format!("url = \"redis://127.0.0.1:{port}\", {password}"),
        ),
        (
            "postgres",
            "dead mount: password",
            format!("url = \"postgres://u@127.0.0.1:{port}/d\", {password}"),
        ),
        ("path", "beside them, healthy", "kind = \"path\", path = \"$DIR\"".to_owned()),
    ];
    let unusable = "cannot measure: the server's configuration cannot be parsed";
    let hangs = [
        (SHORT, "100 exit no end in 0.5s"),
        (SHORT, "100 exit no end in 0.5s"),
        (SHORT, "100 exit no end in 0.5s"),
        (SHORT, "cannot measure: no end in 0.5s"),
        (SHORT, "cannot measure: the file of its `ca` does not answer"),
        (SHORT, "cannot measure: the file of its `ca` does not answer"),
        (SHORT, unusable),
        (SHORT, "cannot measure: password_file does not answer"),
        (SHORT, "cannot measure: password_file does not answer"),
        (LONG, "healthy"),
    ];
    // Its server is gone for good, and the kernel says so at once.
    let gone = [
        (LONG, "100 exit it does not answer"),
        (LONG, "100 exit a path does not answer"),
        (LONG, "100 exit its list cannot be read"),
        (LONG, "cannot measure: it cannot be read"),
        (LONG, "100 connect refused"),
        (LONG, "100 connect refused"),
        (LONG, unusable),
        (LONG, "100 connect refused"),
        (LONG, "100 connect refused"),
        (LONG, "healthy"),
    ];
    for (server, wanted) in [("nobody's FUSE", hangs), ("FUSE, aborted", gone)] {
        let rows = checks.iter().zip(wanted);
        let rows = rows.map(|((kind, what, check), (limit, wanted))| {
            (*kind, *what, check.clone(), limit, wanted)
        });
        let rows: Vec<Row<'_>> = rows.collect();
        each(server, &rows, |dir| {
            let list = format!("/ *(ro)\n{at} *(ro)\n");
            fs::write(dir.join("exports"), list).expect("a list");
        });
        let left = format!("{at}/");
        wait_for("what hung to be gone", || processes_with(&left).is_empty().then_some(()));
        mount.end();
    }
}

#[test]
fn a_log_is_read_whatever_is_in_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("app.log");
    let wanted = "pattern = \"PANIC\"";
    let look = |situation: &str, verdict: &str| {
        let url = format!("log://{}", path.display());
        let found = probe(&[&url, "--set", wanted, "--timeout", "20s"], dir.path());
        seen("log", "files", situation, &found, verdict);
    };
    let matches = "100 exit a line matches";
    look("gone", "cannot measure: it cannot be read");
    for (situation, bytes, verdict) in [
        ("healthy", b"all is well\n".to_vec(), "healthy"),
        ("empty", Vec::new(), "healthy"),
        ("a line matches", b"well\nPANIC: x\nwell\n".to_vec(), matches),
        ("cut short", b"well\nPANIC".to_vec(), matches),
        ("garbage", (0..=255_u8).cycle().take(1 << 20).collect(), "healthy"),
        ("garbage, then a line", b"\xff\xfe\0\nPANIC \xff\n".to_vec(), matches),
        ("a line without end", [vec![b'x'; 1 << 19], b"PANIC".to_vec()].concat(), "healthy"),
        ("longer than is read", [b"PANIC\n".to_vec(), vec![b'\n'; 2 << 20]].concat(), "healthy"),
    ] {
        fs::write(&path, bytes).expect("a log");
        look(situation, verdict);
    }
    fs::remove_file(&path).expect("gone");
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    look("a pipe nobody writes", "cannot measure: it cannot be read");
}

/// What `systemctl show` does, by the name of the unit.
const SYSTEMCTL: &str = r#"#!/bin/sh
state() { printf 'LoadState=%s\nActiveState=%s\nSubState=%s\nResult=success\n\n' "$1" "$2" "$3"; }
case "$*" in
*healthy*) state loaded active running ;;
*stopped*) state loaded inactive dead ;;
*failed*) state loaded failed failed ;;
*unknown*) state not-found inactive dead ;;
*garbage*) head -c 5000 /dev/urandom ;;
*cut*) printf 'LoadState=loaded\nActiveSta' ;;
*endless*) exec yes ActiveState=activ ;;
*frozen*) exec sleep 600 ;;
*slow*) for word in L o a d S t a t e = l o a d e d; do printf $word; sleep 1; done ;;
*refusing*) exit 1 ;;
esac
"#;

#[test]
fn a_unit_is_in_its_state_or_nobody_knows() {
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("systemctl");
    fs::write(&program, SYSTEMCTL).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("rights");
    let unknown = "cannot measure: systemd knows no such unit";
    let silent = "cannot measure: systemd does not answer";
    for (situation, verdict) in [
        ("healthy", "healthy"),
        ("stopped", "100 answer inactive, expected active or reloading"),
        ("failed", "100 answer failed, expected active or reloading"),
        ("unknown", unknown),
        ("garbage", silent),
        ("cut", silent),
        ("frozen", silent),
        ("endless", silent),
        ("slow", silent),
        ("refusing", silent),
    ] {
        let url = format!("systemd://{situation}.service");
        let found = probe(&[&url, "--timeout", "20s"], dir.path());
        seen("systemd", "stand-in", situation, &found, verdict);
    }
}

fn agent(to: &str, more: &[&str]) -> Child {
    let mut command = Command::new(giveover());
    command.args(["agent", to, "--name", "a", "--interval", "50ms", "--load", "none"]).args(more);
    command.stdin(Stdio::null()).spawn().expect("giveover runs")
}

#[test]
fn an_agent_is_heard_or_it_is_silent() {
    let port = free_port();
    let dir = tempfile::tempdir().expect("a directory");
    let hear = |situation: &str, transport: &str, limit: &str, wanted: &str| {
        let url = format!("agent://127.0.0.1:{port}/a");
        let transport = format!("transport = \"{transport}\"");
        let words = [&*url, "--set", &transport, "--timeout", limit];
        seen("agent", "giveover", situation, &probe(&words, dir.path()), wanted);
    };
    // Its words have the silence that a monitor takes: interval and 10 s, three times.
    let silence = "100 silence no heartbeat in 48s";
    for (transport, to) in
        [("udp", format!("udp://127.0.0.1:{port}")), ("tcp", format!("tcp://127.0.0.1:{port}"))]
    {
        hear("stopped", transport, "1s", silence);
        let mut well = agent(&to, &[]);
        hear("healthy", transport, LONG, "healthy");
        signal_to(well.id(), Signal::STOP);
        hear("frozen", transport, "1s", silence);
        signal_to(well.id(), Signal::CONT);
        hear("thawed", transport, LONG, "healthy");
        well.kill().expect("ours");
        well.wait().expect("its end");
        let mut failing = agent(&to, &["--unit", "db=/bin/false"]);
        hear("a work unit failed", transport, LONG, "100 answer work unit outside `units` failed");
        failing.kill().expect("ours");
        failing.wait().expect("its end");
        // Nothing that is said over and over here is a heartbeat of ours.
        let over = Arc::new(AtomicBool::new(false));
        let babbles = {
            let (over, transport) = (Arc::clone(&over), transport.to_owned());
            std::thread::spawn(move || babble(port, &transport, &over))
        };
        hear("garbage, endless, cut at every byte", transport, "1s", silence);
        over.store(true, Ordering::Relaxed);
        babbles.join().expect("no panic");
    }
    let over = Arc::new(AtomicBool::new(false));
    let dawdles = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || dawdle(port, &over))
    };
    hear("a byte a second", "tcp", "1s", silence);
    over.store(true, Ordering::Relaxed);
    dawdles.join().expect("no panic");
}

const BEAT: &[u8] = b"giveover-agent/1 a 1796034096123 load=12.50 unit=db:0 unit=queue:137\n";

/// Until it is `over`: a heartbeat, a byte a second.
fn dawdle(port: u16, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(5));
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { continue };
        for byte in BEAT.iter().take_while(|_| !over.load(Ordering::Relaxed)) {
            if std::io::Write::write_all(&mut stream, &[*byte]).is_err() {
                break;
            }
            std::thread::park_timeout(Duration::from_secs(1));
        }
    }
}

/// Until it is `over`: garbage, lines without end, a heartbeat cut short at every byte.
fn babble(port: u16, transport: &str, over: &AtomicBool) {
    let cuts = (0..BEAT.len()).map(|length| BEAT[..length].to_vec());
    let other: [&[u8]; 4] =
        [b"\xff\xfe\0", b"GET / HTTP/1.1", b"giveover-agent/1 b 1796034096123", &[b'x'; 1400]];
    let words: Vec<Vec<u8>> = cuts.chain(other.iter().map(|word| word.to_vec())).collect();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    while !over.load(Ordering::Relaxed) {
        for word in &words {
            // Nobody may hear it yet, or any more.
            let _ = match transport {
                "udp" => socket.send_to(word, ("127.0.0.1", port)).map(drop),
                _ => TcpStream::connect(("127.0.0.1", port))
                    .and_then(|mut stream| std::io::Write::write_all(&mut stream, word)),
            };
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The sample of the source document: connect, disconnect, then `xfsinfo`, which is what waits for an
/// answer.
#[test]
fn a_font_server_lets_go_of_a_connection_and_answers_xfsinfo() {
    let dir = tempfile::tempdir().expect("a directory");
    let port = free_port();
    let mut fonts = Command::new(env!("CARGO_BIN_EXE_fontserver"))
        .arg(port.to_string())
        .arg(dir.path().join("mood"))
        .spawn()
        .expect("a font server");
    wait_for("it to listen", || TcpStream::connect(("127.0.0.1", port)).ok());
    let (_taken, nobody) = nobody();
    let garbage = b"\xff\xff\xff\xff no font server\n".to_vec();
    let second = Duration::from_secs(1);
    let no_info = "50 exit exit 1";
    let check = |address: SocketAddr| {
        format!("kind = \"xfnts\", address = \"{address}\", fsinfo = \"/usr/bin/xfsinfo\"")
    };
    let healthy = SocketAddr::from(([127, 0, 0, 1], port));
    let rows: [Row<'_>; 8] = [
        ("xfnts", "healthy", check(healthy), LONG, "healthy"),
        ("xfnts", "refused", check(nobody), LONG, "100 connect refused"),
        ("xfnts", "garbage", check(serve(Fault::Says(garbage.clone()))), LONG, no_info),
        ("xfnts", "closed at once", check(serve(Fault::Says(Vec::new()))), LONG, no_info),
        ("xfnts", "silent", check(serve(Fault::Silent)), SHORT, "50 exit no end in 0.5s"),
        (
            "xfnts",
            "endless",
            check(serve(Fault::Endless(garbage.clone()))),
            SHORT,
            "50 close not closed in 0.5s",
        ),
        (
            "xfnts",
            "a byte a second",
            check(serve(Fault::Slow(garbage, second))),
            SHORT,
            "50 close not closed in 0.5s",
        ),
        ("xfnts", "reset", check(serve(Fault::Resets)), LONG, "50 close connection reset"),
    ];
    each("stand-in", &rows, |_| ());
    let _ = fonts.kill();
    let _ = fonts.wait();
}

#[test]
fn oracles_programs_answer_or_not() {
    let program = Path::new(env!("CARGO_BIN_EXE_oracle"));
    let moods = ["ok", "down", "error 1", "hang", "die", "garbage", "endless", "slow"];
    let homes: Vec<Oracle> = moods.iter().map(|_| Oracle::new(program)).collect();
    moods.iter().zip(&homes).for_each(|(mood, home)| home.mood(mood));
    let late = "50 read no answer in 0.5s";
    let server = [
        ("healthy", LONG, "healthy"),
        ("stopped", LONG, "50 answer ORA-01034"),
        ("refusing", LONG, "50 answer ORA-00001"),
        ("frozen", SHORT, late),
        ("closes early", LONG, "50 answer the client ended before it had answered"),
        ("garbage", LONG, "50 answer wrong answer"),
        ("endless", LONG, "50 answer wrong answer"),
        ("slow", SHORT, late),
    ];
    let of_server = server.iter().zip(&homes).map(|((situation, limit, wanted), home)| {
        let check = format!("kind = \"oracle\", oracle_home = \"{}\"", home.home());
        ("oracle", *situation, check, *limit, *wanted)
    });
    let listeners: Vec<Oracle> = (0..8).map(|_| Oracle::new(program)).collect();
    let listener = [
        ("up", "healthy", LONG, "healthy"),
        ("locked", "wants a password", LONG, "healthy"),
        ("down", "stopped", LONG, "100 exit exit 1"),
        ("hang", "frozen", SHORT, "100 exit no end in 0.5s"),
        ("die", "closes early", LONG, "100 exit exit 1"),
        ("garbage", "garbage", LONG, "100 exit exit 1"),
        ("endless", "endless", SHORT, "100 exit no end in 0.5s"),
        ("slow", "slow", SHORT, "100 exit no end in 0.5s"),
    ];
    let of_listener =
        listener.iter().zip(&listeners).map(|((mood, situation, limit, wanted), home)| {
            home.listener(mood);
            let check = format!("kind = \"listener\", oracle_home = \"{}\"", home.home());
            ("listener", *situation, check, *limit, *wanted)
        });
    let rows: Vec<Row<'_>> = of_server.chain(of_listener).collect();
    each("stand-in", &rows, |_| ());
    wait_for("it to have been asked", || (homes[0].count("SELECT") > 0).then_some(()));
}

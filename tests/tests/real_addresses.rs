//! The holder of a group's addresses on hosts of the test's own: what the kernel has, what
//! neighbours believe, and what becomes of connections.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use giveover::cluster::address::process::VERB;
use giveover::cluster::address::words::{Ask, Told};
use giveover::cluster::steps::{Commands, Done, Held, Step};
use giveover::message::watchdog;
use giveover_core::peer::Taken;
use giveover_core::time::Instant;
use giveover_tests::lan::Lan;
use giveover_tests::server::is_root;
use giveover_tests::{PATIENCE, giveover, signal_to, wait_for};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};

const FOUR: &str = "10.0.0.10";
const SIX: &str = "2001:db8::a";
/// Longer than any test takes: nothing lapses unless a test wants it to.
const LONG_MS: u64 = 600_000;

fn held() -> Held {
    Held {
        addresses: vec![
            (FOUR.parse().expect("an address"), 24),
            (SIX.parse().expect("an address"), 64),
        ],
        ..Held::default()
    }
}

fn in_ms(ms: u64) -> Instant {
    let now = clock_gettime(ClockId::Boottime);
    let now = u64::try_from(now.tv_sec * 1000 + now.tv_nsec / 1_000_000).expect("after boot");
    Instant::from_millis(now + ms)
}

/// A holder that runs.
struct Holder {
    child: Child,
    input: Option<ChildStdin>,
    told: Receiver<String>,
    said: Vec<String>,
}

impl Holder {
    fn start(command: Command, held: &Held) -> Self {
        let mut holder = Self::begin(command, held);
        assert_eq!(holder.answer(), Told::Ready);
        holder
    }

    fn on(lan: &Lan, host: &str, held: &Held) -> Self {
        let mut command = lan.on(host, &giveover().display().to_string());
        command.arg(VERB);
        Self::start(command, held)
    }

    fn begin(mut command: Command, held: &Held) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().expect("a holder");
        let (says, told) = channel();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if says.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        let mut holder = Self { child, input, told, said: Vec::new() };
        holder.ask(&Ask::Hold(held.clone()));
        holder
    }

    fn say(&mut self, text: &str) {
        let input = self.input.as_mut().expect("a pipe");
        input.write_all(text.as_bytes()).expect("it listens");
    }

    fn ask(&mut self, ask: &Ask) {
        self.say(&ask.line());
    }

    /// The next answer; what is said for people is kept.
    fn answer(&mut self) -> Told {
        loop {
            let line = self.told.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no answer; it said {:?}", self.said));
            match Told::parse(&line).unwrap_or_else(|| panic!("no answer: {line}")) {
                Told::Said(text) => self.said.push(text),
                answer => return answer,
            }
        }
    }

    fn take(&mut self, ms: u64) -> Taken {
        self.ask(&Ask::Step(Step::Take { until: in_ms(ms) }));
        match self.answer() {
            Told::Done(Done::Taken(taken)) => taken,
            other => panic!("{other:?}, it said {:?}", self.said),
        }
    }

    fn drop_all(&mut self, leftover: bool) -> bool {
        self.ask(&Ask::Step(Step::Drop { leftover }));
        match self.answer() {
            Told::Done(Done::Dropped { ok }) => ok,
            other => panic!("{other:?}, it said {:?}", self.said),
        }
    }

    /// The process that has the addresses: `nsenter` has become it.
    fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server on a host, at every address there, that says its name and then waits.
fn greeter(lan: &Lan, host: &'static str) {
    let enter = lan.door(host);
    let (listening, listens) = channel();
    std::thread::spawn(move || {
        enter();
        let listener = TcpListener::bind("[::]:80").expect("a port");
        listening.send(()).expect("somebody waits");
        let mut kept = Vec::new();
        while let Ok((mut stream, _)) = listener.accept() {
            let _ = writeln!(stream, "{host}");
            kept.push(stream);
        }
    });
    listens.recv_timeout(PATIENCE).expect("it listens");
}

/// A connection from the host this thread is on, and the name that greeted it.
fn greeted(address: &str) -> Option<(TcpStream, String)> {
    let to = (address, 80);
    let stream = TcpStream::connect(to).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).ok()?;
    Some((stream, line.trim_end().to_owned()))
}

/// The document's: `eth0:0` with 255.255.255.0, asked for by anybody who looks.
// req 2.60
#[test]
fn the_address_is_on_its_interface_with_its_label_and_mask_and_a_lifetime() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a"]);
    let with =
        Held { interface: Some("eth0".to_owned()), label: Some("eth0:0".to_owned()), ..held() };
    let mut holder = Holder::on(&lan, "a", &with);
    assert_eq!(holder.take(LONG_MS), Taken::Up, "{:?}", holder.said);
    let four = lan.asked("a", "-4 -o addr show label eth0:0");
    assert!(
        four.contains("inet 10.0.0.10/24 brd 10.0.0.255 scope global secondary dynamic eth0:0")
    );
    assert!(four.contains("valid_lft 5"), "as long as it was given: {four}");
    let six = lan.asked("a", "-6 -o addr show dev eth0");
    let six = six.lines().find(|line| line.contains("inet6 2001:db8::a/64")).expect("there");
    assert!(!six.contains("tentative"), "it can be used at once: {six}");
    assert!(holder.drop_all(false), "{:?}", holder.said);
    assert!(!lan.has("a", FOUR) && !lan.has("a", SIX) && lan.has("a", "10.0.0.1"));
}

/// Clients keep the address, connections to the old holder end at once, and the client's kernel
/// knows the new one before it asks.
// req 2.15 2.16 2.17 2.18 2.61
#[test]
fn the_address_moves_and_clients_follow() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a", "b", "client"]);
    greeter(&lan, "a");
    greeter(&lan, "b");
    let mut first = Holder::on(&lan, "a", &held());
    let mut second = Holder::on(&lan, "b", &held());
    lan.go_to("client");
    for address in [FOUR, SIX] {
        assert_eq!(first.take(LONG_MS), Taken::Up, "{:?}", first.said);
        let (mut old, name) = greeted(address).expect("served");
        assert_eq!(name, "a");
        assert_eq!(lan.cached("client", address), Some(lan.mac("a")));
        assert_eq!(second.take(LONG_MS), Taken::Duplicate, "the first one answers for it");
        assert!(!lan.has("b", FOUR));

        assert!(first.drop_all(false), "{:?}", first.said);
        let error = old.read(&mut [0; 1]).expect_err("reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        assert!(!lan.has("a", FOUR) && !lan.has("a", SIX));

        assert_eq!(second.take(LONG_MS), Taken::Up, "{:?}", second.said);
        wait_for("the client's kernel to know", || {
            (lan.cached("client", address) == Some(lan.mac("b"))).then_some(())
        });
        assert_eq!(greeted(address).expect("served").1, "b");
        assert!(second.drop_all(false), "{:?}", second.said);
    }
    assert!(first.said.iter().any(|said| said.contains("connections to 10.0.0.10 ended")));
}

#[test]
fn an_address_that_somebody_has_is_not_taken() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a", "stranger"]);
    let mut holder = Holder::on(&lan, "a", &held());
    for address in ["10.0.0.10/24", "2001:db8::a/64"] {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        lan.ip("stranger", &format!("addr add {address} dev eth0{nodad}"));
        assert_eq!(holder.take(LONG_MS), Taken::Duplicate, "{address}");
        assert!(!lan.has("a", FOUR) && !lan.has("a", SIX), "{address}");
        let who = lan.mac("stranger");
        assert!(holder.said.iter().any(|said| said.contains(&who)), "{:?}", holder.said);
        lan.ip("stranger", &format!("addr del {address} dev eth0"));
    }
    assert_eq!(holder.take(LONG_MS), Taken::Up, "{:?}", holder.said);
    // Ours is heard by the stranger's kernel as well: it would not take it for IPv6.
    lan.ip("stranger", "addr add 2001:db8::a/64 dev eth0");
    wait_for("the stranger to give it up", || {
        lan.asked("stranger", "-6 -o addr show dev eth0").contains("dadfailed").then_some(())
    });
}

#[test]
fn what_is_taken_off_behind_its_back_is_told_and_can_be_taken_again() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a"]);
    let mut holder = Holder::on(&lan, "a", &held());
    assert_eq!(holder.take(LONG_MS), Taken::Up);
    for line in ["addr del 10.0.0.10/24 dev eth0", "addr flush dev eth0"] {
        lan.ip("a", line);
        assert_eq!(holder.answer(), Told::Done(Done::Lost), "{line}");
        if line.contains("flush") {
            lan.ip("a", "addr add 10.0.0.1/24 dev eth0");
            lan.ip("a", "addr add 2001:db8::1/64 dev eth0 nodad");
        }
        assert_eq!(holder.take(LONG_MS), Taken::Up, "{line}: {:?}", holder.said);
        assert!(lan.has("a", FOUR) && lan.has("a", SIX));
    }
}

/// Nothing in user space has to live for it to end.
#[test]
fn a_holder_that_is_killed_or_stopped_holds_no_longer_than_its_lifetime() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a"]);
    for signal in [Signal::STOP, Signal::KILL] {
        let mut holder = Holder::on(&lan, "a", &held());
        assert_eq!(holder.take(6_000), Taken::Up, "{:?}", holder.said);
        signal_to(holder.pid(), signal);
        wait_for("the kernel to let it go", || {
            (!lan.has("a", FOUR) && !lan.has("a", SIX)).then_some(())
        });
        if signal == Signal::STOP {
            signal_to(holder.pid(), Signal::CONT);
            assert_eq!(holder.answer(), Told::Done(Done::Lost));
        }
    }
}

#[test]
fn a_daemon_that_is_silent_or_gone_loses_it_in_order() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a", "client"]);
    greeter(&lan, "a");
    let mut holder = Holder::on(&lan, "a", &held());
    lan.go_to("client");
    assert_eq!(holder.take(9_000), Taken::Up, "{:?}", holder.said);
    assert_eq!(holder.answer(), Told::Done(Done::Lost), "nobody renewed it");
    assert!(!lan.has("a", FOUR));

    assert_eq!(holder.take(LONG_MS), Taken::Up, "{:?}", holder.said);
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        signal_to(holder.pid(), signal); // meant for the daemon's whole group
    }
    holder.ask(&Ask::Step(Step::Renew { until: in_ms(LONG_MS) }));
    assert_eq!(holder.answer(), Told::Alive);
    assert!(lan.has("a", FOUR));
    let (mut client, _) = greeted(FOUR).expect("served");
    drop(holder.input.take());
    let error = client.read(&mut [0; 1]).expect_err("reset, where a lapse would say nothing");
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    let status = wait_for("it to end", || holder.child.try_wait().expect("its status"));
    assert!(status.success(), "{status}");
    assert!(!lan.has("a", FOUR) && !lan.has("a", SIX));
}

#[test]
fn what_an_earlier_life_left_is_removed_wherever_it_is() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a"]);
    lan.ip("a", "addr add 10.0.0.10/32 dev lo");
    lan.ip("a", "addr add 10.0.0.10/24 dev eth0 label eth0:7");
    lan.ip("a", "addr add 2001:db8::a/128 dev eth0 nodad");
    let mut holder = Holder::on(&lan, "a", &held());
    assert!(holder.drop_all(true), "{:?}", holder.said);
    assert!(!lan.has("a", FOUR) && !lan.has("a", SIX) && lan.has("a", "10.0.0.1"));
    assert!(holder.drop_all(true), "nothing is there");
}

/// Lines that come in one piece are all answered.
#[test]
fn steps_that_come_together_are_each_taken() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a"]);
    let mut command = lan.on("a", "sh");
    // Nothing is read before everything has been said.
    command.args(["-c", "read go; exec \"$0\" \"$1\""]).arg(giveover()).arg(VERB);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a holder");
    let mut input = child.stdin.take().expect("a pipe");
    let leftover = Ask::Step(Step::Drop { leftover: true }).line();
    let text = format!("{}{leftover}", Ask::Hold(held()).line());
    input.write_all(format!("go\n{text}").as_bytes()).expect("it listens");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    assert_eq!(lines.next().and_then(Result::ok).as_deref(), Some("ready"));
    assert_eq!(lines.next().and_then(Result::ok).as_deref(), Some("dropped"));
    drop(input);
    assert!(child.wait().expect("its status").success());
}

/// The document's commands, by today's program; the placeholder stands inside a word.
// req 2.106 2.112
#[test]
fn commands_of_ones_own_are_run_and_bound_by_a_lifetime_all_the_same() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a"]);
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let commands = Commands {
        up: words("ip addr add $_IP_$/24 dev eth0 label eth0:0"),
        down: words("ip addr del $_IP_$/24 dev eth0"),
        announce: None,
    };
    let with = Held {
        addresses: vec![(FOUR.parse().expect("an address"), 32)],
        commands: Some(commands.clone()),
        ..Held::default()
    };
    let mut holder = Holder::on(&lan, "a", &with);
    assert_eq!(holder.take(LONG_MS), Taken::Up, "{:?}", holder.said);
    let found = lan.asked("a", "-4 -o addr show label eth0:0");
    assert!(found.contains("10.0.0.10/24") && found.contains("dynamic"), "{found}");
    assert!(holder.drop_all(false), "{:?}", holder.said);
    assert!(!lan.has("a", FOUR));

    let broken = Held {
        commands: Some(Commands { up: words("false"), ..commands.clone() }),
        ..with.clone()
    };
    let mut holder = Holder::on(&lan, "a", &broken);
    assert_eq!(holder.take(LONG_MS), Taken::Failed);
    assert!(holder.said.iter().any(|said| said.contains("exit status: 1")), "{:?}", holder.said);
    let useless = Held { commands: Some(Commands { down: words("true"), ..commands }), ..with };
    let mut holder = Holder::on(&lan, "a", &useless);
    assert_eq!(holder.take(LONG_MS), Taken::Up, "{:?}", holder.said);
    assert!(holder.drop_all(false), "the kernel does what the command did not");
    assert!(!lan.has("a", FOUR));
}

/// What the holder keeps of root's rights, and what it says where it has none.
// req 2.35
#[test]
fn two_rights_are_enough_and_without_them_it_says_so() {
    if !is_root("networks of our own") {
        return;
    }
    let lan = Lan::new(&["a"]);
    let holder = Holder::on(&lan, "a", &held());
    let status = std::fs::read_to_string(format!("/proc/{}/status", holder.pid())).expect("alive");
    for kind in ["CapPrm", "CapEff"] {
        let line = status.lines().find(|line| line.starts_with(kind)).expect(kind);
        assert!(line.ends_with("0000000000003000"), "CAP_NET_ADMIN and CAP_NET_RAW alone: {line}");
    }
    let (_dir, program) = for_anybody();
    let mut command = Command::new(&program);
    command.arg(VERB).uid(65534).gid(65534);
    let mut holder = Holder::begin(command, &held());
    let Told::Unable(why) = holder.answer() else { panic!("it is able") };
    assert_eq!(why, "an address needs CAP_NET_ADMIN and CAP_NET_RAW, or root");
    let status = wait_for("it to end", || holder.child.try_wait().expect("its status"));
    assert_eq!(status.code(), Some(2));
}

/// A directory that everybody may use, and in it the program: a person may run it from there.
fn for_anybody() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(dir.path(), everybody.clone()).expect("ours");
    let program = dir.path().join("giveover");
    // Not by us: what another thread starts just then would hold the file open, and nobody could
    // run it.
    let copied = Command::new("cp").arg(giveover()).arg(&program).status().expect("cp");
    assert!(copied.success());
    std::fs::set_permissions(&program, everybody).expect("ours");
    (dir, program)
}

/// Section 4.2: without the right to change addresses nothing starts.
// req 2.49 2.50
#[test]
fn a_daemon_without_rights_does_not_start_with_addresses() {
    if !is_root("another user") {
        return;
    }
    let (dir, program) = for_anybody();
    let file = dir.path().join("giveover.toml");
    let text = "[host]\nnode = \"a\"\n[cluster]\nkey = \"/absent.key\"\nquorum = \"stay\"\n\
                [node.a]\naddress = \"127.0.0.1\"\n[node.b]\naddress = \"127.0.0.2\"\n\
                [group.front]\naddresses = [\"10.0.0.10/24\"]\n";
    std::fs::write(&file, text).expect("a configuration");
    let output = Command::new(&program)
        .arg("run")
        .arg(&file)
        .arg("--state")
        .arg(dir.path().join("state"))
        .arg("--socket")
        .arg(dir.path().join("control.sock"))
        .uid(65534)
        .gid(65534)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(10), "{said}");
    assert!(said.contains("an address needs CAP_NET_ADMIN and CAP_NET_RAW, or root"), "{said}");
    assert!(said.contains(watchdog::NO_PRIVILEGE), "{said}");
}

//! Pools on bad days: balancers that hang, garble or are gone, clients that say nothing, ports that
//! are taken, no descriptors, and a monitor that is killed or given another file in the middle.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use giveover_tests::pools::{connect, get};
use giveover_tests::{Daemon, PATIENCE, free_port, wait_for};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

const QUICK: &str = "check.port = \"tcp\"\ninterval = \"100ms\"\nprobe_timeout = \"500ms\"\n";

/// A command that writes a line: pool, member, state, reason.
const TELL: &str = "command = [\"/bin/sh\", \"-c\", \"echo \\\"$$0\\\" >> $DIR/told\", \"$SERVICE $MEMBER $TO $REASON\"]\n";

/// Two members that only listen.
fn members() -> ([TcpListener; 2], String) {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let [a, b] = [0, 1].map(|at: usize| listeners[at].local_addr().expect("its"));
    (listeners, format!("member.a = \"{a}\"\nmember.b = \"{b}\"\n"))
}

fn told(daemon: &Daemon) -> Vec<String> {
    let text = fs::read_to_string(daemon.dir.path().join("told")).unwrap_or_default();
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn wait_told(daemon: &Daemon, wanted: &str) {
    wait_for(&format!("to be told {wanted}"), || {
        told(daemon).iter().any(|line| line.starts_with(wanted)).then_some(())
    });
}

fn wait_trouble(daemon: &Daemon, wanted: &str) {
    wait_for(&format!("the trouble {wanted}"), || {
        let status = daemon.status()?;
        let trouble = status["pools"][0]["trouble"].as_array().cloned()?;
        let has = |text: &serde_json::Value| text.as_str().is_some_and(|it| it.contains(wanted));
        trouble.iter().any(has).then_some(())
    });
}

fn wait_no_trouble(daemon: &Daemon) {
    wait_for("no trouble", || {
        let status = daemon.status()?;
        status["pools"][0]["trouble"].as_array()?.is_empty().then_some(())
    });
}

/// What HAProxy's agent check is answered.
fn asked(port: u16, line: &str) -> String {
    let mut stream = connect(port, PATIENCE).expect("connected");
    stream.write_all(line.as_bytes()).expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

/// Something in HAProxy's place that answers as it never would; the real one cannot be made to.
struct Strange {
    path: PathBuf,
    mood: Arc<AtomicU8>,
}

const WELL: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight\n\
                    3 web 1 a 127.0.0.1 2 0 1 1\n3 web 2 b 127.0.0.1 2 0 1 1\n\n";

impl Strange {
    const WELL: u8 = 0;
    const PARTIAL: u8 = 1;
    const GARBAGE: u8 = 2;
    const SILENT: u8 = 3;
    const NOTHING: u8 = 4;
    const REFUSES: u8 = 5;

    fn start(dir: &Path) -> Self {
        let path = dir.join("admin.sock");
        let mood = Arc::new(AtomicU8::new(Self::WELL));
        let strange = Self { path, mood };
        strange.listen();
        strange
    }

    fn listen(&self) {
        let listener = UnixListener::bind(&self.path).expect("a socket");
        let mood = self.mood.clone();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            while let Ok((mut stream, _)) = listener.accept() {
                let mut asked = [0; 256];
                let count = stream.read(&mut asked).unwrap_or(0);
                let sets = asked[..count].starts_with(b"set ");
                let answer: &[u8] = match mood.load(Ordering::Relaxed) {
                    Self::WELL if sets => b"\n",
                    Self::WELL => WELL.as_bytes(),
                    Self::PARTIAL => &WELL.as_bytes()[..WELL.len() / 2],
                    Self::GARBAGE => b"\xff\xfe\0\0 1\n# x\n\n\n",
                    Self::REFUSES if sets => b"Permission denied\n\n",
                    // Somebody has drained `b`.
                    Self::REFUSES => WELL_BUT_B.as_bytes(),
                    Self::SILENT => {
                        kept.push(stream);
                        continue;
                    }
                    _ => b"",
                };
                let _ = stream.write_all(answer);
            }
        });
    }
}

const WELL_BUT_B: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight\n\
                          3 web 1 a 127.0.0.1 2 0 1 1\n3 web 2 b 127.0.0.1 2 8 1 1\n\n";

/// Whatever comes instead of an answer is said, with a reason, and is over once it answers.
#[test]
fn a_haproxy_that_is_late_partial_garbled_silent_or_gone_is_said_and_asked_again() {
    let (_listeners, table) = members();
    let dir = tempfile::tempdir().expect("a place");
    let strange = Strange::start(dir.path());
    let daemon = Daemon::start(&format!(
        "[pool.web]\n{QUICK}haproxy = {{ socket = \"{}\" }}\n{table}",
        strange.path.display()
    ));
    wait_no_trouble(&daemon);
    for (mood, why) in [
        (Strange::PARTIAL, "haproxy: it hung up before its answer was whole"),
        (Strange::GARBAGE, "haproxy: "),
        (Strange::SILENT, "haproxy: it does not answer"),
        (Strange::NOTHING, "haproxy: it hung up before its answer was whole"),
        (Strange::REFUSES, "haproxy: Permission denied"),
    ] {
        strange.mood.store(mood, Ordering::Relaxed);
        wait_trouble(&daemon, why);
        strange.mood.store(Strange::WELL, Ordering::Relaxed);
        wait_no_trouble(&daemon);
    }
    // The path vanishes, and is somebody's again.
    fs::remove_file(&strange.path).expect("there");
    wait_trouble(&daemon, "haproxy: No such file or directory");
    strange.listen();
    wait_no_trouble(&daemon);
    for member in ["a", "b"] {
        assert_eq!(daemon.member("web", member)["state"], "in");
    }
}

/// One reason is said once, however often it is met.
#[test]
fn what_haproxy_refuses_is_said_once() {
    let (_listeners, table) = members();
    let dir = tempfile::tempdir().expect("a place");
    let strange = Strange::start(dir.path());
    strange.mood.store(Strange::REFUSES, Ordering::Relaxed);
    let daemon = Daemon::start(&format!(
        "[pool.web]\n{QUICK}{TELL}haproxy = {{ socket = \"{}\" }}\n{table}",
        strange.path.display()
    ));
    wait_trouble(&daemon, "haproxy: Permission denied");
    strange.mood.store(Strange::WELL, Ordering::Relaxed);
    wait_no_trouble(&daemon);
    strange.mood.store(Strange::REFUSES, Ordering::Relaxed);
    wait_trouble(&daemon, "haproxy: Permission denied");
    let log = daemon.log_text();
    // A busy machine may have made it answer late, which is another reason.
    let late = log.matches("haproxy: it does not answer").count();
    assert!(log.matches("haproxy: Permission denied").count() <= 2 + late, "{log}");
    assert!(!log.contains("does not keep"), "{log}");
}

/// Drivers do not wait for one another, nor members for one that cannot be told.
#[test]
fn a_driver_that_fails_keeps_no_other_from_being_told() {
    let (listeners, table) = members();
    let fails = "command = [\"/bin/sh\", \"-c\", \"echo \\\"$$0\\\" >> $DIR/told; test \\\"$$1\\\" != a\", \"$SERVICE $MEMBER $TO $REASON\", \"$MEMBER\"]\n";
    let daemon = Daemon::start(&format!(
        "[pool.web]\n{QUICK}{fails}min_members = 0\nhaproxy = {{ socket = \"/nowhere/admin.sock\" }}\n{table}"
    ));
    wait_trouble(&daemon, "haproxy: No such file or directory");
    wait_told(&daemon, "web a in");
    wait_told(&daemon, "web b in");
    drop(listeners);
    daemon.wait_member("web", "a", "out");
    // `a` cannot be told; it is tried again and again, and keeps nobody else waiting.
    wait_told(&daemon, "web a out port refused");
    wait_told(&daemon, "web b out port refused");
}

/// A socket that is somebody else's is tried again, and said meanwhile.
#[test]
fn a_port_that_is_taken_is_listened_on_once_it_is_free() {
    let (_listeners, table) = members();
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = other.local_addr().expect("its").port();
    let page = free_port();
    let daemon = Daemon::start(&format!(
        "[pool.web]\n{QUICK}agent = \"127.0.0.1:{port}\"\n\
         none_left = {{ page = \"$DIR/sorry.html\", listen = \"127.0.0.1:{page}\" }}\n{table}"
    ));
    wait_trouble(&daemon, &format!("listening: 127.0.0.1:{port}: Address already in use"));
    wait_trouble(&daemon, "sorry.html: No such file or directory");
    assert!(get(page, "/", PATIENCE).expect("an answer").text().contains("No server is left"));
    drop(other);
    fs::write(daemon.dir.path().join("sorry.html"), "sorry").expect("a page");
    wait_no_trouble(&daemon);
    assert_eq!(asked(port, "web/a\n"), "up ready 100%\n");
    assert_eq!(get(page, "/", PATIENCE).expect("an answer").text(), "sorry");
}

/// Checks that never say whom they mean, or say nonsense, keep nobody from being answered.
#[test]
fn half_open_agent_checks_and_odd_names_disturb_nobody() {
    let (_listeners, table) = members();
    let port = free_port();
    let daemon =
        Daemon::start(&format!("[pool.web]\n{QUICK}agent = \"127.0.0.1:{port}\"\n{table}"));
    daemon.wait_member("web", "a", "in");
    let silent: Vec<TcpStream> =
        (0..40).map(|_| connect(port, PATIENCE).expect("connected")).collect();
    for odd in ["web/x\n", "\0\u{1b}[31m/a\n", "web\n", "/\n", "web/a/b\n", "a\"b/c\n"] {
        assert_eq!(asked(port, odd), "", "{odd:?}");
    }
    let mut bytes = connect(port, PATIENCE).expect("connected");
    bytes.write_all(b"\xff\xfe/\x80\n").expect("asked");
    let mut text = Vec::new();
    bytes.read_to_end(&mut text).expect("an end");
    assert_eq!(text, b"");
    assert_eq!(asked(port, "web/a\r\n"), "up ready 100%\n");
    // Whoever says nothing is sent away.
    for mut stream in silent {
        assert_eq!(stream.read(&mut [0; 1]).expect("an end"), 0);
    }
    let log = daemon.log_text();
    assert!(log.contains("an agent check asks for \"web/x\""), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
}

/// Who waits for us to speak first is reset all the same, and at once.
#[test]
fn a_reset_waits_for_no_word() {
    let (_listeners, table) = members();
    let page = free_port();
    let _daemon = Daemon::start(&format!(
        "[pool.web]\n{QUICK}{TELL}none_left = {{ reset = true, listen = \"127.0.0.1:{page}\" }}\n{table}"
    ));
    let reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
    let heard = match connect(page, PATIENCE) {
        Ok(mut stream) => stream.read(&mut [0; 1]).map(|_| ()),
        Err(error) => Err(error),
    };
    assert!(heard.as_ref().is_err_and(reset), "{heard:?}");
}

/// Who could not be let in for want of a descriptor is let in when there is one, though nobody
/// else comes.
#[test]
fn who_comes_when_there_are_no_descriptors_is_served_when_there_are() {
    let (_listeners, table) = members();
    let (page, agent) = (free_port(), free_port());
    let daemon = Daemon::start(
        &format!(
            "[pool.web]\n{QUICK}interval = \"1h\"\nagent = \"127.0.0.1:{agent}\"\n\
         none_left = {{ redirect = \"http://x.example/\", listen = \"127.0.0.1:{page}\" }}\n{table}"
        )
        .replace("interval = \"100ms\"\n", ""),
    );
    daemon.wait_member("web", "a", "in");
    let pid = Pid::from_raw(i32::try_from(daemon.pid()).expect("a pid"));
    let before = getrlimit(Resource::Nofile);
    // Its own, which it never closes, are these already.
    let few = Rlimit { current: Some(6), ..before };
    prlimit(pid, Resource::Nofile, few).expect("a limit");
    let ask = |port: u16, text: &str| {
        let mut stream = connect(port, PATIENCE).expect("the kernel takes it");
        stream.write_all(text.as_bytes()).expect("asked");
        stream
    };
    let mut clients = [ask(page, "GET / HTTP/1.0\r\n\r\n"), ask(agent, "web/a\n")];
    for stream in &mut clients {
        stream.set_nonblocking(true).expect("a socket");
        let kind = stream.read(&mut [0; 1]).expect_err("nobody lets it in").kind();
        assert_eq!(kind, ErrorKind::WouldBlock);
        stream.set_nonblocking(false).expect("a socket");
    }
    prlimit(pid, Resource::Nofile, before).expect("a limit");
    for (mut stream, begins) in clients.into_iter().zip(["HTTP/1.1 302", "up ready 100%"]) {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        assert!(text.starts_with(begins), "{text}");
    }
}

/// Killed in the middle, the monitor forges nothing: whoever was out for whatever reason is out.
// req 3.34
#[test]
fn whoever_was_out_is_out_when_the_monitor_is_back() {
    let (_listeners, table) = members();
    let (mail, mail_table) = members();
    // The same server, by its address, has a member in each pool.
    let text = format!(
        "[pool.web]\n{QUICK}{TELL}any_service_fails = \"member\"\nmin_members = 0\n{table}\
         [pool.mail]\n{QUICK}command = [\"/bin/true\"]\nmin_members = 0\n{mail_table}"
    );
    let mut daemon = Daemon::start(&text);
    daemon.wait_member("web", "a", "in");
    drop(mail);
    daemon.wait_member("mail", "a", "out");
    daemon.wait_member("web", "b", "out");
    daemon.kill();
    fs::remove_file(daemon.dir.path().join("told")).expect("what it was told");
    daemon.run();
    wait_told(&daemon, "web a");
    wait_told(&daemon, "web b");
    for line in told(&daemon) {
        assert!(line.contains(" out another service of this server has failed"), "{line}");
    }
    // The other pool is in the file no more: nothing keeps them out.
    let (web, _) = text.split_once("[pool.mail]").expect("two pools");
    daemon.write_config(web);
    let said = daemon.ok(&["reload"]);
    assert!(said.contains("mail/a: it is out for whoever was told so"), "{said}");
    daemon.wait_member("web", "a", "in");
    // And a failed work unit.
    daemon.tell(&["pool", "report", "web", "a", "--failed"]);
    daemon.wait_member("web", "a", "out");
    wait_told(&daemon, "web a out its agent says");
    daemon.kill();
    fs::remove_file(daemon.dir.path().join("told")).expect("what it was told");
    daemon.run();
    wait_told(&daemon, "web a");
    let first = told(&daemon).into_iter().find(|line| line.starts_with("web a")).expect("told");
    assert_eq!(first, "web a out until its checks have passed");
}

/// A reload takes the pool, or the member, away in the middle of a drain; another brings it back.
#[test]
fn a_reload_in_the_middle_of_a_drain_says_what_stays_as_it_was_told() {
    let (_listeners, table) = members();
    let text = format!("[pool.web]\n{QUICK}{TELL}{table}");
    let daemon = Daemon::start(&text);
    daemon.wait_member("web", "b", "in");
    daemon.tell(&["pool", "drain", "web", "b", "--for", "1h"]);
    let without: String =
        text.lines().filter(|it| !it.starts_with("member.b")).map(|it| format!("{it}\n")).collect();
    daemon.write_config(&without);
    let said = daemon.ok(&["reload"]);
    assert!(said.contains("web/b: it is drained for whoever was told so"), "{said}");
    assert_eq!(daemon.cli(&["pool", "enable", "web", "b"]).status.code(), Some(5));
    daemon.write_config(&text);
    daemon.tell(&["reload"]);
    // Nobody knows anything of it any more: it is a new one.
    daemon.wait_member("web", "b", "in");
    daemon.tell(&["pool", "drain", "web", "b", "--for", "1h"]);
    daemon.write_config("[service.x]\nstart = [\"/bin/sleep\", \"1000\"]\n");
    let said = daemon.ok(&["reload"]);
    assert!(said.contains("web/b: it is drained for whoever was told so"), "{said}");
    assert!(daemon.status().expect("an answer")["pools"].as_array().is_some_and(Vec::is_empty));
}

/// A drain whose end falls into the time in which the monitor was dead ends when it is back.
#[test]
fn a_drain_that_ends_while_the_monitor_is_dead_ends_when_it_is_back() {
    let (_listeners, table) = members();
    let mut daemon = Daemon::start(&format!("[pool.web]\n{QUICK}{TELL}{table}"));
    daemon.wait_member("web", "b", "in");
    daemon.tell(&["pool", "drain", "web", "b", "--for", "1ms"]);
    daemon.kill();
    daemon.run();
    daemon.wait_member("web", "b", "in");
    assert!(UnixStream::connect(daemon.socket()).is_ok());
}

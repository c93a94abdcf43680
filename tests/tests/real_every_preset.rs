//! One file that uses every preset, and `giveover run` with it: all are ok. Each server that hangs
//! weighs what its preset says and is restarted; each that is killed is restarted at once; a third
//! failure gives it over. What has another rule of its own (Oracle's listener, the shares of an NFS
//! server, rpcbind) keeps that.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use giveover_tests::oracle::Oracle;
use giveover_tests::probing::tell;
use giveover_tests::server::{Server, is_root};
use giveover_tests::{Daemon, free_port, giveover, nfs, servers, signal_to, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// Of each service, over what its preset has: all is quicker than there, nothing else.
const POLICY: &str = "policy.thorough_probe_interval = \"300ms\"\n\
    policy.probe_timeout = \"6s\"\n\
    policy.retry_interval = \"30m\"\n\
    policy.start_grace = \"25s\"\n\
    policy.stop_timeout = \"3s\"\n";
/// Of those that nobody here starts.
const WATCHED: &str = "policy.failover_mode = \"log_only\"\nallow = [\"watched-only\"]\n";

/// A server that the daemon starts by itself, with the preset of its name.
struct Started {
    name: &'static str,
    /// Its check, and in which phase and how much it weighs that the server hangs.
    check: &'static str,
    hangs: (&'static str, u64),
    /// Where it is, and how it is started, as the file has it.
    text: String,
    _dir: TempDir,
}

const READ: (&str, u64) = ("read", 50);

/// A service of the preset `name`: `command` starts it, and `place` says where it is.
fn started(
    name: &'static str,
    (check, hangs): (&'static str, (&'static str, u64)),
    command: impl FnOnce(&Path, u16) -> Command,
    place: impl FnOnce(u16) -> String,
) -> Started {
    let dir = tempfile::Builder::new().prefix("giveover-server-").tempdir().expect("a place");
    let port = free_port();
    let command = command(dir.path(), port);
    let text = format!("start = {}\n{}\n", words(&command), place(port));
    Started { name, check, hangs, text, _dir: dir }
}

/// A command as a configuration has it.
fn words(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(key, value)| {
        Some(format!("{}={}", key.to_string_lossy(), value?.to_string_lossy()))
    });
    let set: Vec<String> = set.collect();
    let before = if set.is_empty() { vec![] } else { vec![String::from("/usr/bin/env")] };
    let program = found(command.get_program()).display().to_string();
    let arguments = command.get_args().map(|word| word.to_string_lossy().into_owned());
    let all = before.into_iter().chain(set).chain([program]).chain(arguments);
    format!("[{}]", all.map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", "))
}

/// Where a program is.
fn found(program: &OsStr) -> PathBuf {
    let path = Path::new(program);
    if path.is_absolute() {
        return path.to_owned();
    }
    let places = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    let mut found = places.iter().map(|place| Path::new(place).join(path));
    found.find(|path| path.exists()).unwrap_or_else(|| panic!("no {path:?}"))
}

fn address(port: u16) -> String {
    format!("address = \"127.0.0.1:{port}\"")
}

/// The documents' names for it.
fn resources(port: u16) -> String {
    format!("network_resources_used = [\"127.0.0.1\"]\nport_list = [{port}]")
}

fn all_started() -> Vec<Started> {
    const SILENCE: (&str, u64) = ("silence", 100);
    let pop3 = free_port();
    let mailboxes = |imap: u16| {
        format!(
            "check.imap.address = \"127.0.0.1:{imap}\"\ncheck.pop3.address = \"127.0.0.1:{pop3}\""
        )
    };
    let fonts = |dir: &Path, port: u16| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fontserver"));
        command.arg(port.to_string()).arg(dir.join("mood"));
        command
    };
    let fonts_at =
        |port: u16| format!("{}\ncheck.xfs.fsinfo = \"/usr/bin/xfsinfo\"", resources(port));
    let zone = |port: u16| format!("{}\ncheck.query.name = \"ns.example.org\"", address(port));
    vec![
        started("xfnts", ("xfs", ("close", 50)), fonts, fonts_at),
        started("apache", ("server", READ), servers::apache(), resources),
        started("iplanet", ("server", READ), servers::nginx(), resources),
        started("directory", ("directory", READ), servers::slapd(""), resources),
        started("named", ("query", SILENCE), servers::unbound(), resources),
        started("bind", ("query", SILENCE), servers::named(), zone),
        started("nginx", ("page", READ), servers::nginx(), address),
        started("haproxy", ("health", READ), servers::haproxy(), address),
        // The first probe that is late is no failure, the second in a row is a complete one.
        started("postgres", ("sql", ("read", 100)), servers::postgres("trust", &[]), address),
        started("redis", ("ping", READ), servers::redis(&[]), address),
        started("mosquitto", ("connect", READ), servers::mosquitto(true), address),
        started("slapd", ("bind", READ), servers::slapd(""), address),
        started("vsftpd", ("greeting", READ), servers::vsftpd(0), address),
        started("dovecot", ("imap", READ), servers::dovecot(pop3), mailboxes),
        started("inn2", ("greeting", READ), servers::leafnode("news.giveover-test.org"), address),
        started("postfix", ("greeting", READ), servers::postfix(""), address),
    ]
}

/// The services of an NFS server, of Oracle and of its listener.
fn others(ganesha: &[String], share: &str, oracle: &Oracle) -> String {
    let words = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        format!("[{}]", words.join(", "))
    };
    let (rpcbind, home) = (words(&nfs::RPCBIND), oracle.home());
    // Who registers with rpcbind waits for it.
    let behind_rpcbind = |program: &str| {
        let script =
            format!("until rpcinfo -p >/dev/null 2>&1; do sleep 0.1; done; exec {program}");
        words(&["/bin/sh", "-c", &script])
    };
    let (statd, ganesha) =
        (behind_rpcbind(&nfs::STATD.join(" ")), behind_rpcbind(&ganesha.join(" ")));
    let each = |named: &str, checks: &[&str]| -> String {
        checks.iter().map(|check| format!("check.{check}.name = \"{named}\"\n")).collect()
    };
    let ours = |checks: &[&str]| each("ganesha.nfsd", checks);
    // It is restarted for lockd too, which is in ganesha, and that is killed more than once.
    let often = "policy.retry_count = 9\n";
    // What is a file is there at once; and the server is restarted for more than one reason.
    let at_once = POLICY.replace("\"25s\"", "\"0s\"");
    format!(
        "[service.nfs-rpcbind]\npreset = \"nfs-rpcbind\"\nstart = {rpcbind}\n{POLICY}\
         [service.nfs-statd]\npreset = \"nfs-statd\"\nstart = {statd}\n{POLICY}{often}{}\
         [service.nfs-nfsd]\npreset = \"nfs-nfsd\"\nstart = {ganesha}\n{POLICY}{}\
         check.share.path = \"{share}\"\ncheck.null.observe = false\n\
         [service.nfs-mountd]\npreset = \"nfs-mountd\"\n{POLICY}{WATCHED}{}\
         check.share.path = \"{share}\"\n\
         [service.nfs-daemons]\npreset = \"nfs-daemons\"\n{POLICY}{WATCHED}{}\
         check.share.path = \"{share}\"\n\
         [service.nfs-shares]\npreset = \"nfs-shares\"\n{POLICY}allow = [\"watched-only\"]\n{}\
         check.shares.list = \"$DIR/exports\"\n\
         [service.oracle]\npreset = \"oracle\"\nstart = [\"/bin/sleep\", \"1000\"]\n\
         check.sql.oracle_home = \"{home}\"\n{at_once}{often}\
         [service.listener]\npreset = \"listener\"\nstart = [\"/bin/sleep\", \"1000\"]\n\
         check.listener.oracle_home = \"{home}\"\n{at_once}",
        ours(&["lockd"]),
        ours(&["gone"]),
        ours(&["gone"]),
        ours(&["lockd", "mountd", "nfsd"]),
        ours(&["lockd", "mountd", "nfsd"]),
    )
}

/// What happened to a service so far.
fn events(daemon: &Daemon, name: &str, event: &str) -> Vec<Value> {
    daemon.events(name).into_iter().filter(|found| found["event"] == event).collect()
}

/// Waits until a check of the service has failed in this phase with this weight.
fn wait_failure(daemon: &Daemon, name: &str, (check, phase, weight): (&str, &str, u64)) {
    let wanted = |event: &Value| {
        event["check"] == check && event["phase"] == phase && event["weight"] == weight
    };
    wait_for(&format!("{name}: {check} {phase} {weight}"), || {
        events(daemon, name, "failure").iter().any(wanted).then_some(())
    });
}

/// Waits until more failures than these are told of which a check fails whole, in this phase.
fn wait_whole(daemon: &Daemon, name: &str, before: usize, phase: &str) {
    let whole = |event: &Value| event["weight"] == 100 && event["phase"] == phase;
    wait_for(&format!("{name}: {phase} 100"), || {
        events(daemon, name, "failure").iter().skip(before).any(whole).then_some(())
    });
}

/// Each death so far was a whole failure.
fn deaths_are_whole(daemon: &Daemon, name: &str) {
    let deaths = events(daemon, name, "died");
    let whole = |death: &Value| death["weight"] == 100 && death["phase"] == "died";
    assert!(!deaths.is_empty() && deaths.iter().all(whole), "{name}: {deaths:?}");
}

/// Waits until the service was restarted so often, by itself, and is ok.
fn wait_restarts(daemon: &Daemon, name: &str, restarts: u64) {
    let what = format!("to be ok after {restarts} restarts");
    daemon.wait_service(name, &what, |it| it["restarts"] == restarts && it["status"] == "ok");
}

fn pid(daemon: &Daemon, name: &str) -> u32 {
    let service = daemon.wait_service(name, "to have a process", |it| it["pid"].is_u64());
    service["pid"].as_u64().expect("a process") as u32
}

/// Kills the service's process: the whole service is stopped by that.
fn kill(daemon: &Daemon, name: &str) {
    signal_to(pid(daemon, name), Signal::KILL);
}

/// req 1.1 1.4 1.63: each data service of the document has its monitor, and the history decides
#[test]
fn every_preset_is_ok_and_acts_as_its_document_says() {
    if !is_root("postfix, leafnode and the NFS server") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let ganesha = nfs::of_our_own(dir.path());
    let oracle = Oracle::new(Path::new(env!("CARGO_BIN_EXE_oracle")));
    let share = dir.path().join("share").display().to_string();
    fs::create_dir(&share).expect("a share");
    let all = all_started();
    let one = |Started { name, text, .. }: &Started| {
        format!("[service.{name}]\npreset = \"{name}\"\n{text}{POLICY}")
    };
    let text = format!(
        "[host]\nactions = {{ count = 999, per = \"1h\" }}\n\
         [giveover]\ncommand = [\"/bin/true\"]\n{}{}",
        all.iter().map(one).collect::<String>(),
        others(&ganesha, &share, &oracle)
    );
    every_preset_is_in(&text);
    let daemon = Daemon::start_in(&text, &[], |here| {
        fs::write(here.join("exports"), format!("{share} *(rw)\n")).expect("a list");
    });
    let names: Vec<String> = daemon.status().expect("an answer")["services"]
        .as_array()
        .expect("services")
        .iter()
        .filter_map(|service| service["name"].as_str().map(str::to_owned))
        .collect();
    for name in &names {
        daemon.wait_status(name, "ok");
        tell(name, "its preset", "healthy", "ok", None);
    }

    // Each hangs: half a failure twice, or a whole one, and it is restarted.
    for Started { name, .. } in &all {
        Server::freeze_tree(pid(&daemon, name));
    }
    for Started { name, check, hangs: (phase, weight), .. } in &all {
        wait_failure(&daemon, name, (check, phase, *weight));
        wait_restarts(&daemon, name, 1);
        tell(name, "its preset", "frozen", &format!("{weight} {phase}, restarted"), None);
    }
    // Each in turn is killed: a whole failure at once, and it is restarted, and no other. Then once
    // more, all together: the budget of two restarts is used up, and each is given over.
    for Started { name, .. } in &all {
        kill(&daemon, name);
        wait_for("its death", || (!events(&daemon, name, "died").is_empty()).then_some(()));
        wait_restarts(&daemon, name, 2);
    }
    for Started { name, .. } in &all {
        assert_eq!(events(&daemon, name, "died").len(), 1, "{name}");
        wait_restarts(&daemon, name, 2);
        kill(&daemon, name);
    }
    for Started { name, .. } in &all {
        daemon.wait_status(name, "offline");
        assert_eq!(events(&daemon, name, "giveover").len(), 1, "{name}");
        deaths_are_whole(&daemon, name);
        let verdict = "100, restarted; the third time given over";
        tell(name, "its preset", "stopped", verdict, None);
    }
    oracle_and_its_listener(&daemon, &oracle);
    the_nfs_server(&daemon, &share);
}

/// The file leaves no preset out.
fn every_preset_is_in(text: &str) {
    let listed = Command::new(giveover()).arg("preset").output().expect("giveover runs").stdout;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let names: Vec<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 20, "{listed}");
    for name in names.iter().filter(|name| name.chars().all(|c| !c.is_uppercase())) {
        assert!(text.contains(&format!("preset = \"{name}\"\n")), "{name} is not in the file");
    }
}

/// A row of the table restarts or gives over; past its restarts the listener's monitor ends.
fn oracle_and_its_listener(daemon: &Daemon, oracle: &Oracle) {
    for (mood, situation, weight) in
        [("down", "stopped", 50), ("error 107", "ORA-00107, its row", 100)]
    {
        let before = events(daemon, "oracle", "restarted").len();
        oracle.mood(mood);
        wait_failure(daemon, "oracle", ("sql", "answer", weight));
        // One that has not begun yet is called off by a healthy cycle.
        wait_for("a restart", || {
            (events(daemon, "oracle", "restarted").len() > before).then_some(())
        });
        oracle.mood("ok");
        daemon.wait_status("oracle", "ok");
        tell("oracle", "stand-in", situation, &format!("{weight} answer, restarted"), None);
    }
    oracle.mood("error 290");
    daemon.wait_status("oracle", "offline");
    assert_eq!(events(daemon, "oracle", "giveover").len(), 1);
    tell("oracle", "stand-in", "ORA-00290", "given over", None);
    oracle.listener("down");
    wait_failure(daemon, "listener", ("listener", "exit", 100));
    wait_for("its monitor to end", || {
        (!events(daemon, "listener", "monitor_ended").is_empty()).then_some(())
    });
    assert_eq!(events(daemon, "listener", "restart").len(), 2, "retry_count of them");
    assert!(events(daemon, "listener", "giveover").is_empty());
    tell("listener", "stand-in", "down", "100 exit, restarted twice, then unmonitored", None);
}

/// The table of the daemons: nfsd and statd restarted, shares faulted, rpcbind given over at once.
fn the_nfs_server(daemon: &Daemon, share: &str) {
    let watched = ["nfs-mountd", "nfs-daemons", "nfs-shares"];
    kill(daemon, "nfs-statd");
    wait_restarts(daemon, "nfs-statd", 1);
    deaths_are_whole(daemon, "nfs-statd");
    tell("nfs-statd", "statd", "stopped", "100, restarted", None);
    signal_to(pid(daemon, "nfs-nfsd"), Signal::STOP);
    wait_failure(daemon, "nfs-nfsd", ("null", "silence", 100));
    wait_restarts(daemon, "nfs-nfsd", 1);
    tell("nfs-nfsd", "ganesha", "frozen", "100 silence, restarted", None);
    kill(daemon, "nfs-nfsd");
    wait_restarts(daemon, "nfs-nfsd", 2);
    for name in watched {
        daemon.wait_status(name, "ok");
    }
    let away = format!("{share}.away");
    fs::rename(share, &away).expect("gone");
    daemon.wait_status("nfs-shares", "faulted");
    wait_failure(daemon, "nfs-shares", ("shares", "exit", 100));
    fs::rename(&away, share).expect("back");
    daemon.wait_status("nfs-shares", "ok");
    tell("nfs-shares", "files", "a share is gone", "100 exit, faulted", None);
    let before = watched.map(|name| events(daemon, name, "failure").len());
    kill(daemon, "nfs-nfsd");
    daemon.wait_status("nfs-nfsd", "offline");
    deaths_are_whole(daemon, "nfs-nfsd");
    for (name, before) in watched.into_iter().zip(before) {
        wait_whole(daemon, name, before, "exit");
        daemon.wait_status(name, "faulted");
        assert!(events(daemon, name, "restart").is_empty(), "{name}");
        tell(name, "ganesha", "stopped", "100 exit, faulted", None);
    }
    kill(daemon, "nfs-rpcbind");
    daemon.wait_status("nfs-rpcbind", "offline");
    deaths_are_whole(daemon, "nfs-rpcbind");
    assert!(events(daemon, "nfs-rpcbind", "restart").is_empty(), "it is never restarted");
    assert_eq!(events(daemon, "nfs-rpcbind", "giveover").len(), 1);
    tell("nfs-rpcbind", "rpcbind", "stopped", "100, given over at once", None);
}

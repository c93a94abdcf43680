//! Several real daemons on loopback decide which of them runs a service: killed, stopped, told,
//! refused, and shouted at.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};

use giveover_tests::nodes::{
    NAMES, PATIENCE, Shared, active_of, group, make_key, never_twice, node, role, wait_for,
};
use giveover_tests::{Daemon, free_port, text_of};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

/// One of three is active by votes, the others join as standbys; people move it, and the stop of
/// the active is its vote.
// req 2.1 2.20 2.37 2.68
#[test]
fn a_service_runs_on_one_node_and_moves_when_it_is_told() {
    let shared = Shared::new(3, "quorum = \"majority\"");
    let mut all = shared.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    wait_for("the other to join", || (role(&all[other]) == "standby").then_some(()));
    assert_eq!(group(&all[first]).expect("a group")["votes_needed"], 2);
    let out = all[other].cli(&["start", "web"]);
    assert_eq!(out.status.code(), Some(1), "{}", text_of(&out));
    assert!(text_of(&out).contains("is active on"), "{}", text_of(&out));
    assert_eq!(all[other].cli(&["node", "switch"]).status.code(), Some(1));
    assert_eq!(all[other].cli(&["node", "switch", "nope"]).status.code(), Some(5));
    assert_eq!(all[first].cli(&["node", "switch", "--to", "c"]).status.code(), Some(1));

    wait_for("it to be allowed", || {
        let out = all[first].cli(&["node", "switch"]);
        (out.status.code() == Some(0)).then_some(())
    });
    assert_eq!(active_of(&[&all[0], &all[1]]), other);
    let name = NAMES[first];
    wait_for("a giveover back", || {
        let out = all[other].cli(&["giveover", "web", "--to", name]);
        (out.status.code() == Some(0)).then_some(())
    });
    assert_eq!(active_of(&[&all[0], &all[1]]), first);
    never_twice(&[&all[0], &all[1]]);

    assert_eq!(all[first].stop(), Some(0));
    let left = &all[other];
    assert_eq!(active_of(&[left]), 0);
    never_twice(&[left]);
    all[first].run();
    wait_for("it to come back as standby", || (role(&all[first]) == "standby").then_some(()));
    wait_for("the screen", || {
        let text = all[other].ok(&["node", "status"]);
        (text.lines().count() == 3 && text.contains("standby")).then_some(())
    });
}

/// The active is killed: the others vote. What it left running is stopped before it joins again.
// req 2.2 2.14
#[test]
fn a_killed_active_is_replaced_and_joins_again_as_a_standby() {
    let shared = Shared::new(3, "quorum = \"majority\"");
    let mut all = shared.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    let pid = all[first].service("web")["pid"].as_u64().expect("a pid") as u32;
    all[first].kill();
    wait_for("the other to be active", || (role(&all[other]) == "active").then_some(()));
    all[first].run();
    wait_for("the old service to be gone", || (!giveover_tests::is_running(pid)).then_some(()));
    wait_for("it to be a standby", || (role(&all[first]) == "standby").then_some(()));
    assert_eq!(active_of(&[&all[0], &all[1]]), other);
}

/// A daemon that does not run loses what it held, and knows it when it runs again.
#[test]
fn a_daemon_that_was_stopped_is_active_no_more() {
    let shared = Shared::new(3, "quorum = \"majority\"");
    let all = shared.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    all[first].signal(Signal::STOP);
    wait_for("the other to be active", || (role(&all[other]) == "active").then_some(()));
    all[first].signal(Signal::CONT);
    wait_for("the first to be a standby", || (role(&all[first]) == "standby").then_some(()));
    wait_for("its service to be stopped", || {
        all[first].service("web")["pid"].is_null().then_some(())
    });
    assert_eq!(active_of(&[&all[0], &all[1]]), other);
}

/// An active that nobody answers lets go within its lease, and its service is stopped; when the
/// others are back one is active again.
#[test]
fn an_active_that_nobody_answers_lets_go() {
    let shared = Shared::new(3, "quorum = \"majority\"");
    let all = shared.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let rest: Vec<&Daemon> = (0..3).filter(|at| *at != first).map(|at| &all[at]).collect();
    rest.iter().for_each(|daemon| daemon.signal(Signal::STOP));
    wait_for("it to let go", || {
        let service = all[first].service("web");
        (role(&all[first]) == "standby" && service["pid"].is_null()).then_some(())
    });
    assert!(all[first].log_text().contains("too few nodes answer"), "{}", all[first].log_text());
    rest.iter().for_each(|daemon| daemon.signal(Signal::CONT));
    active_of(&[&all[0], &all[1]]);
    never_twice(&[&all[0], &all[1]]);
}

/// `stay`: the notice of a stop is enough, silence is not, a person's word is. Over IPv6, where
/// there is any.
// req 2.62 2.63 2.67 2.68
#[test]
fn under_stay_only_a_person_replaces_a_silent_active() {
    let mut shared = Shared::new(2, "quorum = \"stay\"");
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        shared.host = "[::1]";
    }
    let mut all = shared.start_all();
    let other = active_of(&[&all[0], &all[1]]);
    let first = 1 - other;
    wait_for("the other to join", || (role(&all[first]) == "standby").then_some(()));
    assert_eq!(all[other].stop(), Some(0));
    assert_eq!(active_of(&[&all[first]]), 0);
    all[other].run();
    wait_for("it to join again", || (role(&all[other]) == "standby").then_some(()));
    assert_eq!(
        (&node(&all[other], NAMES[first])["number"], &node(&all[other], NAMES[other])["number"]),
        (&3.into(), &2.into())
    );
    never_twice(&[&all[0], &all[1]]);
    all[first].kill();
    wait_for("the silence to be noticed", || {
        node(&all[other], NAMES[first])["why"].is_string().then_some(())
    });
    wait_for("the active to be missed", || {
        group(&all[other]).is_some_and(|it| it["active"].is_null()).then_some(())
    });
    assert_eq!(role(&all[other]), "standby");
    assert_eq!(all[other].cli(&["node", "switch"]).status.code(), Some(1));
    let text = all[other].ok(&["node", "switch", "--force"]);
    assert!(text.contains("active here by force"), "{text}");
    wait_for("it to be active", || (role(&all[other]) == "active").then_some(()));
}

/// `fence`: the peer's power is cut, and only what acknowledges that lets anybody take over.
#[test]
fn under_fence_only_an_acknowledged_one_lets_a_standby_take_over() {
    let dir = tempfile::tempdir().expect("a directory");
    let (may, told) = (dir.path().join("may"), dir.path().join("told"));
    let cluster = format!(
        "quorum = \"fence\"\nfence = {{ command = [\"/bin/sh\", \"-c\", \
         \"echo $TO $ADDRESS >> {}; test -e {}\"] }}",
        told.display(),
        may.display()
    );
    let shared = Shared::new(2, &cluster);
    let mut all = shared.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    wait_for("the other to join", || (role(&all[other]) == "standby").then_some(()));
    all[first].kill();
    let asked = wait_for("the fence", || std::fs::read_to_string(&told).ok());
    assert!(asked.starts_with(&format!("{} 127.0.0.1", NAMES[first])), "{asked}");
    wait_for("its refusal to be told", || {
        all[other].log_text().contains("was not acknowledged").then_some(())
    });
    assert_eq!(role(&all[other]), "standby");
    std::fs::write(&may, "").expect("a file");
    wait_for("it to take over", || (role(&all[other]) == "active").then_some(()));
}

/// The daemon alone is killed. What it leaves running is what a fence is for: it is gone with its node's
/// power before another is started; the lock that both want would tell.
#[test]
fn under_fence_what_a_dead_daemon_left_is_gone_before_another_is_started() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = dir.path().display();
    // What cutting the power does to the service, once a file says that the supply can be reached.
    let cluster = format!(
        "quorum = \"fence\"\nfence = {{ command = [\"/bin/sh\", \"-c\", \
         \"test -e {at}/may && kill -9 `cat {at}/pid-$TO` && touch {at}/cut\"] }}"
    );
    let shared = Shared::new(2, &cluster);
    let mut all = shared.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    wait_for("the other to join", || (role(&all[other]) == "standby").then_some(()));
    let pid = all[first].service("web")["pid"].as_u64().expect("a pid") as u32;
    std::fs::write(dir.path().join(format!("pid-{}", NAMES[first])), pid.to_string())
        .expect("a file");
    all[first].kill();
    wait_for("a fence that does not reach it", || {
        all[other].log_text().contains("was not acknowledged").then_some(())
    });
    assert!(giveover_tests::is_running(pid), "it outlives its daemon");
    assert_eq!(role(&all[other]), "standby", "and nobody takes its place");
    std::fs::write(dir.path().join("may"), "").expect("a file");
    active_of(&[&all[other]]);
    assert!(dir.path().join("cut").exists() && !giveover_tests::is_running(pid));
    never_twice(&[&all[other]]);
    // Its daemon is back, finds nothing of it, and stands by.
    all[first].run();
    wait_for("it to join again", || (role(&all[first]) == "standby").then_some(()));
    assert_eq!(active_of(&[&all[0], &all[1]]), other);
}

/// The same where nobody takes over from silence: it runs on, and is stopped before its node joins.
#[test]
fn under_stay_what_a_dead_daemon_left_runs_until_the_daemon_is_back() {
    let shared = Shared::new(2, "quorum = \"stay\"");
    let mut all = shared.start_all();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    wait_for("the other to join", || (role(&all[other]) == "standby").then_some(()));
    let pid = all[first].service("web")["pid"].as_u64().expect("a pid") as u32;
    all[first].kill();
    wait_for("the active to be missed", || {
        group(&all[other]).is_some_and(|it| it["active"].is_null()).then_some(())
    });
    assert!(giveover_tests::is_running(pid), "it runs on");
    assert_eq!(role(&all[other]), "standby", "and nobody takes its place");
    all[first].run();
    wait_for("the old one to be gone", || (!giveover_tests::is_running(pid)).then_some(()));
    active_of(&[&all[0], &all[1]]);
    never_twice(&[&all[other]]);
}

/// Another key, and noise into both ports: nothing changes, and it is counted and named.
#[test]
fn strangers_and_noise_change_nothing_and_are_counted() {
    let shared = Shared::new(3, "quorum = \"majority\"");
    let all = [shared.start(0), shared.start(2)];
    let wrong = shared.path("wrong.key");
    make_key(&wrong);
    let text = shared.text(1).replace("cluster.key", "wrong.key");
    let stranger = shared.start_as(1, &text);
    wait_for("a to be active", || (role(&all[0]) == "active").then_some(()));
    wait_for("the wrong key to be named", || {
        let seen = node(&all[0], "b");
        let counted = seen["unauthentic"].as_u64().is_some_and(|count| count > 0);
        (seen["why"] == "wrong_key" && counted && seen["heard_ms"].is_null()).then_some(())
    });
    assert_ne!(role(&stranger), "active");

    let port = shared.ports[0];
    let noise = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut seed = 1u32;
    let mut bytes = [0u8; 300];
    for round in 0..2000usize {
        for byte in &mut bytes {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *byte = (seed >> 24) as u8;
        }
        // Some of it is of our version, and from a node there is.
        bytes[..4].copy_from_slice(&[1, 2, 1, 0]);
        let _ = noise.send_to(&bytes[..round % 300], ("127.0.0.1", port));
    }
    for length in [0, 1, 2, 70, 5000] {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            let _ = stream.write_all(&bytes.repeat(20)[..length]);
        }
    }
    let open: Vec<_> = (0..40).map(|_| TcpStream::connect(("127.0.0.1", port))).collect();
    wait_for("the noise to be counted", || {
        let seen = node(&all[0], "b");
        let count = |key: &str| seen[key].as_u64().unwrap_or(0);
        (count("garbage") + count("unauthentic") + count("over_budget") > 500).then_some(())
    });
    active_of(&[&all[0]]);
    drop(open);
}

fn refused(daemon: &mut Daemon) -> (Option<i32>, String) {
    daemon.spawn_behind(&[]);
    let status = wait_for("it to end", || daemon.ended());
    (status.code(), daemon.log_text())
}

/// A node that cannot take part says why, and with which exit status.
// req 2.51
#[test]
fn a_node_that_cannot_take_part_says_why() {
    let shared = Shared::new(3, "quorum = \"majority\"");
    let mut witness_as_node = Daemon::prepared(&shared.text(2), &[], |_| {});
    let (status, said) = refused(&mut witness_as_node);
    assert_eq!((status, said.contains("`giveover witness` runs it")), (Some(3), true), "{said}");
    let mut node_as_witness = Daemon::prepared(&shared.text(0), &[], |_| {}).as_witness();
    let (status, said) = refused(&mut node_as_witness);
    assert_eq!((status, said.contains("is no witness")), (Some(3), true), "{said}");

    let taken = UdpSocket::bind(("127.0.0.1", shared.ports[0])).expect("its port");
    let mut late = Daemon::prepared(&shared.text(0), &[], |_| {});
    let (status, said) = refused(&mut late);
    assert_eq!((status, said.contains("another program has it")), (Some(14), true), "{said}");
    drop(taken);

    let closed = free_port();
    let trusted = format!("trusted = [\"tcp://127.0.0.1:{closed}\"]\n[cluster]");
    let text = shared.text(0).replacen("[cluster]", &trusted, 1);
    let mut alone = Daemon::prepared(&text, &[], |_| {});
    let (status, said) = refused(&mut alone);
    assert_eq!((status, said.contains("no trusted server answers")), (Some(11), true), "{said}");

    let absent = shared.text(0).replace("cluster.key", "absent.key");
    let (status, said) = refused(&mut Daemon::prepared(&absent, &[], |_| {}));
    assert_eq!((status, said.contains("giveover key new")), (Some(3), true), "{said}");

    let (older, _door) = (shared.start(0), shared.start(2));
    active_of(&[&older]);
    let differs = shared.text(1).replacen("quorum =", "interval = \"5s\"\nquorum =", 1);
    let mut newcomer = Daemon::prepared(&differs, &[], |_| {});
    let (status, said) = refused(&mut newcomer);
    assert_eq!((status, said.contains("times or counts")), (Some(13), true), "{said}");
    wait_for("the older to tell it too", || {
        older.log_text().contains("its times or counts differ").then_some(())
    });
}

/// Who comes when there are no descriptors is let in when there are, though nobody else comes.
#[test]
fn who_could_not_be_let_in_is_not_forgotten() {
    let shared = Shared::new(3, "quorum = \"majority\"");
    let daemon = shared.start(0);
    let pid = Pid::from_raw(i32::try_from(daemon.pid()).expect("a pid"));
    let before = getrlimit(Resource::Nofile);
    // Its own, which it never closes, are these already.
    prlimit(pid, Resource::Nofile, Rlimit { current: Some(6), ..before }).expect("a limit");
    let mut stranger = TcpStream::connect(("127.0.0.1", shared.ports[0])).expect("the kernel does");
    // What it writes to its log it does after it has looked who is there.
    daemon.signal(Signal::HUP);
    wait_for("a turn of its loop", || daemon.log_text().contains("refused").then_some(()));
    prlimit(pid, Resource::Nofile, before).expect("a limit");
    // One that says nothing is let in, and then let go.
    stranger.set_read_timeout(Some(PATIENCE)).expect("a socket");
    assert_eq!(stranger.read(&mut [0; 1]).expect("an end"), 0);
}

//! Groups whose services run on every node, and the checks of groups: real daemons on loopback.

use giveover_tests::nodes::{NAMES, Shared, active_of, group, never_twice, node, role, wait_for};
use giveover_tests::{Daemon, signal_to, text_of};
use rustix::process::Signal;

/// A group whose service runs on every node. Who is active is told by commands, and the group's
/// check fails where a file says so: each node has an address of its own.
struct Everywhere(Shared);

impl Everywhere {
    fn new() -> Self {
        Self(Shared::new(3, "quorum = \"majority\"\ninterval = \"1s\""))
    }

    fn start(&self, me: usize) -> Daemon {
        let dir = self.0.dir.path().display();
        let mut text = self.0.text(me);
        for (place, port) in self.0.ports.iter().enumerate() {
            let (from, to) =
                (format!("127.0.0.1:{port}\""), format!("127.0.0.{}:{port}\"", 11 + place));
            text = text.replace(&from, &to);
        }
        let (nodes, _) = text.split_once("[service.web]").expect("a service");
        let name = NAMES[me];
        let text = format!(
            "{nodes}[service.web]\nstart = [\"sleep\", \"100000\"]\nallow = [\"no-checks\"]\n\
             policy = {{ thorough_probe_interval = \"1s\", retry_count = 1 }}\n\
             [group.front]\nservices = [\"web\"]\nrun = \"all\"\n\
             on_active = [\"/bin/sh\", \"-c\", \"echo +{name} >> {dir}/holders\"]\n\
             on_standby = [\"/bin/sh\", \"-c\", \"echo -{name} >> {dir}/holders\"]\n\
             check.well.command = [\"/bin/sh\", \"-c\", \"! test -e {dir}/ill-$NODE\"]\n"
        );
        self.0.start_as(me, &text)
    }

    fn start_all(&self) -> Vec<Daemon> {
        (0..3).map(|me| self.start(me)).collect()
    }

    /// The check of a node fails from now on, or passes again.
    fn is_ill(&self, place: usize, ill: bool) {
        let file = self.0.path(&format!("ill-127.0.0.{}", 11 + place));
        if ill {
            std::fs::write(file, "").expect("a file");
        } else {
            std::fs::remove_file(file).expect("it was there");
        }
    }

    /// Who became active, one after the other, as its commands told.
    fn holders(&self) -> Vec<String> {
        let told = std::fs::read_to_string(self.0.path("holders")).unwrap_or_default();
        told.lines().filter_map(|line| line.strip_prefix('+')).map(str::to_owned).collect()
    }
}

fn wait_active(all: &[Daemon], place: usize) {
    wait_for("it to be active alone", || {
        let active = |at: usize| role(&all[at]) == "active";
        (active(place) && !active(1 - place)).then_some(())
    });
}

fn pids(all: &[Daemon]) -> Vec<u64> {
    let pid = |at: usize| wait_for("its service", || all[at].service("web")["pid"].as_u64());
    vec![pid(0), pid(1)]
}

fn either_active(all: &[Daemon]) -> usize {
    wait_for("one active, the other a standby", || {
        let roles = [role(&all[0]), role(&all[1])];
        let first = roles.iter().position(|role| role == "active")?;
        (roles[1 - first] == "standby").then_some(first)
    })
}

/// `run = "all"`: the service runs on both, whoever is active; a death is a restart here, and a
/// person moves only what one node has.
// req 2.3
#[test]
fn with_run_all_every_node_runs_the_service_and_only_the_holder_changes() {
    let shared = Everywhere::new();
    let mut all = shared.start_all();
    let first = either_active(&all);
    let other = 1 - first;
    let before = pids(&all);
    assert_eq!(group(&all[first]).expect("a group")["run"], "all");

    signal_to(before[first] as u32, Signal::KILL);
    wait_for("a restart here", || {
        let pid = all[first].service("web")["pid"].as_u64()?;
        (pid != before[first]).then_some(())
    });
    assert!(!all[first].log_text().contains("given over"), "within the budget nothing moves");
    let out = all[first].cli(&["giveover", "web"]);
    assert_eq!(out.status.code(), Some(1), "{}", text_of(&out));
    assert!(text_of(&out).contains("runs on every node"), "{}", text_of(&out));
    for verb in ["stop", "start"] {
        let out = all[other].cli(&[verb, "web"]);
        assert_eq!(out.status.code(), Some(0), "a person may: {}", text_of(&out));
    }

    let before = pids(&all);
    wait_for("it to be allowed", || {
        let out = all[first].cli(&["node", "switch"]);
        (out.status.code() == Some(0) || role(&all[other]) == "active").then_some(())
    });
    wait_active(&all, other);
    assert_eq!(pids(&all), before, "no service was stopped or started");
    assert_eq!(all[other].stop(), Some(0));
    wait_active_alone(&all[first]);
    assert_eq!(pids_of(&all[first]), before[first]);
    let holders = shared.holders();
    assert_eq!(holders.last().map(String::as_str), Some(NAMES[first]), "{holders:?}");
    assert!(holders.iter().any(|name| name == NAMES[other]), "{holders:?}");
}

fn wait_active_alone(daemon: &Daemon) {
    wait_for("it to be active", || (role(daemon) == "active").then_some(()));
}

fn pids_of(daemon: &Daemon) -> u64 {
    daemon.service("web")["pid"].as_u64().expect("a pid")
}

/// A service past its budget is not moved: what moves is what one node has. It goes on being
/// restarted here.
#[test]
fn with_run_all_a_faulty_service_gives_the_group_over_and_stays() {
    let shared = Everywhere::new();
    let all = shared.start_all();
    either_active(&all);
    let before = pids(&all);
    // A busy machine may move it before: whoever is active is the one.
    let first = wait_for("a budget to be spent, and the group to go", || {
        for daemon in all.iter().take(2).filter(|daemon| role(daemon) == "active") {
            if let Some(pid) = daemon.service("web")["pid"].as_u64() {
                signal_to(pid as u32, Signal::KILL);
            }
        }
        (0..2).find(|at| all[*at].log_text().contains("web is faulty here"))
    });
    let other = NAMES[1 - first].to_owned();
    wait_for("the other to have it", || shared.holders().contains(&other).then_some(()));
    assert_ne!(pids(&all)[first], before[first], "it runs again");
}

/// The group's checks fail `life` times in a row at the active: it is down, and stands again only
/// once one passes. The others see why.
// req 2.6 2.8 2.10 2.75
#[test]
fn with_run_all_a_node_whose_checks_fail_is_down_until_they_pass() {
    let shared = Everywhere::new();
    let all = shared.start_all();
    let first = either_active(&all);
    let other = 1 - first;
    let before = pids(&all);
    shared.is_ill(first, true);
    wait_for("it to be down", || (role(&all[first]) == "down").then_some(()));
    wait_for("the other to be active", || (role(&all[other]) == "active").then_some(()));
    assert_eq!(pids(&all), before, "the checks start and stop nothing");
    let seen = wait_for("the other to see it", || {
        let seen = node(&all[other], NAMES[first]);
        (seen["life"] == 0 && seen["role"] == "down").then_some(seen)
    });
    let check = &seen["checks"][0];
    assert_eq!((&check["name"], &check["outcome"]), (&"well".into(), &"complete".into()));
    assert!(all[other].log_text().contains(&format!("its checks of {} fail", NAMES[first])));

    shared.is_ill(first, false);
    wait_for("it to be a standby", || (role(&all[first]) == "standby").then_some(()));
    wait_for("it to be a destination again", || {
        let out = all[other].cli(&["node", "switch"]);
        (out.status.code() == Some(0) || role(&all[first]) == "active").then_some(())
    });
    wait_active(&all, first);
}

/// A person asks a node once as the group does, from any other node; it counts nothing.
#[test]
fn a_person_asks_a_node_as_its_group_does() {
    let shared = Everywhere::new();
    let all = shared.start_all();
    let asked = |words: &[&str]| {
        let out = all[0].cli(&[&["probe"][..], words].concat());
        (out.status.code(), text_of(&out))
    };
    let node = format!("front/{}", NAMES[1]);
    shared.is_ill(1, true);
    let (code, text) = asked(&[&node]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("well"), "{text}");
    shared.is_ill(1, false);
    let (code, text) = asked(&[&format!("{node}/well"), "--json"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("\"healthy\""), "{text}");
    for (target, why) in [
        ("front".to_owned(), "front is a group: its nodes are front/NAME"),
        ("front/nobody".to_owned(), "group front has no node nobody"),
        (format!("front/{}", NAMES[2]), "group front has no checks of c"),
        (format!("{node}/nope"), "has no check named nope"),
    ] {
        let (code, text) = asked(&[&target]);
        assert_eq!(code, Some(3), "{text}");
        assert!(text.contains(why), "{text}");
    }
}

/// Where the service runs on the active only, the active asks itself: `life` failures in a row give
/// the group over.
#[test]
fn the_checks_of_a_group_that_runs_on_its_active_give_it_over() {
    let shared = Shared::new(3, "quorum = \"majority\"\ninterval = \"1s\"");
    let ill = shared.path("ill");
    let check = format!(
        "check.well.command = [\"/bin/sh\", \"-c\", \"test $NODE = 127.0.0.1 -a ! -e {}\"]\n",
        ill.display()
    );
    let all: Vec<Daemon> =
        (0..3).map(|me| shared.start_as(me, &(shared.text(me) + &check))).collect();
    let first = active_of(&[&all[0], &all[1]]);
    let other = 1 - first;
    wait_for("the other to join", || (role(&all[other]) == "standby").then_some(()));
    wait_for("a look", || {
        (node(&all[first], NAMES[first])["checks"][0]["outcome"] == "healthy").then_some(())
    });
    std::fs::write(&ill, "").expect("a file");
    wait_for("the group to go", || {
        all.iter().any(|it| it.log_text().contains("its own checks fail here")).then_some(())
    });
    std::fs::remove_file(&ill).expect("it was there");
    active_of(&[&all[0], &all[1]]);
    never_twice(&[&all[0], &all[1]]);
}

/// What is made of a pgpool.conf is a configuration as it stands.
// req 2.3 2.74
#[test]
fn what_is_imported_from_pgpool_is_taken() {
    let dir = tempfile::tempdir().expect("a directory");
    let (conf, made) = (dir.path().join("pgpool.conf"), dir.path().join("made.toml"));
    let text = "use_watchdog = on\ntrusted_servers = '10.0.0.254'\ndelegate_IP = '10.0.0.10'\n\
                wd_hostname = '10.0.0.1'\nwd_port = 9000\nother_pgpool_hostname0 = '10.0.0.2'\n\
                other_pgpool_port0 = 9999\nother_wd_port0 = 9000\n";
    std::fs::write(&conf, text).expect("a file");
    let giveover = |words: &[&str], file: &std::path::Path| {
        let mut command = std::process::Command::new(giveover_tests::giveover());
        command.args(words).arg(file).output().expect("giveover runs")
    };
    let out = giveover(&["import", "pgpool"], &conf);
    assert!(out.status.success(), "{}", text_of(&out));
    std::fs::write(&made, &out.stdout).expect("a file");
    let out = giveover(&["check"], &made);
    let said = text_of(&out);
    assert!(out.status.success(), "{said}");
    assert!(said.contains("two-holders"), "it is warned of pgpool's rule: {said}");
}

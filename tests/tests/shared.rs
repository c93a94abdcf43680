//! What nodes share: commands about a pool, carried out once on every node; and recovery, while
//! which no node takes new connections.

use std::fs;
use std::net::TcpListener;

use giveover_tests::cluster::{Cluster, NAMES, wait_long};
use giveover_tests::text_of;
use serde_json::Value;

const TIMES: &str = "heartbeat = \"500ms\"\nlease = \"3s\"\nwait = \"5500ms\"";

/// A pool of three that are well, and whose commands leave a line each in the shared directory.
struct Bed {
    cluster: Cluster,
    _members: Vec<TcpListener>,
}

impl Bed {
    fn new(more: &str) -> Self {
        let members: Vec<TcpListener> =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
        let mut text = "[pool.db]\ncheck.port = \"tcp\"\n\
                        command = [\"/bin/sh\", \"-c\", \"echo $MEMBER $TO >> @SHARED/told-@ME\"]\n\
                        [pool.db.member]\n"
            .to_owned();
        for (number, member) in members.iter().enumerate() {
            let port = member.local_addr().expect("an address").port();
            text += &format!("{number} = \"127.0.0.1:{port}\"\n");
        }
        // `$TO` and `$MEMBER` are the daemon's; `@ME` and `@SHARED` the test's.
        text += "[service.web]\nstart = [\"sleep\", \"100000\"]\nallow = [\"no-checks\"]\n\
                 [group.front]\nservices = [\"web\"]\npool = \"db\"\n\
                 promote = [\"/bin/sh\", \"-c\", \"echo $MEMBER >> @SHARED/promoted-@ME || exit 1; \
                 while test -e @SHARED/slow-@ME; do sleep 0.1; done\"]\n";
        Self { cluster: Cluster::new(TIMES, &(text + more)), _members: members }
    }

    fn start_all(&mut self) -> usize {
        for place in [2, 0, 1] {
            self.cluster.start(place);
        }
        self.cluster.settled()
    }

    fn lines(&self, name: &str, place: usize) -> Vec<String> {
        let path = self.cluster.path(&format!("{name}-{}", NAMES[place]));
        fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// How often the command of a place was told this.
    fn told(&self, place: usize, line: &str) -> usize {
        self.lines("told", place).iter().filter(|it| *it == line).count()
    }

    fn pool(&self, place: usize) -> Value {
        self.cluster.group(place).unwrap_or_default()["pool"].clone()
    }

    /// The states of the members as a place has them, numbered as in the source document.
    fn states(&self, place: usize) -> Vec<u64> {
        let members = self.pool(place)["members"].as_array().cloned().unwrap_or_default();
        members.iter().filter_map(|member| member["state"].as_u64()).collect()
    }

    fn wait_states(&self, place: usize, states: &[u64]) {
        let what = format!("{} to have {states:?}", NAMES[place]);
        wait_long(&what, || (self.states(place) == states).then_some(()));
    }

    /// How far the newest promotion has come at a place.
    fn promotion(&self, place: usize) -> String {
        self.pool(place)["promotion"]["state"].as_str().unwrap_or_default().to_owned()
    }

    fn wait_promotion(&self, place: usize, state: &str) {
        let what = format!("the promotion to be {state} on {}", NAMES[place]);
        wait_long(&what, || (self.promotion(place) == state).then_some(()));
    }

    fn ok(&self, place: usize, words: &[&str]) -> String {
        wait_long(&format!("{words:?} to be done"), || {
            let output = self.cluster.daemon(place).cli(words);
            output.status.success().then(|| text_of(&output))
        })
    }
}

/// Section 5.3.2 of the source document, and what pgpool-II 3.2 lacks: numbers, and a replay to who
/// was away. Tables P01 to P06.
// req 2.96 2.97 2.98 2.99 2.103
#[test]
fn a_command_on_one_node_is_carried_out_once_on_every_node() {
    let mut bed = Bed::new("");
    let active = bed.start_all();
    let standby = 1 - active;
    for place in [active, standby] {
        bed.wait_states(place, &[2, 2, 2]);
    }

    // The experiment: node 0 detached on one, state 3 on both.
    let said = bed.ok(standby, &["node", "detach", "0"]);
    assert!(said.contains("0 detached"), "{said}");
    for place in [active, standby] {
        bed.wait_states(place, &[3, 2, 2]);
        wait_long("the pool's command", || (bed.told(place, "0 drained") == 1).then_some(()));
    }
    let screen = bed.cluster.daemon(active).ok(&["node", "status", "--json"]);
    assert!(screen.contains("\"state\":3"), "{screen}");

    // A list of them in one command, then another kind, and the primary.
    bed.ok(active, &["node", "detach", "1", "2"]);
    bed.ok(standby, &["node", "attach", "0", "2"]);
    bed.ok(standby, &["node", "promote", "2"]);
    for place in [active, standby] {
        bed.wait_states(place, &[2, 3, 2]);
        wait_long("the promotion", || (bed.lines("promoted", place) == ["2"]).then_some(()));
        assert_eq!(bed.pool(place)["primary"], "2");
    }

    // One that is away is told when it is back, once, and again after its restart nothing.
    assert_eq!(bed.cluster.daemon_mut(standby).stop(), Some(0));
    bed.ok(active, &["node", "detach", "0"]);
    bed.ok(active, &["node", "promote", "0"]);
    bed.cluster.start(standby);
    bed.wait_states(standby, &[3, 3, 2]);
    wait_long("the promotion", || (bed.lines("promoted", standby) == ["2", "0"]).then_some(()));
    bed.cluster.daemon_mut(standby).kill();
    bed.cluster.start(standby);
    bed.wait_states(standby, &[3, 3, 2]);
    let same = bed.pool(active)["command"].clone();
    wait_long("the same newest command", || (bed.pool(standby)["command"] == same).then_some(()));
    for place in [active, standby] {
        assert_eq!(bed.lines("promoted", place), ["2", "0"], "{}", NAMES[place]);
    }

    // Numbered by the next active, in its term.
    assert_eq!(bed.cluster.daemon_mut(active).stop(), Some(0));
    wait_long("the standby to be active", || (bed.cluster.role(standby) == "active").then_some(()));
    bed.ok(standby, &["node", "attach", "0", "1"]);
    bed.cluster.start(active);
    bed.wait_states(active, &[2, 2, 2]);
    assert_eq!(bed.pool(standby)["primary"], "0");
}

#[test]
fn what_cannot_be_shared_is_said() {
    let mut bed = Bed::new("");
    bed.cluster.start(0);
    let code = |words: &[&str]| bed.cluster.daemon(0).cli(words).status.code();
    assert_eq!(code(&["node", "detach", "nobody"]), Some(5));
    assert_eq!(code(&["node", "detach", "0", "--group", "nope"]), Some(5));
    assert_eq!(code(&["node", "detach"]), Some(2));
    let output = bed.cluster.daemon(0).cli(&["node", "detach", "0"]);
    assert_eq!(output.status.code(), Some(1), "{}", text_of(&output));
    assert!(text_of(&output).contains("nobody is active"), "{}", text_of(&output));
    let output = bed.cluster.daemon(0).cli(&["node", "recover", "--for", "5s"]);
    assert_eq!(output.status.code(), Some(1), "{}", text_of(&output));
    assert!(text_of(&output).contains("cannot refuse"), "{}", text_of(&output));
}

const RECOVERY: &str = "recovery = { block = [\"/bin/sh\", \"-c\", \"test ! -e @SHARED/cannot-@ME && \
                        touch @SHARED/blocked-@ME\"], unblock = [\"rm\", \"-f\", \
                        \"@SHARED/blocked-@ME\"] }\n";

/// Section 5.3.3: while a recovery lasts no node takes new connections; all do or none, and it ends
/// by itself. Tables P07, P08.
// req 2.101 2.102
#[test]
fn a_recovery_blocks_every_node_or_none_and_ends() {
    let mut bed = Bed::new(RECOVERY);
    let active = bed.start_all();
    let standby = 1 - active;
    let blocked = |bed: &Bed| {
        let files = [0, 1].map(|it| bed.cluster.path(&format!("blocked-{}", NAMES[it])).exists());
        files.iter().filter(|it| **it).count()
    };
    let recovery = |bed: &Bed, place: usize| {
        bed.cluster.group(place).is_some_and(|group| group["recovery"].is_object())
    };
    let code = |bed: &Bed, place: usize, words: &[&str]| {
        bed.cluster.daemon(place).cli(words).status.code()
    };

    let said = bed.ok(standby, &["node", "recover", "--for", "10m"]);
    assert!(said.contains("no node takes new connections"), "{said}");
    assert_eq!(blocked(&bed), 2);
    assert!(recovery(&bed, active) && recovery(&bed, standby));
    // There is one at a time, and who began it ends it.
    assert_eq!(code(&bed, active, &["node", "recover"]), Some(1));
    assert_eq!(code(&bed, active, &["node", "recover", "--end"]), Some(1));
    assert_eq!(code(&bed, standby, &["node", "recover", "--end"]), Some(0));
    wait_long("all to take connections", || (blocked(&bed) == 0).then_some(()));
    wait_long("both to know", || {
        (!recovery(&bed, active) && !recovery(&bed, standby)).then_some(())
    });

    // One that cannot is enough.
    fs::write(bed.cluster.path(&format!("cannot-{}", NAMES[standby])), "").expect("a file");
    let output = bed.cluster.daemon(active).cli(&["node", "recover", "--for", "10m"]);
    assert_eq!(output.status.code(), Some(1), "{}", text_of(&output));
    let name = NAMES[standby];
    assert!(text_of(&output).contains(&format!("{name} cannot refuse")), "{}", text_of(&output));
    wait_long("nobody to be blocked", || (blocked(&bed) == 0).then_some(()));
    fs::remove_file(bed.cluster.path(&format!("cannot-{name}"))).expect("a file");

    // Nobody ends it, who began it least of all: time does.
    let said = bed.ok(active, &["node", "recover", "--for", "20s"]);
    assert!(said.contains("ends by itself"), "{said}");
    assert_eq!(blocked(&bed), 2);
    bed.cluster.daemon_mut(active).kill();
    wait_long("the other to take connections again", || {
        let file = bed.cluster.path(&format!("blocked-{}", NAMES[standby]));
        (!file.exists()).then_some(())
    });
    // What is left of it where the daemon died goes with its next start.
    bed.cluster.start(active);
    wait_long("nobody to be blocked", || (blocked(&bed) == 0).then_some(()));
}

/// kill -9 of the daemon in the middle of a promotion: whether its command did its work nobody knows,
/// so it is said, and never run twice.
#[test]
fn a_promotion_that_a_kill_cuts_short_is_said_and_not_run_again() {
    let mut bed = Bed::new("");
    let active = bed.start_all();
    let standby = 1 - active;
    let slow = bed.cluster.path(&format!("slow-{}", NAMES[standby]));
    fs::write(&slow, "").expect("a file");
    bed.ok(active, &["node", "promote", "1"]);
    wait_long("the promotion to run", || (bed.lines("promoted", standby) == ["1"]).then_some(()));
    bed.wait_promotion(standby, "running");
    bed.wait_promotion(active, "done");
    bed.cluster.daemon_mut(standby).kill();
    bed.cluster.start(standby);

    bed.wait_promotion(standby, "cut_short");
    assert_eq!(bed.pool(standby)["promotion"]["member"], "1");
    let said = |bed: &Bed| {
        let text = bed.cluster.daemon(standby).log_text();
        text.matches("was CUT SHORT: the daemon ended while it ran").count()
    };
    wait_long("it to be said", || (said(&bed) == 1).then_some(()));
    // What the others have tells it nothing new, nor does another start.
    let same = bed.pool(active)["command"].clone();
    wait_long("the same newest command", || (bed.pool(standby)["command"] == same).then_some(()));
    bed.cluster.daemon_mut(standby).kill();
    bed.cluster.start(standby);
    bed.wait_promotion(standby, "cut_short");
    assert_eq!((bed.lines("promoted", standby), said(&bed)), (vec!["1".to_owned()], 1));

    // A person has looked, and says it again.
    fs::remove_file(&slow).expect("a file");
    bed.ok(active, &["node", "promote", "1"]);
    for place in [active, standby] {
        wait_long("it to be run", || (bed.lines("promoted", place) == ["1", "1"]).then_some(()));
        bed.wait_promotion(place, "done");
    }
}

/// A kill between the record of a promotion and the start of its command leaves this on the disk. Then
/// nothing has begun, and the next start plays it to its end, once.
#[test]
fn a_promotion_that_had_not_begun_is_run_by_the_next_start() {
    let mut bed = Bed::new("");
    let active = bed.start_all();
    let standby = 1 - active;
    bed.ok(active, &["node", "promote", "1"]);
    bed.wait_promotion(standby, "done");
    bed.cluster.daemon_mut(standby).kill();
    // The state of each file has a directory of its own.
    let state = bed.cluster.daemon(standby).dir.path().join("state");
    let dirs = fs::read_dir(state).expect("its state").filter_map(Result::ok);
    let mut files = dirs.map(|dir| dir.path().join("cluster")).filter(|path| path.exists());
    let path = files.next().expect("what is kept");
    let kept = fs::read_to_string(&path).expect("what is kept");
    let owed = kept.replace("\"stage\":\"Done\"", "\"stage\":\"Owed\"");
    assert_ne!(owed, kept, "the promotion is in it");
    fs::write(&path, owed).expect("a file");
    bed.cluster.start(standby);
    bed.wait_promotion(standby, "done");
    assert_eq!(bed.lines("promoted", standby), ["1", "1"]);
    bed.cluster.daemon_mut(standby).kill();
    bed.cluster.start(standby);
    bed.wait_promotion(standby, "done");
    assert_eq!(bed.lines("promoted", standby), ["1", "1"]);
}

/// A command that fails is no promotion, and stays on the screen.
#[test]
fn a_promotion_that_fails_is_shown() {
    let mut bed = Bed::new("");
    let active = bed.start_all();
    // A directory where the command wants to write.
    let path = bed.cluster.path(&format!("promoted-{}", NAMES[active]));
    fs::create_dir(&path).expect("a directory");
    bed.ok(active, &["node", "promote", "2"]);
    bed.wait_promotion(active, "failed");
    bed.wait_promotion(1 - active, "done");
    let pool = bed.pool(active);
    let why = pool["promotion"]["why"].as_str().unwrap_or_default();
    assert!(why.contains("irectory"), "what it said: {pool}");
}

/// kill -9 of the daemon that began a recovery: it goes on where it was, on every node, and can be
/// ended by who began it.
#[test]
fn a_recovery_outlives_a_kill_of_who_began_it() {
    let mut bed = Bed::new(RECOVERY);
    let active = bed.start_all();
    let standby = 1 - active;
    let file = |bed: &Bed, place: usize| bed.cluster.path(&format!("blocked-{}", NAMES[place]));
    bed.ok(active, &["node", "recover", "--for", "20m"]);
    assert!(file(&bed, 0).exists() && file(&bed, 1).exists());
    bed.cluster.daemon_mut(active).kill();
    // Refused anew at the start, whatever is left of it.
    fs::remove_file(file(&bed, active)).expect("a file");
    bed.cluster.start(active);
    wait_long("it to refuse again", || file(&bed, active).exists().then_some(()));
    assert!(file(&bed, standby).exists(), "the other was not let go");
    let group = bed.cluster.group(active).unwrap_or_default();
    assert_eq!(group["recovery"]["by"], NAMES[active], "{group}");
    let log = bed.cluster.daemon(active).log_text();
    assert!(log.contains("goes on after this start"), "{log}");
    // Another node does not end it, and who began it does, once the two hear each other.
    let end = ["node", "recover", "--end"];
    assert_eq!(bed.cluster.daemon(standby).cli(&end).status.code(), Some(1));
    assert_eq!(bed.cluster.daemon(active).cli(&end).status.code(), Some(0));
    wait_long("both to take connections", || {
        (!file(&bed, 0).exists() && !file(&bed, 1).exists()).then_some(())
    });
}

/// A node that comes back while a recovery lasts refuses new connections too.
#[test]
fn who_comes_back_during_a_recovery_is_told() {
    let mut bed = Bed::new(RECOVERY);
    let active = bed.start_all();
    let standby = 1 - active;
    assert_eq!(bed.cluster.daemon_mut(standby).stop(), Some(0));
    wait_long("it to be missed", || {
        let group = bed.cluster.group(active)?;
        let node = group["nodes"].as_array()?.iter().find(|it| it["name"] == NAMES[standby])?;
        (node["alive"] == false || node["role"] != "standby").then_some(())
    });
    let said = bed.ok(active, &["node", "recover", "--for", "10m"]);
    assert!(said.contains("no node takes new connections"), "{said}");
    bed.cluster.start(standby);
    wait_long("it to block", || {
        bed.cluster.path(&format!("blocked-{}", NAMES[standby])).exists().then_some(())
    });
    assert_eq!(
        bed.cluster.daemon(active).cli(&["node", "recover", "--end"]).status.code(),
        Some(0)
    );
    wait_long("it to take connections", || {
        (!bed.cluster.path(&format!("blocked-{}", NAMES[standby])).exists()).then_some(())
    });
}

//! Five hosts that decide by majority: two that are cut off change nothing, or lose what they had; where
//! no three hear each other nobody has the address.

use std::time::Duration;

use giveover_tests::Daemon;
use giveover_tests::audit::Audit;
use giveover_tests::cluster::wait_long;
use giveover_tests::lan::Lan;
use giveover_tests::nodes::make_key;
use giveover_tests::server::is_root;
use serde_json::Value;
use tempfile::TempDir;

const ADDRESS: &str = "10.0.0.10";
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Five hosts on one network, each with a daemon, and who was seen to have the address.
struct Five {
    daemons: Vec<Daemon>,
    audit: Audit,
    lan: Lan,
    _dir: TempDir,
    /// Who does not reach whom.
    cut: Vec<(usize, usize)>,
}

impl Five {
    fn new() -> Self {
        let lan = Lan::new(&NAMES);
        let dir = tempfile::Builder::new().prefix("giveover-five-").tempdir().expect("a directory");
        make_key(&dir.path().join("cluster.key"));
        let mut text = format!(
            "[cluster]\nkey = \"{}/cluster.key\"\nquorum = \"majority\"\n\
             heartbeat = \"500ms\"\nlease = \"3s\"\nwait = \"5500ms\"\n",
            dir.path().display()
        );
        for (name, number) in NAMES.iter().zip(1..) {
            text += &format!("[node.{name}]\naddress = \"10.0.0.{number}\"\n");
        }
        text += &format!("[group.front]\naddresses = [\"{ADDRESS}/24\"]\n");
        let audit = Audit::new(&lan, &NAMES, ADDRESS);
        let start = |name: &&str| {
            let mut daemon = Daemon::prepared(&text, &[], |_| {});
            lan.run(name, &[], &mut daemon);
            daemon
        };
        let daemons = NAMES.iter().map(start).collect();
        Self { daemons, audit, lan, _dir: dir, cut: Vec::new() }
    }

    fn group(&self, place: usize) -> Value {
        self.daemons[place].status().unwrap_or_default()["groups"][0].clone()
    }

    fn has(&self, place: usize) -> bool {
        self.lan.has(NAMES[place], ADDRESS)
    }

    /// Waits until one of `side` is active and alone has the address, the rest of it know that, and
    /// nobody else knows anybody active; returns who it is.
    fn settled(&self, side: &[usize]) -> usize {
        let what = format!("an active among {side:?}, and nowhere else");
        wait_long(&what, || {
            let groups: Vec<Value> = (0..5).map(|place| self.group(place)).collect();
            let active = side.iter().copied().find(|place| groups[*place]["role"] == "active")?;
            let agrees = |place: usize| match side.contains(&place) {
                true => groups[place]["active"] == NAMES[active],
                false => groups[place]["active"].is_null() && groups[place]["role"] != "active",
            };
            let alone = (0..5).all(|place| self.has(place) == (place == active));
            (alone && (0..5).all(agrees)).then_some(active)
        })
    }

    /// What is in different ones of `parts` reaches each other no more.
    fn cut(&mut self, parts: &[&[usize]]) {
        self.heal();
        for (place, part) in parts.iter().enumerate() {
            let rest = parts.iter().enumerate().filter(|(other, _)| *other != place);
            for other in rest.flat_map(|(_, part)| part.iter()) {
                self.cut.extend(part.iter().map(|one| (*one, *other)));
            }
        }
        for (one, other) in &self.cut {
            self.lan.reaches(NAMES[*one], *other as u8 + 1, false);
        }
    }

    fn heal(&mut self) {
        for (one, other) in self.cut.drain(..) {
            self.lan.reaches(NAMES[one], other as u8 + 1, true);
        }
    }
}

const ALL: [usize; 5] = [0, 1, 2, 3, 4];

// req 2.61
#[test]
fn of_five_three_decide_and_two_never() {
    if !is_root("networks of our own") {
        return;
    }
    let mut five = Five::new();
    let first = five.settled(&ALL);

    // Two others are cut off, and hear each other.
    let mut rest: Vec<usize> = ALL.into_iter().filter(|place| *place != first).collect();
    let two = rest.split_off(2);
    let three = [rest.as_slice(), &[first]].concat();
    five.cut(&[&three, &two]);
    five.settled(&three);
    five.heal();
    let second = five.settled(&ALL);

    // The active is, with one other: the three that are left have it soon.
    let mut rest: Vec<usize> = ALL.into_iter().filter(|place| *place != second).collect();
    let three = rest.split_off(1);
    let two = [rest[0], second];
    five.cut(&[&three, &two]);
    let third = five.settled(&three);
    assert_ne!(third, second);
    five.heal();
    five.settled(&ALL);

    // No three hear each other: nobody has it.
    five.cut(&[&[0, 1], &[2, 3], &[4]]);
    wait_long("nobody to have it", || ALL.iter().all(|place| !five.has(*place)).then_some(()));
    five.heal();
    five.settled(&ALL);

    // Two die, and then a third.
    for died in 0..3 {
        let left: Vec<usize> = ALL.into_iter().filter(|place| *place > died).collect();
        five.daemons[died].kill();
        if left.len() > 2 {
            wait_long("one that is left", || {
                let actives = left.iter().filter(|place| five.group(**place)["role"] == "active");
                (actives.count() == 1 && left.iter().any(|it| five.has(*it))).then_some(())
            });
        }
    }
    wait_long("nobody to have it", || ALL.iter().all(|place| !five.has(*place)).then_some(()));
    assert_eq!(five.audit.overlap(), Duration::ZERO, "two have had it");
}

use super::*;
use crate::config::scenario::{Form, load_form_str};

fn loaded(text: &str) -> World {
    match load_form_str("file.toml", text) {
        Ok(Form::Large(world)) => *world,
        Ok(Form::Small(_)) => panic!("the small form"),
        Err(report) => panic!("{report}"),
    }
}

fn said(text: &str) -> String {
    match load_form_str("file.toml", text) {
        Err(report) => report.to_string(),
        Ok(form) => panic!("{form:?}"),
    }
}

const LEAST: &str = "length = \"1h\"\n[service.web]\n";

#[test]
fn what_is_not_written_is_as_usual() {
    let world = loaded(LEAST);
    assert_eq!((world.name.as_str(), world.length, world.seed), ("file", 3_600_000, 1));
    let web = &world.services[0];
    assert_eq!(*web.policy.limits(), giveover_core::policy::Limits::DEFAULT);
    assert_eq!(web.start_takes, Range { least: 1_000, most: 1_000 });
    assert_eq!(world.board, None);
    assert!(world.faults.is_empty() && world.expects.is_empty() && world.asserts.is_empty());
}

#[test]
fn a_whole_world_is_read() {
    let world = loaded(
        "length = \"400d\"\n[service.web]\nleaks = { after = [\"1m\", \"2m\"], weight = 25 }\n\
         [board]\ntimeout = \"30s\"\n\
         [[fault]]\nevery = \"90d\"\nservice = \"web\"\ndoes = \"slow\"\nweight = 10\n\
         [[fault]]\nat = \"1m\"\nclock = \"drift\"\nby = \"-200ppm\"\nexpect = { board = \"armed\" }\n\
         [[expect]]\nat = \"30s\"\nstatus = \"ok\"\n\
         [assert]\nevery = \"outage < 30s\"\nhost = [\"resets == 0\"]\n",
    );
    assert_eq!(world.length, 400 * 86_400_000);
    assert_eq!(world.faults.len(), 2);
    assert_eq!(world.faults[0].when, When::Every(90 * 86_400_000));
    let drift = ClockDoes { turn: ClockTurn::Drift, by: -200 };
    assert_eq!(world.faults[1].what, What::Clock(drift));
    let times: Vec<u64> = world.expects.iter().map(|expect| expect.at).collect();
    assert_eq!(times, [30_000, 60_000], "in order of time");
    assert_eq!(world.expects[0].service, Some(0), "the only one there is");
    assert_eq!(world.asserts.len(), 2);
    assert_eq!((world.asserts[0].line, world.asserts[0].column), (20, 9));
}

/// Every mistake is told with file, line and column.
#[test]
fn mistakes_are_told_with_their_place() {
    let with = |more: &str| said(&format!("{LEAST}{more}"));
    for (text, expected) in [
        (said("[service.web]\n"), "there is no `length`"),
        (said("length = \"1h\"\n"), "there is no [service.NAME] in it"),
        (said("length = 5\n[service.web]\n"), "file.toml:1:10: error: length: a duration needs"),
        (with("polcy = {}\n"), "file.toml:3:1: error: unknown key `polcy`"),
        (
            with("start_takes = [\"5s\", \"1s\"]\n"),
            "file.toml:3:15: error: start_takes: the shorter",
        ),
        (with("needs = [\"db\"]\n"), "file.toml:3:10: error: needs: no service is called `db`"),
        (with("needs = [\"web\"]\n"), "`web` must stand before what needs it"),
        (with("giveover = \"board\"\n"), "there is no [board] in this world"),
        (with("policy = { retry_interval = \"0s\" }\n"), "file.toml:3:29: error: retry_interval"),
        (with("[[fault]]\nat = \"1s\"\n"), "file.toml:3:1: error: this fault says nothing"),
        (with("[[fault]]\nnetwork = \"cut\"\n"), "has neither `at` nor `every`"),
        (
            with("[[fault]]\nat = \"1s\"\nservice = \"wbe\"\ndoes = \"die\"\n"),
            "did you mean `web`?",
        ),
        (
            with("[[fault]]\nat = \"1s\"\nservice = \"web\"\ndoes = \"dies\"\n"),
            "file.toml:6:8: error: does: must be",
        ),
        (with("[[fault]]\nat = \"1s\"\nservice = \"web\"\n"), "service: needs `does`"),
        (
            with("[[fault]]\nat = \"1s\"\nnetwork = \"cut\"\nhost = \"hang\"\n"),
            "a fault is about one thing, not `network` and this",
        ),
        (
            with("[[fault]]\nevery = \"1s\"\nnetwork = \"cut\"\nexpect = { status = \"ok\" }\n"),
            "what is drawn by chance has no right answer",
        ),
        (with("[[fault]]\nat = \"1s\"\nclock = \"step\"\n"), "clock: needs `by`"),
        (with("[[fault]]\nat = \"1s\"\nboard = \"reset\"\n"), "board: there is no [board]"),
        (with("[[expect]]\nstatus = \"ok\"\n"), "this expectation has no `at`"),
        (
            with("[assert]\nwbe = \"ends ok\"\n"),
            "file.toml:4:1: error: assert: no service is called",
        ),
        (
            with("[assert]\nweb = \"restarts < lots\"\n"),
            "file.toml:4:7: error: `lots` is no whole number",
        ),
        (with("[service.host]\n"), "a service called `host` could not be asserted anything of"),
        (with("[service.group]\n"), "a service called `group` could not be asserted anything of"),
        (with("[pool.a]\n"), "file.toml:3:1: error: this pool has no `members`"),
        (with("[pool.web]\nmembers = [\"a\"]\n"), "a service is called `web` too"),
        (with("[pool.host]\nmembers = [\"a\"]\n"), "a pool called `host` could not be asserted"),
        (with("[pool.p]\nmembers = [\"a\"]\nrise = 17\n"), "file.toml:5:8: error: rise: must be"),
        (with("[pool.p]\nmembers = [\"a\"]\nbackup = [\"b\"]\n"), "no member is called `b`"),
        (with("[pool.p]\nmembers = [\"a\"]\ntrusted = true\n"), "that is said in [host]"),
        (
            with(
                "[pool.p]\nmembers = [\"a\"]\n[[fault]]\nat = \"1s\"\nmember = \"p/b\"\n\
                 does = \"fails\"\n",
            ),
            "file.toml:7:10: error: member: no member is called `p/b`",
        ),
        (
            with("[pool.p]\nmembers = [\"a\"]\n[assert]\np = \"restarts == 0\"\n"),
            "`restarts` is a service's",
        ),
        (
            with("[pool.p]\nmembers = [\"a\"]\n[[expect]]\nat = \"1s\"\nin = [\"b\"]\n"),
            "in: no member is called `b`",
        ),
        (with("[[expect]]\nat = \"1s\"\nin = [\"b\"]\n"), "in: of which pool?"),
        (with("[group.g]\nservices = [\"web\"]\n"), "[group.NAME] without a [node.NAME]"),
        (
            with("[node.a]\n[node.b]\n[group.g]\nservices = [\"wbe\"]\n"),
            "file.toml:6:13: error: services: no service is called `wbe`",
        ),
        (
            with("[node.a]\n[node.b]\n[group.g]\nservices = [\"web\"]\n[group.h]\nservices = []\n"),
            "a second [group.NAME]",
        ),
        (with("[node.a]\n"), "a cluster has at least two nodes"),
        (with("[link]\nloss = \"1%\"\n"), "[link] without a [node.NAME]"),
        (with("[assert]\ngroup = \"never two active\"\n"), "there is no [node.NAME]"),
        (
            with("[node.a]\n[node.b]\n[link]\nloss = \"101%\"\n"),
            "file.toml:6:8: error: loss: a share",
        ),
        (
            with("[node.a]\ndrift = \"30000ppm\"\n[node.b]\n"),
            "file.toml:4:9: error: drift: \"200ppm\"",
        ),
        (
            with("[node.a]\n[node.b]\n[[fault]]\nat = \"1s\"\nnode = \"c\"\ndoes = \"crash\"\n"),
            "file.toml:7:8: error: node: no node is called `c`",
        ),
        (
            with("[node.a]\n[node.b]\n[[fault]]\nat = \"1s\"\nlink = [\"a\"]\ndoes = \"cut\"\n"),
            "file.toml:7:8: error: link: needs two nodes",
        ),
        (
            with("[node.a]\n[node.b]\n[cluster]\nwait = \"5s\"\n"),
            "file.toml:5:1: error: wait must be at least",
        ),
        (
            with("[node.a]\n[node.b]\n[[expect]]\nat = \"1s\"\nrole = \"active\"\n"),
            "role: of which node?",
        ),
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let text = said("lenght = \"1h\"\n[service.web]\nneeds = 3\n[assert]\nweb = \"nothing\"\n");
    assert!(text.matches("error: ").count() >= 4, "{text}");
}

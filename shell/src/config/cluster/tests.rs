use std::sync::Arc;

use super::super::files::Files;
use super::*;

/// What is said, and what it comes to.
fn read_text(text: &str) -> (String, Option<ClusterPlan>) {
    let mut out = Findings::default();
    let files = Files::of_text("pair.toml", text, &mut out);
    let plan = read(&files.root, &mut out);
    let (errors, _) = out.into_reports(&Arc::new(files.sources));
    (errors.to_string(), plan)
}

fn plan(text: &str) -> ClusterPlan {
    let (said, plan) = read_text(text);
    plan.unwrap_or_else(|| panic!("{said}"))
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    let (said, plan) = read_text(text);
    assert_eq!(plan, None, "{text}");
    for part in parts {
        assert!(said.contains(part), "no `{part}` in:\n{said}");
    }
}

const NODES: &str = "[node.a]\naddress = \"10.0.0.1\"\n[node.b]\naddress = \"10.0.0.2\"\n";
const DOOR: &str = "[node.door]\naddress = \"10.0.0.3\"\nwitness = true\n";

fn cluster(keys: &str) -> String {
    format!("[cluster]\nkey = \"/etc/giveover/keys/cluster.key\"\n{keys}\n{NODES}")
}

/// The pair of the interfaces' third example.
// req 2.78
#[test]
fn the_pair_with_a_witness_is_taken_with_its_defaults() {
    let text = cluster("quorum = \"majority\"")
        + DOOR
        + "[service.proxy]\nunit = \"haproxy.service\"\n[group.front]\nservices = [\"proxy\"]\n\
           run = \"all\"\naddresses = [\"10.0.0.10/24\"]\n\
           check.front = \"http://$NODE:8404/health\"\n";
    let plan = plan(&text);
    assert_eq!(plan.limits, Limits::DEFAULT);
    assert_eq!((plan.members.count, plan.members.quorum, plan.port), (3, Quorum::Majority, 9706));
    assert!(plan.members.witnesses.has(Number(2)) && plan.members.witnesses.count() == 1);
    let group = &plan.groups[0];
    assert!(group.everywhere && group.addresses == [("10.0.0.10".parse().unwrap(), 24)]);
    let asked: Vec<String> = group
        .checks
        .iter()
        .flat_map(|checks| checks.iter())
        .map(|check| format!("{}:{}", check.targets[0].host, check.targets[0].port))
        .collect();
    assert_eq!(asked, ["10.0.0.1:8404", "10.0.0.2:8404"], "a witness serves nothing");
    let told = told(&plan).join("\n");
    let sum = "wait 8s is at least (lease 5s + jitter 1s) × (1 + 2 × 5 %) + 1s = 7600ms";
    assert!(told.contains(sum), "{told}");
    assert!(told.contains("machine or daemon dies: at most 9s without a holder"), "{told}");
    assert!(told.contains("drops within 5s"), "{told}");
    let judged =
        "one whose checks (front) fail 3 times in a row is down, within 60s, and cannot be active";
    assert!(told.contains(judged), "{told}");
    assert!(!told.contains("a killed daemon"), "they run on every node: {told}");
    let moving = text.replace("run = \"all\"\n", "");
    let moving = super::told(&self::plan(&moving)).join("\n");
    assert!(moving.contains("leaves behind RUN ON until it runs again"), "{moving}");
}

#[test]
fn two_nodes_must_say_how_they_decide() {
    says(
        &cluster(""),
        &[
            "two nodes must say how they decide",
            "quorum = \"majority\": never two holders; with a third machine",
            "quorum = \"fence\": never two holders; needs",
            "quorum = \"stay\": never two holders; nobody",
            "quorum = \"trusted\": takes over from silence; two holders",
            "quorum = \"etcd\": never two holders; needs an etcd",
        ],
    );
    assert_eq!(plan(&(cluster("") + DOOR)).members.quorum, Quorum::Majority, "three have one");
}

#[test]
fn each_way_to_decide_needs_its_own() {
    says(&cluster("quorum = \"trusted\""), &["accept_two_holders = true"]);
    let trusted = plan(&cluster("quorum = \"trusted\"\naccept_two_holders = true"));
    assert!(told(&trusted).join("\n").contains("two holders until it heals"));
    says(&cluster("quorum = \"fence\""), &["\"fence\" needs `fence`"]);
    says(&cluster("quorum = \"fence\"\nfence = \"board\""), &["needs [board]"]);
    says(&cluster("quorum = \"fence\"\nfence = {}"), &["fence: needs `command`"]);
    says(&cluster("quorum = \"fence\"\nfence = 3"), &["fence: { command = [...] } or \"board\""]);
    let fenced =
        plan(&cluster("quorum = \"fence\"\nfence = { command = [\"/bin/off\", \"$TO\"] }"));
    assert!(matches!(fenced.fence, Some(Fence::Command(words)) if words.len() == 2));
    says(&cluster("quorum = \"stay\"\nfence = { command = [\"/bin/off\"] }"), &["ever fences"]);
    says(&(cluster("quorum = \"stay\"") + DOOR), &["only `majority` counts"]);
    let third = "[node.c]\naddress = \"10.0.0.3\"\n";
    says(&(cluster("quorum = \"stay\"") + third), &["decide between two nodes"]);
    says(&cluster("quorum = \"sta\""), &["did you mean `stay`?"]);
}

#[test]
fn times_that_cannot_work_are_refused_with_what_would() {
    let stay = |keys: &str| cluster(&format!("quorum = \"stay\"\n{keys}"));
    says(&stay("wait = \"7s\""), &["pair.toml:4:8", "wait = \"7600ms\""]);
    says(&stay("lease = \"10s\""), &["wait must be at least 13100 ms"]);
    says(&stay("heartbeat = \"3s\""), &["lease = \"7s\""]);
    says(&stay("jitter = \"500ms\""), &["jitter must be at least 1 s"]);
    says(&stay("rate = \"50%\""), &["rate must be below 50 %"]);
    says(&stay("interval = \"0s\""), &["interval"]);
    says(&stay("life = 0"), &["life"]);
    says(&stay("wait = 8"), &["\"8s\""]);
    says(&stay("wiat = \"8s\""), &["did you mean `wait`?"]);
}

#[test]
fn nodes_have_addresses_of_their_own() {
    let stay = "[cluster]\nkey = \"cluster.key\"\nquorum = \"stay\"\n";
    says(&format!("{stay}[node.a]\n[node.b]\naddress = \"10.0.0.2\"\n"), &["needs `address`"]);
    let same = "[node.a]\naddress = \"10.0.0.2\"\n[node.b]\naddress = \"10.0.0.2\"\n";
    says(&format!("{stay}{same}"), &["node.a has it already"]);
    says(&format!("{stay}[node.a]\naddress = \"10.0.0.2\"\n"), &["at least two nodes"]);
    says(stay, &["needs at least two [node.NAME]"]);
    says(NODES, &["need [cluster]"]);
    says(&format!("[cluster]\nquorum = \"stay\"\n{NODES}"), &["cluster: needs `key`"]);
    let door = "[node.b]\naddress = \"10.0.0.2\"\nwitnes = true\n";
    says(&format!("{stay}[node.a]\naddress = \"10.0.0.1\"\n{door}"), &["did you mean `witness`?"]);
}

#[test]
fn groups_have_what_moves_and_nothing_twice() {
    let with = |group: &str| {
        cluster("quorum = \"stay\"") + "[service.web]\nunit = \"web.service\"\n" + group
    };
    says(&with("[group.g]\n"), &["nothing would move"]);
    says(&with("[group.g]\nservices = [\"wbe\"]\n"), &["did you mean `web`?"]);
    says(&with("[group.g]\naddresses = [\"10.0.0.9\"]\n"), &["\"10.0.0.9/24\""]);
    says(&with("[group.g]\naddresses = [\"10.0.0.9/33\"]\n"), &["no address with a prefix"]);
    says(&with("[group.g]\naddresses = [\"127.0.0.1/8\"]\n"), &["can belong to no node"]);
    says(
        &with("[group.g]\nservices = [\"web\"]\nrun = \"all\"\n"),
        &["needs a check of every node", "moves only addresses: name one"],
    );
    let check =
        |check: &str| with(&format!("[group.g]\nservices = [\"web\"]\ncheck.x = {check}\n"));
    says(&check("\"http://10.0.0.1/\""), &["write $NODE"]);
    says(&check("{ url = \"http://$NODE/\", expct = [200] }"), &["did you mean `expect`?"]);
    says(&check("{ kind = \"agent\", transport = \"udp\", address = \"$NODE:1\" }"), &["check.x"]);
    assert_eq!(plan(&check("{ url = \"tcp://$NODE:80\" }")).groups[0].checks[1].len(), 1);
    let long = "[group.g]\nservices = [\"web\"]\ninterface = \"a-name-of-sixteen\"\n";
    says(&with(long), &["1 to 15 bytes"]);
    let twice = "[group.g]\nservices = [\"web\"]\naddresses = [\"10.0.0.9/24\"]\n\
                 [group.h]\nservices = [\"web\"]\naddresses = [\"10.0.0.9/24\"]\n";
    says(&with(twice), &["`web` is in group.g already", "10.0.0.9 is in group.g already"]);
    says(&with("[group.g]\nservices = [\"web\"]\nfailback = \"auto\"\n"), &["failback"]);
    says(&with("[group.g]\nservices = [\"web\"]\non_active = \"x y\"\n"), &["list of words"]);
}

/// What is carried out is taken, with who this node is.
#[test]
fn a_right_cluster_is_taken_with_its_group() {
    let service = "[service.web]\nunit = \"web.service\"\ncheck.x = \"tcp://127.0.0.1:1\"\n";
    let group = "[group.g]\nservices = [\"web\"]\non_active = [\"/bin/true\"]\n";
    let text = cluster("quorum = \"stay\"") + service + group;
    let named = format!("[host]\nnode = \"b\"\n{text}");
    let loaded = super::super::load_str("pair.toml", &named).expect("taken");
    let plan = loaded.plan.cluster.expect("a cluster");
    assert_eq!((plan.me, plan.groups.len()), (Some(Number(1)), 1));
    assert_eq!(loaded.plan.services[0].giveover, super::super::plan::GoesTo::Node);
    let said = told(&plan).join("\n");
    assert!(said.contains("until somebody says `giveover node switch --force`"), "{said}");
    let left = "group g: services (web) that a killed daemon leaves behind run on, and are started";
    assert!(said.contains(left), "{said}");
    assert!(decides(&plan).contains("never two holders"));
    let plan = super::super::load_str("pair.toml", &text).expect("taken").plan;
    assert_eq!(plan.cluster.expect("a cluster").me, None, "whoever has the address");
    let wrong = format!("[host]\nnode = \"bb\"\n{text}");
    let said = super::super::load_str("pair.toml", &wrong).expect_err("refused").to_string();
    assert!(said.contains("there is no [node.bb]") && said.contains("did you mean `b`?"), "{said}");
}

/// A board fences by its second line, which is then nobody else's.
#[test]
fn a_board_that_fences_has_its_second_line_for_the_peer_alone() {
    let with = |keys: &str| {
        let board = format!("[board]\n{keys}");
        let text = cluster("quorum = \"fence\"\nfence = \"board\"") + &board;
        super::super::load_str("pair.toml", &text).map_err(|said| said.to_string())
    };
    let ours = "port = \"/dev/x\"\nkey = \"/k\"\n";
    let loaded = with(&format!("{ours}giveover = \"none\"\n")).expect("taken");
    assert_eq!(loaded.plan.cluster.expect("a cluster").fence, Some(Fence::Board));
    for keys in [ours.to_owned(), format!("{ours}giveover = \"off\"\n")] {
        let said = with(&keys).expect_err("refused");
        assert!(said.contains("needs board.giveover = \"none\""), "{said}");
    }
    let said = with("kind = \"linux\"\n").expect_err("refused");
    assert!(said.contains("\"linux\" has no second line"), "{said}");
}

/// A service's giveover in a group, and what nothing starts.
#[test]
fn what_moves_is_started_by_us_and_goes_to_a_node() {
    let with = |service: &str| {
        let group = "[group.g]\nservices = [\"web\"]\n";
        let text = cluster("quorum = \"stay\"") + "[service.web]\n" + service + group;
        super::super::load_str("pair.toml", &text).map(|_| ()).map_err(|said| said.to_string())
    };
    let said = with("check.x = \"tcp://127.0.0.1:1\"\n").expect_err("watched only");
    assert!(said.contains("`web` is only watched: nothing starts or stops it"), "{said}");
    let said = with("unit = \"w.service\"\ngiveover = \"command\"\n").expect_err("refused");
    assert!(said.contains("group.g goes to another node as a whole"), "{said}");
    assert_eq!(with("unit = \"w.service\"\ngiveover = \"node\"\n"), Ok(()));
    assert_eq!(with("unit = \"w.service\"\ngiveover = \"none\"\n"), Ok(()));
}

#[test]
fn two_holders_are_warned_of() {
    let text = cluster("quorum = \"trusted\"\naccept_two_holders = true")
        + "[service.web]\nunit = \"w.service\"\ncheck.x = \"http://127.0.0.1/\"\n[group.g]\n\
           services = [\"web\"]\n";
    let warnings = super::super::load_str("pair.toml", &text).expect("taken").warnings.to_string();
    assert!(warnings.contains("two-holders"), "{warnings}");
}

/// A pool and a recovery that nodes share: named once, and checked like everything else.
#[test]
fn what_a_group_shares_is_checked() {
    let more = "[pool.db]\ncheck.port = \"tcp\"\n[pool.db.member]\na = \"10.0.0.11:5432\"\n\
                b = \"10.0.0.12:5432\"\n[group.front]\naddresses = [\"10.0.0.10/24\"]\n";
    let with = |keys: &str| cluster("quorum = \"stay\"") + more + keys;
    let taken = plan(&with(
        "pool = \"db\"\npromote = [\"promote\", \"$MEMBER\"]\n\
                            recovery = { ports = [5432, 80] }\n",
    ));
    let group = &taken.groups[0];
    let pool = group.pool.as_ref().expect("a pool");
    assert_eq!((&*pool.name, pool.members.join(" ")), ("db", "a b".to_owned()));
    assert_eq!(pool.promote.as_ref().map(Vec::len), Some(2));
    assert_eq!(group.recovery, Some(RecoveryPlan::Ports([80, 5432].into_iter().collect())));
    let commands = plan(&with("recovery = { block = [\"a\"], unblock = [\"b\"] }\n"));
    assert!(matches!(commands.groups[0].recovery, Some(RecoveryPlan::Commands { .. })));

    says(&with("pool = \"bd\"\n"), &["no pool is called `bd`", "did you mean `db`?"]);
    says(&with("promote = [\"promote\"]\n"), &["promote: needs `pool` as well"]);
    for wrong in
        ["{}", "{ block = [\"a\"] }", "{ ports = [80], block = [\"a\"], unblock = [\"b\"] }"]
    {
        let text = with(&format!("recovery = {wrong}\n"));
        says(&text, &["needs `ports`, or `block` and `unblock`"]);
    }
    says(&with("recovery = { ports = [] }\n"), &["ports: must not be empty"]);
    says(&with("recovery = { ports = [0] }\n"), &["must be 1 to 65535"]);
    let twice = "pool = \"db\"\n[group.back]\naddresses = [\"10.0.0.11/24\"]\npool = \"db\"\n";
    says(&with(twice), &["`db` is shared by group.front already"]);
}

#[cfg(not(feature = "etcd"))]
#[test]
fn a_program_without_etcd_says_so() {
    let text = cluster("quorum = \"etcd\"\netcd = { endpoints = [\"http://10.0.0.5\"] }");
    says(&text, &["pair.toml:3:10", "built with the feature `etcd`"]);
}

#[cfg(feature = "etcd")]
#[test]
fn etcd_is_named_and_its_times_make_the_lease() {
    let with = |keys: &str| cluster(&format!("quorum = \"etcd\"\netcd = {{ {keys} }}"));
    let ends = "endpoints = [\"http://10.0.0.5:1\", \"http://[::1]\", \"http://etcd.example/\"]";
    let taken = plan(&with(ends));
    let etcd = taken.etcd.as_ref().expect("etcd");
    let shown: Vec<String> = etcd.endpoints.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["http://10.0.0.5:1", "http://[::1]:2379", "http://etcd.example:2379"]);
    assert_eq!((&*etcd.prefix, etcd.ttl), ("/giveover", Span::from_secs(10)));
    assert_eq!((taken.limits.lease, etcd.hold()), (Span::from_secs(5), Span::from_secs(5)));
    let said = told(&taken).join("\n") + &decides(&taken);
    assert!(said.contains("an active loses etcd: it is none any more within 5s"), "{said}");
    assert!(said.contains("its lease of 10s, then wait 8s"), "{said}");
    let more =
        plan(&with(&format!("{ends}, prefix = \"/ha/web/\", ttl = \"4s\", margin = \"1s\"")));
    assert_eq!(more.etcd.map(|etcd| etcd.prefix).as_deref(), Some("/ha/web"));
    assert_eq!(more.limits.lease, Span::from_secs(3));

    says(
        &cluster("quorum = \"etcd\""),
        &["pair.toml:3:10", "\"etcd\" needs `etcd`", "endpoints ="],
    );
    says(&cluster("quorum = \"stay\"\netcd = {}"), &["only quorum = \"etcd\" asks it"]);
    says(&(with(ends) + DOOR), &["only `majority` counts"]);
    let lease = cluster(&format!("quorum = \"etcd\"\nlease = \"5s\"\netcd = {{ {ends} }}"));
    says(
        &lease,
        &["pair.toml:4:9", "lease: with quorum = \"etcd\" it is etcd.ttl less etcd.margin"],
    );
    says(&with(""), &["etcd: needs `endpoints`"]);
    says(&with("endpoints = []"), &["endpoints: 1 to 16, not 0"]);
    says(&with("endpoints = [\"http://e\", \"http://e:2379/\"]"), &["stands there twice"]);
    says(&with("endpoints = [\"https://10.0.0.5\"]"), &["https to etcd is not in this version"]);
    says(&with("endpoints = [\"10.0.0.5:2379\"]"), &["is no URL", "\"http://10.0.0.5:2379\""]);
    says(&with("endpoints = [\"ftp://10.0.0.5\"]"), &["`ftp` is no scheme"]);
    says(&with("endpoints = [\"http://10.0.0.5/v3\"]"), &["only a host and a port"]);
    says(&with("endpoints = [\"http://10.0.0.5:x\"]"), &["endpoints"]);
    says(&with(&format!("{ends}, endpont = 1")), &["unknown key `endpont`"]);
    says(&with(&format!("{ends}, prefix = \"ha\"")), &["prefix: begins with `/`"]);
    says(&with(&format!("{ends}, ttl = \"1500ms\"")), &["ttl: whole seconds, 2s to 1h"]);
    says(&with(&format!("{ends}, margin = \"500ms\"")), &["margin: at least 1s"]);
    says(&with(&format!("{ends}, margin = \"10s\"")), &["margin: must be below ttl"]);
    says(
        &with(&format!("{ends}, margin = \"8s\"")),
        &["etcd.ttl less etcd.margin is the lease: 3s"],
    );
    says(&with(&format!("{ends}, margin = \"1s\"")), &["wait must be at least 12000 ms"]);
}

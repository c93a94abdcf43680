//! The source document's experiment 5.3.2 with the program it is about: two real pgpool-II over the
//! same two PostgreSQL, each guarded by its own node. Detached on one, a node is down on both.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use giveover_tests::cluster::{Cluster, NAMES, wait_long};
use giveover_tests::server::{Server, is_root};
use giveover_tests::{free_port, servers, text_of};

/// pgpool-II over `backends`, commanded at `pcp`.
fn pgpool(backends: [u16; 2], pcp: u16) -> impl FnOnce(&Path, u16) -> Command {
    let local = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    move |dir, port| {
        let words = servers::pgpool(dir, local(port), pcp, backends.map(local));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }
}

/// One of pgpool-II's own commands.
fn pcp(shared: &Path, verb: &str, port: u16, node: usize) -> String {
    let output = Command::new(verb)
        .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres", "-w", "-n"])
        .arg(node.to_string())
        .env("PCPPASSFILE", shared.join("pcppass"))
        .output()
        .expect("pgpool-II's own command");
    text_of(&output)
}

/// The third word of `pcp_node_info`: 1 and 2 are up, 3 is down.
fn state(shared: &Path, port: u16, node: usize) -> String {
    let said = pcp(shared, "pcp_node_info", port, node);
    said.split_whitespace().nth(2).unwrap_or_default().to_owned()
}

fn select_1(pool: &Server) -> bool {
    let output = Command::new("psql")
        .args(["-X", "-A", "-t", "-U", "postgres", "-h", "127.0.0.1", "-p"])
        .arg(pool.port.to_string())
        .args(["-d", "postgres", "-c", "SELECT 1"])
        .output()
        .expect("psql");
    output.status.success() && String::from_utf8_lossy(&output.stdout).trim() == "1"
}

// req 2.4 2.96 2.97 2.99 2.100
#[test]
fn a_node_detached_on_one_is_down_on_both() {
    if !is_root("two databases of another user's") {
        return;
    }
    let databases = [(); 2].map(|()| Server::start(servers::postgres("trust", &[])));
    let backends = [databases[0].port, databases[1].port];
    let ports = [free_port(), free_port()];
    let pools = ports.map(|port| Server::start(pgpool(backends, port)));

    // Each node tells its own pgpool-II, whose members are numbered as there.
    let more = format!(
        "[pool.db]\ncheck.port = \"tcp\"\ncommand = [\"@SHARED/tell-@ME\", \"$MEMBER\", \"$TO\"]\n\
         [pool.db.member]\n0 = \"127.0.0.1:{}\"\n1 = \"127.0.0.1:{}\"\n\
         [service.web]\nstart = [\"sleep\", \"100000\"]\nallow = [\"no-checks\"]\n\
         [group.front]\nservices = [\"web\"]\npool = \"db\"\n",
        backends[0], backends[1]
    );
    let times = "heartbeat = \"500ms\"\nlease = \"3s\"\nwait = \"5500ms\"";
    let mut cluster = Cluster::new(times, &more);
    let shared = cluster.dir.path().to_owned();
    let pass = shared.join("pcppass");
    fs::write(&pass, format!("*:*:postgres:{}\n", servers::PCP_PASSWORD)).expect("a file");
    fs::set_permissions(&pass, fs::Permissions::from_mode(0o600)).expect("ours");
    for (name, port) in NAMES.iter().zip(ports) {
        let script = shared.join(format!("tell-{name}"));
        let text = format!(
            "#!/bin/sh\nexport PCPPASSFILE={}\nto='-h 127.0.0.1 -p {port} -U postgres -w -n'\n\
             down=$(pcp_node_info $to $1 | cut -d' ' -f3)\ncase $2/$down in\n\
             drained/3|in/[12]) ;;\ndrained/*) pcp_detach_node $to $1 ;;\n\
             in/3) pcp_attach_node $to $1 ;;\nesac\n",
            pass.display()
        );
        fs::write(&script, text).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    for place in [2, 0, 1] {
        cluster.start(place);
    }
    let active = cluster.settled();
    let up = |node: usize| {
        wait_long("it to be up on both", || {
            let states = ports.map(|port| state(&shared, port, node));
            states.iter().all(|state| matches!(&**state, "1" | "2")).then_some(())
        });
    };
    up(0);
    up(1);
    assert!(pools.iter().all(select_1));

    for place in [1 - active, active] {
        wait_long("node 0 to be detached", || {
            cluster.daemon(place).cli(&["node", "detach", "0"]).status.success().then_some(())
        });
        wait_long("state 3 on both", || {
            ports.iter().all(|port| state(&shared, *port, 0) == "3").then_some(())
        });
        assert!(pools.iter().all(select_1), "the other node answers");
        let screen = cluster.daemon(active).ok(&["node", "status", "--json"]);
        assert!(screen.contains("\"state\":3"), "{screen}");
        wait_long("node 0 to be attached", || {
            cluster.daemon(active).cli(&["node", "attach", "0"]).status.success().then_some(())
        });
        up(0);
        assert!(pools.iter().all(select_1));
    }
}

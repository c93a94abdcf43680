//! pgpool-II's own case, through the address: two real pgpool-II over the same two PostgreSQL, each on a
//! host of its own and guarded there. A client asks `SELECT 1` of the address that moves, before and
//! after each of the source document's experiments.

use std::net::SocketAddr;

use giveover_tests::cluster::wait_long;
use giveover_tests::pair::{ADDRESS, NAMES, Pair};
use giveover_tests::server::{Server, is_root};
use giveover_tests::{servers, signal_to};
use rustix::process::Signal;
use tempfile::TempDir;

/// On each host alone: they are in nobody's way.
const POOL: u16 = 9999;
const PCP: u16 = 9898;
const DATABASE: u16 = 5432;

/// What a host has beside its daemon.
struct Host {
    _database: Server,
    dir: TempDir,
    place: u8,
}

impl Host {
    fn new(pair: &Pair, place: usize) -> Self {
        let enter = pair.lan.door(NAMES[place]);
        let start = move || {
            enter();
            let hba = "host all all 10.0.0.0/24 trust\nhost all all 127.0.0.1/32 trust\n";
            Server::start_at(DATABASE, servers::postgres_with(hba, &["-h", "0.0.0.0"]))
        };
        let database = std::thread::spawn(start).join().expect("a database");
        let dir = tempfile::Builder::new().prefix("giveover-pgpool-").tempdir().expect("a place");
        Self { _database: database, dir, place: place as u8 }
    }

    /// What its daemon guards. Its own database goes first: the other may be cut off.
    fn guarded(&self) -> String {
        let numbers = [self.place + 1, 2 - self.place];
        let backends = numbers.map(|number| SocketAddr::from(([10, 0, 0, number], DATABASE)));
        let all = SocketAddr::from(([0, 0, 0, 0], POOL));
        let words = servers::pgpool(self.dir.path(), all, PCP, backends);
        format!(
            "services = [\"pgpool\"]\nrun = \"all\"\ncheck.front = \"tcp://$NODE:{POOL}\"\n\
             [service.pgpool]\nstart = {words:?}\ncheck.port = \"tcp://127.0.0.1:{POOL}\"\n\
             policy = {{ thorough_probe_interval = \"1s\" }}\n"
        )
    }
}

/// Asks through the address until it is answered, for as long as an election takes.
fn select_1(pair: &Pair) {
    wait_long("SELECT 1 through the address", || {
        let output = pair
            .lan
            .on("client", "psql")
            .args(["-X", "-A", "-t", "-U", "postgres", "-d", "postgres", "-c", "SELECT 1"])
            .args(["-h", ADDRESS, "-p", &POOL.to_string()])
            .env("PGCONNECT_TIMEOUT", "5")
            .output()
            .expect("psql");
        let answer = String::from_utf8_lossy(&output.stdout);
        (output.status.success() && answer.trim() == "1").then_some(())
    });
}

// req 2.1 2.2 2.3 2.61
#[test]
fn a_query_through_the_address_is_answered_before_and_after_each_experiment() {
    if !is_root("networks of our own, and two databases of another user's") {
        return;
    }
    let mut pair = Pair::with("");
    let hosts = [Host::new(&pair, 0), Host::new(&pair, 1)];
    let texts = [hosts[0].guarded(), hosts[1].guarded(), hosts[0].guarded()];
    let start = |pair: &mut Pair, place: usize| pair.start_as(place, &texts[place], &[]);

    // 4.1 and 4.3: the first is started, and the second after it.
    start(&mut pair, 2);
    start(&mut pair, 0);
    pair.wait_served(0);
    select_1(&pair);
    start(&mut pair, 1);
    pair.daemon(1).wait_status("pgpool", "ok");
    select_1(&pair);

    // 4.4: the active is stopped, and the other takes over.
    pair.stop(0);
    pair.wait_served(1);
    select_1(&pair);

    // 4.5: it is started again, and nothing moves.
    start(&mut pair, 0);
    pair.daemon(0).wait_status("pgpool", "ok");
    select_1(&pair);

    // 4.6: the first does not reach the second, whom the witness hears.
    pair.lan.reaches("a", 2, false);
    select_1(&pair);
    pair.lan.reaches("a", 2, true);
    select_1(&pair);

    // The daemon of the active stands still, its cable is cut: its pgpool-II is asked no more.
    let active = pair.settled();
    let frozen = pair.daemon(active).pid();
    signal_to(frozen, Signal::STOP);
    pair.wait_served(1 - active);
    select_1(&pair);
    signal_to(frozen, Signal::CONT);
    let active = pair.settled();
    pair.lan.cable(active as u8 + 1, false);
    pair.wait_served(1 - active);
    select_1(&pair);
    pair.lan.cable(active as u8 + 1, true);
    let _ = pair.settled();
    select_1(&pair);
    assert!(pair.overlap().is_zero(), "two have had it:\n{}", pair.logs());
}

//! `dns` and `udp` checks against BIND and Unbound: right answers, other response codes, frozen,
//! stopped, by datagram and on a connection.

use giveover_tests::probing::{probe, row};
use giveover_tests::server::Server;
use giveover_tests::{servers, wait_for};

const PATIENT_MS: u32 = 20_000;
const SHORT_MS: u32 = 500;

fn check(port: u16, more: &str) -> String {
    format!("{{ url = \"dns://127.0.0.1:{port}\", {more} }}")
}

/// Every situation that both servers can be brought into.
fn life(name: &str, mut server: Server) {
    // req 1.60, 1.61, 3.21
    let port = server.port;
    let answers = |situation: &str, more: &str, verdict: &str| {
        row("dns", name, situation, &check(port, more), PATIENT_MS, verdict);
    };
    let known = "name = \"ns.example.org\"";
    wait_for("its zones to be there", || {
        (probe(&check(port, known), PATIENT_MS).verdict == "healthy").then_some(())
    });
    let nowhere = "name = \"no.example.org\"";
    let lenient = format!("{nowhere}, expect = [\"NOERROR\", \"NXDOMAIN\"]");
    answers("a name it has", known, "healthy");
    answers("in capitals", "name = \"NS.Example.ORG\"", "healthy");
    answers("another type of it", "name = \"ns.example.org\", type = \"AAAA\"", "healthy");
    answers("a name it has not", nowhere, "50 answer NXDOMAIN, expected NOERROR");
    answers("none, expected", &lenient, "healthy");
    let tcp = format!("{known}, transport = \"tcp\"");
    answers("on a connection", &tcp, "healthy");
    // req 1.62
    let weighed = format!("{nowhere}, weight = 100");
    answers("none, weight 100", &weighed, "100 answer NXDOMAIN, expected NOERROR");

    let datagram = format!("{{ url = \"udp://127.0.0.1:{port}\" }}");
    row("udp", name, "no answer", &datagram, SHORT_MS, "healthy");
    server.freeze();
    let silence = "100 silence no reply in 0.5s";
    row("dns", name, "frozen", &check(port, known), SHORT_MS, silence);
    row(
        "dns",
        name,
        "frozen, connection",
        &check(port, &tcp),
        SHORT_MS,
        "50 read no answer in 0.5s",
    );
    row("udp", name, "frozen", &datagram, SHORT_MS, "healthy");
    server.thaw();
    answers("thawed", known, "healthy");
    server.stop();
    for more in [known, &tcp] {
        row("dns", name, "stopped", &check(port, more), PATIENT_MS, "100 connect refused");
    }
    row("udp", name, "stopped", &datagram, PATIENT_MS, "100 connect refused");
}

#[test]
fn bind() {
    let server = Server::start(servers::named());
    let root = check(server.port, "name = \".\"");
    row(
        "dns",
        "bind",
        "a name not its own",
        &root,
        PATIENT_MS,
        "50 answer REFUSED, expected NOERROR",
    );
    let lost = check(server.port, "name = \"a.example.net\"");
    let broken = "50 answer SERVFAIL, expected NOERROR";
    row("dns", "bind", "its zone is lost", &lost, PATIENT_MS, broken);
    life("bind", server);
}

#[test]
fn unbound() {
    let server = Server::start(servers::unbound());
    let closed = check(server.port, "name = \"a.example.net\"");
    row(
        "dns",
        "unbound",
        "refuses to say",
        &closed,
        PATIENT_MS,
        "50 answer REFUSED, expected NOERROR",
    );
    let alone = check(server.port, "name = \"a.example.com\"");
    let broken = "50 answer SERVFAIL, expected NOERROR";
    row("dns", "unbound", "has nobody to ask", &alone, PATIENT_MS, broken);
    life("unbound", server);
}

//! TLS against `openssl s_server` and the servers of Debian's packages.

use giveover_tests::faults::{Fault, nobody, serve};
use giveover_tests::probing::{probe, row};
use giveover_tests::server::Server;
use giveover_tests::tls::Papers;

/// For what answers. A busy machine takes its time.
const PATIENT_MS: u32 = 20_000;
/// For what never will.
const SHORT_MS: u32 = 500;

fn url(kind: &str, port: u16) -> String {
    format!("{{ url = \"{kind}://127.0.0.1:{port}\" }}")
}

#[test]
fn the_light_hello_is_answered_by_servers_of_1_2_and_1_3() {
    // req 3.22
    let papers = Papers::new();
    for (situation, more) in
        [("1.2 only", &["-tls1_2"][..]), ("1.3 only", &["-tls1_3"]), ("either", &[])]
    {
        let server = Server::start(papers.s_server("server", more));
        row("tls", "openssl", situation, &url("tls", server.port), PATIENT_MS, "healthy");
    }
    let strict =
        Server::start(papers.s_server("server", &["-tls1_2", "-cipher", "DHE-PSK-AES128-CBC-SHA"]));
    let refused = "100 tls alert 40 handshake_failure";
    row("tls", "openssl", "refuses", &url("tls", strict.port), PATIENT_MS, refused);
}

#[test]
fn a_server_of_tls_is_healthy_frozen_thawed_and_stopped() {
    let papers = Papers::new();
    let mut server = Server::start(papers.s_server("server", &[]));
    let check = url("tls", server.port);
    server.freeze();
    row("tls", "openssl", "frozen", &check, SHORT_MS, "100 tls no TLS in 0.5s");
    server.thaw();
    row("tls", "openssl", "thawed", &check, PATIENT_MS, "healthy");
    server.stop();
    row("tls", "openssl", "stopped", &check, SHORT_MS, "100 connect refused");
}

const HELLO: &[u8] = b"\x16\x03\x03\0\x7a\x02\0\0\x76\x03\x03";

#[test]
fn what_is_no_server_hello_is_a_failure_in_the_phase_tls() {
    let at = |fault: Fault| format!("{{ url = \"tls://{}\" }}", serve(fault));
    for length in 0..HELLO.len() {
        let found = probe(&at(Fault::Says(HELLO[..length].to_vec())), PATIENT_MS);
        assert_eq!(found.verdict, "100 tls TLS cut short", "{length}: {found:#?}");
    }
    let second = std::time::Duration::from_secs(1);
    let byte = std::time::Duration::from_millis(1);
    for (situation, fault, limit, verdict) in [
        ("byte by byte", Fault::Slow(HELLO.to_vec(), byte), PATIENT_MS, "healthy"),
        (
            "a byte a second",
            Fault::Slow(HELLO.to_vec(), second),
            SHORT_MS,
            "100 tls no TLS in 0.5s",
        ),
        ("silent", Fault::Silent, SHORT_MS, "100 tls no TLS in 0.5s"),
        (
            "another protocol",
            Fault::Says(b"HTTP/1.1 400\r\n".to_vec()),
            PATIENT_MS,
            "100 tls no TLS",
        ),
        ("endless", Fault::Endless(b"\x16\x03\x03".to_vec()), PATIENT_MS, "100 tls no TLS"),
        ("reset", Fault::Resets, PATIENT_MS, "100 tls connection reset"),
    ] {
        row("tls", "stand-in", situation, &at(fault), limit, verdict);
    }
    let (_taken, nobody) = nobody();
    let refused = "100 connect refused";
    row(
        "tls",
        "nobody",
        "refused",
        &format!("{{ url = \"tls://{nobody}\" }}"),
        PATIENT_MS,
        refused,
    );
}

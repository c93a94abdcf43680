//! nginx from Debian's package, asked by HTTP: its hosts by name, errors of its own, a body that
//! dawdles, frozen and stopped.

use giveover_tests::probing::row;
use giveover_tests::server::Server;
use giveover_tests::servers;

const PATIENT_MS: u32 = 20_000;

#[test]
fn head_and_get_are_judged_by_the_status_of_the_host_that_is_named() {
    let mut server = Server::start(servers::nginx_by_name());
    let port = server.port;
    let at = |host: &str, path: &str, more: &str| {
        let address = format!("address = \"127.0.0.1:{port}\"");
        format!("{{ url = \"http://{host}:{port}{path}\", {address}{more} }}")
    };
    let (www, broken) = ("www.example.org", "broken.example.org");
    let head = ", method = \"HEAD\"";
    let rows: [(&str, String, u32, &str); 8] = [
        ("HEAD", at(www, "/", head), PATIENT_MS, "healthy"),
        ("HEAD, 404", at(www, "/none", head), PATIENT_MS, "50 answer 404, expected 2xx or 3xx"),
        (
            "HEAD, 500 by name",
            at(broken, "/", head),
            PATIENT_MS,
            "50 answer 500, expected 2xx or 3xx",
        ),
        ("GET", at(www, "/", ", body = \"ready\""), PATIENT_MS, "healthy"),
        ("GET, 404", at(www, "/none", ""), PATIENT_MS, "50 answer 404, expected 2xx or 3xx"),
        ("GET, 500 by name", at(broken, "/", ""), PATIENT_MS, "50 answer 500, expected 2xx or 3xx"),
        ("HEAD, slow body", at(www, "/slow.html", head), PATIENT_MS, "healthy"),
        (
            "slow body",
            at(www, "/slow.html", ", body = \"never\""),
            1500,
            "50 read no answer in 1.5s",
        ),
    ];
    for (situation, check, timeout, wanted) in &rows {
        row("http", "nginx", situation, check, *timeout, wanted);
    }
    let there = at(www, "/", "");
    server.freeze();
    row("http", "nginx", "frozen", &there, 500, "50 read no answer in 0.5s");
    server.thaw();
    row("http", "nginx", "thawed", &there, PATIENT_MS, "healthy");
    server.stop();
    row("http", "nginx", "stopped", &there, PATIENT_MS, "100 connect refused");
}

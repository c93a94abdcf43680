use super::*;
use crate::check::testing::Random;

fn plan(body: Option<&str>) -> HttpPlan {
    HttpPlan {
        by_document: false,
        method: Method::Get,
        path: "/health".into(),
        host: "www.example.org".into(),
        expect: vec![(200, 204), (301, 301)],
        body: body.map(|body| body.as_bytes().into()),
        cap: 4096,
    }
}

fn hear(plan: &HttpPlan, pieces: &[&[u8]]) -> Outcome {
    let mut dialogue = HttpDialogue::default();
    for piece in pieces {
        if let Step::Done { outcome, .. } = dialogue.on_bytes(plan, piece) {
            return outcome;
        }
    }
    dialogue.on_close(plan)
}

const fn healthy(shown: u16) -> Outcome {
    Outcome::Healthy { shown }
}

/// Every sample with the verdict over it when the connection ends after it.
fn samples() -> Vec<(HttpPlan, Vec<u8>, Outcome)> {
    let head = HttpPlan { method: Method::Head, ..plan(None) };
    let tiny = HttpPlan { cap: 60, ..plan(None) };
    let tiny_match = HttpPlan { cap: 60, ..plan(Some("ready")) };
    [
        (plan(None), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", healthy(200)),
        (plan(None), "HTTP/1.0 200 OK\n\nanything up to the end", healthy(200)),
        (plan(None), "HTTP/1.1 204\r\n\r\n", healthy(204)),
        (plan(None), "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n", healthy(301)),
        (head, "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n", healthy(200)),
        (
            plan(Some("ready")),
            "HTTP/1.1 103 Early\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\
             Transfer-Encoding: gzip, Chunked\r\n\r\n3\r\nrea\r\n9;a=b\r\ndy to go.\r\n0\r\n\r\n",
            healthy(200),
        ),
        (
            plan(Some("ready")),
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nrready",
            Outcome::wrong(200),
        ),
        (plan(Some("ready")), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nready", healthy(200)),
        (plan(Some("")), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", healthy(200)),
        (plan(None), "HTTP/1.1 503 Service Unavailable\r\n\r\n", Outcome::wrong(503)),
        (plan(None), "HTTP/1.1 101 Switching Protocols\r\n\r\n", Outcome::wrong(101)),
        // Cut: in nothing, in the beginning, in a head, in a body, in a chunk.
        (plan(None), "", Outcome::cut()),
        (plan(None), "HTTP/1", Outcome::cut()),
        (plan(None), "HTTP/1.1 200 OK\r\nContent-Le", Outcome::cut()),
        (plan(None), "HTTP/1.1 100 Continue\r\n\r\n", Outcome::cut()),
        (plan(None), "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", Outcome::cut()),
        (
            plan(None),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            Outcome::cut(),
        ),
        // Not HTTP, or not any more.
        (plan(None), "SSH-2.0-OpenSSH_9.2\r\n", Outcome::wrong(0)),
        (plan(None), "HTTP/2 200\r\n\r\n", Outcome::wrong(0)),
        (plan(None), "\r\nHTTP/1.1 200 OK\r\n\r\n", Outcome::wrong(0)),
        (plan(None), "HTTP/1.1 OK\r\n\r\n", Outcome::wrong(0)),
        (plan(None), "HTTP/1.1 099 Low\r\n\r\n", Outcome::wrong(0)),
        (plan(None), "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Outcome::wrong(0)),
        (plan(None), "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok", Outcome::wrong(0)),
        (
            plan(None),
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n",
            Outcome::wrong(0),
        ),
        // At the cap: judged by what there is.
        (
            tiny.clone(),
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n..............",
            healthy(200),
        ),
        (
            tiny,
            "HTTP/1.1 200 OK\r\nX-Long: ...........................................",
            Outcome::wrong(0),
        ),
        (
            tiny_match,
            "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n..................ready",
            Outcome::wrong(200),
        ),
    ]
    .map(|(plan, sample, outcome)| (plan, sample.as_bytes().to_vec(), outcome))
    .into()
}

#[test]
fn no_cut_changes_a_verdict() {
    for (plan, sample, expected) in samples() {
        let text = String::from_utf8_lossy(&sample);
        for cut in 0..=sample.len() {
            let (first, second) = sample.split_at(cut);
            assert_eq!(hear(&plan, &[first, second]), expected, "{text:?} cut at {cut}");
        }
        let bytes: Vec<&[u8]> = sample.chunks(1).collect();
        assert_eq!(hear(&plan, &bytes), expected, "{text:?} byte by byte");
    }
}

/// Samples with bytes changed, lost and repeated: whatever they have become, all cuts agree,
/// nothing panics and no more than the cap is read.
#[test]
fn garbage_panics_nothing_and_is_the_same_in_every_cut() {
    let mut random = Random::new(42);
    let samples = samples();
    for _ in 0..20_000 {
        let (plan, sample, _) = &samples[random.below(samples.len())];
        let mut bytes = sample.clone();
        for _ in 0..random.below(4) {
            let place = random.below(bytes.len() + 1);
            match random.below(3) {
                0 if place < bytes.len() => bytes[place] = random.below(256) as u8,
                1 if place < bytes.len() => drop(bytes.remove(place)),
                _ => bytes.insert(place, b"\r\n:0aF; \0"[random.below(9)]),
            }
        }
        let whole = hear(plan, &[&bytes]);
        let pieces = random.cuts(&bytes);
        assert_eq!(hear(plan, &pieces), whole, "{:?}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn what_is_complete_is_known_without_waiting_for_the_close() {
    let plan = plan(None);
    for sample in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ] {
        let step = HttpDialogue::default().on_bytes(&plan, sample);
        assert!(matches!(step, Step::Done { whole: true, .. }), "{step:?}");
    }
}

#[test]
fn a_head_without_end_is_none() {
    let plan = HttpPlan { cap: u32::MAX, ..plan(None) };
    let mut head = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    head.resize(HEAD_CAP - 4, b'.');
    let mut fits = head.clone();
    fits.extend(b"\r\n\r\n");
    assert_eq!(hear(&plan, &[&fits]), healthy(200));
    head.extend(b".\r\n\r\n");
    for cut in [0, 1, HEAD_CAP - 1, HEAD_CAP, HEAD_CAP + 1] {
        let (first, second) = head.split_at(cut);
        assert_eq!(hear(&plan, &[first, second]), Outcome::wrong(0));
    }
}

#[test]
fn a_head_of_too_many_fields_is_none_and_bad_fields_are_passed_over() {
    let field = "X: y\r\n";
    let response = |fields: String| format!("HTTP/1.1 200 OK\r\n{fields}\r\n").into_bytes();
    assert_eq!(hear(&plan(None), &[&response(field.repeat(FIELDS))]), healthy(200));
    assert_eq!(hear(&plan(None), &[&response(field.repeat(FIELDS + 1))]), Outcome::wrong(0));
    let odd = "Bad Name: x\r\nSpaced : y\r\nFolded: a\r\n b\r\nContent-Length: 0\r\n".to_owned();
    assert_eq!(hear(&plan(None), &[&response(odd)]), healthy(200));
}

#[test]
fn the_request_names_host_and_us_and_asks_for_the_close() {
    let mut out = b"left over".to_vec();
    request(&plan(None), &mut out);
    let expected = format!(
        "GET /health HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: giveover/{}\r\n\
         Accept: */*\r\nConnection: close\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(String::from_utf8(out).expect("text"), expected);
}

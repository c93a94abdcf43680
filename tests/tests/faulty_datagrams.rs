//! Kinds that ask by datagram, against a server that answers wrongly, half, late, without end or not at
//! all: verdict, weight, phase and cause.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use giveover_tests::free_port;
use giveover_tests::probing::{probe, row, tell};

const PATIENT_MS: u32 = 20_000;
const SHORT_MS: u32 = 500;
/// For what comes at once and is no answer: it is known at the end of the time alone, and a busy machine
/// may take its time to bring it.
const ENOUGH_MS: u32 = 4_000;

/// A kind, and the right answer to a question.
type Kind = (&'static str, &'static str, fn(&[u8]) -> Vec<u8>);

const KINDS: [Kind; 3] = [
    ("dns", ", name = \"localhost\"", |question| {
        let mut answer = question.to_vec();
        answer[2] |= 0x80;
        answer
    }),
    // The call's number; then: a reply, accepted, nothing to prove, success.
    ("rpc", ", program = 100003", |question| [&question[..4], &[0, 0, 0, 1], &[0; 16]].concat()),
    ("udp", ", send = \"?\", expect = \"ready\"", |_| b"ready".to_vec()),
];

/// Serves what `says` makes of each question, on a loopback port until the test ends.
fn serve(says: impl Fn(&[u8], &dyn Fn(&[u8])) + Send + 'static) -> SocketAddr {
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").expect("a port"));
    let address = socket.local_addr().expect("its address");
    std::thread::spawn(move || {
        let mut question = [0; 1024];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            let answer = |bytes: &[u8]| {
                // Who has hung up is what is wanted of him.
                let _ = socket.send_to(bytes, from);
            };
            says(&question[..length], &answer);
        }
    });
    address
}

/// The right answer to each question, but from another address than it was sent to.
fn serve_from_elsewhere(right: fn(&[u8]) -> Vec<u8>) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("its address");
    let other = UdpSocket::bind(("127.0.0.2", 0)).expect("another address");
    std::thread::spawn(move || {
        let mut question = [0; 1024];
        while let Ok((length, from)) = socket.recv_from(&mut question) {
            let _ = other.send_to(&right(&question[..length]), from); // as in `serve`
        }
    });
    address
}

fn check(kind: &str, more: &str, address: SocketAddr) -> String {
    format!("{{ url = \"{kind}://{address}\"{more} }}")
}

/// That something came, and no answer was among it.
const STRANGE: &str = "50 answer wrong answer";

#[test]
fn a_datagram_is_the_answer_or_it_is_none() {
    let of = |(kind, more, right): Kind| {
        let each = |situation: &str, limit: u32, wanted: &str, address: SocketAddr| {
            row(kind, "stand-in", situation, &check(kind, more, address), limit, wanted);
        };
        each("healthy", PATIENT_MS, "healthy", serve(move |question, say| say(&right(question))));
        let silent = serve(|_, _| ());
        each("silent", SHORT_MS, "100 silence no reply in 0.5s", silent);
        let garbage = serve(|_, say| say(b"\x16\x03\x01\x02\0garbage"));
        each("garbage", ENOUGH_MS, STRANGE, garbage);
        each("empty", ENOUGH_MS, STRANGE, serve(|_, say| say(b"")));
        // More of it than the socket holds; the right answer is not among it.
        let endless = serve(|_, say| (0..5000).for_each(|_| say(b"\0\x01garbage")));
        each("endless", ENOUGH_MS, STRANGE, endless);
        let behind = serve(move |question, say| {
            say(b"garbage");
            say(&right(question));
        });
        // What is expected of `udp` stands in the first datagram; others hear what is of others too.
        let wanted = if kind == "udp" { STRANGE } else { "healthy" };
        each("garbage, then right", PATIENT_MS, wanted, behind);
        let late = serve(move |question, say| {
            std::thread::sleep(Duration::from_secs(2));
            say(&right(question));
        });
        each("late", SHORT_MS, "100 silence no reply in 0.5s", late);
        let elsewhere = serve_from_elsewhere(right);
        each("right, from elsewhere", SHORT_MS, "100 silence no reply in 0.5s", elsewhere);
        let nobody = SocketAddr::from(([127, 0, 0, 1], free_port()));
        each("refused", PATIENT_MS, "100 connect refused", nobody);
    };
    let kinds = KINDS.map(|kind| std::thread::spawn(move || of(kind)));
    kinds.into_iter().for_each(|kind| kind.join().expect("the verdicts that are wanted"));
}

/// At every byte at once: one probe for each length.
#[test]
fn half_an_answer_is_none_wherever_it_ends() {
    for (kind, more, right) in KINDS {
        let whole = match kind {
            "dns" => 27,
            "rpc" => 24,
            _ => 5,
        };
        let probes: Vec<_> = (0..whole)
            .map(|length| {
                let address = serve(move |question, say| say(&right(question)[..length]));
                std::thread::spawn(move || probe(&check(kind, more, address), ENOUGH_MS).verdict)
            })
            .collect();
        for (length, found) in probes.into_iter().enumerate() {
            assert_eq!(found.join().expect("no panic"), STRANGE, "{kind}, {length} bytes");
        }
        tell(kind, "stand-in", "cut at every byte", STRANGE, None);
    }
}

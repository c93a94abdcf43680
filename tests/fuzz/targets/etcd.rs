//! What etcd says: responses of HTTP in whatever pieces, and what their bodies mean.
#![no_main]

use giveover::cluster::etcd::reply::{Part, Replies};
use giveover::cluster::etcd::words::{Group, trouble};
use giveover_core::claim::{Lease, Request};
use giveover_core::node::Node;

const REQUESTS: [Request; 5] = [
    Request::Grant,
    Request::Claim { lease: Lease(7), mark: 3 },
    Request::Keep { lease: Lease(7) },
    Request::Read,
    Request::LetGo { lease: Lease(7), to: None },
];

giveover_fuzz::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The first byte says how long the pieces are.
    let Some((piece, rest)) = bytes.split_first() else { return };
    let whole = read(rest.chunks(rest.len().max(1)));
    assert_eq!(whole, read(rest.chunks(usize::from(*piece).max(1))));
    let nodes = ["a".to_owned(), "b".to_owned()];
    let group = Group::new("/giveover", "front", Node(0), &nodes);
    for (status, body) in &whole {
        for request in &REQUESTS {
            let _ = group.answer(request, *status, body);
        }
        let _ = trouble(*status, body);
        let _ = group.is_meant(body);
    }
});

/// The statuses and bodies in these pieces, up to what is no HTTP.
fn read<'b>(pieces: impl Iterator<Item = &'b [u8]>) -> Vec<(u16, Vec<u8>)> {
    let (mut replies, mut found) = (Replies::default(), Vec::new());
    for piece in pieces {
        let result = replies.take(piece, |part| match part {
            Part::Head(status) => found.push((status, Vec::new())),
            Part::Body(bytes) => {
                if let Some((_, body)) = found.last_mut() {
                    body.extend(bytes);
                }
            }
            Part::End(_) => {}
        });
        if result.is_err() {
            break;
        }
    }
    found
}

//! etcd's JSON gateway: what is asked of it and what it says, as bytes; and the sockets.
//!
//! [`words`] makes requests and reads answers, [`reply`] makes answers of a connection's bytes,
//! both without a socket; [`client`] has the sockets. What is asked when, and what an answer is
//! worth, is decided in `giveover_core::claim`.

pub mod client;
pub mod reply;
pub mod words;

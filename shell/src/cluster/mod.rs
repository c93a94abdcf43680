//! Between nodes: what travels, and in what order a group comes up and is let go.
//!
//! [`keys`] signs, [`pair`] is one end of the link to one other node and [`stream`] what makes
//! frames of a connection's bytes, all three without a socket; [`net`] has the sockets. [`steps`]
//! is what a group asks of whoever holds its addresses, [`address`] that holder, [`carrier`] the
//! order of everything that belongs to becoming the holder and to being it no more. [`store`] keeps what must outlive a
//! crash, [`promotion`] among it; `etcd` (with the feature of that name) is what is asked of etcd, and the sockets to it. What
//! is decided is decided in `giveover_core::peer` and `giveover_core::claim`.

pub mod address;
pub mod bucket;
pub mod carrier;
pub mod digest;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod keys;
pub mod net;
pub mod pair;
pub mod promotion;
pub mod steps;
pub mod store;
pub mod stream;

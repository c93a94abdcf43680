//! Taking the numbers, all of them from outside the program measured.

pub(crate) mod counter;
pub(crate) mod events;
pub(crate) mod forks;
pub(crate) mod net;
mod netlink;
pub(crate) mod process;
pub(crate) mod target;
pub(crate) mod window;

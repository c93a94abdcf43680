//! TLS, between the driver and what is spoken inside; and the light hello.

mod der;
mod hello;
mod session;
#[cfg(test)]
mod tests;
mod trust;

use rustls::pki_types::ServerName;

use crate::config::plan::{Host, Target};

pub use hello::HelloDialogue;
pub(crate) use hello::hello;
pub(super) use session::code_of;
pub use session::{Note, Session};
pub use trust::Trusted;
pub(super) use trust::{trust_of, unreadable_yet};

/// The name to ask for: the one that is written, else the target's own.
pub(super) fn name_of(written: Option<&str>, target: &Target) -> Option<ServerName<'static>> {
    match (written, &target.host) {
        (Some(name), _) => ServerName::try_from(name.to_owned()).ok(),
        (None, Host::Name(name)) => ServerName::try_from(String::from(&**name)).ok(),
        (None, Host::Address(address)) => Some(ServerName::IpAddress((*address).into())),
        (None, Host::Socket(_)) => None,
    }
}

//! What a session goes over: a socket, perhaps in TLS, or a client that is kept running.

use std::io::{Read, Write};
use std::sync::Arc;

use giveover_core::failure::Phase;
use rustix::io::Errno;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::check::outcome::Outcome;
use crate::check::socket::{Close, Socket};
use crate::check::tls::code_of;
use crate::message::tls;
use crate::reactor::{Coprocess, Reactor};

/// How a session's bytes come and go.
pub(super) enum Link {
    /// A socket.
    Socket(Socket),
    /// A client's standard streams.
    Client(Coprocess),
}

impl Link {
    pub(super) const fn is_client(&self) -> bool {
        matches!(self, Self::Client(_))
    }

    pub(super) fn send(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match self {
            Self::Socket(socket) => socket.send(bytes),
            Self::Client(client) => client.send(bytes),
        }
    }

    pub(super) fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        match self {
            Self::Socket(socket) => socket.receive(buffer),
            Self::Client(client) => client.receive(buffer),
        }
    }

    /// Gives it up; a client is ended with all it started.
    pub(super) fn end(self, reactor: &mut Reactor) {
        match self {
            Self::Socket(socket) => socket.close(reactor, Close::Orderly),
            Self::Client(client) => client.end(reactor),
        }
    }
}

/// TLS around a session.
pub(super) struct Secure(ClientConnection);

impl Secure {
    /// The beginning of it.
    ///
    /// # Errors
    /// It cannot even be begun: our own lack.
    pub(super) fn begin(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<Self, Outcome> {
        let lacking = Outcome::Lacking { phase: Phase::Tls, code: tls::BROKEN };
        ClientConnection::new(config, name).map(Self).map_err(|_| lacking)
    }

    /// Whether the handshake is not done yet.
    pub(super) fn is_shaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Takes what came, and what it holds: `plain` gets the session's bytes.
    ///
    /// # Errors
    /// It is broken.
    pub(super) fn take(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), Outcome> {
        while !bytes.is_empty() {
            let read = self.0.read_tls(&mut bytes);
            let broken =
                |error: &rustls::Error| Outcome::Failed { phase: Phase::Tls, code: code_of(error) };
            self.0.process_new_packets().map_err(|error| broken(&error))?;
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = self.0.reader().read(&mut piece) {
                plain.extend_from_slice(piece.get(..length).unwrap_or_default());
            }
            if !matches!(read, Ok(1..)) {
                break;
            }
        }
        Ok(())
    }

    /// Wraps what is to be said, and adds what the handshake has to say: `out` gets the bytes.
    pub(super) fn wrap(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        // A vector takes all, and what is written before the handshake is done is kept.
        let _ = self.0.writer().write_all(plain);
        while self.0.wants_write() {
            if self.0.write_tls(out).is_err() {
                break;
            }
        }
    }
}

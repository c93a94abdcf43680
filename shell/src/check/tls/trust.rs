//! Whose certificates are right. What this host trusts, a hundred files and more, is read when a plan is
//! taken up, before its first check in TLS is made, and kept; a check's own `ca` beside the loop.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use giveover_core::failure::Phase;
use giveover_core::time::Instant;
use rustix::io::Errno;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::check::outcome::{Outcome, code};
use crate::config::database::Speaks;
use crate::config::plan::{Kind, Plan};
use crate::config::tls::Trust;
use crate::message::tls;
use crate::reactor::{Kept, Reactor};

/// Configurations that were needed so far, one for each set of authorities.
///
/// What this host trusts is read at once. A file of a check's own is read on a thread of its own each
/// time it is asked for, as it may lie where nothing answers: the probe waits, and nobody else.
#[derive(Debug, Default)]
pub struct Trusted {
    known: Vec<(Trust, Arc<ClientConfig>)>,
    files: Vec<Authorities>,
}

/// A file of authorities.
#[derive(Debug)]
struct Authorities {
    trust: Trust,
    kept: Kept<Result<Arc<ClientConfig>, Outcome>>,
}

/// By which a file is known to be the same: its number, its size, when it was changed.
type Stamp = (u64, u64, i64, i64);

impl Trusted {
    /// All that the checks of `plan` need, but for files of their own. What cannot be read is tried
    /// again when it is needed, and then said.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let mut trusted = Self::default();
        for trust in plan.checks().filter_map(|check| trust_of(&check.kind)) {
            match trust {
                Trust::File(_) => {
                    let _ = trusted.file(trust);
                }
                Trust::System | Trust::Anybody => {
                    let _ = trusted.config(trust);
                }
            }
        }
        trusted
    }

    /// The same for somebody else, who asks for files with threads of his own.
    #[must_use]
    pub fn again(&self) -> Self {
        let files = self.files.iter().map(|file| Authorities::new(&file.trust)).collect();
        Self { known: self.known.clone(), files }
    }

    /// Takes up those of another plan. A file that was asked for goes on being read.
    pub fn exchange(&mut self, reactor: &Reactor, other: Self) {
        self.known = other.known;
        for mut file in std::mem::replace(&mut self.files, other.files) {
            match self.files.iter_mut().find(|kept| kept.trust == file.trust) {
                Some(kept) => *kept = file,
                None => file.kept.let_go(reactor),
            }
        }
    }

    /// Has the file of `trust` looked at again, if it is one. True if that is to be waited for: the
    /// loop will wake with [`crate::reactor::Room::Resolver`].
    pub fn ask(&mut self, reactor: &Reactor, trust: &Trust, now: Instant) -> bool {
        let Trust::File(path) = trust else { return false };
        let file = &mut self.file(trust).kept;
        file.ask(reactor, "authorities", now, || reading(path)).unwrap_or_else(|error| {
            file.set(Err(cannot_read(&error)));
            false
        })
    }

    /// Whether the file of `trust` is being read.
    #[must_use]
    pub fn is_reading(&self, trust: &Trust) -> bool {
        self.known_file(trust).is_some_and(|file| file.kept.is_reading())
    }

    /// Takes what was read. True if anything was.
    pub fn hear(&mut self) -> bool {
        let mut any = false;
        for file in &mut self.files {
            any |= file.kept.hear();
        }
        any
    }

    /// Whether something is known of the file of `trust`, however old; what is no file is known.
    #[must_use]
    pub fn knows(&self, trust: &Trust) -> bool {
        let knows = |file: &Authorities| file.kept.known().is_some();
        !matches!(trust, Trust::File(_)) || self.known_file(trust).is_some_and(knows)
    }

    /// The configuration for `trust`; that of a file as it was read last.
    ///
    /// # Errors
    /// It cannot be read, was not read yet, or holds no certificate: our own lack.
    pub fn config(&mut self, trust: &Trust) -> Result<Arc<ClientConfig>, Outcome> {
        if let Trust::File(_) = trust {
            return self.file(trust).kept.known().cloned().unwrap_or(Err(unreadable_yet()));
        }
        if let Some((_, config)) = self.known.iter().find(|(known, _)| known == trust) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(config(trust)?);
        self.known.push((trust.clone(), Arc::clone(&config)));
        Ok(config)
    }

    fn known_file(&self, trust: &Trust) -> Option<&Authorities> {
        self.files.iter().find(|file| file.trust == *trust)
    }

    fn file(&mut self, trust: &Trust) -> &mut Authorities {
        let place = self.files.iter().position(|file| file.trust == *trust);
        let place = place.unwrap_or_else(|| {
            self.files.push(Authorities::new(trust));
            self.files.len() - 1
        });
        &mut self.files[place]
    }
}

impl Authorities {
    fn new(trust: &Trust) -> Self {
        Self { trust: trust.clone(), kept: Kept::default() }
    }
}

/// Reads the file at `path`, each time it has changed.
fn reading(
    path: &str,
) -> impl FnMut() -> Result<Arc<ClientConfig>, Outcome> + Send + use<> + 'static {
    let trust = Trust::File(path.into());
    let path: Box<str> = path.into();
    let mut kept: Option<(Stamp, Arc<ClientConfig>)> = None;
    move || {
        let stamp = stamp(&path)?;
        if let Some((_, config)) = kept.as_ref().filter(|(known, _)| *known == stamp) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(config(&trust)?);
        kept = Some((stamp, Arc::clone(&config)));
        Ok(config)
    }
}

/// The file of authorities does not answer: our own lack.
pub(in crate::check) const fn unreadable_yet() -> Outcome {
    lacking(tls::SILENT_FILE)
}

/// Whom a check of this kind trusts, if it speaks TLS and cares.
pub(in crate::check) fn trust_of(kind: &Kind) -> Option<&Trust> {
    match kind {
        Kind::Tls(plan) => Some(&plan.trust),
        Kind::Database(plan) => match &plan.speaks {
            Speaks::Postgres(login) => login.tls.as_ref().map(|tls| &tls.trust),
            Speaks::Oracle(_) => None,
        },
        _ => None,
    }
}

fn stamp(path: &str) -> Result<Stamp, Outcome> {
    let meta = fs::metadata(path).map_err(|error| cannot_read(&error))?;
    Ok((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

fn cannot_read(error: &std::io::Error) -> Outcome {
    lacking(code(Errno::from_io_error(error).unwrap_or(Errno::IO)))
}

pub(super) const fn lacking(code: u16) -> Outcome {
    Outcome::Lacking { phase: Phase::Tls, code }
}

fn config(trust: &Trust) -> Result<ClientConfig, Outcome> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|_| lacking(tls::NOTHING_IN_COMMON))?;
    let mut config = match trust {
        Trust::Anybody => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
            .with_no_client_auth(),
        Trust::System => builder
            .with_root_certificates(roots(rustls_native_certs::load_native_certs().certs)?)
            .with_no_client_auth(),
        Trust::File(path) => {
            let pem = fs::read(&**path).map_err(|error| cannot_read(&error))?;
            let certificates = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok);
            builder.with_root_certificates(roots(certificates)?).with_no_client_auth()
        }
    };
    // Each probe is to see what a new client sees, and nothing is kept between two.
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn roots(
    certificates: impl IntoIterator<Item = CertificateDer<'static>>,
) -> Result<RootCertStore, Outcome> {
    let mut roots = RootCertStore::empty();
    let _ = roots.add_parsable_certificates(certificates);
    if roots.is_empty() { Err(lacking(tls::NO_ROOTS)) } else { Ok(roots) }
}

/// Takes every certificate. That the server has its key is still proven.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

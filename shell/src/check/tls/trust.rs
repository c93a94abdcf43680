//! Whose certificates are right: read when a plan is taken up, before its first check in TLS is made,
//! and kept. What this host trusts is a hundred files and more; nobody is kept waiting for them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use giveover_core::failure::Phase;
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

/// Configurations that were needed so far, one for each set of authorities.
#[derive(Clone, Debug, Default)]
pub struct Trusted {
    known: Vec<(Trust, Stamp, Arc<ClientConfig>)>,
}

/// By which a file is known to be the same: its number, its size, when it was changed.
type Stamp = (u64, u64, i64, i64);

impl Trusted {
    /// All that the checks of `plan` need. What cannot be read is tried again when it is needed, and
    /// then said.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let of_services = plan.services.iter().flat_map(|service| service.checks.iter());
        let members = plan.pools.iter().flat_map(|pool| pool.members.iter());
        let of_members = members.flat_map(|member| member.checks.iter());
        let groups = plan.cluster.iter().flat_map(|cluster| &cluster.groups);
        let of_groups = groups.flat_map(|group| group.checks.iter().flat_map(|it| it.iter()));
        let checks = of_services.chain(of_members).chain(of_groups).chain(&plan.host.trusted);
        let mut trusted = Self::default();
        for trust in checks.filter_map(|check| trust_of(&check.kind)) {
            let _ = trusted.config(trust);
        }
        trusted
    }

    /// The configuration for `trust`. A file is read again when it has changed; what the host
    /// trusts, when there is another plan.
    ///
    /// # Errors
    /// It cannot be read, or holds no certificate: our own lack.
    pub fn config(&mut self, trust: &Trust) -> Result<Arc<ClientConfig>, Outcome> {
        let stamp = match trust {
            Trust::File(path) => stamp(path)?,
            Trust::System | Trust::Anybody => Stamp::default(),
        };
        if let Some(place) = self.known.iter().position(|(known, ..)| known == trust) {
            let (_, kept, config) = &self.known[place];
            if *kept == stamp {
                return Ok(Arc::clone(config));
            }
            self.known.remove(place);
        }
        let config = Arc::new(config(trust)?);
        self.known.push((trust.clone(), stamp, Arc::clone(&config)));
        Ok(config)
    }
}

/// Whom a check of this kind trusts, if it speaks TLS and cares.
fn trust_of(kind: &Kind) -> Option<&Trust> {
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

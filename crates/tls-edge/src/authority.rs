//! The certificate authority of a sandbox, and its leaf certificates.

mod issue;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use msb_secrets::HostPattern;
use rcgen::{Issuer, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, TrustAnchor, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::{CertifiedKey, SigningKey};
use thiserror::Error;
use zeroize::Zeroizing;

/// The number of leaf certificates that are kept.
const LEAVES_MAX: usize = 64;

/// The time after which a leaf certificate is made anew. Its validity is longer.
const LEAF_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A label that stands for any: no constraint of a single host has it by chance.
const ANY_LABEL: &str = "msb-any-host";

/// The certificate authority of one sandbox, which is valid for the hosts of its secrets only.
///
/// Its name is derived from its key: a certificate is checked against the key when both are loaded.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate_pem: String,
    /// The authority as a client that trusts it sees it.
    roots: RootCertStore,
    /// The key of all leaf certificates.
    leaf_key: KeyPair,
    leaf_signer: Arc<dyn SigningKey>,
    leaves: Mutex<BTreeMap<String, Leaf>>,
}

struct Leaf {
    certified: Arc<CertifiedKey>,
    since: SystemTime,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// Creates an authority that is valid for these hosts.
    ///
    /// # Errors
    ///
    /// Fails if there is no host, and if no key can be made.
    pub fn create(hosts: &[HostPattern]) -> Result<Self, AuthorityError> {
        if hosts.is_empty() {
            return Err(AuthorityError::NoHosts);
        }
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = issue::authority(hosts, &key)?;
        let pem = certificate.pem();
        Self::of(key, &certificate.into(), pem)
    }

    /// Loads an authority from its certificate and its key, both in PEM.
    ///
    /// # Errors
    ///
    /// Fails if they are not in PEM, if they do not belong together, and if the authority is valid for all hosts.
    pub fn load(certificate_pem: &str, key_pem: &str) -> Result<Self, AuthorityError> {
        let key = KeyPair::from_pkcs8_pem_and_sign_algo(key_pem, &PKCS_ECDSA_P256_SHA256)
            .map_err(|_| AuthorityError::Key)?;
        let certificate = CertificateDer::from_pem_slice(certificate_pem.as_bytes())
            .map_err(|_| AuthorityError::Certificate)?;
        Self::of(key, &certificate, certificate_pem.to_owned())
    }

    fn of(
        key: KeyPair,
        certificate: &CertificateDer<'_>,
        certificate_pem: String,
    ) -> Result<Self, AuthorityError> {
        let roots = roots_of(certificate)?;
        // The authority that a new certificate of the key would have.
        let own = roots_of(&issue::authority(&[], &key)?.into())?;
        check(anchor(&roots)?, anchor(&own)?)?;
        let issuer = issue::issuer(key)?;
        let leaf_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let leaf_der = PrivatePkcs8KeyDer::from(leaf_key.serialize_der());
        let leaf_signer = ring::sign::any_ecdsa_type(&PrivateKeyDer::Pkcs8(leaf_der))
            .map_err(AuthorityError::Tls)?;
        Ok(Self {
            issuer,
            certificate_pem,
            roots,
            leaf_key,
            leaf_signer,
            leaves: Mutex::default(),
        })
    }

    /// Returns the certificate in PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Returns the key in PEM.
    pub fn key_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(self.issuer.key().serialize_pem())
    }

    /// Returns the certificate and the key that a guest is shown for a name.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be that of a host.
    pub(crate) fn leaf(&self, name: &str) -> Result<Arc<CertifiedKey>, AuthorityError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        if let Some(leaf) = leaves.get(name)
            && now
                .duration_since(leaf.since)
                .is_ok_and(|age| age < LEAF_AGE_MAX)
        {
            return Ok(Arc::clone(&leaf.certified));
        }
        let certificate = issue::leaf(name, &self.leaf_key, &self.issuer)?;
        let signer = Arc::clone(&self.leaf_signer);
        let certified = Arc::new(CertifiedKey::new(vec![certificate.into()], signer));
        if leaves.len() >= LEAVES_MAX && !leaves.contains_key(name) {
            let oldest = leaves.iter().min_by_key(|(_, leaf)| leaf.since);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                leaves.remove(&oldest);
            }
        }
        let leaf = Leaf {
            certified: Arc::clone(&certified),
            since: now,
        };
        leaves.insert(name.to_owned(), leaf);
        Ok(certified)
    }

    /// Returns true if a client that trusts the authority accepts its certificates for a host.
    pub(crate) fn covers(&self, host: &HostPattern) -> bool {
        let subtree = host.permitted_subtree();
        let name = if subtree.starts_with('.') {
            format!("{ANY_LABEL}{subtree}")
        } else {
            subtree
        };
        self.is_trusted_for(&name).unwrap_or(false)
    }

    fn is_trusted_for(&self, name: &str) -> Result<bool, AuthorityError> {
        let leaf = CertificateDer::from(issue::leaf(name, &self.leaf_key, &self.issuer)?);
        let leaf = ParsedCertificate::try_from(&leaf).map_err(AuthorityError::Tls)?;
        let algorithms = ring::default_provider().signature_verification_algorithms;
        let now = UnixTime::now();
        let verified =
            verify_server_cert_signed_by_trust_anchor(&leaf, &self.roots, &[], now, algorithms.all);
        Ok(verified.is_ok())
    }
}

fn roots_of(certificate: &CertificateDer<'_>) -> Result<RootCertStore, AuthorityError> {
    let mut roots = RootCertStore::empty();
    roots
        .add(certificate.clone())
        .map_err(|_| AuthorityError::Certificate)?;
    Ok(roots)
}

fn anchor(roots: &RootCertStore) -> Result<&TrustAnchor<'static>, AuthorityError> {
    roots.roots.first().ok_or(AuthorityError::Certificate)
}

/// Checks that a certificate is that of the key, and not valid for all hosts.
fn check(loaded: &TrustAnchor<'_>, own: &TrustAnchor<'_>) -> Result<(), AuthorityError> {
    let is_own = loaded.subject == own.subject
        && loaded.subject_public_key_info == own.subject_public_key_info;
    if !is_own {
        return Err(AuthorityError::OtherKey);
    }
    if loaded.name_constraints.is_none() {
        return Err(AuthorityError::Unconstrained);
    }
    Ok(())
}

/// A reason why there is no authority, or no leaf certificate.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AuthorityError {
    /// There is no host that it would be valid for.
    #[error("a certificate authority needs at least one host")]
    NoHosts,
    /// The key cannot be read.
    #[error("the key of the sandbox's certificate authority is not an ECDSA P-256 key in PEM")]
    Key,
    /// The certificate cannot be read.
    #[error("the certificate of the sandbox's certificate authority is not a certificate in PEM")]
    Certificate,
    /// The certificate is not that of the key.
    #[error(
        "the certificate and the key of the sandbox's certificate authority do not belong together"
    )]
    OtherKey,
    /// The authority is valid for all hosts.
    #[error("the certificate authority of the sandbox is valid for all hosts")]
    Unconstrained,
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
    /// A key or a certificate cannot be used.
    #[error("cannot use a certificate: {0}")]
    Tls(#[source] rustls::Error),
}

impl Diagnose for AuthorityError {
    fn diagnosis(&self) -> Diagnosis {
        match self {
            Self::Key | Self::Certificate | Self::OtherKey | Self::Unconstrained => Diagnosis::new(
                ErrorKind::StartError,
            )
            .hint("create the sandbox again: its certificate authority is made at its creation"),
            Self::NoHosts | Self::Issue(_) | Self::Tls(_) => {
                Diagnosis::new(ErrorKind::InternalError)
            }
        }
    }
}

#[cfg(test)]
mod tests;

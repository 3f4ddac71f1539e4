//! The authorities that a host's certificate is verified against.

use std::sync::Arc;

use diagnosis::{Diagnose, Diagnosis, ErrorKind};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use thiserror::Error;

/// The authorities that a host's certificate is verified against. A clone is the same roots.
#[derive(Debug, Clone)]
pub struct Roots(Arc<RootCertStore>);

impl Roots {
    /// Returns the roots that this system trusts, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
    ///
    /// It reads files: a process has to call it before it is confined.
    ///
    /// # Errors
    ///
    /// Fails if there is no root. A root that cannot be read is left out if there are others.
    pub fn native() -> Result<Self, NoRoots> {
        let found = rustls_native_certs::load_native_certs();
        Self::of(found.certs).ok_or_else(|| NoRoots {
            reason: found.errors.first().map(ToString::to_string),
        })
    }

    /// Returns the roots of a text in PEM.
    ///
    /// # Errors
    ///
    /// Fails if the text has no certificate that can be a root.
    pub fn from_pem(pem: &str) -> Result<Self, NoRoots> {
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes());
        Self::of(certificates.filter_map(Result::ok)).ok_or(NoRoots { reason: None })
    }

    fn of(certificates: impl IntoIterator<Item = CertificateDer<'static>>) -> Option<Self> {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(certificates);
        (!store.is_empty()).then(|| Self(Arc::new(store)))
    }

    /// Returns the roots as rustls takes them.
    pub(crate) fn store(&self) -> Arc<RootCertStore> {
        Arc::clone(&self.0)
    }
}

/// There is no authority that a host's certificate can be verified against.
#[derive(Debug, Error)]
#[error("no certificate authority of this host can be read{}", shown(.reason.as_deref()))]
pub struct NoRoots {
    /// The first reason why one could not be read.
    pub reason: Option<String>,
}

fn shown(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

impl Diagnose for NoRoots {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(ErrorKind::StartError)
            .hint("install the package ca-certificates, or set SSL_CERT_FILE to a file with certificates in PEM")
    }
}

#[cfg(test)]
mod tests;

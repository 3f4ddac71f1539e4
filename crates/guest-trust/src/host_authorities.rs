//! The certificate authorities of this host, for sandboxes that should trust them too.

use std::path::{Path, PathBuf};

use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};

use crate::certificates::Certificates;

/// The certificates of the host's authorities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAuthorities {
    certificates: Certificates,
}

/// The host has no certificate authorities to pass on.
#[derive(Debug, thiserror::Error)]
pub enum NoAuthorities {
    /// The file that `SSL_CERT_FILE` names has no certificates, or cannot be read.
    #[error("SSL_CERT_FILE names '{}', which contains no certificates", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The error of the first file that could not be read, if any.
        #[source]
        source: Option<rustls_native_certs::Error>,
    },
    /// The usual places of this host have no certificates.
    #[error(
        "this host has no certificate authorities: install ca-certificates, or set SSL_CERT_FILE to \
         a file that contains some"
    )]
    Host {
        /// The error of the first file that could not be read, if any.
        #[source]
        source: Option<rustls_native_certs::Error>,
    },
}

impl HostAuthorities {
    /// Reads the authorities of `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    /// If neither is set, reads those in the usual places of Linux distributions.
    ///
    /// # Errors
    /// If there is none, or none in `SSL_CERT_FILE`. Other unreadable files are skipped.
    pub fn load() -> Result<Self, NoAuthorities> {
        if let Some(path) = std::env::var_os("SSL_CERT_FILE") {
            check_file(Path::new(&path))?;
        }
        Self::from_certificates(load_native_certs())
    }

    fn from_certificates(found: CertificateResult) -> Result<Self, NoAuthorities> {
        if found.certs.is_empty() {
            let source = found.errors.into_iter().next();
            return Err(NoAuthorities::Host { source });
        }
        let mut certificates = Certificates::default();
        for certificate in &found.certs {
            certificates.add(certificate);
        }
        Ok(Self { certificates })
    }

    pub(crate) const fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// Returns the authorities of a host that has only this certificate, which is not parsed.
    #[cfg(test)]
    pub(crate) fn for_tests(certificate: &[u8]) -> Self {
        let mut certificates = Certificates::default();
        certificates.add(certificate);
        Self { certificates }
    }
}

/// Checks that a file has certificates: one that the user has named must not be skipped.
fn check_file(path: &Path) -> Result<(), NoAuthorities> {
    let found = load_certs_from_paths(Some(path), None);
    if !found.certs.is_empty() {
        return Ok(());
    }
    Err(NoAuthorities::File {
        path: path.to_owned(),
        source: found.errors.into_iter().next(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a bundle of arbitrary bytes instead of certificates, which are not parsed.
    fn bundle(certificates: &[&[u8]]) -> String {
        let mut all = Certificates::default();
        for certificate in certificates {
            all.add(certificate);
        }
        all.pem()
    }

    #[test]
    fn certificates_are_passed_on_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("bundle.pem");
        let key = bundle(&[b"secret"]).replace("CERTIFICATE", "PRIVATE KEY");
        let text = format!("# a note\n{key}{}", bundle(&[b"one", &[7; 100], b"one"]));
        fs_err::write(&path, text).expect("written");
        let found = load_certs_from_paths(Some(&path), None);
        let authorities = HostAuthorities::from_certificates(found).expect("two certificates");
        let pem = authorities.certificates().pem();
        assert_eq!(pem.matches("BEGIN CERTIFICATE").count(), 2, "{pem}");
        assert!(!pem.contains("PRIVATE"), "{pem}");
        assert!(pem.contains(&bundle(&[b"one"])), "{pem}");
    }

    #[test]
    fn a_host_without_authorities_is_refused_with_what_could_not_be_read() {
        let missing = Path::new("/nowhere/bundle.pem");
        let Err(NoAuthorities::Host {
            source: Some(source),
        }) = HostAuthorities::from_certificates(load_certs_from_paths(Some(missing), None))
        else {
            panic!("there is no such file");
        };
        assert!(
            source.to_string().contains("/nowhere/bundle.pem"),
            "{source}"
        );
        let empty = tempfile::NamedTempFile::new().expect("a file");
        for named in [missing, empty.path()] {
            let refused = check_file(named).expect_err("no certificates").to_string();
            assert!(refused.contains(&*named.to_string_lossy()), "{refused}");
        }
    }
}

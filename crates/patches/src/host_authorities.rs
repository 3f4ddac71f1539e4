//! The certificate authorities of this host, for sandboxes that should trust them too.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};

use crate::NewContent;

/// The path of the bundle in a sandbox.
/// It is on the sandbox's own disk: no image has a file there, and no mount hides it.
const BUNDLE: &str = "/etc/msb/host-ca.pem";
/// The variables that name such a file for programs: OpenSSL and Go, curl, git, Python's requests
/// and pip, Node.js, Deno, Cargo, the AWS tools.
const VARIABLES: [&str; 9] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "DENO_CERT",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
];
/// Characters per line of PEM (RFC 7468, section 2).
const PEM_LINE_CHARS: usize = 64;

/// The certificates of authorities, as PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAuthorities {
    pem: String,
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
        let pem = found.certs.iter().map(|certificate| pem(certificate));
        Ok(Self { pem: pem.collect() })
    }

    /// Returns the file that holds the certificates in a sandbox.
    pub fn file(&self) -> NewContent {
        NewContent {
            path: BUNDLE.to_owned(),
            bytes: self.pem.clone().into_bytes(),
        }
    }

    /// Returns the variables that name the file for a sandbox's programs, as `NAME=value`.
    pub fn environment() -> Vec<String> {
        VARIABLES.map(|name| format!("{name}={BUNDLE}")).to_vec()
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

/// Returns one certificate in the textual encoding of RFC 7468.
fn pem(certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    let mut pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for (index, character) in text.chars().enumerate() {
        if index > 0 && index % PEM_LINE_CHARS == 0 {
            pem.push('\n');
        }
        pem.push(character);
    }
    pem.push_str("\n-----END CERTIFICATE-----\n");
    pem
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a bundle of arbitrary bytes instead of certificates, which are not parsed.
    fn bundle(certificates: &[&[u8]]) -> String {
        certificates.iter().map(|each| pem(each)).collect()
    }

    #[test]
    fn certificates_are_passed_on_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("bundle.pem");
        let long = [7; 100];
        let key = pem(b"secret").replace("CERTIFICATE", "PRIVATE KEY");
        let text = format!("# a note\n{key}{}", bundle(&[b"one", &long, b"one"]));
        fs_err::write(&path, text).expect("written");
        let found = load_certs_from_paths(Some(&path), None);
        let authorities = HostAuthorities::from_certificates(found).expect("two certificates");
        let file = authorities.file();
        assert_eq!(file.path, "/etc/msb/host-ca.pem");
        assert_eq!(file.bytes, bundle(&[&long, b"one"]).into_bytes());
        let widest = authorities.pem.lines().map(str::len).max();
        assert_eq!(widest, Some(PEM_LINE_CHARS));
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

    #[test]
    fn every_variable_leads_to_the_file() {
        let environment = HostAuthorities::environment();
        assert!(environment.contains(&"SSL_CERT_FILE=/etc/msb/host-ca.pem".to_owned()));
        assert!(environment.iter().all(|each| each.ends_with(BUNDLE)));
    }
}

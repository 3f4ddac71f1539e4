use std::fmt;
use std::io;
use std::path::Path;

use durable_files::publish_bytes;
use fs_err as fs;
use msb_secrets::HostPattern;
use msb_tls_edge::{Authority, AuthorityError};
use zeroize::Zeroizing;

/// The name of the certificate in a sandbox's directory.
pub const CERTIFICATE: &str = "ca.pem";
/// The name of the key in a sandbox's directory. Only its owner reads it, and no export has it.
pub const KEY: &str = "ca.key";

/// The certificate and the key of a sandbox's authority.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthorityFiles {
    certificate: String,
    key: Zeroizing<String>,
}

impl fmt::Debug for AuthorityFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorityFiles").finish_non_exhaustive()
    }
}

impl AuthorityFiles {
    /// Makes an authority for these hosts and no others.
    pub(crate) fn create(hosts: &[HostPattern]) -> Result<Self, AuthorityError> {
        let authority = Authority::create(hosts)?;
        Ok(Self {
            certificate: String::from(authority.certificate_pem()),
            key: authority.key_pem(),
        })
    }

    /// Reads the authority of a sandbox; `None` if it has none.
    pub(crate) fn read(directory: &Path) -> io::Result<Option<Self>> {
        let certificate = match fs::read_to_string(directory.join(CERTIFICATE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            certificate => certificate?,
        };
        let key = Zeroizing::new(fs::read_to_string(directory.join(KEY))?);
        Ok(Some(Self { certificate, key }))
    }

    /// Writes the authority durably into the directory of a sandbox. The key is there before the certificate is.
    pub(crate) fn write(&self, directory: &Path) -> io::Result<()> {
        publish_bytes(&directory.join(KEY), self.key.as_bytes())?;
        publish_bytes(&directory.join(CERTIFICATE), self.certificate.as_bytes())
    }

    /// Returns the certificate as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn an_authority_is_written_for_its_owner_alone_and_read_again() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(AuthorityFiles::read(directory.path()).expect("read"), None);
        let hosts: [HostPattern; 1] = ["api.example.com".parse().expect("a host")];
        let made = AuthorityFiles::create(&hosts).expect("made");
        made.write(directory.path()).expect("written");
        let read = AuthorityFiles::read(directory.path()).expect("read");
        assert_eq!(read.as_ref(), Some(&made));
        for name in [KEY, CERTIFICATE] {
            let metadata = fs::metadata(directory.path().join(name)).expect("there");
            assert_eq!(metadata.permissions().mode() & 0o7777, 0o600, "{name}");
        }
        let names = fs::read_dir(directory.path()).expect("listed").count();
        assert_eq!(names, 2, "nothing unfinished is left");
        let shown = format!("{made:?}");
        assert!(
            !shown.contains("KEY") && !shown.contains("BEGIN"),
            "{shown}"
        );
        let another = AuthorityFiles::create(&hosts).expect("made");
        assert_ne!(another, made);
    }

    #[test]
    fn a_certificate_without_its_key_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join(CERTIFICATE), "left").expect("written");
        let error = AuthorityFiles::read(directory.path()).expect_err("no key");
        assert!(error.to_string().contains(KEY), "{error}");
    }
}

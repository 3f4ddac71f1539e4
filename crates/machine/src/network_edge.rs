//! The part of a sandbox's network that ends TLS, loaded before the process is confined.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use fs_err as fs;
use msb_network::{EdgeParts, Settings};
use msb_runtime::{SandboxPaths, socket};
use msb_tls_edge::{Authority, AuthorityError, Edge, EdgeError, NoRoots, Roots};
use zeroize::Zeroizing;

/// The TLS of a sandbox's secrets and HTTPS requests cannot be ended, so its network does not start.
#[derive(Debug, thiserror::Error)]
pub enum NetworkEdgeError {
    /// A file of the sandbox's certificate authority cannot be read.
    #[error("cannot read {} of the sandbox's certificate authority", .path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error that caused it.
        #[source]
        source: io::Error,
    },
    /// The certificate authority cannot be used.
    #[error("cannot use the sandbox's certificate authority")]
    Authority(#[from] AuthorityError),
    /// No host's certificate could be verified.
    #[error("cannot verify the certificates of hosts")]
    Roots(#[from] NoRoots),
    /// A secret, or a request, cannot be served.
    #[error("cannot end TLS for the sandbox's secrets and HTTPS requests")]
    Edge(#[from] EdgeError),
    /// The socket for the values cannot be made.
    #[error("cannot listen for the values of the sandbox's secrets")]
    Control(#[source] io::Error),
}

/// Loads the authority and the roots, and listens for the values of secrets. `None` if the settings
/// end no TLS: nothing is read then.
pub(crate) fn open(
    files: &SandboxPaths,
    settings: &Settings,
) -> Result<Option<EdgeParts>, NetworkEdgeError> {
    if !settings.ends_tls() {
        return Ok(None);
    }
    let certificate = read(files.ca_pem())?;
    let key = Zeroizing::new(read(files.ca_key())?);
    let authority = Authority::load(&certificate, &key)?;
    let edge = Edge::new(settings.edge(), authority, Roots::native()?)?;
    let control = if settings.secrets.is_empty() {
        None
    } else {
        Some(listen(files).map_err(NetworkEdgeError::Control)?)
    };
    Ok(Some(EdgeParts { edge, control }))
}

fn read(path: PathBuf) -> Result<String, NetworkEdgeError> {
    fs::read_to_string(&path).map_err(|source| NetworkEdgeError::File { path, source })
}

/// Listens at the path that the start of the sandbox has cleared.
fn listen(files: &SandboxPaths) -> io::Result<UnixListener> {
    socket::bind(&files.secrets_socket())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Returns the files of a sandbox in a new directory, and settings with a secret.
    fn sandbox() -> (tempfile::TempDir, SandboxPaths, Settings) {
        let directory = tempfile::tempdir().expect("a directory");
        let files = SandboxPaths {
            directory: directory.path().to_owned(),
        };
        let settings = r#"{"secrets":[{"name":"KEY","to":["api.example.com"],"from":"env:KEY",
            "placeholder":"msb-secret-0123456789012345678901234567890123456789"}]}"#;
        let settings = serde_json::from_str(settings).expect("settings");
        (directory, files, settings)
    }

    fn write_authority(files: &SandboxPaths, host: &str) {
        let hosts = [host.parse().expect("a host")];
        let authority = Authority::create(&hosts).expect("made");
        fs::write(files.ca_pem(), authority.certificate_pem()).expect("written");
        fs::write(files.ca_key(), authority.key_pem().as_bytes()).expect("written");
    }

    #[test]
    fn a_sandbox_without_secrets_needs_no_files() {
        let (_directory, files, _) = sandbox();
        let parts = open(&files, &Settings::default()).expect("nothing to do");
        assert!(parts.is_none() && !files.secrets_socket().exists());
    }

    #[test]
    fn a_secret_without_an_authority_for_its_host_is_an_error() {
        let (_directory, files, settings) = sandbox();
        let error = open(&files, &settings).expect_err("there is no certificate");
        assert!(error.to_string().contains("ca.pem"), "{error}");
        write_authority(&files, "api.example.com");
        fs::remove_file(files.ca_key()).expect("removed");
        let error = open(&files, &settings).expect_err("there is no key");
        assert!(error.to_string().contains("ca.key"), "{error}");
        write_authority(&files, "www.example.com");
        let error = open(&files, &settings);
        assert!(error.is_err() && !files.secrets_socket().exists());
    }

    #[test]
    fn the_socket_is_the_owners_alone() {
        let (_directory, files, _) = sandbox();
        let _listener = listen(&files).expect("bound");
        let metadata = fs::metadata(files.secrets_socket()).expect("there");
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
}

//! Trust in TLS: the host's certificate authorities, and those that the user gave.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err as fs;
use reqwest::Url;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::error::RegistryError;
use super::proxy::Proxies;

/// Certificates beyond the host's own certificate authorities.
#[derive(Debug, Default)]
pub(super) struct TlsRoots {
    authorities: Vec<CertificateDer<'static>>,
    identity: Option<Identity>,
}

/// Need for the host's own certificate authorities, which take milliseconds to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostAuthorities {
    /// Not needed, because all connections are in plain text.
    Unneeded,
    /// Used if present, for connections that may use TLS. A host without any can use plain text.
    Wanted,
    /// Required, for connections that use TLS.
    Needed,
}

impl HostAuthorities {
    /// Returns the need for a registry, reached through its proxy.
    pub(super) fn to_reach(registry: &Url, proxies: &Proxies) -> Self {
        let is_tls = |url: &Url| url.scheme() == "https";
        match proxies.choose(registry) {
            _ if is_tls(registry) => Self::Needed,
            Some(proxy) if is_tls(&proxy) => Self::Wanted,
            _ => Self::Unneeded,
        }
    }
}

/// A client's certificate chain and key.
#[derive(Debug)]
struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl TlsRoots {
    /// Reads these files of authorities, and docker's directories `certs.d/HOST` for the host.
    pub(super) fn read(
        host: &str,
        files: &[&Path],
        directories: &[PathBuf],
    ) -> Result<Self, RegistryError> {
        let mut trust = Self::default();
        for file in files {
            trust.authorities.extend(certificates(file)?);
        }
        for directory in directories {
            trust.read_directory(&directory.join(host))?;
        }
        Ok(trust)
    }

    /// Reads `*.crt` as authorities, and a `*.cert` with its `*.key` as the client's identity.
    fn read_directory(&mut self, directory: &Path) -> Result<(), RegistryError> {
        let Ok(entries) = fs::read_dir(directory) else {
            return Ok(());
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("crt") => self.authorities.extend(certificates(&path)?),
                Some("cert") => {
                    let key_path = path.with_extension("key");
                    let key = PrivateKeyDer::from_pem_file(&key_path)
                        .map_err(|source| RegistryError::certificate(&key_path, source))?;
                    let chain = certificates(&path)?;
                    self.identity = Some(Identity { chain, key });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the same authorities without the client's identity, which is for the registry alone.
    pub(super) fn anonymous(&self) -> Self {
        Self {
            authorities: self.authorities.clone(),
            identity: None,
        }
    }

    /// Returns the configuration of TLS.
    pub(super) fn config(self, of_host: HostAuthorities) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let verifier = (of_host != HostAuthorities::Unneeded)
            .then(|| Verifier::new_with_extra_roots(self.authorities, provider));
        let builder = match verifier {
            Some(Ok(verifier)) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier)),
            Some(Err(error)) if of_host == HostAuthorities::Needed => return Err(error),
            Some(Err(_)) | None => builder.with_root_certificates(RootCertStore::empty()),
        };
        match self.identity {
            Some(Identity { chain, key }) => builder.with_client_auth_cert(chain, key),
            None => Ok(builder.with_no_client_auth()),
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, RegistryError> {
    let bad = |source| RegistryError::certificate(path, source);
    let found: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(bad)?
        .collect::<Result<_, _>>()
        .map_err(bad)?;
    if found.is_empty() {
        return Err(bad(rustls::pki_types::pem::Error::NoItemsFound));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_needs_no_authorities() {
        let to_reach = |registry: &str, proxy: &str| {
            let registry = Url::parse(registry).expect("an address");
            HostAuthorities::to_reach(&registry, &Proxies::only(proxy))
        };
        let (plain, tls) = ("http://registry.test", "https://registry.test");
        assert_eq!(to_reach(plain, ""), HostAuthorities::Unneeded);
        assert_eq!(
            to_reach(plain, "http://proxy.test"),
            HostAuthorities::Unneeded
        );
        assert_eq!(
            to_reach(plain, "https://proxy.test"),
            HostAuthorities::Wanted
        );
        assert_eq!(to_reach(tls, ""), HostAuthorities::Needed);
    }
}

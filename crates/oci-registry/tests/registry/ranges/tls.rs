//! Servers that offer HTTP/2, whose ranges would share a connection.

use std::path::PathBuf;
use std::sync::Arc;

use oci_registry::{CredentialSource, Registries};
use rcgen::{CertificateParams, KeyPair};
use testkit::registry::{Answer, Server};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, pki_types};

use super::origin::{RANGE_BYTES, bytes_from, in_ranges, repository_at};
use crate::support::{BLOB_BYTES, descriptor, noise};

/// Returns the configuration of a server that speaks HTTP/2 to whoever can, and the file of its
/// certificate, which is its own authority.
fn offering_http2(directory: &std::path::Path) -> (Arc<ServerConfig>, PathBuf) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("parameters");
    let certificate = params.self_signed(&key).expect("signed");
    let path = directory.join("ca.pem");
    std::fs::write(&path, certificate.pem()).expect("written");
    let key = pki_types::PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::from(key))
        .expect("a certificate");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    (Arc::new(config), path)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_offers_http2_is_spoken_to_in_http1_with_a_connection_for_each_range() {
    let directory = tempfile::tempdir().expect("a directory");
    let (config, authority) = offering_http2(directory.path());
    let blob = noise(BLOB_BYTES);
    let bytes = blob.clone();
    // The server of the tests answers one request on each connection, and only in HTTP/1.1.
    let server = Server::with_tls(config, move |request| Answer::blob(request, &bytes)).await;
    let registries = Registries {
        authorities: Some(authority),
        ..Registries::default()
    };
    let limits = in_ranges();
    let none = CredentialSource::None;
    let repository = repository_at(server.address, &limits, &registries, &none).await;
    let source = repository.sources(&descriptor(&blob)).remove(0);
    let downloaded = bytes_from(&source, &blob).await;
    assert!(downloaded.expect("downloaded") == blob);
    assert_eq!(server.blob_requests(), BLOB_BYTES / RANGE_BYTES);
}

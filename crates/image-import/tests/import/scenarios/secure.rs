//! TLS: the certificates that are trusted, and the data that never leaves TLS.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use diagnosis::Diagnose as _;
use fs_err as fs;
use image_import::PullOptions;
use oci_registry::{CredentialSource, Registries, RegistrySettings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use tempfile::TempDir;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto::ring};

use super::{BASIC, FILES, check_line, is_blob, is_layer, password, sample};
use crate::server::{Answer, Content, Request, Server};
use crate::support::{TestStore, assert_good, line, quick};

/// A certificate authority of this test.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

/// Properties of a certificate.
#[derive(Default)]
struct CertificateRequest {
    name: Option<&'static str>,
    expired: bool,
    wants_client: bool,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("ca.pem"), issuer.pem()).expect("written");
        Self { issuer, directory }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    fn issue(&self, request: &CertificateRequest) -> (rcgen::Certificate, KeyPair) {
        let names = vec![request.name.unwrap_or("127.0.0.1").to_owned()];
        let mut params = CertificateParams::new(names).expect("parameters");
        if request.expired {
            params.not_after = rcgen::date_time_ymd(2001, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        (certificate, key)
    }

    fn server(&self, request: &CertificateRequest) -> Arc<ServerConfig> {
        let (certificate, key) = self.issue(request);
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = if request.wants_client {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).expect("added");
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let key = key.serialize_der().try_into().expect("a key");
        let config = builder.with_single_cert(vec![certificate.der().clone()], key);
        Arc::new(config.expect("a configuration"))
    }

    async fn honest(&self, request: &CertificateRequest) -> Server {
        let content = Content::from_image(sample());
        Server::with_tls(self.server(request), move |request| content.answer(request)).await
    }

    /// Returns options for a registry on the loopback interface that uses TLS.
    fn options(&self, server: &Server) -> PullOptions {
        PullOptions {
            registries: Registries {
                authorities: Some(self.file()),
                ..tls_for(server)
            },
            ..quick()
        }
    }
}

fn tls_for(server: &Server) -> Registries {
    let settings = RegistrySettings {
        plain_http: Some(false),
        ..RegistrySettings::default()
    };
    Registries {
        by_name: BTreeMap::from([(server.address.to_string(), settings)]),
        ..Registries::default()
    }
}

async fn pulls(server: &Server, options: PullOptions) {
    let store = TestStore::new();
    let image = store.pull_with(&server.reference("app"), options).await;
    let image = image.unwrap_or_else(|error| panic!("{}", line(&error)));
    assert_good(&store.store, &image, &FILES);
}

async fn fails(server: &Server, options: PullOptions, words: &str) -> Option<String> {
    let store = TestStore::new();
    let error = store.pull_with(&server.reference("app"), options).await;
    let error = error.expect_err(words);
    store.assert_tidy();
    if let Err(wrong) = check_line(&line(&error), words) {
        panic!("{wrong}");
    }
    error.diagnosis().advice()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_believed_by_its_certificate() {
    let authority = Authority::new();
    let server = authority.honest(&CertificateRequest::default()).await;
    pulls(&server, authority.options(&server)).await;

    let unknown = PullOptions {
        registries: tls_for(&server),
        ..quick()
    };
    let hint = fails(
        &server,
        unknown,
        "an authority that this host does not trust",
    )
    .await;
    assert!(hint.is_some_and(|hint| hint.contains("--tls-ca")));

    let mut own = tls_for(&server);
    let settings = own.by_name.values_mut().next().expect("a section");
    settings.ca = Some(authority.file());
    pulls(
        &server,
        PullOptions {
            registries: own,
            ..quick()
        },
    )
    .await;

    let another = Authority::new();
    fails(&server, another.options(&server), "its certificate is").await;

    let request = CertificateRequest {
        name: Some("registry.example"),
        ..CertificateRequest::default()
    };
    let misnamed = authority.honest(&request).await;
    fails(
        &misnamed,
        authority.options(&misnamed),
        "its certificate is for another name",
    )
    .await;

    let late = authority
        .honest(&CertificateRequest {
            expired: true,
            ..CertificateRequest::default()
        })
        .await;
    fails(
        &late,
        authority.options(&late),
        "its certificate has expired",
    )
    .await;

    let mut missing = authority.options(&server);
    missing.registries.authorities = Some(PathBuf::from("/nowhere/ca.pem"));
    fails(
        &server,
        missing,
        "cannot use the certificate or key /nowhere/ca.pem",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_text_and_tls_are_not_taken_for_each_other() {
    let authority = Authority::new();
    let plain = Server::honest(Content::from_image(sample())).await;
    fails(&plain, authority.options(&plain), "cannot reach registry").await;
    let secure = authority.honest(&CertificateRequest::default()).await;
    let options = PullOptions {
        plain_http: true,
        ..quick()
    };
    fails(&secure, options, "connection was lost").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_on_loopback_says_itself_whether_it_speaks_tls() {
    let authority = Authority::new();
    let with_authority = || PullOptions {
        registries: Registries {
            authorities: Some(authority.file()),
            ..Registries::default()
        },
        ..quick()
    };
    let secure = authority.honest(&CertificateRequest::default()).await;
    pulls(&secure, with_authority()).await;
    let hint = fails(
        &secure,
        quick(),
        "an authority that this host does not trust",
    )
    .await;
    assert!(hint.is_some_and(|hint| hint.contains("--tls-ca")));

    let plain = Server::honest(Content::from_image(sample())).await;
    pulls(&plain, quick()).await;
    fails(&plain, with_authority(), "cannot reach registry").await;
    assert_eq!(plain.requests().len(), 4, "nothing more in plain text");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_lie_where_docker_has_them() {
    let authority = Authority::new();
    let request = CertificateRequest {
        wants_client: true,
        ..CertificateRequest::default()
    };
    let server = authority.honest(&request).await;
    let directory = tempfile::tempdir().expect("a directory");
    let own = directory.path().join(server.address.to_string());
    fs::create_dir(&own).expect("made");
    fs::copy(authority.file(), own.join("ca.crt")).expect("copied");
    let options = || PullOptions {
        registries: Registries {
            certificate_directories: vec![directory.path().to_owned()],
            ..tls_for(&server)
        },
        ..quick()
    };
    fails(&server, options(), "image '").await;
    let (certificate, key) = authority.issue(&CertificateRequest {
        name: Some("client"),
        ..CertificateRequest::default()
    });
    fs::write(own.join("client.cert"), certificate.pem()).expect("written");
    fs::write(own.join("client.key"), key.serialize_pem()).expect("written");
    pulls(&server, options()).await;
    fs::remove_file(own.join("client.key")).expect("removed");
    fails(&server, options(), "cannot use the certificate or key").await;
}

/// Starts a TLS registry with this answer, and a plain and a TLS server beside it.
async fn leading(
    authority: &Authority,
    answer: impl Fn(&Request, Answer, &str, &str) -> Answer + Send + Sync + 'static,
) -> (Server, Server, Server) {
    let plain = Server::honest(Content::from_image(sample())).await;
    let secure = authority.honest(&CertificateRequest::default()).await;
    let (to_plain, to_secure) = (plain.address.to_string(), secure.address.to_string());
    let content = Content::from_image(sample());
    let tls = authority.server(&CertificateRequest::default());
    let server = Server::with_tls(tls, move |request| {
        answer(request, content.answer(request), &to_plain, &to_secure)
    })
    .await;
    (server, plain, secure)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_began_under_tls_leaves_it() {
    let authority = Authority::new();
    let to = |scheme: &'static str| {
        move |request: &Request, honest: Answer, plain: &str, secure: &str| {
            if request
                .headers
                .get("authorization")
                .is_none_or(|sent| sent != BASIC)
            {
                return Answer::new(401, "").header("WWW-Authenticate", "Basic");
            }
            let host = if scheme == "http" { plain } else { secure };
            let there = format!("{scheme}://{host}{}", request.path);
            if is_blob(request) {
                Answer::new(307, "").header("Location", there)
            } else {
                honest
            }
        }
    };
    let given = |server: &Server| PullOptions {
        credentials: CredentialSource::Given(password()),
        ..authority.options(server)
    };
    let (server, plain, _) = leading(&authority, to("http")).await;
    fails(&server, given(&server), "redirects from TLS to plain text").await;
    assert!(plain.requests().is_empty());
    let (server, _, secure) = leading(&authority, to("https")).await;
    pulls(&server, given(&server)).await;
    assert!(secure.blob_requests() == 3 && !secure.saw_credentials());

    let (server, plain, _) = leading(&authority, |_, _, plain, _| {
        let realm = format!(r#"Bearer realm="http://{plain}/token""#);
        Answer::new(401, "").header("WWW-Authenticate", realm)
    })
    .await;
    fails(&server, given(&server), "which is not encrypted").await;
    fails(
        &server,
        authority.options(&server),
        "which is not encrypted",
    )
    .await;
    assert!(plain.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_outside_of_the_registry_are_fetched_under_tls_alone() {
    let authority = Authority::new();
    let elsewhere = authority.honest(&CertificateRequest::default()).await;
    let digest = oci_image::Digest::compute(super::layer());
    let image_at = |addresses: Vec<String>| {
        sample().clone().with_manifest(|manifest| {
            manifest["layers"][0]["urls"] = json!(addresses);
            manifest["layers"][0]["mediaType"] =
                json!("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip");
        })
    };
    let registry = |addresses: Vec<String>| {
        let content = Content::from_image(&image_at(addresses));
        Server::new(move |request| {
            let authorization = request.headers.get("authorization");
            if is_layer(request) {
                Answer::new(404, "")
            } else if authorization.is_none_or(|sent| sent != BASIC) {
                Answer::new(401, "").header("WWW-Authenticate", "Basic")
            } else {
                content.answer(request)
            }
        })
    };
    let options = || PullOptions {
        plain_http: true,
        credentials: CredentialSource::Given(password()),
        registries: Registries {
            authorities: Some(authority.file()),
            ..Registries::default()
        },
        ..quick()
    };
    let address = format!("https://user:secret@{}/x/blobs/{digest}", elsewhere.address);
    let server = registry(vec!["https://127.0.0.1:1/x".to_owned(), address]).await;
    pulls(&server, options()).await;
    assert!(elsewhere.blob_requests() == 1 && !elsewhere.saw_credentials());

    let plain = Server::honest(Content::from_image(sample())).await;
    let address = format!("http://{}/x/blobs/{digest}", plain.address);
    let server = registry(vec![address]).await;
    fails(&server, options(), "only over https").await;
    assert!(plain.requests().is_empty());
    for address in ["file:///etc/passwd", "", "\u{1b}[2J"] {
        let server = registry(vec![address.to_owned()]).await;
        fails(&server, options(), "only over https").await;
    }
}

const IN_CHILD: &str = "MSB_TEST_TLS_REGISTRY";

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_names_authorities() {
    let authority = Authority::new();
    let server = authority.honest(&CertificateRequest::default()).await;
    let pull = |variable: &str, value: PathBuf| {
        Command::new(std::env::current_exe().expect("this program"))
            .args(["child_that_pulls_under_tls", "--nocapture"])
            .env(IN_CHILD, server.address.to_string())
            .env(variable, value)
            .output()
    };
    let file = authority.file();
    let directory = authority.directory.path().to_owned();
    // Such directories contain certificates under the hashes of their names.
    fs::copy(&file, directory.join("01234567.0")).expect("copied");
    for (variable, value, succeeds) in [
        ("SSL_CERT_FILE", file, true),
        ("SSL_CERT_DIR", directory, true),
        ("SSL_CERT_FILE", PathBuf::from("/dev/null"), false),
    ] {
        let output = tokio::task::block_in_place(|| pull(variable, value)).expect("run");
        assert_eq!(output.status.success(), succeeds, "{variable}: {output:?}");
    }
}

/// Does nothing unless the test above runs it.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_pulls_under_tls() {
    let Ok(address) = std::env::var(IN_CHILD) else {
        return;
    };
    let settings = RegistrySettings {
        plain_http: Some(false),
        ..RegistrySettings::default()
    };
    let registries = Registries {
        by_name: BTreeMap::from([(address.clone(), settings)]),
        ..Registries::default()
    };
    let options = PullOptions {
        registries,
        ..quick()
    };
    let store = TestStore::new();
    let reference = format!("{address}/app");
    store.pull_with(&reference, options).await.expect("pulled");
}

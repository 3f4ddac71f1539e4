//! Mirrors, proxies, and addresses to which a registry on the internet must not lead.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use image_import::PullOptions;
use oci_registry::{Credential, CredentialSource, Proxies, Registries, RegistrySettings};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::{BASIC, FILES, check_line, is_blob, is_layer, is_manifest, password, sample};
use crate::images::{MANIFEST, TestImage};
use crate::server::{Answer, Content, Request, Server};
use crate::support::{TestStore, assert_good, line, quick};

/// Starts a registry that requires the password.
async fn behind_password() -> Server {
    let content = Content::from_image(sample());
    Server::new(move |request| match request.headers.get("authorization") {
        Some(sent) if sent == BASIC => content.answer(request),
        _ => Answer::new(401, "").header("WWW-Authenticate", "Basic"),
    })
    .await
}

fn mirrored(server: &Server, mirrors: &[String]) -> PullOptions {
    let settings = RegistrySettings {
        mirrors: mirrors.to_vec(),
        ..RegistrySettings::default()
    };
    PullOptions {
        credentials: CredentialSource::Given(password()),
        registries: Registries {
            by_name: BTreeMap::from([(server.address.to_string(), settings)]),
            ..Registries::default()
        },
        ..quick()
    }
}

async fn pulls(reference: &str, options: PullOptions) {
    let store = TestStore::new();
    let image = store.pull_with(reference, options).await;
    let image = image.unwrap_or_else(|error| panic!("{}", line(&error)));
    assert_good(&store.store, &image, &FILES);
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_has_the_image_spares_the_registry() {
    let origin = behind_password().await;
    let mirror = Server::honest(Content::from_image(sample())).await;
    let options = mirrored(&origin, &[mirror.address.to_string()]);
    pulls(&origin.reference("app"), options).await;
    assert!(origin.requests().is_empty());
    let below = mirrored(&origin, &[format!("http://{}/hub", mirror.address)]);
    pulls(&origin.reference("app"), below).await;
    let paths = mirror.requests();
    assert!(
        paths
            .iter()
            .any(|request| request.path.starts_with("/v2/hub/app/manifests/"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_fails_is_passed_over_and_sees_no_credentials() {
    type Fault = fn(&Request, Answer) -> Answer;
    let faults: [(&str, Fault); 8] = [
        ("has nothing", |_, _| Answer::new(404, "")),
        ("fails", |_, _| Answer::new(500, "")),
        ("wants a password", |_, _| {
            Answer::new(401, "").header("WWW-Authenticate", "Basic")
        }),
        ("has no layer", |request, honest| {
            if is_layer(request) {
                Answer::new(404, "")
            } else {
                honest
            }
        }),
        ("has another layer", |request, mut honest| {
            if is_layer(request) {
                honest.body.reverse();
            }
            honest
        }),
        ("breaks off", |request, honest| {
            if is_layer(request) {
                honest.cut(0)
            } else {
                honest
            }
        }),
        (
            "has another manifest under the digest",
            |request, honest| {
                let is_ours = is_manifest(request);
                if is_ours {
                    Answer::new(200, "{}").header("Content-Type", MANIFEST)
                } else {
                    honest
                }
            },
        ),
        ("leads in a circle", |request, _| {
            Answer::new(307, "").header("Location", request.path.clone())
        }),
    ];
    for (name, fault) in faults {
        let origin = behind_password().await;
        let content = Content::from_image(sample());
        let mirror = Server::new(move |request| fault(request, content.answer(request))).await;
        let options = mirrored(
            &origin,
            &["127.0.0.1:1".to_owned(), mirror.address.to_string()],
        );
        pulls(&origin.reference("app"), options).await;
        assert!(!mirror.saw_credentials(), "{name}");
        assert!(
            !mirror.requests().is_empty() && !origin.requests().is_empty(),
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_is_known_by_its_own_name() {
    let origin = behind_password().await;
    let mirror = behind_password().await;
    let config = tempfile::tempdir().expect("a directory");
    let auths = json!({"auths": {mirror.address.to_string(): {"auth": "dXNlcjpwYXNz"}}});
    fs_err::write(config.path().join("config.json"), auths.to_string()).expect("written");
    let mut options = mirrored(&origin, &[mirror.address.to_string()]);
    options.credentials = CredentialSource::Directory(config.path().to_owned());
    pulls(&origin.reference("app"), options).await;
    assert!(origin.requests().is_empty() && mirror.saw_credentials());

    // The digest decides, even if only a mirror is asked.
    let other = TestImage::for_architecture(Vec::new(), crate::images::host_architecture());
    let lying = Content::from_image(sample()).tagged(
        &sample().digest().to_string(),
        MANIFEST,
        &other.manifest,
    );
    let mirror = Server::honest(lying).await;
    let origin = Server::honest(Content::default()).await;
    let store = TestStore::new();
    let reference = origin.reference(&format!("app@{}", sample().digest()));
    let options = mirrored(&origin, &[mirror.address.to_string()]);
    store
        .pull_with(&reference, options)
        .await
        .expect_err("nobody has it");
    store.assert_empty();
}

/// A proxy that tunnels, and forwards plain requests, all of them to one server.
struct Proxy {
    address: String,
    /// First line and credentials of every request.
    log: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn to(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let (logged, target) = (Arc::clone(&log), server.address);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let logged = Arc::clone(&logged);
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(client.read_u8().await?);
                    }
                    let text = String::from_utf8_lossy(&head).into_owned();
                    let credentials = text
                        .lines()
                        .find(|line| line.to_ascii_lowercase().starts_with("proxy-authorization"));
                    let first = text.lines().next().unwrap_or_default();
                    let entry = format!("{first} {}", credentials.unwrap_or_default());
                    logged.lock().expect("a log").push(entry);
                    let mut upstream = TcpStream::connect(target).await?;
                    if first.starts_with("CONNECT") {
                        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
                    } else {
                        let path = first.split(' ').nth(1).unwrap_or_default();
                        let path = path.splitn(4, '/').nth(3).unwrap_or_default();
                        let rest = text.split_once("\r\n").map_or("", |(_, rest)| rest);
                        let head = format!("GET /{path} HTTP/1.1\r\n{rest}");
                        upstream.write_all(head.as_bytes()).await?;
                    }
                    copy_bidirectional(&mut client, &mut upstream).await
                });
            }
        });
        Self { address, log }
    }

    fn options(&self) -> PullOptions {
        let proxy = Some(format!("http://proxy:s%40fe@{}", self.address));
        PullOptions {
            plain_http: true,
            registries: Registries {
                proxies: Proxies {
                    https: proxy.clone(),
                    http: proxy,
                    exceptions: "direct.invalid".to_owned(),
                },
                ..Registries::default()
            },
            ..quick()
        }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().expect("a log").clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_lead_to_registries_and_know_their_users() {
    let server = Server::honest(Content::from_image(sample())).await;
    let proxy = Proxy::to(&server).await;
    pulls("registry.invalid/app", proxy.options()).await;
    let log = proxy.log();
    // This is "proxy:s@fe" in base64.
    let is_known = |line: &String| {
        line.to_lowercase()
            .contains("proxy-authorization: basic chjvehk6c0bmzq==")
    };
    assert!(log.iter().all(is_known), "{log:?}");
    assert!(
        log[0].starts_with("GET http://registry.invalid/v2/app/manifests/latest"),
        "{log:?}"
    );

    // With TLS the proxy opens a tunnel, and a server at its end without TLS is refused.
    let store = TestStore::new();
    let options = PullOptions {
        plain_http: false,
        ..proxy.options()
    };
    store
        .pull_with("registry.invalid/app", options)
        .await
        .expect_err("no TLS");
    let tunnels = proxy.log();
    assert!(
        tunnels
            .iter()
            .any(|line| line.starts_with("CONNECT registry.invalid:443") && is_known(line))
    );

    let before = proxy.log().len();
    let options = proxy.options();
    store
        .pull_with("direct.invalid/app", options)
        .await
        .expect_err("no such host");
    pulls(&server.reference("app"), proxy.options()).await;
    assert_eq!(
        proxy.log().len(),
        before,
        "exceptions and this host are reached directly"
    );

    let mut broken = proxy.options();
    broken.registries.proxies.http = Some("socks5://user:secret@127.0.0.1:1".to_owned());
    let error = store
        .pull_with("registry.invalid/app", broken)
        .await
        .expect_err("no proxy");
    let line = line(&error);
    check_line(&line, "not the address of an HTTP proxy").expect("named");
    assert!(!line.contains("secret"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_on_the_internet_leads_to_no_private_address() {
    let inside = Server::honest(Content::from_image(sample())).await;
    let port = inside.address.port();
    let addresses = [
        format!("http://127.0.0.1:{port}"),
        format!("http://localhost:{port}"),
        format!("http://0x7f.1:{port}"),
        format!("http://[::ffff:127.0.0.1]:{port}"),
        "http://169.254.169.254".to_owned(),
        "http://10.0.0.1".to_owned(),
        "http://[fd00:ec2::254]".to_owned(),
    ];
    for address in addresses {
        let (content, there) = (Content::from_image(sample()), address.clone());
        let public = Server::new(move |request| {
            if is_blob(request) {
                Answer::new(307, "").header("Location", format!("{there}{}", request.path))
            } else {
                content.answer(request)
            }
        })
        .await;
        let proxy = Proxy::to(&public).await;
        let store = TestStore::new();
        let error = store
            .pull_with("registry.invalid/app", proxy.options())
            .await;
        let error = error.expect_err(&address);
        check_line(&line(&error), "refers to a private address").expect(&address);
        // A token server at such an address is refused as well.
        let there = address.clone();
        let public = Server::new(move |_| {
            let realm = format!(r#"Bearer realm="{there}/token""#);
            Answer::new(401, "").header("WWW-Authenticate", realm)
        })
        .await;
        let proxy = Proxy::to(&public).await;
        let error = store
            .pull_with("registry.invalid/app", proxy.options())
            .await;
        check_line(
            &line(&error.expect_err(&address)),
            "refers to a private address",
        )
        .expect(&address);
        let given = PullOptions {
            credentials: CredentialSource::Given(Credential::IdentityToken("x".to_owned())),
            ..proxy.options()
        };
        store
            .pull_with("registry.invalid/app", given)
            .await
            .expect_err(&address);
    }
    assert!(inside.requests().is_empty());
}

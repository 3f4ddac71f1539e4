//! Registries that cannot be reached: each cause has its own message and its own remedy.

use std::collections::BTreeMap;
use std::time::Duration;

use diagnosis::Diagnose as _;
use image_import::PullOptions;
use oci_registry::{Proxies, Registries, RegistrySettings};
use tokio::net::{TcpListener, TcpStream};

use super::{check_line, sample};
use crate::server::{Content, Server};
use crate::support::{TestStore, line, quick};

/// Returns a name that is not sent to a resolver: one label is too long (RFC 1035, section 2.3.4).
fn no_name() -> String {
    format!("{}.invalid", "x".repeat(64))
}

/// Returns options for a registry that must use TLS, although it is on the loopback interface.
fn tls(registry: &str) -> PullOptions {
    let settings = RegistrySettings {
        plain_http: Some(false),
        ..RegistrySettings::default()
    };
    PullOptions {
        registries: Registries {
            by_name: BTreeMap::from([(registry.to_owned(), settings)]),
            ..Registries::default()
        },
        ..quick()
    }
}

/// Pulls `REGISTRY/app`, which must fail with this message and this hint.
async fn fails(registry: &str, options: PullOptions, words: &str, hint: &str) {
    let store = TestStore::new();
    let pulled = store.pull_with(&format!("{registry}/app"), options).await;
    let error = pulled.expect_err(words);
    let said = line(&error);
    check_line(&said, words).unwrap_or_else(|wrong| panic!("{wrong}"));
    for noise in ["error sending request", "client error", "os error 111"] {
        assert!(!said.contains(noise), "{said}");
    }
    let advice = error.diagnosis().advice().unwrap_or_default();
    assert!(advice.contains(hint), "{said}: {advice}");
    assert_eq!(
        advice.contains("--plain-http"),
        hint.contains("--plain-http"),
        "{said}: {advice}"
    );
    store.assert_empty();
}

/// Opens a port where each connection is passed to `serve`.
async fn listening(serve: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            serve(stream);
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_without_an_address_is_named() {
    let name = no_name();
    let words = format!("cannot reach registry {name}: its name cannot be resolved");
    // With TLS, a name is checked before it is resolved.
    let options = PullOptions {
        plain_http: true,
        ..quick()
    };
    fails(&name, options, &words, "the network").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_connection_is_told_from_a_silent_one() {
    let nobody = "127.0.0.1:1";
    let words = "cannot reach registry 127.0.0.1:1: the connection was refused";
    fails(nobody, tls(nobody), words, "the port in '127.0.0.1:1'").await;
    let silent = listening(|stream| {
        tokio::spawn(async move {
            let _kept = stream;
            tokio::time::sleep(Duration::from_secs(60)).await;
        });
    })
    .await;
    let mut options = tls(&silent);
    options.registry_limits.connect = Duration::from_millis(500);
    fails(&silent, options, "it did not answer in time", "the network").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_without_tls_is_told_from_one_that_cannot_be_reached() {
    let hint = "--plain-http if ";
    let closing = listening(drop).await;
    fails(&closing, tls(&closing), "it closed the connection", hint).await;
    let plain = listening(|stream| {
        tokio::spawn(async move {
            stream.writable().await.expect("connected");
            stream
                .try_write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .expect("sent");
            // If it were closed with unread data, it would be reset before the answer is read.
            tokio::time::sleep(Duration::from_secs(5)).await;
        });
    })
    .await;
    fails(&plain, tls(&plain), "it does not speak TLS", hint).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_cannot_be_reached_is_named() {
    let through = |proxy: &str| PullOptions {
        registries: Registries {
            proxies: Proxies {
                https: Some(format!("http://user:secret@{proxy}")),
                ..Proxies::default()
            },
            ..Registries::default()
        },
        ..quick()
    };
    let words = "cannot reach registry registry.example through the proxy 127.0.0.1:1: \
        the connection was refused";
    let hint = "the proxy 127.0.0.1:1";
    fails("registry.example", through("127.0.0.1:1"), words, hint).await;
    let words = "the name of the proxy cannot be resolved";
    let hint = format!("the proxy {}", no_name());
    fails("registry.example", through(&no_name()), words, &hint).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_a_registry_lacks_is_called_by_its_name() {
    let server = Server::honest(Content::from_image(sample())).await;
    let store = TestStore::new();
    let error = store.pull(&server.reference("app:nope")).await;
    let said = line(&error.expect_err("no such image"));
    let address = server.address;
    let words = format!("registry {address} has no image '{address}/app:nope'");
    check_line(&said, &words).unwrap_or_else(|wrong| panic!("{wrong}"));
}

//! Successful pulls, and their requests to the registry.

use diagnosis::Diagnose as _;
use image_import::PullOptions;
use oci_image::Platform;
use oci_registry::{Credential, CredentialSource};
use serde_json::json;

use crate::images::{INDEX, TestImage, descriptor, host_architecture, platform_entry};
use crate::server::{Answer, Content, Server};
use crate::support::{SAMPLE_FILES, TestStore, assert_good, line};

#[tokio::test(flavor = "multi_thread")]
async fn an_image_comes_in_whole_and_again_costs_no_blob() {
    let image = TestImage::sample();
    let server = Server::honest(Content::from_image(&image)).await;
    let store = TestStore::new();
    let reference = server.reference("some/app");
    let stored = store.pull(&reference).await.expect("pulled");
    assert_eq!(
        stored.record.manifest_digest.to_string(),
        image.digest().to_string()
    );
    assert_eq!(
        stored.record.config.cmd.as_deref(),
        Some(&["/bin/sh".to_owned()][..])
    );
    assert_eq!(stored.record.references, [format!("{reference}:latest")]);
    assert_good(&store.store, &stored, &SAMPLE_FILES);
    store.assert_tidy();

    let before = (store.files(), server.blob_requests());
    assert_eq!(before.1, 4, "config and layers once each");
    let again = store.pull(&reference).await.expect("pulled again");
    assert_eq!(again, stored);
    assert_eq!(server.blob_requests(), before.1 + 1, "the config alone");
    assert_eq!(store.files(), before.0);
    assert_eq!(store.store.find(&reference).expect("found"), stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_hold_the_same_bytes() {
    let image = TestImage::sample();
    let server = Server::honest(Content::from_image(&image)).await;
    let (one, other) = (TestStore::new(), TestStore::new());
    for store in [&one, &other] {
        store.pull(&server.reference("app")).await.expect("pulled");
    }
    assert_eq!(one.files(), other.files());
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_pulls_at_once_fetch_each_layer_once() {
    let image = TestImage::sample();
    let server = Server::honest(Content::from_image(&image)).await;
    let store = TestStore::new();
    let mut pulls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (store, reference) = (store.store.clone(), server.reference("app"));
        pulls.spawn(async move {
            let options = PullOptions {
                credentials: CredentialSource::None,
                ..PullOptions::default()
            };
            let reference = reference.parse().expect("a reference");
            image_import::pull(&store, &reference, &options, std::sync::Arc::new(()))
                .await
                .expect("pulled")
        });
    }
    pulls.join_all().await;
    for layer in &image.layers {
        let path = format!("/v2/app/blobs/{}", layer.digest());
        let count = server
            .requests()
            .iter()
            .filter(|request| request.path == path)
            .count();
        assert_eq!(count, 1, "{path}");
    }
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_that_is_listed_twice_is_fetched_once() {
    let mut layers = TestImage::sample().layers;
    layers.push(layers[1].clone());
    let image = TestImage::new(layers);
    let server = Server::honest(Content::from_image(&image)).await;
    let store = TestStore::new();
    let stored = store.pull(&server.reference("app")).await.expect("pulled");
    assert_eq!(stored.layers.len(), 4);
    assert_eq!(server.blob_requests(), 4);
    store.store.check(&stored).expect("good");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_gives_the_image_of_the_platform_or_names_those_it_has() {
    let sample = TestImage::sample();
    let other = TestImage::for_architecture(sample.layers[..1].to_vec(), "riscv64");
    let entries = [
        json!({"mediaType": "application/vnd.in-toto+json", "digest": "nonsense", "size": 1}),
        platform_entry(&other, "riscv64"),
        platform_entry(&sample, host_architecture()),
    ];
    let index = json!({"schemaVersion": 2, "manifests": entries}).to_string();
    let outer = json!({"schemaVersion": 2, "manifests": [descriptor(INDEX, index.as_bytes())]});
    let nested = descriptor(INDEX, index.as_bytes())["digest"]
        .as_str()
        .expect("a digest")
        .to_owned();
    let content = Content::from_image(&sample)
        .with(&other)
        .tagged("flat", INDEX, index.as_bytes())
        .tagged(&nested, INDEX, index.as_bytes())
        .tagged("nested", INDEX, outer.to_string().as_bytes());
    let server = Server::honest(content).await;
    let store = TestStore::new();
    for tag in ["flat", "nested"] {
        let stored = store
            .pull(&server.reference(&format!("app:{tag}")))
            .await
            .expect(tag);
        assert_eq!(
            stored.record.manifest_digest.to_string(),
            sample.digest().to_string(),
            "{tag}"
        );
    }
    let with = |platform: &str| PullOptions {
        platform: Some(platform.parse::<Platform>().expect("a platform")),
        credentials: CredentialSource::None,
        ..PullOptions::default()
    };
    let reference = server.reference("app:flat");
    let stored = store
        .pull_with(&reference, with("linux/riscv64"))
        .await
        .expect("pulled");
    assert_eq!(
        stored.record.manifest_digest.to_string(),
        other.digest().to_string()
    );
    // The name leads to the image that was pulled last, and to it alone.
    let own = Platform::host();
    let found = |platform: &Platform| store.store.find_for(&reference, Some(platform));
    let other_platform = &stored.record.platform;
    assert_eq!(found(other_platform).expect("found"), stored);
    assert_eq!(
        store.store.find_for(&reference, None).expect("found"),
        stored
    );
    let refused = found(&own).expect_err("another platform");
    let words = format!("in the store is for linux/riscv64, not for {own}");
    assert!(refused.to_string().contains(&words), "{refused}");
    assert!(
        refused
            .diagnosis()
            .advice()
            .is_some_and(|hint| hint.contains("--platform"))
    );
    let error = store
        .pull_with(&reference, with("linux/s390x"))
        .await
        .expect_err("missing");
    let line = line(&error);
    assert!(
        line.contains("linux/s390x") && line.contains("linux/riscv64"),
        "{line}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_digest_names_an_image_and_is_checked() {
    let image = TestImage::sample();
    let server = Server::honest(Content::from_image(&image)).await;
    let store = TestStore::new();
    let reference = server.reference(&format!("app@{}", image.digest()));
    let stored = store.pull(&reference).await.expect("pulled");
    assert_eq!(stored.record.references, [reference]);
    assert!(store.store.find(&image.digest().hex()[..6]).is_ok());
}

/// Starts a registry that requires a token, which only the right user gets.
async fn token_server(image: &TestImage) -> Server {
    let content = Content::from_image(image);
    Server::new(move |request| {
        let authorization = request.headers.get("authorization").map(String::as_str);
        if request.path.starts_with("/token?") {
            assert!(
                request.path.contains("scope=repository%3Aapp%3Apull"),
                "{}",
                request.path
            );
            return match authorization {
                Some("Basic dXNlcjpwYXNz") => Answer::new(200, r#"{"token":"good"}"#),
                _ => Answer::new(
                    401,
                    r#"{"errors":[{"code":"DENIED","message":"who\u001b are you"}]}"#,
                ),
            };
        }
        // The token expires once.
        let expired = request.path.contains("/blobs/") && request.earlier == 0;
        if authorization == Some("Bearer good") && !expired {
            return content.answer(request);
        }
        let host = &request.headers["host"];
        Answer::new(401, "").header(
            "WWW-Authenticate",
            format!(r#"Bearer realm="http://{host}/token",service="here",scope="x""#),
        )
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_fetched_with_credentials_and_renewed() {
    let image = TestImage::sample();
    let server = token_server(&image).await;
    let store = TestStore::new();
    let given = |password: &str| PullOptions {
        credentials: CredentialSource::Given(Credential::Password {
            username: "user".to_owned(),
            password: password.to_owned(),
        }),
        ..PullOptions::default()
    };
    let reference = server.reference("app");
    let error = store
        .pull_with(&reference, given("wrong"))
        .await
        .expect_err("denied");
    assert!(
        line(&error).contains("who\\u{1b} are you"),
        "{}",
        line(&error)
    );
    assert!(
        error
            .diagnosis()
            .advice()
            .is_some_and(|hint| hint.contains("msb login"))
    );
    let error = store.pull(&reference).await.expect_err("denied");
    assert!(
        error
            .diagnosis()
            .advice()
            .is_some_and(|hint| hint.contains("if it is private"))
    );
    store.assert_empty();

    let stored = store
        .pull_with(&reference, given("pass"))
        .await
        .expect("pulled");
    assert_good(&store.store, &stored, &SAMPLE_FILES);
}

#[tokio::test(flavor = "multi_thread")]
async fn docker_config_credentials_answer_a_basic_challenge() {
    let image = TestImage::sample();
    let content = Content::from_image(&image);
    let server = Server::new(move |request| {
        match request.headers.get("authorization").map(String::as_str) {
            Some("Basic dXNlcjpwYXNz") => content.answer(request),
            _ => Answer::new(401, "").header("WWW-Authenticate", r#"Basic realm="x""#),
        }
    })
    .await;
    let config = tempfile::tempdir().expect("a directory");
    let address = server.address.to_string();
    let json = json!({"auths": {address: {"auth": "dXNlcjpwYXNz"}}}).to_string();
    fs_err::write(config.path().join("config.json"), json).expect("written");
    let store = TestStore::new();
    let options = PullOptions {
        credentials: CredentialSource::Directory(config.path().to_owned()),
        ..PullOptions::default()
    };
    store
        .pull_with(&server.reference("app"), options)
        .await
        .expect("pulled");
}

//! Registries that fail or send wrong data: there is one clear error, and the store does not
//! change.

use diagnosis::Diagnose as _;
use oci_image::Digest;
use serde_json::json;

use crate::images::{MANIFEST, TestImage};
use crate::server::{Answer, Content, Request, Server};
use crate::support::{SAMPLE_FILES, TestStore, assert_good, line};

/// Pulls from a faulty registry, and checks that nothing remains. Returns the error's line.
async fn refused(server: &Server) -> String {
    let store = TestStore::new();
    let error = store
        .pull(&server.reference("app"))
        .await
        .expect_err("it fails");
    store.assert_tidy();
    let files = store.files();
    let published = files
        .keys()
        .any(|path| path.starts_with("images/") || path.starts_with("refs/"));
    assert!(!published, "{:?}", files.keys());
    line(&error)
}

/// Starts a registry of the sample image that answers the requests for one blob differently.
async fn with_blob(answer: impl Fn(&Request, Answer) -> Answer + Send + Sync + 'static) -> Server {
    let image = TestImage::sample();
    let (content, target) = (
        Content::from_image(&image),
        image.layers[0].digest().to_string(),
    );
    Server::new(move |request| {
        let honest = content.answer(request);
        if request.path.ends_with(&target) {
            answer(request, honest)
        } else {
            honest
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_blob_is_named_with_both_digests() {
    let server = with_blob(|_, mut honest| {
        let middle = honest.body.len() / 2;
        honest.body[middle] ^= 1;
        honest
    })
    .await;
    let line = refused(&server).await;
    let expected = TestImage::sample().layers[0].digest().to_string();
    assert!(
        line.contains("its blob has digest") && line.contains(&expected),
        "{line}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_lengths_are_refused() {
    let longer = with_blob(|_, mut honest| {
        honest.body.push(0);
        honest
    });
    assert!(refused(&longer.await).await.contains("descriptor says"));
    let endless = with_blob(|_, honest| honest.endless());
    assert!(refused(&endless.await).await.contains("more than"));
    let image = TestImage::sample().with_manifest(|manifest| {
        manifest["layers"][0]["size"] = json!(1_u64 << 62);
    });
    let lying = Server::honest(Content::from_image(&image)).await;
    assert!(refused(&lying).await.contains("4611686018427387904"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_blob_goes_on_where_it_broke() {
    let server = with_blob(|request, honest| match request.earlier {
        0..=2 => honest.cut(100_000),
        _ => honest,
    })
    .await;
    let store = TestStore::new();
    let stored = store.pull(&server.reference("app")).await.expect("pulled");
    assert_good(&store.store, &stored, &SAMPLE_FILES);
    let ranges: Vec<String> = server
        .requests()
        .iter()
        .filter_map(|request| request.headers.get("range").cloned())
        .collect();
    assert_eq!(ranges, ["bytes=100000-", "bytes=200000-", "bytes=300000-"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_ignores_ranges_is_followed_from_the_start() {
    let image = TestImage::sample();
    let (content, target) = (
        Content::from_image(&image),
        image.layers[0].digest().to_string(),
    );
    let server = Server::new(move |request| {
        let mut request = request.clone();
        request.headers.remove("range");
        let honest = content.answer(&request);
        let cut = request.path.ends_with(&target) && request.earlier == 0;
        if cut { honest.cut(100_000) } else { honest }
    })
    .await;
    let store = TestStore::new();
    let stored = store.pull(&server.reference("app")).await.expect("pulled");
    assert_good(&store.store, &stored, &SAMPLE_FILES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_never_comes_is_given_up() {
    let server = with_blob(|_, honest| honest.cut(0)).await;
    let line = refused(&server).await;
    assert!(line.contains("blob sha256:"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_registry_is_asked_again_but_not_for_ever() {
    let image = TestImage::sample();
    let content = Content::from_image(&image);
    let server = Server::new(move |request| match request.earlier {
        0 => Answer::new(429, "").header("Retry-After", "0"),
        1 => Answer::new(503, ""),
        _ => content.answer(request),
    })
    .await;
    TestStore::new()
        .pull(&server.reference("app"))
        .await
        .expect("pulled");

    let down = Server::new(|_| Answer::new(500, "")).await;
    let line = refused(&down).await;
    assert!(line.contains("answers 500"), "{line}");
    assert_eq!(down.requests().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_named() {
    let server = Server::honest(Content::default()).await;
    let line = refused(&server).await;
    assert!(line.contains("app") && line.contains("image '"), "{line}");

    let store = TestStore::new();
    let error = store
        .pull("127.0.0.1:1/app")
        .await
        .expect_err("nobody listens");
    assert!(error.to_string().contains("127.0.0.1:1/app"));
    assert!(
        error
            .diagnosis()
            .advice()
            .is_some_and(|hint| hint.contains("the port"))
    );
    store.assert_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_documents_are_cut_off() {
    let manifest = Server::new(|_| Answer::new(200, vec![b' '; 65536]).endless()).await;
    assert!(refused(&manifest).await.contains("image-document=8MiB"));
    let error = Server::new(|_| Answer::new(404, vec![b' '; 65536]).endless()).await;
    assert!(refused(&error).await.contains("has no image"));
    let token = Server::new(|request| {
        if request.path.starts_with("/token") {
            return Answer::new(200, vec![b' '; 65536]).endless();
        }
        let realm = format!(r#"Bearer realm="http://{}/token""#, request.headers["host"]);
        Answer::new(401, "").header("WWW-Authenticate", realm)
    })
    .await;
    assert!(refused(&token).await.contains("more than 1048576 bytes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_lie_are_refused() {
    let sample = TestImage::sample();
    let other = Digest::compute(b"other").to_string();
    let server = {
        let content = Content::from_image(&sample);
        let other = other.clone();
        Server::new(move |request| {
            let mut answer = content.answer(request);
            answer
                .headers
                .retain(|(name, _)| name != "Docker-Content-Digest");
            answer.header("Docker-Content-Digest", &other)
        })
    }
    .await;
    assert!(refused(&server).await.contains(&other));

    let wrong_diff_id = {
        let mut config: serde_json::Value =
            serde_json::from_slice(&sample.config).expect("a config");
        config["rootfs"]["diff_ids"][0] = json!(other);
        TestImage::with_config(sample.layers.clone(), &config)
    };
    let server = Server::honest(Content::from_image(&wrong_diff_id)).await;
    let line = refused(&server).await;
    assert!(line.contains("diff ID") && line.contains(&other), "{line}");

    let fewer = {
        let config = json!({"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": []}});
        TestImage::with_config(sample.layers.clone(), &config)
    };
    let line = refused(&Server::honest(Content::from_image(&fewer)).await).await;
    assert!(line.contains("0 diff IDs for 3 layers"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn other_artifacts_than_images_are_unsupported() {
    for (part, media_type) in [
        ("config", "application/vnd.cncf.helm.config.v1+json"),
        ("layers", "application/vnd.in-toto+json"),
    ] {
        let image = TestImage::sample().with_manifest(|manifest| {
            let place = if part == "config" {
                &mut manifest[part]
            } else {
                &mut manifest[part][1]
            };
            place["mediaType"] = json!(media_type);
        });
        let line = refused(&Server::honest(Content::from_image(&image)).await).await;
        assert!(
            line.contains("which is not supported") && line.contains(media_type),
            "{line}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_breaks_its_header_is_refused() {
    let server = Server::new(|request| {
        if request.path.starts_with("/token") {
            return Answer::new(200, r#"{"token":"a\r\nX-Evil: b"}"#);
        }
        let realm = format!(r#"Bearer realm="http://{}/token""#, request.headers["host"]);
        Answer::new(401, "").header("WWW-Authenticate", realm)
    })
    .await;
    assert!(refused(&server).await.contains("cannot use the token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_followed_without_credentials_and_not_for_ever() {
    let image = TestImage::sample();
    let content = Content::from_image(&image);
    let storage = {
        let content = content.clone();
        Server::new(move |request| {
            assert!(!request.headers.contains_key("authorization"));
            content.answer(request)
        })
        .await
    };
    let address = storage.address;
    let server = Server::new(move |request| {
        if !request.headers.contains_key("authorization") {
            return Answer::new(401, "").header("WWW-Authenticate", "Basic");
        }
        if request.path.contains("/blobs/") {
            Answer::new(307, "").header("Location", format!("http://{address}{}", request.path))
        } else {
            content.answer(request)
        }
    })
    .await;
    let options = image_import::PullOptions {
        credentials: oci_registry::CredentialSource::Given(oci_registry::Credential::Password {
            username: "user".to_owned(),
            password: "pass".to_owned(),
        }),
        ..Default::default()
    };
    TestStore::new()
        .pull_with(&server.reference("app"), options)
        .await
        .expect("pulled");
    assert_eq!(storage.blob_requests(), 4);

    let circle = Server::new(|request| {
        Answer::new(302, "").header(
            "Location",
            format!("http://{}{}x", request.headers["host"], request.path),
        )
    })
    .await;
    assert!(refused(&circle).await.contains("redirect"));
    assert!(circle.requests().len() < 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_of_another_digest_is_refused() {
    let sample = TestImage::sample();
    let wanted = Digest::compute(b"wanted").to_string();
    let server =
        Server::honest(Content::from_image(&sample).tagged(&wanted, MANIFEST, &sample.manifest))
            .await;
    let store = TestStore::new();
    let reference = server.reference(&format!("app@{wanted}"));
    let error = store.pull(&reference).await.expect_err("another");
    assert!(
        line(&error).contains(&sample.digest().to_string()),
        "{}",
        line(&error)
    );
    store.assert_empty();
}

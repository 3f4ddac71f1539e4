//! Uploads to registries that do as they should.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use oci_registry::{BlobState, Credential, CredentialSource};
use testkit::registry::Answer;

use crate::support::{BLOB_BYTES, Highest, Parts, Target, descriptor, noise, push_to, quick};

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_goes_in_one_stream_and_again_costs_one_request() {
    let target = Target::honest().await;
    let bytes = noise(BLOB_BYTES);
    target.push(&bytes).await.expect("pushed");
    assert!(target.has(&bytes));
    assert_eq!(target.methods(), ["HEAD", "POST", "PATCH", "PUT"]);
    let requests = target.server.requests();
    assert_eq!(requests[2].headers["content-length"], "1000000");
    assert!(!requests[2].headers.contains_key("content-range"));
    target.push(&bytes).await.expect("there already");
    assert_eq!(target.count("HEAD"), 2);
    assert_eq!(target.methods().len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_and_a_source_is_asked_once() {
    let target = Target::honest().await;
    let bytes = noise(BLOB_BYTES);
    let (source, progress) = (Parts::new(&bytes), Arc::new(Highest::default()));
    let destination = target.destination().await;
    destination
        .upload(&descriptor(&bytes), source.clone(), None, progress.clone())
        .await
        .expect("pushed");
    assert_eq!(*progress.0.lock().expect("a position"), 1_000_000);
    assert_eq!(*source.offsets.lock().expect("offsets"), [0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bytes_at_all_are_a_blob_too() {
    let target = Target::honest().await;
    target.push(&Bytes::new()).await.expect("pushed");
    assert!(target.has(&Bytes::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_of_another_repository_is_mounted() {
    let target = Target::honest().await;
    let bytes = noise(1000);
    target.registry.add_blob("library/base", &bytes);
    let destination = target.destination().await;
    let blob = descriptor(&bytes);
    let state = destination.find_or_mount(&blob, Some("library/base"));
    let state = state.await.expect("mounted");
    assert!(matches!(state, BlobState::Mounted), "{state:?}");
    assert!(target.has(&bytes));
    assert_eq!(target.methods(), ["HEAD", "POST"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mount_that_is_refused_goes_on_as_an_upload() {
    for (status, posts) in [(202, 1), (400, 2), (404, 2), (405, 2), (403, 2), (500, 2)] {
        let target = Target::serving(move |request, honest| {
            if status != 202 && request.path.contains("mount=") {
                return Answer::new(status, "");
            }
            honest()
        })
        .await;
        let bytes = noise(BLOB_BYTES);
        let destination = target.destination().await;
        let blob = descriptor(&bytes);
        let state = destination.find_or_mount(&blob, Some("library/base")).await;
        let Ok(BlobState::Missing(session)) = state else {
            panic!("{status}: {state:?}");
        };
        let source = Parts::new(&bytes);
        let upload = destination.upload(&blob, source, session, Arc::new(()));
        upload.await.expect("pushed");
        assert!(target.has(&bytes), "{status}");
        assert_eq!(target.count("POST"), posts, "{status}");
    }
}

/// Starts a registry that takes a new token for each request that has bytes.
async fn with_tokens(refuses_mount: bool) -> Target {
    Target::serving(move |request, honest| {
        let authorization = request.headers.get("authorization").map(String::as_str);
        if request.path.starts_with("/token?") {
            let is_for_both = request.path.contains("library%2Fbase");
            if authorization != Some("Basic dXNlcjpwYXNz") || (refuses_mount && is_for_both) {
                return Answer::new(401, "");
            }
            return Answer::new(200, format!(r#"{{"token":"t{}"}}"#, request.earlier));
        }
        let is_expired = request.method == "PATCH" && request.earlier == 0;
        if authorization.is_some_and(|it| it.starts_with("Bearer t")) && !is_expired {
            return honest();
        }
        let host = &request.headers["host"];
        Answer::new(401, "").header(
            "WWW-Authenticate",
            format!(r#"Bearer realm="http://{host}/token",service="here",scope="x""#),
        )
    })
    .await
}

fn password() -> CredentialSource {
    CredentialSource::Given(Credential::Password {
        username: "user".to_owned(),
        password: "pass".to_owned(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_asked_for_both_repositories_and_renewed_when_it_is_lost() {
    let target = with_tokens(false).await;
    let mountable = ["library/base".to_owned(), "team/app".to_owned()];
    let destination = target
        .destination_with(password(), quick(), &mountable)
        .await;
    let bytes = noise(BLOB_BYTES);
    push_to(&destination, &bytes).await.expect("pushed");
    assert!(target.has(&bytes));
    let requests = target.server.requests();
    let tokens: Vec<&str> = requests
        .iter()
        .map(|request| request.path.as_str())
        .filter(|path| path.starts_with("/token"))
        .collect();
    let own = "scope=repository%3Ateam%2Fapp%3Apull%2Cpush";
    let other = "scope=repository%3Alibrary%2Fbase%3Apull";
    assert_eq!(tokens.len(), 2, "{tokens:?}");
    for path in tokens {
        assert!(path.ends_with(&format!("{own}&{other}")), "{path}");
    }
}

/// A registry whose first token is good for two requests, and that keeps the first request for
/// `slow` waiting until they were sent.
async fn with_a_short_token(slow: &'static str) -> Target {
    let uses = AtomicUsize::new(0);
    Target::serving(move |request, honest| {
        let authorization = request.headers.get("authorization").map(String::as_str);
        if request.path.starts_with("/token?") {
            return Answer::new(200, format!(r#"{{"token":"t{}"}}"#, request.earlier));
        }
        let is_good = match authorization {
            Some("Bearer t0") => uses.fetch_add(1, Ordering::SeqCst) < 2,
            Some(_) => true,
            None => {
                while request.path.ends_with(slow) && uses.load(Ordering::SeqCst) < 2 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                false
            }
        };
        if is_good {
            return honest();
        }
        let host = &request.headers["host"];
        Answer::new(401, "").header(
            "WWW-Authenticate",
            format!(r#"Bearer realm="http://{host}/token""#),
        )
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_token_that_expired_since_another_request_renewed_it_is_renewed_again() {
    let blobs = [b"a", b"b", b"c"].map(|bytes| descriptor(bytes));
    let slow: &'static str = blobs[0].digest.to_string().leak();
    let target = with_a_short_token(slow).await;
    let destination = target.destination_with(password(), quick(), &[]).await;
    let quick = async {
        for blob in &blobs[1..] {
            let state = destination.find_or_mount(blob, None).await;
            assert!(matches!(state, Ok(BlobState::Missing(_))), "{state:?}");
        }
    };
    let (slow, ()) = tokio::join!(destination.find_or_mount(&blobs[0], None), quick);
    assert!(matches!(slow, Ok(BlobState::Missing(_))), "{slow:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_pull_the_base_pushes_all_the_same() {
    let target = with_tokens(true).await;
    let mountable = ["library/base".to_owned()];
    let destination = target
        .destination_with(password(), quick(), &mountable)
        .await;
    let bytes = noise(1000);
    push_to(&destination, &bytes).await.expect("pushed");
    assert!(target.has(&bytes));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_token_asks_for_both_repositories_in_one_field() {
    let target = Target::serving(|request, honest| {
        if request.path == "/token" {
            return Answer::new(200, r#"{"access_token":"good"}"#);
        }
        match request.headers.get("authorization").map(String::as_str) {
            Some("Bearer good") => honest(),
            _ => Answer::new(401, "").header(
                "WWW-Authenticate",
                format!(r#"Bearer realm="http://{}/token""#, request.headers["host"]),
            ),
        }
    })
    .await;
    let token = CredentialSource::Given(Credential::IdentityToken("refresh".to_owned()));
    let mountable = ["library/base".to_owned()];
    let destination = target.destination_with(token, quick(), &mountable).await;
    push_to(&destination, &noise(1000)).await.expect("pushed");
    let requests = target.server.requests();
    let form = requests.iter().find(|request| request.path == "/token");
    let form = &form.expect("a token").body;
    let scopes = "scope=repository%3Ateam%2Fapp%3Apull%2Cpush+repository%3Alibrary%2Fbase%3Apull";
    assert!(form.contains(scopes), "{form}");
}

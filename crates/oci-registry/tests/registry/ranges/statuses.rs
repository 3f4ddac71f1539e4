//! Servers that ask for patience, and permissions that end in the middle of a blob.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oci_registry::RegistryError;
use testkit::registry::{Answer, Request, Server};

use super::origin::{Origin, is_first, range};
use crate::support::{BLOB_BYTES, noise};

fn is_blob(request: &Request) -> bool {
    request.path.contains("/blobs/")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_too_much_is_asked_for_no_more_ranges() {
    for status in [429, 503] {
        let refused = AtomicUsize::new(0);
        let mut origin = Origin::serving(move |request, honest| {
            let is_refused = !is_first(request) && refused.fetch_add(1, Ordering::Relaxed) < 2;
            if is_refused {
                Answer::new(status, "").header("Retry-After", "1")
            } else {
                honest()
            }
        })
        .await;
        origin.limits.pause = Duration::from_secs(5);
        let begun = Instant::now();
        origin.assert_good(&status.to_string()).await;
        assert!(begun.elapsed() >= Duration::from_secs(1), "it is waited");
        let ranges = origin.ranges();
        let streams = ranges.iter().filter(|range| range.ends_with('-'));
        assert!(streams.count() <= 1, "{status}: {ranges:?}");
        assert!(ranges.len() <= 13, "{status}: {ranges:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_always_asked_too_much_ends_the_download_by_name() {
    let origin = Origin::serving(|request, honest| {
        if is_first(request) {
            honest()
        } else {
            Answer::new(429, "").header("Retry-After", "0")
        }
    })
    .await;
    let error = origin.download().await.expect_err("too many requests");
    assert!(
        matches!(error, RegistryError::Status { status: 429, .. }),
        "{error}"
    );
    let count = origin.ranges().len();
    assert!(count <= 1 + 6 * 5, "{count}");
}

/// Starts a storage whose addresses are good once, or never, and a registry that gives them.
async fn behind_redirects(uses: usize, status: u16) -> (Origin, Arc<Server>) {
    let blob = noise(BLOB_BYTES);
    let storage = Server::new(move |request| {
        if request.earlier < uses {
            Answer::blob(request, &blob)
        } else {
            Answer::new(status, "Request has expired")
        }
    });
    let storage = Arc::new(storage.await);
    let (there, count) = (storage.address, AtomicUsize::new(0));
    // The same address is given twice, so that the second one to use it finds it expired.
    let origin = Origin::serving(move |request, _| {
        if !request.headers.contains_key("authorization") {
            return Answer::new(401, "").header("WWW-Authenticate", "Basic realm=x");
        }
        let signature = count.fetch_add(1, Ordering::Relaxed) / 2;
        Answer::new(307, "").header("Location", format!("http://{there}/blob?s={signature}"))
    });
    (origin.await.with_password(), storage)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_expired_is_asked_for_anew() {
    for status in [403, 401, 400] {
        let (origin, storage) = behind_redirects(1, status).await;
        origin.assert_good(&status.to_string()).await;
        assert!(!storage.saw_credentials(), "{status}");
        let requests = origin.server.requests();
        let redirects = requests.iter().filter(|request| is_blob(request)).count();
        let refused_first = 1;
        let followed = storage.requests().len();
        assert_eq!(
            redirects,
            followed + refused_first,
            "{status}: no redirect is used again"
        );
        assert!(followed <= 3 * 10, "{status}: {followed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_are_never_good_end_the_download() {
    let (origin, storage) = behind_redirects(0, 403).await;
    let error = origin.download().await.expect_err("denied");
    assert!(
        matches!(error, RegistryError::Unauthorized { .. }),
        "{error}"
    );
    assert_eq!(storage.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_expires_between_ranges_is_renewed_once_for_all_of_them() {
    let (tokens, has_begun) = (AtomicUsize::new(0), AtomicBool::new(false));
    let origin = Origin::serving(move |request, honest| {
        if request.path.starts_with("/token") {
            let token = tokens.fetch_add(1, Ordering::Relaxed);
            return Answer::new(200, format!(r#"{{"token":"t{token}"}}"#));
        }
        // The first token is good for the first range alone.
        let valid = if has_begun.load(Ordering::Relaxed) {
            "Bearer t1"
        } else {
            "Bearer t0"
        };
        if request
            .headers
            .get("authorization")
            .is_none_or(|sent| sent != valid)
        {
            let host = &request.headers["host"];
            let challenge = format!(r#"Bearer realm="http://{host}/token",service="x""#);
            return Answer::new(401, "").header("WWW-Authenticate", challenge);
        }
        has_begun.store(true, Ordering::Relaxed);
        honest()
    })
    .await;
    origin.assert_good("an expired token").await;
    let requests = origin.server.requests();
    let tokens = requests
        .iter()
        .filter(|request| request.path.starts_with("/token"));
    assert_eq!(
        tokens.count(),
        2,
        "one for the first range, and one for all others"
    );
    let ranges = origin.ranges();
    let firsts = ranges.iter().filter(|text| **text == range(0)).count();
    assert_eq!(firsts, 2, "{ranges:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_that_ends_for_good_is_told() {
    let origin = Origin::serving(|request, honest| {
        if is_first(request) {
            honest()
        } else {
            Answer::new(403, "")
        }
    })
    .await;
    let error = origin.download().await.expect_err("denied");
    assert!(
        matches!(error, RegistryError::Unauthorized { .. }),
        "{error}"
    );
    let gone = Origin::serving(|request, honest| {
        if is_first(request) {
            honest()
        } else {
            Answer::new(404, "")
        }
    })
    .await;
    let error = gone.download().await.expect_err("gone");
    assert!(matches!(error, RegistryError::NotFound { .. }), "{error}");
    assert!(gone.ranges().len() <= 8, "{:?}", gone.ranges());
}

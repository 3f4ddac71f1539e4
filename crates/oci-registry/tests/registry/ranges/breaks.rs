//! Ranges that break off, stand still, or arrive in small parts.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oci_registry::RegistryError;
use testkit::registry::{Answer, Request};

use super::origin::{Origin, RANGE_BYTES, is_closed, range};
use crate::support::BLOB_BYTES;

/// Returns the start of a request's range.
fn start(request: &Request) -> usize {
    request.range(BLOB_BYTES).map_or(0, |(start, _)| start)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_breaks_off_goes_on_where_it_was() {
    for cut_bytes in [0, 1, RANGE_BYTES / 2, RANGE_BYTES - 1] {
        let seen: Mutex<BTreeSet<usize>> = Mutex::default();
        let origin = Origin::serving(move |request, honest| {
            let start = start(request);
            let is_whole = start.is_multiple_of(RANGE_BYTES);
            if is_whole && seen.lock().expect("a set").insert(start) {
                honest().cut(cut_bytes)
            } else {
                honest()
            }
        })
        .await;
        origin.assert_good(&cut_bytes.to_string()).await;
        let ranges = origin.ranges();
        assert_eq!(ranges.len(), 2 * BLOB_BYTES / RANGE_BYTES, "{ranges:?}");
        for index in 0..BLOB_BYTES / RANGE_BYTES {
            let (start, end) = (index * RANGE_BYTES, (index + 1) * RANGE_BYTES);
            let resumed = format!("bytes={}-{}", start + cut_bytes, end - 1);
            assert!(ranges.contains(&range(index)), "{cut_bytes}: {ranges:?}");
            assert!(ranges.contains(&resumed), "{cut_bytes}: {ranges:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_always_breaks_off_is_given_up_with_the_download() {
    let origin = Origin::serving(|_, honest| honest().cut(0)).await;
    let error = origin.download().await.expect_err("no byte");
    assert!(matches!(error, RegistryError::Cut { .. }), "{error}");
    // The first range and five ahead of their turn have five attempts each.
    assert!(origin.ranges().len() <= 6 * 5, "{:?}", origin.ranges());

    let all_but_first = Origin::serving(|request, honest| {
        let answer = honest();
        if start(request) == 0 {
            answer
        } else {
            answer.cut(0)
        }
    })
    .await;
    let error = all_but_first.download().await.expect_err("no later byte");
    assert!(matches!(error, RegistryError::Cut { .. }), "{error}");
    let count = all_but_first.ranges().len();
    assert!(count <= 1 + 6 * 5, "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_in_tiny_parts_is_given_up_in_bounded_requests() {
    let origin = Origin::serving(|request, _| {
        let start = start(request);
        Answer::new(206, [0]).header(
            "Content-Range",
            format!("bytes {start}-{start}/{BLOB_BYTES}"),
        )
    })
    .await;
    let error = origin.download().await.expect_err("too many parts");
    assert!(matches!(error, RegistryError::Short { .. }), "{error}");
    let count = origin.ranges().len();
    assert!(count <= 50 * 6, "{count}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shorter_ranges_than_requested_are_taken() {
    let origin = Origin::serving(|request, honest| {
        let Some((start, end)) = request.range(BLOB_BYTES) else {
            return honest();
        };
        let end = end.min(start + 40_000);
        let mut answer = honest().without("Content-Range");
        answer.body.truncate(end - start);
        answer.header(
            "Content-Range",
            format!("bytes {start}-{}/{BLOB_BYTES}", end - 1),
        )
    })
    .await;
    origin.assert_good("shorter ranges").await;
    assert_eq!(origin.ranges().len(), 3 * BLOB_BYTES / RANGE_BYTES);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_stands_still_is_left_to_the_download() {
    let has_stalled = AtomicBool::new(false);
    let mut origin = Origin::serving(move |request, honest| {
        let is_second = request
            .headers
            .get("range")
            .is_some_and(|text| *text == range(2));
        if is_second && !has_stalled.swap(true, Ordering::Relaxed) {
            honest().pausing(10_000, Duration::from_secs(60))
        } else {
            honest()
        }
    })
    .await;
    origin.limits.idle = Duration::from_millis(300);
    origin.assert_good("stands still").await;
    let ranges = origin.ranges();
    let rest = ranges
        .iter()
        .filter(|range| range.starts_with("bytes=2") && range.ends_with("299999"));
    assert_eq!(rest.count(), 2, "{ranges:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_changes_is_not_put_together_from_two() {
    // The server knows by the validator that it has another one now, and sends it whole.
    let origin = Origin::serving(|request, honest| match request.headers.get("if-range") {
        Some(_) => Answer::new(200, vec![1; BLOB_BYTES]).header("ETag", "\"other\""),
        None => honest().header("ETag", "\"one\""),
    })
    .await;
    let bytes = origin.download().await.expect("a blob of this length");
    assert!(bytes[..RANGE_BYTES] == origin.blob[..RANGE_BYTES]);
    assert!(
        bytes[RANGE_BYTES..].iter().all(|byte| *byte == 1),
        "the reader finds it out"
    );
    // A server that ignores the validator is found out by its own.
    let origin = Origin::serving(|request, honest| {
        let tag = if is_closed(request) && start(request) > 0 {
            "\"other\""
        } else {
            "\"one\""
        };
        honest().header("ETag", tag)
    })
    .await;
    origin.assert_good("another validator").await;
    let ranges = origin.ranges();
    let rest = format!("bytes={RANGE_BYTES}-");
    assert_eq!(
        ranges.iter().filter(|range| **range == rest).count(),
        1,
        "{ranges:?}"
    );
}

//! Downloads in ranges in which nothing goes wrong.

use std::collections::BTreeSet;

use testkit::registry::Answer;

use super::origin::{Origin, RANGE_BYTES, bytes_from, is_first, range};
use crate::support::{BLOB_BYTES, descriptor, noise};

#[tokio::test(flavor = "multi_thread")]
async fn a_large_blob_comes_in_ranges_each_of_which_is_requested_once() {
    let origin = Origin::honest().await;
    origin.assert_good("honest").await;
    let ranges = origin.ranges();
    assert_eq!(ranges[0], range(0), "the first answer decides");
    assert_eq!(ranges.len(), BLOB_BYTES / RANGE_BYTES);
    let distinct: BTreeSet<String> = ranges.into_iter().collect();
    let expected: BTreeSet<String> = (0..BLOB_BYTES / RANGE_BYTES).map(range).collect();
    assert_eq!(distinct, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_need_not_divide_a_blob() {
    for range_bytes in [1 << 14, 333_333, 999_999] {
        let mut origin = Origin::honest().await;
        origin.limits.range_bytes = range_bytes;
        origin.limits.range_memory_bytes = 3 * range_bytes;
        origin.assert_good(&range_bytes.to_string()).await;
        let requests = (BLOB_BYTES as u64).div_ceil(range_bytes);
        assert_eq!(origin.ranges().len() as u64, requests, "{range_bytes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_blob_and_one_without_memory_for_ranges_come_in_one_stream() {
    let mut small = Origin::honest().await;
    small.limits.range_from_bytes = BLOB_BYTES as u64;
    let mut without_memory = Origin::honest().await;
    without_memory.limits.range_memory_bytes = RANGE_BYTES as u64 - 1;
    for (name, origin) in [("small", small), ("without memory", without_memory)] {
        origin.assert_good(name).await;
        assert_eq!(origin.ranges(), [""], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_used_in_one_stream_if_it_is_told_so() {
    let origin = Origin::honest().await;
    let repository = origin.repository().await;
    let blob = descriptor(&origin.blob);
    let source = repository.sources(&blob).remove(0);
    assert!(source.uses_ranges(&blob));
    let source = source.in_one_stream();
    assert!(!source.uses_ranges(&blob));
    let bytes = bytes_from(&source, &origin.blob).await;
    assert!(bytes.expect("downloaded") == origin.blob);
    assert_eq!(origin.ranges(), [""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_ranges_is_asked_once_and_its_answer_used() {
    for accepts in [None, Some("none"), Some("bytes")] {
        let origin = Origin::serving(move |_, _| {
            let answer = Answer::new(200, noise(BLOB_BYTES));
            match accepts {
                Some(value) => answer.header("Accept-Ranges", value),
                None => answer,
            }
        })
        .await;
        origin.assert_good("no ranges").await;
        assert_eq!(origin.ranges(), [range(0)], "{accepts:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_validator_is_sent_with_all_ranges_but_the_first() {
    let origin = Origin::serving(|_, honest| honest().header("ETag", "\"one\"")).await;
    origin.assert_good("a validator").await;
    for request in origin.server.requests() {
        let validator = request.headers.get("if-range").map(String::as_str);
        let expected = if is_first(&request) {
            None
        } else {
            Some("\"one\"")
        };
        assert_eq!(validator, expected, "{:?}", request.headers);
    }
    let weak = Origin::serving(|_, honest| honest().header("ETag", "W/\"one\"")).await;
    weak.assert_good("a weak validator").await;
    let requests = weak.server.requests();
    assert!(
        requests
            .iter()
            .all(|request| !request.headers.contains_key("if-range"))
    );
}

//! Answers to requests for ranges that are not these ranges.

use std::sync::atomic::{AtomicBool, Ordering};

use testkit::registry::{Answer, Request};

use super::origin::{Origin, RANGE_BYTES, is_closed, is_first, range};
use crate::support::{BLOB_BYTES, noise};

type Lie = fn(&Request, Answer) -> Answer;

/// Replaces the header that says which range an answer has.
fn saying(answer: Answer, text: impl Into<String>) -> Answer {
    answer
        .without("Content-Range")
        .header("Content-Range", text)
}

/// Returns the first byte of the range that is asked for.
fn start(request: &Request) -> usize {
    let (start, _) = request.range(BLOB_BYTES).expect("a range");
    start
}

const LIES: [(&str, Lie); 17] = [
    ("the whole blob", |_, _| Answer::new(200, noise(BLOB_BYTES))),
    ("the whole blob of unknown length", |_, _| {
        let mut raw = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
        raw.extend(noise(BLOB_BYTES));
        Answer::raw(raw)
    }),
    ("another start", |request, honest| {
        let start = start(request) + 1;
        saying(
            honest,
            format!("bytes {start}-{}/{BLOB_BYTES}", start + RANGE_BYTES - 1),
        )
    }),
    ("a later end", |request, honest| {
        let start = start(request);
        saying(
            honest,
            format!("bytes {start}-{}/{BLOB_BYTES}", start + RANGE_BYTES),
        )
    }),
    ("another total", |request, honest| {
        let start = start(request);
        saying(
            honest,
            format!("bytes {start}-{}/7000000", start + RANGE_BYTES - 1),
        )
    }),
    ("no total", |request, honest| {
        let start = start(request);
        saying(
            honest,
            format!("bytes {start}-{}/*", start + RANGE_BYTES - 1),
        )
    }),
    ("no range", |_, honest| honest.without("Content-Range")),
    ("nonsense", |_, honest| {
        saying(honest, "bytes */99999999999999999999999")
    }),
    ("several parts", |_, _| {
        let part = "--x\r\nContent-Range: bytes 0-0/1000000\r\n\r\nA\r\n--x--\r\n";
        Answer::new(206, part).header("Content-Type", "multipart/byteranges; boundary=x")
    }),
    ("an encoding", |_, honest| {
        honest.header("Content-Encoding", "gzip")
    }),
    ("no ranges accepted", |_, honest| {
        honest.header("Accept-Ranges", "none")
    }),
    ("more bytes", |_, mut honest| {
        honest.body.extend_from_slice(&[0; 1000]);
        honest
    }),
    ("fewer bytes", |_, mut honest| {
        honest.body.pop();
        honest
    }),
    ("416", |_, _| Answer::new(416, "")),
    ("501", |_, _| Answer::new(501, "")),
    ("500", |_, _| Answer::new(500, "")),
    ("400", |_, _| Answer::new(400, "")),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lies_about_every_range_is_asked_for_one_stream() {
    for (name, lie) in LIES {
        let origin = Origin::serving(move |request, honest| {
            if is_closed(request) {
                lie(request, honest())
            } else {
                honest()
            }
        })
        .await;
        origin.assert_good(name).await;
        assert!(origin.ranges().len() <= 2, "{name}: {:?}", origin.ranges());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_is_kept_if_a_server_lies_about_later_ranges() {
    for (name, lie) in LIES {
        let origin = Origin::serving(move |request, honest| {
            let is_lie = is_closed(request) && !is_first(request);
            if is_lie {
                lie(request, honest())
            } else {
                honest()
            }
        })
        .await;
        origin.assert_good(name).await;
        let ranges = origin.ranges();
        let rest = format!("bytes={RANGE_BYTES}-");
        let is_known = |range: &String| range.ends_with('-') || range.contains("99");
        assert!(ranges.iter().all(is_known), "{name}: {ranges:?}");
        assert!(
            !ranges.contains(&String::new()),
            "{name}: the first range is kept"
        );
        let streams = ranges.iter().filter(|range| range.ends_with('-'));
        let starts: Vec<&String> = streams.collect();
        assert!(starts.len() <= 1, "{name}: {ranges:?}");
        assert!(
            starts.iter().all(|range| **range == rest),
            "{name}: {ranges:?}"
        );
        assert!(ranges.len() < 40, "{name}: {ranges:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_is_refused_once_is_fetched_again_and_the_ones_behind_it_kept() {
    for (name, lie) in LIES {
        let has_lied = AtomicBool::new(false);
        let origin = Origin::serving(move |request, honest| {
            let is_third = request
                .headers
                .get("range")
                .is_some_and(|text| *text == range(3));
            if is_third && !has_lied.swap(true, Ordering::Relaxed) {
                lie(request, honest())
            } else {
                honest()
            }
        })
        .await;
        origin.assert_good(name).await;
        let mut ranges = origin.ranges();
        ranges.sort();
        let again = ranges.windows(2).filter(|pair| pair[0] == pair[1]);
        let again: Vec<&String> = again.map(|pair| &pair[0]).collect();
        assert_eq!(again, [&range(3)], "{name}");
        let streams = ranges.iter().filter(|range| range.ends_with('-'));
        assert!(streams.count() <= 1, "{name}: {ranges:?}");
    }
}

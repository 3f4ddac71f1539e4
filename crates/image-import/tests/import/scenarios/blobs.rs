//! Blobs that break off, are wrong, stall or never end.

use std::time::Duration;

use super::{Scenario, is_layer, layer, play, pulled, refused};
use crate::server::{Answer, Request};

/// Answers requests for the layer like this, and all others honestly.
fn layer_is(
    answer: impl Fn(&Request, Answer) -> Answer + Send + Sync + 'static,
) -> impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static {
    move |request, honest, _| {
        if is_layer(request) {
            return answer(request, honest);
        }
        honest
    }
}

/// Cuts the first answer for the layer after these bytes, and answers further requests like this.
fn cut_then(
    after_bytes: usize,
    then: impl Fn(Answer) -> Answer + Send + Sync + 'static,
) -> impl Fn(&Request, Answer, &str) -> Answer + Send + Sync + 'static {
    layer_is(move |request, honest| match request.earlier {
        0 => honest.cut(after_bytes),
        _ => then(honest),
    })
}

fn whole() -> Answer {
    Answer::new(200, layer())
}

/// Returns a part of the layer, with a header that states another start.
fn part(from: usize, said_from: usize) -> Answer {
    let range = format!("bytes {said_from}-{}/{}", layer().len() - 1, layer().len());
    Answer::new(206, &layer()[from..]).header("Content-Range", range)
}

/// Returns a body in chunks (RFC 9112, section 7.1).
fn chunked(chunks: &[&[u8]], end: &str) -> Answer {
    let mut raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in chunks {
        raw.extend(format!("{:x}\r\n", chunk.len()).bytes());
        raw.extend(*chunk);
        raw.extend(b"\r\n");
    }
    raw.extend(end.bytes());
    Answer::raw(raw)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_breaks_off_goes_on() {
    let last = layer().len() - 1;
    let mut scenarios: Vec<Scenario> = [0, 1, 10, 1000, last / 2, last]
        .into_iter()
        .map(|bytes| {
            pulled(
                &format!("cut after {bytes} bytes"),
                cut_then(bytes, |honest| honest),
            )
        })
        .collect();
    scenarios.extend([
        pulled(
            "cut every 2000 bytes",
            layer_is(|_, honest| {
                let bytes = honest.body.len().min(2000);
                if bytes < 2000 {
                    honest
                } else {
                    honest.cut(bytes)
                }
            }),
        )
        .most_requests(50),
        refused(
            "cut every 500 bytes, which is too often",
            "ended after",
            layer_is(|_, honest| honest.cut(500)),
        )
        .most_requests(60),
        refused(
            "never a byte",
            "connection was lost",
            layer_is(|_, honest| honest.cut(0)),
        )
        .most_requests(12),
        pulled(
            "reset in the middle",
            layer_is(|request, honest| match request.earlier {
                0 => honest.cut(20_000).reset(),
                _ => honest,
            }),
        ),
        pulled("Range ignored", cut_then(20_000, |_| whole())),
        pulled(
            "a range that begins before",
            cut_then(20_000, |_| part(5_000, 5_000)),
        ),
        pulled(
            "a range without end",
            cut_then(20_000, |honest| {
                honest
                    .without("Content-Range")
                    .header("Content-Range", "bytes 20000-")
            }),
        ),
        refused(
            "a range that begins behind",
            "ended after 20000",
            cut_then(20_000, |_| part(30_000, 30_000)),
        )
        .most_requests(15),
        refused(
            "a range that is not what it says",
            "its blob has digest",
            cut_then(20_000, |_| {
                let mut answer = part(20_000, 20_000);
                answer.body.reverse();
                answer
            }),
        ),
        refused(
            "a range that says it begins before",
            "more than",
            cut_then(20_000, |_| {
                let mut answer = part(0, 0);
                answer.body.extend(layer());
                answer.content_length = Some(answer.body.len() as u64);
                answer
            }),
        ),
        refused(
            "206 without a range",
            "ended after 20000",
            cut_then(20_000, |honest| honest.without("Content-Range")),
        )
        .most_requests(15),
        refused(
            "206 with nonsense for a range",
            "ended after 20000",
            cut_then(20_000, |honest| {
                honest
                    .without("Content-Range")
                    .header("Content-Range", "bytes */99999999999999999999999")
            }),
        )
        .most_requests(15),
        refused(
            "416",
            "answers 416 for blob",
            cut_then(20_000, |_| Answer::new(416, "")),
        )
        .most_requests(12),
        refused(
            "gone after a cut",
            "has no blob",
            cut_then(20_000, |_| Answer::new(404, "")),
        )
        .most_requests(12),
        pulled(
            "down after a cut",
            layer_is(|request, honest| match request.earlier {
                0 => honest.cut(20_000),
                1 => Answer::new(503, ""),
                2 => Answer::raw("").reset(),
                3 => Answer::new(429, "").header("Retry-After", "0"),
                _ => honest,
            }),
        ),
    ]);
    play(scenarios).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_is_another_is_refused() {
    let half = layer().len() / 2;
    play(vec![
        refused(
            "one bit",
            "its blob has digest",
            layer_is(|_, mut honest| {
                let middle = honest.body.len() / 2;
                honest.body[middle] ^= 1;
                honest
            }),
        ),
        refused(
            "other bytes of the same length",
            "its blob has digest",
            layer_is(|_, mut honest| {
                honest.body.fill(0);
                honest
            }),
        ),
        refused(
            "a byte too many",
            "its descriptor says",
            layer_is(|_, mut honest| {
                honest.body.push(0);
                honest
            }),
        ),
        refused(
            "a byte too few",
            "its descriptor says",
            layer_is(|_, mut honest| {
                honest.body.pop();
                honest
            }),
        ),
        refused(
            "nothing",
            "its descriptor says",
            layer_is(|_, _| Answer::new(200, "")),
        ),
        refused(
            "204",
            "its descriptor says",
            layer_is(|_, _| Answer::raw("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")),
        ),
        refused(
            "an endless body",
            "more than",
            layer_is(|_, honest| honest.endless()),
        ),
        refused(
            "endless chunks",
            "more than",
            layer_is(|_, _| chunked(&[layer(), layer(), layer()], "0\r\n\r\n")),
        ),
        pulled(
            "chunks",
            layer_is(move |_, _| chunked(&[&layer()[..half], &layer()[half..]], "0\r\n\r\n")),
        ),
        pulled(
            "chunks with a trailer",
            layer_is(move |_, _| chunked(&[layer()], "0\r\nX: y\r\n\r\n")),
        ),
        refused(
            "chunks that end early",
            "ended after",
            layer_is(move |_, _| chunked(&[&layer()[..100]], "0\r\n\r\n")),
        ),
        refused(
            "a chunk of 2^64 bytes",
            "connection was lost",
            layer_is(|_, _| chunked(&[], "ffffffffffffffffff\r\n")),
        ),
        refused(
            "a chunk of no length",
            "connection was lost",
            layer_is(|_, _| chunked(&[], "xyz\r\n")),
        ),
        pulled(
            "said to be compressed once more, and is not",
            layer_is(|_, honest| honest.header("Content-Encoding", "gzip")),
        ),
        refused(
            "compressed once more",
            "its descriptor says",
            layer_is(|_, honest| {
                let body = crate::images::pack(&honest.body, crate::images::Packing::Gzip);
                Answer::new(200, body).header("Content-Encoding", "gzip")
            }),
        ),
        refused(
            "no blob",
            "has no blob",
            layer_is(|_, _| Answer::new(404, "")),
        ),
        refused(
            "500 for a blob",
            "answers 500 for blob",
            layer_is(|_, _| Answer::new(500, "")),
        )
        .most_requests(12),
        refused(
            "a page in the place of a blob",
            "its descriptor says",
            layer_is(|_, _| Answer::new(200, "<html>sign in</html>")),
        ),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_stands_still_is_asked_for_again() {
    let pause = Duration::from_secs(30);
    let mut slow = refused(
        "a byte now and then",
        "is too slow",
        layer_is(|_, honest| honest.pausing(1, Duration::from_millis(50))),
    )
    .most_requests(12);
    slow.options.registry_limits.pace_window = Duration::from_millis(600);
    slow.options.registry_limits.pace_bytes = 4000;
    let mut brisk = pulled(
        "slow, but not too slow",
        layer_is(|_, honest| honest.pausing(10_000, Duration::from_millis(200))),
    );
    brisk.options.registry_limits.pace_window = Duration::from_millis(600);
    brisk.options.registry_limits.pace_bytes = 2000;
    play(vec![
        pulled(
            "stands still once",
            layer_is(move |request, honest| match request.earlier {
                0 => honest.pausing(20_000, pause),
                _ => honest,
            }),
        )
        .idle(500),
        refused(
            "stands still whenever asked",
            "stalled for 0.3 s",
            layer_is(move |_, honest| honest.pausing(1, pause)),
        )
        .idle(300)
        .most_requests(70),
        refused(
            "an answer whose body never begins",
            "stalled for 0.3 s",
            layer_is(move |_, honest| {
                let mut silent = honest.pausing(1, pause);
                silent.content_length = Some(silent.body.len() as u64);
                silent.body.truncate(1);
                silent
            }),
        )
        .idle(300)
        .most_requests(70),
        slow,
        brisk,
    ])
    .await;
}

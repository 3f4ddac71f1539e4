//! Temporary and permanent failures, and responses that are hardly HTTP.

use std::time::Duration;

use super::{Scenario, is_manifest, layer, play, pulled, refused};
use crate::server::Answer;

/// Returns a scenario in which every path fails once with this answer.
fn once(name: &str, answer: impl Fn() -> Answer + Send + Sync + 'static) -> Scenario {
    pulled(name, move |request, honest, _| match request.earlier {
        0 => answer(),
        _ => honest,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_asked_again_but_not_for_ever() {
    let retry = |value: &'static str| move || Answer::new(429, "").header("Retry-After", value);
    let mut scenarios = vec![
        once("429 with seconds", retry("0")),
        once("429 with a day, which is not waited for", retry("86400")),
        once(
            "429 with more seconds than there are",
            retry("99999999999999999999999999"),
        ),
        once(
            "429 with a date gone by",
            retry("Sun, 06 Nov 1994 08:49:37 GMT"),
        ),
        once(
            "429 with a date far ahead",
            retry("Fri, 31 Dec 9999 23:59:59 GMT"),
        ),
        once("429 with nonsense", retry("soon\u{7f}")),
        once("429 with less than nothing", retry("-1")),
        once("a reset connection", || Answer::raw("").reset()),
        once("no answer", || Answer::raw("")),
        once("half a head", || Answer::raw("HTTP/1.1 200 OK\r\nContent-")),
        refused("resets for ever", "connection was lost", |_, _, _| {
            Answer::raw("").reset()
        })
        .most_requests(5),
        refused("no HTTP at all", "connection was lost", |_, _, _| {
            Answer::raw("SSH-2.0-x\r\n")
        })
        .most_requests(5),
        refused("a head of 1 MB", "connection was lost", |_, _, _| {
            Answer::raw(format!(
                "HTTP/1.1 200 OK\r\nX: {}\r\n\r\n",
                "x".repeat(1 << 20)
            ))
        })
        .most_requests(5),
        refused("10 000 headers", "connection was lost", |_, _, _| {
            Answer::raw(format!(
                "HTTP/1.1 200 OK\r\n{}\r\n",
                "X: y\r\n".repeat(10_000)
            ))
        })
        .most_requests(5),
        refused("an endless head", "connection was lost", |_, _, _| {
            Answer::raw(format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(200_000)))
        })
        .most_requests(5),
        refused("two lengths", "connection was lost", |_, _, _| {
            Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
        })
        .most_requests(5),
        refused(
            "a length below nothing",
            "connection was lost",
            |_, _, _| Answer::raw("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        )
        .most_requests(5),
        refused(
            "no answer for a long time",
            "stalled for 0.3 s",
            |_, honest, _| honest.pausing(1, Duration::from_secs(5)),
        )
        .idle(300)
        .most_requests(5),
        pulled("HTTP/1.0", |request, honest, _| {
            if !is_manifest(request) {
                return honest;
            }
            let mut raw = b"HTTP/1.0 200 OK\r\n\r\n".to_vec();
            raw.extend(honest.body);
            Answer::raw(raw)
        }),
        pulled(
            "more bytes than the length says",
            |request, mut honest, _| {
                if is_manifest(request) {
                    honest.content_length = Some(honest.body.len() as u64);
                    honest.body.extend(layer());
                }
                honest
            },
        ),
    ];
    for status in [408, 429, 500, 502, 503, 504] {
        scenarios.push(once(&format!("{status} once"), move || {
            Answer::new(status, "")
        }));
        let words = format!("answers {status} for image '");
        let name = format!("{status} for ever");
        let serve = move |_: &_, _, _: &str| Answer::new(status, "");
        scenarios.push(refused(&name, &words, serve).most_requests(5));
    }
    for status in [300, 304, 400, 402, 405, 410, 418, 451, 501, 599, 999] {
        let words = format!("answers {status} for image '");
        let name = format!("{status} is final");
        let serve = move |_: &_, _, _: &str| Answer::new(status, "");
        scenarios.push(refused(&name, &words, serve).most_requests(1));
    }
    play(scenarios).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failing_registry_says_is_cut_and_escaped() {
    let says =
        |status: u16, body: String| move |_: &_, _, _: &str| Answer::new(status, body.clone());
    let error = |message: &str| format!(r#"{{"errors":[{{"code":"X","message":"{message}"}}]}}"#);
    play(vec![
        refused(
            "404 in the specification's words",
            "has no image '",
            says(404, error("gone")),
        )
        .most_requests(1),
        refused(
            "404 with a megabyte",
            "has no image '",
            says(404, error(&"x".repeat(1 << 20))),
        ),
        refused("404 without end", "has no image '", |_, _, _| {
            Answer::new(404, vec![b'x'; 65_536]).endless()
        }),
        refused(
            "400 with escapes",
            "no\\u{1b}]0;title\\u{7}",
            says(400, error("no\\u001b]0;title\\u0007")),
        ),
        refused(
            "400 with raw escapes",
            "answers 400 for image '",
            says(400, "\u{1b}[2J\u{9b}31m".to_owned()),
        ),
        refused(
            "400 with line breaks",
            "a\\nmsb: b",
            says(400, error("a\\nmsb: b")),
        ),
        refused(
            "400 with much to say",
            "xxxx…",
            says(400, error(&"x".repeat(10_000))),
        ),
        refused("400 with a code alone", ":latest': X", says(400, error(""))),
        refused(
            "400 with other JSON",
            "answers 400 for image '",
            says(400, "{\"errors\":7}".to_owned()),
        ),
        refused(
            "400 with text that turns around",
            "\\u{202e}",
            says(400, error("a\\u202egnp.exe")),
        ),
    ])
    .await;
}

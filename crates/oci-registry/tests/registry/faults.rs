//! Uploads to registries that break off, forget, refuse, lie and lead astray.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diagnosis::Diagnose as _;
use oci_registry::{BlobState, Credential, CredentialSource, RegistryError, RegistryLimits};
use testkit::registry::{Answer, Request, Server};

use crate::support::{BLOB_BYTES, Honest, Target, descriptor, line, noise, push_to, quick};

fn has_bytes(request: &Request) -> bool {
    request.method == "PATCH"
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_is_cut_at_every_chunk_goes_on_where_it_was() {
    let cut_bytes = 70_000;
    let target = Target::cutting(
        move |request| has_bytes(request).then_some(cut_bytes),
        |_, honest| honest(),
    )
    .await;
    let bytes = noise(BLOB_BYTES);
    target.push(&bytes).await.expect("pushed");
    assert!(target.has(&bytes));
    assert_eq!(target.count("POST"), 1, "one upload");
    assert_eq!(target.count("PATCH"), BLOB_BYTES / cut_bytes + 1);
    let requests = target.server.requests();
    let resumed: Vec<&Request> = requests
        .iter()
        .filter(|request| has_bytes(request))
        .collect();
    assert_eq!(resumed[1].headers["content-range"], "70000-999999");
    let received: usize = resumed.iter().map(|request| request.bytes.len()).sum();
    assert_eq!(received, BLOB_BYTES, "no byte is sent twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_without_resumption_gets_the_blob_again() {
    for status in [404, 405, 416, 400] {
        let target = Target::cutting(
            |request| (has_bytes(request) && request.path.contains("/1?")).then_some(500_000),
            move |request, honest| match request.method.as_str() {
                "GET" => Answer::new(status, ""),
                _ => honest(),
            },
        )
        .await;
        let bytes = noise(BLOB_BYTES);
        target.push(&bytes).await.expect("pushed");
        assert!(target.has(&bytes), "{status}");
        assert_eq!(target.count("POST"), 2, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_whose_confirmation_is_lost_is_not_sent_again() {
    let target = Target::serving(|request, honest| {
        let answer = honest();
        if request.method == "PUT" && request.earlier == 0 {
            return Answer::raw("");
        }
        answer
    })
    .await;
    let bytes = noise(BLOB_BYTES);
    target.push(&bytes).await.expect("pushed");
    assert!(target.has(&bytes));
    assert_eq!((target.count("POST"), target.count("PATCH")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_takes_only_small_requests_gets_chunks() {
    for minimum in [None, Some(90_000)] {
        let limit_bytes = 100_000;
        let target = Target::serving(move |request, honest| {
            let is_long = has_bytes(request) && request.bytes.len() > limit_bytes;
            match (is_long, minimum) {
                (true, _) => Answer::new(413, ""),
                (false, Some(bytes)) => honest().header("OCI-Chunk-Min-Length", bytes.to_string()),
                (false, None) => honest(),
            }
        })
        .await;
        // The requests that are refused must not be kept either.
        let bytes = noise(BLOB_BYTES);
        let outcome = target.push(&bytes).await;
        let requests = target.server.requests();
        let taken: BTreeSet<usize> = requests
            .iter()
            .filter(|request| has_bytes(request) && request.bytes.len() <= limit_bytes)
            .map(|request| request.bytes.len())
            .collect();
        outcome.unwrap_or_else(|error| panic!("{minimum:?}: {}", line(&error)));
        let expected = minimum.unwrap_or(80_000);
        assert!(taken.contains(&expected), "{taken:?}");
        assert!(target.has(&bytes));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_far_below_the_first_chunk_is_found() {
    for is_closed in [false, true] {
        let is_long = |request: &Request| {
            let length = request.headers.get("content-length");
            let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
            has_bytes(request) && length > 6_000
        };
        let target = Target::cutting(
            move |request| (is_closed && is_long(request)).then_some(0),
            move |request, honest| {
                if is_long(request) {
                    return Answer::new(413, "");
                }
                honest()
            },
        )
        .await;
        // From the whole blob to the least, there are more steps than attempts.
        let limits = RegistryLimits {
            chunk_min_bytes: 5_000,
            ..quick()
        };
        let destination = target
            .destination_with(CredentialSource::None, limits, &[])
            .await;
        let bytes = noise(BLOB_BYTES);
        let pushed = push_to(&destination, &bytes).await;
        pushed.unwrap_or_else(|error| panic!("{is_closed}: {}", line(&error)));
        assert!(target.has(&bytes), "{is_closed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_keeps_a_byte_of_each_request_is_given_up() {
    let target = Target::serving(|request, honest| {
        let has = |bytes: usize| Answer::new(202, "").header("Range", format!("0-{bytes}"));
        match request.method.as_str() {
            "PATCH" | "GET" => has(request.earlier + 1),
            _ => honest(),
        }
    })
    .await;
    let error = target.push(&noise(10_000)).await;
    error.expect_err("too few");
    assert!(target.count("PATCH") <= 50, "{}", target.count("PATCH"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_off_as_a_whole_passes_in_parts() {
    // A middlebox that lets nothing through but short requests.
    let target = Target::cutting(
        |request| {
            let length = request.headers.get("content-length");
            let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or(0);
            (has_bytes(request) && length > 90_000).then_some(0)
        },
        |_, honest| honest(),
    )
    .await;
    let bytes = noise(BLOB_BYTES);
    target.push(&bytes).await.expect("pushed");
    assert!(target.has(&bytes));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_forgets_every_upload_is_given_up() {
    let target = Target::serving(|request, honest| {
        if has_bytes(request) {
            return Answer::new(404, r#"{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN"}]}"#);
        }
        honest()
    })
    .await;
    let bytes = noise(BLOB_BYTES);
    let error = target.push(&bytes).await.expect_err("forgotten");
    assert!(
        matches!(error, RegistryError::NotFound { .. }),
        "{}",
        line(&error)
    );
    assert!(target.count("PATCH") <= 5 && !target.has(&bytes));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_may_fail_for_a_while() {
    for (status, retry_after) in [(429, Some("0")), (503, None), (500, None), (408, None)] {
        let failed: Mutex<BTreeSet<String>> = Mutex::default();
        let target = Target::serving(move |request, honest| {
            if failed.lock().expect("a set").insert(request.method.clone()) {
                let answer = Answer::new(status, r#"{"errors":[{"code":"TOOMANYREQUESTS"}]}"#);
                return match retry_after {
                    Some(value) => answer.header("Retry-After", value),
                    None => answer,
                };
            }
            honest()
        })
        .await;
        let bytes = noise(BLOB_BYTES);
        let pushed = target.push(&bytes).await;
        pushed.unwrap_or_else(|error| panic!("{status}: {}", line(&error)));
        assert!(target.has(&bytes), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_asks_for_patience_is_given_it_within_limits() {
    let target = Target::serving(|request, honest| {
        let is_first = request.method == "POST" && request.earlier == 0;
        if is_first {
            Answer::new(429, "").header("Retry-After", "1")
        } else {
            honest()
        }
    })
    .await;
    let limits = RegistryLimits {
        pause: Duration::from_secs(3),
        ..quick()
    };
    let destination = target
        .destination_with(CredentialSource::None, limits, &[])
        .await;
    let begun = Instant::now();
    push_to(&destination, &noise(1000)).await.expect("pushed");
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_elsewhere_gets_no_credentials() {
    let elsewhere = Target::honest().await;
    let there = elsewhere.server.address;
    let inner = Arc::clone(&elsewhere.registry);
    let target = Target::serving(move |request, honest| {
        match request.headers.get("authorization").map(String::as_str) {
            Some("Basic dXNlcjpwYXNz") => {}
            _ => return Answer::new(401, "").header("WWW-Authenticate", "Basic realm=x"),
        }
        if request.method == "POST" {
            let begun = inner.answer(request);
            let location = begun.headers.iter().find(|(name, _)| name == "Location");
            let (_, path) = location.expect("a Location");
            return Answer::new(202, "")
                .header("Location", format!("http://user:word@{there}{path}"));
        }
        honest()
    })
    .await;
    let given = CredentialSource::Given(Credential::Password {
        username: "user".to_owned(),
        password: "pass".to_owned(),
    });
    let destination = target.destination_with(given, quick(), &[]).await;
    let bytes = noise(BLOB_BYTES);
    push_to(&destination, &bytes).await.expect("pushed");
    assert!(elsewhere.has(&bytes));
    assert_eq!(elsewhere.methods(), ["PATCH", "PUT"]);
    assert!(!elsewhere.server.saw_credentials());
    assert!(target.server.saw_credentials());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_challenge_from_elsewhere_is_not_answered() {
    let elsewhere =
        Server::new(|_| Answer::new(401, "").header("WWW-Authenticate", "Basic realm=x")).await;
    let there = elsewhere.address;
    let target = Target::serving(move |request, honest| {
        if request.method == "POST" {
            return Answer::new(202, "").header("Location", format!("http://{there}/x"));
        }
        honest()
    })
    .await;
    let given = CredentialSource::Given(Credential::IdentityToken("secret".to_owned()));
    let destination = target.destination_with(given, quick(), &[]).await;
    let error = push_to(&destination, &noise(1000)).await;
    let error = error.expect_err("refused");
    assert!(matches!(error, RegistryError::Unauthorized { .. }));
    assert!(!elsewhere.saw_credentials());
    assert_eq!(elsewhere.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_redirected_keeps_its_bytes_or_is_refused() {
    for (status, is_taken) in [
        (307, true),
        (308, true),
        (301, false),
        (302, false),
        (303, false),
    ] {
        let target = Target::serving(move |request, honest| {
            let is_first = has_bytes(request) && !request.path.contains("again");
            if is_first {
                return Answer::new(status, "")
                    .header("Location", format!("{}&again=1", request.path));
            }
            honest()
        })
        .await;
        let bytes = noise(BLOB_BYTES);
        let outcome = target.push(&bytes).await;
        match outcome {
            // What the first request had brought is in the upload, too, and a chunk tells.
            Ok(()) => assert!(is_taken && target.has(&bytes), "{status}"),
            Err(error) => {
                assert!(!is_taken, "{status}: {}", line(&error));
                assert!(matches!(error, RegistryError::Redirect { .. }));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_make_no_sense_end_the_upload() {
    type Lie = fn(&Request, Honest<'_>) -> Answer;
    let lies: [(&str, &str, Lie); 8] = [
        (
            "no Location",
            "it has no Location",
            |request, honest| match request.method.as_str() {
                "POST" => Answer::new(202, ""),
                _ => honest(),
            },
        ),
        (
            "a file",
            "not an HTTP address",
            |request, honest| match request.method.as_str() {
                "POST" => Answer::new(202, "").header("Location", "file:///etc/passwd"),
                _ => honest(),
            },
        ),
        (
            "no address",
            "not a valid address",
            |request, honest| match request.method.as_str() {
                "POST" => Answer::new(202, "").header("Location", "http://[x"),
                _ => honest(),
            },
        ),
        (
            "more than was sent",
            "more bytes than were sent",
            |request, honest| match request.method.as_str() {
                "PATCH" => honest().without("Range").header("Range", "0-99999999"),
                _ => honest(),
            },
        ),
        (
            "no range",
            "its Range cannot be read",
            |request, honest| match request.method.as_str() {
                "PATCH" => honest().without("Range").header("Range", "5-9"),
                _ => honest(),
            },
        ),
        (
            "another digest",
            "says that it stored blob",
            |request, honest| match request.method.as_str() {
                "PUT" => honest().without("Docker-Content-Digest").header(
                    "Docker-Content-Digest",
                    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                ),
                _ => honest(),
            },
        ),
        (
            "a wrong digest",
            "did not match uploaded content",
            |request, honest| match request.method.as_str() {
                "PUT" => Answer::new(
                    400,
                    r#"{"errors":[{"code":"DIGEST_INVALID","message":"did not match uploaded content"}]}"#,
                ),
                _ => honest(),
            },
        ),
        (
            "nothing is kept",
            "bytes",
            |request, honest| match request.method.as_str() {
                "PATCH" | "GET" => honest().without("Range").header("Range", "0-0"),
                _ => honest(),
            },
        ),
    ];
    for (name, words, lie) in lies {
        let target = Target::serving(lie).await;
        let error = target.push(&noise(BLOB_BYTES)).await.expect_err(name);
        let line = line(&error);
        assert!(line.contains(words), "{name}: {line}");
        assert!(target.methods().len() < 40, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_has_what_it_has_not_is_found_out_by_its_length() {
    let target = Target::serving(|request, honest| {
        if request.method == "HEAD" {
            let mut answer = Answer::new(200, "");
            answer.content_length = Some(5);
            return answer;
        }
        honest()
    })
    .await;
    let bytes = noise(1000);
    target.push(&bytes).await.expect("pushed");
    assert!(target.has(&bytes));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_takes_no_bytes_is_not_awaited_for_ever() {
    let (target, holding) = Target::silent().await;
    let limits = RegistryLimits {
        idle: Duration::from_millis(200),
        finish: Duration::from_millis(300),
        ..quick()
    };
    let destination = target
        .destination_with(CredentialSource::None, limits, &[])
        .await;
    // The first does not fit into the sockets' buffers; of the second only the answer is missing.
    for length in [30_000_000, 1000] {
        let error = push_to(&destination, &noise(length)).await;
        let error = error.expect_err("stalled");
        assert!(
            matches!(error, RegistryError::Stalled { .. }),
            "{}",
            line(&error)
        );
    }
    holding.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_denies_access_says_so_with_a_remedy() {
    for status in [401, 403] {
        let target = Target::serving(move |request, honest| match request.method.as_str() {
            "POST" => Answer::new(
                status,
                r#"{"errors":[{"code":"DENIED","message":"not\u001byours"}]}"#,
            ),
            _ => honest(),
        })
        .await;
        let destination = target.destination().await;
        let blob = descriptor(b"x");
        let state = destination.find_or_mount(&blob, Some("base")).await;
        assert!(matches!(state, Ok(BlobState::Missing(None))));
        let error = target.push(&noise(10)).await.expect_err("denied");
        let line = line(&error);
        assert!(line.contains("not\\u{1b}yours"), "{line}");
        let hint = error.diagnosis().advice().expect("a hint");
        assert!(hint.contains("msb login 127.0.0.1"), "{hint}");
    }
}

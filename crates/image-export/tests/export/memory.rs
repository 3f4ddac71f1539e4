//! Endless answers to each request of a push, in a child process whose memory is measured.

#![expect(
    clippy::print_stdout,
    reason = "the child tells its peak, and a recorded run shows it"
)]

use std::time::Duration;

use testkit::images::TestImage;
use testkit::push_registry::PushRegistry;
use testkit::registry::{Answer, Request, Server};

use crate::pushes::{TestStore, digest};

/// Largest resident memory of the process, in bytes, with the registry that runs in it.
const PEAK_MAX_BYTES: u64 = 64 << 20;
/// Length of the longest header in bytes: longer than a client reads, and little beside the peak, as
/// the registry makes copies of it.
const HEADER_BYTES: usize = 1 << 20;
const IN_CHILD: &str = "MSB_TEST_ENDLESS_ANSWERS";
/// The case of a registry that has taken everything, by its own word.
const SAYS_YES: usize = 0;
/// A push that takes longer has no end.
const TIMEOUT: Duration = Duration::from_secs(120);

#[test]
fn endless_answers_take_little_memory_and_publish_nothing_half() {
    let peak = testkit::peak_bytes_of_child("child_that_pushes_to_endless_answers", IN_CHILD);
    println!("{} MiB at most", peak >> 20);
    assert!(peak < PEAK_MAX_BYTES, "{peak} bytes");
}

/// Does nothing unless the test above runs it.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_pushes_to_endless_answers() {
    if std::env::var_os(IN_CHILD).is_none() {
        return;
    }
    let image = TestImage::sample();
    let store = TestStore::new();
    let stored = store.load(&image).await;
    for case in 0..9 {
        let registry = std::sync::Arc::new(PushRegistry::default());
        let inner = std::sync::Arc::clone(&registry);
        let server = Server::new(move |request| answer(case, request, &inner)).await;
        let name = server.reference("app:1");
        let pushing = store.push(&stored, &name);
        let pushed = tokio::time::timeout(TIMEOUT, pushing).await;
        match pushed.expect("the push has an end") {
            Ok(pushed) => {
                let Some(published) = registry.manifest("app", "1") else {
                    assert_eq!(case, SAYS_YES, "case {case} has no manifest");
                    continue;
                };
                let found = oci_image::Digest::compute(&published);
                assert_eq!(found, pushed.manifest_digest, "case {case}");
                assert_ne!(found, digest(&image), "the layers were compressed");
            }
            Err(error) => {
                println!("case {case}: {error}");
                assert!(registry.manifest("app", "1").is_none(), "case {case}");
            }
        }
    }
    testkit::tell_own_peak();
}

/// Answers honestly but for the requests of the case, whose answers have no end or no measure.
fn answer(case: usize, request: &Request, registry: &PushRegistry) -> Answer {
    let endless = |status| Answer::new(status, vec![b'x'; 65_536]).endless();
    let is_manifest = request.path.contains("/manifests/");
    let realm = format!(r#"Bearer realm="http://{}/token""#, request.headers["host"]);
    match case {
        SAYS_YES => endless(200),
        1 if request.method == "HEAD" => endless(200),
        2 if request.method == "POST" => endless(500),
        3 if request.method == "PATCH" => endless(400),
        4 if request.method == "PUT" && !is_manifest => endless(400),
        5 if is_manifest => endless(400),
        6 if request.path.starts_with("/token") => endless(200),
        6 => Answer::new(401, "").header("WWW-Authenticate", realm),
        7 => endless(429),
        8 if request.method == "POST" => {
            let answer = registry.answer(request).without("Location");
            answer.header("Location", format!("/{}", "x".repeat(HEADER_BYTES)))
        }
        _ => registry.answer(request),
    }
}

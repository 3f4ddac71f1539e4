//! Endless responses, read in a child process whose memory is measured.

use oci_image::Digest;

use super::{is_config, sample};
use crate::server::{Answer, Content, Server};
use crate::support::TestStore;

/// Largest resident memory of the process, in bytes.
const PEAK_MAX_BYTES: u64 = 150 << 20;
const IN_CHILD: &str = "MSB_TEST_ENDLESS_ANSWERS";

#[test]
fn answers_without_end_take_little_memory() {
    let peak = testkit::peak_bytes_of_child("child_that_reads_without_end", IN_CHILD);
    println!("{} MiB at most", peak >> 20);
    assert!(peak < PEAK_MAX_BYTES, "{peak} bytes");
}

/// Does nothing unless the test above runs it.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_reads_without_end() {
    if std::env::var_os(IN_CHILD).is_none() {
        return;
    }
    let endless = || Answer::new(200, vec![b' '; 65_536]).endless();
    let realm = |host: &str| {
        let realm = format!(r#"Bearer realm="http://{host}/token""#);
        Answer::new(401, "").header("WWW-Authenticate", realm)
    };
    let store = TestStore::new();
    for case in 0..6 {
        let content = Content::from_image(sample());
        let server = Server::new(move |request| {
            let honest = content.answer(request);
            let is_layer = request
                .path
                .ends_with(&Digest::compute(super::layer()).to_string());
            match case {
                0 => endless(),
                1 if is_config(request) => endless(),
                2 if is_layer => endless(),
                3 if request.path.starts_with("/token") => endless(),
                3 => realm(&request.headers["host"]),
                4 => Answer::new(500, vec![b'x'; 65_536]).endless(),
                5 => many_descriptors(),
                _ => honest,
            }
        })
        .await;
        store
            .pull(&server.reference("app"))
            .await
            .expect_err("endless");
    }
    testkit::tell_own_peak();
}

/// Returns an index of nearly 8 MiB that consists of the shortest possible entries.
fn many_descriptors() -> Answer {
    let entries = r#"{"digest":"","size":0},"#.repeat((8 << 20) / 23 - 10);
    let index = format!(
        r#"{{"schemaVersion":2,"manifests":[{}]}}"#,
        entries.trim_end_matches(',')
    );
    Answer::new(200, index).header("Content-Type", crate::images::INDEX)
}

//! Memory of a download in ranges that arrive faster than they are read, measured in a child process.

#![expect(clippy::print_stdout, reason = "the figure is worth printing")]

use std::time::Duration;

use bytes::Bytes;
use oci_image::Descriptor;
use oci_registry::{CredentialSource, PARTS_IN_FLIGHT, Registries, RegistryLimits};
use testkit::registry::{Answer, Server};
use tokio::sync::mpsc;

use super::origin::repository_at;
use crate::support::descriptor;

/// Length of the blob, in bytes.
const SIZE_BYTES: usize = 256 << 20;
/// Largest resident memory of the process, in bytes: 48 MiB of ranges, and as much for the answers of
/// the test's server, which makes each as a whole.
const PEAK_MAX_BYTES: u64 = 150 << 20;
const IN_CHILD: &str = "MSB_TEST_RANGES_AHEAD";

#[test]
fn ranges_ahead_of_a_slow_reader_take_bounded_memory() {
    let peak = testkit::peak_bytes_of_child("child_that_reads_ranges_slowly", IN_CHILD);
    println!("{} MiB at most", peak >> 20);
    assert!(peak < PEAK_MAX_BYTES, "{peak} bytes");
}

/// Does nothing unless the test above runs it.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_reads_ranges_slowly() {
    if std::env::var_os(IN_CHILD).is_none() {
        return;
    }
    let server = Server::new(|request| {
        let (start, end) = request.range(SIZE_BYTES).expect("a range");
        Answer::new(206, vec![1; end - start]).header(
            "Content-Range",
            format!("bytes {start}-{}/{SIZE_BYTES}", end - 1),
        )
    })
    .await;
    let limits = RegistryLimits::default();
    let (registries, credentials) = (Registries::default(), CredentialSource::None);
    let repository = repository_at(server.address, &limits, &registries, &credentials).await;
    let blob = Descriptor {
        size_bytes: SIZE_BYTES as u64,
        ..descriptor(b"")
    };
    let source = repository.sources(&blob).remove(0);
    let (sender, mut parts) = mpsc::channel::<Bytes>(PARTS_IN_FLIGHT);
    let downloading = tokio::spawn(async move { source.download(&blob, sender).await });
    let (mut count_bytes, mut rested_bytes) = (0, 0);
    while let Some(part) = parts.recv().await {
        count_bytes += part.len();
        if count_bytes - rested_bytes > 32 << 20 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            rested_bytes = count_bytes;
        }
    }
    downloading.await.expect("no panic").expect("downloaded");
    assert_eq!(count_bytes, SIZE_BYTES);
    testkit::tell_own_peak();
}

//! The connections and the memory that the downloads of a repository share.

use std::time::Duration;

use bytes::Bytes;
use oci_registry::{
    BlobSource, CredentialSource, Registries, RegistryError, RegistryLimits, Repository,
};
use tokio::sync::mpsc;

use super::counting::CountingServer;
use super::origin::{RANGE_BYTES, bytes_from, in_ranges, repository_at};
use crate::support::{BLOB_BYTES, descriptor, noise};

/// Time after which a download that does not end has failed.
const DEADLINE: Duration = Duration::from_secs(60);

async fn repository(server: &CountingServer, limits: &RegistryLimits) -> Repository {
    let registries = Registries::default();
    repository_at(server.address, limits, &registries, &CredentialSource::None).await
}

fn source(repository: &Repository, blob: &[u8]) -> BlobSource {
    repository.sources(&descriptor(blob)).remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_of_one_blob_are_fetched_at_once_and_a_connection_is_left() {
    let blob = noise(BLOB_BYTES);
    let server = CountingServer::start(blob.clone()).await;
    let repository = repository(&server, &in_ranges()).await;
    let bytes = bytes_from(&source(&repository, &blob), &blob).await;
    assert!(bytes.expect("downloaded") == blob);
    assert!(
        (2..=5).contains(&server.most_open()),
        "{}",
        server.most_open()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn all_downloads_together_keep_to_the_limit_on_connections() {
    let blob = noise(BLOB_BYTES);
    let server = CountingServer::start(blob.clone()).await;
    let repository = repository(&server, &in_ranges()).await;
    let source = source(&repository, &blob);
    let downloads = async {
        tokio::join!(
            bytes_from(&source, &blob),
            bytes_from(&source, &blob),
            bytes_from(&source, &blob),
            bytes_from(&source, &blob),
        )
    };
    let (a, b, c, d) = tokio::time::timeout(DEADLINE, downloads)
        .await
        .expect("in time");
    for bytes in [a, b, c, d] {
        assert!(bytes.expect("downloaded") == blob);
    }
    assert!(
        (4..=6).contains(&server.most_open()),
        "{}",
        server.most_open()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_is_requested_ahead_than_there_is_memory_for() {
    let blob = noise(BLOB_BYTES);
    let server = CountingServer::start(blob.clone()).await;
    let ranges = 3;
    let limits = RegistryLimits {
        range_memory_bytes: ranges * RANGE_BYTES as u64,
        connections: 50,
        ..in_ranges()
    };
    let repository = repository(&server, &limits).await;
    let source = source(&repository, &blob);
    let (sender, mut parts) = mpsc::channel::<Bytes>(1);
    let descriptor = descriptor(&blob);
    let downloading = tokio::spawn(async move { source.download(&descriptor, sender).await });
    // Nothing is read, so the first range does not end, and those behind it fill the memory.
    let count = || server.starts().len() as u64;
    wait_until(|| count() > ranges).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(count(), ranges + 1, "{:?}", server.starts());
    let mut bytes = Vec::new();
    while let Some(part) = parts.recv().await {
        bytes.extend_from_slice(&part);
    }
    assert!(bytes == blob);
    downloading.await.expect("no panic").expect("downloaded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blob_that_is_not_read_keeps_no_other_from_coming() {
    let blob = noise(BLOB_BYTES);
    let server = CountingServer::start(blob.clone()).await;
    let repository = repository(&server, &in_ranges()).await;
    let source = source(&repository, &blob);
    let mut waiting: Vec<mpsc::Receiver<Bytes>> = Vec::new();
    for _ in 0..3 {
        let (sender, parts) = mpsc::channel(1);
        let (source, descriptor) = (source.clone(), descriptor(&blob));
        tokio::spawn(async move { source.download(&descriptor, sender).await });
        waiting.push(parts);
    }
    wait_until(|| server.starts().len() >= 4).await;
    let bytes = tokio::time::timeout(DEADLINE, bytes_from(&source, &blob)).await;
    assert!(bytes.expect("in time").expect("downloaded") == blob);
    // The memory of those that are given up is there for the next one.
    drop(waiting);
    let bytes = tokio::time::timeout(DEADLINE, bytes_from(&source, &blob)).await;
    assert!(bytes.expect("in time").expect("downloaded") == blob);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_ends_with_its_reader() {
    let blob = noise(BLOB_BYTES);
    let server = CountingServer::start(blob.clone()).await;
    let repository = repository(&server, &in_ranges()).await;
    let source = source(&repository, &blob);
    let (sender, mut parts) = mpsc::channel::<Bytes>(1);
    let descriptor = descriptor(&blob);
    let downloading = tokio::spawn(async move { source.download(&descriptor, sender).await });
    parts.recv().await.expect("a part");
    drop(parts);
    let ended = tokio::time::timeout(DEADLINE, downloading)
        .await
        .expect("in time");
    let error = ended.expect("no panic").expect_err("abandoned");
    assert!(matches!(error, RegistryError::Abandoned), "{error}");
}

/// Waits until a condition holds.
async fn wait_until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, waiting)
        .await
        .expect("it holds in time");
}

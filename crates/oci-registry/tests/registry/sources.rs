//! Sources of bytes that fail, lie or are slow.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use oci_image::Descriptor;
use oci_registry::{BlobBytes, CredentialSource, ReadError, RegistryError, RegistryLimits};
use tokio::sync::mpsc::Sender;

use crate::support::{BLOB_BYTES, Parts, Target, descriptor, line, noise, quick};

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_fails_is_named_with_its_reason_and_not_asked_again() {
    let target = Target::honest().await;
    let bytes = noise(BLOB_BYTES);
    let source = Arc::new(Parts {
        bytes: bytes.clone(),
        offsets: std::sync::Mutex::default(),
        fails_at: Some(500_000),
    });
    let destination = target.destination().await;
    let blob = descriptor(&bytes);
    let upload = destination.upload(&blob, source.clone(), None, Arc::new(()));
    let error = upload.await.expect_err("a failure");
    let line = line(&error);
    assert!(line.contains("to upload it: the disk is gone"), "{line}");
    assert_eq!(*source.offsets.lock().expect("offsets"), [0]);
    assert_eq!(target.count("PUT"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_not_what_it_says_is_not_published() {
    let bytes = noise(BLOB_BYTES);
    let mut damaged = bytes.to_vec();
    damaged[777_777] ^= 1;
    let short = bytes.slice(..BLOB_BYTES - 1);
    for (name, source) in [("damaged", Bytes::from(damaged)), ("short", short)] {
        let target = Target::honest().await;
        let destination = target.destination().await;
        let blob = descriptor(&bytes);
        let upload = destination.upload(&blob, Parts::new(&source), None, Arc::new(()));
        let error = upload.await.expect_err(name);
        let is_expected = match name {
            "short" => matches!(error, RegistryError::Source { .. }),
            _ => matches!(error, RegistryError::SourceDigest { .. }),
        };
        assert!(is_expected, "{name}: {}", line(&error));
        assert_eq!(target.count("PUT"), 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_has_more_than_it_says_is_cut() {
    // The digest of the first bytes is what counts.
    let target = Target::honest().await;
    let bytes = noise(BLOB_BYTES);
    let first = bytes.slice(..600_000);
    let destination = target.destination().await;
    destination
        .upload(&descriptor(&first), Parts::new(&bytes), None, Arc::new(()))
        .await
        .expect("pushed");
    assert!(target.has(&first));
}

/// A source that thinks before each part.
#[derive(Debug)]
struct Slow(Bytes);

impl BlobBytes for Slow {
    fn send_from(
        self: Arc<Self>,
        offset_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<(), ReadError>> + Send>> {
        Box::pin(async move {
            let start = usize::try_from(offset_bytes)?;
            for part in self.0[start..].chunks(200) {
                tokio::time::sleep(Duration::from_millis(1500)).await;
                let part = Bytes::copy_from_slice(part);
                if parts.send(part).await.is_err() {
                    break;
                }
            }
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_slow_source_is_not_the_registry_s() {
    let target = Target::honest().await;
    let limits = RegistryLimits {
        idle: Duration::from_millis(1000),
        pace_window: Duration::from_millis(1000),
        ..quick()
    };
    let destination = target
        .destination_with(CredentialSource::None, limits, &[])
        .await;
    let bytes = noise(600);
    destination
        .upload(
            &descriptor(&bytes),
            Arc::new(Slow(bytes.clone())),
            None,
            Arc::new(()),
        )
        .await
        .expect("pushed");
    assert!(target.has(&bytes));
}

/// An endless source, which counts what is taken of it.
#[derive(Debug, Default)]
struct Zeros(AtomicU64);

/// Length of each part of the endless source, in bytes.
const ZEROS_BYTES: usize = 1 << 20;

impl BlobBytes for Zeros {
    fn send_from(
        self: Arc<Self>,
        _: u64,
        parts: Sender<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<(), ReadError>> + Send>> {
        Box::pin(async move {
            let part = Bytes::from(vec![0; ZEROS_BYTES]);
            while parts.send(part.clone()).await.is_ok() {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_is_not_read_ahead_of_the_network() {
    let (target, holding) = Target::silent().await;
    let limits = RegistryLimits {
        idle: Duration::from_secs(3),
        attempts: 1,
        ..quick()
    };
    let destination = target
        .destination_with(CredentialSource::None, limits, &[])
        .await;
    let source = Arc::new(Zeros::default());
    let blob = Descriptor {
        size_bytes: 1 << 40,
        ..descriptor(b"")
    };
    let upload = destination.upload(&blob, source.clone(), None, Arc::new(()));
    upload.await.expect_err("stalled");
    let taken = source.0.load(Ordering::Relaxed);
    assert!((1..48).contains(&taken), "{taken} MiB");
    holding.abort();
}

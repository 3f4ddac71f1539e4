//! Comparison with independent tools: skopeo and the registry of the distribution project. These
//! tests fail if the tools are not installed.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use image_export::LayerRoute;
use serde_json::Value;
use testkit::RealRegistry;
use testkit::images::{Packing, TestImage, TestLayer, write_directory};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};

use crate::pushes::{TestStore, digest, routes};

fn skopeo(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("skopeo")
        .arg("--insecure-policy")
        .args(arguments)
        .output()
        .expect("skopeo must be installed (package skopeo)");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Returns an image whose layers skopeo takes as they are, and its child with one more layer.
fn family() -> (TestImage, TestImage) {
    let noise: Vec<u8> = (0..2_000_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    let base = vec![
        TestLayer::new(&[("base", b"base"), ("noise", &noise)], Packing::Gzip),
        TestLayer::new(&[("second", b"second")], Packing::Gzip),
    ];
    let mut all = base.clone();
    all.push(TestLayer::new(&[("new", &noise[..300_000])], Packing::Gzip));
    (TestImage::new(base), TestImage::new(all))
}

/// Puts an image into a registry with skopeo.
fn seed(registry: &RealRegistry, image: &TestImage, directory: &Path, name: &str) -> String {
    write_directory(&image.layout(Some("tag")), directory);
    let reference = format!("{}/{name}", registry.address);
    let source = format!("oci:{}:tag", directory.display());
    let target = format!("docker://{reference}");
    skopeo(&[
        "copy",
        "--quiet",
        "--dest-tls-verify=false",
        &source,
        &target,
    ]);
    reference
}

#[tokio::test(flavor = "multi_thread")]
async fn oracle_what_is_pushed_skopeo_finds_under_the_same_digest() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    for name in ["one", "other"] {
        std::fs::create_dir(at(name)).expect("made");
    }
    let (origin, target) = (
        RealRegistry::start(&at("one")),
        RealRegistry::start(&at("other")),
    );
    let (base, child) = family();
    let store = TestStore::new();
    let stored = store
        .pull(&seed(&origin, &base, &at("base"), "lib/base:1"))
        .await;
    let name = format!("{}/team/app:1", target.address);
    let pushed = store.push(&stored, &name).await.expect("pushed");
    assert_eq!(routes(&pushed), [LayerRoute::Streamed; 2]);
    let found = skopeo(&[
        "inspect",
        "--raw",
        "--tls-verify=false",
        &format!("docker://{name}"),
    ]);
    assert_eq!(found, base.manifest);
    let copy = format!("dir:{}", at("copy").display());
    skopeo(&[
        "copy",
        "--quiet",
        "--src-tls-verify=false",
        &format!("docker://{name}"),
        &copy,
    ]);

    // A child whose base is there costs its own layer, its config and its manifest.
    let before_bytes = target.blob_bytes();
    let stored = store
        .pull(&seed(&origin, &child, &at("child"), "lib/base:2"))
        .await;
    let name = format!("{}/team/app:2", target.address);
    let pushed = store.push(&stored, &name).await.expect("pushed");
    assert_eq!(pushed.manifest_digest, digest(&child));
    let new_bytes = child.layers[2].blob.len() + child.config.len() + child.manifest.len();
    assert_eq!(target.blob_bytes() - before_bytes, new_bytes as u64);
    assert_eq!(pushed.uploaded_bytes, child.layers[2].blob.len() as u64);

    // In the same registry, another repository lends the layers.
    let name = format!("{}/team/app:2", origin.address);
    let before_bytes = origin.blob_bytes();
    let pushed = store.push(&stored, &name).await.expect("pushed");
    assert_eq!(routes(&pushed), [LayerRoute::Mounted; 3]);
    assert_eq!(origin.blob_bytes(), before_bytes);
}

/// Starts a server that leads to a registry, and breaks connections off, so many in all, after so
/// many bytes of their requests. Returns its address.
async fn cutting(registry: &RealRegistry, cuts: usize, after_bytes: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let target = registry.address.clone();
    let left = Arc::new(AtomicUsize::new(cuts));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let upstream = TcpStream::connect(&target).await.expect("connected");
            let left = Arc::clone(&left);
            tokio::spawn(async move {
                let (from_client, mut to_client) = client.into_split();
                let (mut from_upstream, mut to_upstream) = upstream.into_split();
                let is_cut = |_: &u64| {
                    let fewer = |left: usize| left.checked_sub(1);
                    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer)
                        .is_ok()
                };
                let mut limited = from_client.take(after_bytes);
                tokio::select! {
                    _ = async {
                        let sent = tokio::io::copy(&mut limited, &mut to_upstream).await;
                        let all = sent.ok().filter(|bytes| *bytes == after_bytes);
                        if !all.as_ref().is_some_and(is_cut) {
                            let mut rest = limited.into_inner();
                            let _ = tokio::io::copy(&mut rest, &mut to_upstream).await;
                        }
                    } => {}
                    _ = tokio::io::copy(&mut from_upstream, &mut to_client) => {}
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn oracle_a_push_over_a_line_that_breaks_again_and_again_arrives() {
    let directory = tempfile::tempdir().expect("a directory");
    let registry = RealRegistry::start(directory.path());
    let (base, _) = family();
    let store = TestStore::new();
    let stored = store.load(&base).await;
    // This registry forgets an upload that broke off, so it gets the layer again.
    let address = cutting(&registry, 3, 3_000_000).await;
    let name = format!("{address}/team/app:1");
    let pushed = store.push(&stored, &name).await;
    let pushed = pushed.expect("pushed");
    let found = skopeo(&[
        "inspect",
        "--raw",
        "--tls-verify=false",
        &format!("docker://{}/team/app:1", registry.address),
    ]);
    assert_eq!(oci_image::Digest::compute(&found), pushed.manifest_digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn oracle_a_loaded_image_is_made_anew_and_skopeo_reads_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let registry = RealRegistry::start(directory.path());
    let (base, _) = family();
    let store = TestStore::new();
    let stored = store.load(&base).await;
    let name = format!("{}/team/app:1", registry.address);
    let pushed = store.push(&stored, &name).await.expect("pushed");
    assert_eq!(routes(&pushed), [LayerRoute::Rebuilt; 2]);
    let copy = directory.path().join("copy");
    skopeo(&[
        "copy",
        "--quiet",
        "--src-tls-verify=false",
        &format!("docker://{name}"),
        &format!("oci:{}:tag", copy.display()),
    ]);
    let config = skopeo(&[
        "inspect",
        "--config",
        "--raw",
        &format!("oci:{}:tag", copy.display()),
    ]);
    let config: Value = serde_json::from_slice(&config).expect("a config");
    let diff_ids: Vec<String> = base
        .layers
        .iter()
        .map(|layer| layer.diff_id().to_string())
        .collect();
    assert_eq!(config["rootfs"]["diff_ids"], Value::from(diff_ids));
    for layer in &pushed.layers {
        let blob = copy.join("blobs/sha256").join(layer.blob.digest.hex());
        let output = Command::new("gzip")
            .arg("--decompress")
            .arg("--stdout")
            .stdin(std::fs::File::open(blob).expect("opened"))
            .output()
            .expect("gzip must be installed");
        let tar = oci_image::Digest::compute(&output.stdout);
        assert_eq!(tar, layer.diff_id);
    }
}

//! Comparison with independent tools: skopeo and the registry of the distribution project. These
//! tests fail if the tools are not installed.

use std::path::Path;
use std::process::Command;

use image_import::LoadOptions;
use testkit::RealRegistry;

use crate::images::{Packing, TestImage, TestLayer, pack, write_directory};
use crate::support::{SAMPLE_FILES, TestStore, assert_good};

fn skopeo(arguments: &[&str]) {
    let output = Command::new("skopeo")
        .args(["--insecure-policy", "copy", "--quiet"])
        .args(arguments)
        .output()
        .expect("skopeo must be installed (package skopeo)");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn sample_layout(directory: &Path) -> String {
    // This skopeo does not convert zstd layers to docker's formats.
    let mut layers = TestImage::sample().layers;
    layers[1] = TestLayer {
        blob: pack(&layers[1].tar, Packing::Gzip),
        packing: Packing::Gzip,
        ..layers[1].clone()
    };
    write_directory(&TestImage::new(layers).layout(Some("tag")), directory);
    format!("oci:{}:tag", directory.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn oracle_every_format_that_skopeo_writes_gives_the_same_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let source = sample_layout(&at("source"));
    let path = |name: &str| at(name).display().to_string();
    skopeo(&[&source, &format!("oci:{}:other", path("layout"))]);
    skopeo(&[&source, &format!("oci-archive:{}", path("oci.tar"))]);
    skopeo(&[
        "--dest-compress-format",
        "zstd",
        &source,
        &format!("oci-archive:{}", path("zstd.tar")),
    ]);
    skopeo(&[
        &source,
        &format!("docker-archive:{}:some/name:tag", path("docker.tar")),
    ]);
    let mut stores = Vec::new();
    for name in ["source", "layout", "oci.tar", "zstd.tar", "docker.tar"] {
        let store = TestStore::new();
        let options = LoadOptions {
            name: "mine".parse().ok(),
            ..LoadOptions::default()
        };
        let loaded = store.load_with(&at(name), options).await.expect(name);
        assert_good(&store.store, &loaded[0], &SAMPLE_FILES);
        stores.push(store.artifacts());
    }
    assert!(stores.iter().all(|artifacts| *artifacts == stores[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn oracle_a_real_registry_serves_what_skopeo_pushed() {
    let directory = tempfile::tempdir().expect("a directory");
    let registry = RealRegistry::start(directory.path());
    let source = sample_layout(&directory.path().join("source"));
    let store = TestStore::new();
    let mut chain_keys = Vec::new();
    for (format, tag) in [("oci", "a"), ("v2s2", "b")] {
        let reference = format!("{}/some/app:{tag}", registry.address);
        let target = format!("docker://{reference}");
        skopeo(&[
            "--dest-tls-verify=false",
            "--format",
            format,
            &source,
            &target,
        ]);
        let stored = store.pull(&reference).await.expect(format);
        assert_good(&store.store, &stored, &SAMPLE_FILES);
        chain_keys.push(stored.record.chain_key);
    }
    assert_eq!(chain_keys[0], chain_keys[1]);
    store.assert_tidy();
}

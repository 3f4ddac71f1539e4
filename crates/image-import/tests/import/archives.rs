//! Loads of layouts, OCI archives and docker archives, valid and damaged.

use std::path::PathBuf;

use fs_err as fs;
use image_import::LoadOptions;
use serde_json::json;
use tempfile::TempDir;

use crate::images::{
    MANIFEST, Packing, TestImage, TestLayer, descriptor, host_architecture, layout, pack,
    platform_entry, tar_of, write_directory,
};
use crate::support::{SAMPLE_FILES, TestStore, assert_good, line};

/// A file that is removed with its directory.
struct OnDisk {
    _directory: TempDir,
    path: PathBuf,
}

fn on_disk(bytes: &[u8]) -> OnDisk {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("image.tar");
    fs::write(&path, bytes).expect("written");
    OnDisk {
        _directory: directory,
        path,
    }
}

fn named(name: &str) -> LoadOptions {
    LoadOptions {
        name: Some(name.parse().expect("a name")),
        ..LoadOptions::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_archive_gives_the_same_disk() {
    let image = TestImage::sample();
    let directory = tempfile::tempdir().expect("a directory");
    write_directory(&image.layout(None), directory.path());
    let oci = on_disk(&tar_of(&image.layout(None)));
    let gzipped = on_disk(&pack(&tar_of(&image.layout(None)), Packing::Gzip));
    let docker = on_disk(&tar_of(&image.docker(&["app:1", "app:2"])));
    let zipped_docker = on_disk(&pack(&tar_of(&image.docker(&[])), Packing::Zstd));
    let mut chains = Vec::new();
    for path in [
        directory.path(),
        &oci.path,
        &gzipped.path,
        &docker.path,
        &zipped_docker.path,
    ] {
        let store = TestStore::new();
        let loaded = store
            .load(path)
            .await
            .unwrap_or_else(|error| panic!("{}", line(&error)));
        assert_eq!(loaded.len(), 1);
        assert_good(&store.store, &loaded[0], &SAMPLE_FILES);
        store.assert_tidy();
        chains.push(store.artifacts());
    }
    assert!(chains.iter().all(|chain| *chain == chains[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_come_from_the_archive_or_from_the_user() {
    let image = TestImage::sample();
    let store = TestStore::new();
    let docker = on_disk(&tar_of(&image.docker(&["app:1", "reg.io/app:2"])));
    let loaded = store.load(&docker.path).await.expect("loaded");
    assert_eq!(
        loaded[0].record.references,
        ["docker.io/library/app:1", "reg.io/app:2"]
    );
    let full = on_disk(&tar_of(&image.layout(Some("reg.io/full:3"))));
    let loaded = store.load(&full.path).await.expect("loaded");
    assert_eq!(loaded[0].record.references, ["reg.io/full:3"]);
    let tag = on_disk(&tar_of(&image.layout(Some("latest"))));
    assert!(
        store.load(&tag.path).await.expect("loaded")[0]
            .record
            .references
            .is_empty()
    );
    let loaded = store
        .load_with(&tag.path, named("mine"))
        .await
        .expect("loaded");
    assert_eq!(
        loaded[0].record.references,
        ["docker.io/library/mine:latest"]
    );

    let shown: Vec<Option<String>> = store
        .store
        .images()
        .expect("listed")
        .into_iter()
        .map(|image| image.reference)
        .collect();
    let expected = ["app:1", "mine:latest", "reg.io/app:2", "reg.io/full:3"];
    assert_eq!(shown, expected.map(|name| Some(name.to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_archive_may_hold_several_images() {
    let sample = TestImage::sample();
    let other = TestImage::new(vec![TestLayer::new(&[("only", b"this")], Packing::Gzip)]);
    let foreign = TestImage::for_architecture(sample.layers.clone(), "s390x");
    let name = |mut entry: serde_json::Value, name: &str| {
        entry["annotations"] = json!({"io.containerd.image.name": name});
        entry
    };
    let entries = [
        name(platform_entry(&foreign, "s390x"), "docker.io/library/a:1"),
        name(
            platform_entry(&sample, host_architecture()),
            "docker.io/library/a:1",
        ),
        name(
            descriptor(MANIFEST, &other.manifest),
            "docker.io/library/b:1",
        ),
    ];
    let archive = on_disk(&tar_of(&layout(&[&sample, &other, &foreign], &entries)));
    let store = TestStore::new();
    let error = store
        .load_with(&archive.path, named("x"))
        .await
        .expect_err("two");
    assert!(line(&error).contains("2 images"), "{}", line(&error));
    store.assert_empty();
    assert_eq!(store.load(&archive.path).await.expect("loaded").len(), 2);
    assert_eq!(
        store
            .store
            .find("a:1")
            .expect("found")
            .record
            .manifest_digest
            .to_string(),
        sample.digest().to_string()
    );
    assert_eq!(
        store
            .store
            .find("b:1")
            .expect("found")
            .record
            .manifest_digest
            .to_string(),
        other.digest().to_string()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hybrid_archive_keeps_its_true_digest() {
    let image = TestImage::sample();
    let mut files = image.docker(&["app:1"]);
    files.extend(image.layout(Some("docker.io/library/app:1")));
    let archive = on_disk(&tar_of(&files));
    let loaded = TestStore::new().load(&archive.path).await.expect("loaded");
    assert_eq!(
        loaded[0].record.manifest_digest.to_string(),
        image.digest().to_string()
    );
}

/// Loads a damaged archive, and checks that nothing remains. Returns the error's line.
async fn refused(bytes: &[u8]) -> String {
    let (store, archive) = (TestStore::new(), on_disk(bytes));
    let error = store.load(&archive.path).await.expect_err("it fails");
    store.assert_tidy();
    let files = store.files();
    assert!(
        !files.keys().any(|path| path.starts_with("images/")),
        "{:?}",
        files.keys()
    );
    let line = line(&error);
    assert!(line.contains(&archive.path.display().to_string()), "{line}");
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_archive_is_told_what_was_expected() {
    for bytes in [
        &b""[..],
        b"hello",
        &[b'x'; 10_000],
        &tar_of(&[("a".to_owned(), vec![1])]),
    ] {
        let line = refused(bytes).await;
        assert!(
            line.contains("expected a directory with an OCI layout"),
            "{line}"
        );
    }
    let store = TestStore::new();
    let empty = tempfile::tempdir().expect("a directory");
    assert!(store.load(empty.path()).await.is_err());
    let error = store
        .load(&empty.path().join("missing"))
        .await
        .expect_err("missing");
    assert!(line(&error).contains("missing"), "{}", line(&error));
    store.assert_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn truncated_archives_are_told_as_such() {
    let whole = tar_of(&TestImage::sample().layout(None));
    for length in [600, whole.len() / 2, whole.len() - 2000] {
        let line = refused(&whole[..length]).await;
        let told = ["truncated", "has no", "expected a directory"];
        assert!(
            told.iter().any(|word| line.contains(word)),
            "{length}: {line}"
        );
    }
    let packed = pack(&whole, Packing::Gzip);
    let line = refused(&packed[..packed.len() / 2]).await;
    assert!(line.contains("cannot decompress"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_blobs_and_missing_ones_are_named() {
    let image = TestImage::sample();
    let path = format!("blobs/sha256/{}", image.layers[0].digest().hex());
    let mut files = image.layout(None);
    let damaged = files
        .iter_mut()
        .find(|(name, _)| *name == path)
        .expect("a layer");
    damaged.1[50_000] ^= 4;
    let line = refused_layout(&files).await;
    assert!(line.contains("its blob has digest"), "{line}");
    files.retain(|(name, _)| *name != path);
    let line = refused_layout(&files).await;
    assert!(line.contains(&path), "{line}");

    let mut docker = image.docker(&["a"]);
    docker[0].1[600] ^= 1;
    let line = refused(&tar_of(&docker)).await;
    assert!(
        line.contains(&image.layers[0].diff_id().to_string()),
        "{line}"
    );
}

async fn refused_layout(files: &[(String, Vec<u8>)]) -> String {
    refused(&tar_of(files)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_compression_and_broken_streams_are_named() {
    let tar = TestImage::sample().layers[0].tar.clone();
    let layer = |blob: Vec<u8>| TestLayer {
        tar: tar.clone(),
        blob,
        packing: Packing::Gzip,
    };
    let xz = TestImage::new(vec![layer(b"\xfd7zXZ\0 and so on".to_vec())]);
    let line = refused(&tar_of(&xz.layout(None))).await;
    assert!(line.contains("xz compression is not supported"), "{line}");
    let mut cut = pack(&tar, Packing::Gzip);
    cut.truncate(cut.len() - 4);
    let cut = TestImage::new(vec![layer(cut)]);
    let line = refused(&tar_of(&cut.layout(None))).await;
    assert!(line.contains("the gzip stream is corrupt"), "{line}");
    // A wrong media type does not matter.
    let plain = TestImage::new(vec![layer(tar.clone())]);
    let store = TestStore::new();
    store
        .load(&on_disk(&tar_of(&plain.layout(None))).path)
        .await
        .expect("loaded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_reads_nothing_outside_itself() {
    let image = TestImage::sample();
    let outer = tempfile::tempdir().expect("a directory");
    let directory = outer.path().join("archive");
    write_directory(&image.docker(&["a"]), &directory);
    fs::rename(
        directory.join("layer-0/layer.tar"),
        outer.path().join("layer.tar"),
    )
    .expect("moved");
    let table = fs::read_to_string(directory.join("manifest.json")).expect("read");
    let table = table.replace("layer-0/layer.tar", "../layer.tar");
    fs::write(directory.join("manifest.json"), table).expect("written");
    let error = TestStore::new()
        .load(&directory)
        .await
        .expect_err("outside");
    assert!(
        line(&error).contains("has no '../layer.tar'"),
        "{}",
        line(&error)
    );
}

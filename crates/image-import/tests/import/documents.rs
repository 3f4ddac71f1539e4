//! The documents of images are kept as they came, and new images are made of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use diagnosis::Diagnose as _;
use fs_err as fs;
use image_import::{NewImage, add};
use image_store::{DocumentsError, LayerDescriptor, Origin, StoredImage, VerifyMode, kept};
use oci_image::{Descriptor, Digest};
use oci_layers::Limits;
use serde_json::{Value, json};

use crate::images::{Packing, TestImage, TestLayer, tar_of, write_directory};
use crate::server::{Content, Server};
use crate::support::{TestStore, assert_good, line};

async fn loaded(store: &TestStore, image: &TestImage) -> StoredImage {
    let directory = tempfile::tempdir().expect("a directory");
    write_directory(&image.layout(Some("a:1")), directory.path());
    let loaded = store.load(directory.path()).await;
    loaded.expect("loaded").remove(0)
}

/// Makes the image look as if an older msb had stored it.
fn make_old(store: &TestStore, image: &StoredImage) {
    let path = store.root().join(format!(
        "images/{}.json",
        image.record.manifest_digest.hex()
    ));
    let mut record: Value = serde_json::to_value(&image.record).expect("JSON");
    let fields = record.as_object_mut().expect("an object");
    assert_eq!(fields.remove("has_documents"), Some(json!(true)));
    fields.remove("references");
    let sealed = sealed_records::seal(&record).expect("sealed");
    let copy = store.store.layout.copy(&path);
    for path in [&path, &copy] {
        fs::write(path, &sealed).expect("written");
    }
    for name in [
        format!("{}.manifest", image.record.manifest_digest.hex()),
        format!("{}.config", image.record.config_digest.hex()),
    ] {
        let path = store.store.layout.artifact(&name);
        kept::remove(&store.store.layout, &path).expect("removed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_kept_as_they_came() {
    let image = TestImage::sample();
    let server = Server::honest(Content::from_image(&image)).await;
    let store = TestStore::new();
    let pulled = store.pull(&server.reference("app:latest")).await;
    let pulled = pulled.expect("pulled");
    let documents = store.store.documents(&pulled.record).expect("read");
    assert_eq!(documents.manifest, image.manifest);
    assert_eq!(documents.config, image.config);
    for (layer, expected) in documents.layers.iter().zip(&image.layers) {
        assert_eq!(layer.diff_id.to_string(), expected.diff_id().to_string());
        assert_eq!(layer.blob.digest.to_string(), expected.digest().to_string());
        assert_eq!(layer.blob.size_bytes, expected.blob.len() as u64);
        assert_eq!(layer.repository, Some(server.reference("app")));
    }
    assert!(documents.layers[1].media_type.ends_with("+zstd"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_docker_archive_gets_a_manifest_that_is_kept() {
    let image = TestImage::sample();
    let directory = tempfile::tempdir().expect("a directory");
    let archive = directory.path().join("image.tar");
    fs::write(&archive, tar_of(&image.docker(&["a:1"]))).expect("written");
    let store = TestStore::new();
    let stored = store.load(&archive).await.expect("loaded").remove(0);
    let documents = store.store.documents(&stored.record).expect("read");
    let digest = Digest::compute(&documents.manifest);
    assert_eq!(digest, stored.record.manifest_digest);
    assert_eq!(documents.config, image.config);
    for layer in &documents.layers {
        assert_eq!(layer.blob.digest, layer.diff_id);
        assert_eq!(layer.repository, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_an_older_store_runs_and_gets_documents_when_it_is_loaded_again() {
    let (store, image) = (TestStore::new(), TestImage::sample());
    let stored = loaded(&store, &image).await;
    let whole = store.files();
    make_old(&store, &stored);
    let old = store.store.find("a:1").expect("found");
    store.store.check(&old).expect("it starts");
    let found = store.store.verify(&[], VerifyMode::Digest, &());
    assert_eq!(found.expect("verified").damages, []);
    let error = store.store.documents(&old.record).expect_err("absent");
    assert!(matches!(error, DocumentsError::Absent { .. }), "{error}");
    let hint = error.diagnosis().advice().expect("a remedy");
    assert!(hint.contains("msb load"), "{hint}");
    loaded(&store, &image).await;
    let again = |files: BTreeMap<String, Vec<u8>>| {
        let kept = files.into_iter();
        kept.filter(|(name, _)| !name.contains("origins/"))
            .collect::<BTreeMap<_, _>>()
    };
    assert!(again(store.files()) == again(whole));
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_go_with_the_last_image_that_needs_them() {
    let store = TestStore::new();
    loaded(&store, &TestImage::sample()).await;
    store.store.remove("a:1", &|_| Ok(false)).expect("removed");
    store.assert_empty();
}

/// Returns the parts of an image with one more layer, whose blob is at a path.
fn child(
    store: &TestStore,
    parent: &StoredImage,
    tar: &TestLayer,
) -> (NewImage, tempfile::TempDir) {
    let documents = store.store.documents(&parent.record).expect("read");
    let mut config: Value = serde_json::from_slice(&documents.config).expect("JSON");
    let diff_ids = config["rootfs"]["diff_ids"].as_array_mut().expect("a list");
    diff_ids.push(json!(tar.diff_id().to_string()));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("layer");
    fs::write(&file, &tar.blob).expect("written");
    let blob = Descriptor {
        digest: Digest::compute(&tar.blob),
        size_bytes: tar.blob.len() as u64,
    };
    let mut layers = documents.layers;
    layers.push(LayerDescriptor {
        diff_id: Digest::compute(&tar.tar),
        blob,
        media_type: oci_image::media_type::OCI_LAYER_GZIP.to_owned(),
        repository: None,
    });
    let parent = parent.record.manifest_digest;
    let new = NewImage {
        config: serde_json::to_vec(&config).expect("JSON"),
        layers,
        blobs: BTreeMap::from([(blob.digest, file.into())]),
        names: vec!["child:1".parse().expect("a name")],
        origin: Origin::Derived { parent },
    };
    (new, directory)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_added_image_shares_the_layers_of_its_parent() {
    let image = TestImage::sample();
    let server = Server::honest(Content::from_image(&image)).await;
    let store = TestStore::new();
    let parent = store.pull(&server.reference("app:latest")).await;
    let parent = parent.expect("pulled");
    let tar = TestLayer::new(&[("new", b"content")], Packing::Gzip);
    let (new, _directory) = child(&store, &parent, &tar);
    let added = add(&store.store, &new, &Limits::default(), Arc::new(())).await;
    let added = added.unwrap_or_else(|error| panic!("{}", line(&error)));
    assert_good(&store.store, &added, &[("greeting", 8), ("new", 7)]);
    assert_eq!(added.record.layers[..3], parent.record.layers[..]);
    let documents = store.store.documents(&added.record).expect("read");
    assert_eq!(documents.config, new.config);
    assert_eq!(
        documents.layers[0].repository,
        Some(server.reference("app"))
    );
    assert_eq!(documents.layers[3].repository, None);
    // The same parts are the same image, also when they are added again.
    let again = add(&store.store, &new, &Limits::default(), Arc::new(())).await;
    assert_eq!(
        again.expect("added").record.manifest_digest,
        added.record.manifest_digest
    );
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_whose_layers_do_not_fit_is_not_added() {
    let store = TestStore::new();
    let parent = loaded(&store, &TestImage::sample()).await;
    let tar = TestLayer::new(&[("new", b"content")], Packing::Gzip);
    let (new, _directory) = child(&store, &parent, &tar);
    let before = store.files();
    let mut without_blob = new.clone();
    without_blob.blobs.clear();
    let mut swapped = new.clone();
    swapped.layers.swap(0, 1);
    let mut fewer = new;
    fewer.layers.pop();
    for wrong in [without_blob, swapped, fewer] {
        let added = add(&store.store, &wrong, &Limits::default(), Arc::new(())).await;
        added.expect_err("it does not fit");
        assert!(store.files() == before);
    }
}

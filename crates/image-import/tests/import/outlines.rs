//! The tar of each layer is given back, byte for byte.

use std::io::Read as _;
use std::path::Path;

use diagnosis::Diagnose as _;
use fs_err as fs;
use image_store::{FileRole, LayerTarError, StoredImage, VerifyMode, layout, record};
use testkit::strategies::layers_of_seed;
use testkit::{TarBuilder, TarEntry};

use crate::images::{Packing, TestImage, TestLayer, write_directory};
use crate::support::{TestStore, line};

fn layer(tar: Vec<u8>) -> TestLayer {
    TestLayer {
        blob: tar.clone(),
        tar,
        packing: Packing::Plain,
    }
}

/// Loads an image of one layer. `None` if the layer is refused.
async fn load(store: &TestStore, tar: &[u8]) -> Option<StoredImage> {
    let image = TestImage::new(vec![layer(tar.to_vec())]);
    let directory = tempfile::tempdir().expect("a directory");
    write_directory(&image.layout(None), directory.path());
    let loaded = store.load(directory.path()).await;
    loaded.ok().map(|mut images| images.remove(0))
}

fn given_back(store: &TestStore, image: &StoredImage) -> Vec<u8> {
    let opened = store.store.layer_tar(&image.record.layers[0]);
    let mut tar = opened.unwrap_or_else(|error| panic!("{}", line(&error)));
    let mut bytes = Vec::new();
    tar.read_to_end(&mut bytes).expect("the right tar");
    bytes
}

/// Loads a layer that must be accepted, and compares.
async fn assert_comes_back(store: &TestStore, what: &str, tar: &[u8]) {
    let image = load(store, tar).await.unwrap_or_else(|| panic!("{what}"));
    assert!(given_back(store, &image) == tar, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_accepted_layer_of_the_fuzz_corpus_comes_back() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tar_layer");
    let store = TestStore::new();
    let mut accepted = 0;
    for seed in fs::read_dir(corpus).expect("a corpus") {
        let path = seed.expect("a seed").path();
        let tar = fs::read(&path).expect("read");
        if let Some(image) = load(&store, &tar).await {
            assert!(given_back(&store, &image) == tar, "{}", path.display());
            accepted += 1;
        }
    }
    assert!(accepted > 100, "{accepted} were accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn random_layers_come_back() {
    let store = TestStore::new();
    for seed in 0..30 {
        for steps in layers_of_seed(seed) {
            let entries = steps.iter().map(testkit::strategies::Step::entry);
            let tar = TarBuilder::archive(entries);
            if let Some(image) = load(&store, &tar).await {
                assert!(given_back(&store, &image) == tar, "seed {seed}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_no_file_of_the_image_has_come_back() {
    let store = TestStore::new();
    let long: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let duplicates = TarBuilder::archive([
        TarEntry::file("a", &long),
        TarEntry::file("a", b"short"),
        TarEntry::directory("a"),
        TarEntry::file("b", &long),
        TarEntry::file("c", b"short"),
    ]);
    assert_comes_back(&store, "duplicates", &duplicates).await;
    let whiteouts = TarBuilder::archive([
        TarEntry::file("d/.wh.a", &long),
        TarEntry::file("d/.wh..wh..opq", b"content"),
        TarEntry::file(".wh..wh.plnk", b"aufs"),
    ]);
    assert_comes_back(&store, "whiteouts with content", &whiteouts).await;
    let plain = TarBuilder::archive([TarEntry::file("a", b"x")]);
    let mut padded = plain.clone();
    padded[512 + 100] = 7;
    assert_comes_back(&store, "padding that is not zero", &padded).await;
    assert_comes_back(&store, "no end", &plain[..1024]).await;
    assert_comes_back(&store, "no padding", &plain[..513]).await;
    let trailing = [&plain[..], &long[..40_000]].concat();
    assert_comes_back(&store, "trailing bytes", &trailing).await;
    assert_comes_back(&store, "zeros", &[0; 10_240]).await;
    assert_comes_back(&store, "nothing", b"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outline_is_small() {
    let store = TestStore::new();
    let content = |number: u32| -> Vec<u8> {
        let words = (0..2_000_u32).map(|word| (word ^ number).wrapping_mul(2_654_435_761));
        words.flat_map(u32::to_le_bytes).collect()
    };
    let name = |number: u32| format!("usr/lib/package-{}/file-{number}", number / 20);
    let files = (0..2_000).map(|number| TarEntry::file(name(number), content(number)));
    let tar = TarBuilder::archive(files);
    let image = load(&store, &tar).await.expect("loaded");
    let outline = store.store.outline(&image.record.layers[0]);
    let outline = outline.expect("kept");
    assert_eq!(outline.tar_bytes, tar.len() as u64);
    let (size, limit) = (outline.size_bytes, outline.tar_bytes * 3 / 100);
    assert!(size < limit, "{size} bytes of {}", outline.tar_bytes);
}

/// Returns a store with an image of one layer.
async fn one() -> (TestStore, StoredImage, Vec<u8>) {
    let store = TestStore::new();
    let tar = TarBuilder::archive([TarEntry::file("a", b"content")]);
    let image = load(&store, &tar).await.expect("loaded");
    (store, image, tar)
}

/// Reads the layer's tar. `None` if that fails, and the right bytes if not.
fn read(store: &TestStore, image: &StoredImage, tar: &[u8]) -> Option<()> {
    let mut opened = store.store.layer_tar(&image.record.layers[0]).ok()?;
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes).ok()?;
    assert!(bytes == tar, "another tar");
    Some(())
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_never_gives_another_tar() {
    let (store, image, tar) = one().await;
    let outline = layout::outline_file(&image.record.layers[0].diff_id);
    let outline = store.store.layout.artifact(&outline);
    let whole = fs::read(&outline).expect("read");
    let mut refused = 0;
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        fs::write(&outline, &changed).expect("written");
        refused += usize::from(read(&store, &image, &tar).is_none());
        fs::write(&outline, &whole[..at]).expect("written");
        read(&store, &image, &tar);
    }
    assert!(refused > whole.len() / 2, "{refused} of {}", whole.len());
    fs::write(&outline, &whole).expect("written");
    read(&store, &image, &tar).expect("whole");
    let mut content = fs::read(&image.layers[0]).expect("read");
    content[4096] ^= 1;
    fs::write(&image.layers[0], &content).expect("written");
    assert_eq!(read(&store, &image, &tar), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_of_an_older_store_gets_its_outline_when_it_is_loaded_again() {
    let (store, image, tar) = one().await;
    let old = &image.record.layers[0];
    let path = store
        .store
        .layout
        .artifact(&layout::record_file(&old.diff_id));
    let file = record::LayerFile::new(old.clone(), None);
    fs::write(&path, sealed_records::seal(&file).expect("sealed")).expect("written");
    let outline = store
        .store
        .layout
        .artifact(&layout::outline_file(&old.diff_id));
    fs::remove_file(&outline).expect("removed");
    store.store.check(&image).expect("it starts");
    let verified = store.store.verify(&[], VerifyMode::Digest, &());
    assert_eq!(verified.expect("verified").damages, []);
    let error = store.store.layer_tar(old).expect_err("absent");
    assert!(matches!(error, LayerTarError::Absent { .. }), "{error}");
    let hint = error.diagnosis().advice().expect("a remedy");
    assert!(hint.contains("msb load"), "{hint}");
    load(&store, &tar).await.expect("loaded");
    assert!(given_back(&store, &image) == tar);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_outline_is_found() {
    let (store, image, tar) = one().await;
    let outline = layout::outline_file(&image.record.layers[0].diff_id);
    fs::remove_file(store.store.layout.artifact(&outline)).expect("removed");
    let verified = store.store.verify(&[], VerifyMode::Digest, &());
    let damages = verified.expect("verified").damages;
    assert_eq!(damages.len(), 1);
    assert_eq!(damages[0].role, FileRole::Outline);
    let error = store.store.layer_tar(&image.record.layers[0]);
    assert!(matches!(error, Err(LayerTarError::Damaged { .. })));
    load(&store, &tar).await.expect("loaded");
    assert!(given_back(&store, &image) == tar);
}

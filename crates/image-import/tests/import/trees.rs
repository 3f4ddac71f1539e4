//! Each layer and the merged metadata have a tree beside them, which proves their blocks.

use std::path::PathBuf;
use std::sync::Arc;

use diagnosis::Diagnose as _;
use fs_err as fs;
use fstree::ReadAt as _;
use image_import::PullOptions;
use image_store::{
    CheckError, FileRole, Problem, Progress, StoredImage, Verification, VerifyMode, layout, tree,
};
use vmdk::Descriptor;

use crate::images::{TestImage, write_directory};
use crate::server::{Content, Server};
use crate::support::TestStore;

/// Returns a store with an image that was loaded from a directory.
async fn loaded() -> (TestStore, StoredImage) {
    let source = tempfile::tempdir().expect("a directory");
    write_directory(&TestImage::sample().layout(Some("a:1")), source.path());
    let store = TestStore::new();
    let image = store.load(source.path()).await.expect("loaded").remove(0);
    (store, image)
}

fn verify(store: &TestStore, mode: VerifyMode) -> Verification {
    let verified = store.store.verify(&[], mode, &());
    verified.expect("verified")
}

/// Returns the paths of an image's trees.
fn trees_of(store: &TestStore, image: &StoredImage) -> Vec<PathBuf> {
    let images = image.record.erofs_images();
    let files = images.map(|erofs| layout::tree_file(&erofs.file));
    files
        .map(|file| store.store.layout.artifact(&file))
        .collect()
}

async fn repair(store: &TestStore, found: &Verification) {
    let progress: Arc<dyn Progress> = Arc::new(());
    let options = PullOptions::default();
    let repaired = image_import::repair(&store.store, found, &options, &progress).await;
    assert_eq!(repaired.expect("repaired").advice, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_and_a_pull_make_the_trees_of_their_images() {
    let (store, image) = loaded().await;
    let server = Server::honest(Content::from_image(&TestImage::sample())).await;
    let other = TestStore::new();
    other.pull(&server.reference("app")).await.expect("pulled");
    assert!(store.artifacts() == other.artifacts());

    let work = tempfile::tempdir().expect("a directory");
    for erofs in image.record.erofs_images() {
        let opened = tree::open(&store.store.layout, erofs).expect("the right tree");
        let opened = opened.expect("a tree");
        let path = store.store.layout.artifact(&erofs.file);
        let bytes = fs::read(&path).expect("read");
        opened.verify(0, &bytes).expect("the right bytes");
        let made = work.path().join("tree");
        let (_, checksum, size_bytes) = tree::write(&path, &made).expect("written");
        assert_eq!((checksum, size_bytes), (erofs.blake3, erofs.size_bytes));
        let there = store.store.layout.artifact(&layout::tree_file(&erofs.file));
        assert!(fs::read(there).expect("read") == fs::read(&made).expect("read"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verification_makes_the_trees_of_an_older_store() {
    let (store, image) = loaded().await;
    let whole = store.files();
    for tree in trees_of(&store, &image) {
        fs::remove_file(tree).expect("removed");
    }
    let stamped = verify(&store, VerifyMode::Stamp);
    assert_eq!(stamped.damages, []);
    assert!(
        store.files() != whole,
        "stamps prove the images, so nothing was read"
    );
    assert_eq!(verify(&store, VerifyMode::Digest).damages, []);
    assert!(store.files() == whole);
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_makes_the_trees_of_an_older_store() {
    let (store, image) = loaded().await;
    let whole = store.files();
    for mode in [VerifyMode::Stamp, VerifyMode::Digest] {
        for tree in trees_of(&store, &image) {
            fs::remove_file(tree).expect("removed");
        }
        let made = store.store.check_with(&image, mode).expect("it starts");
        let artifacts = image.record.erofs_images();
        let artifacts = artifacts.map(|erofs| store.store.layout.artifact(&erofs.file));
        assert_eq!(made.treeless, artifacts.collect::<Vec<_>>());
        assert!(store.files() == whole);
        let again = store.store.check_with(&image, mode).expect("it starts");
        assert!(again.treeless.is_empty(), "{again:?}");
    }
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_reads_no_content_but_that_of_an_image_without_a_tree() {
    let (store, image) = loaded().await;
    let (layer, tree) = (&image.layers[0], tree::path(&image.layers[0]));
    let mut bytes = fs::read(layer).expect("read");
    bytes[5000] ^= 1;
    fs::write(layer, bytes).expect("written");
    for mode in [VerifyMode::Stamp, VerifyMode::Digest] {
        store.store.check_with(&image, mode).expect("it starts");
    }
    let extent = image
        .extents()
        .into_iter()
        .find(|extent| extent.file == *layer);
    let file = extent.expect("an extent").open(None).expect("opened");
    let mut block = [0; 4096];
    file.read_exact_at(&mut block, 0).expect("as it was");
    file.read_exact_at(&mut block, 4096).expect_err("changed");

    fs::remove_file(&tree).expect("removed");
    let refused = store
        .store
        .check(&image)
        .expect_err("it is not what was written");
    assert!(matches!(refused, CheckError::Content { .. }), "{refused}");
    assert!(!tree.exists());
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_extents_of_an_image_are_those_of_its_descriptor() {
    let (_store, image) = loaded().await;
    let text = fs::read_to_string(&image.vmdk).expect("read");
    let descriptor = Descriptor::parse(&text).expect("a descriptor");
    let directory = image.vmdk.parent().expect("a directory");
    let named = descriptor.extents.iter().map(|extent| {
        let length_bytes = extent.sectors * vmdk::SECTOR_BYTES;
        (directory.join(&extent.file_name), 0, length_bytes)
    });
    let extents = image.extents().into_iter();
    let extents = extents.map(|extent| (extent.file, extent.offset_bytes, extent.length_bytes));
    assert_eq!(extents.collect::<Vec<_>>(), named.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_tree_is_found_and_made_again() {
    let (store, image) = loaded().await;
    let whole = store.files();
    let trees = trees_of(&store, &image);
    let exchanged = fs::read(&trees[1]).expect("read");
    for tree in &trees {
        let bytes = fs::read(tree).expect("read");
        let mut flipped = bytes.clone();
        flipped[bytes.len() - 1] ^= 1;
        let cut = bytes[..bytes.len() - 32].to_vec();
        for damaged in [flipped, cut, exchanged.clone(), Vec::new()] {
            if damaged == bytes {
                continue;
            }
            fs::write(tree, damaged).expect("written");
            for mode in [VerifyMode::Stamp, VerifyMode::Digest] {
                let found = verify(&store, mode).damages;
                assert_eq!(found.len(), 1, "{found:?}");
                let (role, problem) = (found[0].role, &found[0].problem);
                assert_eq!((role, problem), (FileRole::Tree, &Problem::Changed));
                assert_eq!(&found[0].path, tree);
                assert_eq!(found[0].images.len(), 1);
            }
            let refused = store
                .store
                .check(&image)
                .expect_err("its reads prove nothing");
            let (path, hint) = (tree.display().to_string(), refused.diagnosis());
            assert!(refused.to_string().contains(&path), "{refused}");
            assert!(hint.advice().is_some_and(|hint| hint.contains("--repair")));
            repair(&store, &verify(&store, VerifyMode::Digest)).await;
            assert!(store.files() == whole, "{}", tree.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_changed_block_is_named() {
    let (store, image) = loaded().await;
    let layer = &image.layers[0];
    let whole = fs::read(layer).expect("read");
    let last = whole.len() - 1;
    let block = |at: usize| u64::try_from(at / 4096 * 4096).expect("short");
    for (changed, expected) in [
        (vec![5000, last], 4096),
        (vec![last], block(last)),
        (vec![0], 0),
    ] {
        let mut bytes = whole.clone();
        for at in changed {
            bytes[at] ^= 1;
        }
        fs::write(layer, bytes).expect("written");
        let found = verify(&store, VerifyMode::Digest).damages;
        assert_eq!(found.len(), 1, "{found:?}");
        let problem = Problem::ChangedAt(expected);
        assert_eq!(
            (found[0].role, &found[0].problem),
            (FileRole::Layer, &problem)
        );
        assert!(problem.to_string().contains(&format!("byte {expected}")));
    }
    for bytes in [&whole[..last], &[&whole[..], &[0]].concat()[..]] {
        fs::write(layer, bytes).expect("written");
        let found = verify(&store, VerifyMode::Digest).damages;
        assert!(
            matches!(found[0].problem, Problem::ChangedAt(_)),
            "{found:?}"
        );
    }
    fs::write(layer, &whole).expect("written");
    assert_eq!(verify(&store, VerifyMode::Digest).damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_a_tree_is_digested_and_gets_none_if_it_is_damaged() {
    let (store, image) = loaded().await;
    let tree = tree::path(&image.layers[0]);
    fs::remove_file(&tree).expect("removed");
    let mut bytes = fs::read(&image.layers[0]).expect("read");
    bytes[5000] ^= 1;
    fs::write(&image.layers[0], bytes).expect("written");
    let found = verify(&store, VerifyMode::Digest).damages;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].role, &found[0].problem),
        (FileRole::Layer, &Problem::Changed)
    );
    assert!(!tree.exists());
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn trees_count_and_go_with_their_images() {
    let (store, _) = loaded().await;
    let files = store.files();
    let artifacts = files
        .iter()
        .filter(|(path, _)| path.starts_with("artifacts/"));
    let bytes: usize = artifacts.map(|(_, bytes)| bytes.len()).sum();
    let usage = store.store.usage(&|_| Ok(false)).expect("counted");
    assert_eq!(usage.images_bytes, u64::try_from(bytes).expect("short"));
    assert_eq!(usage.left_overs, 0);
    let removed = store.store.remove("a:1", &|_| Ok(false)).expect("removed");
    assert_eq!(removed.freed_bytes, usage.images_bytes);
    store.assert_empty();
}

//! Pruning: the images and artifacts that are removed, and those that stay.

use std::time::{Duration, SystemTime};

use fs_err as fs;
use image_store::{PruneError, PruneOptions, Pruning, RemoveError};
use oci_image::Digest;

use crate::images::{Packing, TestImage, TestLayer, write_directory};
use crate::support::TestStore;

fn nobody(_: &Digest) -> std::io::Result<bool> {
    Ok(false)
}

/// Returns a store with images `a`, `b` and `c`, used in this order; all share one layer.
async fn three_images() -> TestStore {
    let store = TestStore::new();
    let shared = TestLayer::new(&[("shared", &[7; 50_000])], Packing::Gzip);
    for (age, name) in [(3, "a"), (2, "b"), (1, "c")] {
        let own = TestLayer::new(&[(name, &[7; 20_000])], Packing::Zstd);
        let image = TestImage::new(vec![shared.clone(), own]);
        let directory = tempfile::tempdir().expect("a directory");
        write_directory(
            &image.layout(Some(&format!("{name}:latest"))),
            directory.path(),
        );
        let image = store
            .load(directory.path())
            .await
            .expect("loaded")
            .remove(0);
        let used = store
            .root()
            .join("used")
            .join(image.record.manifest_digest.hex());
        let then = SystemTime::now() - Duration::from_secs(age * 3600);
        let file = fs::OpenOptions::new()
            .write(true)
            .open(used)
            .expect("noted");
        file.file().set_modified(then).expect("set");
    }
    store
}

fn names(store: &TestStore) -> Vec<String> {
    let images = store.store.images().expect("listed");
    images
        .into_iter()
        .filter_map(|image| image.reference)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_least_recently_used_go_until_the_rest_fits() {
    let store = three_images().await;
    let usage = store.store.usage(&nobody).expect("counted");
    assert_eq!(usage.images.len(), 3);
    assert!(
        usage
            .images
            .iter()
            .all(|image| image.shared_bytes >= 50_000)
    );
    assert_eq!(usage.reclaimable_bytes, usage.images_bytes);
    let of_one = usage.images[0].unique_bytes;
    let options = PruneOptions {
        limit_bytes: Some(usage.images_bytes - 1),
        ..PruneOptions::default()
    };
    let would = store
        .store
        .prune(
            &PruneOptions {
                dry_run: true,
                ..options
            },
            &nobody,
        )
        .expect("looked");
    assert_eq!(names(&store).len(), 3);
    let pruned = store.store.prune(&options, &nobody).expect("pruned");
    assert_eq!(would, pruned);
    assert_eq!((pruned.images.len(), pruned.freed_bytes), (1, of_one));
    assert_eq!(names(&store), ["b:latest", "c:latest"]);

    // A use renews an image; an image that is needed or leased is skipped.
    let b = store.store.find("b").expect("found");
    drop(store.store.lease(&b).expect("held"));
    let c = store.store.find("c").expect("found");
    let none = PruneOptions {
        limit_bytes: Some(0),
        ..PruneOptions::default()
    };
    let lease = store.store.lease(&c).expect("held");
    let needed = |digest: &Digest| Ok(*digest == b.record.manifest_digest);
    let pruned = store.store.prune(&none, &needed).expect("pruned");
    assert_eq!((pruned.images.len(), pruned.spared.len()), (0, 2));
    drop(lease);
    let pruned = store.store.prune(&none, &needed).expect("pruned");
    assert_eq!(pruned.spared, [b.record.manifest_digest]);
    assert_eq!(names(&store), ["b:latest"]);
    assert!(matches!(
        store.store.remove("b", &needed),
        Err(RemoveError::Needed { .. })
    ));
    store.store.check(&b).expect("whole");
    store.store.remove("b", &nobody).expect("removed");
    store.assert_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn images_go_by_name_and_by_age() {
    let store = three_images().await;
    let prune = |images, hours: u64| {
        let options = PruneOptions {
            images,
            unused_for: Some(Duration::from_secs(hours * 3600)),
            ..PruneOptions::default()
        };
        store.store.prune(&options, &nobody).expect("pruned")
    };
    assert_eq!(prune(Pruning::Unnamed, 0).images, []);
    assert_eq!(prune(Pruning::All, 4).images, []);
    let pruned = prune(Pruning::All, 3);
    assert_eq!(pruned.images[0].references, ["a:latest"]);
    let b = store.store.find("b").expect("found").record.manifest_digest;
    for directory in ["refs", "copies/refs"] {
        let file = "docker.io%2Flibrary%2Fb%3Alatest.json";
        fs::remove_file(store.root().join(directory).join(file)).expect("removed");
    }
    let pruned = prune(Pruning::Unnamed, 1);
    assert_eq!((pruned.images.len(), pruned.images[0].digest), (1, b));
    assert_eq!(prune(Pruning::All, 0).images.len(), 1);
    store.assert_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn left_overs_go_and_a_load_in_progress_is_waited_for() {
    let store = three_images().await;
    let whole = store.files();
    // A killed pull leaves artifacts without an image like these.
    for name in ["f".repeat(64) + ".erofs", "f".repeat(64) + ".json"] {
        fs::write(store.root().join("artifacts").join(name), b"left").expect("written");
    }
    let options = PruneOptions::default();
    let lock = fs::File::open(store.root().join("locks/store")).expect("a lock");
    lock.file().try_lock_shared().expect("free");
    assert!(matches!(
        store.store.prune(&options, &nobody),
        Err(PruneError::Busy)
    ));
    drop(lock);
    let pruned = store.store.prune(&options, &nobody).expect("pruned");
    assert_eq!((pruned.left_overs, pruned.freed_bytes), (2, 8));
    assert!(store.files() == whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_nobody_can_read_stops_the_removal_of_artifacts() {
    let store = three_images().await;
    let a = store
        .store
        .find("a")
        .expect("found")
        .record
        .manifest_digest
        .hex();
    fs::write(store.root().join(format!("images/{a}.json")), "{}").expect("written");
    let all = PruneOptions {
        images: Pruning::All,
        ..PruneOptions::default()
    };
    let dry_run = PruneOptions {
        dry_run: true,
        ..all
    };
    // The copy of the record states the artifacts that the image needs.
    assert_eq!(
        store
            .store
            .prune(&dry_run, &nobody)
            .expect("told")
            .left_overs,
        0
    );
    fs::write(store.root().join(format!("copies/images/{a}.json")), "{}").expect("written");
    let before = store.files();
    store
        .store
        .prune(&all, &nobody)
        .expect_err("nobody knows what it needs");
    assert!(store.files() == before);
}

//! Images in the store are found, checked, leased, removed and made again.

use fs_err as fs;
use image_store::{CheckError, FindError, RemoveError, Store};

use crate::images::{Packing, TestImage, TestLayer, tar_of, write_directory};
use crate::support::{SAMPLE_FILES, TestStore, assert_good, line};

/// Returns a store with two images that share two layers.
async fn two_images() -> (TestStore, TestImage, TestImage) {
    let sample = TestImage::sample();
    let mut layers = sample.layers[..2].to_vec();
    layers.push(TestLayer::new(&[("own", b"layer")], Packing::Zstd));
    let other = TestImage::new(layers);
    let store = TestStore::new();
    for (image, tags) in [(&sample, &["one:1", "one:2"][..]), (&other, &["two"])] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("image.tar");
        fs::write(&path, tar_of(&image.docker(tags))).expect("written");
        store.load(&path).await.expect("loaded");
    }
    (store, sample, other)
}

#[tokio::test(flavor = "multi_thread")]
async fn removal_takes_the_name_then_the_image_then_what_nobody_needs() {
    let (store, sample, _) = two_images().await;
    let one = store.store.find("one:1").expect("found");
    let removed = store
        .store
        .remove("one:1", &|_| Ok(false))
        .expect("removed");
    assert_eq!(
        (removed.references, removed.image),
        (vec!["one:1".to_owned()], None)
    );
    assert!(matches!(
        store.store.find("one:1"),
        Err(FindError::NotFound { .. })
    ));
    let removed = store
        .store
        .remove("one:2", &|_| Ok(false))
        .expect("removed");
    assert_eq!(removed.image, Some(one.record.manifest_digest));
    assert!(removed.freed_bytes > 0);
    assert!(!one.fsmeta.exists() && !one.layers[2].exists() && one.layers[0].exists());
    let two = store.store.find("two").expect("found");
    store.store.check(&two).expect("good");
    let digest = two.record.manifest_digest.to_string();
    store
        .store
        .remove(&digest[..14], &|_| Ok(false))
        .expect("removed");
    store.assert_empty();
    assert!(matches!(
        store.store.remove("two", &|_| Ok(false)),
        Err(RemoveError::Find(_))
    ));
    assert_eq!(sample.layers.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_held_stays() {
    let (store, ..) = two_images().await;
    let two = store.store.find("two").expect("found");
    let lease = store.store.lease(&two).expect("held");
    let second = Store::open(store.home.path()).expect("another process's view");
    assert!(matches!(
        second.remove("two", &|_| Ok(false)),
        Err(RemoveError::InUse { .. })
    ));
    store
        .store
        .check(&store.store.find("two").expect("still here"))
        .expect("good");
    drop(lease);
    second.remove("two", &|_| Ok(false)).expect("removed");
    assert!(store.store.lease(&two).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_found_by_name_and_by_the_beginning_of_their_digest() {
    let (store, ..) = two_images().await;
    let two = store.store.find("two").expect("found");
    let hex = two.record.manifest_digest.hex();
    for name in [
        "two:latest",
        "docker.io/library/two",
        &hex,
        &hex[..6],
        &format!("sha256:{hex}"),
    ] {
        assert_eq!(store.store.find(name).expect(name), two);
    }
    for name in [&hex[..5], "three", "", "../two", "sha256:", "\u{1b}[31m"] {
        let error = store.store.find(name).expect_err(name);
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_found_before_a_boot_and_mended_by_loading_again() {
    let image = TestImage::sample();
    let directory = tempfile::tempdir().expect("a directory");
    write_directory(&image.layout(Some("a:1")), directory.path());
    let store = TestStore::new();
    let stored = store
        .load(directory.path())
        .await
        .expect("loaded")
        .remove(0);
    let whole = store.files();
    let shorten = |path: &std::path::Path| {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(path)
            .expect("opened");
        file.set_len(file.metadata().expect("a length").len() - 4096)
            .expect("cut");
    };
    let scribble = |path: &std::path::Path| {
        let mut bytes = fs::read(path).expect("read");
        bytes[1024 + 20] ^= 1;
        fs::write(path, bytes).expect("written");
    };
    let remove = |path: &std::path::Path| fs::remove_file(path).expect("removed");
    type Damage<'a> = (&'a std::path::Path, &'a dyn Fn(&std::path::Path), &'a str);
    let damages: [Damage<'_>; 6] = [
        (&stored.layers[1], &shorten, "bytes, expected"),
        (&stored.layers[0], &scribble, "is corrupt"),
        (&stored.fsmeta, &scribble, "is corrupt"),
        (&stored.fsmeta, &shorten, "bytes, expected"),
        (
            &stored.vmdk,
            &|path| fs::write(path, "RW 8 FLAT \"x\" 0\n").expect("written"),
            "checksum",
        ),
        (&stored.layers[2], &remove, "cannot read"),
    ];
    for (path, damage, told) in damages {
        damage(path);
        let error = store.store.check(&stored).expect_err("damaged");
        let text = line(&error);
        assert!(text.contains(told), "{text}");
        assert!(matches!(error, CheckError::Io(_)) || text.contains(&path.display().to_string()));
        let options = image_import::LoadOptions {
            verify: true,
            ..Default::default()
        };
        let mended = store
            .load_with(directory.path(), options)
            .await
            .expect("loaded again");
        assert_good(&store.store, &mended[0], &SAMPLE_FILES);
        assert!(store.files() == whole, "the same bytes again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_record_is_an_error_and_not_a_panic() {
    let (store, ..) = two_images().await;
    let two = store.store.find("two").expect("found");
    let path = store
        .root()
        .join(format!("images/{}.json", two.record.manifest_digest.hex()));
    let good = fs::read_to_string(&path).expect("read");
    for bad in [
        "",
        "{",
        "null",
        &good.replace(".erofs", "/../../x"),
        &good.replace(": 2,", ": 3,"),
    ] {
        fs::write(&path, bad).expect("written");
        assert!(
            matches!(store.store.find("two"), Err(FindError::Io(_))),
            "{bad}"
        );
    }
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, b"").expect("written");
    let error = Store::open(&file).expect_err("no directory");
    assert!(line(&error).contains(&file.display().to_string()));
}

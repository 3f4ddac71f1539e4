//! Layers in their packed form: read, verified, repaired and removed as plain ones, and made plain again.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fs_err as fs;
use fstree::ReadAt as _;
use image_import::PullOptions;
use image_store::{
    FileRole, Form, MaintenanceOptions, PackError, Packing, Progress, StoredImage, Verification,
    VerifyMode, layout,
};
use oci_image::Digest;

use crate::images::{TestImage, write_directory};
use crate::server::{Content, Server};
use crate::support::{TestStore, quick};

const MODES: [VerifyMode; 2] = [VerifyMode::Stamp, VerifyMode::Digest];

/// Returns a store with an image of three layers that was loaded from a directory.
async fn loaded() -> (TestStore, StoredImage) {
    let source = tempfile::tempdir().expect("a directory");
    write_directory(&TestImage::sample().layout(Some("a:1")), source.path());
    let store = TestStore::new();
    let image = store.load(source.path()).await.expect("loaded").remove(0);
    (store, image)
}

fn pack(store: &TestStore, image: &StoredImage) -> Packing {
    let packed = store.store.pack(&image.record, &|_| ());
    packed.expect("packed")
}

fn unpack(store: &TestStore, image: &StoredImage) -> Packing {
    let unpacked = store.store.unpack(&image.record, &|_| ());
    unpacked.expect("unpacked")
}

fn verify(store: &TestStore, mode: VerifyMode) -> Verification {
    let verified = store.store.verify(&[], mode, &());
    verified.expect("verified")
}

/// Returns the forms of an image's layers.
fn forms(store: &TestStore, image: &StoredImage) -> Vec<Option<Form>> {
    let layers = image.record.layers.iter();
    let form = layers.map(|layer| Form::find(&store.store.layout, &layer.erofs));
    form.map(|form| form.expect("found")).collect()
}

/// Returns the tars of an image's layers.
fn tars(store: &TestStore, image: &StoredImage) -> Vec<Vec<u8>> {
    let tars = image.record.layers.iter().map(|layer| {
        let mut bytes = Vec::new();
        let mut tar = store.store.layer_tar(layer).expect("opened");
        tar.read_to_end(&mut bytes).expect("read");
        bytes
    });
    tars.collect()
}

/// Returns the paths of the packed forms of an image's layers.
fn packed_paths(store: &TestStore, image: &StoredImage) -> Vec<PathBuf> {
    let layers = image.record.layers.iter();
    let files = layers.map(|layer| layout::packed_file(&layer.erofs.file));
    files
        .map(|file| store.store.layout.artifact(&file))
        .collect()
}

/// Reads every byte of an image's disk as its machine does.
fn read_disk(image: &StoredImage) -> Vec<u8> {
    let mut bytes = Vec::new();
    for extent in image.extents() {
        let file = extent.open(None).expect("opened");
        let length = usize::try_from(extent.length_bytes).expect("small");
        let mut part = vec![0; length];
        file.read_exact_at(&mut part, 0).expect("read");
        bytes.append(&mut part);
    }
    bytes
}

fn nobody(_: &Digest) -> io::Result<bool> {
    Ok(false)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packed_image_is_as_good_as_a_plain_one() {
    let (store, image) = loaded().await;
    let (whole, tars_before, disk) = (store.files(), tars(&store, &image), read_disk(&image));
    let packing = pack(&store, &image);
    assert_eq!((packing.layers, packing.changed), (3, 3));
    assert!(packing.disk_bytes < packing.plain_bytes, "{packing:?}");
    assert_eq!(forms(&store, &image), [Some(Form::Packed); 3]);
    let packed = store.files();

    assert!(tars(&store, &image) == tars_before);
    for mode in MODES {
        store.store.check_with(&image, mode).expect("it starts");
        assert_eq!(verify(&store, mode).damages, []);
    }
    assert!(store.files() == packed, "readers write nothing");
    assert!(read_disk(&image) == disk);
    assert!(read_disk(&image) == disk);
    let usage = store.store.usage(&nobody).expect("counted");
    assert!(usage.packed_bytes > 0 && usage.cache_bytes > 0, "{usage:?}");

    assert_eq!(pack(&store, &image).changed, 0);
    assert_eq!(unpack(&store, &image).changed, 3);
    assert!(store.files() == whole);
    assert_eq!(unpack(&store, &image).changed, 0);
    pack(&store, &image);
    assert!(
        store.files() == packed,
        "packing twice gives the same bytes"
    );
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_takes_a_packed_layer_as_it_is() {
    let server = Server::honest(Content::from_image(&TestImage::sample())).await;
    let store = TestStore::new();
    let image = store.pull(&server.reference("app")).await.expect("pulled");
    pack(&store, &image);
    for verify in [false, true] {
        let options = PullOptions { verify, ..quick() };
        let pulled = store.pull_with(&server.reference("app"), options).await;
        pulled.expect("pulled again");
        assert_eq!(forms(&store, &image), [Some(Form::Packed); 3]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_of_a_packed_layer_is_found_and_fetched_again() {
    let server = Server::honest(Content::from_image(&TestImage::sample())).await;
    let store = TestStore::new();
    let image = store.pull(&server.reference("app")).await.expect("pulled");
    let whole = store.files();
    for (index, path) in packed_paths(&store, &image).into_iter().enumerate() {
        pack(&store, &image);
        let mut bytes = fs::read(&path).expect("read");
        let at = [0, bytes.len() / 2, bytes.len() - 40][index];
        bytes[at] ^= 1;
        fs::write(&path, bytes).expect("written");
        for mode in MODES {
            let damages = verify(&store, mode).damages;
            assert_eq!(damages.len(), 1, "{damages:?}");
            assert_eq!(
                (&damages[0].path, damages[0].role),
                (&path, FileRole::Layer)
            );
        }
        let found = verify(&store, VerifyMode::Digest);
        let progress: Arc<dyn Progress> = Arc::new(());
        let repaired = image_import::repair(&store.store, &found, &quick(), &progress).await;
        assert_eq!(repaired.expect("repaired").advice, [""; 0]);
        assert_eq!(verify(&store, VerifyMode::Digest).damages, []);
        assert!(!path.exists());
        unpack(&store, &image);
        assert!(store.files() == whole);
    }
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn both_forms_that_a_crash_has_left_are_one() {
    let (store, image) = loaded().await;
    let whole = store.files();
    pack(&store, &image);
    let packed = store.files();
    let restore = |files: &std::collections::BTreeMap<String, Vec<u8>>, ending: &str| {
        for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(ending)) {
            fs::write(store.root().join(name), bytes).expect("written");
        }
    };
    restore(&whole, ".erofs");
    assert_eq!(forms(&store, &image), [Some(Form::Plain); 3]);
    assert_eq!(verify(&store, VerifyMode::Digest).damages, []);
    store.store.check(&image).expect("it starts");
    assert_eq!(pack(&store, &image).changed, 3);
    assert!(store.files() == packed);

    restore(&whole, ".erofs");
    unpack(&store, &image);
    assert!(store.files() == whole);
    restore(&packed, ".packed");
    unpack(&store, &image);
    assert!(store.files() == whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_layer_keeps_its_form() {
    let (store, image) = loaded().await;
    let flip = |path: &std::path::Path| {
        let mut bytes = fs::read(path).expect("read");
        bytes[5000] ^= 1;
        fs::write(path, bytes).expect("written");
    };
    flip(&image.layers[0]);
    let error = store.store.pack(&image.record, &|_| ());
    let error = error.expect_err("damaged");
    assert!(
        matches!(&error, PackError::Damaged { path } if *path == image.layers[0]),
        "{error}"
    );
    assert_eq!(forms(&store, &image)[0], Some(Form::Plain));
    flip(&image.layers[0]);
    pack(&store, &image);
    let packed = packed_paths(&store, &image).remove(0);
    flip(&packed);
    let error = store.store.unpack(&image.record, &|_| ());
    let error = error.expect_err("damaged");
    assert!(
        matches!(&error, PackError::Damaged { path } if *path == packed),
        "{error}"
    );
    assert_eq!(forms(&store, &image)[0], Some(Form::Packed));
    store.assert_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_takes_every_form() {
    let (store, image) = loaded().await;
    pack(&store, &image);
    read_disk(&image);
    let removed = store.store.remove("a:1", &nobody).expect("removed");
    assert_eq!(removed.image, Some(image.record.manifest_digest));
    store.assert_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_used_for_a_while_is_packed_and_caches_keep_to_their_limit() {
    let (store, image) = loaded().await;
    let disk = read_disk(&image);
    let maintain = |hours: Option<u64>, cache_limit_bytes| {
        let options = MaintenanceOptions {
            pack_after: hours.map(|hours| Duration::from_secs(3600 * hours)),
            cache_limit_bytes,
        };
        store.store.maintain(&options).expect("maintained")
    };
    let lease = store.store.lease(&image).expect("a lease");
    let used = store.store.layout.used(&image.record.manifest_digest);
    let file = fs::OpenOptions::new().write(true).open(used);
    let then = SystemTime::now() - Duration::from_secs(2 * 3600);
    let set = file.expect("noted").file().set_modified(then);
    set.expect("set");
    assert_eq!(maintain(Some(1), 0).packed_layers, 0, "it is in use");
    drop(lease);
    assert_eq!(maintain(None, 0).packed_layers, 0, "never");
    assert_eq!(maintain(Some(3), 0).packed_layers, 0, "too early");
    assert_eq!(maintain(Some(1), 0).packed_layers, 3);
    assert_eq!(maintain(Some(1), 0).packed_layers, 0, "packed");

    assert!(read_disk(&image) == disk);
    assert_eq!(maintain(None, 1 << 30).freed_cache_bytes, 0);
    assert!(maintain(None, 0).freed_cache_bytes > 0);
    let usage = store.store.usage(&nobody).expect("counted");
    assert_eq!(usage.cache_bytes, 0);
    assert!(read_disk(&image) == disk);
    store.assert_tidy();
}

#[test]
fn maintenance_is_due_once_in_an_interval() {
    let store = TestStore::new();
    let hour = Duration::from_secs(3600);
    assert!(
        !store.store.begins_maintenance(hour),
        "the first one begins"
    );
    assert!(!store.store.begins_maintenance(hour));
    let path = store.store.layout.maintained();
    let file = fs::OpenOptions::new().write(true).open(path).expect("made");
    let set = file.file().set_modified(SystemTime::now() - 2 * hour);
    set.expect("set");
    assert!(store.store.begins_maintenance(hour));
    assert!(!store.store.begins_maintenance(hour));
    assert!(store.store.begins_maintenance(Duration::ZERO));
}

//! Damage to stored files is found, refused and repaired.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fs_err as fs;
use image_import::{PullOptions, Repair};
use image_store::{FileRole, Origin, Problem, Progress, Store, Verification, VerifyMode};
use oci_registry::CredentialSource;

use crate::images::{Packing, TestImage, TestLayer, tar_of, write_directory};
use crate::server::{Content, Server};
use crate::support::{TestStore, line};

/// Number of rounds, each of which flips one bit, unless the environment sets another.
const FLIPS: usize = 60;
const FLIPS_VARIABLE: &str = "MSB_TEST_FLIPS";

fn verify(store: &Store) -> Verification {
    store
        .verify(&[], VerifyMode::Digest, &())
        .unwrap_or_else(|error| panic!("{}", line(&error)))
}

async fn repair(store: &Store, found: &Verification) -> Repair {
    let options = PullOptions {
        credentials: CredentialSource::None,
        ..PullOptions::default()
    };
    let progress: Arc<dyn Progress> = Arc::new(());
    image_import::repair(store, found, &options, &progress)
        .await
        .unwrap_or_else(|error| panic!("{}", line(&error)))
}

/// Returns a store with two images that share two layers, pulled from a registry.
async fn pulled() -> (TestStore, Server, [String; 2]) {
    let sample = TestImage::sample();
    let mut layers = sample.layers[..2].to_vec();
    layers.push(TestLayer::new(&[("own", b"layer")], Packing::Zstd));
    let other = TestImage::new(layers);
    let content = Content::from_image(&sample).with(&other);
    let server = Server::honest(content).await;
    let names = [
        server.reference("app:latest"),
        format!("{}@{}", server.reference("app"), other.digest()),
    ];
    let store = TestStore::new();
    for name in &names {
        store.pull(name).await.expect("pulled");
    }
    (store, server, names)
}

fn flip(path: &Path, at: usize, mask: u8) {
    let mut bytes = fs::read(path).expect("read");
    bytes[at] ^= mask;
    fs::write(path, bytes).expect("written");
}

/// Returns true for files of which a start reads every byte. Layers and metadata are verified when they are read, and
/// others are read by no boot.
fn is_read_at_starts(name: &str) -> bool {
    ![".manifest", ".config", ".outline", ".erofs"]
        .iter()
        .any(|suffix| name.ends_with(suffix))
}

/// A small generator with a fixed seed, so that a failure can be reproduced.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).expect("below the limit")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_is_found_refused_and_mended() {
    let (store, _server, names) = pulled().await;
    let whole = store.files();
    let paths: Vec<&String> = whole
        .iter()
        .filter(|(_, bytes)| !bytes.is_empty())
        .map(|(path, _)| path)
        .collect();
    let flips = std::env::var(FLIPS_VARIABLE).map_or(FLIPS, |text| text.parse().expect(&text));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..flips {
        // Every file has its turn, and any byte of it may change.
        let name = paths[round % paths.len()];
        let (at, mask) = (random.below(whole[name].len()), 1 << random.below(8));
        let path = store.root().join(name);
        flip(&path, at, mask);
        let told = format!("round {round}: byte {at} of {name}");

        let starts = names.iter().filter(|name| {
            let image = store.store.find(name);
            image.is_ok_and(|image| store.store.check(&image).is_ok())
        });
        assert!(
            starts.count() < 2 || !is_read_at_starts(name),
            "{told}: both images start"
        );
        let found = verify(&store.store);
        assert!(
            found.damages.iter().any(|damage| damage.path == path),
            "{told}: {:?}",
            found.damages
        );
        let repaired = repair(&store.store, &found).await;
        assert_eq!(repaired.advice, [""; 0], "{told}");
        assert!(store.files() == whole, "{told}: not as before");
        for name in &names {
            let image = store.store.find(name).expect("found");
            store.store.check(&image).expect("whole");
        }
    }
    assert_eq!(verify(&store.store).damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_found_and_mended() {
    let (store, _server, _) = pulled().await;
    let whole = store.files();
    for (name, _) in whole.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        // A name without its record was removed, and a copy alone does not count.
        if name.starts_with("refs/") {
            continue;
        }
        fs::remove_file(store.root().join(name)).expect("removed");
        let found = verify(&store.store);
        // A verification makes the trees of an older store.
        assert_eq!(found.damages.is_empty(), name.ends_with(".tree"), "{name}");
        repair(&store.store, &found).await;
        assert!(store.files() == whole, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_named_when_its_layer_is_damaged() {
    let source = tempfile::tempdir().expect("a directory");
    let archive = source.path().join("image.tar");
    fs::write(&archive, tar_of(&TestImage::sample().docker(&["a:1"]))).expect("written");
    let store = TestStore::new();
    let image = store.load(&archive).await.expect("loaded").remove(0);
    let whole = store.files();
    flip(&image.layers[1], 5000, 1);
    flip(&image.vmdk, 3, 1);
    let found = verify(&store.store);
    let damaged: Vec<PathBuf> = found.damages.iter().map(|it| it.path.clone()).collect();
    assert!(damaged.contains(&image.layers[1]) && damaged.contains(&image.vmdk));
    assert!(found.damages.iter().all(|it| match it.role {
        FileRole::Layer => it.problem == Problem::ChangedAt(4096),
        _ => it.problem == Problem::Changed,
    }));
    let advice = repair(&store.store, &found).await.advice;
    assert_eq!(advice, [format!("msb load {} again", archive.display())]);
    // Following the advice repairs the store, even without an order to verify.
    store.load(&archive).await.expect("loaded again");
    assert!(store.files() == whole);
    assert_eq!(verify(&store.store).damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_that_nobody_needs_is_discarded_when_damaged() {
    let source = tempfile::tempdir().expect("a directory");
    write_directory(&TestImage::sample().layout(Some("a:1")), source.path());
    let store = TestStore::new();
    let image = store.load(source.path()).await.expect("loaded").remove(0);
    // This is the state after a pull that was killed before its image was complete.
    let digest = image.record.manifest_digest.hex();
    for directory in ["images", "origins", "copies/images", "copies/origins"] {
        fs::remove_file(store.root().join(format!("{directory}/{digest}.json"))).expect("removed");
    }
    for directory in ["refs", "copies/refs"] {
        fs::remove_dir_all(store.root().join(directory)).expect("removed");
        fs::create_dir(store.root().join(directory)).expect("made");
    }
    assert_eq!(verify(&store.store).damages, []);
    flip(&image.layers[1], 5000, 1);
    let found = verify(&store.store);
    assert_eq!(found.damages.len(), 1);
    assert_eq!(found.damages[0].role, FileRole::Unneeded);
    repair(&store.store, &found).await;
    assert!(!image.layers[1].exists() && image.layers[0].exists());
    assert_eq!(verify(&store.store).damages, []);
    store.load(source.path()).await.expect("loaded");
    assert_eq!(verify(&store.store).damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_lost_the_image_is_told_of() {
    let (store, server, names) = pulled().await;
    let image = store.store.find(&names[0]).expect("found");
    drop(server);
    flip(&image.layers[2], 5000, 1);
    let before = store.files();
    let advice = repair(&store.store, &verify(&store.store)).await.advice;
    assert_eq!(advice.len(), 1);
    assert!(advice[0].contains("cannot pull"), "{advice:?}");
    assert!(store.files() == before, "nothing is lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_does_not_use_a_layer_that_changed() {
    let (store, server, names) = pulled().await;
    let whole = store.files();
    let image = store.store.find(&names[1]).expect("found");
    flip(&image.layers[2], 5000, 1);
    store.pull(&names[1]).await.expect("pulled again");
    assert!(store.files() == whole);
    let origin = store.root().join(format!(
        "origins/{}.json",
        image.record.manifest_digest.hex()
    ));
    let text = fs::read_to_string(origin).expect("read");
    assert!(text.contains(&server.reference("app")), "{text}");
    let made = Origin::Registry {
        reference: names[1].clone(),
        plain_http: false,
    };
    let json = serde_json::to_string(&made).expect("JSON");
    assert!(json.starts_with(r#"{"registry""#), "{json}");
}

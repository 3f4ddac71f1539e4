use std::sync::{Arc, Mutex};
use std::time::Duration;

use diagnosis::Diagnose as _;
use image_export::{
    LayerCompression, LayerRoute, PushError, PushEvent, PushOptions, PushProgress, Pushed, push,
};
use image_import::{LoadOptions, LoadSource, PullOptions, load, pull};
use image_store::{Store, StoredImage};
use oci_image::{Digest, Reference, media_type};
use oci_registry::{CredentialSource, RegistryLimits};
use tempfile::TempDir;
use testkit::images::{Packing, TestImage, TestLayer, tar_of};
use testkit::push_registry::PushRegistry;
use testkit::registry::{Answer, Content, Request, Server};

/// A store in its own directory.
pub(crate) struct TestStore {
    directory: TempDir,
    store: Store,
}

fn limits() -> RegistryLimits {
    RegistryLimits {
        first_pause: Duration::from_millis(2),
        pause: Duration::from_millis(50),
        ..RegistryLimits::default()
    }
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::open(directory.path()).expect("a store");
        Self { directory, store }
    }

    pub(crate) async fn pull(&self, name: &str) -> StoredImage {
        let options = PullOptions {
            credentials: CredentialSource::None,
            registry_limits: limits(),
            ..PullOptions::default()
        };
        let reference: Reference = name.parse().expect("a reference");
        let pulled = pull(&self.store, &reference, &options, Arc::new(())).await;
        pulled.expect("pulled")
    }

    /// Loads an image as docker saves it, with layers that are not compressed.
    pub(crate) async fn load(&self, image: &TestImage) -> StoredImage {
        let path = self.directory.path().join("archive.tar");
        std::fs::write(&path, tar_of(&image.docker(&["app:dev"]))).expect("written");
        let options = LoadOptions::default();
        let source = LoadSource::Path(path);
        let loaded = load(&self.store, &source, &options, Arc::new(()));
        loaded.await.expect("loaded").images.remove(0)
    }

    pub(crate) async fn push(&self, image: &StoredImage, name: &str) -> Result<Pushed, PushError> {
        self.push_with(image, name, LayerCompression::Gzip, Arc::new(()))
            .await
    }

    pub(crate) async fn push_as(
        &self,
        image: &StoredImage,
        name: &str,
        credentials: CredentialSource,
    ) -> Result<Pushed, PushError> {
        let options = PushOptions {
            credentials,
            registry_limits: limits(),
            ..PushOptions::default()
        };
        let reference: Reference = name.parse().expect("a reference");
        push(&self.store, image, &reference, &options, Arc::new(())).await
    }

    async fn push_with(
        &self,
        image: &StoredImage,
        name: &str,
        compression: LayerCompression,
        progress: Arc<dyn PushProgress>,
    ) -> Result<Pushed, PushError> {
        let options = PushOptions {
            compression,
            credentials: CredentialSource::None,
            registry_limits: limits(),
            ..PushOptions::default()
        };
        let reference: Reference = name.parse().expect("a reference");
        push(&self.store, image, &reference, &options, progress).await
    }

    /// Returns the number of unfinished files.
    pub(crate) fn unfinished(&self) -> usize {
        let directory = self.directory.path().join("store/v2/tmp");
        std::fs::read_dir(directory).expect("listed").count()
    }
}

/// A registry that takes pushes.
struct Target {
    registry: Arc<PushRegistry>,
    server: Server,
}

impl Target {
    async fn honest() -> Self {
        Self::serving(|_, honest| honest()).await
    }

    async fn serving(
        serve: impl Fn(&Request, &dyn Fn() -> Answer) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let registry = Arc::new(PushRegistry::default());
        let inner = Arc::clone(&registry);
        let handler = move |request: &Request| serve(request, &|| inner.answer(request));
        let server = Server::new(handler).await;
        Self { registry, server }
    }

    fn name(&self, rest: &str) -> String {
        self.server.reference(rest)
    }

    /// Returns the number of bytes that uploads brought.
    fn received_bytes(&self) -> usize {
        let requests = self.server.requests();
        let patches = requests.iter().filter(|request| request.method == "PATCH");
        patches.map(|request| request.bytes.len()).sum()
    }
}

pub(crate) fn routes(pushed: &Pushed) -> Vec<LayerRoute> {
    pushed.layers.iter().map(|layer| layer.route).collect()
}

pub(crate) fn digest(image: &TestImage) -> Digest {
    Digest::compute(&image.manifest)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pulled_image_is_streamed_and_is_the_same_there() {
    let image = TestImage::sample();
    let origin = Server::honest(Content::from_image(&image)).await;
    let (store, target) = (TestStore::new(), Target::honest().await);
    let stored = store.pull(&origin.reference("base")).await;
    let pushed = store.push(&stored, &target.name("team/app:1")).await;
    let pushed = pushed.expect("pushed");
    assert_eq!(pushed.manifest_digest, digest(&image));
    assert_eq!(routes(&pushed), [LayerRoute::Streamed; 3]);
    let manifest = target.registry.manifest("team/app", "1");
    assert_eq!(manifest.as_deref(), Some(&image.manifest[..]));
    let requests = target.server.requests();
    let last = requests.last().expect("requests");
    assert!(last.method == "PUT" && last.path.ends_with("/manifests/1"));

    let before_bytes = target.received_bytes();
    let again = store.push(&stored, &target.name("team/app:2")).await;
    let again = again.expect("pushed again");
    assert_eq!(routes(&again), [LayerRoute::Present; 3]);
    assert_eq!(again.uploaded_bytes, 0);
    assert_eq!(target.received_bytes(), before_bytes);
    let other = store.push(&stored, &target.name("other/app:1")).await;
    let other = other.expect("pushed elsewhere");
    assert_eq!(routes(&other), [LayerRoute::Streamed; 3]);

    // What a registry got, msb pulls back.
    let there = TestStore::new();
    let pulled = there.pull(&target.name("team/app:1")).await;
    assert_eq!(pulled.record.manifest_digest, digest(&image));
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_of_the_same_registry_are_mounted() {
    let image = TestImage::sample();
    let target = Target::honest().await;
    for (_, blob) in image.blobs() {
        target.registry.add_blob("library/base", &blob);
    }
    let (store, seed) = (TestStore::new(), TestStore::new());
    let origin = Server::honest(Content::from_image(&image)).await;
    let seeded = seed.pull(&origin.reference("any")).await;
    let first = seed.push(&seeded, &target.name("library/base:1")).await;
    assert_eq!(routes(&first.expect("pushed")), [LayerRoute::Present; 3]);

    let stored = store.pull(&target.name("library/base:1")).await;
    let before_bytes = target.received_bytes();
    let pushed = store.push(&stored, &target.name("team/app:1")).await;
    let pushed = pushed.expect("pushed");
    assert_eq!(routes(&pushed), [LayerRoute::Mounted; 3]);
    assert_eq!(pushed.manifest_digest, digest(&image));
    let config_bytes = image.config.len();
    assert_eq!(target.received_bytes(), before_bytes + config_bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_an_origin_is_made_anew_and_the_same_each_time() {
    let image = TestImage::sample();
    let (store, target) = (TestStore::new(), Target::honest().await);
    let stored = store.load(&image).await;
    let pushed = store.push(&stored, &target.name("app:1")).await;
    let pushed = pushed.expect("pushed");
    assert_eq!(routes(&pushed), [LayerRoute::Rebuilt; 3]);
    assert!(
        pushed
            .layers
            .iter()
            .all(|layer| layer.media_type == media_type::OCI_LAYER_GZIP)
    );
    let again = store.push(&stored, &target.name("app:2")).await;
    let again = again.expect("pushed again");
    assert_eq!(routes(&again), [LayerRoute::Present; 3]);
    assert_eq!(again.manifest_digest, pushed.manifest_digest);

    let there = TestStore::new();
    let pulled = there.pull(&target.name("app:1")).await;
    assert_eq!(pulled.record.chain_key, stored.record.chain_key);
    assert_eq!(pulled.record.config_digest, stored.record.config_digest);

    for (compression, kind) in [
        (LayerCompression::Zstd, media_type::OCI_LAYER_ZSTD),
        (LayerCompression::None, media_type::OCI_LAYER),
    ] {
        let target = Target::honest().await;
        let name = target.name("app:1");
        let pushed = store.push_with(&stored, &name, compression, Arc::new(()));
        let pushed = pushed.await.expect("pushed");
        assert!(pushed.layers.iter().all(|layer| layer.media_type == kind));
        let is_own = compression == LayerCompression::None;
        assert_eq!(
            pushed.manifest_digest == stored.record.manifest_digest,
            is_own
        );
        let there = TestStore::new();
        let pulled = there.pull(&name).await;
        assert_eq!(pulled.record.chain_key, stored.record.chain_key);
    }
    assert_eq!(store.unfinished(), 0);
}

/// Counts the layers that are compressed.
#[derive(Debug, Default)]
struct Compressions(Mutex<usize>);

impl PushProgress for Compressions {
    fn event(&self, event: &PushEvent<'_>) {
        if matches!(event, PushEvent::LayerCompressing { .. }) {
            *self.0.lock().expect("a count") += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_push_asks_the_registry_and_compresses_nothing() {
    let image = TestImage::sample();
    let (store, target) = (TestStore::new(), Target::honest().await);
    let stored = store.load(&image).await;
    let push = async |name: String, compression| {
        let counted = Arc::new(Compressions::default());
        let progress: Arc<dyn PushProgress> = Arc::<Compressions>::clone(&counted);
        let pushed = store.push_with(&stored, &name, compression, progress);
        let pushed = pushed.await.expect("pushed");
        let count = *counted.0.lock().expect("a count");
        (pushed, count)
    };
    let name = || target.name("app:1");
    let (first, count) = push(name(), LayerCompression::Gzip).await;
    assert_eq!(count, 3);
    let (again, count) = push(name(), LayerCompression::Gzip).await;
    assert_eq!(count, 0);
    assert_eq!(routes(&again), [LayerRoute::Present; 3]);
    assert_eq!(again.manifest_digest, first.manifest_digest);
    // Another compression, and a registry that has nothing, need the bytes.
    assert_eq!(push(name(), LayerCompression::Zstd).await.1, 3);
    assert_eq!(push(name(), LayerCompression::Gzip).await.1, 0);
    let other = Target::honest().await;
    let (elsewhere, count) = push(other.name("app:1"), LayerCompression::Gzip).await;
    assert_eq!(count, 3);
    assert_eq!(elsewhere.manifest_digest, first.manifest_digest);
    // A damaged record is none, and a removed image leaves none.
    let records = store.store.layout.compressed();
    for entry in std::fs::read_dir(&records).expect("listed") {
        let path = entry.expect("an entry").path();
        let mut bytes = std::fs::read(&path).expect("read");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).expect("written");
    }
    assert_eq!(push(name(), LayerCompression::Gzip).await.1, 3);
    let digest = stored.record.manifest_digest.to_string();
    store
        .store
        .remove(&digest, &|_| Ok(false))
        .expect("removed");
    assert_eq!(std::fs::read_dir(&records).expect("listed").count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_is_gone_or_lies_is_replaced_by_the_store() {
    let image = TestImage::sample();
    for is_gone in [true, false] {
        let content = Content::from_image(&image);
        let lies = Arc::new(Mutex::new(false));
        let lying = Arc::clone(&lies);
        let origin = Server::new(move |request| {
            let mut answer = content.answer(request);
            if *lying.lock().expect("a flag") && request.path.contains("/blobs/") {
                if is_gone {
                    answer = Answer::new(404, "");
                } else {
                    answer.body.reverse();
                }
            }
            answer
        })
        .await;
        let (store, target) = (TestStore::new(), Target::honest().await);
        let stored = store.pull(&origin.reference("base")).await;
        *lies.lock().expect("a flag") = true;
        let pushed = store.push(&stored, &target.name("app:1")).await;
        let pushed = pushed.expect("pushed");
        assert_eq!(routes(&pushed), [LayerRoute::Rebuilt; 3]);
        let there = TestStore::new();
        let pulled = there.pull(&target.name("app:1")).await;
        assert_eq!(pulled.record.chain_key, stored.record.chain_key);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_costs_its_own_layer_alone() {
    let base = TestImage::sample();
    let mut layers = base.layers.clone();
    layers.push(TestLayer::new(&[("new", b"file")], Packing::Gzip));
    let child = TestImage::new(layers);
    let content = Content::from_image(&base).with(&child).tagged(
        "child",
        testkit::images::MANIFEST,
        &child.manifest,
    );
    let origin = Server::honest(content).await;
    let (store, target) = (TestStore::new(), Target::honest().await);
    let stored = store.pull(&origin.reference("base")).await;
    store
        .push(&stored, &target.name("app:base"))
        .await
        .expect("pushed");
    let before_bytes = target.received_bytes();
    let stored = store.pull(&origin.reference("base:child")).await;
    let pushed = store.push(&stored, &target.name("app:child")).await;
    let pushed = pushed.expect("pushed");
    let new_bytes = child.layers[3].blob.len();
    assert_eq!(pushed.uploaded_bytes, new_bytes as u64);
    let own_bytes = new_bytes + child.config.len();
    assert_eq!(target.received_bytes(), before_bytes + own_bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_fails_publishes_nothing() {
    type Fault = fn(&Request) -> bool;
    let faults: [(&str, Fault); 4] = [
        ("a layer", |request| {
            request.method == "PUT" && request.path.contains("/uploads/2")
        }),
        ("the config", |request| {
            request.method == "PUT" && request.path.contains("/uploads/4")
        }),
        ("the manifest", |request| {
            request.path.contains("/manifests/")
        }),
        ("everything", |request| request.method == "POST"),
    ];
    let image = TestImage::sample();
    let store = TestStore::new();
    let stored = store.load(&image).await;
    for (name, fault) in faults {
        let target = Target::serving(move |request, honest| {
            if fault(request) {
                Answer::new(403, r#"{"errors":[{"code":"DENIED","message":"no"}]}"#)
            } else {
                honest()
            }
        })
        .await;
        let error = store.push(&stored, &target.name("app:1")).await;
        let error = error.expect_err(name);
        assert!(
            matches!(error, PushError::Registry { .. }),
            "{name}: {error}"
        );
        assert_eq!(target.registry.manifest_count(), 0, "{name}");
        assert!(
            error
                .diagnosis()
                .advice()
                .is_some_and(|hint| hint.contains("msb login"))
        );
    }
    assert_eq!(store.unfinished(), 0);
}

/// The events of a push, as text.
#[derive(Debug, Default)]
struct Events(Mutex<Vec<String>>);

impl PushProgress for Events {
    fn event(&self, event: &PushEvent<'_>) {
        let name = format!("{event:?}");
        let name = name.split([' ', '{']).next().unwrap_or_default().to_owned();
        let mut events = self.0.lock().expect("events");
        if events.last() != Some(&name) {
            events.push(name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_steps_of_a_push_are_told() {
    let image = TestImage::new(vec![TestLayer::new(&[("a", b"b")], Packing::Plain)]);
    let (store, target) = (TestStore::new(), Target::honest().await);
    let stored = store.load(&image).await;
    let (name, events) = (target.name("app:1"), Arc::new(Events::default()));
    let progress: Arc<dyn PushProgress> = events.clone();
    let pushed = store.push_with(&stored, &name, LayerCompression::Gzip, progress);
    pushed.await.expect("pushed");
    assert_eq!(
        *events.0.lock().expect("events"),
        [
            "Image",
            "LayerCompressing",
            "LayerStarted",
            "LayerPosition",
            "LayerDone",
            "Done"
        ]
    );
    let with_digest = format!("{}@{}", target.name("app"), stored.record.manifest_digest);
    let error = store.push(&stored, &with_digest).await;
    assert!(matches!(error, Err(PushError::Digest { .. })));
}

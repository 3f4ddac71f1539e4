//! Layouts whose index lists more than images of this host's platform.

use diagnosis::Diagnose as _;
use image_import::{LoadError, LoadOptions, Loaded};
use serde_json::{Value, json};

use crate::images::{
    BlobDigest, INDEX, MANIFEST, Packing, TestImage, TestLayer, descriptor, host_architecture,
    layout, platform_entry, write_directory,
};
use crate::server::{Content, Server};
use crate::support::{TestStore, line};

const IN_TOTO: &str = "application/vnd.in-toto+json";
const CHART: &str = "application/vnd.cncf.helm.config.v1+json";

/// A layout's files while they are put together.
struct Layout {
    images: Vec<TestImage>,
    entries: Vec<Value>,
    documents: Vec<Vec<u8>>,
}

impl Layout {
    fn new(images: &[&TestImage]) -> Self {
        Self {
            images: images.iter().map(|&image| image.clone()).collect(),
            entries: Vec::new(),
            documents: Vec::new(),
        }
    }

    fn entry(mut self, entry: Value) -> Self {
        self.entries.push(entry);
        self
    }

    /// Adds a nested index under a name.
    fn index(mut self, name: &str, entries: &[Value]) -> Self {
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
        let bytes = index.to_string().into_bytes();
        let entry = named(descriptor(INDEX, &bytes), name);
        self.documents.push(bytes);
        self.entry(entry)
    }

    async fn load(&self, store: &TestStore, image: Option<&str>) -> Result<Loaded, LoadError> {
        let options = LoadOptions {
            choice: image.map(|text| text.parse().expect("a choice")),
            ..LoadOptions::default()
        };
        self.load_with(store, options).await
    }

    async fn load_with(
        &self,
        store: &TestStore,
        options: LoadOptions,
    ) -> Result<Loaded, LoadError> {
        let images: Vec<&TestImage> = self.images.iter().collect();
        let mut files = layout(&images, &self.entries);
        for document in &self.documents {
            let digest = BlobDigest::compute(document);
            files.push((format!("blobs/sha256/{}", digest.hex()), document.clone()));
        }
        let directory = tempfile::tempdir().expect("a directory");
        write_directory(&files, directory.path());
        store.load_all(directory.path(), options).await
    }
}

fn named(mut entry: Value, name: &str) -> Value {
    entry["annotations"] = json!({"org.opencontainers.image.ref.name": name});
    entry
}

/// Returns an image of one file.
fn image(word: &str, architecture: &str) -> TestImage {
    let layer = TestLayer::new(&[("word", word.as_bytes())], Packing::Gzip);
    TestImage::for_architecture(vec![layer], architecture)
}

fn host_image(word: &str) -> TestImage {
    image(word, host_architecture())
}

/// Returns the manifest of BuildKit's attestations.
fn attestation() -> TestImage {
    image("statement", "unknown").with_manifest(|manifest| {
        manifest["layers"][0]["mediaType"] = json!(IN_TOTO);
    })
}

fn chart() -> TestImage {
    host_image("chart").with_manifest(|manifest| manifest["config"]["mediaType"] = json!(CHART))
}

fn plain(image: &TestImage) -> Value {
    descriptor(MANIFEST, &image.manifest)
}

fn unknown_platform(image: &TestImage) -> Value {
    let mut entry = plain(image);
    entry["platform"] = json!({"os": "unknown", "architecture": "unknown"});
    entry["annotations"] = json!({"vnd.docker.reference.type": "attestation-manifest"});
    entry
}

fn digests(loaded: &Loaded) -> Vec<String> {
    let images = loaded.images.iter();
    let mut digests: Vec<String> = images
        .map(|image| image.record.manifest_digest.to_string())
        .collect();
    digests.sort();
    digests
}

#[tokio::test(flavor = "multi_thread")]
async fn children_listed_once_more_are_not_further_images() {
    // As oras and other programs over oras-go write it: each child once more, without a name.
    let (own, foreign) = (host_image("own"), image("foreign", "s390x"));
    let children = [
        platform_entry(&foreign, "s390x"),
        platform_entry(&own, host_architecture()),
    ];
    for once_more in [children.clone(), [plain(&foreign), plain(&own)]] {
        for is_first in [true, false] {
            let mut layout = Layout::new(&[&own, &foreign]);
            if is_first {
                layout.entries.extend(once_more.clone());
            }
            layout = layout.index("app:1", &children);
            if !is_first {
                layout.entries.extend(once_more.clone());
            }
            let store = TestStore::new();
            let loaded = layout.load(&store, None).await;
            let loaded = loaded.unwrap_or_else(|error| panic!("{}", line(&error)));
            assert_eq!(digests(&loaded), [own.digest().to_string()]);
            assert_eq!(
                loaded.images[0].record.references,
                ["docker.io/library/app:1"]
            );
            assert!(loaded.skipped.is_empty(), "{}", loaded.skipped);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attestations_artifacts_and_foreign_platforms_are_skipped_and_counted() {
    let (own, foreign) = (host_image("own"), image("foreign", "s390x"));
    let (attestation, chart) = (attestation(), chart());
    let mut signature = plain(&chart);
    signature["mediaType"] = json!("application/vnd.oci.artifact.manifest.v1+json");
    let layout = Layout::new(&[&own, &foreign, &attestation, &chart])
        .entry(unknown_platform(&attestation))
        .entry(named(plain(&chart), "charts/app:1"))
        .entry(signature)
        .entry(plain(&foreign))
        .entry(named(plain(&own), "app:1"));
    let store = TestStore::new();
    let loaded = layout.load(&store, None).await;
    let loaded = loaded.unwrap_or_else(|error| panic!("{}", line(&error)));
    assert_eq!(digests(&loaded), [own.digest().to_string()]);
    assert_eq!(
        loaded.skipped.to_string(),
        format!("images for linux/s390x; 1 attestation; 2 artifacts that are not images ({CHART})")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layout_without_an_image_is_an_error_that_says_what_it_has() {
    let (foreign, attestation, chart) = (image("foreign", "s390x"), attestation(), chart());
    for (layout, expected) in [
        (
            Layout::new(&[&foreign, &chart])
                .entry(plain(&chart))
                .entry(plain(&foreign)),
            "it exists for linux/s390x",
        ),
        (Layout::new(&[&chart]).entry(plain(&chart)), CHART),
        (
            Layout::new(&[&attestation]).entry(unknown_platform(&attestation)),
            "the index has no images",
        ),
        (Layout::new(&[]), "contains no image"),
    ] {
        let store = TestStore::new();
        let error = layout.load(&store, None).await.expect_err("no image");
        assert!(line(&error).contains(expected), "{}", line(&error));
        store.assert_empty();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_image_of_several_is_chosen_by_tag_name_position_or_digest() {
    let (one, two) = (host_image("one"), host_image("two"));
    let layout = Layout::new(&[&one, &two])
        .entry(named(plain(&one), "1.0"))
        .entry(named(plain(&two), "reg.io/app:2.0"));
    for (choice, expected) in [
        ("1.0".to_owned(), &one),
        ("2.0".to_owned(), &two),
        ("reg.io/app:2.0".to_owned(), &two),
        ("@0".to_owned(), &one),
        (format!("@{}", two.digest()), &two),
    ] {
        let loaded = layout.load(&TestStore::new(), Some(&choice)).await;
        let loaded = loaded.unwrap_or_else(|error| panic!("{}", line(&error)));
        assert_eq!(
            digests(&loaded),
            [expected.digest().to_string()],
            "{choice}"
        );
    }
    let error = layout.load(&TestStore::new(), Some("3.0")).await;
    let error = line(&error.expect_err("absent"));
    assert!(
        error.contains("has no image '3.0': it has 1.0, reg.io/app:2.0"),
        "{error}"
    );
    let options = LoadOptions {
        name: Some("mine".parse().expect("a name")),
        ..LoadOptions::default()
    };
    let error = layout.load_with(&TestStore::new(), options).await;
    let diagnosis = error.expect_err("two images").diagnosis();
    let hint = diagnosis.advice().expect("a remedy");
    assert!(hint.contains(":TAG"), "{hint}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_platform_is_chosen_among_entries_without_a_name() {
    let (own, foreign) = (host_image("own"), image("foreign", "s390x"));
    let layout = Layout::new(&[&own, &foreign])
        .entry(platform_entry(&own, host_architecture()))
        .entry(platform_entry(&foreign, "s390x"));
    let options = LoadOptions {
        platform: Some("linux/s390x".parse().expect("a platform")),
        ..LoadOptions::default()
    };
    let loaded = layout.load_with(&TestStore::new(), options).await;
    let loaded = loaded.expect("loaded");
    assert_eq!(digests(&loaded), [foreign.digest().to_string()]);
    assert!(loaded.skipped.to_string().starts_with("images for linux/"));
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_no_reason_to_skip_an_image() {
    let (own, other) = (host_image("own"), host_image("other"));
    let mut entry = plain(&other);
    entry["size"] = json!(3);
    let layout = Layout::new(&[&own, &other]).entry(plain(&own)).entry(entry);
    let store = TestStore::new();
    let error = layout.load(&store, None).await.expect_err("damaged");
    assert!(
        line(&error).contains("its descriptor says 3"),
        "{}",
        line(&error)
    );
    store.assert_empty();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_passes_over_artifacts_that_state_no_platform() {
    let (own, chart) = (host_image("own"), chart());
    let entries = [unknown_platform(&chart), plain(&chart), plain(&own)];
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    let content = Content::from_image(&own).with(&chart);
    let content = content.tagged("latest", INDEX, index.to_string().as_bytes());
    let server = Server::honest(content).await;
    let store = TestStore::new();
    let pulled = store.pull(&server.reference("app:latest")).await;
    let pulled = pulled.unwrap_or_else(|error| panic!("{}", line(&error)));
    assert_eq!(
        pulled.record.manifest_digest.to_string(),
        own.digest().to_string()
    );
}

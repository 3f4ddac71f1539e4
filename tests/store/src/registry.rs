use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fs_err as fs;
use test_support::oci_layout::{Layout, digest};
use testkit::images::MANIFEST;
use testkit::registry::{Content as Served, Server};
use tokio::runtime::Runtime;

use super::content::Content;

/// The registry pauses after this much of a blob, so that kills come in the middle.
const CHUNK_BYTES: usize = 128 << 10;
const PAUSE: Duration = Duration::from_millis(4);

/// A registry in this process that counts how often each layer is asked for.
#[derive(Debug)]
pub(super) struct CountingRegistry {
    server: Server,
    tags: Vec<String>,
    /// The digests of the layers of the generated images and of the layout.
    layers: BTreeSet<String>,
    /// Number of requests that have been counted.
    counted: Mutex<usize>,
    /// The runtime serves while this value lives.
    _runtime: Runtime,
}

impl CountingRegistry {
    /// Serves the generated images.
    pub(super) fn serve(content: &Content) -> Result<Self> {
        Self::start(content, Served::default(), BTreeSet::new())
    }

    /// Serves the generated images and the image of an OCI layout, tagged `small`.
    pub(super) fn serve_with(content: &Content, layout: &Path) -> Result<Self> {
        let layout = Layout::at(layout.to_owned());
        let (manifest, bytes) = layout.manifest()?;
        let mut served = Served::default().tagged("small", MANIFEST, &bytes).tagged(
            &digest(&bytes),
            MANIFEST,
            &bytes,
        );
        let mut layers = BTreeSet::new();
        for descriptor in layout.layers()?.iter().chain([&manifest["config"]]) {
            let bytes = fs::read(layout.blob(descriptor)?)?;
            layers.insert(digest(&bytes));
            served = served.with_blob(digest(&bytes), bytes);
        }
        layers.remove(manifest["config"]["digest"].as_str().context("no config")?);
        let mut registry = Self::start(content, served, layers)?;
        registry.tags.push("small".to_owned());
        Ok(registry)
    }

    fn start(content: &Content, mut served: Served, layers: BTreeSet<String>) -> Result<Self> {
        for (tag, image) in &content.images {
            served = served.with(image).tagged(tag, MANIFEST, &image.manifest);
        }
        let runtime = Runtime::new()?;
        let answer = move |request: &_| served.answer(request).pausing(CHUNK_BYTES, PAUSE);
        let server = runtime.block_on(Server::new(answer));
        Ok(Self {
            server,
            tags: content.images.iter().map(|(tag, _)| tag.clone()).collect(),
            layers: content.layers().into_iter().chain(layers).collect(),
            counted: Mutex::default(),
            _runtime: runtime,
        })
    }

    /// Returns the names of all images.
    pub(super) fn names(&self) -> Vec<String> {
        self.tags.iter().map(|tag| self.name(tag)).collect()
    }

    /// Returns the name of the image with this tag.
    pub(super) fn name(&self, tag: &str) -> String {
        self.server.reference(&format!("images:{tag}"))
    }

    /// Returns the number of requests for each layer since the last call.
    pub(super) fn take_counts(&self) -> BTreeMap<String, usize> {
        let requests = self.server.requests();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = BTreeMap::new();
        for request in &requests[*counted..] {
            let digest = request.path.rsplit('/').next().unwrap_or_default();
            if self.layers.contains(digest) {
                *counts.entry(digest.to_owned()).or_default() += 1;
            }
        }
        *counted = requests.len();
        counts
    }
}

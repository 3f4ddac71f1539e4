use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use test_support::oci_layout::digest;
use testkit::push_registry::PushRegistry;
use testkit::registry::{Request, Server};
use tokio::runtime::Runtime;

const REPOSITORY: &str = "team/app";
const TAG: &str = "1";

/// A registry that takes pushes, and has an image under the tag before each of them.
#[derive(Debug)]
pub(super) struct Registry {
    state: Arc<Mutex<Arc<PushRegistry>>>,
    server: Server,
    /// The runtime serves while this value lives.
    _runtime: Runtime,
}

impl Registry {
    pub(super) fn start() -> Result<Self> {
        let state = Arc::new(Mutex::new(Arc::default()));
        let runtime = Runtime::new()?;
        let served = Arc::clone(&state);
        let answer = move |request: &Request| current(&served).answer(request);
        let server = runtime.block_on(Server::new(answer));
        let registry = Self {
            state,
            server,
            _runtime: runtime,
        };
        registry.reset();
        Ok(registry)
    }

    /// Forgets what was pushed.
    pub(super) fn reset(&self) {
        let registry = PushRegistry::default();
        registry.answer(&Request {
            method: "PUT".to_owned(),
            path: format!("/v2/{REPOSITORY}/manifests/{TAG}"),
            headers: BTreeMap::new(),
            body: String::new(),
            bytes: b"{}".to_vec(),
            is_whole: true,
            earlier: 0,
        });
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(registry);
    }

    /// Returns the name of the image that is pushed.
    pub(super) fn reference(&self) -> String {
        self.server.reference(&format!("{REPOSITORY}:{TAG}"))
    }

    /// Returns the digest of the image under the tag, all blobs of which must be there.
    pub(super) fn image(&self) -> Result<String> {
        let registry = current(&self.state);
        let bytes = registry.manifest(REPOSITORY, TAG).context("no manifest")?;
        let manifest: serde_json::Value = serde_json::from_slice(&bytes)?;
        let layers = manifest["layers"].as_array().cloned().unwrap_or_default();
        let blobs = layers.iter().chain([&manifest["config"]]);
        for blob in blobs.filter_map(|blob| blob["digest"].as_str()) {
            let found = registry.blob(REPOSITORY, blob);
            ensure!(found.is_some(), "the image lacks the blob {blob}");
        }
        Ok(digest(&bytes))
    }
}

fn current(state: &Mutex<Arc<PushRegistry>>) -> Arc<PushRegistry> {
    Arc::clone(&state.lock().unwrap_or_else(PoisonError::into_inner))
}

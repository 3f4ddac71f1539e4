//! The state of a registry that takes pushes, with honest answers for a [`Server`].
//!
//! [`Server`]: crate::registry::Server

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::images::BlobDigest;
use crate::registry::{Answer, Request};

/// A registry that takes blobs and manifests, and gives them back.
#[derive(Debug, Default)]
pub struct PushRegistry {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    blobs: BTreeMap<String, Vec<u8>>,
    /// Digests of the blobs, by repository.
    repositories: BTreeMap<String, BTreeSet<String>>,
    /// Media types and bytes, by repository and tag or digest.
    manifests: BTreeMap<(String, String), (String, Vec<u8>)>,
    uploads: BTreeMap<usize, Vec<u8>>,
    upload_count: usize,
}

impl PushRegistry {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a blob into a repository.
    pub fn add_blob(&self, repository: &str, bytes: &[u8]) {
        self.state().store(repository, bytes);
    }

    /// Returns a blob of a repository; `None` if it has none of this digest.
    pub fn blob(&self, repository: &str, digest: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let has = state.repositories.get(repository)?.contains(digest);
        has.then(|| state.blobs.get(digest).cloned()).flatten()
    }

    /// Returns a manifest by its tag or digest; `None` if there is none.
    pub fn manifest(&self, repository: &str, version: &str) -> Option<Vec<u8>> {
        let key = (repository.to_owned(), version.to_owned());
        Some(self.state().manifests.get(&key)?.1.clone())
    }

    /// Returns the number of manifests, by tags and digests.
    pub fn manifest_count(&self) -> usize {
        self.state().manifests.len()
    }

    /// Returns the honest answer. The body of a request that breaks off is kept as far as it came.
    pub fn answer(&self, request: &Request) -> Answer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let Some(rest) = path.strip_prefix("/v2/") else {
            return Answer::new(404, "");
        };
        if rest.is_empty() {
            return Answer::new(200, "{}");
        }
        let mut state = self.state();
        if let Some((repository, id)) = rest.split_once("/blobs/uploads/") {
            let call = Call {
                repository,
                request,
                query,
            };
            return match id.parse() {
                Ok(id) => state.upload(&call, id),
                Err(_) => state.begin(&call),
            };
        }
        if let Some((repository, digest)) = rest.split_once("/blobs/") {
            return state.blob(request, repository, digest);
        }
        match rest.split_once("/manifests/") {
            Some((repository, version)) => state.manifest(request, repository, version),
            None => Answer::new(404, ""),
        }
    }
}

struct Call<'a> {
    repository: &'a str,
    request: &'a Request,
    query: &'a str,
}

impl Call<'_> {
    fn parameter(&self, name: &str) -> Option<String> {
        let pair = self
            .query
            .split('&')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        Some(pair.replace("%3A", ":").replace("%2F", "/"))
    }
}

impl State {
    fn store(&mut self, repository: &str, bytes: &[u8]) -> String {
        let digest = BlobDigest::compute(bytes).to_string();
        self.blobs.insert(digest.clone(), bytes.to_vec());
        self.own(repository, &digest);
        digest
    }

    fn own(&mut self, repository: &str, digest: &str) {
        let digests = self.repositories.entry(repository.to_owned()).or_default();
        digests.insert(digest.to_owned());
    }

    fn has(&self, repository: &str, digest: &str) -> bool {
        let digests = self.repositories.get(repository);
        digests.is_some_and(|digests| digests.contains(digest))
    }

    fn blob(&self, request: &Request, repository: &str, digest: &str) -> Answer {
        let blob = self.blobs.get(digest);
        let Some(blob) = blob.filter(|_| self.has(repository, digest)) else {
            return error(404, "BLOB_UNKNOWN", "");
        };
        if request.method == "HEAD" {
            let mut answer = Answer::new(200, "");
            answer.content_length = Some(blob.len() as u64);
            return answer;
        }
        Answer::blob(request, blob)
    }

    fn begin(&mut self, call: &Call<'_>) -> Answer {
        let mount = call.parameter("mount").zip(call.parameter("from"));
        if let Some((digest, from)) = mount
            && self.has(&from, &digest)
        {
            self.own(call.repository, &digest);
            return created(&format!("/v2/{}/blobs/{digest}", call.repository), &digest);
        }
        self.upload_count += 1;
        let id = self.upload_count;
        self.uploads.insert(id, Vec::new());
        awaiting(202, call.repository, id, 0)
    }

    fn upload(&mut self, call: &Call<'_>, id: usize) -> Answer {
        let Some(upload) = self.uploads.get_mut(&id) else {
            return error(
                404,
                "BLOB_UPLOAD_UNKNOWN",
                "blob upload unknown to registry",
            );
        };
        if call.request.method == "GET" {
            return awaiting(204, call.repository, id, upload.len());
        }
        let start = call.request.headers.get("content-range");
        let start = start.and_then(|range| range.split('-').next()?.parse::<usize>().ok());
        if start.is_some_and(|start| start != upload.len()) {
            return awaiting(416, call.repository, id, upload.len());
        }
        upload.extend_from_slice(&call.request.bytes);
        if call.request.method == "PATCH" {
            return awaiting(202, call.repository, id, upload.len());
        }
        let bytes = std::mem::take(upload);
        let digest = BlobDigest::compute(&bytes).to_string();
        if call.parameter("digest").as_deref() != Some(&digest) {
            return error(
                400,
                "DIGEST_INVALID",
                "provided digest did not match uploaded content",
            );
        }
        self.uploads.remove(&id);
        self.store(call.repository, &bytes);
        created(&format!("/v2/{}/blobs/{digest}", call.repository), &digest)
    }

    fn manifest(&mut self, request: &Request, repository: &str, version: &str) -> Answer {
        let key = (repository.to_owned(), version.to_owned());
        let digest = BlobDigest::compute(&request.bytes).to_string();
        if request.method != "PUT" {
            return match self.manifests.get(&key) {
                Some((media_type, bytes)) => {
                    Answer::new(200, bytes.clone()).header("Content-Type", media_type)
                }
                None => error(404, "MANIFEST_UNKNOWN", ""),
            };
        }
        let Ok(manifest) = serde_json::from_slice::<Value>(&request.bytes) else {
            return error(400, "MANIFEST_INVALID", "manifest invalid");
        };
        let layers = manifest["layers"].as_array().cloned().unwrap_or_default();
        let needed = layers.iter().chain([&manifest["config"]]);
        for blob in needed.filter_map(|descriptor| descriptor["digest"].as_str()) {
            if !self.has(repository, blob) {
                return error(404, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry");
            }
        }
        let media_type = request.headers.get("content-type").cloned();
        let stored = (media_type.unwrap_or_default(), request.bytes.clone());
        let by_digest = (repository.to_owned(), digest.clone());
        self.manifests.insert(by_digest, stored.clone());
        self.manifests.insert(key, stored);
        created(&format!("/v2/{repository}/manifests/{digest}"), &digest)
    }
}

fn awaiting(status: u16, repository: &str, id: usize, length: usize) -> Answer {
    Answer::new(status, "")
        .header(
            "Location",
            format!("/v2/{repository}/blobs/uploads/{id}?_state={length}"),
        )
        .header("Range", format!("0-{}", length.saturating_sub(1)))
}

fn created(location: &str, digest: &str) -> Answer {
    Answer::new(201, "")
        .header("Location", location)
        .header("Docker-Content-Digest", digest)
}

fn error(status: u16, code: &str, message: &str) -> Answer {
    let text = format!(r#"{{"errors":[{{"code":"{code}","message":"{message}"}}]}}"#);
    Answer::new(status, text)
}

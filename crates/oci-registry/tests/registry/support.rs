//! A destination in a registry of this process, and what the tests send there.

use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use oci_image::{Descriptor, Digest, Reference};
use oci_registry::{
    BlobBytes, BlobState, Client, CredentialSource, Destination, ReadError, Registries,
    RegistryError, RegistryLimits, UploadProgress,
};
use testkit::push_registry::PushRegistry;
use testkit::registry::{Answer, Request, Server};
use tokio::net::TcpListener;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;

/// Length of the blobs that the tests send, in bytes.
pub(crate) const BLOB_BYTES: usize = 1_000_000;
/// Length of the parts that a source gives, in bytes.
const PART_BYTES: usize = 10_000;

/// Returns limits with short times and small chunks.
pub(crate) fn quick() -> RegistryLimits {
    RegistryLimits {
        first_pause: Duration::from_millis(2),
        pause: Duration::from_millis(50),
        idle: Duration::from_secs(4),
        finish: Duration::from_secs(4),
        chunk_bytes: 160_000,
        chunk_min_bytes: 20_000,
        ..RegistryLimits::default()
    }
}

/// Returns bytes that do not repeat.
pub(crate) fn noise(length: usize) -> Bytes {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

pub(crate) fn descriptor(bytes: &[u8]) -> Descriptor {
    Descriptor {
        digest: Digest::compute(bytes),
        size_bytes: bytes.len() as u64,
    }
}

/// A source in parts, which records the offsets that it was asked for.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) bytes: Bytes,
    pub(crate) offsets: Mutex<Vec<u64>>,
    /// Fails at this byte.
    pub(crate) fails_at: Option<usize>,
}

impl Parts {
    pub(crate) fn new(bytes: &Bytes) -> Arc<Self> {
        Arc::new(Self {
            bytes: bytes.clone(),
            offsets: Mutex::default(),
            fails_at: None,
        })
    }
}

impl BlobBytes for Parts {
    fn send_from(
        self: Arc<Self>,
        offset_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<(), ReadError>> + Send>> {
        self.offsets.lock().expect("offsets").push(offset_bytes);
        Box::pin(async move {
            let mut position = usize::try_from(offset_bytes)?;
            while position < self.bytes.len() {
                if self.fails_at.is_some_and(|fails_at| position >= fails_at) {
                    return Err("the disk is gone".into());
                }
                let end = (position + PART_BYTES).min(self.bytes.len());
                let part = self.bytes.slice(position..end);
                if parts.send(part).await.is_err() {
                    return Ok(());
                }
                position = end;
            }
            Ok(())
        })
    }
}

/// The highest position of an upload.
#[derive(Debug, Default)]
pub(crate) struct Highest(pub(crate) Mutex<u64>);

impl UploadProgress for Highest {
    fn position(&self, position_bytes: u64) {
        let mut highest = self.0.lock().expect("a position");
        *highest = position_bytes.max(*highest);
    }
}

/// Carries a request out, and returns the honest answer.
pub(crate) type Honest<'a> = &'a dyn Fn() -> Answer;

/// A registry, and the server that it answers by.
pub(crate) struct Target {
    pub(crate) registry: Arc<PushRegistry>,
    pub(crate) server: Server,
}

impl Target {
    pub(crate) async fn honest() -> Self {
        Self::serving(|_, honest| honest()).await
    }

    /// Starts a registry that changes its honest answers.
    pub(crate) async fn serving(
        serve: impl Fn(&Request, Honest<'_>) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::cutting(|_| None, serve).await
    }

    /// Starts a registry that breaks off requests, too.
    pub(crate) async fn cutting(
        cut: impl Fn(&Request) -> Option<usize> + Send + Sync + 'static,
        serve: impl Fn(&Request, Honest<'_>) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let registry = Arc::new(PushRegistry::default());
        let inner = Arc::clone(&registry);
        let handler = move |request: &Request| serve(request, &|| inner.answer(request));
        let server = Server::cutting(cut, handler).await;
        Self { registry, server }
    }

    /// Starts a registry that leads uploads to a server which reads nothing and answers nothing.
    pub(crate) async fn silent() -> (Self, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let there = listener.local_addr().expect("an address");
        let holding = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                held.push(stream);
            }
        });
        let target = Self::serving(move |request, honest| match request.method.as_str() {
            "POST" => Answer::new(202, "").header("Location", format!("http://{there}/x")),
            _ => honest(),
        });
        (target.await, holding)
    }

    pub(crate) async fn destination(&self) -> Destination {
        self.destination_with(CredentialSource::None, quick(), &[])
            .await
    }

    pub(crate) async fn destination_with(
        &self,
        credentials: CredentialSource,
        limits: RegistryLimits,
        mountable: &[String],
    ) -> Destination {
        let registries = Registries::default();
        let client = Client {
            plain_http: true,
            credentials: &credentials,
            registries: &registries,
            limits: &limits,
            listener: Arc::new(()),
        };
        let name = self.server.reference("team/app:1");
        let reference: Reference = name.parse().expect("a reference");
        let destination = Destination::connect(&client, &reference, mountable).await;
        destination.expect("a destination")
    }

    /// Uploads bytes, unless the registry has them.
    pub(crate) async fn push(&self, bytes: &Bytes) -> Result<(), RegistryError> {
        push_to(&self.destination().await, bytes).await
    }

    /// Returns true if the repository has these bytes.
    pub(crate) fn has(&self, bytes: &Bytes) -> bool {
        let digest = Digest::compute(bytes).to_string();
        self.registry
            .blob("team/app", &digest)
            .is_some_and(|blob| blob[..] == bytes[..])
    }

    /// Returns the methods of all requests so far, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        let requests = self.server.requests();
        requests.into_iter().map(|request| request.method).collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        let methods = self.methods();
        methods.iter().filter(|other| *other == method).count()
    }
}

pub(crate) async fn push_to(destination: &Destination, bytes: &Bytes) -> Result<(), RegistryError> {
    let blob = descriptor(bytes);
    match destination.find_or_mount(&blob, None).await? {
        BlobState::Present | BlobState::Mounted => Ok(()),
        BlobState::Missing(session) => {
            let source = Parts::new(bytes);
            let progress = Arc::new(());
            destination.upload(&blob, source, session, progress).await
        }
    }
}

/// Returns an error and its causes on one line.
pub(crate) fn line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}

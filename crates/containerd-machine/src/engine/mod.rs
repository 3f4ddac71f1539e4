//! containerd, as a shim asks it: for a container, its snapshot, its image, and the blobs of that.

mod connection;
mod error;

use std::path::Path;
use std::time::Duration;

use containerd_protocol::services::{
    Container, Descriptor, GET_CONTAINER, GET_IMAGE, GetContainerRequest, GetContainerResponse,
    GetImageRequest, GetImageResponse, NAMESPACE_HEADER, READ_CONTENT, ReadContentRequest,
    ReadContentResponse, STAT_SNAPSHOT, StatSnapshotRequest, StatSnapshotResponse,
};
use http::Uri;
use http::uri::PathAndQuery;
use prost::Message;
use tonic::client::Grpc;
use tonic::metadata::AsciiMetadataValue;
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

pub(crate) use error::EngineError;

use connection::Connection;

/// The origin of the requests, which containerd ignores.
const ORIGIN: &str = "http://containerd";
/// The scheme of the address of a socket.
const UNIX: &str = "unix://";
/// The time for an answer that is not a blob.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest message, in bytes: as containerd's own clients have it.
const MESSAGE_MAX_BYTES: usize = 16 << 20;

/// A connection with containerd, in a namespace.
pub(crate) struct Engine {
    grpc: Grpc<Connection>,
    namespace: AsciiMetadataValue,
}

impl Engine {
    /// Connects to containerd.
    pub(crate) async fn connect(address: &str, namespace: &str) -> Result<Self, EngineError> {
        let refused = |_| EngineError::Namespace(namespace.to_owned());
        let value = AsciiMetadataValue::try_from(namespace).map_err(refused)?;
        let socket = Path::new(address.strip_prefix(UNIX).unwrap_or(address));
        let connection = Connection::open(socket).await?;
        let grpc = Grpc::with_origin(connection, Uri::from_static(ORIGIN))
            .max_decoding_message_size(MESSAGE_MAX_BYTES);
        Ok(Self {
            grpc,
            namespace: value,
        })
    }

    /// Returns a container.
    pub(crate) async fn container(&mut self, id: &str) -> Result<Container, EngineError> {
        let what = format!("the container {id:?}");
        let request = GetContainerRequest { id: id.to_owned() };
        let answer: GetContainerResponse = self.ask(GET_CONTAINER, request, &what).await?;
        answer.container.ok_or(EngineError::Empty { what })
    }

    /// Returns the document that an image's name stands for.
    pub(crate) async fn image_target(&mut self, name: &str) -> Result<Descriptor, EngineError> {
        let what = format!("the image {name:?}");
        let request = GetImageRequest {
            name: name.to_owned(),
        };
        let answer: GetImageResponse = self.ask(GET_IMAGE, request, &what).await?;
        let target = answer.image.and_then(|image| image.target);
        target.ok_or(EngineError::Empty { what })
    }

    /// Returns the key of the snapshot that another one begins with; empty without one.
    pub(crate) async fn snapshot_parent(
        &mut self,
        snapshotter: &str,
        key: &str,
    ) -> Result<String, EngineError> {
        let what = format!("the snapshot {key:?} of {snapshotter}");
        let request = StatSnapshotRequest {
            snapshotter: snapshotter.to_owned(),
            key: key.to_owned(),
        };
        let answer: StatSnapshotResponse = self.ask(STAT_SNAPSHOT, request, &what).await?;
        let info = answer.info.ok_or(EngineError::Empty { what })?;
        Ok(info.parent)
    }

    /// Returns the parts of a blob, which are not verified.
    pub(crate) async fn blob(&mut self, digest: &str) -> Result<Blob, EngineError> {
        let what = format!("the content {digest}");
        let request = ReadContentRequest {
            digest: digest.to_owned(),
            ..ReadContentRequest::default()
        };
        self.ready().await?;
        let request = self.request(request);
        let path = PathAndQuery::from_static(READ_CONTENT);
        let codec = ProstCodec::<ReadContentRequest, ReadContentResponse>::default();
        let asked = self.grpc.server_streaming(request, path, codec);
        let answer = within(&what, asked).await?;
        let parts = answer.map_err(EngineError::call(&what))?.into_inner();
        Ok(Blob { parts, what })
    }

    async fn ask<Q, A>(
        &mut self,
        path: &'static str,
        question: Q,
        what: &str,
    ) -> Result<A, EngineError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.ready().await?;
        let request = self.request(question);
        let codec = ProstCodec::<Q, A>::default();
        let asked = self
            .grpc
            .unary(request, PathAndQuery::from_static(path), codec);
        let answer = within(what, asked).await?;
        Ok(answer.map_err(EngineError::call(what))?.into_inner())
    }

    async fn ready(&mut self) -> Result<(), EngineError> {
        self.grpc.ready().await.map_err(EngineError::Connection)
    }

    fn request<M>(&self, message: M) -> Request<M> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        metadata.insert(NAMESPACE_HEADER, self.namespace.clone());
        request
    }
}

/// A blob that is being read.
pub(crate) struct Blob {
    parts: Streaming<ReadContentResponse>,
    what: String,
}

impl Blob {
    /// Returns the next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, EngineError> {
        let part = within(&self.what, self.parts.message()).await?;
        let part = part.map_err(EngineError::call(&self.what))?;
        Ok(part.map(|part| part.data))
    }
}

/// Waits for an answer, and no longer than containerd may take.
async fn within<T>(what: &str, answer: impl Future<Output = T>) -> Result<T, EngineError> {
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, answer).await;
    answer.map_err(|_| EngineError::Late {
        what: what.to_owned(),
        limit_s: ANSWER_TIMEOUT.as_secs(),
    })
}

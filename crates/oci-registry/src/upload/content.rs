use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc::Sender;

/// The reason why a blob's bytes cannot be had.
pub type ReadError = Box<dyn std::error::Error + Send + Sync>;

/// The bytes of a blob, which can be had again from any offset. So an upload that breaks off is
/// resumed, and one that the registry forgot is repeated.
///
/// ```
/// use std::pin::Pin;
/// use std::sync::Arc;
///
/// use bytes::Bytes;
/// use oci_registry::{BlobBytes, ReadError};
/// use tokio::sync::mpsc::Sender;
///
/// #[derive(Debug)]
/// struct Text(&'static str);
///
/// impl BlobBytes for Text {
///     fn send_from(
///         self: Arc<Self>,
///         offset_bytes: u64,
///         parts: Sender<Bytes>,
///     ) -> Pin<Box<dyn Future<Output = Result<(), ReadError>> + Send>> {
///         Box::pin(async move {
///             let rest = &self.0.as_bytes()[usize::try_from(offset_bytes)?..];
///             // The receiver is dropped if it needs no more bytes.
///             let _ = parts.send(Bytes::from_static(rest)).await;
///             Ok(())
///         })
///     }
/// }
/// ```
pub trait BlobBytes: Debug + Send + Sync {
    /// Sends the bytes from `offset_bytes` to the end, in order, each once, in parts of at most
    /// 1 MiB. They must be the same at each call. Returns early if the receiver is dropped.
    fn send_from(
        self: Arc<Self>,
        offset_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<(), ReadError>> + Send>>;
}

/// Bytes in memory, such as a config.
impl BlobBytes for Bytes {
    fn send_from(
        self: Arc<Self>,
        offset_bytes: u64,
        parts: Sender<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<(), ReadError>> + Send>> {
        let start = usize::try_from(offset_bytes).unwrap_or(usize::MAX);
        let rest = self.slice(start.min(self.len())..);
        Box::pin(async move {
            // The receiver is dropped if it needs no more bytes.
            let _ = parts.send(rest).await;
            Ok(())
        })
    }
}

//! The upload of one blob: sent as a stream or in chunks, and resumed where it broke off.

mod body;
mod content;
mod part;
mod session;
mod transfer;
mod uploader;

pub use content::{BlobBytes, ReadError};
pub(super) use part::BlobPart;
pub use session::UploadSession;
pub(super) use session::{Begun, begin, confirms, inquiry};
pub use transfer::UploadProgress;
pub(super) use uploader::Uploader;

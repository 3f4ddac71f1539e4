//! Messages of `google.protobuf`.

use prost::{DecodeError, Message};

/// A message with the name of its type, `google.protobuf.Any`.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Any {
    /// The name of the type. containerd writes the bare name, others put a host and a slash before it.
    #[prost(string, tag = "1")]
    pub type_url: String,
    /// The bytes of the message.
    #[prost(bytes = "vec", tag = "2")]
    pub value: Vec<u8>,
}

/// A moment, `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Message)]
pub struct Timestamp {
    /// Seconds since the epoch.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds of the second.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// A message without fields, `google.protobuf.Empty`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Empty {}

/// A message that is sent as [`Any`].
pub trait Named: Message + Default {
    /// The full name of the type.
    const TYPE_NAME: &'static str;
}

impl Any {
    /// Returns the message with the bare name of its type.
    pub fn pack<M: Named>(message: &M) -> Self {
        Self {
            type_url: M::TYPE_NAME.to_owned(),
            value: message.encode_to_vec(),
        }
    }

    /// Returns the full name of the type, without a host before it.
    #[must_use]
    pub fn type_name(&self) -> &str {
        let (_, name) = self
            .type_url
            .rsplit_once('/')
            .unwrap_or(("", &self.type_url));
        name
    }

    /// Reads the message; `None` if it is of another type.
    #[must_use]
    pub fn unpack<M: Named>(&self) -> Option<Result<M, DecodeError>> {
        (self.type_name() == M::TYPE_NAME).then(|| M::decode(self.value.as_slice()))
    }
}

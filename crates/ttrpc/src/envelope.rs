//! The messages of frames: a request or a response, with the bytes of the service's own message inside.

use std::time::Duration;

use prost::Message;

use crate::metadata::METADATA_MAX;
use crate::{Call, CallOptions, Code, Metadata, Status};

/// A call, message `ttrpc.Request`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Request {
    /// The full name of the service.
    #[prost(string, tag = "1")]
    pub service: String,
    /// The name of the method.
    #[prost(string, tag = "2")]
    pub method: String,
    /// The message of the service.
    #[prost(bytes = "vec", tag = "3")]
    pub payload: Vec<u8>,
    /// The time that the caller waits, in nanoseconds; 0 without a limit.
    #[prost(int64, tag = "4")]
    pub timeout_nano: i64,
    /// Names and values beside the message.
    #[prost(message, repeated, tag = "5")]
    pub metadata: Vec<KeyValue>,
}

/// An entry of a call's metadata, message `ttrpc.KeyValue`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct KeyValue {
    /// The name.
    #[prost(string, tag = "1")]
    pub key: String,
    /// The value.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// The answer to a call, message `ttrpc.Response`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Response {
    /// The error; without one, or with code 0, the call succeeded.
    #[prost(message, optional, tag = "1")]
    pub status: Option<WireStatus>,
    /// The message of the service.
    #[prost(bytes = "vec", tag = "2")]
    pub payload: Vec<u8>,
}

/// An error, message `google.rpc.Status` without its details.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct WireStatus {
    /// The number of a [`Code`].
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// The text of the error.
    #[prost(string, tag = "2")]
    pub message: String,
}

impl Request {
    pub(crate) fn new(
        service: &str,
        method: &str,
        payload: Vec<u8>,
        options: &CallOptions,
    ) -> Self {
        let timeout = options.timeout.unwrap_or_default();
        let entry = |(key, value): (&str, &str)| KeyValue {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        Self {
            service: service.to_owned(),
            method: method.to_owned(),
            payload,
            timeout_nano: i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX),
            metadata: options.metadata.iter().map(entry).collect(),
        }
    }

    /// Reads the call of a request's frame.
    ///
    /// # Errors
    /// The status to answer with: the bytes are not a request, or its metadata is too much.
    pub(crate) fn parse(message: &[u8]) -> Result<Call, Status> {
        let invalid = |text: String| Status::new(Code::InvalidArgument, text);
        let request = Self::decode(message);
        let request =
            request.map_err(|error| invalid(format!("cannot read the request: {error}")))?;
        if request.metadata.len() > METADATA_MAX {
            let found = request.metadata.len();
            let text =
                format!("the request has {found} entries of metadata, the limit is {METADATA_MAX}");
            return Err(invalid(text));
        }
        let mut metadata = Metadata::default();
        for KeyValue { key, value } in request.metadata {
            metadata.insert(key, value);
        }
        let timeout = u64::try_from(request.timeout_nano).ok();
        Ok(Call {
            service: request.service,
            method: request.method,
            payload: request.payload,
            metadata,
            timeout: timeout.filter(|nanos| *nanos > 0).map(Duration::from_nanos),
        })
    }
}

impl Response {
    pub(crate) fn new(answer: Result<Vec<u8>, Status>) -> Self {
        match answer {
            Ok(payload) => Self {
                status: None,
                payload,
            },
            Err(status) => Self {
                status: Some(WireStatus {
                    code: status.code().number(),
                    message: status.message().to_owned(),
                }),
                payload: Vec::new(),
            },
        }
    }

    pub(crate) fn into_answer(self) -> Result<Vec<u8>, Status> {
        match self.status {
            Some(status) if status.code != 0 => {
                Err(Status::new(Code::from_number(status.code), status.message))
            }
            _ => Ok(self.payload),
        }
    }
}

use std::time::Duration;

use prost::Message;

use crate::{Code, Metadata, Status};

/// The services behind a server.
pub trait Service: Send + Sync + 'static {
    /// Answers a call with the bytes of the method's response. The future is dropped when the call's timeout has
    /// passed or its connection has ended, so a change that must not break off runs in a task.
    ///
    /// # Errors
    /// The status that the client gets.
    fn call(&self, call: Call) -> impl Future<Output = Result<Vec<u8>, Status>> + Send;
}

/// A call that a server has received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The full name of the service, such as `containerd.task.v2.Task`.
    pub service: String,
    /// The name of the method, such as `Create`.
    pub method: String,
    /// The bytes of the request's message.
    pub payload: Vec<u8>,
    /// Names and values beside the request.
    pub metadata: Metadata,
    /// The time that the client waits; `None` without a limit.
    pub timeout: Option<Duration>,
}

impl Call {
    /// Reads the request's message.
    ///
    /// # Errors
    /// The status to answer with, if the bytes are not such a message.
    pub fn decode<M: Message + Default>(&self) -> Result<M, Status> {
        M::decode(self.payload.as_slice()).map_err(|error| {
            let method = &self.method;
            let text = format!("cannot read the request of {method}: {error}");
            Status::new(Code::InvalidArgument, text)
        })
    }

    /// Returns the status for a method that the service does not have.
    #[must_use]
    pub fn unimplemented(&self) -> Status {
        let (service, method) = (&self.service, &self.method);
        Status::new(
            Code::Unimplemented,
            format!("{service:?} has no method {method:?}"),
        )
    }
}

/// The options of a client's call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// The time to wait for the answer; `None` to wait without a limit.
    pub timeout: Option<Duration>,
    /// Names and values beside the request.
    pub metadata: Metadata,
}

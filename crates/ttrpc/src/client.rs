use std::time::Duration;

use prost::Message;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::pending::{Answer, Pending};
use crate::{
    CallOptions, Code, Frame, FrameKind, MESSAGE_MAX_BYTES, Received, Request, Response, Status,
    receive,
};

/// The requests that wait to be written. A caller waits with its own if there are more.
const REQUESTS_MAX: usize = 16;

/// A client of one connection, whose calls can run at the same time. The connection ends with it.
pub struct Client {
    requests: mpsc::Sender<Vec<u8>>,
    pending: Pending,
    connection: AbortHandle,
}

/// A call without an answer, or with an error as its answer.
#[derive(Debug, Error)]
pub enum CallError {
    /// The service answered with an error.
    #[error(transparent)]
    Status(#[from] Status),
    /// The connection has ended, before the call or during it.
    #[error("the connection has ended")]
    Disconnected,
    /// The answer did not come in time.
    #[error("no answer came within {0:?}")]
    TimedOut(Duration),
    /// The request is too long.
    #[error("the request has {0} bytes, the limit is {MESSAGE_MAX_BYTES}")]
    TooLong(usize),
    /// The answer is not the message that the method answers with.
    #[error("cannot read the answer")]
    Malformed(#[source] prost::DecodeError),
}

impl Client {
    /// Returns the client of a connection.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub fn new<T: AsyncRead + AsyncWrite + Send + 'static>(stream: T) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let (requests, queue) = mpsc::channel(REQUESTS_MAX);
        let pending = Pending::default();
        let calls = pending.clone();
        let connection = tokio::spawn(async move {
            // Its callers see the end of a connection, whatever ends it.
            tokio::select! {
                () = read(reader, &calls) => {}
                () = write(writer, queue) => {}
            }
            calls.close();
        });
        Self {
            requests,
            pending,
            connection: connection.abort_handle(),
        }
    }

    /// Returns true if the connection has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.pending.is_closed()
    }

    /// Calls a method and returns its response. The request may have been carried out even if that fails.
    ///
    /// # Errors
    /// If the service answers with an error, the answer does not come in time or cannot be read, the connection ends,
    /// or the request is too long.
    pub async fn call<Q, R>(
        &self,
        service: &str,
        method: &str,
        request: &Q,
        options: &CallOptions,
    ) -> Result<R, CallError>
    where
        Q: Message,
        R: Message + Default,
    {
        let request = Request::new(service, method, request.encode_to_vec(), options);
        let call = self.exchange(request.encode_to_vec());
        let answer = match options.timeout {
            Some(timeout) => tokio::time::timeout(timeout, call)
                .await
                .map_err(|_| CallError::TimedOut(timeout))?,
            None => call.await,
        };
        R::decode(answer?.as_slice()).map_err(CallError::Malformed)
    }

    async fn exchange(&self, message: Vec<u8>) -> Result<Vec<u8>, CallError> {
        let length = message.len();
        let room = self.requests.reserve().await;
        let room = room.map_err(|_| CallError::Disconnected)?;
        let mut frame = Frame {
            stream: 0,
            kind: FrameKind::Request,
            flags: 0,
            message,
        };
        let mut is_sent = false;
        let waiting = self.pending.add(|stream| {
            frame.stream = stream;
            if let Some(bytes) = frame.to_bytes() {
                room.send(bytes);
                is_sent = true;
            }
        });
        let mut waiting = waiting.ok_or(CallError::Disconnected)?;
        if !is_sent {
            return Err(CallError::TooLong(length));
        }
        let answer = waiting.answer().await;
        Ok(answer.ok_or(CallError::Disconnected)??)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// Reads answers until the connection ends.
async fn read<T: AsyncRead>(mut reader: ReadHalf<T>, calls: &Pending) {
    loop {
        match receive(&mut reader).await {
            Ok(Received::Frame(frame)) if frame.kind == FrameKind::Response => {
                calls.resolve(frame.stream, parse(&frame.message));
            }
            // Data of streaming calls, which this client does not make.
            Ok(Received::Frame(_)) => {}
            Ok(Received::TooLong(header)) => {
                let found = header.length_bytes;
                let text =
                    format!("the answer has {found} bytes, the limit is {MESSAGE_MAX_BYTES}");
                calls.resolve(
                    header.stream,
                    Err(Status::new(Code::ResourceExhausted, text)),
                );
            }
            Ok(Received::End) | Err(_) => return,
        }
    }
}

fn parse(message: &[u8]) -> Answer {
    let response = Response::decode(message).map_err(|error| {
        let text = format!("cannot read the answer: {error}");
        Status::new(Code::Internal, text)
    });
    response.and_then(Response::into_answer)
}

/// Writes requests until the connection ends.
async fn write<T: AsyncWrite>(mut writer: WriteHalf<T>, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(frame) = queue.recv().await {
        let written = writer.write_all(&frame).await;
        if written.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

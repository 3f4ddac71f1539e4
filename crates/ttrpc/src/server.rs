//! The server of one connection.

use std::io;
use std::sync::Arc;

use prost::Message as _;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::{
    Call, Code, Frame, FrameKind, MESSAGE_MAX_BYTES, Received, Request, Response, STREAM_OPEN,
    Service, Status, receive,
};

/// The most calls of one connection at a time: each process of a container can have a call that waits for its end.
pub const CALLS_MAX: usize = 8192;
/// The most bytes of the requests of one connection at a time: four of the largest.
pub const REQUESTS_MAX_BYTES: u32 = 4 * MESSAGE_MAX_BYTES;
/// The answers that wait to be written. A call waits with its own answer if there are more.
const ANSWERS_MAX: usize = 16;

/// A connection ended otherwise than by its client.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A request cannot be read.
    #[error("cannot read a request")]
    Read(#[source] io::Error),
    /// An answer cannot be written.
    #[error("cannot write an answer")]
    Write(#[source] io::Error),
}

/// Serves a connection until its client closes it. Calls run at the same time; those that are unanswered at the end
/// are dropped.
///
/// # Errors
/// If the stream fails, or ends within a frame.
pub async fn serve<S, T>(stream: T, service: Arc<S>) -> Result<(), ServeError>
where
    S: Service,
    T: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = tokio::io::split(stream);
    let (answers, queue) = mpsc::channel(ANSWERS_MAX);
    let connection = Connection {
        service,
        answers,
        calls: JoinSet::new(),
        slots: Arc::new(Semaphore::new(CALLS_MAX)),
        request_bytes: Arc::new(Semaphore::new(
            usize::try_from(REQUESTS_MAX_BYTES).unwrap_or_default(),
        )),
        last_stream: 0,
    };
    tokio::select! {
        read = connection.read(reader) => read,
        written = write(writer, queue) => written,
    }
}

async fn write<T: AsyncWrite>(
    mut writer: WriteHalf<T>,
    mut queue: mpsc::Receiver<Vec<u8>>,
) -> Result<(), ServeError> {
    while let Some(frame) = queue.recv().await {
        writer.write_all(&frame).await.map_err(ServeError::Write)?;
        writer.flush().await.map_err(ServeError::Write)?;
    }
    Ok(())
}

struct Connection<S> {
    service: Arc<S>,
    answers: mpsc::Sender<Vec<u8>>,
    calls: JoinSet<()>,
    slots: Arc<Semaphore>,
    request_bytes: Arc<Semaphore>,
    last_stream: u32,
}

/// The share of a connection's limits that a call has until it is answered.
struct Share {
    _slot: OwnedSemaphorePermit,
    _request_bytes: OwnedSemaphorePermit,
}

impl<S: Service> Connection<S> {
    async fn read<T: AsyncRead>(mut self, mut reader: ReadHalf<T>) -> Result<(), ServeError> {
        loop {
            match receive(&mut reader).await.map_err(ServeError::Read)? {
                Received::End => return Ok(()),
                Received::TooLong(header) => {
                    let found = header.length_bytes;
                    let text =
                        format!("the message has {found} bytes, the limit is {MESSAGE_MAX_BYTES}");
                    self.refuse(header.stream, Status::new(Code::ResourceExhausted, text))
                        .await;
                }
                // A client sends no responses, and data belongs to streaming calls, which have been refused.
                Received::Frame(frame) => {
                    if frame.kind == FrameKind::Request {
                        self.accept(frame).await;
                    }
                }
            }
            while self.calls.try_join_next().is_some() {}
        }
    }

    /// Begins a call, or refuses it.
    async fn accept(&mut self, frame: Frame) {
        let stream = frame.stream;
        match self.admit(&frame) {
            Ok((call, share)) => {
                let (service, answers) = (Arc::clone(&self.service), self.answers.clone());
                self.calls.spawn(async move {
                    let answer = answer(&*service, call).await;
                    // The connection ends if its answers cannot be written.
                    let _ = answers.send(response(stream, answer)).await;
                    drop(share);
                });
            }
            Err(status) => self.refuse(stream, status).await,
        }
    }

    fn admit(&mut self, frame: &Frame) -> Result<(Call, Share), Status> {
        let stream = frame.stream;
        if stream.is_multiple_of(2) || stream <= self.last_stream {
            let text = format!(
                "the call has number {stream}, which is not odd and above all earlier ones"
            );
            return Err(Status::new(Code::InvalidArgument, text));
        }
        self.last_stream = stream;
        if frame.flags & STREAM_OPEN != 0 {
            return Err(Status::new(
                Code::Unimplemented,
                "streaming calls are not supported",
            ));
        }
        let full = |_| Status::new(Code::ResourceExhausted, "too many calls are unanswered");
        let bytes = u32::try_from(frame.message.len()).unwrap_or(u32::MAX);
        let share = Share {
            _slot: Arc::clone(&self.slots).try_acquire_owned().map_err(full)?,
            _request_bytes: Arc::clone(&self.request_bytes)
                .try_acquire_many_owned(bytes)
                .map_err(full)?,
        };
        Ok((Request::parse(&frame.message)?, share))
    }

    async fn refuse(&self, stream: u32, status: Status) {
        // The connection ends if its answers cannot be written.
        let _ = self.answers.send(response(stream, Err(status))).await;
    }
}

/// Returns the answer of a service, within the time that the client waits.
async fn answer<S: Service>(service: &S, call: Call) -> Result<Vec<u8>, Status> {
    let timeout = call.timeout;
    let answer = service.call(call);
    match timeout {
        Some(timeout) => tokio::time::timeout(timeout, answer)
            .await
            .unwrap_or_else(|_| {
                let text = format!("the call took longer than {timeout:?}");
                Err(Status::new(Code::DeadlineExceeded, text))
            }),
        None => answer.await,
    }
}

/// Returns the frame of an answer. An answer that is too long is replaced by an error.
fn response(stream: u32, answer: Result<Vec<u8>, Status>) -> Vec<u8> {
    let frame = |answer| Frame {
        stream,
        kind: FrameKind::Response,
        flags: 0,
        message: Response::new(answer).encode_to_vec(),
    };
    frame(answer).to_bytes().unwrap_or_else(|| {
        let text = format!("the answer is longer than {MESSAGE_MAX_BYTES} bytes");
        let status = Status::new(Code::ResourceExhausted, text);
        frame(Err(status)).to_bytes().unwrap_or_default()
    })
}

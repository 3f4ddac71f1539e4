use std::io;

use futures_util::{SinkExt, StreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::bytes::Bytes;
use tokio_util::codec::{FramedRead, FramedWrite, LengthDelimitedCodec};

use crate::FRAME_MAX_BYTES;

/// Why a frame was not read or written. The stream is of no use afterwards.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream failed, or the peer sent more than a frame may hold.
    #[error("cannot pass a frame")]
    Io(#[from] io::Error),
    /// The bytes are not the message that belongs here.
    #[error("a frame does not hold the expected message")]
    Corrupt(#[from] postcard::Error),
}

/// The frames that a stream brings.
#[derive(Debug)]
pub struct FrameReader<R>(FramedRead<R, LengthDelimitedCodec>);

/// The frames that go out on a stream.
#[derive(Debug)]
pub struct FrameWriter<W>(FramedWrite<W, LengthDelimitedCodec>);

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder()
        .max_frame_length(FRAME_MAX_BYTES)
        .new_codec()
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads frames from `stream`.
    pub fn new(stream: R) -> Self {
        Self(FramedRead::new(stream, codec()))
    }

    /// The next message, or `None` once the peer has closed. Dropping the future loses nothing.
    ///
    /// # Errors
    /// A stream that fails or ends within a frame, a frame that is too long or not a `T`.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        match self.0.next().await {
            Some(frame) => Ok(Some(postcard::from_bytes(&frame?)?)),
            None => Ok(None),
        }
    }
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// Writes frames to `stream`.
    pub fn new(stream: W) -> Self {
        Self(FramedWrite::new(stream, codec()))
    }

    /// Sends a message and waits until the stream has taken it.
    ///
    /// # Errors
    /// A stream that fails, a message longer than a frame.
    pub async fn send<T: Serialize>(&mut self, message: &T) -> Result<(), FrameError> {
        let bytes = postcard::to_stdvec(message)?;
        Ok(self.0.send(Bytes::from(bytes)).await?)
    }

    /// Tells the peer that no more comes.
    ///
    /// # Errors
    /// A stream that fails.
    pub async fn close(&mut self) -> Result<(), FrameError> {
        let close = SinkExt::<Bytes>::close(&mut self.0);
        Ok(close.await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Input};

    #[tokio::test]
    async fn frames_round_trip_and_end() {
        let (a, b) = tokio::io::duplex(64);
        let sent = Event::Stdout(vec![7; 1000]);
        let task = tokio::spawn(async move { FrameReader::new(b).next::<Event>().await });
        FrameWriter::new(a).send(&sent).await.expect("sent");
        assert_eq!(task.await.expect("joined").expect("read"), Some(sent));
    }

    #[tokio::test]
    async fn hostile_frames_are_refused() {
        let oversized = u32::try_from(FRAME_MAX_BYTES + 1)
            .expect("small")
            .to_be_bytes();
        let mut reader = FrameReader::new(&oversized[..]);
        assert!(matches!(
            reader.next::<Event>().await,
            Err(FrameError::Io(_))
        ));
        let garbage = [0, 0, 0, 2, 0xff, 0xff];
        let mut reader = FrameReader::new(&garbage[..]);
        assert!(matches!(
            reader.next::<Input>().await,
            Err(FrameError::Corrupt(_))
        ));
        let cut = [0, 0, 0, 9, 1];
        let mut reader = FrameReader::new(&cut[..]);
        assert!(matches!(
            reader.next::<Input>().await,
            Err(FrameError::Io(_))
        ));
        let mut reader = FrameReader::new(&[][..]);
        assert!(matches!(reader.next::<Input>().await, Ok(None)));
    }
}

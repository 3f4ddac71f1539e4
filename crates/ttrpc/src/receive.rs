use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::{Frame, FrameHeader, HEADER_BYTES, MESSAGE_MAX_BYTES};

/// The outcome of reading one frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// A frame.
    Frame(Frame),
    /// The header of a frame whose message is too long. The message was skipped.
    TooLong(FrameHeader),
    /// The end of the stream, between two frames.
    End,
}

/// Reads the next frame. Memory is taken as the message arrives.
///
/// # Errors
/// If the stream fails, or ends within a frame.
pub async fn receive(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Received> {
    let mut header = [0; HEADER_BYTES];
    let (first, rest) = header.split_at_mut(1);
    if from.read(first).await? == 0 {
        return Ok(Received::End);
    }
    from.read_exact(rest).await?;
    let header = FrameHeader::parse(header);
    let length_bytes = u64::from(header.length_bytes);
    let mut body = from.take(length_bytes);
    if header.length_bytes > MESSAGE_MAX_BYTES {
        let skipped = tokio::io::copy(&mut body, &mut tokio::io::sink()).await?;
        return whole(skipped == length_bytes).map(|()| Received::TooLong(header));
    }
    let mut message = Vec::new();
    body.read_to_end(&mut message).await?;
    whole(u64::try_from(message.len()) == Ok(length_bytes))?;
    Ok(Received::Frame(Frame {
        stream: header.stream,
        kind: header.kind,
        flags: header.flags,
        message,
    }))
}

fn whole(is_whole: bool) -> io::Result<()> {
    if is_whole {
        return Ok(());
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

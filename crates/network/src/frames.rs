//! Ethernet frames on a stream socket: each has its length before it, 4 bytes, big-endian. QEMU's
//! `-netdev socket` and `stream` and libkrun's unixstream backend speak so.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

/// Bytes of the length before a frame.
const LENGTH_BYTES: usize = 4;
/// The longest frame that a VMM passes on: the largest IPv4 packet and an Ethernet header.
const FRAME_MAX_BYTES: usize = 65_535 + 18;
/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;
/// How many frames are written at once, and how many bytes.
const BATCH_FRAMES: usize = 64;

/// The frames that the guest sends.
#[derive(Debug)]
pub(crate) struct FrameReader {
    socket: OwnedReadHalf,
    buffer: BytesMut,
}

impl FrameReader {
    pub(crate) fn new(socket: OwnedReadHalf) -> Self {
        Self {
            socket,
            buffer: BytesMut::new(),
        }
    }

    /// The next frame; `None` when the VMM has gone. May be cancelled.
    ///
    /// # Errors
    /// When the socket fails, or what is on it are no frames.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some(frame) = take_frame(&mut self.buffer)? {
                return Ok(Some(frame));
            }
            self.buffer.reserve(READ_BYTES);
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// The first frame in `buffer`, once it is there whole.
fn take_frame(buffer: &mut BytesMut) -> io::Result<Option<Bytes>> {
    let Some(length) = buffer.first_chunk::<LENGTH_BYTES>() else {
        return Ok(None);
    };
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > FRAME_MAX_BYTES {
        let what = format!("a frame of {length} bytes, more than {FRAME_MAX_BYTES}");
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    if buffer.len() < LENGTH_BYTES + length {
        return Ok(None);
    }
    buffer.advance(LENGTH_BYTES);
    Ok(Some(buffer.split_to(length).freeze()))
}

/// Writes frames to the guest until nobody has any more, or the VMM has gone.
pub(crate) async fn write_frames(
    mut socket: OwnedWriteHalf,
    mut frames: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    let (mut batch, mut bytes) = (Vec::new(), Vec::new());
    while frames.recv_many(&mut batch, BATCH_FRAMES).await > 0 {
        bytes.clear();
        for frame in batch.drain(..) {
            let length = u32::try_from(frame.len()).unwrap_or_default();
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(&frame);
        }
        socket.write_all(&bytes).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_taken_whole() {
        let mut buffer = BytesMut::from(&b"\0\0\0\x02ab\0\0\0\0\0\0\0\x03cd"[..]);
        assert_eq!(take_frame(&mut buffer).unwrap().unwrap(), "ab");
        assert_eq!(take_frame(&mut buffer).unwrap().unwrap(), "");
        assert_eq!(take_frame(&mut buffer).unwrap(), None);
        buffer.extend_from_slice(b"e");
        assert_eq!(take_frame(&mut buffer).unwrap().unwrap(), "cde");
    }

    #[test]
    fn a_length_that_no_frame_has_ends_it() {
        let mut buffer = BytesMut::from(&b"\0\x01\0\x12"[..]);
        assert!(take_frame(&mut buffer).is_err());
    }
}

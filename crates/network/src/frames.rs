//! Ethernet frames on a stream socket, each behind its length: 4 bytes, big-endian.
//!
//! QEMU's `-netdev socket` and `-netdev stream` and libkrun's unixstream backend use this format.

use std::io;
use std::ops::Range;

use smoltcp::wire::ETHERNET_HEADER_LEN;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use crate::link::MTU_BYTES;

/// Size of the length before a frame.
const LENGTH_BYTES: usize = 4;
/// The longest frame that fits the wire. A guest can give its device a larger MTU, and a VMM passes
/// such frames on; they are dropped here.
const FRAME_MAX_BYTES: usize = u16_to_usize(MTU_BYTES) + ETHERNET_HEADER_LEN;
/// The longest frame that any VMM passes on (QEMU's `NET_BUFSIZE` is 69,632 bytes).
const STREAM_FRAME_MAX_BYTES: usize = 128 * 1024;
/// The size of the read buffer.
const READ_BYTES: usize = 64 * 1024;
/// The number of frames that are written at once, at most.
const BATCH_FRAMES: usize = 64;

#[expect(clippy::as_conversions, reason = "no other conversion is const")]
const fn u16_to_usize(value: u16) -> usize {
    value as usize
}

/// The frames that the guest sends, in a buffer of fixed size.
#[derive(Debug)]
pub(crate) struct FrameReader {
    socket: OwnedReadHalf,
    frames: FrameBuffer,
}

impl FrameReader {
    pub(crate) fn new(socket: OwnedReadHalf) -> Self {
        Self {
            socket,
            frames: FrameBuffer::new(),
        }
    }

    /// Returns the next complete frame. `None` if more bytes must be read first. Skips frames that
    /// do not fit the wire.
    ///
    /// # Errors
    /// If a length is larger than any VMM's largest frame: the bytes are not frames.
    pub(crate) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.frames.next()
    }

    /// Reads more bytes. Returns false if the VMM has closed the socket. Safe to cancel.
    ///
    /// # Errors
    /// If the socket fails.
    pub(crate) async fn fill(&mut self) -> io::Result<bool> {
        let length = self.socket.read(self.frames.room()).await?;
        self.frames.filled.end += length;
        Ok(length > 0)
    }
}

#[derive(Debug)]
struct FrameBuffer {
    bytes: Box<[u8]>,
    /// The bytes that were read and not yet taken.
    filled: Range<usize>,
    /// The number of bytes still to come that belong to a frame that is too long.
    skipped_bytes: usize,
}

impl FrameBuffer {
    fn new() -> Self {
        Self {
            bytes: vec![0; READ_BYTES].into(),
            filled: 0..0,
            skipped_bytes: 0,
        }
    }

    /// Returns the free part of the buffer. It is never empty: an incomplete frame is shorter than
    /// the buffer.
    fn room(&mut self) -> &mut [u8] {
        self.bytes.copy_within(self.filled.clone(), 0);
        self.filled = 0..self.filled.len();
        &mut self.bytes[self.filled.end..]
    }

    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        loop {
            let skipped = self.skipped_bytes.min(self.filled.len());
            self.filled.start += skipped;
            self.skipped_bytes -= skipped;
            let read = &self.bytes[self.filled.clone()];
            let Some(length) = read.first_chunk::<LENGTH_BYTES>() else {
                return Ok(None);
            };
            let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
            if length > STREAM_FRAME_MAX_BYTES {
                let what =
                    format!("a frame has {length} bytes, the limit is {STREAM_FRAME_MAX_BYTES}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            if length > FRAME_MAX_BYTES {
                self.filled.start += LENGTH_BYTES;
                self.skipped_bytes = length;
                continue;
            }
            if read.len() < LENGTH_BYTES + length {
                return Ok(None);
            }
            let start = self.filled.start + LENGTH_BYTES;
            self.filled.start = start + length;
            return Ok(Some(&self.bytes[start..start + length]));
        }
    }
}

/// Writes frames to the guest until every sender is gone, or the VMM has closed the socket.
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

    fn put(buffer: &mut FrameBuffer, bytes: &[u8]) {
        buffer.room()[..bytes.len()].copy_from_slice(bytes);
        buffer.filled.end += bytes.len();
    }

    #[test]
    fn frames_are_taken_whole() {
        let mut buffer = FrameBuffer::new();
        put(&mut buffer, b"\0\0\0\x02ab\0\0\0\0\0\0\0\x03cd");
        assert_eq!(buffer.next().unwrap().unwrap(), b"ab");
        assert_eq!(buffer.next().unwrap().unwrap(), b"");
        assert_eq!(buffer.next().unwrap(), None);
        put(&mut buffer, b"e");
        assert_eq!(buffer.next().unwrap().unwrap(), b"cde");
    }

    #[test]
    fn a_frame_that_does_not_fit_the_wire_is_left_out_without_being_kept() {
        let mut buffer = FrameBuffer::new();
        for length in [FRAME_MAX_BYTES + 1, 65_535, STREAM_FRAME_MAX_BYTES] {
            put(&mut buffer, &u32::try_from(length).unwrap().to_be_bytes());
            let mut rest = length;
            while rest > 0 {
                let part = rest.min(1000);
                put(&mut buffer, &vec![1; part]);
                assert_eq!(buffer.next().unwrap(), None);
                rest -= part;
            }
            put(&mut buffer, b"\0\0\0\x02ab");
            assert_eq!(buffer.next().unwrap().unwrap(), b"ab");
        }
        let longest = [7; FRAME_MAX_BYTES];
        let length = u32::try_from(longest.len()).unwrap().to_be_bytes();
        put(&mut buffer, &[&length[..], &longest].concat());
        assert_eq!(buffer.next().unwrap().unwrap(), longest);
    }

    #[test]
    fn a_length_that_no_frame_has_ends_it() {
        let mut buffer = FrameBuffer::new();
        put(&mut buffer, b"\0\x02\0\x01");
        assert!(buffer.next().is_err());
    }
}

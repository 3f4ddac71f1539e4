//! A disk served over NBD to one client, over any byte stream.
//!
//! [`serve`] speaks the fixed newstyle handshake and then answers one request after the other. It
//! offers one export, the default one with the empty name. What is behind it is a [`Disk`].
//!
//! ```
//! use std::io;
//! use std::net::Shutdown;
//! use std::os::unix::net::UnixStream;
//!
//! /// A disk in memory.
//! struct Memory(Vec<u8>);
//!
//! impl nbd_server::Disk for Memory {
//!     fn size_bytes(&self) -> u64 {
//!         self.0.len() as u64
//!     }
//!     fn read(&mut self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
//!         let start = offset_bytes as usize;
//!         buf.copy_from_slice(&self.0[start..start + buf.len()]);
//!         Ok(())
//!     }
//!     fn write(&mut self, bytes: &[u8], offset_bytes: u64) -> io::Result<()> {
//!         let start = offset_bytes as usize;
//!         self.0[start..start + bytes.len()].copy_from_slice(bytes);
//!         Ok(())
//!     }
//!     fn zero(&mut self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
//!         self.write(&vec![0; length_bytes as usize], offset_bytes)
//!     }
//!     fn discard(&mut self, _offset_bytes: u64, _length_bytes: u64) -> io::Result<()> {
//!         Ok(())
//!     }
//!     fn flush(&mut self) -> io::Result<()> {
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (client, server) = UnixStream::pair()?;
//! client.shutdown(Shutdown::Write)?;
//! nbd_server::serve(&server, &server, &mut Memory(vec![0; 512]))?;
//! # Ok(())
//! # }
//! ```
//!
//! The client is not trusted: memory is bounded by one request of [`REQUEST_MAX_BYTES`], the handshake
//! by the number and the length of its options, and a request outside of the disk is refused before the
//! disk sees it. What is no NBD ends the connection with an error.
//!
//! Source: the NBD protocol, `doc/proto.md` of github.com/NetworkBlockDevice/nbd. TLS, structured
//! replies and metadata contexts are refused, as the protocol allows.

#![forbid(unsafe_code)]
#![warn(clippy::as_conversions)]

mod error;
mod handshake;
mod protocol;
mod transmission;
mod wire;

pub use error::ServeError;
pub use protocol::REQUEST_MAX_BYTES;
pub use served_disk::Disk;

use std::io::{BufReader, Read, Write};

/// The size of the buffer from which headers are read: several requests that wait arrive in one call.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// Serves `disk` until the client disconnects. Nothing is flushed then that the client has not
/// flushed.
///
/// # Errors
/// If the stream fails or ends within a message, or the client violates the protocol. Errors of the
/// disk are answers to the client, and do not end the connection.
pub fn serve<D: Disk>(
    from_client: impl Read,
    mut to_client: impl Write,
    disk: &mut D,
) -> Result<(), ServeError> {
    let mut from_client = BufReader::with_capacity(READ_BUFFER_BYTES, from_client);
    if handshake::negotiate(&mut from_client, &mut to_client, disk.size_bytes())? {
        transmission::answer_all(&mut from_client, &mut to_client, disk)?;
    }
    Ok(())
}

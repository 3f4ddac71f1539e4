//! The first bytes of a connection: a TLS hello with a name, or something else.

use std::io;

use bytes::BufMut as _;
use rustls::server::{Accepted, Acceptor};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout_at};

use crate::limits::{HELLO_MAX_BYTES, HELLO_TIMEOUT};

/// The bytes of one read. rustls takes as many at once.
const READ_BYTES: usize = 4096;
/// The type of a TLS record that carries a handshake.
pub(crate) const HANDSHAKE_RECORD: u8 = 22;

/// The beginning of a connection. The bytes that were read are kept: a connection that is not ended is passed on
/// with them.
pub(crate) enum Opening {
    /// The guest began TLS.
    Hello(Box<Hello>),
    /// The guest sent something else, an incomplete hello, or nothing.
    Other(Vec<u8>),
}

/// A complete TLS hello.
pub(crate) struct Hello {
    /// The hello, for the handshake.
    pub(crate) accepted: Accepted,
    /// The name that the guest stated, in lower case.
    pub(crate) name: Option<String>,
    /// The protocols that the guest offered.
    pub(crate) protocols: Vec<Vec<u8>>,
    /// The bytes that were read.
    pub(crate) bytes: Vec<u8>,
}

/// Reads the beginning of a connection: until the hello is complete, is too long, or cannot be one, and for a
/// bounded time.
///
/// # Errors
///
/// Fails if the connection cannot be read.
pub(crate) async fn read<S: AsyncRead + Unpin>(guest: &mut S) -> io::Result<Opening> {
    let deadline = Instant::now() + HELLO_TIMEOUT;
    let mut acceptor = Acceptor::default();
    let mut bytes = Vec::new();
    while bytes.len() < HELLO_MAX_BYTES {
        let begin = bytes.len();
        let room = READ_BYTES.min(HELLO_MAX_BYTES - begin);
        bytes.reserve_exact(room);
        let mut buffer = (&mut bytes).limit(room);
        match timeout_at(deadline, guest.read_buf(&mut buffer)).await {
            Ok(read) => read?,
            Err(_) => break,
        };
        let (_, new) = bytes.split_at(begin);
        if new.is_empty() || bytes.first() != Some(&HANDSHAKE_RECORD) {
            break;
        }
        match feed(&mut acceptor, new) {
            Progress::More => {}
            Progress::NotTls => break,
            Progress::Complete(accepted) => {
                return Ok(Opening::Hello(Box::new(Hello::new(*accepted, bytes))));
            }
        }
    }
    Ok(Opening::Other(bytes))
}

/// The state of a hello after some more bytes.
enum Progress {
    More,
    NotTls,
    Complete(Box<Accepted>),
}

fn feed(acceptor: &mut Acceptor, mut new: &[u8]) -> Progress {
    while !new.is_empty() {
        if !matches!(acceptor.read_tls(&mut new), Ok(1..)) {
            return Progress::NotTls;
        }
        match acceptor.accept() {
            Ok(None) => {}
            // Bytes that rustls did not take would be lost for the handshake.
            Ok(Some(accepted)) if new.is_empty() => {
                return Progress::Complete(Box::new(accepted));
            }
            Ok(Some(_)) | Err(_) => return Progress::NotTls,
        }
    }
    Progress::More
}

impl Hello {
    fn new(accepted: Accepted, bytes: Vec<u8>) -> Self {
        let hello = accepted.client_hello();
        let name = hello.server_name().map(str::to_owned);
        let protocols = match hello.alpn() {
            Some(offered) => offered.map(<[u8]>::to_vec).collect(),
            None => Vec::new(),
        };
        Self {
            accepted,
            name,
            protocols,
            bytes,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

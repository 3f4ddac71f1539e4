use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::TIMEOUT;
use super::proxy::{ENDED, PASSED, Proxy};

/// The bytes of one read.
const PIECE_BYTES: usize = 64 << 10;
/// The longest head of an answer, in bytes.
const HEAD_MAX_BYTES: usize = 16 << 10;

/// A connection through the proxy.
pub(super) struct Client {
    stream: StreamOwned<ClientConnection, TcpStream>,
    /// The headers of every request.
    headers: String,
}

impl Client {
    /// Connects to the host whose TLS is ended, or to the other one.
    pub(super) fn connect(proxy: &Proxy, is_ended: bool) -> Result<Self> {
        let host = if is_ended { ENDED } else { PASSED };
        let socket = TcpStream::connect(proxy.address)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(TIMEOUT))?;
        socket.set_write_timeout(Some(TIMEOUT))?;
        let name = ServerName::try_from(host)?;
        let connection = ClientConnection::new(Arc::clone(&proxy.client), name)?;
        Ok(Self {
            stream: StreamOwned::new(connection, socket),
            headers: format!(
                "Host: {host}\r\nAuthorization: Bearer {}\r\n",
                proxy.placeholder
            ),
        })
    }

    /// Asks for an answer of this length, and reads it.
    pub(super) fn get(&mut self, bytes: u64) -> Result<()> {
        let request = format!("GET /{bytes} HTTP/1.1\r\n{}\r\n", self.headers);
        self.stream.write_all(request.as_bytes())?;
        self.stream.flush()?;
        let mut buffer = vec![0; PIECE_BYTES];
        let mut head = Vec::new();
        let mut body_bytes = loop {
            let read = self.stream.read(&mut buffer)?;
            ensure!(read > 0 && head.len() < HEAD_MAX_BYTES, "no answer");
            head.extend_from_slice(buffer.get(..read).context("a read beyond its buffer")?);
            if let Some(end) = head.windows(4).position(|part| part == b"\r\n\r\n") {
                break u64::try_from(head.len() - end - 4)?;
            }
        };
        let status = head.get(..12).unwrap_or_default();
        ensure!(status == b"HTTP/1.1 200", "{}", status.escape_ascii());
        while body_bytes < bytes {
            let read = self.stream.read(&mut buffer)?;
            ensure!(
                read > 0,
                "the answer ends after {body_bytes} of {bytes} bytes"
            );
            body_bytes += u64::try_from(read)?;
        }
        Ok(())
    }
}

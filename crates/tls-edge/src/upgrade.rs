//! A connection that changes its protocol, such as to WebSocket: copied in both directions from then on.
//!
//! Nothing is placed in it. The host's side is searched for values.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, HeaderMap, HeaderName, HeaderValue, UPGRADE};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::limits::COPY_BUFFER_BYTES;
use crate::record::Record;
use crate::watch::{LiveScan, Watch};

/// The protocol that is HTTP/2 without TLS. Its requests would not be checked.
const H2C: &str = "h2c";

/// A connection whose protocol changes.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The values that the host's side is searched for; `None` if the host has no secrets.
    pub(crate) watch: Option<Watch>,
    /// The record of the request.
    pub(crate) record: Arc<Record>,
}

/// Returns the protocols other than HTTP/2 that a request asks for; `None` if it asks for none.
pub(crate) fn wanted_protocols(headers: &HeaderMap) -> Option<HeaderValue> {
    if !has_token(headers, CONNECTION, "upgrade") {
        return None;
    }
    let protocols: Vec<_> = tokens(headers, UPGRADE)
        .filter(|protocol| !is_http(protocol))
        .collect();
    if protocols.is_empty() {
        return None;
    }
    HeaderValue::from_str(&protocols.join(", ")).ok()
}

/// Returns true if a header whose value is a list has an item, in any case.
pub(crate) fn has_token(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|item| item.eq_ignore_ascii_case(token))
}

/// Returns the items of a header whose value is a list.
pub(crate) fn tokens(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = headers.get_all(name).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let items = texts.flat_map(|text| text.split(','));
    items.map(str::trim).filter(|item| !item.is_empty())
}

fn is_http(protocol: &str) -> bool {
    let name = protocol.split('/').next().unwrap_or(protocol);
    name.eq_ignore_ascii_case(H2C)
        || name.eq_ignore_ascii_case("h2")
        || name.eq_ignore_ascii_case("http")
}

impl Changed {
    /// Copies both directions until both have ended, or one fails.
    ///
    /// # Errors
    ///
    /// Fails if a side fails, or if the host's side holds a value.
    pub(crate) async fn copy(
        self,
        guest: impl AsyncRead + AsyncWrite + Unpin,
        host: impl AsyncRead + AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let Self { watch, record } = self;
        let (guest_reader, guest_writer) = tokio::io::split(guest);
        let (host_reader, host_writer) = tokio::io::split(host);
        let to_host = copy(guest_reader, host_writer, None, |bytes| {
            record.add_sent(bytes);
        });
        let search = watch.map(|watch| Search {
            scan: watch.scan(),
            record: &record,
        });
        let to_guest = copy(host_reader, guest_writer, search, |bytes| {
            record.add_received(bytes);
        });
        tokio::try_join!(to_host, to_guest)?;
        Ok(())
    }
}

/// The search of one direction.
struct Search<'a> {
    scan: LiveScan,
    record: &'a Record,
}

impl Search<'_> {
    fn pass(&mut self, bytes: &Bytes) -> io::Result<Bytes> {
        self.scan.feed(bytes).map_err(|found| {
            self.record.report_reflected(found.secret);
            io::Error::from(io::ErrorKind::InvalidData)
        })
    }
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut search: Option<Search<'_>>,
    count: impl Fn(usize),
) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(COPY_BUFFER_BYTES);
        let is_end = from.read_buf(&mut buffer).await? == 0;
        let bytes = buffer.split().freeze();
        let passed = match &mut search {
            Some(search) if is_end => search.scan.finish(),
            Some(search) => search.pass(&bytes)?,
            None => bytes,
        };
        to.write_all(&passed).await?;
        count(passed.len());
        if is_end {
            return to.shutdown().await;
        }
        to.flush().await?;
    }
}

#[cfg(test)]
mod tests;

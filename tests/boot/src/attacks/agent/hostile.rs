use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::frames::{END_HEADERS, HEADER_BYTES, HEADERS, RESPONSE, SETTINGS, frame};

/// The greeting of a correct agent.
const GREETING: &[u8] = b"msb guest \r\n\0\0\0\x02";
/// Lengths of the host's greeting and of the HTTP/2 preface, in bytes.
const HOST_GREETING_BYTES: usize = 16;
const PREFACE_BYTES: usize = 24;
/// The time after which a host that sends nothing has failed.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
/// The time after which a host that reads nothing holds the agent back.
const WRITE_TIMEOUT: Duration = Duration::from_millis(50);

/// A hostile agent: the guest's end of a supervisor's port.
pub(super) struct HostileAgent(UnixStream);

/// The part of a flood that the host has taken.
pub(super) struct Taken {
    pub(super) bytes: usize,
    /// True if the host closed the connection.
    pub(super) is_closed: bool,
}

impl HostileAgent {
    pub(super) fn new(port: UnixStream) -> Result<Self> {
        port.set_read_timeout(Some(READ_TIMEOUT))?;
        port.set_write_timeout(Some(WRITE_TIMEOUT))?;
        Ok(Self(port))
    }

    /// Greets the host, as a correct agent does.
    pub(super) fn greet(&mut self) -> Result<()> {
        self.0.write_all(GREETING)?;
        self.skip(HOST_GREETING_BYTES).context("no greeting came")
    }

    /// Begins HTTP/2, as a correct agent does.
    pub(super) fn open(&mut self) -> Result<()> {
        self.0.write_all(&frame(SETTINGS, 0, 0, &[]))?;
        self.skip(PREFACE_BYTES).context("no preface came")
    }

    /// Waits for the heads of this many requests, and begins an answer to each of them. Returns the
    /// numbers of their streams.
    pub(super) fn answer(&mut self, requests: usize) -> Result<Vec<u32>> {
        let mut streams = Vec::new();
        while streams.len() < requests {
            let mut header = [0; HEADER_BYTES];
            self.0.read_exact(&mut header).context("no request came")?;
            let [a, b, c, kind, _, stream @ ..] = header;
            self.skip(u32::from_be_bytes([0, a, b, c]) as usize)?;
            if kind == HEADERS {
                let stream = u32::from_be_bytes(stream);
                self.0
                    .write_all(&frame(HEADERS, END_HEADERS, stream, RESPONSE))?;
                streams.push(stream);
            }
        }
        Ok(streams)
    }

    /// Sends what `next` returns for each number until the time, or until the host takes no more.
    pub(super) fn flood(
        &mut self,
        until: Instant,
        mut next: impl FnMut(usize) -> Vec<u8>,
    ) -> Result<Taken> {
        let mut taken = Taken {
            bytes: 0,
            is_closed: false,
        };
        for number in 0.. {
            let bytes = next(number);
            let mut left = &bytes[..];
            while !left.is_empty() {
                if Instant::now() >= until {
                    return Ok(taken);
                }
                match self.0.write(left) {
                    Ok(length) => {
                        taken.bytes += length;
                        left = &left[length..];
                    }
                    // The host does not read: its answers may have to be read first.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => self.discard()?,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => {
                        taken.is_closed = true;
                        return Ok(taken);
                    }
                }
            }
        }
        Ok(taken)
    }

    /// Reads what the host has sent.
    fn discard(&self) -> Result<()> {
        self.0.set_nonblocking(true)?;
        let mut buffer = vec![0; 1 << 16];
        while matches!((&self.0).read(&mut buffer), Ok(1..)) {}
        Ok(self.0.set_nonblocking(false)?)
    }

    fn skip(&mut self, length_bytes: usize) -> Result<()> {
        Ok(self.0.read_exact(&mut vec![0; length_bytes])?)
    }
}

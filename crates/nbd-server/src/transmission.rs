//! Requests and their replies, after the handshake.

use std::io::{self, ErrorKind, Read, Write};

use crate::protocol::{
    REPLY_MAGIC, REQUEST_MAGIC, REQUEST_MAX_BYTES, RequestError, command, command_flag,
};
use crate::wire::{self, Fields};
use crate::{Disk, ServeError};

/// The length of a request without its payload, in bytes.
const REQUEST_BYTES: usize = 28;
/// The length of a simple reply without its payload, in bytes.
const REPLY_BYTES: usize = 16;
/// The length of the zeros that are written at once, in bytes.
const ZEROS_BYTES: usize = 64 << 10;

static ZEROS: [u8; ZEROS_BYTES] = [0; ZEROS_BYTES];

/// A request without its payload.
#[derive(Debug, Clone, Copy)]
struct Request {
    flags: u16,
    command: u16,
    /// The number by which the client knows the reply.
    cookie: [u8; 8],
    offset_bytes: u64,
    length_bytes: u32,
}

/// Answers requests until the client disconnects.
pub(crate) fn answer_all<D: Disk>(
    from: &mut impl Read,
    to: &mut impl Write,
    disk: &mut D,
) -> Result<(), ServeError> {
    // Payloads in both directions. The first bytes are for the header of the reply, so that both are
    // sent by one call.
    let mut buffer = vec![0; REPLY_BYTES];
    while let Some(request) = next_request(from)? {
        if request.command == command::DISCONNECT {
            return Ok(());
        }
        let outcome = request.carry_out(from, disk, &mut buffer)?;
        let (error, payload_bytes) = match outcome {
            Ok(payload_bytes) => (0, payload_bytes),
            Err(error) => (error.number(), 0),
        };
        reply(to, &mut buffer, error, request.cookie, payload_bytes)?;
    }
    Ok(())
}

/// Reads a request; `None` if the client has disconnected.
fn next_request(from: &mut impl Read) -> Result<Option<Request>, ServeError> {
    let header = wire::bytes_or_end::<REQUEST_BYTES>(from);
    let Some(header) = header.map_err(ServeError::io("read a request"))? else {
        return Ok(None);
    };
    let mut fields = Fields(&header);
    let magic = fields.u32().unwrap_or_default();
    if magic != REQUEST_MAGIC {
        return Err(ServeError::Magic {
            message: "a request",
            found: magic.into(),
            expected: REQUEST_MAGIC.into(),
        });
    }
    Ok(Some(Request {
        flags: fields.u16().unwrap_or_default(),
        command: fields.u16().unwrap_or_default(),
        cookie: fields.array().unwrap_or_default(),
        offset_bytes: fields.u64().unwrap_or_default(),
        length_bytes: fields.u32().unwrap_or_default(),
    }))
}

impl Request {
    /// Carries the request out. Returns the length of the payload that it left in the buffer behind
    /// the room for the header, or the error for the client.
    fn carry_out<D: Disk>(
        self,
        from: &mut impl Read,
        disk: &mut D,
        buffer: &mut Vec<u8>,
    ) -> Result<Result<usize, RequestError>, ServeError> {
        if self.command == command::WRITE {
            // The payload has to be read in any case: the next request follows it.
            let payload = self.receive_payload(from, buffer)?;
            return Ok(self.check(disk).and_then(|()| {
                disk.write(payload, self.offset_bytes).map_err(error_of)?;
                self.end(disk)
            }));
        }
        Ok(self.check(disk).and_then(|()| match self.command {
            command::READ => self.read(disk, buffer),
            command::FLUSH => disk.flush().map(|()| 0).map_err(error_of),
            command::TRIM => {
                let length_bytes = self.length_bytes.into();
                let discarded = disk.discard(self.offset_bytes, length_bytes);
                discarded.map_err(error_of)?;
                self.end(disk)
            }
            command::WRITE_ZEROES => {
                self.zero(disk).map_err(error_of)?;
                self.end(disk)
            }
            _ => Err(RequestError::Invalid),
        }))
    }

    /// Checks the flags and the range of a request.
    fn check<D: Disk>(self, disk: &D) -> Result<(), RequestError> {
        let known_flags = match self.command {
            command::WRITE | command::TRIM => command_flag::FORCED_UNIT_ACCESS,
            command::WRITE_ZEROES => command_flag::FORCED_UNIT_ACCESS | command_flag::NO_HOLE,
            // These change nothing, and QEMU sends the flag with none of them.
            command::READ | command::FLUSH => 0,
            _ => return Err(RequestError::Invalid),
        };
        if self.flags & !known_flags != 0 {
            return Err(RequestError::Invalid);
        }
        if self.command == command::FLUSH {
            // The protocol reserves both fields; they mean nothing.
            return Ok(());
        }
        let end_bytes = self.offset_bytes.checked_add(self.length_bytes.into());
        if end_bytes.is_some_and(|end_bytes| end_bytes <= disk.size_bytes()) {
            return Ok(());
        }
        Err(match self.command {
            command::WRITE | command::WRITE_ZEROES => RequestError::NoSpace,
            _ => RequestError::Invalid,
        })
    }

    fn receive_payload<'a>(
        self,
        from: &mut impl Read,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], ServeError> {
        if self.length_bytes > REQUEST_MAX_BYTES {
            return Err(ServeError::WriteTooLong {
                length_bytes: self.length_bytes,
                limit_bytes: REQUEST_MAX_BYTES,
            });
        }
        let payload = payload(buffer, self.length_bytes);
        let received = from.read_exact(payload);
        received.map_err(ServeError::io("read the bytes of a write"))?;
        Ok(payload)
    }

    fn read<D: Disk>(self, disk: &mut D, buffer: &mut Vec<u8>) -> Result<usize, RequestError> {
        if self.length_bytes > REQUEST_MAX_BYTES {
            return Err(RequestError::Invalid);
        }
        let payload = payload(buffer, self.length_bytes);
        let read = disk.read(payload, self.offset_bytes);
        read.map(|()| payload.len()).map_err(error_of)
    }

    /// Makes the range zeros, by writing them if the client wants no hole.
    fn zero<D: Disk>(self, disk: &mut D) -> io::Result<()> {
        let length_bytes = u64::from(self.length_bytes);
        if self.flags & command_flag::NO_HOLE == 0 {
            return disk.zero(self.offset_bytes, length_bytes);
        }
        let end_bytes = self.offset_bytes + length_bytes;
        let mut at_bytes = self.offset_bytes;
        while at_bytes < end_bytes {
            let rest = usize::try_from(end_bytes - at_bytes).unwrap_or(ZEROS_BYTES);
            let zeros = ZEROS.get(..rest).unwrap_or(&ZEROS);
            disk.write(zeros, at_bytes)?;
            at_bytes += u64::try_from(zeros.len()).unwrap_or(u64::MAX);
        }
        Ok(())
    }

    /// Ends a change, which is flushed if the client asked for it.
    fn end<D: Disk>(self, disk: &mut D) -> Result<usize, RequestError> {
        if self.flags & command_flag::FORCED_UNIT_ACCESS != 0 {
            disk.flush().map_err(error_of)?;
        }
        Ok(0)
    }
}

/// Returns the part of the buffer for a payload of at most [`REQUEST_MAX_BYTES`].
fn payload(buffer: &mut Vec<u8>, length_bytes: u32) -> &mut [u8] {
    let end = REPLY_BYTES.saturating_add(usize::try_from(length_bytes).unwrap_or_default());
    if buffer.len() < end {
        buffer.resize(end, 0);
    }
    buffer.get_mut(REPLY_BYTES..end).unwrap_or_default()
}

/// Sends a reply, whose payload is in the buffer.
fn reply(
    to: &mut impl Write,
    buffer: &mut [u8],
    error: u32,
    cookie: [u8; 8],
    payload_bytes: usize,
) -> Result<(), ServeError> {
    let header = [REPLY_MAGIC.to_be_bytes(), error.to_be_bytes()].concat();
    let header = header.into_iter().chain(cookie);
    for (byte, value) in buffer.iter_mut().zip(header) {
        *byte = value;
    }
    let reply = buffer
        .get(..REPLY_BYTES + payload_bytes)
        .unwrap_or_default();
    let sent = to.write_all(reply).and_then(|()| to.flush());
    sent.map_err(ServeError::io("send a reply"))
}

/// Returns the error of the protocol for one of a disk.
fn error_of(error: io::Error) -> RequestError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            RequestError::NoSpace
        }
        ErrorKind::OutOfMemory => RequestError::NoMemory,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => RequestError::NotPermitted,
        _ => RequestError::Io,
    }
}

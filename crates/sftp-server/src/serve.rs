use std::io::{self, BufReader, Read, Write};

use thiserror::Error;

use crate::extension::ANNOUNCED;
use crate::fields::{Fields, Packet, ParseError};
use crate::server::Server;
use crate::{PACKET_MAX_BYTES, Request, Response, Status, VERSION};

/// The types of the first packet and of its answer.
const INIT: u8 = 1;
const VERSION_ANSWER: u8 = 2;
/// The bytes that are read at once: the length of a request, and small requests.
const BUFFER_BYTES: usize = 32 << 10;
/// The bytes at the beginning of a request: its type and its number.
const HEAD_BYTES: usize = 5;

/// The reason for which a connection ended before its client ended it.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The client cannot be read from, or ended within a packet.
    #[error("cannot read from the client")]
    Read(#[source] io::Error),
    /// The client cannot be written to.
    #[error("cannot write to the client")]
    Write(#[source] io::Error),
    /// A packet is too long.
    #[error("a packet of the client has {0} bytes, the limit is {PACKET_MAX_BYTES}")]
    Length(u32),
    /// The first packet is not that of SFTP.
    #[error("the client does not begin as an SFTP client does")]
    Begin,
    /// A packet has no type and number.
    #[error("a packet of the client is not a request")]
    Request(#[source] ParseError),
}

/// Serves a client until it ends its stream.
///
/// # Errors
/// If a stream fails, or the client sends something that is not a request.
pub fn serve(input: impl Read, mut output: impl Write) -> Result<(), ServeError> {
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let mut packet = Vec::new();
    let mut write = |bytes: &[u8]| {
        let written = output.write_all(bytes).and_then(|()| output.flush());
        written.map_err(ServeError::Write)
    };
    if !read_packet(&mut input, &mut packet)? {
        return Ok(());
    }
    write(&begin(&packet)?)?;
    let mut server = Server::default();
    while read_packet(&mut input, &mut packet)? {
        let (id, response) = match Request::parse(&packet) {
            Ok((id, request)) => (id, server.answer(request)),
            Err(error) => refuse(&packet, error)?,
        };
        write(&response.to_packet(id))?;
    }
    Ok(())
}

/// Reads the next packet. Returns false if the client has ended its stream.
fn read_packet(input: &mut impl Read, packet: &mut Vec<u8>) -> Result<bool, ServeError> {
    let mut length = [0; 4];
    let (first, rest) = length.split_at_mut(1);
    let count = loop {
        match input.read(first) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            count => break count.map_err(ServeError::Read)?,
        }
    };
    if count == 0 {
        return Ok(false);
    }
    input.read_exact(rest).map_err(ServeError::Read)?;
    let length = u32::from_be_bytes(length);
    let bytes = usize::try_from(length).ok();
    let bytes = bytes.filter(|bytes| (1..=PACKET_MAX_BYTES).contains(bytes));
    packet.resize(bytes.ok_or(ServeError::Length(length))?, 0);
    input.read_exact(packet).map_err(ServeError::Read)?;
    Ok(true)
}

/// Returns the answer to the first packet: the version and the extensions.
fn begin(packet: &[u8]) -> Result<Vec<u8>, ServeError> {
    let mut fields = Fields::new(packet);
    let kind = fields.byte().map_err(|_| ServeError::Begin)?;
    let version = fields.number().map_err(|_| ServeError::Begin)?;
    // A client of a higher version speaks the server's. Versions below 3 have other symlinks and extensions.
    if kind != INIT || version < VERSION {
        return Err(ServeError::Begin);
    }
    let mut answer = Packet::new(VERSION_ANSWER);
    answer.number(VERSION);
    for (name, version) in ANNOUNCED {
        answer.string(name.as_bytes());
        answer.string(version.as_bytes());
    }
    Ok(answer.finish())
}

/// Returns the answer to a packet that is not a valid request, if it has a number that can be answered.
fn refuse(packet: &[u8], error: ParseError) -> Result<(u32, Response), ServeError> {
    let mut head = Fields::new(packet.get(..HEAD_BYTES).unwrap_or(packet));
    let id = head.byte().and_then(|_| head.number());
    let id = id.map_err(ServeError::Request)?;
    let status = match error {
        ParseError::Type(_) => Status::Unsupported,
        ParseError::Short | ParseError::Surplus(_) => Status::BadMessage,
    };
    Ok((id, status.into()))
}

//! The fixed newstyle handshake: the client chooses the export by options.

use std::io::{Read, Write};

use crate::ServeError;
use crate::protocol::{
    OPTION_MAGIC, OPTION_MAX_BYTES, OPTION_REPLY_MAGIC, OPTIONS_MAX, REQUEST_MAX_BYTES,
    REQUEST_MIN_BYTES, REQUEST_PREFERRED_BYTES, SERVER_MAGIC, TRANSMISSION_FLAGS, handshake_flag,
    info, option, option_reply,
};
use crate::wire::{self, Fields};

/// The zeros behind the answer to `EXPORT_NAME`.
const EXPORT_NAME_ZEROS: [u8; 124] = [0; 124];

/// The part of the protocol that follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Options,
    Transmission,
    End,
}

/// Negotiates with a client. Returns true if it goes on to the transmission of a disk of `size_bytes`,
/// false if it disconnects.
pub(crate) fn negotiate(
    from: &mut impl Read,
    to: &mut impl Write,
    size_bytes: u64,
) -> Result<bool, ServeError> {
    let flags = handshake_flag::FIXED_NEWSTYLE | handshake_flag::NO_ZEROES;
    let greeting = [
        &SERVER_MAGIC.to_be_bytes()[..],
        &OPTION_MAGIC.to_be_bytes(),
        &flags.to_be_bytes(),
    ];
    send(to, &greeting.concat())?;
    let Some(found) = receive(wire::bytes_or_end(from))?.map(u32::from_be_bytes) else {
        return Ok(false);
    };
    let known = u32::from(flags);
    if found & !known != 0 {
        return Err(ServeError::ClientFlags {
            flags: found,
            known,
        });
    }
    let mut handshake = Handshake {
        to,
        size_bytes,
        has_zeroes: found & u32::from(handshake_flag::NO_ZEROES) == 0,
    };
    for _ in 0..OPTIONS_MAX {
        let Some((number, data)) = next_option(from)? else {
            return Ok(false);
        };
        match handshake.answer(number, &data)? {
            Next::Options => {}
            Next::Transmission => return Ok(true),
            Next::End => return Ok(false),
        }
    }
    Err(ServeError::TooManyOptions { limit: OPTIONS_MAX })
}

/// Reads an option: its number and its data; `None` if the client has disconnected.
fn next_option(from: &mut impl Read) -> Result<Option<(u32, Vec<u8>)>, ServeError> {
    let Some(magic) = receive(wire::bytes_or_end(from))? else {
        return Ok(None);
    };
    let found = u64::from_be_bytes(magic);
    if found != OPTION_MAGIC {
        return Err(ServeError::Magic {
            message: "an option",
            found,
            expected: OPTION_MAGIC,
        });
    }
    let option = receive(wire::u32(from))?;
    let length_bytes = receive(wire::u32(from))?;
    if length_bytes > OPTION_MAX_BYTES {
        return Err(ServeError::OptionTooLong {
            option,
            length_bytes,
            limit_bytes: OPTION_MAX_BYTES,
        });
    }
    let mut data = vec![0; usize::try_from(length_bytes).unwrap_or_default()];
    receive(from.read_exact(&mut data))?;
    Ok(Some((option, data)))
}

struct Handshake<'a, W> {
    to: &'a mut W,
    size_bytes: u64,
    /// True if zeros follow the answer to `EXPORT_NAME`.
    has_zeroes: bool,
}

impl<W: Write> Handshake<'_, W> {
    /// Answers an option.
    fn answer(&mut self, number: u32, data: &[u8]) -> Result<Next, ServeError> {
        match number {
            option::EXPORT_NAME => self.export_name(data),
            option::ABORT => {
                self.reply(number, option_reply::ACK, &[])?;
                Ok(Next::End)
            }
            option::LIST => self.list(data),
            option::INFO | option::GO => self.export(number, data),
            _ => self.refuse(number, option_reply::UNSUPPORTED, "not supported"),
        }
    }

    /// Answers the oldest way to choose an export, which has no answer for an error.
    fn export_name(&mut self, name: &[u8]) -> Result<Next, ServeError> {
        if !name.is_empty() {
            return Err(ServeError::UnknownExport);
        }
        let mut answer = self.size_bytes.to_be_bytes().to_vec();
        answer.extend_from_slice(&TRANSMISSION_FLAGS.to_be_bytes());
        if self.has_zeroes {
            answer.extend_from_slice(&EXPORT_NAME_ZEROS);
        }
        send(self.to, &answer)?;
        Ok(Next::Transmission)
    }

    fn list(&mut self, data: &[u8]) -> Result<Next, ServeError> {
        if !data.is_empty() {
            return self.refuse(option::LIST, option_reply::INVALID, "LIST has no data");
        }
        // The one export, whose name has no bytes.
        self.reply(option::LIST, option_reply::SERVER, &0_u32.to_be_bytes())?;
        self.reply(option::LIST, option_reply::ACK, &[])?;
        Ok(Next::Options)
    }

    /// Answers `INFO` and `GO`, which have the same data. All facts are sent, whichever were asked for.
    fn export(&mut self, number: u32, data: &[u8]) -> Result<Next, ServeError> {
        let Some(name) = export_of(data) else {
            return self.refuse(number, option_reply::INVALID, "the data has another length");
        };
        if !name.is_empty() {
            let reason = "the only export is the default one";
            return self.refuse(number, option_reply::UNKNOWN_EXPORT, reason);
        }
        let export = [
            &info::EXPORT.to_be_bytes()[..],
            &self.size_bytes.to_be_bytes(),
            &TRANSMISSION_FLAGS.to_be_bytes(),
        ];
        self.reply(number, option_reply::INFO, &export.concat())?;
        let sizes = [
            &info::BLOCK_SIZE.to_be_bytes()[..],
            &REQUEST_MIN_BYTES.to_be_bytes(),
            &REQUEST_PREFERRED_BYTES.to_be_bytes(),
            &REQUEST_MAX_BYTES.to_be_bytes(),
        ];
        self.reply(number, option_reply::INFO, &sizes.concat())?;
        self.reply(number, option_reply::ACK, &[])?;
        Ok(if number == option::GO {
            Next::Transmission
        } else {
            Next::Options
        })
    }

    fn refuse(&mut self, number: u32, kind: u32, reason: &str) -> Result<Next, ServeError> {
        self.reply(number, kind, reason.as_bytes())?;
        Ok(Next::Options)
    }

    fn reply(&mut self, number: u32, kind: u32, data: &[u8]) -> Result<(), ServeError> {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let reply = [
            &OPTION_REPLY_MAGIC.to_be_bytes()[..],
            &number.to_be_bytes(),
            &kind.to_be_bytes(),
            &length.to_be_bytes(),
            data,
        ];
        send(self.to, &reply.concat())
    }
}

/// Returns the name of the export in the data of `INFO` and `GO`; `None` if the lengths in it do not
/// fit.
fn export_of(data: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields(data);
    let length = fields.u32()?;
    let name = fields.take(usize::try_from(length).ok()?)?;
    let requests = fields.u16()?;
    let rest = fields.0.len();
    (rest == 2 * usize::from(requests)).then_some(name)
}

fn receive<T>(received: std::io::Result<T>) -> Result<T, ServeError> {
    received.map_err(ServeError::io("read the client's handshake"))
}

fn send(to: &mut impl Write, bytes: &[u8]) -> Result<(), ServeError> {
    let sent = to.write_all(bytes).and_then(|()| to.flush());
    sent.map_err(ServeError::io("answer the client's handshake"))
}

use crate::fields::{Fields, Packet, ParseError};
use crate::{Attributes, FilesystemState, Limits, Status};

/// The types of packets.
const STATUS: u8 = 101;
const HANDLE: u8 = 102;
const DATA: u8 = 103;
const NAMES: u8 = 104;
const ATTRIBUTES: u8 = 105;
const EXTENDED: u8 = 201;

/// A name in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The entry's name, or the path.
    pub path: Vec<u8>,
    /// The line that `ls -l` would print.
    pub long: Vec<u8>,
    /// The attributes.
    pub attributes: Attributes,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// The outcome of a request that returns nothing else.
    Status(Status),
    /// The handle of an open file or directory.
    Handle(Vec<u8>),
    /// Bytes of a file.
    Data(Vec<u8>),
    /// Entries of a directory, or one path.
    Names(Vec<Name>),
    /// The attributes of a file.
    Attributes(Attributes),
    /// The state of a filesystem.
    Filesystem(FilesystemState),
    /// The limits of the server.
    Limits(Limits),
    /// The answer of an extension, in a packet that was read.
    Extended(Vec<u8>),
}

impl From<Status> for Response {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl Response {
    /// Returns the answer as a packet with its length.
    pub fn to_packet(&self, id: u32) -> Vec<u8> {
        let mut packet = Packet::new(match self {
            Self::Status(_) => STATUS,
            Self::Handle(_) => HANDLE,
            Self::Data(_) => DATA,
            Self::Names(_) => NAMES,
            Self::Attributes(_) => ATTRIBUTES,
            Self::Filesystem(_) | Self::Limits(_) | Self::Extended(_) => EXTENDED,
        });
        packet.number(id);
        match self {
            Self::Status(status) => {
                packet.number(status.code());
                packet.string(status.text().as_bytes());
                // The language of the text.
                packet.string(b"");
            }
            Self::Handle(bytes) | Self::Data(bytes) => packet.string(bytes),
            Self::Extended(bytes) => packet.raw(bytes),
            Self::Names(names) => {
                packet.number(u32::try_from(names.len()).expect("an answer has few names"));
                for name in names {
                    packet.string(&name.path);
                    packet.string(&name.long);
                    name.attributes.write(&mut packet);
                }
            }
            Self::Attributes(attributes) => attributes.write(&mut packet),
            Self::Filesystem(state) => state.write(&mut packet),
            Self::Limits(limits) => limits.write(&mut packet),
        }
        packet.finish()
    }

    /// Reads the answer and its number of a packet without its length, as a client does.
    ///
    /// # Errors
    /// If the packet has other fields than its type, or its type is not that of an answer.
    pub fn parse(packet: &[u8]) -> Result<(u32, Self), ParseError> {
        let mut fields = Fields::new(packet);
        let kind = fields.byte()?;
        let id = fields.number()?;
        let response = match kind {
            STATUS => {
                let status = Status::of_code(fields.number()?);
                fields.string()?;
                fields.string()?;
                Self::Status(status)
            }
            HANDLE => Self::Handle(fields.owned()?),
            DATA => Self::Data(fields.owned()?),
            NAMES => {
                let mut names = Vec::new();
                for _ in 0..fields.number()? {
                    names.push(Name {
                        path: fields.owned()?,
                        long: fields.owned()?,
                        attributes: Attributes::parse(&mut fields)?,
                    });
                }
                Self::Names(names)
            }
            ATTRIBUTES => Self::Attributes(Attributes::parse(&mut fields)?),
            EXTENDED => Self::Extended(fields.rest().to_vec()),
            kind => return Err(ParseError::Type(kind)),
        };
        fields.end()?;
        Ok((id, response))
    }
}

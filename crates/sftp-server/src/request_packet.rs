//! Requests as packets.

use crate::fields::{Fields, Packet, ParseError};
use crate::{Attributes, Extension, Open, Request};

impl Request {
    /// Reads the request and its number of a packet without its length.
    ///
    /// # Errors
    /// If the packet has other fields than its type, or its type is not that of a request.
    pub fn parse(packet: &[u8]) -> Result<(u32, Self), ParseError> {
        let mut fields = Fields::new(packet);
        let kind = fields.byte()?;
        let id = fields.number()?;
        let request = Self::parse_fields(kind, &mut fields)?;
        fields.end()?;
        Ok((id, request))
    }

    fn parse_fields(kind: u8, fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(match kind {
            3 => Self::Open {
                path: fields.owned()?,
                open: Open(fields.number()?),
                attributes: Attributes::parse(fields)?,
            },
            4 => Self::Close {
                handle: fields.owned()?,
            },
            5 => Self::Read {
                handle: fields.owned()?,
                offset_bytes: fields.long()?,
                length_bytes: fields.number()?,
            },
            6 => Self::Write {
                handle: fields.owned()?,
                offset_bytes: fields.long()?,
                data: fields.owned()?,
            },
            8 => Self::FStat {
                handle: fields.owned()?,
            },
            10 => Self::FSetStat {
                handle: fields.owned()?,
                attributes: Attributes::parse(fields)?,
            },
            12 => Self::ReadDirectory {
                handle: fields.owned()?,
            },
            200 => {
                let name = fields.string()?;
                Self::Extended(Extension::parse(name, fields)?)
            }
            _ => Self::parse_path(kind, fields)?,
        })
    }

    /// Reads a request that begins with a path.
    fn parse_path(kind: u8, fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        if !matches!(kind, 7 | 9 | 11 | 13..=20) {
            return Err(ParseError::Type(kind));
        }
        let path = fields.owned()?;
        Ok(match kind {
            7 => Self::LStat { path },
            9 => Self::SetStat {
                path,
                attributes: Attributes::parse(fields)?,
            },
            11 => Self::OpenDirectory { path },
            13 => Self::Remove { path },
            14 => Self::MakeDirectory {
                path,
                attributes: Attributes::parse(fields)?,
            },
            15 => Self::RemoveDirectory { path },
            16 => Self::RealPath { path },
            17 => Self::Stat { path },
            18 => Self::Rename {
                from: path,
                to: fields.owned()?,
            },
            19 => Self::ReadLink { path },
            _ => Self::Symlink {
                target: path,
                link: fields.owned()?,
            },
        })
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Open { .. } => 3,
            Self::Close { .. } => 4,
            Self::Read { .. } => 5,
            Self::Write { .. } => 6,
            Self::LStat { .. } => 7,
            Self::FStat { .. } => 8,
            Self::SetStat { .. } => 9,
            Self::FSetStat { .. } => 10,
            Self::OpenDirectory { .. } => 11,
            Self::ReadDirectory { .. } => 12,
            Self::Remove { .. } => 13,
            Self::MakeDirectory { .. } => 14,
            Self::RemoveDirectory { .. } => 15,
            Self::RealPath { .. } => 16,
            Self::Stat { .. } => 17,
            Self::Rename { .. } => 18,
            Self::ReadLink { .. } => 19,
            Self::Symlink { .. } => 20,
            Self::Extended(_) => 200,
        }
    }

    /// Returns the request as a packet with its length, as a client sends it.
    pub fn to_packet(&self, id: u32) -> Vec<u8> {
        let mut packet = Packet::new(self.kind());
        packet.number(id);
        match self {
            Self::Open {
                path,
                open,
                attributes,
            } => {
                packet.string(path);
                packet.number(open.0);
                attributes.write(&mut packet);
            }
            Self::Close { handle } | Self::FStat { handle } | Self::ReadDirectory { handle } => {
                packet.string(handle);
            }
            Self::Read {
                handle,
                offset_bytes,
                length_bytes,
            } => {
                packet.string(handle);
                packet.long(*offset_bytes);
                packet.number(*length_bytes);
            }
            Self::Write {
                handle,
                offset_bytes,
                data,
            } => {
                packet.string(handle);
                packet.long(*offset_bytes);
                packet.string(data);
            }
            Self::LStat { path }
            | Self::OpenDirectory { path }
            | Self::Remove { path }
            | Self::RemoveDirectory { path }
            | Self::RealPath { path }
            | Self::Stat { path }
            | Self::ReadLink { path } => packet.string(path),
            Self::SetStat { path, attributes }
            | Self::MakeDirectory { path, attributes }
            | Self::FSetStat {
                handle: path,
                attributes,
            } => {
                packet.string(path);
                attributes.write(&mut packet);
            }
            Self::Rename {
                from: first,
                to: second,
            }
            | Self::Symlink {
                target: first,
                link: second,
            } => {
                packet.string(first);
                packet.string(second);
            }
            Self::Extended(extension) => extension.write(&mut packet),
        }
        packet.finish()
    }
}

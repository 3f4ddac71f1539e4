use std::collections::BTreeMap;
use std::io::{self, Read as _};

use crate::{Descriptor, EXTENTS_MAX, FlatExtent, InvalidDescriptor};

/// Longest descriptor that is read, in bytes: the limit of the strictest reader.
pub const DESCRIPTOR_MAX_BYTES: usize = 1 << 20;

/// An error while a descriptor is parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// The descriptor is longer than [`DESCRIPTOR_MAX_BYTES`].
    #[error("the descriptor has {length_bytes} bytes, the limit is {DESCRIPTOR_MAX_BYTES}")]
    TooLong {
        /// Length of the descriptor, in bytes.
        length_bytes: usize,
    },
    /// A line is not valid, or asks for something that msb does not support.
    #[error("line {line} of the descriptor")]
    Line {
        /// Number of the line; the first is 1.
        line: usize,
        /// Reason for which the line is refused.
        #[source]
        problem: Problem,
    },
    /// A required line is missing.
    #[error("the descriptor has no {key}")]
    Missing {
        /// Key of the missing line.
        key: &'static str,
    },
    /// The extents do not describe a disk.
    #[error("the extents do not form a disk")]
    Disk(#[from] InvalidDescriptor),
}

/// A reason for which a line is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The line is not a comment, a setting or an extent.
    #[error("it is neither a setting nor an extent")]
    Unknown,
    /// The line repeats a setting.
    #[error("the setting is already on an earlier line")]
    Repeated,
    /// The setting has a value that msb does not support.
    #[error("the value is not supported")]
    Value,
    /// The extent is not flat, or not read-write.
    #[error("the extent is not RW FLAT")]
    ExtentKind,
    /// The extent does not begin at the start of its file.
    #[error("the extent has an offset")]
    ExtentOffset,
    /// The line of the extent does not have the expected form.
    #[error("the extent does not have the form RW SECTORS FLAT \"NAME\" 0")]
    ExtentForm,
    /// The extent follows an empty line; QEMU would count it twice.
    #[error("the extent follows an empty line")]
    AfterBlank,
    /// The descriptor has more than [`EXTENTS_MAX`] extents.
    #[error("there are more than {EXTENTS_MAX} extents")]
    TooManyExtents,
}

/// Settings outside of the disk data base, each with its only valid value; `None` if any is valid.
const SETTINGS: [(&str, Option<&str>); 4] = [
    ("version", Some("1")),
    ("CID", None),
    ("parentCID", Some("ffffffff")),
    ("createType", Some("twoGbMaxExtentFlat")),
];

/// A descriptor cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The bytes cannot be read, or are not UTF-8.
    #[error("cannot read the descriptor")]
    Io(#[from] io::Error),
    /// The bytes are not a descriptor.
    #[error("cannot parse the descriptor")]
    Parse(#[from] ParseError),
}

impl Descriptor {
    /// Reads a descriptor to its end, and parses it. Of one that is too long, no more is read than
    /// shows that.
    ///
    /// # Errors
    /// If it cannot be read, or those of [`Descriptor::parse`].
    pub fn read(from: impl io::Read) -> Result<Self, ReadError> {
        let limit_bytes = u64::try_from(DESCRIPTOR_MAX_BYTES).unwrap_or(u64::MAX);
        let mut text = String::new();
        from.take(limit_bytes.saturating_add(1))
            .read_to_string(&mut text)?;
        Ok(Self::parse(&text)?)
    }

    /// Parses a descriptor of the kind that [`Descriptor::render`] writes. Blanks, comments and
    /// carriage returns may differ.
    ///
    /// # Errors
    /// The first line that is refused, with the reason; a descriptor that is too long or
    /// incomplete; extents that do not make a disk.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        if text.len() > DESCRIPTOR_MAX_BYTES {
            return Err(ParseError::TooLong {
                length_bytes: text.len(),
            });
        }
        let mut settings = BTreeMap::new();
        let mut extents = Vec::new();
        let mut after_blank = false;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let known = extents.len();
            let read = read_line(line, &mut settings, &mut extents);
            let doubled = after_blank && extents.len() > known;
            let read = read.and(if doubled {
                Err(Problem::AfterBlank)
            } else {
                Ok(())
            });
            read.map_err(|problem| ParseError::Line {
                line: index.saturating_add(1),
                problem,
            })?;
            after_blank = line.is_empty();
        }
        for (key, _) in SETTINGS {
            if !settings.contains_key(key) {
                return Err(ParseError::Missing { key });
            }
        }
        let content_id = settings
            .get("CID")
            .and_then(|text| u32::from_str_radix(text, 16).ok());
        let content_id = content_id.ok_or(ParseError::Missing {
            key: "CID of 8 hex digits",
        })?;
        Ok(Self::new(content_id, extents)?)
    }
}

fn read_line<'a>(
    line: &'a str,
    settings: &mut BTreeMap<&'a str, &'a str>,
    extents: &mut Vec<FlatExtent>,
) -> Result<(), Problem> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(());
    }
    let first_word = line.split_whitespace().next().unwrap_or_default();
    if matches!(first_word, "RW" | "RDONLY" | "NOACCESS") {
        if extents.len() == EXTENTS_MAX {
            return Err(Problem::TooManyExtents);
        }
        extents.push(read_extent(line)?);
        return Ok(());
    }
    let (key, value) = line.split_once('=').ok_or(Problem::Unknown)?;
    let (key, value) = (key.trim(), value.trim().trim_matches('"'));
    if key.starts_with("ddb.") {
        return Ok(());
    }
    let known = SETTINGS.iter().find(|(name, _)| *name == key);
    let (_, only) = known.ok_or(Problem::Unknown)?;
    if only.is_some_and(|only| only != value) || (key == "CID" && content_id(value).is_none()) {
        return Err(Problem::Value);
    }
    match settings.insert(key, value) {
        Some(_) => Err(Problem::Repeated),
        None => Ok(()),
    }
}

/// Parses up to eight hexadecimal digits; `None` if the text contains anything else.
fn content_id(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(text, 16).ok().filter(|_| digits)
}

fn read_extent(line: &str) -> Result<FlatExtent, Problem> {
    let (head, rest) = line.split_once('"').ok_or(Problem::ExtentKind)?;
    let (file_name, offset) = rest.rsplit_once('"').ok_or(Problem::ExtentForm)?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let [access, sectors, kind] = words[..] else {
        return Err(Problem::ExtentForm);
    };
    if access != "RW" || kind != "FLAT" {
        return Err(Problem::ExtentKind);
    }
    match offset.trim() {
        "0" => {}
        other if other.parse::<u64>().is_ok() => return Err(Problem::ExtentOffset),
        _ => return Err(Problem::ExtentForm),
    }
    let sectors = sectors.parse().map_err(|_| Problem::ExtentForm)?;
    Ok(FlatExtent {
        sectors,
        file_name: file_name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_extent(line: &str) -> String {
        format!("version=1\nCID=1\nparentCID=ffffffff\ncreateType=\"twoGbMaxExtentFlat\"\n{line}\n")
    }

    #[test]
    fn harmless_variants_are_read() {
        let text = with_extent("\tRW  8   FLAT\t\"a b.erofs\"  0 ").replace('\n', "\r\n");
        let descriptor = Descriptor::parse(&text).expect("read");
        assert_eq!(descriptor.extents[0].file_name, "a b.erofs");
        assert_eq!(descriptor.content_id, 1);
    }

    #[test]
    fn everything_else_is_refused_with_its_line() {
        let cases = [
            ("RW 8 FLAT \"a\" 1", Problem::ExtentOffset),
            ("RW 8 FLAT \"a\"", Problem::ExtentForm),
            ("RW x FLAT \"a\" 0", Problem::ExtentForm),
            ("RW -8 FLAT \"a\" 0", Problem::ExtentForm),
            ("RDONLY 8 FLAT \"a\" 0", Problem::ExtentKind),
            ("NOACCESS 8 ZERO", Problem::ExtentKind),
            ("RW 8 SPARSE \"a\" 0", Problem::ExtentKind),
            ("encoding=\"UTF-8\"", Problem::Unknown),
            ("CID=2", Problem::Repeated),
            ("\nRW 8 FLAT \"a\" 0", Problem::AfterBlank),
            ("version=2", Problem::Value),
            ("nonsense", Problem::Unknown),
        ];
        for (line, problem) in cases {
            let number = 5 + line.matches('\n').count();
            let expected = Err(ParseError::Line {
                line: number,
                problem,
            });
            assert_eq!(Descriptor::parse(&with_extent(line)), expected, "{line}");
        }
        for value in ["+1", "x", "123456789"] {
            let text = with_extent("").replace("CID=1", &format!("CID={value}"));
            let expected = Err(ParseError::Line {
                line: 2,
                problem: Problem::Value,
            });
            assert_eq!(Descriptor::parse(&text), expected, "{value}");
        }
        let no_extents = Descriptor::parse(&with_extent(""));
        assert_eq!(
            no_extents,
            Err(ParseError::Disk(InvalidDescriptor::NoExtents))
        );
        assert_eq!(
            Descriptor::parse(""),
            Err(ParseError::Missing { key: "version" })
        );
        let long = "#".repeat(DESCRIPTOR_MAX_BYTES + 1);
        assert!(matches!(
            Descriptor::parse(&long),
            Err(ParseError::TooLong { .. })
        ));
    }
}

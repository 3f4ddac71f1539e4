use std::collections::BTreeMap;

use crate::{Descriptor, EXTENTS_MAX, FlatExtent, InvalidDescriptor};

/// The longest descriptor that is read, in bytes: what the strictest reader takes.
pub const DESCRIPTOR_MAX_BYTES: usize = 1 << 20;

/// Why a text is not a descriptor that msb reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Longer than [`DESCRIPTOR_MAX_BYTES`].
    #[error("the descriptor has {length_bytes} bytes, the limit is {DESCRIPTOR_MAX_BYTES}")]
    TooLong {
        /// How long it is.
        length_bytes: usize,
    },
    /// One line is wrong, or says something that msb does not do.
    #[error("line {line} of the descriptor")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        problem: Problem,
    },
    /// A line that must be there is not.
    #[error("the descriptor has no {key}")]
    Missing {
        /// Which.
        key: &'static str,
    },
    /// Its parts make no disk.
    #[error("the descriptor describes no disk")]
    Disk(#[from] InvalidDescriptor),
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Not a comment, a setting or an extent.
    #[error("it is no setting and no extent")]
    Unknown,
    /// A setting that stands twice.
    #[error("the setting was made before")]
    Repeated,
    /// A setting with a value that msb does not read.
    #[error("the value is not supported")]
    Value,
    /// An extent of another kind than flat.
    #[error("the extent is not RW FLAT")]
    ExtentKind,
    /// An extent that does not begin at its file's beginning.
    #[error("the extent has an offset")]
    ExtentOffset,
    /// An extent line that does not have the form.
    #[error("the extent does not read: RW SECTORS FLAT \"NAME\" 0")]
    ExtentForm,
    /// An extent that QEMU would count twice.
    #[error("the extent follows an empty line")]
    AfterBlank,
    /// More than [`EXTENTS_MAX`].
    #[error("there are more than {EXTENTS_MAX} extents")]
    TooManyExtents,
}

/// Settings outside the disk data base, and the values that they may have; none for any value.
const SETTINGS: [(&str, Option<&str>); 4] = [
    ("version", Some("1")),
    ("CID", None),
    ("parentCID", Some("ffffffff")),
    ("createType", Some("twoGbMaxExtentFlat")),
];

impl Descriptor {
    /// Reads a descriptor of the kind that [`Descriptor::render`] writes; blanks, comments and
    /// carriage returns may differ.
    ///
    /// # Errors
    /// Everything else, with the line and what is wrong with it.
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

/// Up to eight hex digits, and nothing else.
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

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use fstree::{Timestamp, Xattrs};

use super::number;
use crate::error::InvalidHeader;

const SCHILY: &[u8] = b"SCHILY.xattr.";
const LIBARCHIVE: &[u8] = b"LIBARCHIVE.xattr.";

/// The records of one PAX header. If a key occurs several times, its last record counts.
#[derive(Debug, Default)]
pub(super) struct Pax {
    records: BTreeMap<Vec<u8>, Vec<u8>>,
    /// `GNU.sparse.offset` and `GNU.sparse.numbytes`, which repeat, in their order.
    sparse_pairs: Vec<u64>,
}

impl Pax {
    /// Parses records of the form `length key=value\n` up to the end of `body`.
    pub(super) fn parse(mut body: &[u8]) -> Result<Self, InvalidHeader> {
        let mut pax = Self::default();
        while !body.is_empty() {
            let (key, value, rest) = record(body).ok_or(InvalidHeader::PaxRecord)?;
            pax.insert(key, value)?;
            body = rest;
        }
        if pax.sparse_pairs.len() % 2 == 1 {
            return Err(InvalidHeader::SparseMap);
        }
        Ok(pax)
    }

    /// Returns the value of a record. `None` if it does not exist or is empty.
    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.records
            .get(key)
            .map(Vec::as_slice)
            .filter(|value| !value.is_empty())
    }

    /// Returns the value of a record that is a decimal number.
    pub(super) fn number(&self, key: &[u8]) -> Result<Option<u64>, InvalidHeader> {
        self.parsed(key, number::decimal)
    }

    /// Returns the value of a record that is a decimal number and may be negative.
    pub(super) fn integer(&self, key: &[u8]) -> Result<Option<i64>, InvalidHeader> {
        self.parsed(key, number::integer)
    }

    /// Returns the value of the `mtime` record. `atime` and `ctime` only have to be valid times.
    pub(super) fn times(&self) -> Result<Option<Timestamp>, InvalidHeader> {
        for key in [&b"atime"[..], b"ctime"] {
            self.parsed(key, number::timestamp)?;
        }
        self.parsed(b"mtime", number::timestamp)
    }

    /// Returns every xattr by its full name. If star's and libarchive's records differ, star's
    /// counts.
    pub(super) fn xattrs(&self) -> Result<Xattrs, InvalidHeader> {
        let mut decoded = Vec::new();
        for (key, value) in &self.records {
            if let Some(name) = key.strip_prefix(LIBARCHIVE) {
                let unpadded = value.trim_suffix_bytes(b'=');
                let (Some(name), Ok(value)) =
                    (percent_decoded(name), STANDARD_NO_PAD.decode(unpadded))
                else {
                    return Err(InvalidHeader::PaxValue {
                        key: key.as_slice().into(),
                    });
                };
                decoded.push((name, value));
            }
        }
        let mut xattrs: Xattrs = decoded.into_iter().collect();
        let records = self.records.iter();
        xattrs.extend(records.filter_map(|(key, value)| Some((key.strip_prefix(SCHILY)?, value))));
        Ok(xattrs)
    }

    /// Returns true if the records hold the map of a sparse file.
    pub(super) fn has_sparse_map(&self) -> bool {
        !self.sparse_pairs.is_empty() || self.get(b"GNU.sparse.map").is_some()
    }

    /// Returns the numbers of the map. `None` if one of them is invalid.
    pub(super) fn sparse_numbers(&self) -> Option<Vec<u64>> {
        match self.get(b"GNU.sparse.map") {
            _ if !self.sparse_pairs.is_empty() => Some(self.sparse_pairs.clone()),
            None => Some(Vec::new()),
            Some(map) => map
                .split(|&byte| byte == b',')
                .map(number::decimal)
                .collect(),
        }
    }

    fn parsed<T>(
        &self,
        key: &[u8],
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, InvalidHeader> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match parse(value) {
                Some(parsed) => Ok(Some(parsed)),
                None => Err(InvalidHeader::PaxValue { key: key.into() }),
            },
        }
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<(), InvalidHeader> {
        let is_text = matches!(key, b"path" | b"linkpath" | b"uname" | b"gname");
        if key.contains(&0) || (is_text && value.contains(&0)) {
            return Err(InvalidHeader::PaxValue { key: key.into() });
        }
        let place = match key {
            b"GNU.sparse.offset" => 0,
            b"GNU.sparse.numbytes" => 1,
            _ => {
                self.records.insert(key.to_vec(), value.to_vec());
                return Ok(());
            }
        };
        if self.sparse_pairs.len() % 2 != place {
            return Err(InvalidHeader::SparseMap);
        }
        let number = number::decimal(value).ok_or(InvalidHeader::SparseMap)?;
        self.sparse_pairs.push(number);
        Ok(())
    }
}

/// Splits off the first record: its key, its value, and the bytes after it. `None` if it is
/// malformed.
fn record(body: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let digits = body.iter().position(|&byte| byte == b' ')?;
    let length = usize::try_from(number::decimal(&body[..digits])?).ok()?;
    let record = body.get(digits + 1..length)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|&byte| byte == b'=')?;
    let (key, value) = (&record[..equals], &record[equals + 1..]);
    (!key.is_empty()).then_some((key, value, &body[length..]))
}

/// Decodes `%41` and the like. libarchive escapes `%`, `=` and all bytes that are not printable
/// ASCII.
fn percent_decoded(name: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            decoded.push(first);
            rest = tail;
        }
    }
    (!decoded.contains(&0)).then_some(decoded)
}

/// Removes a run of one byte at the end.
trait TrimSuffix {
    fn trim_suffix_bytes(&self, byte: u8) -> &[u8];
}

impl TrimSuffix for Vec<u8> {
    fn trim_suffix_bytes(&self, byte: u8) -> &[u8] {
        let end = self.iter().rposition(|&found| found != byte);
        &self[..end.map_or(0, |last| last + 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_record_counts_and_an_empty_one_deletes() {
        let pax = Pax::parse(b"6 a=b\n6 a=c\n8 path=\n").expect("valid");
        assert_eq!(pax.get(b"a"), Some(&b"c"[..]));
        assert_eq!(pax.get(b"path"), None);
    }

    #[test]
    fn malformed_records_are_refused() {
        for body in [
            &b"5 a=b\n"[..],
            b"7 a=b\n",
            b"6 =ab\n",
            b"6 abc\n",
            b" a=b\n",
            b"-6 a=b\n",
            b"0 a=b\n",
            b"99999999999999999999999 a=b\n",
            b"10 path=\0a\n",
        ] {
            assert!(Pax::parse(body).is_err(), "{}", body.escape_ascii());
        }
    }

    #[test]
    fn both_spellings_of_xattrs_are_read() {
        let mut body = Vec::new();
        for record in [
            &b"LIBARCHIVE.xattr.user.%61=aGk"[..],
            b"SCHILY.xattr.user.b=x\0\ny=z",
            b"LIBARCHIVE.xattr.user.b=aGk=",
        ] {
            let length = record.len() + 4;
            body.extend_from_slice(format!("{length} ").as_bytes());
            body.extend_from_slice(record);
            body.push(b'\n');
        }
        let xattrs = Pax::parse(&body)
            .and_then(|pax| pax.xattrs())
            .expect("valid");
        assert_eq!(xattrs.get(b"user.a"), Some(&b"hi"[..]));
        assert_eq!(xattrs.get(b"user.b"), Some(&b"x\0\ny=z"[..]));
        assert_eq!(xattrs.len(), 2);
    }
}

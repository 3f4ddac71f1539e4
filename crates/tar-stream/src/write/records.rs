use fstree::Metadata;

use super::block::{NAME_BYTES, OCTAL_7_MAX, OCTAL_11_MAX};
use crate::entry::EntryHeader;
use crate::error::WriteError;

/// The PAX records that extend a header.
#[derive(Debug, Default)]
pub(super) struct Records {
    body: Vec<u8>,
}

impl Records {
    /// Returns the records for the values that do not fit an entry's block. `path` is the entry's
    /// name, and `stored_bytes` the length of its stored content.
    pub(super) fn for_entry(
        header: &EntryHeader<'_>,
        path: &[u8],
        stored_bytes: u64,
    ) -> Result<Self, WriteError> {
        let mut records = Self::default();
        let metadata = header.metadata;
        if path.len() > NAME_BYTES {
            records.add(b"path", path);
        }
        if header.link.len() > NAME_BYTES {
            records.add(b"linkpath", header.link);
        }
        if stored_bytes > OCTAL_11_MAX {
            records.add_number(b"size", stored_bytes);
        }
        for (key, number) in [(b"uid", metadata.uid), (b"gid", metadata.gid)] {
            if u64::from(number) > OCTAL_7_MAX {
                records.add_number(key, number.into());
            }
        }
        records.add_mtime(metadata);
        for (name, value) in &metadata.xattrs {
            // A key ends at the first `=`, and readers refuse a NUL in it.
            if name.iter().any(|byte| matches!(byte, b'=' | 0)) {
                return Err(WriteError::XattrName {
                    path: header.path.into(),
                    name: name.into(),
                });
            }
            records.add(&[b"SCHILY.xattr.", name].concat(), value);
        }
        Ok(records)
    }

    /// Adds the records of a sparse file, including its name.
    pub(super) fn add_sparse(&mut self, path: &[u8], size_bytes: u64) {
        self.add(b"GNU.sparse.major", b"1");
        self.add(b"GNU.sparse.minor", b"0");
        self.add(b"GNU.sparse.name", path);
        self.add_number(b"GNU.sparse.realsize", size_bytes);
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    fn add_mtime(&mut self, metadata: &Metadata) {
        let mtime = metadata.mtime;
        let fits = u64::try_from(mtime.seconds).is_ok_and(|seconds| seconds <= OCTAL_11_MAX);
        if fits && mtime.nanoseconds == 0 {
            return;
        }
        // A fraction points away from zero: half a second after -2 is -1.5.
        let text = match (mtime.seconds, mtime.nanoseconds) {
            (seconds, 0) => seconds.to_string(),
            (-1, nanoseconds) => format!("-0.{:09}", 1_000_000_000 - nanoseconds),
            (seconds @ ..0, nanoseconds) => {
                format!("{}.{:09}", seconds + 1, 1_000_000_000 - nanoseconds)
            }
            (seconds, nanoseconds) => format!("{seconds}.{nanoseconds:09}"),
        };
        self.add(b"mtime", text.as_bytes());
    }

    fn add_number(&mut self, key: &[u8], number: u64) {
        self.add(key, number.to_string().as_bytes());
    }

    /// Adds a record `length key=value\n`. The length includes its own digits.
    fn add(&mut self, key: &[u8], value: &[u8]) {
        let rest = key.len() + value.len() + 3;
        let mut length = rest + 1;
        while length != rest + length.to_string().len() {
            length = rest + length.to_string().len();
        }
        self.body.extend_from_slice(length.to_string().as_bytes());
        for part in [b" ", key, b"=", value, b"\n"] {
            self.body.extend_from_slice(part);
        }
    }
}

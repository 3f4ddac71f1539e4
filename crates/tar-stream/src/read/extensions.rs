use fstree::{Metadata, Segment};

use super::header::{Header, text};
use super::pax::Pax;
use super::sparse::is_sparse_in;
use crate::entry::{Entry, EntryKind};
use crate::error::InvalidHeader;

/// The headers that come before an entry's own and extend it: PAX headers, GNU long names.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    /// The name in a GNU long name header. It is empty if there is no such header.
    long_name: Vec<u8>,
    long_link: Vec<u8>,
    pub(super) pax: Pax,
}

impl Extensions {
    /// Adds the body, without its padding, of a header for which [`Header::is_extension`] is true.
    ///
    /// # Errors
    /// The body is malformed.
    pub(super) fn add(&mut self, type_flag: u8, body: &[u8]) -> Result<(), InvalidHeader> {
        match type_flag {
            b'L' => self.long_name = text(body).to_vec(),
            b'K' => self.long_link = text(body).to_vec(),
            b'x' => self.pax = Pax::parse(body)?,
            // To Go, a global header is an entry of its own, which engines ignore. So its records
            // have no effect, and the headers before it extend it and not the next entry.
            b'g' => {
                Pax::parse(body)?;
                *self = Self::default();
            }
            code => return Err(InvalidHeader::Type { code }),
        }
        Ok(())
    }

    /// Returns the entry whose header is `header`, at this offset of the archive.
    ///
    /// A regular file has its stored size: if it [is sparse](Self::is_sparse), neither its size nor
    /// its segments are known yet.
    ///
    /// # Errors
    /// The header's type is unknown, or a number in it or in a PAX record is invalid.
    pub(super) fn entry(&self, header: &Header, offset_bytes: u64) -> Result<Entry, InvalidHeader> {
        let (path, link) = self.names(header);
        let kind = header.kind(&path)?;
        let metadata = Metadata {
            mode: header.mode,
            uid: owner(self.pax.integer(b"uid")?, header.uid, "uid")?,
            gid: owner(self.pax.integer(b"gid")?, header.gid, "gid")?,
            mtime: self.pax.times()?.unwrap_or(header.mtime),
            xattrs: self.pax.xattrs()?,
        };
        // Only regular files have content, whatever size other entries state.
        let size_bytes = match kind {
            EntryKind::Regular => self.stored_bytes(header)?,
            _ => 0,
        };
        Ok(Entry {
            offset_bytes,
            kind,
            path,
            link,
            metadata,
            size_bytes,
            segments: Segment::whole_file(size_bytes),
        })
    }

    /// Returns true if `header` and its extensions describe a sparse file, which has a map.
    pub(super) fn is_sparse(&self, header: &Header) -> bool {
        header.is_gnu_sparse() || is_sparse_in(&self.pax)
    }

    /// Returns the path and the link target. GNU's names take precedence over PAX's, and PAX's over
    /// the header's. The name of a sparse file takes precedence over all.
    fn names(&self, header: &Header) -> (Vec<u8>, Vec<u8>) {
        let given = |name: &Vec<u8>| (!name.is_empty()).then(|| name.clone());
        let record = |key: &[u8]| self.pax.get(key).map(<[u8]>::to_vec);
        let path = record(b"GNU.sparse.name")
            .filter(|_| is_sparse_in(&self.pax))
            .or_else(|| given(&self.long_name))
            .or_else(|| record(b"path"));
        let link = given(&self.long_link).or_else(|| record(b"linkpath"));
        (
            path.unwrap_or_else(|| header.path.clone()),
            link.unwrap_or_else(|| header.link.clone()),
        )
    }

    /// Returns the number of stored bytes. The header's own size must be a number, even if PAX has
    /// another.
    fn stored_bytes(&self, header: &Header) -> Result<u64, InvalidHeader> {
        let header_bytes = header.size_bytes()?;
        Ok(self.pax.number(b"size")?.unwrap_or(header_bytes))
    }
}

/// Returns a uid or gid. 2^32 - 1 means "unchanged" to the kernel, and larger numbers would be cut,
/// so both are refused.
fn owner(pax: Option<i64>, header: i64, field: &'static str) -> Result<u32, InvalidHeader> {
    u32::try_from(pax.unwrap_or(header))
        .ok()
        .filter(|&number| number != u32::MAX)
        .ok_or(InvalidHeader::Number { field })
}

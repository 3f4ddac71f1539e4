use std::borrow::Cow;

use fstree::Xattrs;
use zerocopy::FromBytes;

use super::node_reader::NodeReader;
use super::{Fault, ReadAt, ReadError, Spans, Structure, Unsupported};
use crate::format::{Compat, XattrEntry, XattrIbodyHeader};
use crate::inode::DiskInode;
use crate::length::Length;
use crate::xattr::{filter_of, full_name};

/// Approximate memory of one attribute beside its name and value, in bytes.
const OVERHEAD_BYTES: u64 = 64;

/// An attribute at the start of some bytes.
struct Entry<'a> {
    name: Vec<u8>,
    value: &'a [u8],
    later: &'a [u8],
}

impl<R: ReadAt> NodeReader<'_, R> {
    /// Reads the attributes of an inode, inline and shared.
    pub(super) fn xattrs(
        &mut self,
        nid: u64,
        inode: &DiskInode,
        spans: &mut Spans,
    ) -> Result<Xattrs, ReadError> {
        let structure = Structure::Xattrs(nid);
        let start = spans.inode.end;
        spans.xattrs = start..start;
        if inode.xattr_icount == 0 {
            return Ok(Xattrs::new());
        }
        let corrupt = |fault| structure.corrupt(start, fault);
        let length_bytes = 12 + 4 * (u64::from(inode.xattr_icount) - 1);
        spans.xattrs = start..start + length_bytes;
        let area = self.pages.read(structure, start, length_bytes)?;
        let (header, rest) =
            XattrIbodyHeader::read_from_prefix(&area).map_err(|_| corrupt(Fault::Entry))?;
        let shared_bytes = usize::from(header.h_shared_count) * 4;
        let (identifiers, mut entries) = rest
            .split_at_checked(shared_bytes)
            .filter(|_| !rest.is_empty())
            .ok_or_else(|| corrupt(Fault::Entry))?;
        let mut found: Vec<(Vec<u8>, Cow<'_, [u8]>)> = Vec::new();
        while !entries.is_empty() {
            let entry = split_entry(nid, entries, structure, start)?;
            self.pages.charge(structure, start, OVERHEAD_BYTES)?;
            found.push((entry.name, entry.value.into()));
            entries = entry.later;
        }
        let (identifiers, _) = identifiers.as_chunks();
        for &identifier in identifiers {
            let (name, value) = self.shared_xattr(nid, u32::from_le_bytes(identifier), spans)?;
            found.push((name, value.into()));
        }
        let count = found.len();
        let xattrs: Xattrs = found.into_iter().collect();
        if xattrs.len() < count {
            return Err(corrupt(Fault::DuplicateXattr));
        }
        let filter = filter_of(&xattrs).map_err(|_| corrupt(Fault::Entry))?;
        let has_filter =
            self.image.has(Compat::XATTR_FILTER) && self.image.disk.xattr_filter_reserved == 0;
        if has_filter && filter != header.h_name_filter.get() {
            return Err(corrupt(Fault::XattrFilter));
        }
        Ok(xattrs)
    }

    fn shared_xattr(
        &mut self,
        nid: u64,
        identifier: u32,
        spans: &mut Spans,
    ) -> Result<(Vec<u8>, Vec<u8>), ReadError> {
        let structure = Structure::SharedXattr;
        let area = self.image.disk.xattr_blkaddr.get();
        let area = self.image.block_size.offset_bytes(area);
        let start = area + u64::from(identifier) * 4;
        let header_bytes = self.pages.read(structure, start, 4)?;
        let header = XattrEntry::read_from_bytes(&header_bytes)
            .map_err(|_| structure.corrupt(start, Fault::Entry))?;
        let length_bytes = entry_bytes(&header);
        self.pages.charge(structure, start, OVERHEAD_BYTES)?;
        let bytes = self.pages.read(structure, start, length_bytes)?;
        let Entry { name, value, .. } = split_entry(nid, &bytes, structure, start)?;
        if self.shared_xattrs.insert(identifier) {
            spans.shared_xattrs.push(start..start + length_bytes);
        }
        Ok((name, value.to_vec()))
    }
}

/// Returns the length of an entry in bytes, including its name, value and padding.
pub(crate) fn entry_bytes(header: &XattrEntry) -> u64 {
    let bytes = 4 + u64::from(header.e_name_len) + u64::from(header.e_value_size.get());
    bytes.next_multiple_of(4)
}

/// Splits the first entry off `bytes`: its full name, its value, and the bytes that follow it.
fn split_entry(
    nid: u64,
    bytes: &[u8],
    structure: Structure,
    at: u64,
) -> Result<Entry<'_>, ReadError> {
    let misfit = || structure.corrupt(at, Fault::Entry);
    let (header, rest) = XattrEntry::read_from_prefix(bytes).map_err(|_| misfit())?;
    let (suffix, rest) = rest
        .split_at_checked(usize::from(header.e_name_len))
        .ok_or_else(misfit)?;
    let (value, rest) = rest
        .split_at_checked(usize::from(header.e_value_size.get()))
        .ok_or_else(misfit)?;
    let consumed = bytes.length_bytes() - rest.length_bytes();
    let padding = usize::try_from(consumed.next_multiple_of(4) - consumed).unwrap_or(0);
    let later = rest.get(padding..).ok_or_else(misfit)?;
    let index = header.e_name_index;
    let unknown = ReadError::Unsupported(Unsupported::XattrNamespace { nid, index });
    let name = full_name(index, suffix).ok_or(unknown)?;
    Ok(Entry { name, value, later })
}

use fstree::FileType;
use zerocopy::FromBytes;
use zerocopy::little_endian::{U16, U32};

use super::DumpError;
use super::page::Page;
use crate::dirent::file_type_of;
use crate::format::{
    CHUNK_FORMAT_INDEXES, ChunkIndex, Dirent, NULL_ADDRESS, XattrEntry, XattrIbodyHeader,
};
use crate::read::ReadAt;
use crate::xattr::full_name;

impl<R: ReadAt> Page<'_, '_, R> {
    pub(super) fn xattr_area(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let Ok((header, rest)) = XattrIbodyHeader::read_from_prefix(bytes) else {
            return self.unused("unknown", bytes);
        };
        self.field(
            "h_name_filter",
            &format_args!("{:#010x}", header.h_name_filter),
        )?;
        self.field("h_shared_count", &header.h_shared_count)?;
        self.unused("h_reserved2", &header.h_reserved2)?;
        let shared_bytes = usize::from(header.h_shared_count) * 4;
        let (identifiers, entries) = rest.split_at_checked(shared_bytes).unwrap_or((rest, &[]));
        for identifier in identifiers.chunks(4) {
            let identifier = U32::read_from_bytes(identifier).unwrap_or_default();
            self.field("shared", &format_args!("{identifier}"))?;
        }
        self.xattr_entries(entries)
    }

    pub(super) fn xattr_entries(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Ok((header, body)) = XattrEntry::read_from_prefix(rest) else {
                return self.unused("unknown", rest);
            };
            let name_end = usize::from(header.e_name_len).min(body.len());
            let value_end = (name_end + usize::from(header.e_value_size.get())).min(body.len());
            let end = value_end.next_multiple_of(4).min(body.len());
            let name = full_name(header.e_name_index, &body[..name_end]).unwrap_or_default();
            let (name, value) = (
                name.escape_ascii(),
                body[name_end..value_end].escape_ascii(),
            );
            self.field("entry", &format_args!("{name} = \"{value}\""))?;
            self.unused("  padding", &body[value_end..end])?;
            rest = &body[end..];
        }
        Ok(())
    }

    pub(super) fn directory(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        bytes
            .chunks(self.image.block_size.length())
            .try_for_each(|block| self.directory_block(block))
    }

    fn directory_block(&mut self, block: &[u8]) -> Result<(), DumpError> {
        let first = Dirent::read_from_prefix(block).map_or(0, |(dirent, _)| dirent.nameoff.get());
        let dirents_end = usize::from(first).min(block.len());
        let (dirents, _) = block[..dirents_end].as_chunks::<{ size_of::<Dirent>() }>();
        let dirents: Vec<Dirent> = dirents
            .iter()
            .filter_map(|bytes| Dirent::read_from_bytes(bytes).ok())
            .collect();
        let nexts = dirents
            .iter()
            .skip(1)
            .map(|next| usize::from(next.nameoff.get()));
        let mut used = block.len();
        for (dirent, next) in dirents.iter().zip(nexts.map(Some).chain([None])) {
            let start = usize::from(dirent.nameoff.get()).min(block.len());
            let names = &block[start..];
            let to_nul = || {
                names
                    .iter()
                    .position(|&byte| byte == 0)
                    .unwrap_or(names.len())
            };
            let length = next.map_or_else(to_nul, |next| next.saturating_sub(start));
            let name = &names[..length.min(names.len())];
            used = start + name.len();
            let value = format_args!(
                "nid {} nameoff {} type {} {} \"{}\"",
                dirent.nid,
                dirent.nameoff,
                dirent.file_type,
                file_type_of(dirent.file_type).map_or('?', FileType::letter),
                name.escape_ascii()
            );
            self.field("dirent", &value)?;
            self.unused("  reserved", &[dirent.reserved])?;
        }
        self.unused("  padding", &block[used..])
    }

    pub(super) fn target(&mut self, bytes: &[u8]) -> Result<(), DumpError> {
        let end = bytes.iter().position(|&byte| byte == 0);
        let (target, padding) = bytes.split_at(end.unwrap_or(bytes.len()));
        self.field("target", &format_args!("\"{}\"", target.escape_ascii()))?;
        self.unused("padding", padding)
    }

    /// Writes one line for each run of chunks that continue each other.
    pub(super) fn chunk_map(&mut self, bytes: &[u8], format: u32) -> Result<(), DumpError> {
        let has_indexes = format & u32::from(CHUNK_FORMAT_INDEXES) != 0;
        let step = 1_u32.checked_shl(format & 0x1F).unwrap_or(0);
        let entries = bytes
            .chunks(if has_indexes { 8 } else { 4 })
            .filter_map(chunk);
        let mut numbered = (0_u64..).zip(entries).peekable();
        while let Some((first, start)) = numbered.next() {
            let (mut last, mut previous) = (first, start);
            while let Some((number, next)) =
                numbered.next_if(|(_, next)| *next == following(previous, step))
            {
                (last, previous) = (number, next);
            }
            let address = match start.blkaddr.get() {
                NULL_ADDRESS => "hole".into(),
                block => format!("block {block}"),
            };
            let (advise, device) = (start.advise, start.device_id);
            let value = format_args!("{first}..={last} device {device} {address} advise {advise}");
            self.field("chunks", &value)?;
        }
        Ok(())
    }
}

fn chunk(bytes: &[u8]) -> Option<ChunkIndex> {
    if let Ok(index) = ChunkIndex::read_from_bytes(bytes) {
        return Some(index);
    }
    Some(ChunkIndex {
        advise: U16::ZERO,
        device_id: U16::ZERO,
        blkaddr: U32::read_from_bytes(bytes).ok()?,
    })
}

/// Returns the entry that continues `index`.
fn following(index: ChunkIndex, step: u32) -> ChunkIndex {
    let blkaddr = match index.blkaddr.get() {
        NULL_ADDRESS => NULL_ADDRESS,
        block => block.wrapping_add(step),
    };
    ChunkIndex {
        blkaddr: U32::new(blkaddr),
        ..index
    }
}

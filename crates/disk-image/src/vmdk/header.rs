use fstree::ReadAt;
use zerocopy::byteorder::LE;
use zerocopy::{FromBytes, Immutable, KnownLayout, U16, U32, U64, Unaligned};

use crate::bytes::{SECTOR_BYTES, read_array, read_vec};
use crate::error::shown;
use crate::{Corrupt, Format, OpenError, Unsupported};

/// Bytes of the header.
const HEADER_BYTES: usize = 512;
/// `GD_AT_END`: the header with the offset of the grain directory lies before the end of the file.
const DIRECTORY_AT_END: u64 = u64::MAX;
/// The distance of that header from the end of the file, in bytes.
const FOOTER_BYTES: u64 = 1024;
/// `numGTEsPerGT` at most.
const TABLE_ENTRIES_MAX: u32 = 512;
/// Accepted values of `grainSize`: grains of 4 KiB to 2 MiB.
const GRAIN_SECTORS: std::ops::RangeInclusive<u64> = 8..=4096;
/// The longest embedded descriptor, in sectors: 1 MiB.
const DESCRIPTOR_MAX_SECTORS: u64 = 2048;
/// The bytes that show whether a file was transferred as text.
const LINE_ENDS: [u8; 4] = *b"\n \r\n";

const ZEROED_GRAINS: u32 = 1 << 2;
const COMPRESSED: u32 = 1 << 16;
const MARKERS: u32 = 1 << 17;
/// The lower flags: valid line ends, a second directory, zeroed grains.
const KNOWN_FLAGS: u32 = 0b111 | COMPRESSED | MARKERS;

/// `SparseExtentHeader` ("Virtual Disk Format 5.0", VMware, "Hosted Sparse Extent Header").
#[derive(Debug, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Fields {
    magic: U32<LE>,
    version: U32<LE>,
    flags: U32<LE>,
    capacity: U64<LE>,
    grain_size: U64<LE>,
    descriptor_offset: U64<LE>,
    descriptor_size: U64<LE>,
    gtes_per_gt: U32<LE>,
    rgd_offset: U64<LE>,
    gd_offset: U64<LE>,
    overhead: U64<LE>,
    unclean_shutdown: u8,
    line_ends: [u8; 4],
    compress_algorithm: U16<LE>,
    padding: [u8; 433],
}

const _: () = assert!(size_of::<Fields>() == HEADER_BYTES);

/// The parts of a header that a reader needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) capacity_sectors: u64,
    pub(super) grain_sectors: u64,
    /// Entries of a grain table.
    pub(super) table_entries: u64,
    pub(super) directory_bytes: u64,
    pub(super) has_zeroed_grains: bool,
    pub(super) is_compressed: bool,
}

impl Header {
    pub(super) fn read(file: &impl ReadAt, file_bytes: u64) -> Result<Self, OpenError> {
        let first = Fields::read(file, file_bytes, 0)?;
        first.check_descriptor(file, file_bytes)?;
        if first.gd_offset.get() != DIRECTORY_AT_END {
            return first.into_header(0);
        }
        let footer_bytes = file_bytes.saturating_sub(FOOTER_BYTES);
        let footer = Fields::read(file, file_bytes, footer_bytes)?;
        if footer.magic != first.magic || footer.gd_offset.get() == DIRECTORY_AT_END {
            let fault = "it does not say where the grain directory is; the file may be truncated";
            return Err(Corrupt::new("VMDK footer", footer_bytes, fault).into());
        }
        footer.into_header(footer_bytes)
    }
}

impl Fields {
    fn read(file: &impl ReadAt, file_bytes: u64, at_bytes: u64) -> Result<Self, OpenError> {
        let bytes: Option<[u8; HEADER_BYTES]> = read_array(file, file_bytes, at_bytes)?;
        let bytes = bytes.ok_or_else(|| {
            let fault = format!("the file has {file_bytes} bytes");
            Corrupt::new("VMDK header", at_bytes, fault)
        })?;
        Ok(zerocopy::transmute!(bytes))
    }

    /// Checks that the embedded descriptor names neither a parent nor other files.
    fn check_descriptor(&self, file: &impl ReadAt, file_bytes: u64) -> Result<(), OpenError> {
        let offset_bytes = self.descriptor_offset.get().saturating_mul(SECTOR_BYTES);
        if offset_bytes == 0 {
            return Ok(());
        }
        let sectors = self.descriptor_size.get().min(DESCRIPTOR_MAX_SECTORS);
        let length = (sectors * SECTOR_BYTES).min(file_bytes.saturating_sub(offset_bytes));
        let text = read_vec(file, offset_bytes, length)?;
        let text = String::from_utf8_lossy(&text);
        let setting = |key: &str| {
            let mut lines = text
                .lines()
                .map(|line| line.trim_matches([' ', '\t', '\0']));
            let found =
                lines.find_map(|line| line.split_once('=').filter(|(name, _)| name.trim() == key));
            found.map(|(_, value)| value.trim().trim_matches('"').to_owned())
        };
        if let Some(parent) = setting("parentCID")
            && !parent.eq_ignore_ascii_case("ffffffff")
        {
            let name = setting("parentFileNameHint").unwrap_or(parent);
            let name = shown(name.as_bytes());
            return Err(Unsupported::BackingFile { name }.into());
        }
        match setting("createType").as_deref() {
            None | Some("monolithicSparse" | "streamOptimized") => Ok(()),
            Some(_) => Err(Unsupported::ExternalData.into()),
        }
    }

    fn into_header(self, at_bytes: u64) -> Result<Header, OpenError> {
        let corrupt = |fault: String| Corrupt::new("VMDK header", at_bytes, fault);
        let format = Format::Vmdk;
        let version = self.version.get();
        if !(1..=3).contains(&version) {
            return Err(Unsupported::Version { format, version }.into());
        }
        let flags = self.flags.get();
        if flags & !KNOWN_FLAGS != 0 {
            let feature = format!("flags {flags:#x}");
            return Err(Unsupported::Feature { format, feature }.into());
        }
        let is_compressed = flags & COMPRESSED != 0;
        let algorithm = self.compress_algorithm.get();
        if is_compressed && algorithm != 1 {
            let feature = format!("compression {algorithm}");
            return Err(Unsupported::Feature { format, feature }.into());
        }
        if self.line_ends != LINE_ENDS {
            return Err(corrupt("the file was transferred as text".to_owned()).into());
        }
        let grain_sectors = self.grain_size.get();
        if !GRAIN_SECTORS.contains(&grain_sectors) || !grain_sectors.is_power_of_two() {
            return Err(corrupt(format!("grainSize is {grain_sectors}")).into());
        }
        let table_entries = self.gtes_per_gt.get();
        if !(1..=TABLE_ENTRIES_MAX).contains(&table_entries) {
            return Err(corrupt(format!("numGTEsPerGT is {table_entries}")).into());
        }
        Ok(Header {
            capacity_sectors: self.capacity.get(),
            grain_sectors,
            table_entries: table_entries.into(),
            directory_bytes: self.gd_offset.get().saturating_mul(SECTOR_BYTES),
            has_zeroed_grains: flags & ZEROED_GRAINS != 0,
            is_compressed,
        })
    }
}

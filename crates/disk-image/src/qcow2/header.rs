use fstree::ReadAt;
use zerocopy::byteorder::BE;
use zerocopy::{FromBytes, Immutable, KnownLayout, U32, U64, Unaligned};

use crate::bytes::read_vec;
use crate::error::shown;
use crate::{Corrupt, Format, OpenError, Unsupported};

/// Bytes of a header of version 3 with the type of compression.
const HEADER_BYTES: usize = 112;
/// Bytes of a header of version 2.
const HEADER_BYTES_V2: u64 = 72;
/// Bytes of a header of version 3 at least.
const HEADER_BYTES_V3: u32 = 104;
/// Accepted values of `cluster_bits`: clusters of 512 bytes to 2 MiB.
const CLUSTER_BITS: std::ops::RangeInclusive<u32> = 9..=21;
/// Bytes of a backing file's name that are shown at most.
const NAME_MAX_BYTES: u32 = 1023;

/// Bits of `incompatible_features` that change nothing for a reader: dirty refcounts, and a type of
/// compression in the header.
const HARMLESS: u64 = 1 << 0 | 1 << COMPRESSION_BIT;
const CORRUPT_BIT: u32 = 1;
const EXTERNAL_DATA_BIT: u32 = 2;
const COMPRESSION_BIT: u32 = 3;
const EXTENDED_L2_BIT: u32 = 4;

/// The header (docs/interop/qcow2.txt of QEMU, section "Header").
#[derive(Debug, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Fields {
    magic: U32<BE>,
    version: U32<BE>,
    backing_file_offset: U64<BE>,
    backing_file_size: U32<BE>,
    cluster_bits: U32<BE>,
    size: U64<BE>,
    crypt_method: U32<BE>,
    l1_size: U32<BE>,
    l1_table_offset: U64<BE>,
    refcount_table_offset: U64<BE>,
    refcount_table_clusters: U32<BE>,
    nb_snapshots: U32<BE>,
    snapshots_offset: U64<BE>,
    incompatible_features: U64<BE>,
    compatible_features: U64<BE>,
    autoclear_features: U64<BE>,
    refcount_order: U32<BE>,
    header_length: U32<BE>,
    compression_type: u8,
    padding: [u8; 7],
}

const _: () = assert!(size_of::<Fields>() == HEADER_BYTES);

/// The compression of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compression {
    Deflate,
    Zstd,
}

/// The parts of a header that a reader needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) has_zero_flags: bool,
    pub(super) cluster_bits: u32,
    pub(super) size_bytes: u64,
    pub(super) l1_entries: u32,
    pub(super) l1_offset_bytes: u64,
    pub(super) compression: Compression,
}

impl Header {
    pub(super) fn read(file: &impl ReadAt, file_bytes: u64) -> Result<Self, OpenError> {
        let mut bytes = [0; HEADER_BYTES];
        let in_file = file_bytes.min(crate::bytes::length_of(&bytes));
        if in_file < HEADER_BYTES_V2 {
            return Err(corrupt(format!("the file has {file_bytes} bytes")).into());
        }
        let (stored, _) = bytes.split_at_mut(crate::bytes::in_memory(in_file)?);
        file.read_exact_at(stored, 0)?;
        let fields: Fields = zerocopy::transmute!(bytes);
        fields.check_version()?;
        fields.check_encryption()?;
        fields.check_backing_file(file, file_bytes)?;
        let has_zero_flags = fields.version.get() > 2;
        let compression = if has_zero_flags {
            fields.compression()?
        } else {
            Compression::Deflate
        };
        let cluster_bits = fields.cluster_bits.get();
        if !CLUSTER_BITS.contains(&cluster_bits) {
            return Err(corrupt(format!("cluster_bits is {cluster_bits}")).into());
        }
        Ok(Self {
            has_zero_flags,
            cluster_bits,
            size_bytes: fields.size.get(),
            l1_entries: fields.l1_size.get(),
            l1_offset_bytes: fields.l1_table_offset.get(),
            compression,
        })
    }
}

impl Fields {
    fn check_version(&self) -> Result<(), OpenError> {
        let (format, version) = (Format::Qcow2, self.version.get());
        match version {
            2 | 3 => Ok(()),
            _ => Err(Unsupported::Version { format, version }.into()),
        }
    }

    fn check_encryption(&self) -> Result<(), OpenError> {
        let method = match self.crypt_method.get() {
            0 => return Ok(()),
            1 => "AES of qcow2".to_owned(),
            2 => "LUKS in qcow2".to_owned(),
            other => format!("method {other} of qcow2"),
        };
        Err(Unsupported::Encrypted { method }.into())
    }

    fn check_backing_file(&self, file: &impl ReadAt, file_bytes: u64) -> Result<(), OpenError> {
        let offset_bytes = self.backing_file_offset.get();
        if offset_bytes == 0 {
            return Ok(());
        }
        let length = u64::from(self.backing_file_size.get().min(NAME_MAX_BYTES));
        let length = length.min(file_bytes.saturating_sub(offset_bytes));
        let name = shown(&read_vec(file, offset_bytes, length)?);
        Err(Unsupported::BackingFile { name }.into())
    }

    /// Returns the compression of a header of version 3, whose features are checked.
    fn compression(&self) -> Result<Compression, OpenError> {
        let features = self.incompatible_features.get();
        let has = |bit: u32| features & 1 << bit != 0;
        if has(EXTERNAL_DATA_BIT) {
            return Err(Unsupported::ExternalData.into());
        }
        if has(CORRUPT_BIT) {
            return Err(corrupt("QEMU has marked the image as corrupt").into());
        }
        let unknown = features & !HARMLESS & !(1 << CORRUPT_BIT) & !(1 << EXTERNAL_DATA_BIT);
        if unknown != 0 {
            return Err(feature(match unknown.trailing_zeros() {
                EXTENDED_L2_BIT => "extended L2 entries (subclusters)".to_owned(),
                bit => format!("incompatible feature bit {bit}"),
            }));
        }
        let header_length = self.header_length.get();
        if header_length < HEADER_BYTES_V3 {
            return Err(corrupt(format!("header_length is {header_length}")).into());
        }
        let has_type = header_length > HEADER_BYTES_V3;
        match if has_type { self.compression_type } else { 0 } {
            0 => Ok(Compression::Deflate),
            1 => Ok(Compression::Zstd),
            other => Err(feature(format!("compression type {other}"))),
        }
    }
}

fn feature(feature: String) -> OpenError {
    let format = Format::Qcow2;
    Unsupported::Feature { format, feature }.into()
}

fn corrupt(fault: impl Into<String>) -> Corrupt {
    Corrupt::new("qcow2 header", 0, fault)
}

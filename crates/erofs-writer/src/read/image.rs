use fstree::Timestamp;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::{Corrupt, Fault, OpenError, ReadAt, Structure, Unsupported};
use crate::block_size::BlockSize;
use crate::checksum::superblock_checksum;
use crate::device::{AddressSpace, DeviceSlot};
use crate::format::{
    Compat, DEVICE_SLOT_BYTES, DeviceSlotDisk, Incompat, MAGIC, SUPERBLOCK_OFFSET, SuperBlock,
};
use crate::length::Length;

/// `SUPERBLOCK_OFFSET` as an offset in a source.
const SUPERBLOCK_OFFSET_BYTES: u64 = 1024;
const _: () = assert!(SUPERBLOCK_OFFSET == 1024);

/// An image whose superblock and device table have been read.
#[derive(Debug)]
pub struct Image<R> {
    pub(crate) source: R,
    pub(crate) size_bytes: u64,
    pub(crate) disk: SuperBlock,
    pub(crate) block_size: BlockSize,
    pub(crate) space: AddressSpace,
    /// Bytes of metadata that are read at most in one pass.
    pub(crate) metadata_bytes: u64,
    superblock: Superblock,
    devices: Vec<DeviceSlot>,
}

/// The description of an image in its superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Superblock {
    /// The UUID of the filesystem.
    pub uuid: [u8; 16],
    /// The volume's name; bytes that are not UTF-8 are replaced.
    pub volume_name: String,
    /// Length of the image in blocks, without its devices.
    pub blocks: u32,
    /// Number of inodes, as stored in the image.
    pub inodes: u64,
    /// `mtime` of every compact inode.
    pub build_time: Timestamp,
}

impl<R: ReadAt> Image<R> {
    /// Reads the superblock and the device table. If the image has a checksum, it must match.
    pub fn open(source: R) -> Result<Self, OpenError> {
        Self::open_within(source, u64::MAX)
    }

    /// Opens an image that may be hostile, as [`Image::open`] does. Reading all of its metadata fails if that
    /// has more than about `metadata_bytes`; what is kept of it takes a few times as much memory.
    ///
    /// # Errors
    /// Fails as [`Image::open`] does.
    pub fn open_within(source: R, metadata_bytes: u64) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io {
            offset_bytes: SUPERBLOCK_OFFSET_BYTES,
            source,
        };
        let size_bytes = source.size_bytes().map_err(io)?;
        let read = |buffer: &mut [u8]| {
            if size_bytes < SUPERBLOCK_OFFSET_BYTES + buffer.length_bytes() {
                return Err(corrupt(Fault::OutsideImage { size_bytes }));
            }
            source
                .read_exact_at(buffer, SUPERBLOCK_OFFSET_BYTES)
                .map_err(io)
        };
        let mut disk = SuperBlock::new_zeroed();
        read(disk.as_mut_bytes())?;
        let block_size = check(&disk)?;
        let mut covered = vec![0; block_size.checksummed_bytes()];
        read(&mut covered)?;
        check_checksum(&disk, &covered)?;
        let slots = read_devices(&source, &disk, size_bytes)?;
        let (space, devices) = AddressSpace::from_slots(disk.blocks.get(), &slots)
            .ok_or_else(|| corrupt(Fault::DeviceOverlap))?;
        let superblock = describe(&disk)?;
        Ok(Self {
            source,
            size_bytes,
            disk,
            block_size,
            space,
            metadata_bytes,
            superblock,
            devices,
        })
    }
}

impl<R> Image<R> {
    /// Returns the description of the image in its superblock.
    pub const fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Returns the other devices that extents refer to, in the order in which extents count them.
    pub fn devices(&self) -> &[DeviceSlot] {
        &self.devices
    }

    /// Returns the size of a block in bytes, from 512 to 4096. Extents are counted in blocks.
    pub const fn block_size_bytes(&self) -> u64 {
        self.block_size.bytes()
    }

    /// Returns the source that was opened.
    pub fn into_inner(self) -> R {
        self.source
    }

    pub(crate) fn has(&self, feature: Compat) -> bool {
        self.disk.feature_compat.get() & feature.bits() != 0
    }
}

const fn corrupt(fault: Fault) -> OpenError {
    OpenError::Corrupt(Corrupt::new(
        Structure::SuperBlock,
        SUPERBLOCK_OFFSET_BYTES,
        fault,
    ))
}

fn check(disk: &SuperBlock) -> Result<BlockSize, OpenError> {
    if disk.magic.get() != MAGIC {
        return Err(OpenError::NotErofs {
            magic: disk.magic.get(),
        });
    }
    let block_size = BlockSize::from_bits(disk.blkszbits).filter(|_| disk.dirblkbits == 0);
    let block_size = block_size.ok_or(OpenError::Unsupported(Unsupported::BlockSize {
        block_bits: disk.blkszbits,
        directory_bits: disk.dirblkbits,
    }))?;
    let unknown = disk.feature_incompat.get() & !Incompat::all().bits();
    if unknown != 0 {
        return Err(OpenError::Unsupported(Unsupported::Features {
            bits: unknown,
        }));
    }
    Ok(block_size)
}

/// Checks the superblock's checksum if there is one. `covered` starts with the superblock.
fn check_checksum(disk: &SuperBlock, covered: &[u8]) -> Result<(), OpenError> {
    let computed = superblock_checksum(covered);
    let stored = disk.checksum.get();
    let has_checksum = disk.feature_compat.get() & Compat::SB_CHKSUM.bits() != 0;
    if has_checksum && computed != stored {
        return Err(corrupt(Fault::Checksum { stored, computed }));
    }
    Ok(())
}

fn describe(disk: &SuperBlock) -> Result<Superblock, OpenError> {
    let nanoseconds = disk.build_time_nsec.get();
    if nanoseconds >= 1_000_000_000 {
        return Err(corrupt(Fault::Nanoseconds { nanoseconds }));
    }
    let name_end = disk.volume_name.iter().position(|&byte| byte == 0);
    let name = name_end.and_then(|end| disk.volume_name.get(..end));
    let name = name.ok_or_else(|| corrupt(Fault::VolumeName))?;
    Ok(Superblock {
        uuid: disk.uuid,
        volume_name: String::from_utf8_lossy(name).into_owned(),
        blocks: disk.blocks.get(),
        inodes: disk.inos.get(),
        build_time: Timestamp {
            seconds: disk.build_time.get().cast_signed(),
            nanoseconds,
        },
    })
}

fn read_devices(
    source: &impl ReadAt,
    disk: &SuperBlock,
    size_bytes: u64,
) -> Result<Vec<DeviceSlotDisk>, OpenError> {
    let has_table = disk.feature_incompat.get() & Incompat::DEVICE_TABLE.bits() != 0;
    if !has_table {
        return Ok(Vec::new());
    }
    let slot_bytes = [0; DEVICE_SLOT_BYTES].length_bytes();
    let offset_bytes = u64::from(disk.devt_slotoff.get()) * slot_bytes;
    let length_bytes = u64::from(disk.extra_devices.get()) * slot_bytes;
    if offset_bytes + length_bytes > size_bytes {
        let fault = Fault::OutsideImage { size_bytes };
        let corrupt = Corrupt::new(Structure::DeviceTable, offset_bytes, fault);
        return Err(OpenError::Corrupt(corrupt));
    }
    let mut table = vec![0; usize::from(disk.extra_devices.get()) * DEVICE_SLOT_BYTES];
    source
        .read_exact_at(&mut table, offset_bytes)
        .map_err(|source| OpenError::Io {
            offset_bytes,
            source,
        })?;
    let slots = table.chunks_exact(DEVICE_SLOT_BYTES);
    Ok(slots
        .map(|slot| DeviceSlotDisk::read_from_bytes(slot).expect("a chunk has a slot's length"))
        .collect())
}

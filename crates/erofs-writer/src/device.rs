use crate::format::{DEVICE_SLOT_BYTES, DeviceSlotDisk, SUPERBLOCK_OFFSET};
use crate::length::blocks_of;

/// Another device that holds data of this image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSlot {
    /// Free text of at most 64 bytes without NUL, which kernels do not parse. A digest is a good
    /// choice.
    pub tag: String,
    /// Length of the device, in blocks.
    pub blocks: u32,
}

/// Offset of the device table, if there is one, in bytes: right after the superblock.
pub(crate) const TABLE_OFFSET: usize = SUPERBLOCK_OFFSET + DEVICE_SLOT_BYTES;

/// Returns the number of blocks before the first data block. They hold the superblock and the
/// device table.
pub(crate) fn head_blocks(devices: u16) -> u64 {
    const TABLE_OFFSET_BYTES: u64 = 1024 + 128;
    blocks_of(TABLE_OFFSET_BYTES + u64::from(devices) * 128)
}

/// The unified address space: every device as a range of blocks, the primary one from block 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddressSpace {
    /// First unified block and length in blocks of each device, the primary device first. A start
    /// of 0 means that the device, unless it is the primary one, is not in the unified space.
    devices: Vec<(u32, u32)>,
    /// The numbers of the devices in the unified space, sorted by their start.
    sorted: Vec<u16>,
}

impl AddressSpace {
    /// Places the devices one after the other. `None` if they have more than 2^32 - 1 blocks in
    /// all.
    pub(crate) fn new(primary_blocks: u32, devices: &[DeviceSlot]) -> Option<Self> {
        let mut ranges = vec![(0, primary_blocks)];
        let mut next = primary_blocks;
        for device in devices {
            ranges.push((next, device.blocks));
            next = next.checked_add(device.blocks)?;
        }
        Self::of_ranges(ranges)
    }

    /// Reads a device table. `None` if devices overlap or end past 2^32 - 1 blocks.
    pub(crate) fn from_slots(
        primary_blocks: u32,
        slots: &[DeviceSlotDisk],
    ) -> Option<(Self, Vec<DeviceSlot>)> {
        let ranges = slots
            .iter()
            .map(|slot| (slot.mapped_blkaddr.get(), slot.blocks.get()));
        let space = Self::of_ranges([(0, primary_blocks)].into_iter().chain(ranges).collect())?;
        let devices = slots.iter().map(|slot| DeviceSlot {
            tag: tag(&slot.tag),
            blocks: slot.blocks.get(),
        });
        Some((space, devices.collect()))
    }

    fn of_ranges(devices: Vec<(u32, u32)>) -> Option<Self> {
        let mut sorted: Vec<u16> = (0..)
            .zip(&devices)
            .filter(|&(number, &(start, blocks))| (number == 0 || start > 0) && blocks > 0)
            .map(|(number, _)| number)
            .collect();
        sorted.sort_by_key(|&number| devices[usize::from(number)].0);
        let mut end = 0;
        for &number in &sorted {
            let (start, blocks) = devices[usize::from(number)];
            if start < end {
                return None;
            }
            end = start.checked_add(blocks)?;
        }
        Some(Self { devices, sorted })
    }

    /// Returns the first unified block of `device`; 0 if the device does not exist.
    pub(crate) fn start(&self, device: u16) -> u32 {
        self.devices
            .get(usize::from(device))
            .map_or(0, |&(start, _)| start)
    }

    /// Returns the length of `device` in blocks; 0 if the device does not exist.
    pub(crate) fn blocks(&self, device: u16) -> u32 {
        self.devices
            .get(usize::from(device))
            .map_or(0, |&(_, blocks)| blocks)
    }

    /// Returns true if blocks up to `end_block` may be on `device`. A slot of zeros, as mkfs.erofs
    /// 1.5 leaves it, does not record the device's length, so only reading shows.
    pub(crate) fn may_hold(&self, device: u16, end_block: u64) -> bool {
        match self.devices.get(usize::from(device)) {
            None => false,
            Some((0, 0)) if device > 0 => end_block <= u64::from(u32::MAX),
            Some(&(_, blocks)) => end_block <= u64::from(blocks),
        }
    }

    /// Returns the device that holds a unified block, and the block's number on it. A block outside
    /// every device is attributed to the primary device, which is too short for it.
    pub(crate) fn locate(&self, block: u32) -> (u16, u32) {
        let after = self
            .sorted
            .partition_point(|&number| self.start(number) <= block);
        let found = after.checked_sub(1).map(|index| self.sorted[index]);
        found
            .filter(|&device| block - self.start(device) < self.blocks(device))
            .map_or((0, block), |device| (device, block - self.start(device)))
    }
}

/// Returns a tag up to its first NUL; bytes that are not UTF-8 are replaced.
fn tag(bytes: &[u8]) -> String {
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unified_blocks_map_back_to_their_device() {
        let device = |blocks| DeviceSlot {
            tag: String::new(),
            blocks,
        };
        let space = AddressSpace::new(10, &[device(5), device(0), device(7)]).expect("small");
        assert_eq!([1, 2, 3].map(|device| space.start(device)), [10, 15, 15]);
        assert_eq!(space.locate(9), (0, 9));
        assert_eq!(space.locate(14), (1, 4));
        assert_eq!(space.locate(15), (3, 0));
        assert_eq!(space.locate(22), (0, 22));
        assert!(AddressSpace::new(u32::MAX, &[device(1)]).is_none());
    }

    #[test]
    fn the_table_spills_into_blocks_of_its_own() {
        assert_eq!([0, 23, 24, 65_535].map(head_blocks), [1, 1, 2, 2049]);
    }
}

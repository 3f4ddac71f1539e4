use crate::DeviceSlot;
use crate::error::InvalidOptions;

/// Most bytes of a volume name: `volume_name` has 16 bytes and ends with a NUL.
const VOLUME_NAME_MAX_BYTES: usize = 15;
/// Most bytes of a device's tag: `tag` has 64 bytes and needs no NUL.
const TAG_MAX_BYTES: usize = 64;

/// The identity and the devices of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The filesystem's UUID. Derive it from the content: overlayfs identifies its lower layers by
    /// it.
    pub uuid: [u8; 16],
    /// The volume's name, at most 15 bytes.
    pub volume_name: String,
    /// The other devices that extents refer to, in the order in which extents count them.
    pub devices: Vec<DeviceSlot>,
}

impl Options {
    /// Checks the limits of the format, and returns the number of devices.
    pub(super) fn check(&self) -> Result<u16, InvalidOptions> {
        let name = &self.volume_name;
        if name.len() > VOLUME_NAME_MAX_BYTES || name.contains('\0') {
            return Err(InvalidOptions::VolumeName { name: name.clone() });
        }
        let mut tags = self.devices.iter().map(|device| &device.tag);
        if let Some(tag) = tags.find(|tag| tag.len() > TAG_MAX_BYTES || tag.contains('\0')) {
            return Err(InvalidOptions::DeviceTag { tag: tag.clone() });
        }
        let devices = self.devices.len();
        u16::try_from(devices).map_err(|_| InvalidOptions::Devices { devices })
    }
}

use crate::DeviceSlot;
use crate::error::InvalidOptions;

/// Most bytes of a volume name: the field has 16 and ends with a NUL.
const VOLUME_NAME_MAX_BYTES: usize = 15;
/// Most bytes of a device's tag.
const TAG_MAX_BYTES: usize = 64;

/// What an image says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The filesystem's UUID. Derive it from the content: overlayfs finds its lowers by it.
    pub uuid: [u8; 16],
    /// At most 15 bytes.
    pub volume_name: String,
    /// The other devices that extents lie on, in the order that extents count them.
    pub devices: Vec<DeviceSlot>,
}

impl Options {
    /// Checks what the format limits, and counts the devices.
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

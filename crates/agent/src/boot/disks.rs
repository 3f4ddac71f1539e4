use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::BootError;
use super::root_kind::RootKind;

/// The serial of the image's disk.
const IMAGE_SERIAL: &str = "msb-image";
/// The serial of the upper disk.
const UPPER_SERIAL: &str = "msb-upper";
/// The time that the kernel may take to find a disk.
const APPEAR_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The device nodes of the disks that are written to.
static WRITTEN_DEVICES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The device nodes of the sandbox's disks.
#[derive(Debug)]
pub(super) struct Disks {
    /// `None` if the root has no image.
    pub(super) image: Option<String>,
    pub(super) upper: String,
}

/// Returns the device nodes of the disks that are written to, as far as they have been found.
pub(crate) fn written_devices() -> Vec<String> {
    let devices = WRITTEN_DEVICES.lock();
    devices.unwrap_or_else(PoisonError::into_inner).clone()
}

/// Records a device that is written to.
pub(crate) fn note_written(device: &str) {
    let devices = WRITTEN_DEVICES.lock();
    let mut devices = devices.unwrap_or_else(PoisonError::into_inner);
    devices.push(device.to_owned());
}

/// Forgets a device that is written to no more.
pub(crate) fn note_released(device: &str) {
    let devices = WRITTEN_DEVICES.lock();
    let mut devices = devices.unwrap_or_else(PoisonError::into_inner);
    devices.retain(|noted| noted != device);
}

/// Forgets the devices that were written to, before all are found again.
pub(super) fn forget_written() {
    let devices = WRITTEN_DEVICES.lock();
    devices.unwrap_or_else(PoisonError::into_inner).clear();
}

/// Returns the device node of a volume's disk, and records that it is written to.
pub(super) fn volume(serial: &str) -> Result<String, BootError> {
    let device = wait_for(serial)?;
    note_written(&device);
    Ok(device)
}

/// Finds the image's disk and the upper disk by serial, whatever letters the kernel gave them.
pub(super) fn find() -> Result<Disks, BootError> {
    let disks = Disks {
        image: match RootKind::from_host() {
            RootKind::Overlay => Some(wait_for(IMAGE_SERIAL)?),
            RootKind::Native | RootKind::Disk(_) => None,
        },
        upper: wait_for(UPPER_SERIAL)?,
    };
    note_written(&disks.upper);
    Ok(disks)
}

/// Waits until the kernel has a disk with this serial, and returns its device node.
pub(crate) fn wait_for(serial: &str) -> Result<String, BootError> {
    let deadline = Instant::now() + APPEAR_TIMEOUT;
    loop {
        if let Some(device) = look_for(serial) {
            return Ok(device);
        }
        if Instant::now() > deadline {
            let serial = serial.to_owned();
            return Err(BootError::NoDisk { serial });
        }
        sleep(POLL_INTERVAL);
    }
}

fn look_for(serial: &str) -> Option<String> {
    for disk in fs::read_dir("/sys/block").ok()?.flatten() {
        let found = fs::read_to_string(disk.path().join("serial")).unwrap_or_default();
        if found.trim_end() == serial {
            return Some(format!("/dev/{}", disk.file_name().to_string_lossy()));
        }
    }
    None
}

use std::fs;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::BootError;

/// The serial of the disk that holds the image.
const IMAGE_SERIAL: &str = "msb-image";
/// The serial of the disk that holds the sandbox's changes.
const UPPER_SERIAL: &str = "msb-upper";
/// How long the kernel may take to find a disk.
const APPEAR_LIMIT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

static UPPER_DEVICE: OnceLock<String> = OnceLock::new();

/// The device nodes of the sandbox's disks.
#[derive(Debug)]
pub(super) struct Disks {
    pub(super) image: String,
    pub(super) upper: String,
}

/// The upper disk's device node; none before it was found.
pub(crate) fn upper_device() -> &'static str {
    UPPER_DEVICE.get().map_or("", String::as_str)
}

/// Finds the disks by serial, whatever letters the kernel gave them.
pub(super) fn find() -> Result<Disks, BootError> {
    let disks = Disks {
        image: wait_for(IMAGE_SERIAL)?,
        upper: wait_for(UPPER_SERIAL)?,
    };
    UPPER_DEVICE.get_or_init(|| disks.upper.clone());
    Ok(disks)
}

fn wait_for(serial: &'static str) -> Result<String, BootError> {
    let deadline = Instant::now() + APPEAR_LIMIT;
    loop {
        if let Some(device) = look_for(serial) {
            return Ok(device);
        }
        if Instant::now() > deadline {
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

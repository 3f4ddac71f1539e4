//! The limit on the memory of commands that read disks, behind the limits that the readers keep.

use oci_layers::{Limit, Limits};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::VARIABLE;

/// Memory for each byte of `disk-metadata`. The metadata of a disk is kept in several forms, beside that of the image,
/// whose 2 GiB (`layer-metadata`) have room in the least limit.
const FACTOR: u64 = 16;
/// The least limit, in bytes.
const LEAST_BYTES: u64 = 4 << 30;

/// Limits the data of this process (`RLIMIT_DATA`): heaps, stacks of threads and private mappings that can be written
/// to. Address space that is only reserved, as malloc does for each thread, does not count.
///
/// The limit is a soft one, so that a process that this one starts can raise it. A lower one stays.
pub(crate) fn apply() {
    let mut limits = Limits::default();
    if let Ok(settings) = std::env::var(VARIABLE) {
        // A setting that cannot be used is refused elsewhere.
        let _ = limits.set(&settings);
    }
    let now = getrlimit(Resource::Data);
    let limit = limit_bytes(limits.get(Limit::DiskMetadata));
    if now.current.is_none_or(|current| current > limit) {
        let lowered = Rlimit {
            current: Some(limit),
            maximum: now.maximum,
        };
        // It is the second wall; the first does not depend on it.
        let _ = setrlimit(Resource::Data, lowered);
    }
}

fn limit_bytes(disk_metadata_bytes: u64) -> u64 {
    disk_metadata_bytes.saturating_mul(FACTOR).max(LEAST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_with_disk_metadata() {
        assert_eq!(limit_bytes(256 << 20), 4 << 30);
        assert_eq!(limit_bytes(1 << 20), 4 << 30);
        assert_eq!(limit_bytes(1 << 30), 16 << 30);
        assert_eq!(limit_bytes(u64::MAX), u64::MAX);
    }
}

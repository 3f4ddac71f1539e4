use memchr::memmem;

/// The drivers that every sandbox needs before its agent can report anything: the name that each
/// registers itself by, and its option.
///
/// A kernel without one of them panics or stays silent, and its user sees a start that fails.
const DRIVERS: [(&[u8], &str); 6] = [
    (b"virtio-mmio\0", "CONFIG_VIRTIO_MMIO"),
    (b"virtio_blk\0", "CONFIG_VIRTIO_BLK"),
    (b"virtio_console\0", "CONFIG_VIRTIO_CONSOLE"),
    (b"erofs\0", "CONFIG_EROFS_FS"),
    (b"ext4\0", "CONFIG_EXT4_FS"),
    (b"overlay\0", "CONFIG_OVERLAY_FS"),
];

/// Returns the options of the drivers whose names are not in a kernel's image: they are neither
/// compiled into it nor in any other place that a guest has.
pub(crate) fn missing(image: &[u8]) -> Vec<&'static str> {
    let missing = DRIVERS
        .iter()
        .filter(|(name, _)| memmem::find(image, name).is_none());
    missing.map(|(_, option)| *option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_whose_name_is_absent_is_missing() {
        let all = DRIVERS.map(|(name, _)| name).concat();
        assert!(missing(&all).is_empty());
        let without: Vec<u8> = DRIVERS[1..]
            .iter()
            .flat_map(|(name, _)| *name)
            .copied()
            .collect();
        assert_eq!(missing(&without), ["CONFIG_VIRTIO_MMIO"]);
        assert_eq!(missing(b"erofs_xattr").len(), DRIVERS.len());
    }
}

#![expect(unsafe_code, reason = "mount_setattr(2) has no safe form")]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _};

use container_plan::flags;

/// `MOUNT_ATTR__ATIME` (include/uapi/linux/mount.h), the bits of all rules for access times.
const ATIME: u64 = 0x70;
/// A flag of mount(2) and the bits of `struct mount_attr` for it. The flags that a filesystem has as a whole have none.
const ATTRIBUTES: [(u32, u64); 8] = [
    (flags::READ_ONLY, 0x1),
    (flags::NO_SUID, 0x2),
    (flags::NO_DEV, 0x4),
    (flags::NO_EXEC, 0x8),
    (flags::NO_ATIME, 0x10),
    (flags::STRICT_ATIME, 0x20),
    (flags::NO_DIR_ATIME, 0x80),
    (flags::NO_SYMFOLLOW, 0x0020_0000),
];
/// The flags that replace the rule for access times.
const ATIME_FLAGS: u32 = flags::NO_ATIME | flags::STRICT_ATIME | flags::REL_ATIME;

/// `struct mount_attr` (include/uapi/linux/mount.h).
#[repr(C)]
#[derive(Debug, Default, PartialEq, Eq)]
struct MountAttributes {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

/// Sets flags of mount(2) for an open mount, and with `is_recursive` for those below it. Others stay as they are.
pub(crate) fn set_attributes(mount: impl AsFd, flags: u32, is_recursive: bool) -> io::Result<()> {
    let attributes = attributes(flags);
    if attributes == MountAttributes::default() {
        return Ok(());
    }
    let recursive = if is_recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a string that ends with a NUL, and the structure has the size that is given. Both live until
    // the call returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recursive,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn attributes(flags: u32) -> MountAttributes {
    let set = ATTRIBUTES.iter().filter(|(flag, _)| flags & flag != 0);
    MountAttributes {
        attr_set: set.fold(0, |set, (_, bits)| set | bits),
        attr_clr: if flags & ATIME_FLAGS == 0 { 0 } else { ATIME },
        ..MountAttributes::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_for_access_times_replaces_the_one_before() {
        let plain = attributes(flags::READ_ONLY | flags::NO_EXEC | flags::SYNCHRONOUS);
        assert_eq!((plain.attr_set, plain.attr_clr), (0x9, 0));
        let strict = attributes(flags::STRICT_ATIME);
        assert_eq!((strict.attr_set, strict.attr_clr), (0x20, 0x70));
        let relative = attributes(flags::REL_ATIME);
        assert_eq!((relative.attr_set, relative.attr_clr), (0, 0x70));
    }
}

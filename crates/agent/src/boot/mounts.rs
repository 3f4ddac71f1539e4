use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::path::Path;

use guest_container::{descriptor_path, mount_point};
use rustix::fs::{AtFlags, Mode, OFlags, chmodat, mkdirat, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::error::step;
use super::{BootError, NEW_ROOT, devices, guest_settings};

/// A mount that every sandbox has.
struct Mount {
    kind: &'static str,
    target: &'static str,
    flags: MountFlags,
    options: Option<&'static CStr>,
}

const NOSUID_NODEV: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
const LOCKED_DOWN: MountFlags = NOSUID_NODEV.union(MountFlags::NOEXEC);

/// Filesystems that the agent itself needs, on the boot disk.
const KERNEL_FILESYSTEMS: [Mount; 3] = [
    Mount {
        kind: "devtmpfs",
        target: "/dev",
        flags: MountFlags::NOSUID,
        options: None,
    },
    Mount {
        kind: "proc",
        target: "/proc",
        flags: LOCKED_DOWN,
        options: None,
    },
    Mount {
        kind: "sysfs",
        target: "/sys",
        flags: LOCKED_DOWN,
        options: None,
    },
];

/// Filesystems of every sandbox, in the order of their mounts. A tmpfs uses guest memory as it
/// fills.
const IN_ROOT: [Mount; 7] = [
    Mount {
        kind: "proc",
        target: "proc",
        flags: LOCKED_DOWN,
        options: None,
    },
    Mount {
        kind: "sysfs",
        target: "sys",
        flags: LOCKED_DOWN,
        options: None,
    },
    Mount {
        kind: "cgroup2",
        target: "sys/fs/cgroup",
        flags: LOCKED_DOWN,
        options: None,
    },
    Mount {
        kind: "devtmpfs",
        target: "dev",
        flags: MountFlags::NOSUID,
        options: None,
    },
    Mount {
        kind: "devpts",
        target: "dev/pts",
        flags: MountFlags::NOSUID.union(MountFlags::NOEXEC),
        options: Some(c"newinstance,ptmxmode=0666,mode=0620,gid=5"),
    },
    Mount {
        kind: "tmpfs",
        target: SHM,
        flags: LOCKED_DOWN,
        options: Some(c"mode=1777,size=50%"),
    },
    Mount {
        kind: "mqueue",
        target: "dev/mqueue",
        flags: LOCKED_DOWN,
        options: None,
    },
];

/// Shared memory, whose size the host may set.
const SHM: &str = "dev/shm";

/// Memory at `/tmp`, which is on the writable disk unless the host sets a size.
const TMP: Mount = Mount {
    kind: "tmpfs",
    target: "tmp",
    flags: NOSUID_NODEV,
    options: None,
};

/// The mode of `/tmp`: every user may make files in it, and remove only their own.
const TMP_MODE: Mode = Mode::from_raw_mode(0o1777);

/// Filesystems that only some programs need, and that a kernel may be built without.
const DISPENSABLE: [&str; 2] = ["cgroup2", "mqueue"];

/// Mounts the filesystems that the agent itself needs. The kernel may have mounted `/dev` already.
pub(super) fn mount_kernel_filesystems() -> Result<(), BootError> {
    for each in &KERNEL_FILESYSTEMS {
        match mount(each.kind, each.target, each.kind, each.flags, each.options) {
            Ok(()) | Err(Errno::BUSY) => {}
            Err(error) => return Err(step(&format!("mount {}", each.target))(error)),
        }
    }
    Ok(())
}

/// Opens the directory where the new root is assembled.
pub(super) fn open_root() -> Result<OwnedFd, BootError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(NEW_ROOT, flags, Mode::empty()).map_err(step("open the new root"))
}

/// Mounts the filesystems that commands expect into the new root.
pub(super) fn mount_in_root() -> Result<(), BootError> {
    let root = open_root()?;
    make_tmp(&root).map_err(step("make /tmp"))?;
    let tmp = sized_options(TMP.target).is_some().then_some(&TMP);
    for each in IN_ROOT.iter().chain(tmp) {
        let name = format!("mount /{}", each.target);
        let point = match mount_point(&root, Path::new(each.target)) {
            // A kernel without this filesystem has no directory for it in its own ones either.
            Err(_) if DISPENSABLE.contains(&each.kind) => continue,
            point => point.map_err(step(&name))?,
        };
        let path = descriptor_path(&point);
        let sized = sized_options(each.target);
        let options = sized.as_deref().or(each.options);
        match mount(each.kind, path, each.kind, each.flags, options) {
            Err(Errno::NODEV) if DISPENSABLE.contains(&each.kind) => {}
            outcome => outcome.map_err(step(&name))?,
        }
    }
    devices::complete().map_err(step("complete /dev"))
}

/// Makes `/tmp` if the image has none. Many programs fail without it.
fn make_tmp(root: &OwnedFd) -> rustix::io::Result<()> {
    match mkdirat(root, TMP.target, TMP_MODE) {
        // The umask does not count.
        Ok(()) => chmodat(root, TMP.target, TMP_MODE, AtFlags::empty()),
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the options of a tmpfs whose size the host sets; `None` if it does not.
fn sized_options(target: &str) -> Option<CString> {
    let settings = guest_settings::current();
    let size = match target {
        SHM => settings.shm?,
        target if target == TMP.target => settings.tmp?,
        _ => return None,
    };
    CString::new(format!("mode=1777,size={}", size.bytes())).ok()
}

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, open, openat2};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};

use super::error::step;
use super::root::NEW_ROOT;
use super::{BootError, devices};

/// One mount that every sandbox has.
struct Mount {
    kind: &'static str,
    target: &'static str,
    flags: MountFlags,
    options: Option<&'static CStr>,
}

const NOSUID_NODEV: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);
const LOCKED_DOWN: MountFlags = NOSUID_NODEV.union(MountFlags::NOEXEC);

/// What the agent itself needs, on the boot disk.
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

/// What a command finds in the sandbox, in this order. A tmpfs costs guest memory as it fills.
const IN_ROOT: [Mount; 9] = [
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
        target: "dev/shm",
        flags: LOCKED_DOWN,
        options: Some(c"mode=1777,size=50%"),
    },
    Mount {
        kind: "mqueue",
        target: "dev/mqueue",
        flags: LOCKED_DOWN,
        options: None,
    },
    Mount {
        kind: "tmpfs",
        target: "run",
        flags: NOSUID_NODEV,
        options: Some(c"mode=755,size=20%"),
    },
    Mount {
        kind: "tmpfs",
        target: "tmp",
        flags: NOSUID_NODEV,
        options: Some(c"mode=1777,size=50%"),
    },
];

/// The words on the kernel's command line that say how many bytes a tmpfs may hold.
const SIZED: [(&str, &str); 2] = [("dev/shm", "msb_shm"), ("tmp", "msb_tmp")];

/// What a kernel may come without, and only some programs need.
const DISPENSABLE: [&str; 2] = ["cgroup2", "mqueue"];

/// Mounts what the agent itself needs. A kernel may have mounted `/dev` already.
pub(super) fn mount_kernel_filesystems() -> Result<(), BootError> {
    for each in &KERNEL_FILESYSTEMS {
        match mount(each.kind, each.target, each.kind, each.flags, each.options) {
            Ok(()) | Err(Errno::BUSY) => {}
            Err(error) => return Err(step(&format!("mount {}", each.target))(error)),
        }
    }
    Ok(())
}

/// The root that is being put together.
pub(super) fn open_root() -> Result<OwnedFd, BootError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    open(NEW_ROOT, flags, Mode::empty()).map_err(step("open the new root"))
}

/// Mounts what commands expect into the new root.
pub(super) fn mount_in_root() -> Result<(), BootError> {
    let root = open_root()?;
    for each in &IN_ROOT {
        let name = format!("mount /{}", each.target);
        let point = match mount_point(&root, Path::new(each.target)) {
            // Where the kernel has no such filesystem, its own have no place for it either.
            Err(_) if DISPENSABLE.contains(&each.kind) => continue,
            point => point.map_err(step(&name))?,
        };
        let path = format!("/proc/self/fd/{}", point.as_raw_fd());
        let sized = sized_options(each.target);
        let options = sized.as_deref().or(each.options);
        match mount(each.kind, path, each.kind, each.flags, options) {
            Err(Errno::NODEV) if DISPENSABLE.contains(&each.kind) => {}
            outcome => outcome.map_err(step(&name))?,
        }
    }
    devices::complete().map_err(step("complete /dev"))
}

/// The options of a tmpfs whose size the host says.
fn sized_options(target: &str) -> Option<CString> {
    let (_, variable) = SIZED.iter().find(|(sized, _)| *sized == target)?;
    let bytes: u64 = std::env::var(variable).ok()?.parse().ok()?;
    CString::new(format!("mode=1777,size={bytes}")).ok()
}

/// The directory to mount on, made with its parents where the image has none. The image's symlinks are
/// followed inside the new root only.
pub(super) fn mount_point(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = || openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT);
    match open() {
        Err(Errno::NOENT) => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            let mode = Mode::from_raw_mode(0o755);
            match parent {
                Some(parent) => {
                    let parent = mount_point(root, parent)?;
                    mkdirat(parent.as_fd(), name, mode)?;
                }
                None => mkdirat(root, name, mode)?,
            }
            Ok(open()?)
        }
        outcome => Ok(outcome?),
    }
}

use std::path::PathBuf;

use rustix::mount::{MountFlags, mount_bind, mount_move, mount_remount};
use rustix::process::{chdir, pivot_root};

use super::disks::Disks;
use super::error::step;
use super::overlay::{THROWN_AWAY_VARIABLE, UPPER, mount_overlay_at};
use super::root_kind::RootKind;
use super::staged::{self, STAGED};
use super::{
    BOOT_ROOT, BootError, NEW_ROOT, UPPER_MOUNT, grow, guest_settings, own_mounts, root_disk,
};

const IMAGE: &str = "/image";

/// Mounts the root filesystem.
pub(super) fn mount(disks: &Disks) -> Result<(), BootError> {
    if let RootKind::Disk(filesystem) = RootKind::from_host() {
        return root_disk::mount(&disks.upper, &filesystem);
    }
    mount_upper(&disks.upper)?;
    let Some(image) = &disks.image else {
        return mount_bind(format!("{UPPER}/upper"), NEW_ROOT)
            .map_err(step("mount the root's directory of the upper disk"));
    };
    rustix::mount::mount(image.as_str(), IMAGE, "erofs", MountFlags::RDONLY, None)
        .map_err(step("mount the image disk as EROFS"))?;
    mount_overlay_at(NEW_ROOT, IMAGE, UPPER, MountFlags::empty())
        .map_err(step("mount the overlay of image and upper"))
}

/// Mounts the upper disk, and lets its filesystem fill it.
fn mount_upper(upper: &str) -> Result<(), BootError> {
    rustix::mount::mount(
        upper,
        UPPER,
        "ext4",
        MountFlags::empty(),
        Some(c"errors=remount-ro"),
    )
    .map_err(step("mount the upper disk as ext4"))?;
    grow::fill_disk(upper, UPPER, "ext4");
    Ok(())
}

/// Moves the image and the upper disk to where the sandbox's root user can inspect them. The upper
/// disk is read-only there: changes below a mounted overlay are undefined. An upper disk that is the root
/// has its place there, too: it is frozen and trimmed by that path, as that of a native root is.
pub(super) fn expose_lower_mounts() -> Result<(), BootError> {
    own_mounts::mount_directory()?;
    let point = |name: &str| {
        own_mounts::point(name, 0o755).map_err(step("create a mount point in /run/msb"))
    };
    let upper = point(UPPER_MOUNT)?;
    let kind = RootKind::from_host();
    if matches!(kind, RootKind::Disk(_)) {
        mount_bind(NEW_ROOT, &upper).map_err(step("show the root disk in /run/msb"))?;
    } else {
        let mut moved = vec![(UPPER, upper.clone())];
        if kind == RootKind::Overlay {
            moved.push((IMAGE, point("image")?));
        }
        if staged::is_mounted().map_err(step("examine the staged directories"))? {
            moved.push((STAGED, point("staged")?));
        }
        for (from, to) in moved {
            mount_move(from, to).map_err(step("move a mount into /run/msb"))?;
        }
    }
    mount_remount(&upper, MountFlags::BIND | MountFlags::RDONLY, c"")
        .map_err(step("make /run/msb/upper read-only"))
}

/// Makes the root read-only if the host asks for it, after everything is mounted on it. Those
/// mounts are unchanged.
pub(super) fn close_if_read_only() -> Result<(), BootError> {
    if !guest_settings::current().read_only {
        return Ok(());
    }
    mount_remount("/", MountFlags::BIND | MountFlags::RDONLY, c"")
        .map_err(step("make the root read-only"))
}

/// Returns the upper disk's mount point, seen from the sandbox's root. `None` if the disk is
/// deleted with its machine.
pub(super) fn kept_upper() -> Option<PathBuf> {
    let is_kept = std::env::var_os(THROWN_AWAY_VARIABLE).is_none();
    is_kept.then(|| own_mounts::path(UPPER_MOUNT)).flatten()
}

/// Makes the overlay the root and moves the boot disk below it.
pub(super) fn pivot() -> Result<(), BootError> {
    let boot_root = own_mounts::point(BOOT_ROOT, 0o700);
    let boot_root = boot_root.map_err(step("create the boot disk's mount point"))?;
    chdir(NEW_ROOT).map_err(step("enter the new root"))?;
    pivot_root(".", boot_root).map_err(step("change the root"))?;
    chdir("/").map_err(step("enter the root"))
}

//! A disk image as the root: the filesystem of the upper disk itself.

use std::ffi::{CStr, CString};
use std::path::Path;

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, unmount};

use super::error::step;
use super::{BootError, NEW_ROOT, grow};

/// The subvolumes of Btrfs in which installers put the root: Fedora's, Ubuntu's and Debian's. The disk's own
/// setting, which openSUSE's has, goes before them.
const SUBVOLUMES: [&str; 3] = ["root", "@", "@rootfs"];

/// Mounts the upper disk as the root, and lets the filesystem fill it.
pub(super) fn mount(upper: &str, filesystem: &str) -> Result<(), BootError> {
    let options = (filesystem == "ext4").then_some(c"errors=remount-ro");
    mount_with(upper, filesystem, options)?;
    if filesystem == "btrfs"
        && let Some(subvolume) = subvolume(Path::new(NEW_ROOT))
    {
        unmount(NEW_ROOT, UnmountFlags::empty()).map_err(step("unmount the root disk"))?;
        let option = format!("subvol=/{subvolume}");
        let option = CString::new(option).expect("the names hold no NUL");
        mount_with(upper, filesystem, Some(&option))?;
    }
    grow::fill_disk(upper, NEW_ROOT, filesystem);
    Ok(())
}

fn mount_with(upper: &str, filesystem: &str, options: Option<&CStr>) -> Result<(), BootError> {
    match rustix::mount::mount(upper, NEW_ROOT, filesystem, MountFlags::empty(), options) {
        Err(Errno::NODEV) => Err(BootError::NoFilesystem {
            filesystem: filesystem.to_owned(),
        }),
        mounted => mounted.map_err(step(&format!("mount the root disk as {filesystem}"))),
    }
}

/// Returns the subvolume that has the root; `None` if the root is what is mounted.
fn subvolume(mounted: &Path) -> Option<&'static str> {
    let has_programs = |directory: &Path| {
        let programs = directory.join("usr");
        [directory, &programs]
            .iter()
            .all(|path| path.symlink_metadata().is_ok_and(|status| status.is_dir()))
    };
    if has_programs(mounted) {
        return None;
    }
    let found = SUBVOLUMES
        .iter()
        .find(|name| has_programs(&mounted.join(name)));
    found.copied()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_root_is_the_mount_or_a_known_subvolume() {
        let directory = tempfile::tempdir().unwrap();
        let mounted = directory.path();
        assert_eq!(subvolume(mounted), None);
        fs::create_dir_all(mounted.join("home")).unwrap();
        std::os::unix::fs::symlink("/", mounted.join("root")).unwrap();
        assert_eq!(subvolume(mounted), None, "a link is no subvolume");
        fs::create_dir_all(mounted.join("@/usr")).unwrap();
        assert_eq!(subvolume(mounted), Some("@"));
        fs::create_dir_all(mounted.join("usr")).unwrap();
        assert_eq!(subvolume(mounted), None);
    }
}

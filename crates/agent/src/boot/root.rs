use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::PathBuf;

use rustix::mount::{MountFlags, mount_move, mount_remount};
use rustix::process::{chdir, pivot_root};

use super::disks::Disks;
use super::error::step;
use super::{BOOT_ROOT, BootError, grow};

/// Where the sandbox's root is put together; a directory of the boot disk.
pub(super) const NEW_ROOT: &str = "/root";
const IMAGE: &str = "/image";
const UPPER: &str = "/upper";
/// Where the mounts below the root can be seen in the sandbox.
const EXPOSED: &str = "/root/run/msb";

/// The overlay's options, the same for the life of an upper: directories can be renamed, hard
/// links survive copy-up, a change of mode copies no data, and an upper never meets another image.
/// With `xino` files are on the device of their directories, and have the number that readdir gives.
const OVERLAY_OPTIONS: &str = "lowerdir=/image,upperdir=/upper/upper,workdir=/upper/work,\
    redirect_dir=on,index=on,metacopy=on,xino=on";

/// Set where nothing is to be written to the root.
const READ_ONLY_VARIABLE: &str = "msb_read_only";

/// Set where the upper goes with its machine. Nothing that is synced there could be read again, so
/// nothing is.
const THROWN_AWAY_VARIABLE: &str = "msb_thrown_away";
/// What such an overlay leaves behind, for the next mount to be refused: of a machine that ended in
/// order and is started again, which was synced when it was unmounted.
const VOLATILE_MARK: &str = "/upper/work/work/incompat/volatile";

/// Mounts image and upper, and the overlay of both.
pub(super) fn mount(disks: &Disks) -> Result<(), BootError> {
    let image = disks.image.as_str();
    rustix::mount::mount(image, IMAGE, "erofs", MountFlags::RDONLY, None)
        .map_err(step("mount the image disk as EROFS"))?;
    let upper = disks.upper.as_str();
    rustix::mount::mount(
        upper,
        UPPER,
        "ext4",
        MountFlags::empty(),
        Some(c"errors=remount-ro"),
    )
    .map_err(step("mount the upper disk as ext4"))?;
    grow::fill_disk(upper, UPPER);
    let options = overlay_options()?;
    rustix::mount::mount(
        "overlay",
        NEW_ROOT,
        "overlay",
        MountFlags::empty(),
        Some(options.as_c_str()),
    )
    .map_err(step("mount the overlay of image and upper"))
}

fn overlay_options() -> Result<CString, BootError> {
    let mut options = OVERLAY_OPTIONS.to_owned();
    if std::env::var_os(THROWN_AWAY_VARIABLE).is_some() {
        options.push_str(",volatile");
        match fs::remove_dir(VOLATILE_MARK) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(step("take a volatile overlay again")(error));
            }
            _ => {}
        }
    }
    Ok(CString::new(options).expect("the options hold no NUL"))
}

/// Moves image and upper to where the sandbox's root user can look at them. The upper is read-only
/// there: changes below an overlay's feet are undefined.
pub(super) fn expose_lower_mounts() -> Result<(), BootError> {
    fs::DirBuilder::new()
        .mode(0o700)
        .create(EXPOSED)
        .map_err(step("create /run/msb"))?;
    for (from, name) in [(IMAGE, "image"), (UPPER, "upper")] {
        let to = format!("{EXPOSED}/{name}");
        fs::create_dir(&to).map_err(step("create a mount point in /run/msb"))?;
        mount_move(from, &to).map_err(step("move a mount into /run/msb"))?;
    }
    let upper = format!("{EXPOSED}/upper");
    mount_remount(&upper, MountFlags::BIND | MountFlags::RDONLY, c"")
        .map_err(step("make /run/msb/upper read-only"))
}

/// Makes the root read-only where the host says so, when everything is mounted on it. Those mounts are what
/// they were.
pub(super) fn close_if_read_only() -> Result<(), BootError> {
    if std::env::var_os(READ_ONLY_VARIABLE).is_none() {
        return Ok(());
    }
    mount_remount("/", MountFlags::BIND | MountFlags::RDONLY, c"")
        .map_err(step("make the root read-only"))
}

/// Where the upper is seen from the sandbox's root, unless it goes with its machine.
pub(super) fn kept_upper() -> Option<PathBuf> {
    let is_kept = std::env::var_os(THROWN_AWAY_VARIABLE).is_none();
    is_kept.then(|| PathBuf::from("/run/msb/upper"))
}

/// Makes the overlay the root and leaves the boot disk below it.
pub(super) fn pivot() -> Result<(), BootError> {
    let boot_root = format!("{NEW_ROOT}{BOOT_ROOT}");
    fs::create_dir(&boot_root).map_err(step("create the boot disk's mount point"))?;
    fs::set_permissions(&boot_root, fs::Permissions::from_mode(0o700))
        .map_err(step("close the boot disk's mount point"))?;
    chdir(NEW_ROOT).map_err(step("enter the new root"))?;
    pivot_root(".", BOOT_ROOT.trim_start_matches('/')).map_err(step("change the root"))?;
    chdir("/").map_err(step("enter the root"))
}

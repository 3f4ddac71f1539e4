//! Overlays of the writable disk: of the root, unless that is native, and of staged directories.

use std::ffi::CString;
use std::fs;
use std::io;

use rustix::mount::MountFlags;

/// The mount point of the upper disk.
pub(super) const UPPER: &str = "/upper";

/// The options of all overlays, the same for the life of an upper disk: directories can be renamed, hard
/// links survive copy-up, a change of mode copies no data, and an upper disk is never used with
/// another image. With `xino`, files are on the device of their directories and have the inode
/// number that readdir returns.
const OVERLAY_OPTIONS: &str = "redirect_dir=on,index=on,metacopy=on,xino=on";

/// Set if the upper disk is deleted with its machine. Its content is never read again, so the
/// overlay does not sync it.
pub(super) const THROWN_AWAY_VARIABLE: &str = "msb_thrown_away";
/// The mark that a volatile overlay leaves in its working directory, which makes the next mount fail. It is
/// removed because a machine that shut down cleanly was synced when it was unmounted, and may be started
/// again; and a snapshot of a volatile one is synced when it is frozen.
const VOLATILE_MARK: &str = "work/incompat/volatile";

/// Mounts the overlay of a lower directory and the directories `upper` and `work` in `above`.
pub(super) fn mount_overlay_at(
    point: &str,
    lower: &str,
    above: &str,
    flags: MountFlags,
) -> io::Result<()> {
    let mut options =
        format!("lowerdir={lower},upperdir={above}/upper,workdir={above}/work,{OVERLAY_OPTIONS}");
    if std::env::var_os(THROWN_AWAY_VARIABLE).is_some() {
        options.push_str(",volatile");
    }
    match fs::remove_dir(format!("{above}/work/{VOLATILE_MARK}")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let options = CString::new(options)?;
    Ok(rustix::mount::mount(
        "overlay",
        point,
        "overlay",
        flags,
        Some(options.as_c_str()),
    )?)
}

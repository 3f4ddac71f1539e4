//! Staged directories of the host: each is an overlay of a directory of the upper disk and one of the image of
//! all staged directories.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::mount::{MountFlags, mount};

use super::error::step;
use super::mount_request::MountRequest;
use super::mounts::open_root;
use super::overlay::{UPPER, mount_overlay_at};
use super::{BootError, disks};
use crate::questions;

/// The mount point of the image of the staged directories.
pub(super) const STAGED: &str = "/staged";

/// Mounts a staged directory. The image is mounted with the first one.
pub(super) fn mount_staged(request: &MountRequest, point: &str) -> Result<(), BootError> {
    let name = format!("mount the staged directory at {}", request.target);
    let number = request
        .source
        .split_once('/')
        .and_then(|(serial, number)| Some((serial, number.parse::<u32>().ok()?)));
    let unknown = || step(&name)(io::ErrorKind::InvalidInput);
    let (serial, number) = number.ok_or_else(unknown)?;
    if !is_mounted().map_err(step(&name))? {
        let device = disks::wait_for(serial)?;
        mount(device.as_str(), STAGED, "erofs", MountFlags::RDONLY, None).map_err(step(&name))?;
    }
    let (lower, above) = (
        format!("{STAGED}/{number}"),
        format!("{UPPER}/staged/{number}"),
    );
    mount_overlay_at(point, &lower, &above, request.flags).map_err(step(&name))
}

/// Lets processes ask for files of staged directories, if there are any.
pub(super) fn offer_questions() -> Result<(), BootError> {
    const ACTION: &str = "make the socket for questions";
    if is_mounted().map_err(step(ACTION))? {
        questions::offer(open_root()?).map_err(step(ACTION))?;
    }
    Ok(())
}

/// Returns true if the image of the staged directories is mounted.
pub(super) fn is_mounted() -> io::Result<bool> {
    Ok(fs::metadata(STAGED)?.dev() != fs::metadata("/")?.dev())
}

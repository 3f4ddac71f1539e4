//! Shares that hold several files or directories of the host, each an entry of the share's root.

use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use super::loop_device;

/// The directory of the boot disk in which a tmpfs holds one mount point per tag.
const SHARED: &str = "/shared";

/// The shares that are mounted, by tag.
#[derive(Debug, Default)]
pub(super) struct Shares {
    tags: Vec<String>,
}

impl Shares {
    /// Returns the path of the entry `TAG/NAME`. Mounts its share first if necessary.
    pub(super) fn entry(&mut self, source: &str, flags: MountFlags) -> io::Result<String> {
        let (tag, name) = parts(source).ok_or(io::ErrorKind::InvalidInput)?;
        if !self.tags.iter().any(|mounted| mounted == tag) {
            self.mount(tag, flags)?;
        }
        Ok(format!("{SHARED}/{tag}/{name}"))
    }

    /// Attaches the entry `TAG/NAME`, a disk image, to a loop device.
    pub(super) fn disk(
        &mut self,
        source: &str,
        flags: MountFlags,
    ) -> io::Result<loop_device::Loop> {
        let path = self.entry(source, flags)?;
        let is_read_only = flags.contains(MountFlags::RDONLY);
        let access = if is_read_only {
            OFlags::RDONLY
        } else {
            OFlags::RDWR
        };
        let file = open(path, access | OFlags::CLOEXEC, Mode::empty())?;
        let attached = loop_device::attach(&file, is_read_only)?;
        note(&attached.path, source);
        Ok(attached)
    }

    /// Unmounts the shares. The mounts that show their entries elsewhere stay.
    pub(super) fn leave(self) -> io::Result<()> {
        if self.tags.is_empty() {
            Ok(())
        } else {
            Ok(unmount(SHARED, UnmountFlags::DETACH)?)
        }
    }

    fn mount(&mut self, tag: &str, flags: MountFlags) -> io::Result<()> {
        if self.tags.is_empty() {
            let plain = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("tmpfs", SHARED, "tmpfs", plain, Some(c"mode=700"))?;
        }
        let directory = format!("{SHARED}/{tag}");
        fs::create_dir(&directory)?;
        mount(tag, directory, "virtiofs", flags, None)?;
        self.tags.push(tag.to_owned());
        Ok(())
    }
}

/// Splits `TAG/NAME`; `None` if the source has another form.
fn parts(source: &str) -> Option<(&str, &str)> {
    let (tag, name) = source.split_once('/')?;
    let is_plain = |word: &str| !word.is_empty() && !word.contains('/') && !word.starts_with('.');
    (is_plain(tag) && is_plain(name)).then_some((tag, name))
}

/// Returns true if a source is an entry of a share.
pub(super) fn is_entry(source: &str) -> bool {
    source.contains('/')
}

/// The entries that are disks: the path of the device, and the source.
static DISKS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

fn note(device: &str, source: &str) {
    let mut disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    disks.push((device.to_owned(), source.to_owned()));
}

/// Forgets the entries that were disks, before they are attached again.
pub(super) fn forget_disks() {
    DISKS.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// Returns the entry that a block device shows, by the kernel's name for the device. `None` if the
/// device shows no entry.
pub(crate) fn of_device(name: &str) -> Option<String> {
    let disks = DISKS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |(device, _): &&(String, String)| device.strip_prefix("/dev/") == Some(name);
    disks.iter().find(is_it).map(|(_, source)| source.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_a_tag_and_a_name() {
        assert_eq!(parts("msb-rw/3"), Some(("msb-rw", "3")));
        for source in ["", "/", "a/", "/b", "a/b/c", "a/..", "../b", "msb-share-0"] {
            assert_eq!(parts(source), None, "{source}");
        }
    }
}

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{fstatfs, syncfs};
use rustix::system::uname;

/// The most steps whose new files are synced one by one. One sync of the filesystem costs less than those of more files,
/// each of which waits for a commit of the filesystem's journal; but it also waits for all that other programs have written.
/// The number at which the two cost the same depends on the programs and was not measured. With a sync of 3.5 ms, eight take 28 ms.
const EACH_MAX: usize = 8;
/// The first version of Linux whose `syncfs` reports that data was not written to the disk.
const REPORTING: (u32, u32) = (5, 8);
/// The filesystems that are synced at once: ext4 and its elders, XFS, Btrfs and tmpfs (`linux/magic.h`). They write
/// their data through the page cache of the same superblock that `syncfs` reads errors of. FUSE does not pass the call
/// on to its server, and overlayfs does not report errors of the filesystem below.
const SYNCED_AT_ONCE: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];

/// The way in which new files become durable: each by itself, or all of a filesystem at once. At once, the attributes
/// that a file gets before its rename become so with the rename: journals and transactions keep the order of both.
#[derive(Debug)]
pub(super) struct Syncing {
    /// True if the files of a filesystem that can be synced at once are.
    is_at_once: bool,
    /// True if the contents of all planned files are durable. Later files are synced each by itself.
    has_contents: bool,
    /// The first new file of each filesystem, by the number of the device; `None` if its files are synced each by
    /// itself. A sync reports the errors of all that was written since the file was opened.
    filesystems: BTreeMap<u64, Option<File>>,
}

impl Syncing {
    /// Returns the way for this number of steps.
    pub(super) fn of(steps: usize) -> Self {
        Self {
            is_at_once: steps > EACH_MAX
                && version(uname().release().to_bytes()) >= Some(REPORTING),
            has_contents: false,
            filesystems: BTreeMap::new(),
        }
    }

    /// Notes a new file, of which nothing is written yet.
    pub(super) fn begins(&mut self, file: &File) -> io::Result<()> {
        if self.is_at_once
            && let Entry::Vacant(filesystem) = self.filesystems.entry(file.metadata()?.dev())
        {
            let first = can_sync_at_once(file)?.then(|| file.try_clone());
            filesystem.insert(first.transpose()?);
        }
        Ok(())
    }

    /// Notes that the content of a file is written. It is durable if the file is synced by itself.
    pub(super) fn note_content(&self, file: &File) -> io::Result<()> {
        if !self.has_contents && self.is_synced_at_once(file)? {
            return Ok(());
        }
        file.sync_all()
    }

    /// Makes the contents durable.
    pub(super) fn finish_contents(&mut self) -> io::Result<()> {
        self.has_contents = true;
        self.sync_at_once()
    }

    /// Records that a file or a directory has its attributes, and syncs it if files are synced one by one.
    pub(super) fn note_attributes(&self, file: &File) -> io::Result<()> {
        if self.is_synced_at_once(file)? {
            return Ok(());
        }
        file.sync_all()
    }

    /// Makes the attributes durable.
    pub(super) fn finish_attributes(&self) -> io::Result<()> {
        self.sync_at_once()
    }

    fn sync_at_once(&self) -> io::Result<()> {
        for file in self.filesystems.values().flatten() {
            syncfs(file)?;
        }
        Ok(())
    }

    /// Returns true if a file is on a filesystem that is synced at once.
    fn is_synced_at_once(&self, file: &File) -> io::Result<bool> {
        if !self.is_at_once {
            return Ok(false);
        }
        let filesystem = self.filesystems.get(&file.metadata()?.dev());
        Ok(filesystem.is_some_and(Option::is_some))
    }
}

/// Returns true if `syncfs` makes all data of a file's filesystem durable, and reports data that it could not write.
fn can_sync_at_once(file: &File) -> io::Result<bool> {
    let found = u64::try_from(fstatfs(file)?.f_type);
    Ok(found.is_ok_and(|found| SYNCED_AT_ONCE.contains(&found)))
}

/// Returns the first two numbers of a kernel's release; `None` if it does not begin with them.
fn version(release: &[u8]) -> Option<(u32, u32)> {
    let release = std::str::from_utf8(release).ok()?;
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    Some((number()?, number()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kernel_that_reports_errors_syncs_files_at_once() {
        for (release, is_new_enough) in [
            ("4.4.0", false),
            ("5.7.19-generic", false),
            ("5.8-rc1", true),
            ("5.10.0-28-amd64", true),
            ("6.18.44", true),
            ("unknown", false),
            ("", false),
        ] {
            let found = version(release.as_bytes()) >= Some(REPORTING);
            assert_eq!(found, is_new_enough, "{release}");
        }
    }

    #[test]
    fn a_file_is_synced_by_itself_on_a_filesystem_that_is_not_known_to_report_errors() {
        let file = File::open("/proc/self/stat").expect("open");
        assert!(!can_sync_at_once(&file).expect("examined"));
        let mut syncing = Syncing::of(EACH_MAX + 1);
        syncing.begins(&file).expect("noted");
        assert!(!syncing.is_synced_at_once(&file).expect("examined"));
        let few = Syncing::of(EACH_MAX);
        assert!(!few.is_at_once);
    }
}

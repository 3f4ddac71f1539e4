use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::syncfs;

/// The most steps whose new files are synced one by one. Above it, one sync of the filesystem costs less than one for
/// each file, each of which waits for a commit of the filesystem's journal.
const EACH_MAX: usize = 8;

/// The way in which new files become durable: each by itself, or all of a filesystem at once.
#[derive(Debug)]
pub(super) enum Syncing {
    Each,
    /// The first new file of each filesystem, by the number of the device. A sync reports the errors of all that was
    /// written since the file was opened (Linux 5.8 and later).
    Together(BTreeMap<u64, File>),
}

impl Syncing {
    /// Returns the way for this number of steps.
    pub(super) fn of(steps: usize) -> Self {
        if steps > EACH_MAX {
            Self::Together(BTreeMap::new())
        } else {
            Self::Each
        }
    }

    /// Notes a new file, of which nothing is written yet.
    pub(super) fn begins(&mut self, file: &File) -> io::Result<()> {
        if let Self::Together(filesystems) = self
            && let Entry::Vacant(filesystem) = filesystems.entry(file.metadata()?.dev())
        {
            filesystem.insert(file.try_clone()?);
        }
        Ok(())
    }

    /// Notes that a file is written.
    pub(super) fn ends(&self, file: &File) -> io::Result<()> {
        match self {
            Self::Each => file.sync_all(),
            Self::Together(_) => Ok(()),
        }
    }

    /// Makes what was written durable. Later files are synced each by itself.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Self::Together(filesystems) = std::mem::replace(self, Self::Each) {
            for file in filesystems.values() {
                syncfs(file)?;
            }
        }
        Ok(())
    }
}

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use durable_files::allocated_bytes;
use fs_err as fs;
use rustix::fs::{fstatvfs, ioctl_ficlone};
use tree_archive::{Segment, segments};

/// Bytes that are copied between two looks at the clock.
const PIECE_BYTES: u64 = 1 << 20;
/// Room that is left on the host's disk: the guest goes on writing to its own disk there.
const RESERVE_BYTES: u64 = 64 << 20;

/// A reason why a disk was not copied.
#[derive(Debug)]
pub enum DiskCopyError {
    /// A file cannot be read or written.
    Io(io::Error),
    /// There is no room for the copy.
    Full {
        /// Room that is needed, in bytes.
        needed_bytes: u64,
        /// Room that is left, in bytes.
        free_bytes: u64,
    },
    /// The time is over, or nobody waits for the copy any more.
    Over,
}

impl From<io::Error> for DiskCopyError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Returns a copy of a disk, as a file without a name in `directory`: nothing of it is left after a
/// crash. It shares the disk's blocks if the filesystem can do that, and otherwise has those that
/// are not holes. The copy is given up once `is_over` returns true.
///
/// # Errors
/// If a file cannot be read or written, the host has no room, or the copy was given up.
pub fn copy_disk(
    disk: &Path,
    directory: &Path,
    is_over: &dyn Fn() -> bool,
) -> Result<File, DiskCopyError> {
    let disk = fs::File::open(disk)?.into_parts().0;
    let copy = durable_files::unnamed_file(directory)?;
    if is_over() {
        return Err(DiskCopyError::Over);
    }
    // Most filesystems cannot clone; an error that matters comes back from the copy.
    if ioctl_ficlone(&copy, &disk).is_err() {
        copy_data(&disk, &copy, is_over)?;
    }
    Ok(copy)
}

/// Copies a disk without writers into an empty file, as [`copy_disk`] does.
pub(crate) fn clone_or_copy(disk: &File, copy: &File) -> io::Result<()> {
    if ioctl_ficlone(copy, disk).is_ok() {
        return Ok(());
    }
    copy_segments(disk, copy, &|| false).map_err(|error| match error {
        DiskCopyError::Io(error) => error,
        DiskCopyError::Full { .. } | DiskCopyError::Over => io::ErrorKind::StorageFull.into(),
    })
}

fn copy_data(disk: &File, copy: &File, is_over: &dyn Fn() -> bool) -> Result<(), DiskCopyError> {
    let metadata = disk.metadata()?;
    let needed_bytes = allocated_bytes(&metadata).saturating_add(RESERVE_BYTES);
    let room = fstatvfs(copy).map_err(io::Error::from)?;
    let free_bytes = room.f_bavail.saturating_mul(room.f_frsize);
    if needed_bytes > free_bytes {
        return Err(DiskCopyError::Full {
            needed_bytes,
            free_bytes,
        });
    }
    copy_segments(disk, copy, is_over)
}

/// Copies what is not a hole, and sets the length.
fn copy_segments(
    disk: &File,
    copy: &File,
    is_over: &dyn Fn() -> bool,
) -> Result<(), DiskCopyError> {
    let length_bytes = disk.metadata()?.len();
    copy.set_len(length_bytes)?;
    let mut buffer = Vec::new();
    for segment in segments(disk, length_bytes)? {
        let Segment {
            mut offset_bytes,
            mut length_bytes,
        } = segment;
        while length_bytes > 0 {
            if is_over() {
                return Err(DiskCopyError::Over);
            }
            let piece_bytes = length_bytes.min(PIECE_BYTES);
            buffer.resize(usize::try_from(piece_bytes).map_err(io::Error::other)?, 0);
            disk.read_exact_at(&mut buffer, offset_bytes)?;
            copy.write_all_at(&buffer, offset_bytes)?;
            offset_bytes += piece_bytes;
            length_bytes -= piece_bytes;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Read as _;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// Writes a disk of 64 MiB with two runs of data.
    fn sparse_disk(path: &Path) {
        let file = fs::File::create(path).expect("made").into_parts().0;
        file.set_len(64 * MIB).expect("made long");
        let data: Vec<u8> = (0..3 * MIB / 2).map(|at| (at % 251) as u8).collect();
        for offset_bytes in [0, 40 * MIB] {
            file.write_all_at(&data, offset_bytes).expect("written");
        }
        file.sync_all().expect("synced");
    }

    #[test]
    fn a_copy_is_equal_and_as_sparse_and_has_no_name() {
        let directory = tempfile::tempdir().expect("a directory");
        let disk = directory.path().join("disk");
        sparse_disk(&disk);
        let mut copy = copy_disk(&disk, directory.path(), &|| false).expect("copied");
        let names = fs::read_dir(directory.path()).expect("listed").count();
        assert_eq!(names, 1, "the copy has a name");
        let of_copy = copy.metadata().expect("there");
        let of_disk = fs::metadata(&disk).expect("there");
        assert!(allocated_bytes(&of_copy) <= allocated_bytes(&of_disk) + MIB);
        // A later write to the disk is not in the copy.
        fs::write(&disk, "changed").expect("written");
        let mut bytes = Vec::new();
        copy.read_to_end(&mut bytes).expect("read");
        sparse_disk(&disk);
        assert!(fs::read(&disk).expect("read") == bytes, "they differ");
    }

    #[test]
    fn a_copy_stops_when_its_time_is_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("disk");
        sparse_disk(&path);
        let disk = fs::File::open(&path).expect("opened").into_parts().0;
        let copy = durable_files::unnamed_file(directory.path()).expect("made");
        let looks = Cell::new(0);
        let is_over = || looks.replace(looks.get() + 1) == 2;
        let stopped = copy_data(&disk, &copy, &is_over);
        assert!(matches!(stopped, Err(DiskCopyError::Over)));
        assert_eq!(looks.get(), 3, "it went on");
    }

    #[test]
    fn a_copy_without_room_is_refused_before_it_is_made() {
        // A file on a filesystem that never has room.
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("disk");
        sparse_disk(&path);
        let disk = fs::File::open(&path).expect("opened").into_parts().0;
        let nowhere = File::open("/proc/self/status").expect("opened");
        let refused = copy_data(&disk, &nowhere, &|| false);
        assert!(
            matches!(refused, Err(DiskCopyError::Full { free_bytes: 0, needed_bytes })
                if needed_bytes >= RESERVE_BYTES),
            "{refused:?}"
        );
    }
}

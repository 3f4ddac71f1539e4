use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::fs::ioctl_ficlone;
use tree_archive::{Segment, segments};

/// Bytes that are copied at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Copies a disk without writers into an empty file. The copy shares the disk's blocks if the filesystem can do
/// that, and otherwise has those that are not holes.
pub(crate) fn clone_or_copy(disk: &File, copy: &File) -> io::Result<()> {
    // Most filesystems cannot clone; an error that matters comes back from the copy.
    if ioctl_ficlone(copy, disk).is_ok() {
        return Ok(());
    }
    copy_segments(disk, copy)
}

/// Copies what is not a hole, and sets the length.
fn copy_segments(disk: &File, copy: &File) -> io::Result<()> {
    let length_bytes = disk.metadata()?.len();
    copy.set_len(length_bytes)?;
    let mut buffer = Vec::new();
    for segment in segments(disk, length_bytes)? {
        let Segment {
            mut offset_bytes,
            mut length_bytes,
        } = segment;
        while length_bytes > 0 {
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
    use durable_files::allocated_bytes;
    use fs_err as fs;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// A way to copy a disk.
    type Copying = fn(&File, &File) -> io::Result<()>;

    #[test]
    fn a_copy_is_equal_and_as_sparse() {
        let directory = tempfile::tempdir().expect("a directory");
        let made = |name: &str| {
            let mut options = fs::OpenOptions::new();
            options.read(true).write(true).create_new(true);
            let file = options.open(directory.path().join(name));
            file.expect("made").into_parts().0
        };
        let disk = made("disk");
        disk.set_len(64 * MIB).expect("made long");
        let data: Vec<u8> = (0..3 * MIB / 2).map(|at| (at % 251) as u8).collect();
        for offset_bytes in [0, 40 * MIB] {
            disk.write_all_at(&data, offset_bytes).expect("written");
        }
        disk.sync_all().expect("synced");
        let ways: [(&str, Copying); 2] = [("clone", clone_or_copy), ("copy", copy_segments)];
        for (name, copy) in ways {
            let copied = made(name);
            copy(&disk, &copied).expect("copied");
            let [of_copy, of_disk] = [&copied, &disk].map(|file| file.metadata().expect("there"));
            assert!(allocated_bytes(&of_copy) <= allocated_bytes(&of_disk) + MIB);
            let read = |name: &str| fs::read(directory.path().join(name)).expect("read");
            assert!(read("disk") == read(name), "the {name} differs");
        }
    }
}

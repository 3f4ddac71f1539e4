use std::fs::File;
use std::io;

use fstree::Segment;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Returns the segments of a file of this size that hold data, as reported by its filesystem. If
/// the filesystem cannot report holes, one segment covers the file.
///
/// # Errors
/// The system cannot find the end of a segment.
pub fn segments(file: &File, size_bytes: u64) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut position = 0;
    while position < size_bytes {
        let start = match seek(file, SeekFrom::Data(position)) {
            Ok(start) => start,
            // The rest of the file is a hole.
            Err(Errno::NXIO) => break,
            Err(_) => return Ok(Segment::whole_file(size_bytes)),
        };
        let end = match seek(file, SeekFrom::Hole(start)) {
            Ok(end) => end.min(size_bytes),
            Err(Errno::NXIO) => size_bytes,
            Err(error) => return Err(error.into()),
        };
        if end <= start {
            break;
        }
        segments.push(Segment {
            offset_bytes: start,
            length_bytes: end - start,
        });
        position = end;
    }
    Ok(segments)
}

use std::fs::File;
use std::io;

use oci_layers::tar::Segment;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Where a file of this size holds data, as its filesystem says; all of it where that does not know.
///
/// # Errors
/// What the system says.
pub fn segments(file: &File, size_bytes: u64) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut position = 0;
    while position < size_bytes {
        let start = match seek(file, SeekFrom::Data(position)) {
            Ok(start) => start,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => break,
            Err(_) => return Ok(vec![whole(size_bytes)]),
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

fn whole(size_bytes: u64) -> Segment {
    Segment {
        offset_bytes: 0,
        length_bytes: size_bytes,
    }
}

//! A file that claims to be a snapshot, as it is and as the tar in its compressed frame: whatever is handed
//! out lies on the disk, in ascending order.

use snapshot_file::{ArchiveReader, ReadError};

/// Reads `bytes` as a snapshot's file, and as the tar inside of one.
///
/// # Panics
/// If content lies outside of the disk, or not in ascending order.
pub fn run(bytes: &[u8]) {
    let _ = read(bytes);
    if let Ok(frame) = zstd::bulk::compress(bytes, 1) {
        let _ = read(&frame);
    }
}

fn read(bytes: &[u8]) -> Result<(), ReadError> {
    let mut reader = ArchiveReader::open(bytes)?;
    reader.record()?;
    let size = reader.disk()?;
    assert!(size.data_bytes <= size.size_bytes);
    let (mut end, mut sum) = (0, 0);
    reader.content(&mut |offset_bytes, piece| {
        assert!(offset_bytes >= end);
        let length = u64::try_from(piece.len()).expect("a piece is short");
        end = offset_bytes + length;
        assert!(end <= size.size_bytes);
        sum += length;
        Ok(())
    })?;
    assert_eq!(sum, size.data_bytes);
    // The seeds have one image of this size.
    let mut image_bytes = 0;
    reader.image(512, &mut |offset_bytes, piece| {
        assert_eq!(offset_bytes, image_bytes);
        image_bytes += u64::try_from(piece.len()).expect("a piece is short");
        assert!(image_bytes <= 512);
        Ok(())
    })?;
    reader.finish()
}

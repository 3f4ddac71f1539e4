use snapshot_file::{ArchiveReader, DiskRuns, ReadError, write};

pub(crate) const RECORD: &[u8] = br#"{"name": "clean"}"#;

/// Returns a disk with data, zeros that were written, and holes.
pub(crate) fn disk() -> Vec<u8> {
    let mut disk = vec![0; 300 << 10];
    for (index, byte) in disk[20 << 10..90 << 10].iter_mut().enumerate() {
        // It does not compress to nothing.
        *byte = u8::try_from((index * 7 % 251) ^ (index / 256 % 256)).expect("below 256");
    }
    disk[(299 << 10) + 5] = 1;
    disk
}

pub(crate) fn archive(disk: &[u8]) -> Vec<u8> {
    let length = u64::try_from(disk.len()).expect("short");
    let disk = disk.to_vec();
    let runs = DiskRuns::find(&disk, [std::io::Result::Ok((0, length))]).expect("read");
    write(Vec::new(), RECORD, &disk, &runs).expect("written")
}

/// Reads an archive as an import does. Returns its record and its disk.
pub(crate) fn read(archive: &[u8]) -> Result<(Vec<u8>, Vec<u8>), ReadError> {
    let mut reader = ArchiveReader::open(archive)?;
    let record = reader.record()?.to_vec();
    let size = reader.disk()?;
    // What a test makes of a hostile size fits memory.
    let mut disk = vec![0; usize::try_from(size.size_bytes.min(1 << 30)).expect("small")];
    reader.content(&mut |offset_bytes, bytes| {
        let at = usize::try_from(offset_bytes).expect("small");
        disk[at..at + bytes.len()].copy_from_slice(bytes);
        Ok(())
    })?;
    reader.finish()?;
    Ok((record, disk))
}

use fstree::ReadAt;
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

/// Returns the images of staged directories that every archive has.
pub(crate) fn images() -> [Vec<u8>; 2] {
    [(9000, 7), (512, 11)].map(|(length, factor): (usize, usize)| {
        let bytes = (0..length).map(|index| (index * factor % 241) ^ (index / 256));
        let bytes = bytes.map(|byte| u8::try_from(byte).expect("below 256"));
        bytes.collect()
    })
}

/// The parts of an archive.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) record: Vec<u8>,
    pub(crate) disk: Vec<u8>,
    pub(crate) images: Vec<Vec<u8>>,
}

pub(crate) fn archive(disk: &[u8]) -> Vec<u8> {
    let length = u64::try_from(disk.len()).expect("short");
    let disk = disk.to_vec();
    let runs = DiskRuns::find(&disk, [std::io::Result::Ok((0, length))]).expect("read");
    let images = images();
    let images = images.each_ref().map(|image| -> &dyn ReadAt { image });
    write(Vec::new(), RECORD, &disk, &runs, &images).expect("written")
}

/// Reads an archive as an import does.
pub(crate) fn read(archive: &[u8]) -> Result<Content, ReadError> {
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
    let mut found = Vec::new();
    for image in images() {
        let mut bytes = Vec::new();
        let size_bytes = u64::try_from(image.len()).expect("short");
        reader.image(size_bytes, &mut |offset_bytes, piece| {
            assert_eq!(usize::try_from(offset_bytes), Ok(bytes.len()));
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        found.push(bytes);
    }
    reader.finish()?;
    Ok(Content {
        record,
        disk,
        images: found,
    })
}

use std::io::{self, Write};

use fstree::{Metadata, ReadAt, Segment};
use sha2::{Digest as _, Sha256};
use tar_stream::{ArchiveWriter, EntryHeader, EntryKind};
use zstd::stream::write::Encoder;

use crate::checksums::{Checksums, RunsHash};
use crate::hashed::Hashed;
use crate::trailer::trailer;
use crate::{DiskRuns, Part, RECORD_MAX_BYTES, WriteError};

/// The level of compression. zstd's own default: a higher one costs time that a disk rarely repays.
const LEVEL: i32 = 3;
/// Permission bits of the files in the tar.
const MODE: u16 = 0o600;

/// Writes an archive of a disk, of which `runs` are carried, with its record and the images of its staged
/// directories. Returns the output, which is flushed. The same disk, record and images give the same bytes.
///
/// # Errors
/// The output, the disk or an image fails, or the record is longer than 16 MiB.
pub fn write<W: Write>(
    out: W,
    record: &[u8],
    disk: &(impl ReadAt + ?Sized),
    runs: &DiskRuns,
    images: &[&dyn ReadAt],
) -> Result<W, WriteError> {
    let length_bytes = u64::try_from(record.len()).unwrap_or(u64::MAX);
    if length_bytes > RECORD_MAX_BYTES {
        return Err(WriteError::Record {
            length_bytes,
            limit_bytes: RECORD_MAX_BYTES,
        });
    }
    let size_bytes = disk.size_bytes().map_err(WriteError::Disk)?;
    let mut encoder = Encoder::new(Hashed::new(out), LEVEL).map_err(WriteError::Output)?;
    encoder.include_checksum(true).map_err(WriteError::Output)?;
    let mut tar = ArchiveWriter::new(encoder);
    bytes(&mut tar, Part::Record, record)?;
    let mut hash = RunsHash::default();
    let mut runs_left = runs.segments().iter().peekable();
    let mut read = |offset_bytes: u64, piece: &mut [u8]| -> io::Result<()> {
        disk.read_exact_at(piece, offset_bytes)?;
        if let Some(run) = runs_left.next_if(|run| run.offset_bytes == offset_bytes) {
            hash.run(*run);
        }
        hash.bytes(piece);
        Ok(())
    };
    file(
        &mut tar,
        Part::Disk,
        size_bytes,
        runs.segments().to_vec(),
        &mut read,
    )?;
    let mut digests = Vec::new();
    for (number, image) in images.iter().enumerate() {
        digests.push(write_image(&mut tar, Part::Image(number), *image)?);
    }
    let checksums = serde_json::to_vec_pretty(&Checksums::new(record, hash, digests));
    let checksums = checksums.map_err(|error| WriteError::Output(error.into()))?;
    bytes(&mut tar, Part::Checksums, &checksums)?;
    let encoder = tar.finish().map_err(WriteError::Output)?;
    let (mut out, digest) = encoder.finish().map_err(WriteError::Output)?.into_parts();
    out.write_all(&trailer(digest))
        .map_err(WriteError::Output)?;
    out.flush().map_err(WriteError::Output)?;
    Ok(out)
}

/// Writes an image, and returns the hash of its bytes.
fn write_image<W: Write>(
    tar: &mut ArchiveWriter<W>,
    part: Part,
    image: &dyn ReadAt,
) -> Result<Sha256, WriteError> {
    let size_bytes = image.size_bytes().map_err(WriteError::Image)?;
    let mut hash = Sha256::new();
    let mut read = |offset_bytes: u64, piece: &mut [u8]| -> io::Result<()> {
        image.read_exact_at(piece, offset_bytes)?;
        hash.update(&*piece);
        Ok(())
    };
    let written = file(
        tar,
        part,
        size_bytes,
        Segment::whole_file(size_bytes),
        &mut read,
    );
    written.map_err(|error| match error {
        WriteError::Disk(source) => WriteError::Image(source),
        other => other,
    })?;
    Ok(hash)
}

fn bytes<W: Write>(
    tar: &mut ArchiveWriter<W>,
    part: Part,
    content: &[u8],
) -> Result<(), WriteError> {
    let size_bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let mut read = |offset_bytes, piece: &mut [u8]| content.read_exact_at(piece, offset_bytes);
    file(
        tar,
        part,
        size_bytes,
        Segment::whole_file(size_bytes),
        &mut read,
    )
}

fn file<W: Write>(
    tar: &mut ArchiveWriter<W>,
    part: Part,
    size_bytes: u64,
    segments: Vec<Segment>,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> Result<(), WriteError> {
    let metadata = Metadata::with_mode(MODE);
    let name = part.to_string();
    let header = EntryHeader {
        path: name.as_bytes(),
        kind: EntryKind::Regular,
        link: b"",
        metadata: &metadata,
    };
    let written = tar.file(&header, size_bytes, segments, read);
    written.map_err(|error| match error {
        tar_stream::WriteError::Content { source, .. } => WriteError::Disk(source),
        tar_stream::WriteError::Output(source) => WriteError::Output(source),
        // A short name and small numbers fit every header.
        other => WriteError::Output(io::Error::other(other)),
    })
}

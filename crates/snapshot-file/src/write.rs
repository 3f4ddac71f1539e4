use std::io::{self, Write};

use fstree::{Metadata, ReadAt, Segment};
use tar_stream::{ArchiveWriter, EntryHeader, EntryKind};
use zstd::stream::write::Encoder;

use crate::checksums::{Checksums, RunsHash};
use crate::hashed::Hashed;
use crate::trailer::trailer;
use crate::{CHECKSUMS, DISK, DiskRuns, RECORD, RECORD_MAX_BYTES, WriteError};

/// The level of compression. zstd's own default: a higher one costs time that a disk rarely repays.
const LEVEL: i32 = 3;
/// Permission bits of the files in the tar.
const MODE: u16 = 0o600;

/// Writes an archive of a disk, of which `runs` are carried, with its record. Returns the output, which is
/// flushed. The same disk and record give the same bytes.
///
/// # Errors
/// The output or the disk fails, or the record is longer than 16 MiB.
pub fn write<W: Write>(
    out: W,
    record: &[u8],
    disk: &(impl ReadAt + ?Sized),
    runs: &DiskRuns,
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
    bytes(&mut tar, RECORD, record)?;
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
        DISK,
        size_bytes,
        runs.segments().to_vec(),
        &mut read,
    )?;
    let checksums = serde_json::to_vec_pretty(&Checksums::new(record, hash));
    let checksums = checksums.map_err(|error| WriteError::Output(error.into()))?;
    bytes(&mut tar, CHECKSUMS, &checksums)?;
    let encoder = tar.finish().map_err(WriteError::Output)?;
    let (mut out, digest) = encoder.finish().map_err(WriteError::Output)?.into_parts();
    out.write_all(&trailer(digest))
        .map_err(WriteError::Output)?;
    out.flush().map_err(WriteError::Output)?;
    Ok(out)
}

fn bytes<W: Write>(
    tar: &mut ArchiveWriter<W>,
    name: &str,
    content: &[u8],
) -> Result<(), WriteError> {
    let size_bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let mut read = |offset_bytes, piece: &mut [u8]| content.read_exact_at(piece, offset_bytes);
    file(
        tar,
        name,
        size_bytes,
        Segment::whole_file(size_bytes),
        &mut read,
    )
}

fn file<W: Write>(
    tar: &mut ArchiveWriter<W>,
    name: &str,
    size_bytes: u64,
    segments: Vec<Segment>,
    read: &mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>,
) -> Result<(), WriteError> {
    let metadata = Metadata::with_mode(MODE);
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

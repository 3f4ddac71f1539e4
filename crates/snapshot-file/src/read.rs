use std::io::{self, BufRead, Read as _};

use fstree::Segment;
use sha2::{Digest as _, Sha256};
use tar_stream::{Entry, EntryKind, Limits};
use zstd::stream::read::Decoder;

use crate::checksums::{Checksums, RunsHash};
use crate::hashed::Hashed;
use crate::trailer::{FRAME_MAGIC, TRAILER_BYTES, trailer};
use crate::{DISK_MAX_BYTES, PIECE_BYTES, Part, RECORD_MAX_BYTES, ReadError, SECTOR_BYTES};

/// log2 of the largest window that is decoded, in bytes. A writer of level 3 takes 2 MiB.
const WINDOW_LOG_MAX: u32 = 23;
/// The largest length of the digests, in bytes. There are two, and some 80 bytes for each image.
const CHECKSUMS_MAX_BYTES: u64 = 64 << 10;
/// The limits of the tar: short names, the list of runs, and nothing behind its end.
const LIMITS: Limits = Limits {
    path_bytes: 64,
    record_bytes: 1 << 20,
    segments: 1 << 14,
    trailing_bytes: 0,
};

/// The size of the disk in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSize {
    /// The size of the disk, in bytes: a multiple of 512, at most 16 TiB.
    pub size_bytes: u64,
    /// The bytes that the archive carries; the others are zero.
    pub data_bytes: u64,
}

/// Reads an archive, part by part. The calls are made in the order of the parts: each is made once.
pub struct ArchiveReader<R: BufRead> {
    tar: tar_stream::ArchiveReader<Decoder<'static, Hashed<R>>>,
    record: Vec<u8>,
    runs: Vec<Segment>,
    hash: RunsHash,
    /// The hashes of the images that were read.
    images: Vec<Sha256>,
}

impl<R: BufRead> std::fmt::Debug for ArchiveReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArchiveReader").finish_non_exhaustive()
    }
}

impl<R: BufRead> ArchiveReader<R> {
    /// Begins to read an archive.
    ///
    /// # Errors
    /// The input fails, or does not begin as an archive does.
    pub fn open(mut input: R) -> Result<Self, ReadError> {
        let begins = input.fill_buf().map_err(ReadError::Input)?;
        let known = begins.len().min(FRAME_MAGIC.len());
        if known == 0 || begins[..known] != FRAME_MAGIC[..known] {
            return Err(ReadError::NotAnArchive);
        }
        let decoder = Decoder::with_buffer(Hashed::new(input));
        let mut decoder = decoder.map_err(ReadError::Input)?.single_frame();
        let limited = decoder.window_log_max(WINDOW_LOG_MAX);
        limited.map_err(ReadError::Input)?;
        Ok(Self {
            tar: tar_stream::ArchiveReader::new(decoder, LIMITS),
            record: Vec::new(),
            runs: Vec::new(),
            hash: RunsHash::default(),
            images: Vec::new(),
        })
    }

    /// Returns the record.
    ///
    /// # Errors
    /// The input fails, or the part is damaged or longer than 16 MiB.
    pub fn record(&mut self) -> Result<&[u8], ReadError> {
        self.record = self.short(Part::Record, RECORD_MAX_BYTES)?;
        Ok(&self.record)
    }

    /// Returns the size of the disk, before its content.
    ///
    /// # Errors
    /// The input fails, or the part is damaged, or no disk has this size.
    pub fn disk(&mut self) -> Result<DiskSize, ReadError> {
        let entry = self.entry(Part::Disk)?;
        let size_bytes = entry.size_bytes;
        if size_bytes > DISK_MAX_BYTES {
            return Err(ReadError::TooLarge {
                part: Part::Disk,
                found_bytes: size_bytes,
                limit_bytes: DISK_MAX_BYTES,
            });
        }
        if size_bytes == 0 || !size_bytes.is_multiple_of(SECTOR_BYTES) {
            let reason = format!("{size_bytes} bytes are not a number of sectors of 512 bytes");
            return Err(damaged(Part::Disk, reason));
        }
        // The reader of the tar has checked that the runs ascend and end within the disk.
        self.runs = entry.segments;
        self.runs.retain(|run| run.length_bytes > 0);
        Ok(DiskSize {
            size_bytes,
            data_bytes: self.runs.iter().map(|run| run.length_bytes).sum(),
        })
    }

    /// Hands the content of the disk out, from its beginning to its end, with the offset of each piece in
    /// bytes. Zeros are left out.
    ///
    /// # Errors
    /// The input fails, or the part is damaged, or `write` fails.
    pub fn content(
        &mut self,
        write: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        let (mut hash, mut buffer) = (RunsHash::default(), vec![0; PIECE_BYTES]);
        for run in std::mem::take(&mut self.runs) {
            hash.run(run);
            self.copy(Part::Disk, run, &mut buffer, &mut |offset_bytes, piece| {
                hash.bytes(piece);
                write(offset_bytes, piece)
            })?;
        }
        self.hash = hash;
        Ok(())
    }

    /// Hands the content of the next image of staged directories out, from its beginning to its end, with the
    /// offset of each piece in bytes. The image has to have `size_bytes`.
    ///
    /// # Errors
    /// The input fails, or the part is damaged or has another size, or `write` fails.
    pub fn image(
        &mut self,
        size_bytes: u64,
        write: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        let part = Part::Image(self.images.len());
        let entry = self.plain_entry(part)?;
        if entry.size_bytes != size_bytes {
            let found_bytes = entry.size_bytes;
            let reason = format!(
                "it has {found_bytes} bytes, and {size_bytes} by {}",
                Part::Record
            );
            return Err(damaged(part, reason));
        }
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; PIECE_BYTES]);
        for run in entry.segments {
            self.copy(part, run, &mut buffer, &mut |offset_bytes, piece| {
                hash.update(piece);
                write(offset_bytes, piece)
            })?;
        }
        self.images.push(hash);
        Ok(())
    }

    /// Reads the archive to its end, and compares everything that was handed out with its digests. Nothing
    /// may follow the archive.
    ///
    /// # Errors
    /// The input fails, or a byte of the archive is not what was written.
    pub fn finish(mut self) -> Result<(), ReadError> {
        let checksums = self.short(Part::Checksums, CHECKSUMS_MAX_BYTES)?;
        let checksums: Checksums = serde_json::from_slice(&checksums)
            .map_err(|error| damaged(Part::Checksums, error.to_string()))?;
        let (disk, images) = (
            std::mem::take(&mut self.hash),
            std::mem::take(&mut self.images),
        );
        let found = Checksums::new(&self.record, disk, images);
        if let Some(part) = checksums.differs(&found) {
            return Err(damaged(part, "its digest is another one".to_owned()));
        }
        let after = self
            .tar
            .next_entry()
            .map_err(|error| fault(Part::End, error))?;
        if after.is_some() {
            return Err(damaged(Part::End, "a further part follows".to_owned()));
        }
        let decoder = self.tar.into_inner();
        let (mut input, digest) = decoder.finish().into_parts();
        let mut end = Vec::new();
        let most_bytes = u64::try_from(TRAILER_BYTES + 1).expect("a trailer is short");
        let ended = input.by_ref().take(most_bytes).read_to_end(&mut end);
        ended.map_err(ReadError::Input)?;
        if end.len() < TRAILER_BYTES {
            return Err(ReadError::Truncated { part: Part::End });
        }
        if end != trailer(digest) {
            return Err(damaged(Part::End, "its digest is another one".to_owned()));
        }
        Ok(())
    }

    /// Reads a part as a whole.
    fn short(&mut self, part: Part, limit_bytes: u64) -> Result<Vec<u8>, ReadError> {
        let stored_bytes = self.plain_entry(part)?.size_bytes;
        if stored_bytes > limit_bytes {
            return Err(ReadError::TooLarge {
                part,
                found_bytes: stored_bytes,
                limit_bytes,
            });
        }
        let mut content = vec![0; usize::try_from(stored_bytes).expect("the limit is small")];
        self.fill(part, &mut content)?;
        Ok(content)
    }

    /// Hands the content of a run out in pieces, each read into `buffer`.
    fn copy(
        &mut self,
        part: Part,
        run: Segment,
        buffer: &mut [u8],
        take: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), ReadError> {
        let mut done_bytes = 0;
        while done_bytes < run.length_bytes {
            let left = usize::try_from(run.length_bytes - done_bytes).unwrap_or(PIECE_BYTES);
            let length = left.min(buffer.len());
            let piece = &mut buffer[..length];
            self.fill(part, piece)?;
            take(run.offset_bytes + done_bytes, piece).map_err(ReadError::Write)?;
            done_bytes += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        }
        Ok(())
    }

    /// Reads the header of the next part, which has to be this one, and no sparse file.
    fn plain_entry(&mut self, part: Part) -> Result<Entry, ReadError> {
        let entry = self.entry(part)?;
        let stored_bytes: u64 = entry.segments.iter().map(|run| run.length_bytes).sum();
        if stored_bytes != entry.size_bytes {
            return Err(damaged(part, "it is a sparse file".to_owned()));
        }
        Ok(entry)
    }

    /// Reads the header of the next part, which has to be this one.
    fn entry(&mut self, part: Part) -> Result<Entry, ReadError> {
        let entry = self.tar.next_entry().map_err(|error| fault(part, error))?;
        let Some(entry) = entry else {
            return Err(damaged(part, "it is missing".to_owned()));
        };
        if entry.path != part.to_string().as_bytes() || entry.kind != EntryKind::Regular {
            let path = entry.path.escape_ascii();
            return Err(damaged(part, format!("'{path}' is in its place")));
        }
        Ok(entry)
    }

    fn fill(&mut self, part: Part, buffer: &mut [u8]) -> Result<(), ReadError> {
        let filled = self.tar.content().read_exact(buffer);
        filled.map_err(|error| match self.tar.take_failure() {
            Some(failure) => fault(part, failure),
            None => broken(part, error),
        })
    }
}

fn damaged(part: Part, reason: String) -> ReadError {
    ReadError::Damaged { part, reason }
}

/// Returns the error of the tar in a part.
fn fault(part: Part, error: tar_stream::ReadError) -> ReadError {
    match error {
        tar_stream::ReadError::Io { source, .. } => broken(part, source),
        tar_stream::ReadError::Truncated { .. } => ReadError::Truncated { part },
        tar_stream::ReadError::Header { ref source, .. } => {
            damaged(part, format!("{error}: {source}"))
        }
        tar_stream::ReadError::Limit { ref source, .. } => {
            damaged(part, format!("{error}: {source}"))
        }
    }
}

/// Returns the error of the stream below the tar: of the input, or of its compression.
fn broken(part: Part, error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::Truncated { part },
        // zstd's own errors are of this kind, and have no number of the system.
        io::ErrorKind::Other if error.raw_os_error().is_none() => damaged(part, error.to_string()),
        _ => ReadError::Input(error),
    }
}

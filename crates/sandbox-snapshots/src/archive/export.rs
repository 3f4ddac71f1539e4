use std::io::{self, BufWriter, Write};
use std::path::Path;

use durable_files::{UnfinishedFile, directory_of};
use fs_err as fs;
use fstree::ReadAt;
use image_store::StoredImage;
use msb_runtime::{Base, UpperPool};
use snapshot_file::DiskRuns;

use super::super::SnapshotError;
use super::super::record::Records;
use super::ExportError;
use super::record::Archived;
use crate::{OpenState, SandboxSnapshots};

/// Bytes that are collected before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// A snapshot that is to be exported. Its files are open: the sandbox may run, and the snapshot may be
/// removed.
#[derive(Debug)]
pub struct SnapshotExport {
    record: Vec<u8>,
    state: OpenState,
}

impl SandboxSnapshots {
    /// Opens a snapshot for its export. `image` is the sandbox's.
    ///
    /// # Errors
    /// If there is no such snapshot, or its record or a generation is damaged.
    pub fn export(&self, name: &str, image: &StoredImage) -> Result<SnapshotExport, ExportError> {
        let name = self.snapshot_name(name)?;
        let pool = UpperPool::find(&self.files).map_err(SnapshotError::Io)?;
        let pool = pool.ok_or(SnapshotError::NoDisk)?;
        let _keeping = pool.keep_generations().map_err(SnapshotError::Io)?;
        let records = Records::new(&self.files);
        let snapshot = records.read(&name)?;
        let state = snapshot.state(records.path(&name))?;
        let state = self.open_state(&pool, &state)?;
        let sizes = state.staged.iter().map(ReadAt::size_bytes);
        let sizes = sizes.collect::<io::Result<Vec<u64>>>();
        let mut archived = Archived::new(
            snapshot,
            image.record.config_digest,
            self.spec.clone(),
            sizes.map_err(SnapshotError::Io)?,
        );
        archived.has_base = !matches!(self.base().map_err(SnapshotError::Io)?, Base::Image);
        Ok(SnapshotExport {
            record: archived.sealed().map_err(ExportError::Record)?,
            state,
        })
    }
}

impl SnapshotExport {
    /// Writes the archive to a stream. The work ends early once `is_cancelled` returns true.
    ///
    /// # Errors
    /// If the disk cannot be read, or the stream fails: it then has the beginning of an archive.
    pub fn write(
        &self,
        out: impl Write,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), ExportError> {
        let disk = Cancellable {
            source: &self.state.disk,
            is_cancelled,
        };
        let images = self.state.staged.iter().map(|source| Cancellable {
            source,
            is_cancelled,
        });
        let images: Vec<_> = images.collect();
        let images: Vec<&dyn ReadAt> = images
            .iter()
            .map(|image| -> &dyn ReadAt { image })
            .collect();
        let runs = DiskRuns::find(&disk, self.state.disk.written());
        let runs = runs.map_err(snapshot_file::WriteError::Disk)?;
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        snapshot_file::write(out, &self.record, &disk, &runs, &images)?;
        Ok(())
    }

    /// Writes a file that is complete or absent, and durable. What is no file, such as a pipe, is written to.
    ///
    /// # Errors
    /// Fails as [`write`](Self::write) does; an older file is kept then.
    pub fn write_file(
        &self,
        path: &Path,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<(), ExportError> {
        let is_other = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        if is_other {
            let file = fs::OpenOptions::new().write(true).open(path);
            return self.write(file.map_err(ExportError::Output)?, is_cancelled);
        }
        let parent = directory_of(path);
        let output = ExportError::Output;
        fs::metadata(parent).map_err(output)?;
        let mut unfinished = UnfinishedFile::create(parent).map_err(output)?;
        self.write(unfinished.file(), is_cancelled)?;
        unfinished.publish(path, parent).map_err(output)
    }
}

/// A disk or an image that cannot be read any more once the work is cancelled.
struct Cancellable<'a, R> {
    source: &'a R,
    is_cancelled: &'a dyn Fn() -> bool,
}

impl<R: ReadAt> ReadAt for Cancellable<'_, R> {
    fn read_exact_at(&self, buf: &mut [u8], offset_bytes: u64) -> io::Result<()> {
        if (self.is_cancelled)() {
            return Err(io::Error::other("it was cancelled"));
        }
        self.source.read_exact_at(buf, offset_bytes)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        self.source.size_bytes()
    }
}

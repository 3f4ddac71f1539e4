use std::io::BufRead;
use std::os::unix::fs::FileExt as _;

use image_store::{FindError, Store, StoredImage};
use rustix::fs::statvfs;
use snapshot_file::{ArchiveReader, DiskSize};

use super::super::record::Records;
use super::super::{Consistency, Snapshot, cut_disk};
use super::record::Archived;
use super::{ImportError, options};
use crate::sandbox::UpperPool;
use crate::{Home, Sandbox, SnapshotError};

/// A snapshot that is being imported: its record has been read, its disk has not.
#[derive(Debug)]
pub struct SnapshotImport<R: BufRead> {
    reader: ArchiveReader<R>,
    archived: Archived,
}

/// A snapshot that was imported.
#[derive(Debug)]
pub struct Imported {
    /// The new sandbox, which is not running.
    pub sandbox: Sandbox,
    /// Its snapshot.
    pub snapshot: Snapshot,
    /// The options of the exported sandbox that the new one does not have, as phrases.
    pub left_out: Vec<String>,
}

impl<R: BufRead> SnapshotImport<R> {
    /// Reads the record of an archive.
    ///
    /// # Errors
    /// If the archive cannot be read, is damaged, or is of a later msb.
    pub fn begin(input: R) -> Result<Self, ImportError> {
        let mut reader = ArchiveReader::open(input)?;
        let archived = Archived::parse(reader.record()?)?;
        Ok(Self { reader, archived })
    }

    /// Returns the name of the image, as the user of the exported sandbox gave it.
    pub fn image(&self) -> &str {
        &self.archived.sandbox.image
    }

    /// Finds the image in the store: by the digest of its manifest, or else by that of its config, which stays
    /// when an image is saved and loaded. `None` if the store has neither.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn find_image(&self, store: &Store) -> Result<Option<StoredImage>, FindError> {
        match store.find(&self.archived.sandbox.image_digest) {
            Err(FindError::NotFound { .. }) => {}
            found => return found.map(Some),
        }
        for summary in store.images()? {
            let image = store.find(&summary.digest.to_string())?;
            if image.record.config_digest == self.archived.image_config_digest {
                return Ok(Some(image));
            }
        }
        Ok(None)
    }

    /// Returns the digest of the manifest of the image, where the snapshot was exported.
    pub fn image_digest(&self) -> &str {
        &self.archived.sandbox.image_digest
    }

    /// Creates a sandbox that begins with the snapshot, and has it. Its name is `name`, or that of the
    /// exported sandbox. It appears once the whole archive was read and is what was written; a process that
    /// is killed before leaves no sandbox.
    ///
    /// # Errors
    /// If the archive is damaged, the name is taken, or the host has no room. Nothing is left then.
    pub fn create(
        mut self,
        home: &Home,
        image: &StoredImage,
        name: Option<String>,
    ) -> Result<Imported, ImportError> {
        let size = self.reader.disk()?;
        durable_files::ensure_directory(&home.sandboxes())?;
        check_room(home, size)?;
        let spec = self.archived.sandbox.clone();
        let (options, left_out) = options::imported(spec, name, size.size_bytes);
        let mut taken = None;
        let write_upper = |sandbox: &Sandbox| {
            taken = Some(self.write(sandbox, size)?);
            Ok::<_, ImportError>(())
        };
        let (sandbox, _lock) = Sandbox::create_with(home, Some(image), options, write_upper)?;
        Ok(Imported {
            sandbox,
            snapshot: taken.ok_or(SnapshotError::NoDisk)?,
            left_out,
        })
    }

    /// Writes the disk of the new sandbox, and the record of its snapshot.
    fn write(mut self, sandbox: &Sandbox, size: DiskSize) -> Result<Snapshot, ImportError> {
        let file = durable_files::create_new(&sandbox.files.upper())?;
        file.set_len(size.size_bytes)?;
        let mut write = |offset_bytes, bytes: &[u8]| file.file().write_all_at(bytes, offset_bytes);
        self.reader.content(&mut write)?;
        self.reader.finish()?;
        file.sync_all()?;
        let pool = UpperPool::adopt(&sandbox.files)?;
        let _keeping = pool.keep_generations()?;
        let state = cut_disk(&pool)?;
        let archived = self.archived.snapshot;
        let consistency = Consistency::of(&pool, &state, archived.consistency);
        let snapshot = Snapshot {
            name: archived.name,
            number: 1,
            created_s: archived.created_s,
            message: archived.message,
            is_automatic: false,
            consistency: consistency.map_err(SnapshotError::Open)?,
            size_bytes: state.size_bytes,
            image_digest: sandbox.spec.image_digest.clone(),
            state: hex::encode(state.to_bytes()),
        };
        Records::new(&sandbox.files).add(&snapshot)?;
        Ok(snapshot)
    }
}

/// Checks that the host has room for the data of a disk, so that most disks that are too large are refused
/// before anything is written.
fn check_room(home: &Home, size: DiskSize) -> Result<(), ImportError> {
    let room = statvfs(home.sandboxes()).map_err(std::io::Error::from)?;
    let free_bytes = room.f_bavail.saturating_mul(room.f_frsize);
    if size.data_bytes > free_bytes {
        return Err(ImportError::Full {
            needed_bytes: size.data_bytes,
            free_bytes,
        });
    }
    Ok(())
}

use std::io::{self, BufRead};

use fstree::Metadata;
use image_store::{FindError, Store, StoredImage};
use msb_runtime::{ChangeLock, Home, Resources, Sandbox, Source, UpperPool, note_missing_base};
use rustix::fs::statvfs;
use snapshot_file::{ArchiveReader, DiskSize};

use super::super::record::Records;
use super::super::{Snapshot, SnapshotConsistency, cut_disk};
use super::left_out::LeftOut;
use super::record::Archived;
use super::sparse_file::SparseFile;
use super::staged::WrittenImages;
use super::{ImportError, options};
use crate::SnapshotError;

/// The space of a new volume of the default size, in bytes: 300 KiB were measured for 4 GiB.
const VOLUME_ROOM_BYTES: u64 = 1 << 20;
/// The space that an import leaves free, in bytes, and as a part of the filesystem if that is less.
const RESERVE_BYTES: u64 = 1 << 30;
const RESERVE_PART: u64 = 20;

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
    /// The options of the exported sandbox that the new one does not have, with a remedy each.
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
    /// is killed before leaves no sandbox. It has at most the processors and memory of `most`.
    ///
    /// # Errors
    /// If the archive is damaged, the name is taken, or the host has no room. Nothing is left then.
    pub fn create(
        mut self,
        home: &Home,
        image: &StoredImage,
        name: Option<String>,
        most: Resources,
    ) -> Result<Imported, ImportError> {
        let size = self.reader.disk()?;
        durable_files::ensure_directory(&home.sandboxes())?;
        let spec = self.archived.sandbox.clone();
        let has_images = !self.archived.staged.is_empty();
        let (options, mut left_out) =
            options::imported(spec, name, size.size_bytes, most, has_images);
        if self.archived.has_base {
            let what = "the record of the sandbox's initial files".to_owned();
            left_out.push(LeftOut::option(what));
        }
        let volumes = options.mounts.iter();
        let volumes = volumes.filter(|mount| matches!(mount.source, Source::Anonymous { .. }));
        let images = self.archived.staged.iter().copied();
        let carried_bytes = images.fold(size.data_bytes, u64::saturating_add);
        check_room(home, carried_bytes, volumes.count())?;
        let mut taken = None;
        let write_upper = |sandbox: &Sandbox, _: &[Metadata]| {
            taken = Some(self.write(sandbox, size, home.disk_metadata_bytes())?);
            Ok::<_, ImportError>(())
        };
        let (sandbox, _lock) = Sandbox::create_with(home, Some(image), options, write_upper)?;
        let snapshot = taken.ok_or(SnapshotError::NoDisk)?;
        let change = ChangeLock::take(&sandbox.files)?;
        sandbox.give_snapshot_number(&change, snapshot.number)?;
        Ok(Imported {
            sandbox,
            snapshot,
            left_out: left_out.iter().map(ToString::to_string).collect(),
        })
    }

    /// Writes the disk of the new sandbox, the images below it, and the record of its snapshot. The metadata of an
    /// image has about `metadata_bytes` at most.
    fn write(
        mut self,
        sandbox: &Sandbox,
        size: DiskSize,
        metadata_bytes: u64,
    ) -> Result<Snapshot, ImportError> {
        let file = SparseFile::create(&sandbox.files.upper(), size.size_bytes)?;
        let mut write = |offset_bytes, bytes: &[u8]| file.write(offset_bytes, bytes);
        self.reader.content(&mut write)?;
        let sizes = &self.archived.staged;
        let images = WrittenImages::write(&mut self.reader, sizes, &sandbox.files)?;
        self.reader.finish()?;
        file.sync()?;
        images.settle(&sandbox.spec, &sandbox.files, metadata_bytes)?;
        if self.archived.has_base {
            note_missing_base(&sandbox.files)?;
        }
        let pool = UpperPool::adopt(&sandbox.files)?;
        let _keeping = pool.keep_generations()?;
        let state = cut_disk(&pool)?;
        let archived = self.archived.snapshot;
        let consistency = SnapshotConsistency::of(&pool, &state, archived.consistency);
        let snapshot = Snapshot {
            name: archived.name,
            number: 1,
            created_s: archived.created_s,
            message: archived.message,
            is_automatic: false,
            command: None,
            is_of_undo: false,
            consistency: consistency.map_err(SnapshotError::Open)?,
            size_bytes: state.size_bytes,
            image_digest: sandbox.spec.image_digest.clone(),
            state: hex::encode(state.to_bytes()),
        };
        Records::new(&sandbox.files).add(&snapshot)?;
        Ok(snapshot)
    }
}

/// Checks that the host has room for what an archive carries and for the metadata of new volumes, so that most
/// disks that are too large are refused before anything is written. A part of the filesystem stays free:
/// other sandboxes write to it.
fn check_room(home: &Home, carried_bytes: u64, volumes: usize) -> Result<(), ImportError> {
    let room = statvfs(home.sandboxes()).map_err(io::Error::from)?;
    let kept_bytes = RESERVE_BYTES.min(room.f_blocks.saturating_mul(room.f_frsize) / RESERVE_PART);
    let free_bytes = room.f_bavail.saturating_mul(room.f_frsize);
    let needed_bytes = needed_bytes(carried_bytes, volumes);
    if needed_bytes > free_bytes.saturating_sub(kept_bytes) {
        return Err(ImportError::Full {
            needed_bytes,
            free_bytes,
            kept_bytes,
        });
    }
    Ok(())
}

fn needed_bytes(carried_bytes: u64, volumes: usize) -> u64 {
    let volumes = u64::try_from(volumes).unwrap_or(u64::MAX);
    let volumes_bytes = volumes.saturating_mul(VOLUME_ROOM_BYTES);
    carried_bytes.saturating_add(volumes_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_need_room_too() {
        assert_eq!(needed_bytes(1 << 20, 0), 1 << 20);
        assert_eq!(needed_bytes(1 << 20, 3), (1 << 20) + 3 * VOLUME_ROOM_BYTES);
        assert_eq!(needed_bytes(u64::MAX, 3), u64::MAX);
    }
}

//! The end of a head: what a cut begins and the next flush makes durable.

use crate::block::GENERATIONS_MAX;
use crate::disk::{Disk, create_head};
use crate::error::{CutError, FlushError, StorageError};
use crate::head::Sealing;
use crate::id::draw;
use crate::names;
use crate::sealed::{finish, remove, sync_files, sync_names, write_unsynced};
use crate::state::State;
use crate::storage::{Storage, StorageFile};
use crate::view::Data;
use crate::{GenerationId, block_set::BlockSet};

impl<S: Storage> Disk<S> {
    /// Makes all changes durable that were made before the call.
    ///
    /// # Errors
    /// If a file cannot be written or synced. After a failed sync the disk takes no more changes;
    /// after another error, such as a full disk of the host, the call can be repeated.
    pub fn flush(&mut self) -> Result<(), FlushError> {
        self.check_not_failed()?;
        let flushed = self.flush_files();
        if let Err(error) = &flushed {
            self.has_failed |= error.is_of_a_sync();
        }
        Ok(flushed?)
    }

    /// Returns true if the next flush only syncs the open data file of the only generation, and opens no other file.
    pub fn flushes_one_file(&self) -> bool {
        self.is_only_head() && !self.is_unpublished && !self.has_unsynced_names
    }

    /// Gives a new disk its record without a sync, and closes it. After a power cut it may be absent or damaged until
    /// a cut or a growth was flushed, which writes the record anew.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn close_unsynced(self) -> Result<(), StorageError> {
        let storage = self.storage.as_ref();
        let name = names::disk(self.record.disk);
        let record = self.record.to_bytes();
        write_unsynced(storage, &names::unfinished(&name), &record)?;
        finish(storage, &name)
    }

    /// Ends the head and begins a new one, and returns the disk as it is at this moment.
    ///
    /// It takes about 0.1 ms, whatever the disk holds, and writes no data. The state becomes durable
    /// with the next [`Disk::flush`], so it must not be kept or opened before. If the power is cut
    /// before, the disk is as if it had not been cut. A cut that follows another one, a growth or the
    /// first opening of a disk without a flush in between flushes first.
    ///
    /// # Errors
    /// If the new head's files cannot be made, there are too many generations, or the cut before
    /// cannot be made durable. The disk is unchanged then.
    pub fn cut(&mut self) -> Result<State, CutError> {
        self.check_not_failed().map_err(FlushError::from)?;
        // The record in the pool has to name the files of the new head before they are made, or
        // they would be taken for unlisted ones.
        if self.is_unpublished {
            self.flush()?;
        }
        if self.head.is_empty() {
            return Ok(self.record.state.clone());
        }
        let count = self.generation_count() + 1;
        if count > GENERATIONS_MAX {
            return Err(CutError::TooManyGenerations { count });
        }
        let next = draw(self.storage.as_ref(), GenerationId::from_bytes)?;
        let head = create_head(self.storage.as_ref(), self.record.next, &mut self.view)?;
        let head = head.ok_or(CutError::TooManyGenerations { count })?;
        let ended = std::mem::replace(&mut self.head, head).into_sealing();
        self.record.state.generations.push(ended.data.id);
        self.record.head = Some(self.record.next);
        self.record.next = next;
        self.sealing = Some(ended);
        self.is_unpublished = true;
        Ok(self.record.state.clone())
    }

    /// Gives the space of discarded blocks back to the host, of at most `limit_bytes`, and returns
    /// the number of bytes. Discards only change the map, because punching holes can take
    /// milliseconds; this is to be called when the disk is idle.
    ///
    /// # Errors
    /// If a hole cannot be punched; the blocks are tried again.
    pub fn reclaim(&mut self, limit_bytes: u64) -> Result<u64, StorageError> {
        let mut reclaimed_bytes = 0;
        let head = (&self.head.data, &mut self.head.content.unused);
        let sealed = self
            .unused
            .iter_mut()
            .map(|(data, unused)| (&*data, unused));
        for (data, unused) in sealed.chain([head]) {
            reclaimed_bytes += punch(data, unused, limit_bytes - reclaimed_bytes)?;
        }
        self.unused.retain(|(_, unused)| !unused.is_empty());
        Ok(reclaimed_bytes)
    }

    /// Flushes in an order in which each file is durable before another one needs it.
    fn flush_files(&mut self) -> Result<(), StorageError> {
        if self.is_unpublished {
            self.publish()?;
        }
        let storage = self.storage.as_ref();
        if self.has_unsynced_names {
            sync_names(storage)?;
            self.has_unsynced_names = false;
        }
        if let Some(sealing) = self.sealing.take() {
            // The log is a leftover from here on; if it stays, it is removed as one.
            let _ = remove(storage, &names::log(sealing.data.id));
            if !sealing.content.unused.is_empty() {
                self.unused.push((sealing.data, sealing.content.unused));
            }
        }
        self.head.flush(storage, &self.view.map)
    }

    /// Replaces the record in the pool, once the files that it names are durable. They are synced together with the new
    /// record, which has no effect before its rename.
    fn publish(&mut self) -> Result<(), StorageError> {
        let storage = self.storage.as_ref();
        let name = names::disk(self.record.disk);
        let unfinished = names::unfinished(&name);
        let sealing = self.sealing.as_ref();
        let list = sealing.map(|sealing| sealing.write_list(storage));
        let list = list.transpose()?;
        let record = write_unsynced(storage, &unfinished, &self.record.to_bytes())?;
        let mut files = vec![(unfinished, &record)];
        files.extend(list.iter().map(|(name, file)| (name.clone(), file)));
        files.extend(sealing.and_then(Sealing::unsynced_data));
        let of_head = self.head.unsynced_data();
        let syncs_head = of_head.is_some();
        files.extend(of_head);
        sync_files(storage, &files)?;
        if !self.is_new {
            sync_names(storage)?;
        }
        finish(storage, &name)?;
        sync_names(storage)?;
        if syncs_head {
            self.head.note_sync_of_data();
        }
        self.has_unsynced_names = false;
        self.is_unpublished = false;
        self.is_new = false;
        Ok(())
    }
}

/// Punches blocks of a data file, of at most `limit_bytes`, and takes them out of the set.
fn punch<F: StorageFile>(
    data: &Data<F>,
    unused: &mut BlockSet,
    limit_bytes: u64,
) -> Result<u64, StorageError> {
    let mut punched_bytes = 0;
    for mut run in unused.runs() {
        run.count = run
            .count
            .min((limit_bytes - punched_bytes) / crate::BLOCK_BYTES);
        if run.count == 0 {
            break;
        }
        let punched = data.file.punch(run.offset_bytes(), run.length_bytes());
        punched.map_err(|error| data.error("punch", error))?;
        unused.remove(run);
        punched_bytes += run.length_bytes();
    }
    Ok(punched_bytes)
}

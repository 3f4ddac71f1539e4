//! Disks that begin with bytes that exist already: a raw disk, a part of a disk image, or blocks of files.

use std::io::ErrorKind;
use std::path::Path;

use crate::block::whole;
use crate::block_list::BlockList;
use crate::error::{CreateError, OpenError, SYNC, StorageError};
use crate::names;
use crate::open::{read_base, read_record};
use crate::pool::{Pool, check_absent, exists};
use crate::sealed::{remove, sync_names, write};
use crate::state::{State, check_size};
use crate::storage::{Access, Storage, StorageFile};
use crate::{Base, DiskId, GenerationId};

impl<S: Storage + Sync> Pool<S> {
    /// Makes an existing raw disk the first generation of a disk, without a copy. The file gets a
    /// name in the pool and then loses the one that it had, so both must be on one filesystem.
    /// After a crash in between, the call is to be repeated: it then only removes the old name.
    ///
    /// # Errors
    /// If the file's length is no multiple of 512 bytes, the disk exists and is not made of this file,
    /// or a file cannot be written.
    pub fn adopt(&self, disk: DiskId, raw: &Path) -> Result<(), CreateError> {
        let storage = self.storage.as_ref();
        let source = raw.display().to_string();
        if self.names()?.contains(&names::disk(disk)) {
            return self.end_adoption(disk, raw);
        }
        let id = self.new_generation_id()?;
        let name = names::data(id);
        let linked = storage.link(raw, &name);
        linked.map_err(StorageError::of("link", &source))?;
        let file = storage.open(&name, Access::Read);
        let file = file.map_err(StorageError::of("open", &name))?;
        let size_bytes = file.size_bytes().map_err(StorageError::of("read", &name))?;
        if let Err(error) = check_size(size_bytes) {
            remove(storage, &name)?;
            return Err(error.into());
        }
        file.sync().map_err(StorageError::of(SYNC, &name))?;
        self.begin_with(disk, id, size_bytes, None)?;
        let removed = storage.unlink_source(raw);
        Ok(removed.map_err(StorageError::of("remove", &source))?)
    }

    /// Creates a disk whose first generation is a base, which lies elsewhere, without a copy, and makes it
    /// durable. The base is opened once to be checked, and again with each opening of the disk or of a state
    /// that has the generation.
    ///
    /// # Errors
    /// If the disk exists, the files are not those of the base, its length is no multiple of 512 bytes or
    /// too large, or a file cannot be written.
    pub fn create_over(&self, disk: DiskId, base: &Base) -> Result<(), CreateError> {
        check_size(base.length_bytes())?;
        let storage = self.storage.as_ref();
        check_absent(storage, &names::disk(disk))?;
        let opened = storage.open_base(base);
        opened.map_err(StorageError::of("open the base of", "the disk"))?;
        let id = self.new_generation_id()?;
        write(storage, &names::data(id), &base.to_bytes())?;
        self.begin_with(disk, id, base.length_bytes(), Some(base))
    }

    /// Returns the base of a disk; `None` if its first generation lies in the pool.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn base(&self, disk: DiskId) -> Result<Option<Base>, OpenError> {
        let state = self.sealed_state(disk)?;
        match state.generations.first() {
            Some(first) if self.is_base(*first)? => {
                Ok(Some(read_base(self.storage.as_ref(), *first)?))
            }
            _ => Ok(None),
        }
    }

    /// Returns true if a sealed generation is a base.
    ///
    /// # Errors
    /// If its list is missing or damaged.
    pub fn is_base(&self, id: GenerationId) -> Result<bool, OpenError> {
        Ok(BlockList::read(self.storage.as_ref(), id)?.is_base)
    }

    /// Lists the blocks of a generation whose data file is durable, and creates a disk of it alone. It has all
    /// blocks, or those of its base.
    fn begin_with(
        &self,
        disk: DiskId,
        id: GenerationId,
        size_bytes: u64,
        base: Option<&Base>,
    ) -> Result<(), CreateError> {
        let storage = self.storage.as_ref();
        let list = BlockList {
            id,
            data_bytes: size_bytes,
            is_base: base.is_some(),
            digest: None,
            data: base.map_or_else(|| whole(size_bytes), Base::blocks),
            zeros: Vec::new(),
        };
        write(storage, &names::blocks(id), &list.to_bytes())?;
        // A record must not become durable before the names that it needs.
        sync_names(storage)?;
        let generations = vec![id];
        let state = State {
            size_bytes,
            generations,
        };
        self.fork(&state, &[disk])
    }

    /// Removes the old name of a raw disk that became a generation of an existing disk; another file
    /// stays.
    fn end_adoption(&self, disk: DiskId, raw: &Path) -> Result<(), CreateError> {
        let storage = self.storage.as_ref();
        let source = raw.display().to_string();
        for id in read_record(storage, disk)?.state.generations {
            let is_adopted = match storage.is_same(raw, &names::data(id)) {
                // The call before this one ended after it had removed the name.
                Err(error) if error.kind() == ErrorKind::NotFound => true,
                compared => compared.map_err(StorageError::of("compare", &source))?,
            };
            if is_adopted {
                // The record may have been renamed by a process that ended before it was durable.
                sync_names(storage)?;
                let removed = storage.unlink_source(raw);
                return Ok(removed.map_err(StorageError::of("remove", &source))?);
            }
        }
        Err(exists(&names::disk(disk)).into())
    }
}

//! Opening: the map of a disk from the lists of its generations and the log of its head.

use std::collections::HashMap;
use std::sync::Arc;

use crate::block::{GENERATIONS_MAX, Run, blocks_of};
use crate::block_list::BlockList;
use crate::error::{Fault, OpenError, StorageError};
use crate::log::{Kind, Scan, scan};
use crate::map::{Slot, ZEROS};
use crate::names;
use crate::sealed::{damaged, read};
use crate::state::{DiskRecord, State};
use crate::storage::{Access, Storage, StorageFile};
use crate::view::{Data, View};
use crate::{Base, DiskId, GenerationId};

/// Reads the record of a disk.
pub(crate) fn read_record<S: Storage>(storage: &S, disk: DiskId) -> Result<DiskRecord, OpenError> {
    let name = names::disk(disk);
    let bytes = read(storage, &name)?;
    Ok(DiskRecord::from_bytes(&bytes, disk).map_err(damaged(&name))?)
}

/// Opens the generations of a state and lays their lists over each other, the oldest first.
pub(crate) fn load<S: Storage>(storage: &S, state: &State) -> Result<View<S::File>, OpenError> {
    load_beside(storage, state, &[])
}

/// Does the same, and opens no file that is among `open`: it may be out of reach by now.
pub(crate) fn load_beside<S: Storage>(
    storage: &S,
    state: &State,
    open: &[Data<S::File>],
) -> Result<View<S::File>, OpenError> {
    let open: HashMap<GenerationId, &Data<S::File>> =
        open.iter().map(|data| (data.id, data)).collect();
    let mut view = View::new(state.size_bytes);
    for id in &state.generations {
        let list = BlockList::read(storage, *id)?;
        let data = match open.get(id) {
            Some(data) => Data::clone(data),
            None => open_sealed(storage, &list)?,
        };
        let slot = view.push(data);
        let slot = slot.ok_or_else(|| too_many(state.generations.len()))?;
        let disk_blocks = blocks_of(view.size_bytes);
        for (runs, slot) in [(&list.data, slot), (&list.zeros, ZEROS)] {
            for run in runs {
                // A disk that was set back to a smaller size lacks the last blocks.
                let run = Run::from_bounds(run.first, run.end().min(disk_blocks));
                view.map.assign(run, slot);
            }
        }
    }
    Ok(view)
}

/// Opens the data of a sealed generation.
pub(crate) fn open_generation<S: Storage>(
    storage: &S,
    id: GenerationId,
) -> Result<Data<S::File>, OpenError> {
    open_sealed(storage, &BlockList::read(storage, id)?)
}

/// Opens the data of a sealed generation, whose length is checked.
pub(crate) fn open_sealed<S: Storage>(
    storage: &S,
    list: &BlockList,
) -> Result<Data<S::File>, OpenError> {
    let data = if list.is_base {
        let base = read_base(storage, list.id)?;
        open_base(storage, list.id, &base)?
    } else {
        open_data(storage, list.id, Access::Read)?
    };
    if data.end_bytes != list.data_bytes {
        let fault = Fault::Length {
            found: data.end_bytes,
            expected: list.data_bytes,
        };
        return Err(damaged(&names::data(list.id))(fault).into());
    }
    Ok(data)
}

/// Reads the base that a generation names.
pub(crate) fn read_base<S: Storage>(storage: &S, id: GenerationId) -> Result<Base, OpenError> {
    let name = names::data(id);
    let bytes = read(storage, &name)?;
    Ok(Base::from_bytes(&bytes).map_err(damaged(&name))?)
}

fn open_base<S: Storage>(
    storage: &S,
    id: GenerationId,
    base: &Base,
) -> Result<Data<S::File>, StorageError> {
    let failed = || StorageError::of("open the base of", "the disk");
    let file = storage.open_base(base).map_err(failed())?;
    let end_bytes = file.size_bytes().map_err(failed())?;
    Ok(Data {
        id,
        file: Arc::new(file),
        end_bytes,
    })
}

/// Opens a data file.
pub(crate) fn open_data<S: Storage>(
    storage: &S,
    id: GenerationId,
    access: Access,
) -> Result<Data<S::File>, StorageError> {
    let name = names::data(id);
    let opened = storage.open(&name, access);
    let file = opened.map_err(StorageError::of("open", &name))?;
    let end_bytes = file.size_bytes().map_err(StorageError::of("read", &name))?;
    Ok(Data {
        id,
        file: Arc::new(file),
        end_bytes,
    })
}

/// Lays the log of a head over the sealed generations, and calls `apply` for each run of blocks.
/// Returns the slot of the head.
pub(crate) fn replay<F: StorageFile>(
    view: &mut View<F>,
    head: Data<F>,
    log: &F,
    mut apply: impl FnMut(Kind, Run),
) -> Result<(Slot, Scan), OpenError> {
    let id = head.id;
    let disk_blocks = blocks_of(view.size_bytes);
    // The length of the data file is durable if data is.
    let data_blocks = disk_blocks.min(blocks_of(head.end_bytes));
    let count = view.files.len() + 1;
    let slot = view.push(head).ok_or_else(|| too_many(count))?;
    let map = &mut view.map;
    let scan = scan(log, &names::log(id), id, |kind, run| {
        let (slot, blocks) = match kind {
            Kind::Data => (slot, data_blocks),
            Kind::Zeros => (ZEROS, disk_blocks),
        };
        if run.end() > blocks {
            let block = run.end() - 1;
            return Err(Fault::Block { block });
        }
        map.assign(run, slot);
        apply(kind, run);
        Ok(())
    })?;
    Ok((slot, scan))
}

fn too_many(count: usize) -> OpenError {
    debug_assert!(count >= GENERATIONS_MAX, "the map has 16 bits");
    OpenError::TooManyGenerations { count }
}

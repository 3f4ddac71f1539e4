use std::sync::Arc;

use crate::GenerationId;
use crate::block::{BLOCK_BYTES, Run, length_of};
use crate::block_list::BlockList;
use crate::block_set::BlockSet;
use crate::content::pieces;
use crate::error::{MergeError, StorageError};
use crate::head::Content;
use crate::names;
use crate::open::open_sealed;
use crate::pool::Pool;
use crate::sealed::{create_anew, sync_names, write};
use crate::storage::{Storage, StorageFile};
use crate::view::Data;

impl<S: Storage + Sync> Pool<S> {
    /// Copies the blocks that are still seen of sealed generations, the oldest first, into one new
    /// generation, makes it durable and returns it. The merged ones stay: they are to be replaced in
    /// every state and disk that has them one after the other, and can then be removed as unlisted.
    ///
    /// No removal of unlisted generations may run from the call until the new one is listed. Where it may,
    /// the generations can be merged in another pool, which [`share`](Self::share) gives them to.
    ///
    /// # Errors
    /// If there are fewer than two, one is missing or damaged, or the new one cannot be written.
    pub fn merge(&self, generations: &[GenerationId]) -> Result<GenerationId, MergeError> {
        if generations.len() < 2 {
            let count = generations.len();
            return Err(MergeError::TooFew { count });
        }
        let storage = self.storage.as_ref();
        let sources = generations.iter().map(|id| {
            let list = BlockList::read(storage, *id)?;
            let data = open_sealed(storage, &list)?;
            Ok((data, list))
        });
        let sources: Vec<_> = sources.collect::<Result<_, MergeError>>()?;
        let id = self.new_generation_id()?;
        let made = self.write_merged(id, &sources);
        if made.is_err() {
            // The first error is the one to report.
            let _ = storage.remove(&names::data(id));
            let _ = storage.remove(&names::blocks(id));
        }
        made.map(|()| id)
    }

    fn write_merged(
        &self,
        id: GenerationId,
        sources: &[(Data<S::File>, BlockList)],
    ) -> Result<(), MergeError> {
        let storage = self.storage.as_ref();
        let end_bytes = sources.iter().map(|(data, _)| data.end_bytes).max();
        let end_bytes = end_bytes.unwrap_or(0).next_multiple_of(BLOCK_BYTES);
        let file = Arc::new(create_anew(storage, &names::data(id))?);
        let merged = Data {
            id,
            file,
            end_bytes,
        };
        let sized = merged.file.set_size(end_bytes);
        sized.map_err(|error| merged.error("extend", error))?;
        let mut content = Content::default();
        let mut covered = BlockSet::default();
        for (data, list) in sources.iter().rev() {
            let mut seen = BlockSet::from_runs(list.data.iter().copied());
            seen.remove_all(&covered);
            let mut zeros = BlockSet::from_runs(list.zeros.iter().copied());
            zeros.remove_all(&covered);
            covered.insert_all(&seen);
            covered.insert_all(&zeros);
            content.zeros.insert_all(&zeros);
            copy(data, &merged, &seen.runs(), &mut content)?;
        }
        merged.sync()?;
        let list = content.list(&merged);
        write(storage, &names::blocks(id), &list.to_bytes())?;
        Ok(sync_names(storage)?)
    }
}

/// Copies blocks, and adds them to the content of the new generation: as zeros where they are.
fn copy<F: StorageFile>(
    from: &Data<F>,
    to: &Data<F>,
    runs: &[Run],
    content: &mut Content,
) -> Result<(), StorageError> {
    for run in runs {
        content.zeros.insert(*run);
    }
    pieces(from, runs, |first, bytes| {
        let data = Run::new(first, length_of(bytes) / BLOCK_BYTES);
        to.write(bytes, data.offset_bytes())?;
        content.data.insert(data);
        content.zeros.remove(data);
        Ok(())
    })
}

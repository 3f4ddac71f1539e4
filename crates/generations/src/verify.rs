use crate::GenerationId;
use crate::block_list::BlockList;
use crate::content::digest;
use crate::error::{Fault, VerifyError};
use crate::names;
use crate::open::open_sealed;
use crate::pool::Pool;
use crate::sealed::{damaged, replace};
use crate::storage::{Storage, StorageFile};
use crate::view::Data;

/// The result of verifying a generation that is not damaged as far as can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// List, length and content are what was recorded.
    Content,
    /// List and length are what was recorded; the digest of the content was not taken yet.
    ListOnly,
}

/// A sealed generation that is open: it can be read whatever becomes of its files' names.
#[derive(Debug)]
pub struct SealedGeneration<F> {
    list: BlockList,
    data: Data<F>,
}

impl<F: StorageFile> SealedGeneration<F> {
    /// Returns true if the content lies outside of the pool, in a [`Base`](crate::Base).
    pub const fn is_base(&self) -> bool {
        self.list.is_base
    }

    /// Returns true if the digest of the content was recorded.
    pub const fn has_digest(&self) -> bool {
        self.list.digest.is_some()
    }

    /// Reads the whole content and returns its digest, which `docs/formats/generations.md` defines.
    ///
    /// # Errors
    /// If the content cannot be read.
    pub fn digest(&self) -> Result<[u8; 32], VerifyError> {
        Ok(digest(&self.data, &self.list.data)?)
    }
}

impl<S: Storage + Sync> Pool<S> {
    /// Opens a sealed generation.
    ///
    /// # Errors
    /// If a file is missing or damaged.
    pub fn open_sealed(&self, id: GenerationId) -> Result<SealedGeneration<S::File>, VerifyError> {
        let list = BlockList::read(self.storage.as_ref(), id)?;
        let data = open_sealed(self.storage.as_ref(), &list)?;
        Ok(SealedGeneration { list, data })
    }

    /// Reads a sealed generation as a whole and compares it with what was recorded.
    ///
    /// # Errors
    /// The first fault, with the file's name, or the error of a file that cannot be read.
    pub fn verify(&self, id: GenerationId) -> Result<Verified, VerifyError> {
        let sealed = self.open_sealed(id)?;
        match sealed.list.digest {
            None => Ok(Verified::ListOnly),
            Some(recorded) if recorded == sealed.digest()? => Ok(Verified::Content),
            Some(_) => Err(damaged(&names::data(id))(Fault::Content).into()),
        }
    }

    /// Takes the digest of a sealed generation and records it if there is none yet.
    ///
    /// # Errors
    /// If a file is missing, damaged or cannot be written.
    pub fn record_digest(&self, id: GenerationId) -> Result<(), VerifyError> {
        let sealed = self.open_sealed(id)?;
        if sealed.has_digest() {
            return Ok(());
        }
        self.set_digest(id, sealed.digest()?)
    }

    /// Records the digest of a sealed generation if there is none yet. The caller sees to it that no other
    /// process does so at the same time.
    ///
    /// # Errors
    /// If the list is missing, damaged or cannot be written.
    pub fn set_digest(&self, id: GenerationId, digest: [u8; 32]) -> Result<(), VerifyError> {
        let mut list = BlockList::read(self.storage.as_ref(), id)?;
        if list.digest.is_some() {
            return Ok(());
        }
        list.digest = Some(digest);
        let name = names::blocks(id);
        Ok(replace(self.storage.as_ref(), &name, &list.to_bytes())?)
    }
}

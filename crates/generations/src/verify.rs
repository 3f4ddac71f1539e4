use crate::GenerationId;
use crate::block_list::BlockList;
use crate::content::digest;
use crate::error::{Fault, VerifyError};
use crate::names;
use crate::open::open_sealed;
use crate::pool::Pool;
use crate::sealed::{damaged, replace};
use crate::storage::Storage;

/// The result of verifying a generation that is not damaged as far as can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// List, length and content are what was recorded.
    Content,
    /// List and length are what was recorded; the digest of the content was not taken yet.
    ListOnly,
}

impl<S: Storage + Sync> Pool<S> {
    /// Reads a sealed generation as a whole and compares it with what was recorded.
    ///
    /// # Errors
    /// The first fault, with the file's name, or the error of a file that cannot be read.
    pub fn verify(&self, id: GenerationId) -> Result<Verified, VerifyError> {
        let list = BlockList::read(self.storage.as_ref(), id)?;
        let data = open_sealed(self.storage.as_ref(), &list)?;
        match list.digest {
            None => Ok(Verified::ListOnly),
            Some(recorded) if recorded == digest(&data, &list.data)? => Ok(Verified::Content),
            Some(_) => Err(damaged(&names::data(id))(Fault::Content).into()),
        }
    }

    /// Takes the digest of a sealed generation's content, records it if there is none yet, and
    /// returns the recorded one. It reads the whole generation, so it is work for the background.
    ///
    /// # Errors
    /// If a file is missing, damaged or cannot be written.
    pub fn record_digest(&self, id: GenerationId) -> Result<[u8; 32], VerifyError> {
        let mut list = BlockList::read(self.storage.as_ref(), id)?;
        if let Some(recorded) = list.digest {
            return Ok(recorded);
        }
        let data = open_sealed(self.storage.as_ref(), &list)?;
        let digest = digest(&data, &list.data)?;
        list.digest = Some(digest);
        let name = names::blocks(id);
        replace(self.storage.as_ref(), &name, &list.to_bytes())?;
        Ok(digest)
    }
}

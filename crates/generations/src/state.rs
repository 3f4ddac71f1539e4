use std::collections::HashSet;

use crate::block::{GENERATIONS_MAX, SECTOR_BYTES, SIZE_MAX_BYTES};
use crate::error::{Fault, InvalidSize};
use crate::sealed::{Fields, seal, unseal};
use crate::{DiskId, GenerationId};

/// The magic of a state and of a disk's record, with the version of the format.
const MAGIC: [u8; 8] = *b"GENDISK1";

/// A disk at one moment: its size, and the sealed generations that hold its blocks, the oldest
/// first. A snapshot is a state that somebody keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The size of the disk, in bytes.
    pub size_bytes: u64,
    /// The generations; a block is in the newest one that lists it.
    pub generations: Vec<GenerationId>,
}

impl State {
    /// Returns the state as bytes with a seal, to be kept in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(self, [[0; 16]; 3])
    }

    /// Reads the bytes that [`State::to_bytes`] returned.
    ///
    /// # Errors
    /// The fault of the bytes, if they are not those of a state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Fault> {
        let (state, ids) = decode(bytes)?;
        (ids == [[0; 16]; 3])
            .then_some(state)
            .ok_or(Fault::Identity {
                found: "a disk".to_owned(),
            })
    }

    /// Replaces consecutive generations by the one that they were merged into; returns false and
    /// changes nothing if the state does not have them one after the other.
    pub fn replace_merged(&mut self, merged: &[GenerationId], into: GenerationId) -> bool {
        let Some(start) = position(&self.generations, merged) else {
            return false;
        };
        self.generations.splice(start..start + merged.len(), [into]);
        true
    }
}

/// Returns the index in `all` at which `part` begins; `None` if it is empty or not there.
fn position(all: &[GenerationId], part: &[GenerationId]) -> Option<usize> {
    if part.is_empty() {
        return None;
    }
    all.windows(part.len()).position(|window| window == part)
}

/// The record of a disk: `<disk>.disk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskRecord {
    pub(crate) disk: DiskId,
    /// The size of the disk, and its sealed generations.
    pub(crate) state: State,
    /// The generation that is written to; `None` until the disk is first opened for writing.
    pub(crate) head: Option<GenerationId>,
    /// The generation that the next cut begins, so that its files are known to belong to the disk
    /// before the record says that it is the head.
    pub(crate) next: GenerationId,
}

impl DiskRecord {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let head = self.head.map_or([0; 16], GenerationId::to_bytes);
        encode(
            &self.state,
            [self.disk.to_bytes(), head, self.next.to_bytes()],
        )
    }

    pub(crate) fn from_bytes(bytes: &[u8], disk: DiskId) -> Result<Self, Fault> {
        let (state, [found, head, next]) = decode(bytes)?;
        if found != disk.to_bytes() {
            let found = DiskId::from_bytes(found);
            let found = found.map_or_else(|| "no disk".to_owned(), |id| format!("disk {id}"));
            return Err(Fault::Identity { found });
        }
        let head = GenerationId::from_bytes(head);
        let next = GenerationId::from_bytes(next);
        let next = next.ok_or(Fault::Field {
            name: "next",
            value: 0,
        })?;
        if Some(next) == head
            || state.generations.contains(&next)
            || head.is_some_and(|head| state.generations.contains(&head))
        {
            return Err(twice());
        }
        Ok(Self {
            disk,
            state,
            head,
            next,
        })
    }
}

/// Checks a size.
pub(crate) fn check_size(size_bytes: u64) -> Result<(), InvalidSize> {
    let is_valid = size_bytes.is_multiple_of(SECTOR_BYTES) && size_bytes <= SIZE_MAX_BYTES;
    is_valid.then_some(()).ok_or(InvalidSize { size_bytes })
}

/// Writes a state, and the identifiers of disk, head and next generation, which a snapshot lacks.
fn encode(state: &State, ids: [[u8; 16]; 3]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for id in ids {
        bytes.extend_from_slice(&id);
    }
    bytes.extend_from_slice(&state.size_bytes.to_le_bytes());
    let count = u64::try_from(state.generations.len()).expect("at most 65,535");
    bytes.extend_from_slice(&count.to_le_bytes());
    for id in &state.generations {
        bytes.extend_from_slice(&id.to_bytes());
    }
    seal(bytes)
}

fn decode(bytes: &[u8]) -> Result<(State, [[u8; 16]; 3]), Fault> {
    let mut fields = Fields::new(unseal(bytes)?);
    fields.magic(MAGIC)?;
    let ids = [fields.array()?, fields.array()?, fields.array()?];
    let size_bytes = fields.u64()?;
    let count = fields.u64()?;
    check_size(size_bytes).map_err(|_| Fault::Field {
        name: "size_bytes",
        value: size_bytes,
    })?;
    if usize::try_from(count).is_ok_and(|count| count > GENERATIONS_MAX) {
        let name = "count";
        return Err(Fault::Field { name, value: count });
    }
    let mut generations = Vec::new();
    let mut seen = HashSet::new();
    for _ in 0..count {
        let id = fields.id(GenerationId::from_bytes)?.ok_or(Fault::Field {
            name: "generation",
            value: 0,
        })?;
        if !seen.insert(id) {
            return Err(twice());
        }
        generations.push(id);
    }
    fields.end()?;
    let state = State {
        size_bytes,
        generations,
    };
    Ok((state, ids))
}

fn twice() -> Fault {
    Fault::Identity {
        found: "a generation that it lists twice".to_owned(),
    }
}

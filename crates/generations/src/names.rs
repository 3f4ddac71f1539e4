//! The names of a pool's files.

use crate::{DiskId, GenerationId};

/// The suffix of a file that is not finished; it is renamed when it is.
const UNFINISHED: &str = ".new";

pub(crate) fn data(id: GenerationId) -> String {
    format!("{id}.data")
}

pub(crate) fn blocks(id: GenerationId) -> String {
    format!("{id}.blocks")
}

pub(crate) fn log(id: GenerationId) -> String {
    format!("{id}.log")
}

pub(crate) fn disk(id: DiskId) -> String {
    format!("{id}.disk")
}

pub(crate) fn lock(id: DiskId) -> String {
    format!("{id}.lock")
}

pub(crate) fn unfinished(name: &str) -> String {
    format!("{name}{UNFINISHED}")
}

/// A file of a pool, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The data or the list of a generation.
    Generation(GenerationId),
    /// The log of a head.
    Log(GenerationId),
    /// The record of a disk; not finished before it is renamed.
    Disk { disk: DiskId, is_finished: bool },
}

/// Returns the role of a file; `None` if the pool does not own a file of this name.
pub(crate) fn role(name: &str) -> Option<Role> {
    let finished = name.strip_suffix(UNFINISHED);
    let (id, extension) = finished.unwrap_or(name).split_once('.')?;
    match extension {
        "data" | "blocks" => GenerationId::parse(id).map(Role::Generation),
        "log" => GenerationId::parse(id).map(Role::Log),
        "disk" => Some(Role::Disk {
            disk: DiskId::parse(id)?,
            is_finished: finished.is_none(),
        }),
        _ => None,
    }
}

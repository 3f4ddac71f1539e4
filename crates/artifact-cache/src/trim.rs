use std::io;

use crate::recency::Slot;
use crate::{Artifact, CacheFile};

/// The result of a [`trim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trimmed {
    /// The space of all cache files afterwards, in bytes.
    pub allocated_bytes: u64,
    /// The space that was freed, in bytes.
    pub freed_bytes: u64,
}

/// Frees parts of the artifacts' cache files, those that were not used for the longest time first, until all of them
/// together take at most `limit_bytes`. Artifacts without sources count, and keep their bytes.
///
/// Others may read and fill the files meanwhile.
///
/// # Errors
/// If the space of a file is unknown, or a part cannot be freed. Other parts may have been freed.
pub fn trim(artifacts: &[&Artifact], limit_bytes: u64) -> io::Result<Trimmed> {
    let mut trimmed = Trimmed::default();
    let mut parts: Vec<(Slot, &dyn CacheFile)> = Vec::new();
    for artifact in artifacts {
        trimmed.allocated_bytes += artifact.cache.allocated_bytes()?;
        if !artifact.sources.is_empty() {
            let slots = artifact.recency().slots(artifact.size_bytes);
            parts.extend(slots.map(|slot| (slot, artifact.cache.as_ref())));
        }
    }
    parts.sort_by_key(|(slot, _)| *slot);
    for (slot, cache) in parts {
        if trimmed.allocated_bytes <= limit_bytes {
            break;
        }
        let before_bytes = cache.allocated_bytes()?;
        cache.punch(slot.offset_bytes, slot.length_bytes)?;
        let freed_bytes = before_bytes.saturating_sub(cache.allocated_bytes()?);
        trimmed.allocated_bytes = trimmed.allocated_bytes.saturating_sub(freed_bytes);
        trimmed.freed_bytes += freed_bytes;
    }
    Ok(trimmed)
}

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;

use anyhow::Result;
use fs_err as fs;

/// Returns a number that changes if the file at `path` is replaced or changed.
pub(crate) fn read(path: &Path) -> Result<u64> {
    let path = fs::canonicalize(path)?;
    let metadata = fs::metadata(&path)?;
    let mut hasher = DefaultHasher::new();
    (path, metadata.len(), metadata.modified()?).hash(&mut hasher);
    Ok(hasher.finish())
}

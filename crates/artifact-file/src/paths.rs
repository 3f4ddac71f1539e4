use std::path::{Path, PathBuf};

/// Returns the path of the packed form of an artifact, beside the plain one.
pub fn packed_path(plain: &Path) -> PathBuf {
    plain.with_extension("packed")
}

/// Returns the path of the cache file of an artifact's packed form.
pub fn cache_path(plain: &Path) -> PathBuf {
    plain.with_extension("cache")
}

/// Returns the path of the tree of an artifact.
pub fn tree_path(plain: &Path) -> PathBuf {
    plain.with_extension("tree")
}

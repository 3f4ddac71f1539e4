use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// A directory of what recipes keep, made if it is not there.
pub(crate) fn kept(name: &str) -> Result<PathBuf> {
    let directory = root().join("target/xtask").join(name);
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    Ok(directory)
}

/// An empty directory for one run of a recipe.
pub(crate) fn scratch(name: &str) -> Result<PathBuf> {
    let directory = root().join("target/xtask/scratch").join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory)
            .with_context(|| format!("cannot empty {}", directory.display()))?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

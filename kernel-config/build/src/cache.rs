//! The directory that keeps kernels between builds and working trees.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

/// Returns the path of the kernel that is built from these inputs.
///
/// # Errors
/// If neither `XDG_CACHE_HOME` nor `HOME` is set.
pub(crate) fn path(inputs: &[&str]) -> Result<PathBuf> {
    Ok(directory()?.join(digest(inputs)).join("vmlinux"))
}

/// Copies a kernel to its path in the cache. A crash leaves the whole kernel or none.
pub(crate) fn keep(built: &Path, kept: &Path) -> Result<()> {
    let directory = kept.parent().context("a kernel has a directory")?;
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let bytes = fs::read(built).with_context(|| format!("cannot read {}", built.display()))?;
    durable_files::publish_bytes(kept, &bytes)
        .with_context(|| format!("cannot write {}", kept.display()))
}

fn directory() -> Result<PathBuf> {
    let named = |name| env::var_os(name).filter(|value| !value.is_empty());
    let cache = match named("XDG_CACHE_HOME") {
        Some(cache) => PathBuf::from(cache),
        None => {
            let home = named("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?;
            PathBuf::from(home).join(".cache")
        }
    };
    Ok(cache.join("msb/kernel"))
}

/// Returns the digest of the inputs. Lengths keep a byte from moving between two of them.
fn digest(inputs: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for input in inputs {
        hasher.update(format!("{}\n", input.len()));
        hasher.update(input);
    }
    hex::encode(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_changes_the_digest() {
        let digests = [&["a", "bc"], &["ab", "c"], &["a", "bd"]].map(|inputs| digest(inputs));
        assert_ne!(digests[0], digests[1]);
        assert_ne!(digests[0], digests[2]);
        assert_eq!(digests[0], digest(&["a", "bc"]));
    }
}

//! The directory that keeps kernels between builds and working trees.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

/// The place of the kernel that is built from one set of inputs, and of its source.
pub(crate) struct Entry {
    directory: PathBuf,
    /// The name of the kernel's file. It is written last: where it is, the others are.
    kernel: &'static str,
}

impl Entry {
    /// Returns the place for these inputs, with the name of the kernel's file.
    ///
    /// # Errors
    /// If neither `XDG_CACHE_HOME` nor `HOME` is set.
    pub(crate) fn new(inputs: &[&str], kernel: &'static str) -> Result<Self> {
        Ok(Self {
            directory: directory()?.join(digest(inputs)),
            kernel,
        })
    }

    /// Returns the path of the kernel, whether it is there or not.
    pub(crate) fn kernel(&self) -> PathBuf {
        self.directory.join(self.kernel)
    }

    /// Keeps a kernel and the files of its source, by name. A crash leaves the whole kernel or none.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn keep(&self, kernel: &[u8], source: &[(&str, &str)]) -> Result<()> {
        for (name, text) in source {
            publish(&self.directory.join(name), text.as_bytes())?;
        }
        publish(&self.kernel(), kernel)
    }
}

fn publish(path: &Path, bytes: &[u8]) -> Result<()> {
    let directory = path.parent().context("a file has a directory")?;
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    durable_files::publish_bytes(path, bytes)
        .with_context(|| format!("cannot write {}", path.display()))
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

    #[test]
    fn the_source_is_kept_beside_the_kernel() {
        let directory = tempfile::tempdir().expect("a directory");
        let entry = Entry {
            directory: directory.path().join("digest"),
            kernel: "vmlinux",
        };
        let source = [("SOURCE.md", "source\n"), ("patches/a.patch", "patch\n")];
        entry.keep(b"kernel", &source).expect("kept");
        let kept = |name| std::fs::read(directory.path().join("digest").join(name)).expect(name);
        assert_eq!(kept("vmlinux"), b"kernel");
        assert_eq!(kept("SOURCE.md"), b"source\n");
        assert_eq!(kept("patches/a.patch"), b"patch\n");
    }
}

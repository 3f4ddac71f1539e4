//! The kernels of a release, and their sources.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use fs_err as fs;
use guest_kernel::Architecture;
use test_fixtures::kernel;

use crate::tree::{DATA, Tree};

/// The end of the release of a kernel that is built from kernel-config.
const OWN: &str = "-msb";
/// The file beside a built kernel that says from which source it was built, and offers it.
const OFFER: &str = "SOURCE.md";
/// The size limit of a file beside the kernel. The largest one, the configuration, has 70 KiB.
const FILE_MAX_BYTES: u64 = 4 << 20;

/// The kernels of a release.
#[derive(Debug, Clone)]
pub(crate) struct Kernels {
    /// The kernel that most sandboxes boot.
    pub(crate) usual: Kernel,
    /// The kernel that has the filesystems of disk images, too.
    pub(crate) with_filesystems: Kernel,
}

impl Kernels {
    /// Reads kernels that `cargo xtask kernel-build` has made, or has them made.
    ///
    /// # Errors
    /// If one cannot be built or read, is another one, or has no source beside it.
    pub(crate) fn get(usual: Option<&Path>, with_filesystems: Option<&Path>) -> Result<Self> {
        let read = |given: Option<&Path>, make: fn() -> Result<PathBuf>| {
            let path = given.map_or_else(make, |given| Ok(given.to_owned()))?;
            Kernel::read(&path, Architecture::HOST)
        };
        Ok(Self {
            usual: read(usual, kernel::own)?,
            with_filesystems: read(with_filesystems, kernel::with_filesystems)?,
        })
    }
}

/// A kernel that sandboxes boot.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    /// The `vmlinux`.
    pub(crate) bytes: Vec<u8>,
    /// Its `uname -r`.
    pub(crate) release: String,
    /// The offer of its source.
    pub(crate) offer: String,
    /// The offer, and what the kernel was built from beside the distribution's package: its
    /// configuration and its patches.
    pub(crate) source: Tree,
}

impl Kernel {
    fn read(path: &Path, architecture: Architecture) -> Result<Self> {
        let bytes = fs::read(path)?;
        let shown = path.display();
        let kernel = guest_kernel::wrap(&bytes, architecture)
            .with_context(|| format!("cannot use {shown}"))?;
        let release = kernel.release.unwrap_or_default();
        ensure!(
            release.ends_with(OWN),
            "{shown} is the kernel '{release}'. A release has the kernel of cargo xtask \
             kernel-build, whose source it can offer; give the path that this prints"
        );
        let directory = path.parent().context("a file has a directory")?;
        let mut source = Tree::default();
        add_files(&mut source, directory, "", architecture.kernel_file())?;
        let offer = source.files().find(|(name, _)| *name == OFFER);
        let (_, offer) = offer.with_context(|| {
            format!("{shown} has no {OFFER} beside it, and a kernel must not be passed on without")
        })?;
        Ok(Self {
            bytes,
            release,
            offer: String::from_utf8(offer.bytes.clone())?,
            source,
        })
    }
}

/// Adds the files beside a kernel, which has the name `kernel`, and those of the directories beside it.
fn add_files(source: &mut Tree, directory: &Path, prefix: &str, kernel: &str) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let status = entry.metadata()?;
        if status.is_dir() && prefix.is_empty() {
            add_files(source, &entry.path(), &format!("{name}/"), kernel)?;
        } else if status.is_file() && status.len() <= FILE_MAX_BYTES && name != kernel {
            source.insert(format!("{prefix}{name}"), DATA, fs::read(entry.path())?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_its_source_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("Image");
        // An arm64 `Image` is the shortest kernel.
        let image = |release: &str| {
            let banner = format!("Linux version {release} (msb@msb)\n");
            testkit::arm64_image(&[testkit::KERNEL_DRIVERS, banner.as_bytes()].concat())
        };
        let read = || Kernel::read(&path, Architecture::Aarch64);
        fs::write(&path, image("6.12.1")).expect("written");
        let error = read().expect_err("another kernel").to_string();
        assert!(error.contains("is the kernel '6.12.1'"), "{error}");
        fs::write(&path, image("6.12.1-msb")).expect("written");
        let error = read().expect_err("no source").to_string();
        assert!(error.contains("has no SOURCE.md beside it"), "{error}");
        fs::write(directory.path().join(OFFER), "offer").expect("written");
        fs::create_dir(directory.path().join("patches")).expect("made");
        fs::write(directory.path().join("patches/a.patch"), "patch").expect("written");
        let kernel = read().expect("a kernel with its source");
        assert_eq!(kernel.offer, "offer");
        assert!(
            kernel
                .source
                .files()
                .any(|(name, _)| name == "patches/a.patch")
        );
    }
}

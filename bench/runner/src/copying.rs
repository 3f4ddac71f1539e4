use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::message::Lower;

/// The prefix of names that stay until the end.
pub(crate) const KEPT: &str = "msb-bench-kept-";

/// The content of a directory, in an order that is the same everywhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    /// Directories, the root first.
    pub(crate) directories: Vec<PathBuf>,
    /// Regular files, in order of their paths.
    pub(crate) files: Vec<PathBuf>,
    /// Symlinks, in order of their paths.
    pub(crate) links: Vec<PathBuf>,
}

impl Listing {
    /// Lists a tree. Symlinks are not followed.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut listing = Self::default();
        let mut open = vec![root.to_owned()];
        while let Some(directory) = open.pop() {
            let entries = fs::read_dir(&directory)
                .with_context(|| format!("cannot list {}", directory.display()))?;
            for entry in entries {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    open.push(entry.path());
                } else if kind.is_file() {
                    listing.files.push(entry.path());
                } else if kind.is_symlink() {
                    listing.links.push(entry.path());
                }
            }
            listing.directories.push(directory);
        }
        listing.directories.sort();
        listing.files.sort();
        listing.links.sort();
        Ok(listing)
    }
}

/// Copies the directories, files and symlinks of a tree to a directory that does not exist yet.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    let listing = Listing::read(from)?;
    let place = |path: &Path| -> Result<PathBuf> { Ok(to.join(path.strip_prefix(from)?)) };
    for directory in &listing.directories {
        fs::create_dir_all(place(directory)?)?;
    }
    for file in &listing.files {
        let target = place(file)?;
        fs::copy(file, &target).with_context(|| format!("cannot write {}", target.display()))?;
    }
    for link in &listing.links {
        symlink(fs::read_link(link)?, place(link)?)?;
    }
    Ok(())
}

/// Copies the files to work on. Returns their paths.
pub(crate) fn copied(work: &Path, source: &Lower, with_large: bool) -> Result<Lower> {
    let tree = work.join(format!("{KEPT}tree"));
    copy_tree(&source.tree, &tree)?;
    let mut large = None;
    if let Some(file) = source.large.as_ref().filter(|_| with_large) {
        let target = work.join(format!("{KEPT}large"));
        fs::copy(file, &target).with_context(|| format!("cannot write {}", target.display()))?;
        large = Some(target);
    }
    Ok(Lower { tree, large })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Listing, copy_tree};

    #[test]
    fn a_copy_has_what_the_tree_has() {
        let work = tempfile::tempdir().unwrap();
        let (from, to) = (work.path().join("from"), work.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/file"), "text").unwrap();
        std::os::unix::fs::symlink("file", from.join("a/link")).unwrap();
        copy_tree(&from, &to).unwrap();
        let listing = Listing::read(&to).unwrap();
        assert_eq!(
            listing.directories,
            [to.clone(), to.join("a"), to.join("a/b")]
        );
        assert_eq!(listing.files, [to.join("a/file")]);
        assert_eq!(fs::read_to_string(to.join("a/link")).unwrap(), "text");
    }
}

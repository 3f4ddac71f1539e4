//! Layers as an attacker or a careless archiver writes them.

mod changes;
mod compression;
mod escapes;
mod headers;
mod pax;
mod sparse;
mod whiteouts;

use testkit::{TarBuilder, TarEntry};

/// Layers, base first, under a name that describes the case.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) layers: Vec<Vec<u8>>,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, layers: Vec<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            layers,
        }
    }

    /// Returns a case of one layer.
    fn one(name: impl Into<String>, entries: impl IntoIterator<Item = TarEntry>) -> Self {
        Self::new(name, vec![TarBuilder::archive(entries)])
    }

    /// Returns a case of two layers.
    fn two(
        name: impl Into<String>,
        lower: impl IntoIterator<Item = TarEntry>,
        upper: impl IntoIterator<Item = TarEntry>,
    ) -> Self {
        Self::new(
            name,
            vec![TarBuilder::archive(lower), TarBuilder::archive(upper)],
        )
    }
}

/// Returns every hostile case of this module.
pub(super) fn hostile() -> Vec<Case> {
    [
        changes::cases(),
        compression::cases(),
        escapes::cases(),
        headers::cases(),
        pax::cases(),
        sparse::cases(),
        whiteouts::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns a file whose content is its path.
fn file(path: &str) -> TarEntry {
    TarEntry::file(path, path).mtime(1_600_000_000, 0)
}

fn directory(path: &str) -> TarEntry {
    TarEntry::directory(path).mtime(1_600_000_001, 0)
}

fn symlink(path: &str, target: &str) -> TarEntry {
    TarEntry::symlink(path, target).mtime(1_600_000_002, 0)
}

/// Returns a hard link with a file's attributes.
fn hardlink(path: &str, target: &str) -> TarEntry {
    TarEntry::hardlink(path, target).mtime(1_600_000_000, 0)
}

fn entry(type_flag: u8, path: &str) -> TarEntry {
    TarEntry::new(type_flag, path).mtime(1_600_000_003, 0)
}

//! Layers as an attacker, or a careless archiver, writes them.

mod changes;
mod compression;
mod escapes;
mod headers;
mod pax;
mod sparse;
mod whiteouts;

use testkit::{TarBuilder, TarEntry};

/// Layers, base first, under a name that says what is odd about them.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) layers: Vec<Vec<u8>>,
}

impl Case {
    pub(super) fn new(name: impl Into<String>, layers: Vec<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            layers,
        }
    }

    /// One layer of entries.
    fn one(name: impl Into<String>, entries: impl IntoIterator<Item = TarEntry>) -> Self {
        Self::new(name, vec![TarBuilder::of(entries)])
    }

    /// Two layers of entries.
    fn two(
        name: impl Into<String>,
        lower: impl IntoIterator<Item = TarEntry>,
        upper: impl IntoIterator<Item = TarEntry>,
    ) -> Self {
        Self::new(name, vec![TarBuilder::of(lower), TarBuilder::of(upper)])
    }
}

/// Every hostile case that is made here.
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

/// A file whose content is its path.
fn file(path: &str) -> TarEntry {
    TarEntry::file(path, path).mtime(1_600_000_000, 0)
}

fn directory(path: &str) -> TarEntry {
    TarEntry::directory(path).mtime(1_600_000_001, 0)
}

fn symlink(path: &str, target: &str) -> TarEntry {
    TarEntry::symlink(path, target).mtime(1_600_000_002, 0)
}

/// A hard link with a file's attributes.
fn hardlink(path: &str, target: &str) -> TarEntry {
    TarEntry::hardlink(path, target).mtime(1_600_000_000, 0)
}

fn entry(type_flag: u8, path: &str) -> TarEntry {
    TarEntry::new(type_flag, path).mtime(1_600_000_003, 0)
}

//! All sandboxes of a home, those whose descriptions cannot be read among them.

use std::io;
use std::path::Path;

use diagnosis::io_error;
use fs_err as fs;

use super::record::{self, Reading};
use super::{Sandbox, SandboxPaths, UnreadableSandbox};
use crate::Home;

/// The sandboxes of a home, each in exactly one of the lists.
#[derive(Debug, Default)]
pub struct Listing {
    /// Sandboxes, the oldest first.
    pub sandboxes: Vec<Sandbox>,
    /// Sandboxes whose descriptions cannot be read, in the order of their ids. They have an image,
    /// volumes and a name, which may be unknown.
    pub unreadable: Vec<UnreadableSandbox>,
}

impl Sandbox {
    /// Returns every sandbox in `home`. Directories without a record are skipped.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn list(home: &Home) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for directory in directories(home)? {
            let files = SandboxPaths { directory };
            match record::read(&files) {
                Reading::Missing => {}
                Reading::Read(record) => listing.sandboxes.push(Self {
                    spec: record.spec,
                    record_damage: record.damage,
                    staging: None,
                    files,
                }),
                Reading::Unusable(error, remains) => {
                    let unreadable = UnreadableSandbox::new(files, error, remains);
                    listing.unreadable.push(unreadable);
                }
            }
        }
        listing.sandboxes.sort_by(|a, b| {
            (a.spec.created_s, &a.spec.name).cmp(&(b.spec.created_s, &b.spec.name))
        });
        listing.unreadable.sort_by(|a, b| a.id().cmp(b.id()));
        Ok(listing)
    }

    /// Returns every sandbox in `home` whose description can be read, the oldest first.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn all(home: &Home) -> io::Result<Vec<Self>> {
        Ok(Self::list(home)?.sandboxes)
    }

    /// Returns the sandbox with this name or id, or whose id alone begins with `name`.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read; or, with a
    /// [`RecordError`](super::RecordError), if the sandbox's description cannot be.
    pub fn find(home: &Home, name: &str) -> io::Result<Option<Self>> {
        let listing = Self::list(home)?;
        if let Some(unreadable) = listing.find_unreadable(name) {
            let error = unreadable.error().clone();
            return Err(io_error(io::ErrorKind::InvalidData, error));
        }
        let mut sandboxes = listing.sandboxes;
        if let Some(index) = sandboxes
            .iter()
            .position(|sandbox| sandbox.spec.name == name)
        {
            return Ok(Some(sandboxes.swap_remove(index)));
        }
        sandboxes.retain(|sandbox| is_prefix(name, sandbox.spec.id.as_str()));
        Ok(if sandboxes.len() == 1 {
            sandboxes.pop()
        } else {
            None
        })
    }

    /// Returns the sandbox with this name or id if its description cannot be read; `None` if it can be,
    /// or there is no such sandbox.
    ///
    /// # Errors
    /// If the directory of sandboxes cannot be read.
    pub fn find_unreadable(home: &Home, name: &str) -> io::Result<Option<UnreadableSandbox>> {
        let listing = Self::list(home)?;
        Ok(listing.find_unreadable(name).cloned())
    }
}

impl Listing {
    /// Returns the unreadable sandbox that a name, an id or the beginning of an id selects. A sandbox
    /// that can be read comes before it.
    fn find_unreadable(&self, name: &str) -> Option<&UnreadableSandbox> {
        if self
            .sandboxes
            .iter()
            .any(|sandbox| sandbox.spec.name == name)
        {
            return None;
        }
        if let Some(named) = self.unreadable.iter().find(|one| one.name() == name) {
            return Some(named);
        }
        let readable = self
            .sandboxes
            .iter()
            .map(|sandbox| sandbox.spec.id.as_str());
        let ids = readable.chain(self.unreadable.iter().map(UnreadableSandbox::id));
        if ids.filter(|id| is_prefix(name, id)).count() != 1 {
            return None;
        }
        self.unreadable.iter().find(|one| is_prefix(name, one.id()))
    }
}

fn is_prefix(name: &str, id: &str) -> bool {
    !name.is_empty() && id.starts_with(name)
}

/// Returns what lies in the directory of sandboxes, in no order.
pub(super) fn directories(home: &Home) -> io::Result<Vec<std::path::PathBuf>> {
    let entries = match fs::read_dir(home.sandboxes()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    entries.map(|entry| Ok(entry?.path())).collect()
}

/// Returns the id of the sandbox in a directory.
pub(super) fn id_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

use std::collections::BTreeMap;

use fstree::{InodeId, Xattrs};
use xxhash_rust::xxh64::xxh64;

use super::push_entry;
use crate::error::InvalidInode;

/// Most different attributes that are shared. Attributes that nearly every image has are a handful.
const DISTINCT_MAX: usize = 65_536;
/// Most bytes of shared attributes that a reader of an image reads. `READ_PER_INODE_BYTES` is added
/// for each inode. A shared attribute is read once for each inode that has it, and a small image
/// must not take long to read.
const READ_MAX_BYTES: u64 = 32 << 20;
const READ_PER_INODE_BYTES: u64 = 256;

/// An attribute's full name and its value.
type Xattr<'tree> = (&'tree [u8], &'tree [u8]);

/// The attributes that more than one inode has, each stored once.
///
/// They are sorted by name and value, so the same tree gives the same bytes.
#[derive(Debug)]
pub(crate) struct SharedXattrs<'tree> {
    identifiers: BTreeMap<Xattr<'tree>, u32>,
    area: Vec<u8>,
}

/// The inodes that have an attribute.
struct Uses {
    first: InodeId,
    count: u64,
}

impl<'tree> SharedXattrs<'tree> {
    /// Finds the attributes that more than one inode has. An error comes with the first inode that
    /// has the attribute.
    pub(crate) fn plan(
        inodes: impl Iterator<Item = (InodeId, &'tree Xattrs)> + Clone,
    ) -> Result<Self, (InodeId, InvalidInode)> {
        let mut shared = Self {
            identifiers: BTreeMap::new(),
            area: Vec::new(),
        };
        let hashes = repeated_hashes(inodes.clone().flat_map(|(_, xattrs)| xattrs));
        if hashes.is_empty() {
            return Ok(shared);
        }
        let inode_count = u64::try_from(inodes.clone().count()).unwrap_or(u64::MAX);
        let mut readable_bytes = READ_MAX_BYTES + inode_count.saturating_mul(READ_PER_INODE_BYTES);
        for (xattr, uses) in repeated(inodes, &hashes) {
            let start = shared.area.len();
            // Identifiers have 32 bits, in units of 4 bytes. Attributes past that stay inline.
            let Ok(identifier) = u32::try_from(start / 4) else {
                break;
            };
            let (name, value) = xattr;
            push_entry(&mut shared.area, name, value).map_err(|problem| (uses.first, problem))?;
            let entry_bytes = u64::try_from(shared.area.len() - start).unwrap_or(u64::MAX);
            let read_bytes = entry_bytes.saturating_mul(uses.count);
            if let Some(rest) = readable_bytes.checked_sub(read_bytes) {
                readable_bytes = rest;
                shared.identifiers.insert(xattr, identifier);
            } else {
                shared.area.truncate(start);
            }
        }
        Ok(shared)
    }

    /// Returns the offset of an attribute in the area, in units of 4 bytes. `None` if it is not
    /// shared.
    pub(super) fn identifier(&self, name: &[u8], value: &[u8]) -> Option<u32> {
        self.identifiers.get(&(name, value)).copied()
    }

    /// Returns the bytes of the whole area.
    pub(crate) fn area(&self) -> &[u8] {
        &self.area
    }
}

/// Returns the attributes that more than one inode has and whose hash is one of `hashes`.
fn repeated<'tree>(
    inodes: impl Iterator<Item = (InodeId, &'tree Xattrs)>,
    hashes: &[u64],
) -> BTreeMap<Xattr<'tree>, Uses> {
    let mut all: BTreeMap<Xattr<'_>, Uses> = BTreeMap::new();
    for (first, xattrs) in inodes {
        for xattr in xattrs {
            if hashes.binary_search(&hash_of(xattr)).is_ok() {
                let uses = all.entry(xattr).or_insert(Uses { first, count: 0 });
                uses.count += 1;
            }
        }
    }
    all.retain(|_, uses| uses.count > 1);
    all
}

/// Returns the hashes that more than one attribute has, sorted. The search takes eight bytes for
/// each attribute.
fn repeated_hashes<'tree>(xattrs: impl Iterator<Item = Xattr<'tree>>) -> Vec<u64> {
    let mut hashes: Vec<u64> = xattrs.map(hash_of).collect();
    hashes.sort_unstable();
    let runs = hashes.chunk_by(|one, next| one == next);
    let repeated = runs.filter(|run| run.len() > 1).map(|run| run[0]);
    repeated.take(DISTINCT_MAX).collect()
}

fn hash_of((name, value): Xattr<'_>) -> u64 {
    xxh64(value, xxh64(name, 0))
}

#[cfg(test)]
mod tests {
    use fstree::{Metadata, Tree};

    use super::*;

    #[test]
    fn what_would_be_read_too_often_is_not_shared() {
        let root = Tree::<()>::new(Metadata::default()).root();
        let large = [b'v'; 60_000];
        let xattrs = Xattrs::from_iter([(&b"user.large"[..], &large[..]), (b"user.small", b"v")]);
        let plan = |count| {
            let inodes = std::iter::repeat_n((root, &xattrs), count);
            SharedXattrs::plan(inodes).expect("valid attributes")
        };
        let few = plan(100);
        assert_eq!(few.identifier(b"user.large", &large), Some(0));
        let many = plan(1000);
        assert_eq!(many.identifier(b"user.large", &large), None);
        assert_eq!(many.identifier(b"user.small", b"v"), Some(0));
        assert_eq!(many.area().len(), 12);
    }
}

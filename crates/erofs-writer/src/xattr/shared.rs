use std::collections::BTreeMap;

use fstree::{InodeId, Xattrs};

use super::push_entry;
use crate::error::InvalidInode;

/// A name and a value.
type Xattr<'tree> = (&'tree [u8], &'tree [u8]);

/// The attributes that more than one inode has, each stored once.
///
/// They lie in order of name and value, so the same tree gives the same bytes.
#[derive(Debug)]
pub(crate) struct SharedXattrs<'tree> {
    identifiers: BTreeMap<Xattr<'tree>, u32>,
    area: Vec<u8>,
}

impl<'tree> SharedXattrs<'tree> {
    /// Finds what repeats among the attributes of all inodes. An error comes with the first inode
    /// that has the attribute.
    pub(crate) fn plan(
        inodes: impl Iterator<Item = (InodeId, &'tree Xattrs)>,
    ) -> Result<Self, (InodeId, InvalidInode)> {
        let mut uses: BTreeMap<Xattr<'_>, (InodeId, bool)> = BTreeMap::new();
        for (id, xattrs) in inodes {
            for (name, value) in xattrs {
                uses.entry((name, value))
                    .and_modify(|(_, repeats)| *repeats = true)
                    .or_insert((id, false));
            }
        }
        let mut shared = Self {
            identifiers: BTreeMap::new(),
            area: Vec::new(),
        };
        for ((name, value), (id, repeats)) in uses {
            // Identifiers have 32 bits, in units of 4 bytes. What lies past that stays inline.
            let Ok(identifier) = u32::try_from(shared.area.len() / 4) else {
                break;
            };
            if repeats {
                push_entry(&mut shared.area, name, value).map_err(|problem| (id, problem))?;
                shared.identifiers.insert((name, value), identifier);
            }
        }
        Ok(shared)
    }

    /// Where an attribute lies in the area, in units of 4 bytes; `None` when it is not shared.
    pub(super) fn identifier(&self, name: &[u8], value: &[u8]) -> Option<u32> {
        self.identifiers.get(&(name, value)).copied()
    }

    /// The whole area.
    pub(crate) fn area(&self) -> &[u8] {
        &self.area
    }
}

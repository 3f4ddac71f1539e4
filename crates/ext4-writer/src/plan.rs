use fstree::{InodeId, Tree};

use crate::WriteError;
use crate::format::{FIRST_INODE, ROOT_INODE};

/// Assignment of numbers to inodes, with the first path of each.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Every reachable inode in the order of the numbers: the root, then 11 and up.
    pub(crate) inodes: Vec<Planned>,
    /// Number of each inode, by arena index; 0 if the inode cannot be reached.
    numbers: Vec<u32>,
}

/// An inode to write.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) id: InodeId,
    pub(crate) number: u32,
    /// Directory of the inode's first name.
    pub(crate) parent: InodeId,
    pub(crate) path: Vec<u8>,
    pub(crate) links: u64,
}

impl Plan {
    pub(crate) fn new<D>(tree: &Tree<D>, inodes_available: u32) -> Result<Self, WriteError> {
        let links = tree.link_counts();
        let mut numbers = vec![0; tree.len()];
        let mut inodes: Vec<Planned> = Vec::new();
        for entry in tree.walk() {
            let number = &mut numbers[entry.id.index()];
            if *number != 0 {
                continue;
            }
            *number = match u32::try_from(inodes.len()) {
                Ok(0) => ROOT_INODE,
                Ok(earlier) if FIRST_INODE + earlier - 1 <= inodes_available => {
                    FIRST_INODE + earlier - 1
                }
                _ => {
                    let available = u64::from(inodes_available);
                    return Err(WriteError::Full {
                        what: "inodes",
                        available,
                    });
                }
            };
            inodes.push(Planned {
                id: entry.id,
                number: *number,
                parent: entry.parent,
                path: entry.path,
                links: links[entry.id.index()],
            });
        }
        Ok(Self { inodes, numbers })
    }

    pub(crate) fn number(&self, id: InodeId) -> u32 {
        self.numbers[id.index()]
    }

    /// Returns the highest number in use; lower numbers are in use or reserved.
    pub(crate) fn last_number(&self) -> u32 {
        let last = self
            .inodes
            .last()
            .map_or(ROOT_INODE, |planned| planned.number);
        last.max(FIRST_INODE - 1)
    }
}

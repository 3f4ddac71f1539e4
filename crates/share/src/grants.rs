use std::collections::HashMap;

use crate::Access;

/// The open files for which a user has allowed an access, by their handles. An answer holds while the file is open.
#[derive(Default)]
pub(crate) struct Grants(HashMap<u64, Grant>);

struct Grant {
    inode: u64,
    access: Access,
}

impl Grants {
    /// Notes that the user has allowed an access to an open file.
    pub(crate) fn add(&mut self, handle: u64, inode: u64, access: Access) {
        self.0.insert(handle, Grant { inode, access });
    }

    /// Notes that a file is open no more.
    pub(crate) fn remove(&mut self, handle: u64) {
        self.0.remove(&handle);
    }

    /// Returns true if the user has allowed an access to the file that has this handle.
    pub(crate) fn allow(&self, handle: u64, inode: u64, access: Access) -> bool {
        self.0.get(&handle).is_some_and(|grant| {
            grant.inode == inode && (grant.access == access || grant.access == Access::Change)
        })
    }

    /// Returns true if the user has allowed changes of a file that is open.
    pub(crate) fn allow_changes(&self, inode: u64) -> bool {
        let mut grants = self.0.values();
        grants.any(|grant| grant.inode == inode && grant.access == Access::Change)
    }
}

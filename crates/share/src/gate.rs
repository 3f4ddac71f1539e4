use std::ffi::CStr;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::asking::Asking;
use crate::grants::Grants;
use crate::names::names_an_entry;
use crate::paths::{Paths, Ruling};
use crate::permissions::Decision;
use crate::{Access, PathAccess, Permission, Permissions};

/// The decisions about the requests for the files of an entry, by the permissions of their paths.
///
/// They are made at each request, so that nothing that a guest's kernel keeps lifts a permission.
pub(crate) struct Gate {
    /// The number of the entry.
    entry: usize,
    /// True if no file can be changed, whatever the permissions say.
    is_read_only: bool,
    permissions: Box<dyn Permissions>,
    paths: Mutex<Paths>,
    grants: Mutex<Grants>,
    asking: Arc<Asking>,
}

/// The reason why an access is permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    Permission,
    /// The user has allowed it.
    Answer,
}

impl Gate {
    pub(crate) fn new(
        entry: usize,
        is_read_only: bool,
        permissions: Box<dyn Permissions>,
        asking: Arc<Asking>,
    ) -> Self {
        Self {
            entry,
            is_read_only,
            permissions,
            paths: Mutex::default(),
            grants: Mutex::default(),
            asking,
        }
    }

    /// Checks that a file that the guest knows can be opened, or used without being open.
    pub(crate) fn permits(&self, inode: u64, access: Access) -> io::Result<Pass> {
        let ruling = self.ruling(inode)?;
        self.decide(ruling, access)
    }

    /// Checks that an open file can be used. Nobody is asked about it: it was asked about when it was opened.
    pub(crate) fn permits_open(&self, inode: u64, handle: u64, access: Access) -> io::Result<()> {
        let ruling = self.ruling(inode)?;
        match ruling.permission.decide(access) {
            Decision::Asked if self.grants().allow(handle, inode, access) => Ok(()),
            Decision::Asked => Err(refusal()),
            Decision::Permitted | Decision::Refused(_) => self.decide(ruling, access).map(drop),
        }
    }

    /// Checks that the attributes of a file can be set. If it is open for changes that the user has allowed, nobody
    /// is asked again: opening with `O_TRUNC` sets the length in a request of its own.
    pub(crate) fn permits_attributes(&self, inode: u64) -> io::Result<()> {
        let ruling = self.ruling(inode)?;
        match ruling.permission.decide(Access::Change) {
            Decision::Asked if self.grants().allow_changes(inode) => Ok(()),
            _ => self.decide(ruling, Access::Change).map(drop),
        }
    }

    /// Returns true if the extended attributes of a file can be read. A file that is asked about seems to have none:
    /// the guest's kernel reads them unasked, such as before it runs a program.
    pub(crate) fn shows_xattrs(&self, inode: u64) -> io::Result<bool> {
        match self.ruling(inode)?.permission.decide(Access::Read) {
            Decision::Permitted => Ok(true),
            Decision::Asked => Ok(false),
            Decision::Refused(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Checks that a name can be made or removed.
    pub(crate) fn permits_name(&self, parent: u64, name: &CStr) -> io::Result<Pass> {
        names_an_entry(name)?;
        let path = self.paths().path(parent, name.to_bytes())?;
        self.decide(self.ruling_of(path), Access::Change)
    }

    /// Checks that a name can be moved, with what is in it.
    pub(crate) fn permits_move(&self, parent: u64, name: &CStr) -> io::Result<()> {
        names_an_entry(name)?;
        let path = self.paths().path(parent, name.to_bytes())?;
        let keeps_its_name = self.permissions.depends_below(&path);
        let ruling = self.ruling_of(path);
        match ruling.permission.decide(Access::Change) {
            Decision::Permitted | Decision::Asked if keeps_its_name => Err(refusal()),
            _ => self.decide(ruling, Access::Change).map(drop),
        }
    }

    /// Checks that a directory can be listed. Nobody is asked about names.
    pub(crate) fn permits_listing(&self, inode: u64) -> io::Result<()> {
        let ruling = self.paths().ruling(inode, &|path| {
            // The directory is there for what is seen in it.
            match self.of(path) {
                Permission::Nothing if self.permissions.shows_below(path) => Permission::Read,
                permission => permission,
            }
        })?;
        match ruling.permission.decide(Access::Read) {
            Decision::Permitted | Decision::Asked => Ok(()),
            Decision::Refused(_) => self.decide(ruling, Access::Read).map(drop),
        }
    }

    /// Checks that a name can be found.
    pub(crate) fn permits_lookup(&self, parent: u64, name: &CStr) -> io::Result<()> {
        let path = self.paths().path(parent, name.to_bytes())?;
        if self.shows(&path) {
            return Ok(());
        }
        Err(io::Error::from_raw_os_error(libc::ENOENT))
    }

    /// Returns true if a directory lists a name.
    pub(crate) fn lists_name(&self, directory: u64, name: &[u8]) -> bool {
        let path = self.paths().path(directory, name);
        path.is_ok_and(|path| self.shows(&path))
    }

    /// Notes that a file is open, with an access that was permitted.
    pub(crate) fn opened(&self, pass: Pass, handle: u64, inode: u64, access: Access) {
        if pass == Pass::Answer {
            self.grants().add(handle, inode, access);
        }
    }

    /// Notes that a file is open no more.
    pub(crate) fn released(&self, handle: u64) {
        self.grants().remove(handle);
    }

    /// Notes that the guest has found a file.
    pub(crate) fn found(&self, inode: u64, parent: u64, name: &[u8]) {
        self.paths()
            .found(inode, parent, name, &|path| self.of(path));
    }

    /// Notes that the guest has forgotten lookups of files.
    pub(crate) fn forgotten(&self, requests: &[(u64, u64)]) {
        let mut paths = self.paths();
        for (inode, count) in requests {
            paths.forgotten(*inode, *count);
        }
    }

    /// Notes that a name is gone.
    pub(crate) fn removed(&self, parent: u64, name: &CStr) {
        let of = |path: &[u8]| self.of(path);
        self.paths().removed(parent, name.to_bytes(), &of);
    }

    /// Notes that a file has another name, or that two files have exchanged their names.
    pub(crate) fn renamed(&self, old: (u64, &CStr), new: (u64, &CStr), flags: u32) {
        let (old, new) = ((old.0, old.1.to_bytes()), (new.0, new.1.to_bytes()));
        let of = |path: &[u8]| self.of(path);
        let mut paths = self.paths();
        if flags & libc::RENAME_EXCHANGE == 0 {
            paths.renamed(old, new, &of);
        } else {
            paths.exchanged(old, new, &of);
        }
    }

    fn of(&self, path: &[u8]) -> Permission {
        let permission = self.permissions.of(path);
        if self.is_read_only {
            permission.without_changes()
        } else {
            permission
        }
    }

    /// Returns true if a guest sees a path.
    fn shows(&self, path: &[u8]) -> bool {
        self.of(path) != Permission::Nothing || self.permissions.shows_below(path)
    }

    fn ruling(&self, inode: u64) -> io::Result<Ruling> {
        self.paths().ruling(inode, &|path| self.of(path))
    }

    fn ruling_of(&self, path: Vec<u8>) -> Ruling {
        Ruling {
            permission: self.of(&path),
            path: Some(path),
        }
    }

    /// Decides about an access. A user is asked by the path, so a file without a known one is denied.
    fn decide(&self, ruling: Ruling, access: Access) -> io::Result<Pass> {
        let asked = ruling.path.map(|path| PathAccess {
            entry: self.entry,
            path,
            access,
        });
        match (ruling.permission.decide(access), asked) {
            (Decision::Permitted, _) => Ok(Pass::Permission),
            (Decision::Asked, Some(asked)) => {
                self.asking.allows(asked)?;
                Ok(Pass::Answer)
            }
            (Decision::Asked, None) => Err(refusal()),
            (Decision::Refused(error), refused) => {
                if let Some(refused) = refused {
                    self.asking.refused(&refused);
                }
                Err(io::Error::from_raw_os_error(error))
            }
        }
    }

    fn paths(&self) -> MutexGuard<'_, Paths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn grants(&self) -> MutexGuard<'_, Grants> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refusal() -> io::Error {
    io::Error::from_raw_os_error(libc::EACCES)
}

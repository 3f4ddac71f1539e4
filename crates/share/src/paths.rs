use std::collections::HashMap;
use std::io;

use fuse_backend_rs::abi::fuse_abi::ROOT_ID;

use crate::Permission;

/// The most names of a file that are kept; of more, the strictest permission.
const NAMES_MAX: usize = 16;
/// The most names of a path, one in another. No path that Linux takes has more.
const DEPTH_MAX: usize = 4096;

/// A name in a directory.
type Name = (u64, Box<[u8]>);

/// The names by which a guest has found the files that it knows. A file stays known for as long as the guest's
/// kernel keeps it, which is as long as the library keeps it open.
#[derive(Default)]
pub(crate) struct Paths {
    files: HashMap<u64, Known>,
    by_name: HashMap<Name, u64>,
}

/// The permission of a file.
pub(crate) struct Ruling {
    pub(crate) permission: Permission,
    /// A path of the file, which has this permission if one does; `None` if no path of the file is known.
    pub(crate) path: Option<Vec<u8>>,
}

/// A file that a guest knows.
#[derive(Default)]
struct Known {
    /// Number of lookups that the guest has not forgotten.
    lookups: u64,
    /// The names, of which the last is the newest, each with the permission when it was found. A file without a name
    /// was removed.
    names: Vec<(Name, Permission)>,
    /// The strictest permission of names that are not kept.
    strictest: Permission,
}

impl Paths {
    /// Notes that a guest has found a file under a name. `of` returns the permission of a path.
    pub(crate) fn found(
        &mut self,
        inode: u64,
        parent: u64,
        name: &[u8],
        of: &dyn Fn(&[u8]) -> Permission,
    ) {
        let name: Name = (parent, name.into());
        if let Some(before) = self.by_name.insert(name.clone(), inode)
            && before != inode
        {
            self.lose(before, &name, of);
        }
        let permission = self.permission_of(&name, of).unwrap_or(Permission::Nothing);
        let known = self.files.entry(inode).or_default();
        known.lookups = known.lookups.saturating_add(1);
        known.names.retain(|(kept, _)| *kept != name);
        known.names.push((name, permission));
        if known.names.len() > NAMES_MAX {
            let oldest = known.names[0].0.clone();
            self.by_name.remove(&oldest);
            self.lose(inode, &oldest, of);
        }
    }

    /// Notes that a guest has forgotten `count` lookups of a file.
    pub(crate) fn forgotten(&mut self, inode: u64, count: u64) {
        let Some(known) = self.files.get_mut(&inode) else {
            return;
        };
        known.lookups = known.lookups.saturating_sub(count);
        if known.lookups == 0 {
            let known = self.files.remove(&inode).unwrap_or_default();
            for (name, _) in known.names {
                self.by_name.remove(&name);
            }
        }
    }

    /// Notes that a name is gone. The file keeps the permission that it had under it.
    pub(crate) fn removed(&mut self, parent: u64, name: &[u8], of: &dyn Fn(&[u8]) -> Permission) {
        let name: Name = (parent, name.into());
        if let Some(inode) = self.by_name.remove(&name) {
            self.lose(inode, &name, of);
        }
    }

    /// Notes that a file has another name.
    pub(crate) fn renamed(
        &mut self,
        (parent, name): (u64, &[u8]),
        (new_parent, new_name): (u64, &[u8]),
        of: &dyn Fn(&[u8]) -> Permission,
    ) {
        self.removed(new_parent, new_name, of);
        let (old, new): (Name, Name) = ((parent, name.into()), (new_parent, new_name.into()));
        let Some(inode) = self.by_name.remove(&old) else {
            return;
        };
        self.rename(inode, &old, new, of);
    }

    /// Notes that two files have exchanged their names.
    pub(crate) fn exchanged(
        &mut self,
        one: (u64, &[u8]),
        other: (u64, &[u8]),
        of: &dyn Fn(&[u8]) -> Permission,
    ) {
        let names: [Name; 2] = [(one.0, one.1.into()), (other.0, other.1.into())];
        let files = [&names[0], &names[1]].map(|name| self.by_name.remove(name));
        for (file, (old, new)) in files.into_iter().zip([(0, 1), (1, 0)]) {
            if let Some(inode) = file {
                self.rename(inode, &names[old], names[new].clone(), of);
            }
        }
    }

    fn rename(&mut self, inode: u64, old: &Name, new: Name, of: &dyn Fn(&[u8]) -> Permission) {
        let permission = self.permission_of(&new, of).unwrap_or(Permission::Nothing);
        if let Some(known) = self.files.get_mut(&inode) {
            known.names.retain(|(kept, _)| kept != old);
            known.names.push((new.clone(), permission));
            self.by_name.insert(new, inode);
        }
    }

    /// Returns the path of a name in a directory.
    ///
    /// # Errors
    /// `ESTALE` if the directory is not known.
    pub(crate) fn path(&self, mut parent: u64, name: &[u8]) -> io::Result<Vec<u8>> {
        let stale = || io::Error::from_raw_os_error(libc::ESTALE);
        let mut names = vec![name];
        while parent != ROOT_ID {
            let known = self.files.get(&parent).ok_or_else(stale)?;
            let ((above, name), _) = known.names.last().ok_or_else(stale)?;
            names.push(name);
            parent = *above;
            if names.len() > DEPTH_MAX {
                return Err(stale());
            }
        }
        names.reverse();
        Ok(names.join(&b'/'))
    }

    /// Returns the permission of a file, which all its names have to give. A name in a directory that is not known any
    /// more has the permission that it had when it was found.
    ///
    /// # Errors
    /// `ESTALE` if the file is not known.
    pub(crate) fn ruling(
        &self,
        inode: u64,
        of: &dyn Fn(&[u8]) -> Permission,
    ) -> io::Result<Ruling> {
        if inode == ROOT_ID {
            return Ok(Ruling {
                permission: of(b""),
                path: Some(Vec::new()),
            });
        }
        let stale = || io::Error::from_raw_os_error(libc::ESTALE);
        let known = self.files.get(&inode).ok_or_else(stale)?;
        let mut ruling = Ruling {
            permission: known.strictest,
            path: None,
        };
        for (name, found) in &known.names {
            let path = self.path(name.0, &name.1).ok();
            let permission = path.as_deref().map_or(*found, of);
            ruling.permission = ruling.permission.and(permission);
            if path.is_some() && (ruling.path.is_none() || permission == ruling.permission) {
                ruling.path = path;
            }
        }
        Ok(ruling)
    }

    fn permission_of(
        &self,
        name: &Name,
        of: &dyn Fn(&[u8]) -> Permission,
    ) -> io::Result<Permission> {
        self.path(name.0, &name.1).map(|path| of(&path))
    }

    /// Takes a name from a file, which keeps the name's permission.
    fn lose(&mut self, inode: u64, name: &Name, of: &dyn Fn(&[u8]) -> Permission) {
        let permission = self.permission_of(name, of);
        if let Some(known) = self.files.get_mut(&inode) {
            let found = known.names.iter().find(|(kept, _)| kept == name);
            let found = found.map_or(Permission::Nothing, |(_, found)| *found);
            known.names.retain(|(kept, _)| kept != name);
            known.strictest = known.strictest.and(permission.unwrap_or(found));
        }
    }
}

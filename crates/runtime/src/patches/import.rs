//! A file or a tree of this host on its way into an image's tree.
//!
//! It is walked by open directories, and no symlink is followed: whoever may change the tree while it is
//! copied cannot lead the walk out of it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use fstree::{Device, FileKind, Inode, InodeId, Metadata};
use rustix::fs::{Mode, OFlags, major, minor, openat, readlinkat};

use super::host_file::{self, Identity, NewFile};
use super::{PatchError, Patched};
use crate::allocated_bytes;
use crate::files::Packed;

/// What a block of the upper disk holds.
const BLOCK_BYTES: u64 = 4096;

/// Where what is copied goes.
pub(super) struct Place<'a> {
    /// A directory of the tree.
    pub(super) directory: InodeId,
    /// Its path in the sandbox.
    pub(super) path: &'a [u8],
    /// The name there; none where the directory itself is what is copied.
    pub(super) name: Option<&'a [u8]>,
}

/// One copy while it is made.
struct Import {
    owner: (u32, u32),
    /// Files with several names.
    several: HashMap<Identity, InodeId>,
    /// The directory that is walked, below those that lead to it.
    open: Vec<OpenDirectory>,
}

/// A directory of this host that is being copied.
struct OpenDirectory {
    found: Found,
    /// What it becomes, and its path in the sandbox.
    id: InodeId,
    destination: Vec<u8>,
    /// What is left, in descending order.
    names: Vec<Vec<u8>>,
}

/// A file of this host, not opened to be read.
struct Found {
    file: File,
    path: PathBuf,
    here: std::fs::Metadata,
}

impl Patched {
    /// Puts what is at `from`, called `source`, into the tree.
    pub(super) fn import(
        &mut self,
        source: &Path,
        from: &Packed,
        to: &Place<'_>,
        owner: (u32, u32),
    ) -> Result<(), PatchError> {
        let mut import = Import {
            owner,
            several: HashMap::new(),
            open: Vec::new(),
        };
        let found = Found::at(&from.directory, &from.name, source.to_owned())?;
        match to.name {
            Some(name) => self.put(&mut import, found, to, name)?,
            None => {
                let metadata = found.metadata(owner)?;
                self.tree.inode_mut(to.directory).metadata = metadata;
                import.enter(found, to.directory, to.path.to_vec())?;
            }
        }
        while let Some(directory) = import.open.last_mut() {
            let Some(name) = directory.names.pop() else {
                import.open.pop();
                continue;
            };
            let path = directory.found.path.join(OsStr::from_bytes(&name));
            let found = Found::at(&directory.found.file, &name, path)?;
            let path = directory.destination.clone();
            let to = Place {
                directory: directory.id,
                path: &path,
                name: Some(&name),
            };
            self.put(&mut import, found, &to, &name)?;
        }
        Ok(())
    }

    /// Puts one file of the host into a directory. Directories meet, other files replace each other.
    fn put(
        &mut self,
        import: &mut Import,
        found: Found,
        to: &Place<'_>,
        name: &[u8],
    ) -> Result<(), PatchError> {
        let metadata = found.metadata(import.owner)?;
        let Some(kind) = found.kind()? else {
            return Ok(());
        };
        let destination = joined(to.path, name);
        let there = self.tree.lookup(to.directory, name);
        let met = there.filter(|&id| self.tree.directory(id).is_some());
        if there.is_some() && met.is_some() != found.here.is_dir() {
            return Err(PatchError::Mismatch {
                path: String::from_utf8_lossy(&destination).into_owned(),
            });
        }
        let identity = Identity::of(&found.here);
        let id = match (met, import.several.get(&identity)) {
            (Some(met), _) => {
                self.tree.inode_mut(met).metadata = metadata;
                met
            }
            (None, Some(&first)) => first,
            (None, None) => {
                self.needed_bytes += match &kind {
                    FileKind::Regular(_) => taken_bytes(&found.here),
                    _ => 0,
                };
                self.tree.add(Inode { metadata, kind })
            }
        };
        self.link(
            to.directory,
            name,
            id,
            &String::from_utf8_lossy(&destination),
        )?;
        if found.here.is_dir() {
            import.enter(found, id, destination)?;
        } else if found.here.nlink() > 1 {
            import.several.insert(identity, id);
        }
        Ok(())
    }
}

impl Import {
    /// Goes on with what is in a directory.
    fn enter(&mut self, found: Found, id: InodeId, destination: Vec<u8>) -> Result<(), PatchError> {
        let names = host_file::names(&found.file).map_err(unreadable(&found.path))?;
        self.open.push(OpenDirectory {
            found,
            id,
            destination,
            names,
        });
        Ok(())
    }
}

impl Found {
    /// What has this name in a directory, a symlink itself.
    fn at(directory: &File, name: &[u8], path: PathBuf) -> Result<Self, PatchError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat(directory, name, flags, Mode::empty()).map_err(io::Error::from);
        let found = found.and_then(|file| {
            let file = File::from(file);
            Ok((file.metadata()?, file))
        });
        let (here, file) = found.map_err(unreadable(&path))?;
        Ok(Self { file, path, here })
    }

    fn metadata(&self, owner: (u32, u32)) -> Result<Metadata, PatchError> {
        host_file::metadata(&self.file, &self.here, owner).map_err(unreadable(&self.path))
    }

    /// What it becomes; `None` for what is left out.
    fn kind(&self) -> Result<Option<FileKind<NewFile>>, PatchError> {
        let kind = self.here.file_type();
        let device = Device {
            major: major(self.here.rdev()),
            minor: minor(self.here.rdev()),
        };
        // As a character device it would stand for a removed name.
        let is_nothing = device.major == 0 && device.minor == 0;
        Ok(Some(if kind.is_file() {
            FileKind::Regular(NewFile::Host {
                path: self.path.clone(),
                size_bytes: self.here.len(),
                identity: Identity::of(&self.here),
            })
        } else if kind.is_dir() {
            FileKind::Directory(fstree::Directory::new())
        } else if kind.is_symlink() {
            let target = readlinkat(&self.file, "", Vec::new()).map_err(io::Error::from);
            let target = target.map_err(unreadable(&self.path))?;
            FileKind::Symlink(target.as_bytes().into())
        } else if kind.is_fifo() {
            FileKind::Fifo
        } else if kind.is_block_device() {
            FileKind::BlockDevice(device)
        } else if kind.is_char_device() && !is_nothing {
            FileKind::CharDevice(device)
        } else {
            return Ok(None);
        }))
    }
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = directory.to_vec();
    if !path.ends_with(b"/") {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// What a file takes where its holes are kept.
fn taken_bytes(here: &std::fs::Metadata) -> u64 {
    allocated_bytes(here).min(here.len().next_multiple_of(BLOCK_BYTES))
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> PatchError + use<> {
    let path = path.to_owned();
    move |source| PatchError::Host {
        path: path.clone(),
        source,
    }
}

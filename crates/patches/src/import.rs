//! Copies a file or a tree of the host into an image's tree.
//!
//! The walk uses open directories and follows no symlink, so that a process that changes the tree
//! meanwhile cannot lead the walk out of it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use durable_files::allocated_bytes;
use fstree::{Device, FileKind, Inode, InodeId, Metadata};
use rustix::fs::{Mode, OFlags, major, minor, openat, readlinkat};

use super::host_file::{self, Identity, NewFile};
use super::{PatchError, Patched};
use crate::local::Packed;

/// Size of a block of the upper disk, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// The directory and name that a copy goes to.
pub(super) struct CopyTarget<'a> {
    /// A directory of the image's tree.
    pub(super) directory: InodeId,
    /// Its path in the sandbox.
    pub(super) path: &'a [u8],
    /// The name in the directory; `None` if a directory is merged into `directory` itself.
    pub(super) name: Option<&'a [u8]>,
}

/// The state of one copy.
struct Import {
    owner: (u32, u32),
    /// The inodes of the copied files that have several names, by their identity on the host.
    several: HashMap<Identity, InodeId>,
    /// The stack of directories that are being walked, from the outermost to the current one.
    open: Vec<OpenDirectory>,
}

/// A directory of this host that is being copied.
struct OpenDirectory {
    found: Found,
    /// The directory's inode in the image's tree, and its path in the sandbox.
    id: InodeId,
    destination: Vec<u8>,
    /// The names that are not copied yet, in descending order.
    names: Vec<Vec<u8>>,
}

/// A file of the host, opened with `O_PATH` only.
struct Found {
    file: File,
    path: PathBuf,
    here: std::fs::Metadata,
}

impl Patched {
    /// Copies the file or tree `from` into the tree. `source` is its path on the host.
    pub(super) fn import(
        &mut self,
        source: &Path,
        from: &Packed,
        to: &CopyTarget<'_>,
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
            let to = CopyTarget {
                directory: directory.id,
                path: &path,
                name: Some(&name),
            };
            self.put(&mut import, found, &to, &name)?;
        }
        Ok(())
    }

    /// Copies one file of the host into a directory.
    /// Directories are merged; other files replace each other.
    fn put(
        &mut self,
        import: &mut Import,
        found: Found,
        to: &CopyTarget<'_>,
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
        let identity = Identity::from_metadata(&found.here);
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
    /// Begins to copy the content of a directory.
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
    /// Opens the file with this name in a directory. A symlink itself is opened.
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

    /// Returns the kind that the file has in the tree; `None` for files that are left out.
    fn kind(&self) -> Result<Option<FileKind<NewFile>>, PatchError> {
        let kind = self.here.file_type();
        let device = Device {
            major: major(self.here.rdev()),
            minor: minor(self.here.rdev()),
        };
        // Overlayfs takes a character device 0:0 for a removed name.
        let is_nothing = device.major == 0 && device.minor == 0;
        Ok(Some(if kind.is_file() {
            FileKind::Regular(NewFile::Host {
                path: self.path.clone(),
                size_bytes: self.here.len(),
                identity: Identity::from_metadata(&self.here),
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

/// Returns the size that a file takes if its holes are kept, in bytes.
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

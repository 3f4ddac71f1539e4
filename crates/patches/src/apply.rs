use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;

use fstree::{FileKind, Inode, InodeId, Metadata, Name, Timestamp, Tree};
use rootfs_view::{ResolveError, resolve};

use super::import::CopyTarget;
use super::{HostCopy, NewContent, NewDirectory, NewFile, PatchError, Patches};
use crate::CopyPathError;
use crate::copy_path::{CopyPath, Destination};
use crate::local::{LINKS_MAX, source as host_source};

/// Directories at which every machine has its own mounts: the parent and the name.
const MOUNTED: [(&str, &str); 4] = [("/", "proc"), ("/", "sys"), ("/", "dev"), ("/run", "msb")];
/// The directory at which a machine has memory if its size is given.
const MEMORY: (&str, &str) = ("/", "tmp");
/// Files over which a machine with a network mounts its own.
const OF_NETWORK: [(&str, &str); 3] = [
    ("/etc", "hosts"),
    ("/etc", "hostname"),
    ("/etc", "resolv.conf"),
];

/// The mounts that only some machines have.
#[derive(Debug, Clone, Copy)]
pub struct OwnMounts {
    /// True if files of the network are mounted in `/etc`.
    pub network: bool,
    /// True if `/tmp` is memory.
    pub tmp: bool,
}

impl OwnMounts {
    /// Returns the directories that are mounted.
    fn directories(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        MOUNTED.into_iter().chain(self.tmp.then_some(MEMORY))
    }

    /// Returns the directories and files that are mounted.
    fn all(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let files = if self.network { &OF_NETWORK[..] } else { &[] };
        self.directories().chain(files.iter().copied())
    }
}

/// An image's tree with changes made to it. The image's inodes keep their ids.
#[derive(Debug)]
pub struct Patched {
    /// The tree.
    pub tree: Tree<NewFile>,
    /// Size of the copied and written files, in bytes.
    pub needed_bytes: u64,
    /// Inodes of directories that a machine's own mounts hide.
    hidden: HashSet<InodeId>,
    mounts: OwnMounts,
    /// The modification time of the files and directories that are created here.
    now: Timestamp,
}

impl Patched {
    /// Makes all changes to an image's tree. The content of the image's files is not needed. Files and
    /// directories that are created are modified at `now_s`, in seconds since the epoch.
    ///
    /// # Errors
    /// The first change that cannot be made.
    pub fn new(
        image: Tree<NewFile>,
        patches: &Patches,
        mounts: OwnMounts,
        now_s: u64,
    ) -> Result<Self, PatchError> {
        let mut patched = Self {
            hidden: hidden(&image, mounts),
            tree: image,
            needed_bytes: 0,
            mounts,
            now: Timestamp {
                seconds: i64::try_from(now_s).unwrap_or(i64::MAX),
                nanoseconds: 0,
            },
        };
        for path in &patches.remove {
            patched.remove(path)?;
        }
        for directory in &patches.make {
            patched.make(directory)?;
        }
        for copy in &patches.copy {
            patched.copy(copy)?;
        }
        for content in &patches.write {
            patched.write(content)?;
        }
        Ok(patched)
    }

    fn remove(&mut self, text: &str) -> Result<(), PatchError> {
        let path = text.to_owned();
        let (parent, name) = match CopyPath::new(text) {
            Ok(typed) => (typed.parent(), typed.name().map(<[u8]>::to_vec)),
            Err(_) => (Vec::new(), None),
        };
        let Some(name) = name else {
            return Err(PatchError::NoName { path });
        };
        let parent = self.directory(&parent, text)?;
        self.check_seen(parent, &name, text)?;
        match self.tree.unlink(parent, &name) {
            Some(_) => Ok(()),
            None => Err(PatchError::NotThere { path }),
        }
    }

    /// Creates a directory and the missing ones above it, as `mkdir -p` of root does.
    fn make(&mut self, wanted: &NewDirectory) -> Result<(), PatchError> {
        self.make_for((0, 0), wanted)
    }

    /// Creates a directory and the missing ones above it. Those that are made belong to `owner`.
    fn make_for(&mut self, owner: (u32, u32), wanted: &NewDirectory) -> Result<(), PatchError> {
        let text = &wanted.path;
        let mut here = self.tree.root();
        let mut path = Vec::new();
        for name in text.as_bytes().split(|&byte| byte == b'/') {
            if name.is_empty() {
                continue;
            }
            let parent = here;
            path.extend_from_slice(b"/");
            path.extend_from_slice(name);
            here = match resolve(&self.tree, &path, true) {
                Ok(id) => id,
                Err(ResolveError::NotFound) if self.tree.lookup(parent, name).is_none() => {
                    self.check_seen(parent, name, text)?;
                    let mut metadata = Metadata::directory(0o755);
                    metadata.mtime = self.now;
                    (metadata.uid, metadata.gid) = owner;
                    let made = self.tree.add(Inode::directory(metadata));
                    self.link(parent, name, made, text)?;
                    made
                }
                Err(source) => return Err(not_followed(text, source)),
            };
        }
        if self.tree.directory(here).is_none() || self.hidden.contains(&here) {
            return Err(if self.hidden.contains(&here) {
                PatchError::Hidden { path: text.clone() }
            } else {
                not_followed(text, ResolveError::NotDirectory)
            });
        }
        if let Some(mode) = wanted.mode {
            self.tree.inode_mut(here).metadata.mode = mode;
        }
        Ok(())
    }

    fn copy(&mut self, copy: &HostCopy) -> Result<(), PatchError> {
        let text = &copy.destination;
        let not_made = |source| PatchError::Copy {
            source_path: copy.source.clone(),
            source,
        };
        let destination = self.destination(text)?;
        let source = CopyPath::new(copy.source.as_os_str().as_bytes());
        let (source, from) = source
            .and_then(|path| host_source(&path, false))
            .map_err(not_made)?;
        let landing = source.landing(&destination).map_err(not_made)?;
        let directory = match resolve(&self.tree, &landing.directory, true) {
            Ok(id) if self.tree.directory(id).is_some() => id,
            Ok(_) | Err(ResolveError::NotFound) => {
                let path = landing.directory.as_slice().into();
                return Err(not_made(CopyPathError::NoDirectory { path }));
            }
            Err(source) => return Err(not_followed(text, source)),
        };
        let name = landing.name.as_deref();
        self.check_seen(directory, name.unwrap_or_default(), text)?;
        let to = CopyTarget {
            directory,
            path: &landing.directory,
            name,
        };
        self.import(&copy.source, &from, &to, copy.owner)
    }

    fn write(&mut self, content: &NewContent) -> Result<(), PatchError> {
        let text = &content.path;
        let no_name = || PatchError::NoName { path: text.clone() };
        let typed = CopyPath::new(text.as_bytes()).map_err(|_| no_name())?;
        let name = typed.name().ok_or_else(no_name)?.to_vec();
        let parent = typed.parent();
        let directory = NewDirectory {
            path: String::from_utf8_lossy(&parent).into_owned(),
            mode: None,
        };
        self.make_for(content.owner, &directory)?;
        let parent = self.directory(&parent, text)?;
        self.check_seen(parent, &name, text)?;
        let there = self.tree.lookup(parent, &name);
        if there.is_some_and(|id| self.tree.directory(id).is_some()) {
            return Err(PatchError::Mismatch { path: text.clone() });
        }
        let mut metadata = Metadata::with_mode(content.mode);
        metadata.mtime = self.now;
        (metadata.uid, metadata.gid) = content.owner;
        self.needed_bytes += u64::try_from(content.bytes.len()).unwrap_or(u64::MAX);
        let kind = FileKind::Regular(NewFile::Bytes(content.bytes.clone()));
        let file = self.tree.add(Inode { metadata, kind });
        self.link(parent, &name, file, text)
    }

    pub(super) fn link(
        &mut self,
        parent: InodeId,
        name: &[u8],
        id: InodeId,
        text: &str,
    ) -> Result<(), PatchError> {
        let name = Name::new(name).map_err(|_| PatchError::NoName {
            path: text.to_owned(),
        })?;
        self.tree.link(parent, name, id);
        Ok(())
    }

    /// Resolves the destination of a copy, and follows symlinks at its end.
    fn destination(&self, text: &str) -> Result<Destination, PatchError> {
        let mut path = CopyPath::new(text).map_err(|_| PatchError::NoName {
            path: text.to_owned(),
        })?;
        for _ in 0..LINKS_MAX {
            let is_directory = match resolve(&self.tree, path.as_bytes(), false) {
                Ok(id) => match &self.tree.inode(id).kind {
                    FileKind::Symlink(target) => {
                        path = path.led_to(target);
                        continue;
                    }
                    kind => Some(kind.as_directory().is_some()),
                },
                Err(ResolveError::NotFound) => None,
                Err(source) => return Err(not_followed(text, source)),
            };
            return Ok(Destination { path, is_directory });
        }
        Err(not_followed(text, ResolveError::Loop))
    }

    fn directory(&self, path: &[u8], text: &str) -> Result<InodeId, PatchError> {
        let id = resolve(&self.tree, path, true).map_err(|source| not_followed(text, source))?;
        match self.tree.directory(id) {
            Some(_) => Ok(id),
            None => Err(not_followed(text, ResolveError::NotDirectory)),
        }
    }

    /// Refuses a path that a machine's own mounts would hide.
    fn check_seen(&self, parent: InodeId, name: &[u8], text: &str) -> Result<(), PatchError> {
        let is = |path: &str| resolve(&self.tree, path.as_bytes(), true) == Ok(parent);
        let is_mounted = self.hidden.contains(&parent)
            || (self.mounts.all()).any(|(above, mounted)| mounted.as_bytes() == name && is(above));
        if is_mounted {
            Err(PatchError::Hidden {
                path: text.to_owned(),
            })
        } else {
            Ok(())
        }
    }
}

/// Returns all directories at and below a machine's own mounts.
fn hidden(image: &Tree<NewFile>, mounts: OwnMounts) -> HashSet<InodeId> {
    let mut hidden = HashSet::new();
    for (above, name) in mounts.directories() {
        let path = format!("{above}/{name}");
        let mut due: Vec<InodeId> = resolve(image, path.as_bytes(), true).into_iter().collect();
        while let Some(id) = due.pop() {
            if let Some(names) = image.directory(id)
                && hidden.insert(id)
            {
                due.extend(names.values());
            }
        }
    }
    hidden
}

fn not_followed(path: &str, source: ResolveError) -> PatchError {
    PatchError::Path {
        path: path.to_owned(),
        source,
    }
}

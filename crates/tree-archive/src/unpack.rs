use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use fstree::{Device, FileType, Metadata, Name};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, Mode, OFlags, linkat, makedev, mkdirat, mknodat, openat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use tar_stream::{ArchiveReader, Entry, EntryKind, Limits};

use crate::attributes::{enter, set_attributes, set_entry_attributes, set_xattrs};
use crate::error::{InvalidPath, UnpackError};
use crate::{EntryRef, path};

/// Bytes of content that are copied at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// Options for unpacking an archive. The default grants the archive nothing.
#[derive(Debug, Clone, Default)]
pub struct UnpackOptions {
    /// True if files get the owners in the archive; otherwise they belong to the caller.
    pub keep_owner: bool,
    /// True if regular files may become setuid and setgid.
    pub keep_set_id: bool,
    /// True if device nodes are made; otherwise they are left out and counted.
    pub make_devices: bool,
    /// True if symlinks in parents are followed, as the kernel does from the caller's root.
    pub follow_parents: bool,
    /// The first component that every path must have. It is removed from the path.
    pub only_below: Option<Vec<u8>>,
    /// The name that replaces the removed component. If it is `None`, files go directly to the
    /// destination.
    pub renamed: Option<Name>,
    /// The directory of this process's open files; `/proc/self/fd` if it is `None`.
    pub descriptors: Option<Arc<OwnedFd>>,
}

/// The result of unpacking an archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Number of entries in the archive.
    pub entries: u64,
    /// Number of device nodes that were left out.
    pub devices_left_out: u64,
}

/// Unpacks an archive below `destination`.
///
/// Existing directories are kept and get the entry's attributes; any other file is replaced.
///
/// # Errors
/// The archive is malformed, or an entry is refused by the options or by the filesystem. The
/// entries before it stay.
pub fn unpack(
    archive: impl Read,
    destination: BorrowedFd<'_>,
    options: &UnpackOptions,
) -> Result<Unpacked, UnpackError> {
    let mut entries = ArchiveReader::new(archive, Limits::default());
    let mut unpacker = Unpacker {
        destination,
        options,
        way: Vec::new(),
        unfinished: Vec::new(),
        unpacked: Unpacked::default(),
    };
    while let Some(entry) = entries.next_entry().map_err(UnpackError::Archive)? {
        unpacker.unpack(&entry, &mut entries)?;
    }
    unpacker.finish_down_to(&[])?;
    Ok(unpacker.unpacked)
}

struct Unpacker<'a> {
    destination: BorrowedFd<'a>,
    options: &'a UnpackOptions,
    /// The path of the last unfinished directory. The other unfinished directories are on it.
    way: Vec<Name>,
    /// Directories whose content may still come, each inside of the one before.
    unfinished: Vec<Unfinished>,
    unpacked: Unpacked,
}

/// A directory that gets its attributes after its content. It has its xattrs, which may be long,
/// already.
struct Unfinished {
    /// Number of components of `way` that lead to the directory.
    depth: usize,
    metadata: Metadata,
}

/// One entry and its location.
struct Target<'a> {
    entry: &'a Entry,
    parent: OwnedFd,
    name: &'a Name,
}

impl Target<'_> {
    fn failed(&self, action: &'static str) -> impl Fn(Errno) -> UnpackError {
        failed(action, &self.entry.path)
    }
}

fn failed(action: &'static str, path: &[u8]) -> impl Fn(Errno) -> UnpackError {
    move |error| UnpackError::File {
        action,
        path: path.into(),
        source: error.into(),
    }
}

impl Unpacker<'_> {
    fn unpack<R: Read>(
        &mut self,
        entry: &Entry,
        entries: &mut ArchiveReader<R>,
    ) -> Result<(), UnpackError> {
        let names = self.names(&entry.path, &entry.path)?;
        self.finish_down_to(&names)?;
        self.unpacked.entries += 1;
        let Some((name, parents)) = names.split_last() else {
            if entry.kind != EntryKind::Directory {
                return Err(refused(&entry.path)(InvalidPath::Destination));
            }
            return self.remember(entry, names);
        };
        let parent = self.parent(parents, &entry.path)?;
        let target = Target {
            entry,
            parent,
            name,
        };
        if !self.make_room(&target)? {
            self.make(&target, entries)?;
        }
        match entry.kind {
            EntryKind::Directory => self.remember(entry, names),
            _ => Ok(()),
        }
    }

    /// Returns the components of a path below the destination. `entry_path` is the entry's own
    /// path, for errors.
    fn names(&self, path: &[u8], entry_path: &[u8]) -> Result<Vec<Name>, UnpackError> {
        let refused = refused(entry_path);
        let names = path::components(path).map_err(&refused)?;
        let Some(first) = &self.options.only_below else {
            return Ok(names);
        };
        let below = match &first[..] {
            b"." => &names[..],
            _ => match names.split_first() {
                Some((name, rest)) if name.as_bytes() == first => rest,
                _ => return Err(refused(InvalidPath::Foreign)),
            },
        };
        Ok(self.options.renamed.iter().chain(below).cloned().collect())
    }

    /// Opens the directory that holds a file, and makes missing directories.
    fn parent(&self, names: &[Name], entry_path: &[u8]) -> Result<OwnedFd, UnpackError> {
        let failed = failed("open the directory of", entry_path);
        let mut directory =
            self.destination
                .try_clone_to_owned()
                .map_err(|source| UnpackError::File {
                    action: "open the directory of",
                    path: entry_path.into(),
                    source,
                })?;
        for name in names {
            let entry = EntryRef {
                directory: directory.as_fd(),
                name: name.as_bytes(),
            };
            let open = || enter(entry, self.options.follow_parents);
            let inner = match open() {
                Err(Errno::NOENT) => {
                    mkdirat(&directory, name.as_bytes(), Mode::from_raw_mode(0o755))
                        .map_err(&failed)?;
                    open()
                }
                other => other,
            };
            directory = inner.map_err(&failed)?;
        }
        Ok(directory)
    }

    /// Removes a conflicting file. Returns true if the entry is a directory that already exists.
    fn make_room(&self, target: &Target<'_>) -> Result<bool, UnpackError> {
        let name = target.name.as_bytes();
        let stat = match statat(&target.parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(target.failed("find")(error)),
        };
        let is_directory =
            stat.st_mode & u32::from(FileType::MASK) == u32::from(FileType::Directory.bits());
        let path = || target.entry.path.as_slice().into();
        match (is_directory, target.entry.kind == EntryKind::Directory) {
            (true, true) => Ok(true),
            (true, false) => Err(UnpackError::OverDirectory { path: path() }),
            (false, true) => Err(UnpackError::OverFile { path: path() }),
            (false, false) => unlinkat(&target.parent, name, AtFlags::empty())
                .map_err(target.failed("replace"))
                .map(|()| false),
        }
    }

    fn make<R: Read>(
        &mut self,
        target: &Target<'_>,
        entries: &mut ArchiveReader<R>,
    ) -> Result<(), UnpackError> {
        let name = target.name.as_bytes();
        let made = match target.entry.kind {
            EntryKind::Regular => return self.make_regular(target, entries),
            EntryKind::Hardlink => return self.make_hard_link(target),
            // A directory gets its attributes after its content.
            EntryKind::Directory => {
                return mkdirat(&target.parent, name, Mode::RWXU)
                    .map_err(target.failed("create the directory"));
            }
            EntryKind::Symlink => symlinkat(&target.entry.link[..], &target.parent, name),
            EntryKind::Fifo => make_node(target, FileType::Fifo, Device { major: 0, minor: 0 }),
            EntryKind::CharDevice(_) | EntryKind::BlockDevice(_) if !self.options.make_devices => {
                self.unpacked.devices_left_out += 1;
                return Ok(());
            }
            EntryKind::CharDevice(device) => make_node(target, FileType::CharDevice, device),
            EntryKind::BlockDevice(device) => make_node(target, FileType::BlockDevice, device),
        };
        made.map_err(target.failed("create"))?;
        let entry = EntryRef {
            directory: target.parent.as_fd(),
            name,
        };
        let file_type = match target.entry.kind {
            EntryKind::Symlink => FileType::Symlink,
            _ => FileType::Fifo,
        };
        set_entry_attributes(
            entry,
            file_type,
            &target.entry.metadata,
            self.options.keep_owner,
            self.options.descriptors.as_ref().map(AsFd::as_fd),
        )
        .map_err(target.failed("set the attributes of"))
    }

    fn make_regular<R: Read>(
        &self,
        target: &Target<'_>,
        entries: &mut ArchiveReader<R>,
    ) -> Result<(), UnpackError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = target.name.as_bytes();
        let file = openat(&target.parent, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(target.failed("create"))?;
        let file = File::from(file);
        let unwritable = |source| UnpackError::File {
            action: "write",
            path: target.entry.path.as_slice().into(),
            source,
        };
        if let Err(failure) = copy_content(target.entry, entries, &file) {
            return Err(match entries.take_failure() {
                Some(error) => UnpackError::Archive(error),
                None => unwritable(failure),
            });
        }
        file.set_len(target.entry.size_bytes).map_err(unwritable)?;
        let mut metadata = target.entry.metadata.clone();
        if !self.options.keep_set_id {
            metadata.mode &= 0o1777;
        }
        set_attributes(file.as_fd(), &metadata, self.options.keep_owner)
            .map_err(target.failed("set the attributes of"))
    }

    fn make_hard_link(&self, target: &Target<'_>) -> Result<(), UnpackError> {
        let path = &target.entry.path;
        let names = self.names(&target.entry.link, path)?;
        let Some((name, parents)) = names.split_last() else {
            return Err(refused(path)(InvalidPath::Destination));
        };
        let parent = self.parent(parents, path)?;
        linkat(
            &parent,
            name.as_bytes(),
            &target.parent,
            target.name.as_bytes(),
            AtFlags::empty(),
        )
        .map_err(target.failed("create the hard link"))
    }

    /// Gives a directory its xattrs, and remembers its other attributes.
    fn remember(&mut self, entry: &Entry, names: Vec<Name>) -> Result<(), UnpackError> {
        let mut metadata = entry.metadata.clone();
        if !self.options.keep_set_id {
            // A directory's set-group-ID bit would give new files in it the group of this process.
            metadata.mode &= 0o1777;
        }
        let xattrs = std::mem::take(&mut metadata.xattrs);
        if !xattrs.is_empty() {
            let failed = failed("set the attributes of", &entry.path);
            let directory = self.open_directory(&names, &entry.path)?;
            set_xattrs(directory.as_fd(), &xattrs, self.options.keep_owner).map_err(failed)?;
        }
        self.unfinished.push(Unfinished {
            depth: names.len(),
            metadata,
        });
        self.way = names;
        Ok(())
    }

    /// Gives their attributes to the unfinished directories that do not contain `next`.
    fn finish_down_to(&mut self, next: &[Name]) -> Result<(), UnpackError> {
        while let Some(last) = self.unfinished.last() {
            if next.len() > last.depth && next.starts_with(&self.way[..last.depth]) {
                break;
            }
            self.finish_last()?;
        }
        Ok(())
    }

    fn finish_last(&mut self) -> Result<(), UnpackError> {
        let Some(Unfinished { depth, metadata }) = self.unfinished.pop() else {
            return Ok(());
        };
        let names = &self.way[..depth];
        let path: Vec<&[u8]> = names.iter().map(Name::as_bytes).collect();
        let path = path.join(&b'/');
        let directory = self.open_directory(names, &path)?;
        set_attributes(directory.as_fd(), &metadata, self.options.keep_owner)
            .map_err(failed("set the attributes of", &path))
    }

    /// Opens a directory for reading, so that its attributes can be set.
    fn open_directory(&self, names: &[Name], entry_path: &[u8]) -> Result<OwnedFd, UnpackError> {
        let entry = self.parent(names, entry_path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&entry, c".", flags, Mode::empty())
            .map_err(failed("set the attributes of", entry_path))
    }
}

fn refused(path: &[u8]) -> impl Fn(InvalidPath) -> UnpackError {
    move |source| UnpackError::Path {
        path: path.into(),
        source,
    }
}

/// Copies data to its offsets. The reader skips data in excess of the segments.
fn copy_content<R: Read>(
    entry: &Entry,
    entries: &mut ArchiveReader<R>,
    file: &File,
) -> io::Result<()> {
    let mut content = entries.content();
    let mut buffer = vec![0; PIECE_BYTES];
    for segment in &entry.segments {
        let mut offset_bytes = segment.offset_bytes;
        let mut left_bytes = segment.length_bytes;
        while left_bytes > 0 {
            let wanted = usize::try_from(left_bytes).map_or(PIECE_BYTES, |n| n.min(PIECE_BYTES));
            content.read_exact(&mut buffer[..wanted])?;
            file.write_all_at(&buffer[..wanted], offset_bytes)?;
            offset_bytes += wanted as u64;
            left_bytes -= wanted as u64;
        }
    }
    Ok(())
}

fn make_node(target: &Target<'_>, file_type: FileType, device: Device) -> rustix::io::Result<()> {
    let file_type = rustix::fs::FileType::from_raw_mode(file_type.bits().into());
    let device = makedev(device.major, device.minor);
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(
        &target.parent,
        target.name.as_bytes(),
        file_type,
        mode,
        device,
    )
}

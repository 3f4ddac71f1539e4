use std::ffi::{CStr, CString};
use std::io;
use std::time::Duration;

use fuse_backend_rs::abi::fuse_abi::{ATTR_SUBMOUNT, CreateIn, ROOT_ID};
use fuse_backend_rs::api::filesystem::{
    Context, DirEntry, Entry, FileSystem, FsOptions, GetxattrReply, ListxattrReply, OpenOptions,
    SetattrValid, ZeroCopyReader, ZeroCopyWriter,
};
use libc::{stat64, statvfs64};

use crate::CACHED;
use crate::bounds::{nobody, wanted};

/// The position in an inode's number of its entry's index, counted from 1. The library's own numbers are
/// below it.
const ENTRY_SHIFT: u32 = 56;

/// The root directory of a device: what is shared has a name in it, and nothing else has. It is listed as empty:
/// who mounts it knows the names.
///
/// A directory in it is marked as a mount of its own, so that the guest sees it as a device of its own, where
/// inode numbers of other host filesystems mean other files.
pub(crate) struct Root<F>(pub(crate) Vec<RootEntry<F>>);

/// Something that is shared: the root of `files`.
pub(crate) struct RootEntry<F> {
    pub(crate) name: CString,
    pub(crate) is_directory: bool,
    pub(crate) files: F,
}

/// Passes calls on to the entry that the first inode belongs to.
macro_rules! pass_on {
    ($($call:ident($inode:ident $(, $argument:ident: $type:ty)*) -> $answer:ty;)*) => {$(
        fn $call(&self, context: &Context, $inode: u64 $(, $argument: $type)*) -> io::Result<$answer> {
            let (entry, $inode) = self.entry($inode)?;
            self.0[entry].files.$call(context, $inode $(, $argument)*)
        }
    )*};
}

impl<F: FileSystem<Inode = u64, Handle = u64>> FileSystem for Root<F> {
    type Inode = u64;
    type Handle = u64;

    fn init(&self, _: FsOptions) -> io::Result<FsOptions> {
        Ok(wanted() | FsOptions::SUBMOUNTS)
    }

    fn id_remap(&self, context: &mut Context) -> io::Result<()> {
        nobody(context);
        Ok(())
    }

    pass_on! {
        setattr(inode, attributes: stat64, handle: Option<u64>, valid: SetattrValid) -> (stat64, Duration);
        readlink(inode) -> Vec<u8>;
        unlink(inode, name: &CStr) -> ();
        rmdir(inode, name: &CStr) -> ();
        open(inode, flags: u32, fuse_flags: u32) -> (Option<u64>, OpenOptions, Option<u32>);
        read(
            inode, handle: u64, out: &mut dyn ZeroCopyWriter, size: u32, offset: u64,
            lock_owner: Option<u64>, flags: u32
        ) -> usize;
        write(
            inode, handle: u64, bytes: &mut dyn ZeroCopyReader, size: u32, offset: u64,
            lock_owner: Option<u64>, delayed: bool, flags: u32, fuse_flags: u32
        ) -> usize;
        flush(inode, handle: u64, lock_owner: u64) -> ();
        fsync(inode, data_only: bool, handle: u64) -> ();
        fallocate(inode, handle: u64, mode: u32, offset: u64, length: u64) -> ();
        release(
            inode, flags: u32, handle: u64, flush: bool, unlock: bool, lock_owner: Option<u64>
        ) -> ();
        setxattr(inode, attribute: &CStr, value: &[u8], flags: u32) -> ();
        getxattr(inode, attribute: &CStr, size: u32) -> GetxattrReply;
        listxattr(inode, size: u32) -> ListxattrReply;
        removexattr(inode, attribute: &CStr) -> ();
        fsyncdir(inode, data_only: bool, handle: u64) -> ();
        access(inode, mask: u32) -> ();
        lseek(inode, handle: u64, offset: u64, whence: u32) -> u64;
    }

    /// Of the root, what its first entry says.
    fn statfs(&self, context: &Context, inode: u64) -> io::Result<statvfs64> {
        let (entry, inode) = match inode {
            ROOT_ID => (0, ROOT_ID),
            inode => self.entry(inode)?,
        };
        let entry = self.0.get(entry).ok_or(io::ErrorKind::NotFound)?;
        entry.files.statfs(context, inode)
    }

    fn opendir(
        &self,
        context: &Context,
        inode: u64,
        flags: u32,
    ) -> io::Result<(Option<u64>, OpenOptions)> {
        if inode == ROOT_ID {
            return Ok((None, OpenOptions::empty()));
        }
        let (entry, inode) = self.entry(inode)?;
        self.0[entry].files.opendir(context, inode, flags)
    }

    fn readdir(
        &self,
        context: &Context,
        inode: u64,
        handle: u64,
        size: u32,
        offset: u64,
        add_entry: &mut dyn FnMut(DirEntry<'_>) -> io::Result<usize>,
    ) -> io::Result<()> {
        if inode == ROOT_ID {
            return Ok(());
        }
        let (entry, inode) = self.entry(inode)?;
        let files = &self.0[entry].files;
        files.readdir(context, inode, handle, size, offset, add_entry)
    }

    fn releasedir(&self, context: &Context, inode: u64, flags: u32, handle: u64) -> io::Result<()> {
        if inode == ROOT_ID {
            return Ok(());
        }
        let (entry, inode) = self.entry(inode)?;
        self.0[entry]
            .files
            .releasedir(context, inode, flags, handle)
    }

    fn lookup(&self, context: &Context, parent: u64, name: &CStr) -> io::Result<Entry> {
        if parent == ROOT_ID {
            return self.lookup_in_root(context, name);
        }
        let (entry, parent) = self.entry(parent)?;
        outward(entry, self.0[entry].files.lookup(context, parent, name)?)
    }

    fn forget(&self, context: &Context, inode: u64, count: u64) {
        // What belongs to no entry was never given out.
        if let Ok((entry, inode)) = self.entry(inode) {
            self.0[entry].files.forget(context, inode, count);
        }
    }

    fn getattr(
        &self,
        context: &Context,
        inode: u64,
        handle: Option<u64>,
    ) -> io::Result<(stat64, Duration)> {
        if inode == ROOT_ID {
            return self.attributes_of_root(context);
        }
        let (entry, inode) = self.entry(inode)?;
        self.0[entry].files.getattr(context, inode, handle)
    }

    fn symlink(
        &self,
        context: &Context,
        target: &CStr,
        parent: u64,
        name: &CStr,
    ) -> io::Result<Entry> {
        let (entry, parent) = self.entry(parent)?;
        let files = &self.0[entry].files;
        outward(entry, files.symlink(context, target, parent, name)?)
    }

    fn mknod(
        &self,
        context: &Context,
        parent: u64,
        name: &CStr,
        mode: u32,
        device: u32,
        umask: u32,
    ) -> io::Result<Entry> {
        let (entry, parent) = self.entry(parent)?;
        let files = &self.0[entry].files;
        outward(
            entry,
            files.mknod(context, parent, name, mode, device, umask)?,
        )
    }

    fn mkdir(
        &self,
        context: &Context,
        parent: u64,
        name: &CStr,
        mode: u32,
        umask: u32,
    ) -> io::Result<Entry> {
        let (entry, parent) = self.entry(parent)?;
        let files = &self.0[entry].files;
        outward(entry, files.mkdir(context, parent, name, mode, umask)?)
    }

    fn rename(
        &self,
        context: &Context,
        parent: u64,
        name: &CStr,
        new_parent: u64,
        new_name: &CStr,
        flags: u32,
    ) -> io::Result<()> {
        let (entry, parent, new_parent) = self.same_entry(parent, new_parent)?;
        let files = &self.0[entry].files;
        files.rename(context, parent, name, new_parent, new_name, flags)
    }

    fn link(&self, context: &Context, inode: u64, parent: u64, name: &CStr) -> io::Result<Entry> {
        let (entry, inode, parent) = self.same_entry(inode, parent)?;
        outward(
            entry,
            self.0[entry].files.link(context, inode, parent, name)?,
        )
    }

    fn create(
        &self,
        context: &Context,
        parent: u64,
        name: &CStr,
        arguments: CreateIn,
    ) -> io::Result<(Entry, Option<u64>, OpenOptions, Option<u32>)> {
        let (entry, parent) = self.entry(parent)?;
        let files = &self.0[entry].files;
        let (made, handle, options, passthrough) =
            files.create(context, parent, name, arguments)?;
        Ok((outward(entry, made)?, handle, options, passthrough))
    }

    fn readdirplus(
        &self,
        context: &Context,
        inode: u64,
        handle: u64,
        size: u32,
        offset: u64,
        add_entry: &mut dyn FnMut(DirEntry<'_>, Entry) -> io::Result<usize>,
    ) -> io::Result<()> {
        if inode == ROOT_ID {
            return Ok(());
        }
        let (entry, inode) = self.entry(inode)?;
        let mut add_outward =
            |listed: DirEntry<'_>, found: Entry| add_entry(listed, outward(entry, found)?);
        let files = &self.0[entry].files;
        files.readdirplus(context, inode, handle, size, offset, &mut add_outward)
    }
}

impl<F: FileSystem<Inode = u64, Handle = u64>> Root<F> {
    /// The number of the entry that an inode belongs to, and what the entry calls it.
    fn entry(&self, inode: u64) -> io::Result<(usize, u64)> {
        if inode == ROOT_ID {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let number = usize::try_from(inode >> ENTRY_SHIFT).unwrap_or(usize::MAX);
        match number.checked_sub(1).filter(|&entry| entry < self.0.len()) {
            Some(entry) => Ok((entry, inode & ((1 << ENTRY_SHIFT) - 1))),
            None => Err(io::Error::from_raw_os_error(libc::EBADF)),
        }
    }

    /// The same for two inodes, which must belong to one entry: they are of different filesystems otherwise.
    fn same_entry(&self, one: u64, other: u64) -> io::Result<(usize, u64, u64)> {
        let ((entry, one), (other_entry, other)) = (self.entry(one)?, self.entry(other)?);
        if entry == other_entry {
            Ok((entry, one, other))
        } else {
            Err(io::Error::from_raw_os_error(libc::EXDEV))
        }
    }

    fn lookup_in_root(&self, context: &Context, name: &CStr) -> io::Result<Entry> {
        let entry = self
            .0
            .iter()
            .position(|entry| entry.name.as_c_str() == name);
        let entry = entry.ok_or(io::Error::from_raw_os_error(libc::ENOENT))?;
        let shared = &self.0[entry];
        let (attributes, timeout) = shared.files.getattr(context, ROOT_ID, None)?;
        let found = Entry {
            inode: ROOT_ID,
            generation: 0,
            attr: attributes,
            attr_flags: if shared.is_directory {
                ATTR_SUBMOUNT
            } else {
                0
            },
            attr_timeout: timeout,
            entry_timeout: CACHED,
        };
        outward(entry, found)
    }

    /// Returns the first entry's attributes, changed to those of a directory that nobody owns.
    fn attributes_of_root(&self, context: &Context) -> io::Result<(stat64, Duration)> {
        let first = self.0.first().ok_or(io::ErrorKind::NotFound)?;
        let (mut attributes, timeout) = first.files.getattr(context, ROOT_ID, None)?;
        attributes.st_mode = libc::S_IFDIR | 0o500;
        (attributes.st_ino, attributes.st_nlink) = (ROOT_ID, 2);
        (attributes.st_uid, attributes.st_gid, attributes.st_size) = (0, 0, 0);
        Ok((attributes, timeout))
    }
}

/// The result of a lookup in an entry, in the guest's numbers.
fn outward(entry: usize, found: Entry) -> io::Result<Entry> {
    let number = u64::try_from(entry).unwrap_or(u64::MAX).saturating_add(1);
    let fits = found.inode >> ENTRY_SHIFT == 0 && number <= u64::from(u8::MAX);
    match (found.inode, fits) {
        // There is nothing of that name.
        (0, _) => Ok(found),
        (inode, true) => Ok(Entry {
            inode: number << ENTRY_SHIFT | inode,
            ..found
        }),
        (_, false) => Err(io::Error::from_raw_os_error(libc::EOVERFLOW)),
    }
}

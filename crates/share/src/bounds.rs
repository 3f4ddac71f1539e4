use std::collections::HashMap;
use std::ffi::CStr;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fuse_backend_rs::abi::fuse_abi::CreateIn;
use fuse_backend_rs::api::filesystem::{
    Context, DirEntry, Entry, FileSystem, FsOptions, GetxattrReply, ListxattrReply, OpenOptions,
    SetattrValid, ZeroCopyReader, ZeroCopyWriter,
};
use libc::{stat64, statvfs64};

use crate::names::names_an_entry;

/// Files within bounds that hold whether or not the guest's own kernel keeps to them: every name is that of
/// one entry, and where the files are read-only, whatever would change one is refused; of a disk, whatever
/// would change anything but the content within its length.
///
/// Calls that are not implemented here are answered as unknown.
pub(crate) struct Bounded<F> {
    pub(crate) files: F,
    pub(crate) is_read_only: bool,
    /// The length of a disk, in bytes: its attributes stay, too. `None` where there are other files.
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) handles: Handles,
}

/// The flags with which each open file was opened.
///
/// Requests to read and write repeat them, and the library would change the open file's flags to those of the request.
/// If the host refuses that change, the library closes the file and continues to use its number. Every request is
/// therefore passed on with the flags that the file was opened with.
#[derive(Default)]
pub(crate) struct Handles(Mutex<HashMap<u64, u32>>);

impl Handles {
    fn opened(&self, handle: u64, flags: u32) {
        self.locked().insert(handle, flags);
    }

    fn flags(&self, handle: u64) -> io::Result<u32> {
        let flags = self.locked().get(&handle).copied();
        flags.ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }

    fn closed(&self, handle: u64) {
        self.locked().remove(&handle);
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<u64, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes calls on. What is said before each holds for it first: `reads`; `rewrites`, which read-only files
/// refuse; or `changes`, which a disk refuses too; then each name that is said after it.
macro_rules! pass_on {
    ($($kind:ident $call:ident(
        $($argument:ident: $type:ty),*
    ) -> $answer:ty $(where $($name:ident),+)?;)*) => {$(
        fn $call(&self, context: &Context, $($argument: $type),*) -> io::Result<$answer> {
            self.$kind()?;
            $($(names_an_entry($name)?;)+)?
            self.files.$call(context, $($argument),*)
        }
    )*};
}

impl<F: FileSystem> FileSystem for Bounded<F> {
    type Inode = F::Inode;
    type Handle = F::Handle;

    pass_on! {
        reads lookup(parent: F::Inode, name: &CStr) -> Entry where name;
        reads getattr(inode: F::Inode, handle: Option<F::Handle>) -> (stat64, Duration);
        reads readlink(inode: F::Inode) -> Vec<u8>;
        reads flush(inode: F::Inode, handle: F::Handle, lock_owner: u64) -> ();
        reads fsync(inode: F::Inode, data_only: bool, handle: F::Handle) -> ();
        reads fsyncdir(inode: F::Inode, data_only: bool, handle: F::Handle) -> ();
        reads releasedir(inode: F::Inode, flags: u32, handle: F::Handle) -> ();
        reads statfs(inode: F::Inode) -> statvfs64;
        reads getxattr(inode: F::Inode, attribute: &CStr, size: u32) -> GetxattrReply;
        reads listxattr(inode: F::Inode, size: u32) -> ListxattrReply;
        reads readdir(
            inode: F::Inode, handle: F::Handle, size: u32, offset: u64,
            add_entry: &mut dyn FnMut(DirEntry<'_>) -> io::Result<usize>
        ) -> ();
        reads readdirplus(
            inode: F::Inode, handle: F::Handle, size: u32, offset: u64,
            add_entry: &mut dyn FnMut(DirEntry<'_>, Entry) -> io::Result<usize>
        ) -> ();
        reads lseek(inode: F::Inode, handle: F::Handle, offset: u64, whence: u32) -> u64;

        changes setattr(
            inode: F::Inode, attributes: stat64, handle: Option<F::Handle>, valid: SetattrValid
        ) -> (stat64, Duration);
        changes symlink(target: &CStr, parent: F::Inode, name: &CStr) -> Entry where name;
        changes mknod(
            parent: F::Inode, name: &CStr, mode: u32, device: u32, umask: u32
        ) -> Entry where name;
        changes mkdir(parent: F::Inode, name: &CStr, mode: u32, umask: u32) -> Entry where name;
        changes unlink(parent: F::Inode, name: &CStr) -> () where name;
        changes rmdir(parent: F::Inode, name: &CStr) -> () where name;
        changes rename(
            parent: F::Inode, name: &CStr, new_parent: F::Inode, new_name: &CStr, flags: u32
        ) -> () where name, new_name;
        changes setxattr(inode: F::Inode, attribute: &CStr, value: &[u8], flags: u32) -> ();
        changes removexattr(inode: F::Inode, attribute: &CStr) -> ();
    }

    /// Returns the wanted options without asking the library.
    ///
    /// The library would open the root again by its path. A guest that may write to a directory
    /// above the root could have replaced it. `destroy` is not forwarded for the same reason.
    fn init(&self, _: FsOptions) -> io::Result<FsOptions> {
        Ok(wanted())
    }

    /// Keeps the library from taking on the guest's user when it creates files. The process keeps
    /// its own identity: the guest's kernel has checked its users against the modes, and the host
    /// checks this process.
    fn id_remap(&self, context: &mut Context) -> io::Result<()> {
        nobody(context);
        Ok(())
    }

    fn forget(&self, context: &Context, inode: F::Inode, count: u64) {
        self.files.forget(context, inode, count);
    }

    fn batch_forget(&self, context: &Context, requests: Vec<(F::Inode, u64)>) {
        self.files.batch_forget(context, requests);
    }

    fn link(
        &self,
        context: &Context,
        inode: F::Inode,
        parent: F::Inode,
        name: &CStr,
    ) -> io::Result<Entry> {
        self.changes()?;
        names_an_entry(name)?;
        let number = inode.into();
        let linked = self.files.link(context, number.into(), parent, name);
        linked.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT) if self.is_there(context, number) => {
                io::Error::from_raw_os_error(libc::EPERM)
            }
            _ => error,
        })
    }

    fn create(
        &self,
        context: &Context,
        parent: F::Inode,
        name: &CStr,
        arguments: CreateIn,
    ) -> io::Result<(Entry, Option<F::Handle>, OpenOptions, Option<u32>)> {
        self.changes()?;
        names_an_entry(name)?;
        opens_contents(arguments.flags)?;
        let (entry, handle, options, passthrough) =
            self.files.create(context, parent, name, arguments)?;
        let handle = self.noted(handle, arguments.flags);
        Ok((entry, handle, options, passthrough))
    }

    fn open(
        &self,
        context: &Context,
        inode: F::Inode,
        flags: u32,
        fuse_flags: u32,
    ) -> io::Result<(Option<F::Handle>, OpenOptions, Option<u32>)> {
        opens_contents(flags)?;
        self.opens(flags)?;
        let (handle, options, passthrough) = self.files.open(context, inode, flags, fuse_flags)?;
        Ok((self.noted(handle, flags), options, passthrough))
    }

    fn release(
        &self,
        context: &Context,
        inode: F::Inode,
        flags: u32,
        handle: F::Handle,
        flush: bool,
        unlock: bool,
        lock_owner: Option<u64>,
    ) -> io::Result<()> {
        let handle = handle.into();
        self.files.release(
            context,
            inode,
            flags,
            handle.into(),
            flush,
            unlock,
            lock_owner,
        )?;
        self.handles.closed(handle);
        Ok(())
    }

    fn opendir(
        &self,
        context: &Context,
        inode: F::Inode,
        flags: u32,
    ) -> io::Result<(Option<F::Handle>, OpenOptions)> {
        opens_contents(flags)?;
        self.opens(flags)?;
        self.files.opendir(context, inode, flags)
    }

    fn read(
        &self,
        context: &Context,
        inode: F::Inode,
        handle: F::Handle,
        out: &mut dyn ZeroCopyWriter,
        size: u32,
        offset: u64,
        lock_owner: Option<u64>,
        flags: u32,
    ) -> io::Result<usize> {
        self.opens(flags)?;
        let handle = handle.into();
        let flags = self.handles.flags(handle)?;
        let handle = handle.into();
        self.files
            .read(context, inode, handle, out, size, offset, lock_owner, flags)
    }

    fn write(
        &self,
        context: &Context,
        inode: F::Inode,
        handle: F::Handle,
        bytes: &mut dyn ZeroCopyReader,
        size: u32,
        offset: u64,
        lock_owner: Option<u64>,
        delayed: bool,
        flags: u32,
        fuse_flags: u32,
    ) -> io::Result<usize> {
        self.rewrites()?;
        self.opens(flags)?;
        self.within_the_disk(offset, size.into())?;
        let handle = handle.into();
        let flags = self.handles.flags(handle)?;
        let handle = handle.into();
        self.files.write(
            context, inode, handle, bytes, size, offset, lock_owner, delayed, flags, fuse_flags,
        )
    }

    fn fallocate(
        &self,
        context: &Context,
        inode: F::Inode,
        handle: F::Handle,
        mode: u32,
        offset: u64,
        length: u64,
    ) -> io::Result<()> {
        self.rewrites()?;
        self.within_the_disk(offset, length)?;
        if self.disk_bytes.is_some() && !OF_A_DISK.contains(&mode.cast_signed()) {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        self.files
            .fallocate(context, inode, handle, mode, offset, length)
    }

    fn access(&self, context: &Context, inode: F::Inode, mask: u32) -> io::Result<()> {
        if mask & libc::W_OK.unsigned_abs() != 0 {
            self.rewrites()?;
        }
        self.files.access(context, inode, mask)
    }
}

/// The requests to a guest's kernel. The host changes files beside it, so it is to keep no writes to itself,
/// to say what it opens, and to believe no contents once length or time have changed. Setuid bits go with a
/// write, which is the host's kernel's to see to: who serves files may not keep them. The last four let it read
/// and write more than a page with one request, and ask for more before the answer.
pub(crate) fn wanted() -> FsOptions {
    FsOptions::DO_READDIRPLUS
        | FsOptions::READDIRPLUS_AUTO
        | FsOptions::AUTO_INVAL_DATA
        | FsOptions::HANDLE_KILLPRIV_V2
        | FsOptions::BIG_WRITES
        | FsOptions::MAX_PAGES
        | FsOptions::ASYNC_READ
        | FsOptions::ASYNC_DIO
}

/// Makes a call nobody's in particular, which is what the library takes for no change of who it is.
pub(crate) fn nobody(context: &mut Context) {
    (context.uid, context.gid) = (0, 0);
}

/// The flags that mean an open for anything but reading. `O_RDONLY` is 0.
const WRITING: i32 = libc::O_ACCMODE | libc::O_TRUNC | libc::O_CREAT;
/// The modes of `fallocate` for a disk: space that is given back, or that reads as zeros.
const OF_A_DISK: [i32; 2] = [
    libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
    libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE,
];
/// The flags that would cut a disk, or write elsewhere than at the offset of a write.
const MOVING: i32 = libc::O_TRUNC | libc::O_APPEND;

impl<F> Bounded<F> {
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "the other side of `changes`"
    )]
    const fn reads(&self) -> io::Result<()> {
        Ok(())
    }

    fn rewrites(&self) -> io::Result<()> {
        if self.is_read_only {
            Err(io::Error::from_raw_os_error(libc::EROFS))
        } else {
            Ok(())
        }
    }

    fn changes(&self) -> io::Result<()> {
        self.rewrites()?;
        match self.disk_bytes {
            Some(_) => Err(io::Error::from_raw_os_error(libc::EPERM)),
            None => Ok(()),
        }
    }

    /// A disk neither grows nor is allocated beyond its end.
    fn within_the_disk(&self, offset: u64, length: u64) -> io::Result<()> {
        let end = offset.checked_add(length);
        match (self.disk_bytes, end) {
            (None, _) => Ok(()),
            (Some(disk_bytes), Some(end)) if end <= disk_bytes => Ok(()),
            (Some(_), _) => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
        }
    }

    fn opens(&self, flags: u32) -> io::Result<()> {
        if self.disk_bytes.is_some() && flags & MOVING.unsigned_abs() != 0 {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        match flags & WRITING.unsigned_abs() {
            0 => self.reads(),
            _ => self.rewrites(),
        }
    }
}

impl<F: FileSystem> Bounded<F> {
    /// Notes how a file was opened that has this handle.
    fn noted(&self, handle: Option<F::Handle>, flags: u32) -> Option<F::Handle> {
        let handle = handle?.into();
        self.handles.opened(handle, flags);
        Some(handle.into())
    }

    /// Returns true if a file still has a name. Hosts before Linux 6.10 say of one that has, to whoever has no right to
    /// all files, that there is none to link to: programs that can do without expect to hear that they may not.
    fn is_there(&self, context: &Context, number: u64) -> bool {
        let attributes = self.files.getattr(context, number.into(), None);
        attributes.is_ok_and(|(attributes, _)| attributes.st_nlink > 0)
    }
}

/// Refuses `O_PATH`, which no kernel sends: with it, creating a file would follow a symlink out of
/// the directory.
fn opens_contents(flags: u32) -> io::Result<()> {
    match flags & libc::O_PATH.unsigned_abs() {
        0 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

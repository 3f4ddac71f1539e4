use std::ffi::CStr;
use std::io;
use std::time::Duration;

use fuse_backend_rs::abi::fuse_abi::CreateIn;
use fuse_backend_rs::api::filesystem::{
    Context, DirEntry, Entry, FileSystem, FsOptions, GetxattrReply, ListxattrReply, OpenOptions,
    SetattrValid, ZeroCopyReader, ZeroCopyWriter,
};
use libc::{stat64, statvfs64};

use crate::names::names_an_entry;

/// Files within bounds that hold whether or not the guest's own kernel keeps to them: every name is that of
/// one entry, and where the files are read-only, whatever would change one is refused.
///
/// What is not named here is answered as unknown.
pub(crate) struct Bounded<F> {
    pub(crate) files: F,
    pub(crate) is_read_only: bool,
}

/// Passes calls on. What is said before each holds for it first: `reads`, or `changes`, which a read-only
/// directory refuses; then each name that is said after it.
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
        reads release(
            inode: F::Inode, flags: u32, handle: F::Handle, flush: bool, unlock: bool,
            lock_owner: Option<u64>
        ) -> ();
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
        changes write(
            inode: F::Inode, handle: F::Handle, bytes: &mut dyn ZeroCopyReader, size: u32,
            offset: u64, lock_owner: Option<u64>, delayed: bool, flags: u32, fuse_flags: u32
        ) -> usize;
        changes fallocate(
            inode: F::Inode, handle: F::Handle, mode: u32, offset: u64, length: u64
        ) -> ();
        changes setxattr(inode: F::Inode, attribute: &CStr, value: &[u8], flags: u32) -> ();
        changes removexattr(inode: F::Inode, attribute: &CStr) -> ();
    }

    /// The library is not asked: it would open the root anew by its path, which leads to whatever a guest that
    /// has a directory on the way to it has put there by then. `destroy` is not passed on for that reason.
    fn init(&self, _: FsOptions) -> io::Result<FsOptions> {
        Ok(wanted())
    }

    /// The library would become the guest's user for what it makes. It is nobody but who it is: the guest's
    /// kernel has judged its users by the modes, and the host judges this process.
    fn id_remap(&self, context: &mut Context) -> io::Result<()> {
        // What the library takes for no change.
        (context.uid, context.gid) = (0, 0);
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
        self.files.create(context, parent, name, arguments)
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
        self.files.open(context, inode, flags, fuse_flags)
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
        self.files
            .read(context, inode, handle, out, size, offset, lock_owner, flags)
    }

    fn access(&self, context: &Context, inode: F::Inode, mask: u32) -> io::Result<()> {
        if mask & libc::W_OK.unsigned_abs() != 0 {
            self.changes()?;
        }
        self.files.access(context, inode, mask)
    }
}

/// What is wanted of a guest's kernel. The host changes files beside it, so it is to keep no writes to itself,
/// to say what it opens, and to believe no contents once length or time have changed. Setuid bits go with a
/// write, which is the host's kernel's to see to: who serves files may not keep them.
fn wanted() -> FsOptions {
    FsOptions::DO_READDIRPLUS
        | FsOptions::READDIRPLUS_AUTO
        | FsOptions::AUTO_INVAL_DATA
        | FsOptions::HANDLE_KILLPRIV_V2
}

/// What opening to write, or anything but to read, is told by. `O_RDONLY` is 0.
const WRITING: i32 = libc::O_ACCMODE | libc::O_TRUNC | libc::O_CREAT;

impl<F> Bounded<F> {
    #[expect(
        clippy::unnecessary_wraps,
        clippy::unused_self,
        reason = "the other side of `changes`"
    )]
    const fn reads(&self) -> io::Result<()> {
        Ok(())
    }

    fn changes(&self) -> io::Result<()> {
        match self.is_read_only {
            true => Err(io::Error::from_raw_os_error(libc::EROFS)),
            false => Ok(()),
        }
    }

    fn opens(&self, flags: u32) -> io::Result<()> {
        match flags & WRITING.unsigned_abs() {
            0 => self.reads(),
            _ => self.changes(),
        }
    }
}

impl<F: FileSystem> Bounded<F> {
    /// Whether a file still has a name. Hosts before Linux 6.10 say of one that has, to whoever has no right to
    /// all files, that there is none to link to: programs that can do without expect to hear that they may not.
    fn is_there(&self, context: &Context, number: u64) -> bool {
        let attributes = self.files.getattr(context, number.into(), None);
        attributes.is_ok_and(|(attributes, _)| attributes.st_nlink > 0)
    }
}

/// No kernel asks for `O_PATH`: with it, making a file would follow a symlink to wherever that leads.
fn opens_contents(flags: u32) -> io::Result<()> {
    match flags & libc::O_PATH.unsigned_abs() {
        0 => Ok(()),
        _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

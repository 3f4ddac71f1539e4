use std::ffi::CStr;
use std::io;
use std::time::Duration;

use fuse_backend_rs::abi::fuse_abi::CreateIn;
use fuse_backend_rs::api::filesystem::{
    Context, DirEntry, Entry, FileSystem, FsOptions, GetxattrReply, ListxattrReply, OpenOptions,
    SetattrValid, ZeroCopyReader, ZeroCopyWriter,
};
use libc::{stat64, statvfs64};

/// The same files, and no way to change one: whatever would is refused here, whether or not the guest's
/// kernel has let it through.
pub(crate) struct ReadOnly<F>(pub(crate) F);

/// What opening to write, or anything but to read, is told by.
const WRITING: i32 = libc::O_ACCMODE | libc::O_TRUNC | libc::O_CREAT;

fn refused<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(libc::EROFS))
}

fn to_read(flags: u32) -> io::Result<()> {
    match flags & WRITING.unsigned_abs() {
        // `O_RDONLY` is 0.
        0 => Ok(()),
        _ => refused(),
    }
}

impl<F: FileSystem> FileSystem for ReadOnly<F> {
    type Inode = F::Inode;
    type Handle = F::Handle;

    fn init(&self, capable: FsOptions) -> io::Result<FsOptions> {
        // A kernel that caches writes would keep them to itself.
        Ok(self.0.init(capable)? - FsOptions::WRITEBACK_CACHE)
    }

    fn destroy(&self) {
        self.0.destroy();
    }

    fn lookup(&self, context: &Context, parent: F::Inode, name: &CStr) -> io::Result<Entry> {
        self.0.lookup(context, parent, name)
    }

    fn forget(&self, context: &Context, inode: F::Inode, count: u64) {
        self.0.forget(context, inode, count);
    }

    fn batch_forget(&self, context: &Context, requests: Vec<(F::Inode, u64)>) {
        self.0.batch_forget(context, requests);
    }

    fn getattr(
        &self,
        context: &Context,
        inode: F::Inode,
        handle: Option<F::Handle>,
    ) -> io::Result<(stat64, Duration)> {
        self.0.getattr(context, inode, handle)
    }

    fn readlink(&self, context: &Context, inode: F::Inode) -> io::Result<Vec<u8>> {
        self.0.readlink(context, inode)
    }

    fn open(
        &self,
        context: &Context,
        inode: F::Inode,
        flags: u32,
        fuse_flags: u32,
    ) -> io::Result<(Option<F::Handle>, OpenOptions, Option<u32>)> {
        to_read(flags)?;
        self.0.open(context, inode, flags, fuse_flags)
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
        to_read(flags)?;
        self.0
            .read(context, inode, handle, out, size, offset, lock_owner, flags)
    }

    fn flush(
        &self,
        context: &Context,
        inode: F::Inode,
        handle: F::Handle,
        lock_owner: u64,
    ) -> io::Result<()> {
        self.0.flush(context, inode, handle, lock_owner)
    }

    fn release(
        &self,
        context: &Context,
        inode: F::Inode,
        flags: u32,
        handle: F::Handle,
        flush: bool,
        flock_release: bool,
        lock_owner: Option<u64>,
    ) -> io::Result<()> {
        self.0.release(
            context,
            inode,
            flags,
            handle,
            flush,
            flock_release,
            lock_owner,
        )
    }

    fn statfs(&self, context: &Context, inode: F::Inode) -> io::Result<statvfs64> {
        self.0.statfs(context, inode)
    }

    fn getxattr(
        &self,
        context: &Context,
        inode: F::Inode,
        name: &CStr,
        size: u32,
    ) -> io::Result<GetxattrReply> {
        self.0.getxattr(context, inode, name, size)
    }

    fn listxattr(
        &self,
        context: &Context,
        inode: F::Inode,
        size: u32,
    ) -> io::Result<ListxattrReply> {
        self.0.listxattr(context, inode, size)
    }

    fn opendir(
        &self,
        context: &Context,
        inode: F::Inode,
        flags: u32,
    ) -> io::Result<(Option<F::Handle>, OpenOptions)> {
        to_read(flags)?;
        self.0.opendir(context, inode, flags)
    }

    fn readdir(
        &self,
        context: &Context,
        inode: F::Inode,
        handle: F::Handle,
        size: u32,
        offset: u64,
        add_entry: &mut dyn FnMut(DirEntry<'_>) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.0
            .readdir(context, inode, handle, size, offset, add_entry)
    }

    fn readdirplus(
        &self,
        context: &Context,
        inode: F::Inode,
        handle: F::Handle,
        size: u32,
        offset: u64,
        add_entry: &mut dyn FnMut(DirEntry<'_>, Entry) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.0
            .readdirplus(context, inode, handle, size, offset, add_entry)
    }

    fn releasedir(
        &self,
        context: &Context,
        inode: F::Inode,
        flags: u32,
        handle: F::Handle,
    ) -> io::Result<()> {
        self.0.releasedir(context, inode, flags, handle)
    }

    fn access(&self, context: &Context, inode: F::Inode, mask: u32) -> io::Result<()> {
        if mask & libc::W_OK.unsigned_abs() != 0 {
            return refused();
        }
        self.0.access(context, inode, mask)
    }

    fn lseek(
        &self,
        context: &Context,
        inode: F::Inode,
        handle: F::Handle,
        offset: u64,
        whence: u32,
    ) -> io::Result<u64> {
        self.0.lseek(context, inode, handle, offset, whence)
    }

    // What changes something. Calls that are not named here are refused as unknown.

    fn setattr(
        &self,
        _: &Context,
        _: F::Inode,
        _: stat64,
        _: Option<F::Handle>,
        _: SetattrValid,
    ) -> io::Result<(stat64, Duration)> {
        refused()
    }

    fn symlink(&self, _: &Context, _: &CStr, _: F::Inode, _: &CStr) -> io::Result<Entry> {
        refused()
    }

    fn mknod(
        &self,
        _: &Context,
        _: F::Inode,
        _: &CStr,
        _: u32,
        _: u32,
        _: u32,
    ) -> io::Result<Entry> {
        refused()
    }

    fn mkdir(&self, _: &Context, _: F::Inode, _: &CStr, _: u32, _: u32) -> io::Result<Entry> {
        refused()
    }

    fn unlink(&self, _: &Context, _: F::Inode, _: &CStr) -> io::Result<()> {
        refused()
    }

    fn rmdir(&self, _: &Context, _: F::Inode, _: &CStr) -> io::Result<()> {
        refused()
    }

    fn rename(
        &self,
        _: &Context,
        _: F::Inode,
        _: &CStr,
        _: F::Inode,
        _: &CStr,
        _: u32,
    ) -> io::Result<()> {
        refused()
    }

    fn link(&self, _: &Context, _: F::Inode, _: F::Inode, _: &CStr) -> io::Result<Entry> {
        refused()
    }

    fn create(
        &self,
        _: &Context,
        _: F::Inode,
        _: &CStr,
        _: CreateIn,
    ) -> io::Result<(Entry, Option<F::Handle>, OpenOptions, Option<u32>)> {
        refused()
    }

    fn write(
        &self,
        _: &Context,
        _: F::Inode,
        _: F::Handle,
        _: &mut dyn ZeroCopyReader,
        _: u32,
        _: u64,
        _: Option<u64>,
        _: bool,
        _: u32,
        _: u32,
    ) -> io::Result<usize> {
        refused()
    }

    fn fallocate(
        &self,
        _: &Context,
        _: F::Inode,
        _: F::Handle,
        _: u32,
        _: u64,
        _: u64,
    ) -> io::Result<()> {
        refused()
    }

    fn setxattr(&self, _: &Context, _: F::Inode, _: &CStr, _: &[u8], _: u32) -> io::Result<()> {
        refused()
    }

    fn removexattr(&self, _: &Context, _: F::Inode, _: &CStr) -> io::Result<()> {
        refused()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use fuse_backend_rs::abi::fuse_abi::ROOT_ID;
    use fuse_backend_rs::passthrough::{Config, PassthroughFs};

    use super::*;

    fn open(directory: &Path) -> ReadOnly<PassthroughFs<()>> {
        let config = Config {
            root_dir: directory.to_str().unwrap().to_owned(),
            xattr: true,
            do_import: false,
            ..Config::default()
        };
        let files = PassthroughFs::new(config).unwrap();
        files.import().unwrap();
        ReadOnly(files)
    }

    fn is_refused<T>(outcome: io::Result<T>) -> bool {
        outcome.is_err_and(|error| error.raw_os_error() == Some(libc::EROFS))
    }

    #[test]
    fn what_is_there_is_seen_and_nothing_is_changed() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "hello").unwrap();
        let files = open(directory.path());
        let context = Context::default();
        let entry = files.lookup(&context, ROOT_ID, c"file").unwrap();
        assert_eq!(entry.attr.st_size, 5);
        let inode = entry.inode;
        let flags = libc::O_RDONLY.unsigned_abs();
        let (handle, ..) = files.open(&context, inode, flags, 0).unwrap();
        assert!(handle.is_some());
        for flags in [
            libc::O_WRONLY,
            libc::O_RDWR,
            libc::O_RDONLY | libc::O_TRUNC,
            libc::O_RDONLY | libc::O_CREAT,
        ] {
            let opened = files.open(&context, inode, flags.unsigned_abs(), 0);
            assert!(is_refused(opened), "{flags:o}");
        }
        let size = SetattrValid::SIZE;
        assert!(is_refused(
            files.setattr(&context, inode, entry.attr, None, size)
        ));
        assert!(is_refused(files.unlink(&context, ROOT_ID, c"file")));
        assert!(is_refused(
            files.rename(&context, ROOT_ID, c"file", ROOT_ID, c"other", 0)
        ));
        assert!(is_refused(files.link(&context, inode, ROOT_ID, c"linked")));
        assert!(is_refused(
            files.symlink(&context, c"file", ROOT_ID, c"link")
        ));
        assert!(is_refused(
            files.mkdir(&context, ROOT_ID, c"made", 0o755, 0)
        ));
        assert!(is_refused(files.mknod(
            &context,
            ROOT_ID,
            c"fifo",
            libc::S_IFIFO,
            0,
            0
        )));
        assert!(is_refused(files.create(
            &context,
            ROOT_ID,
            c"new",
            CreateIn::default()
        )));
        assert!(is_refused(
            files.setxattr(&context, inode, c"user.a", b"b", 0)
        ));
        assert!(is_refused(files.removexattr(&context, inode, c"user.a")));
        let names: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(fs::read(directory.path().join("file")).unwrap(), b"hello");
    }

    #[test]
    fn nothing_outside_is_seen() {
        let outside = tempfile::tempdir().unwrap();
        let directory = outside.path().join("shared");
        fs::create_dir(&directory).unwrap();
        fs::write(outside.path().join("secret"), "").unwrap();
        std::os::unix::fs::symlink("../secret", directory.join("link")).unwrap();
        let files = open(&directory);
        let context = Context::default();
        // The guest's kernel follows it, in the guest.
        let link = files.lookup(&context, ROOT_ID, c"link").unwrap();
        assert_eq!(link.attr.st_mode & libc::S_IFMT, libc::S_IFLNK);
        let opened = files.open(&context, link.inode, 0, 0);
        assert!(opened.is_err());
        for name in [c"../secret", c"/etc/passwd", c".."] {
            let found = files.lookup(&context, ROOT_ID, name);
            let root = files.lookup(&context, ROOT_ID, c".").unwrap().attr.st_ino;
            assert!(
                found.is_err() || found.unwrap().attr.st_ino == root,
                "{name:?}"
            );
        }
    }
}
